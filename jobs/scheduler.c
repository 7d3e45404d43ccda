#include "jobs/scheduler.h"
#include "jobs/cleaners.h"
#include "jobs/instance.h"
#include "jobs/kind.h"
#include "jobs/measure/guards.h"
#include "jobs/state.h"
#include "jobs/window.h"
#include "server/limits.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CLAIM_TRIES 3 /* when others change what was judged; the next tick tries again */
#define MEMO_COUNT 32
#define MARK_LIMIT 500 /* rows a pass marks as waiting: the rest follows in the next ones */

/* What a list of windows comes to now: reading its zones costs more than all else here. */
struct memo {
    char *windows; /* as JSON text, heap */
    bool open;
    int64_t change_ms;
};

/* What a candidate is checked against. */
struct scene {
    struct db *db;
    struct cleaners *cleaners; /* or NULL */
    int64_t now_ms;
    bool paused; /* POST /v1/mode: nothing starts */
    struct job_row *running;
    size_t running_count;
    cJSON *lanes;                  /* object: the lanes that running jobs take, as members */
    struct memo memos[MEMO_COUNT]; /* many instances have the same windows */
    size_t memo_count;
};

/* The jobs of an instance that wait, and for what. */
struct mark {
    char *instance;
    const char *reason;
};

/* What came of judging, for the write that makes it so. */
struct judgement {
    int64_t now_ms;
    char *job; /* who may start; NULL: nobody */
    int64_t job_version;
    char *instance;
    int64_t instance_version;
    int64_t closes_at;
    char **running; /* ids of what ran when it was judged */
    size_t running_count;
    struct mark *marks;
    size_t mark_count, mark_capacity;
    bool exclusive;     /* the job measures */
    bool needs_cleanup; /* a job waits for a clean-up from now on */
    bool stale;         /* somebody changed something meanwhile: judge again */
    struct claim *claim;
};

static void judgement_fini(struct judgement *judged)
{
    for (size_t i = 0; i < judged->running_count; i++)
        free(judged->running[i]);
    for (size_t i = 0; i < judged->mark_count; i++)
        free(judged->marks[i].instance);
    free(judged->running);
    free(judged->marks);
    free(judged->job);
    free(judged->instance);
}

/* 1: read; 0: its definition is not readable, which concerns its own jobs only; -1: the store
 * fails. instance_fini ends *out after 1. */
static int load(struct db *db, const char *name, struct instance *out, bool *out_held,
                int64_t *out_version, struct err *err)
{
    struct instance_row row = {0};
    struct err unreadable;
    if (store_instance_get(db, name, &row, err) < 0)
        return -1;
    *out_held = row.held != NULL;
    *out_version = row.version;
    int rc = instance_load(row.definition, out, &unreadable);
    instance_row_fini(&row);
    return rc == 0;
}

/* One server under two names is one server: its address is a lane of its own. No lane of people
 * holds a blank at its start. */
static char *server_lane(const struct instance *instance)
{
    char *lane = mem_format(" %s %" PRId64, instance->host, instance->port);
    for (char *at = lane; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at + ('a' - 'A'));
    return lane;
}

static int take_lanes(struct scene *scene, struct err *err)
{
    for (size_t i = 0; i < scene->running_count; i++) {
        struct instance instance;
        bool held;
        int64_t version;
        if (!scene->running[i].exclusive)
            continue;
        int found = load(scene->db, scene->running[i].instance, &instance, &held, &version, err);
        if (found < 0)
            return -1;
        if (found == 0)
            continue;
        const cJSON *lane;
        cJSON_ArrayForEach(lane, instance.lanes) {
            if (!json_member(scene->lanes, lane->valuestring))
                cJSON_AddTrueToObject(scene->lanes, lane->valuestring);
        }
        char *server = server_lane(&instance);
        cJSON_AddTrueToObject(scene->lanes, server);
        free(server);
        instance_fini(&instance);
    }
    return 0;
}

static bool lane_is_busy(const struct scene *scene, const struct instance *instance)
{
    const cJSON *lane;
    cJSON_ArrayForEach(lane, instance->lanes) {
        if (json_member(scene->lanes, lane->valuestring))
            return true;
    }
    char *server = server_lane(instance);
    bool busy = json_member(scene->lanes, server) != NULL;
    free(server);
    return busy;
}

/* What another job left there is undone first; and nothing is measured while it is. */
static int must_wait_for_cleanup(struct db *db, struct cleaners *cleaners, const char *instance,
                                 const char *job, bool *out, struct err *err)
{
    *out = cleaners_has(cleaners, instance);
    return *out ? 0 : store_intent_pending(db, instance, job, out, err);
}

/* Another job measures there, or another service did a moment ago. */
static int instance_is_busy(const struct scene *scene, const struct job_row *row, bool *out,
                            struct err *err)
{
    *out = false;
    for (size_t i = 0; i < scene->running_count; i++)
        *out |=
            scene->running[i].exclusive && strcmp(scene->running[i].instance, row->instance) == 0;
    if (*out || !row->exclusive)
        return 0;
    return store_job_kept_back(scene->db, row->instance, scene->now_ms, out, err);
}

/* A zone that went missing: no window is known to be open. */
static void look_at_windows(struct scene *scene, const cJSON *windows, bool *out_open,
                            int64_t *out_change_ms)
{
    struct err no_zone;
    char *text = windows ? cJSON_PrintUnformatted(windows) : mem_copy("");
    for (size_t i = 0; i < scene->memo_count; i++)
        if (strcmp(scene->memos[i].windows, text) == 0) {
            *out_open = scene->memos[i].open;
            *out_change_ms = scene->memos[i].change_ms;
            free(text);
            return;
        }
    *out_change_ms = 0;
    if (window_state(windows, scene->now_ms, out_open, out_change_ms, &no_zone) < 0)
        *out_open = false;
    if (scene->memo_count < MEMO_COUNT)
        scene->memos[scene->memo_count++] = (struct memo){text, *out_open, *out_change_ms};
    else
        free(text);
}

/* Why the job cannot run now; NULL: it can. out_closes_at as in struct claim. */
static int judge(struct scene *scene, const struct job_row *row, const char **out_reason,
                 int64_t *out_closes_at, int64_t *out_version, struct err *err)
{
    struct instance instance;
    struct guards_input input = GUARDS_INPUT;
    *out_reason = NULL;
    *out_closes_at = 0;
    int found = load(scene->db, row->instance, &instance, &input.held, out_version, err);
    if (found <= 0)
        return found; /* not readable: the run says so and fails */
    input.moment = GUARDS_CLAIM;
    input.paused = scene->paused;
    input.name = row->instance;
    input.exclusive = row->exclusive;
    input.lane_busy = lane_is_busy(scene, &instance);
    int rc = instance_is_busy(scene, row, &input.instance_busy, err);
    if (rc == 0 && row->exclusive)
        rc = must_wait_for_cleanup(scene->db, scene->cleaners, row->instance, row->id,
                                   &input.cleanup_pending, err);
    input.ignores_windows = row->ignores_windows;
    input.now_ms = scene->now_ms;
    if (!row->ignores_windows)
        look_at_windows(scene, instance.windows, &input.window_open, &input.closes_at);
    if (!input.window_open)
        input.closes_at = 0; /* it is when the next one opens */
    struct guards_answer answer = guards_judge(&input);
    *out_reason = answer.reason;
    *out_closes_at = input.closes_at;
    instance_fini(&instance);
    return rc;
}

/* Higher priority first, then the older id. */
static int by_turn(const void *left, const void *right)
{
    const struct job_row *a = left;
    const struct job_row *b = right;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* --- judging, in a read --------------------------------------------------------------------- */

static int add_mark(struct scene *scene, struct judgement *judged, const char *instance,
                    const char *reason, struct err *err)
{
    bool found;
    if (store_job_unmarked(scene->db, instance, reason, &found, err) < 0)
        return -1;
    if (!found)
        return 0;
    judged->marks = mem_grow(judged->marks, &judged->mark_capacity, judged->mark_count + 1,
                             sizeof *judged->marks);
    judged->marks[judged->mark_count++] = (struct mark){mem_copy(instance), reason};
    return 0;
}

/* True when the job has this reason now, and had another one before. */
static bool is_new(const struct job_row *row, const char *reason, const char *wanted)
{
    return reason && strcmp(reason, wanted) == 0 &&
           !(row->state_reason && strcmp(row->state_reason, wanted) == 0);
}

/* Up to the first that may start: those after it are looked at in the next pass. */
static int judge_heads(struct scene *scene, struct judgement *judged, const struct job_row *heads,
                       size_t count, struct err *err)
{
    for (size_t i = 0; i < count && !judged->job; i++) {
        const char *reason;
        int64_t closes_at;
        int64_t version = 0;
        if (judge(scene, &heads[i], &reason, &closes_at, &version, err) < 0)
            return -1;
        bool chosen = !reason;
        if (chosen) {
            judged->job = mem_copy(heads[i].id);
            judged->job_version = heads[i].version;
            judged->instance = mem_copy(heads[i].instance);
            judged->instance_version = version;
            judged->closes_at = closes_at;
            judged->exclusive = heads[i].exclusive;
        }
        judged->needs_cleanup |= is_new(&heads[i], reason, "cleanup_pending");
        if (chosen && heads[i].exclusive)
            reason = "instance_busy"; /* for the others behind it */
        if (reason && add_mark(scene, judged, heads[i].instance, reason, err) < 0)
            return -1;
    }
    return 0;
}

static void note_running(const struct scene *scene, struct judgement *judged)
{
    judged->running = mem_alloc(scene->running_count, sizeof *judged->running);
    for (size_t i = 0; i < scene->running_count; i++)
        judged->running[judged->running_count++] = mem_copy(scene->running[i].id);
}

static int judge_work(struct db *db, void *arg, struct err *err)
{
    struct judgement *judged = arg;
    struct scene scene = {.db = db,
                          .cleaners = judged->claim->cleaners,
                          .now_ms = judged->now_ms,
                          .lanes = cJSON_CreateObject()};
    struct job_row *heads = NULL;
    size_t count = 0;
    int rc = store_paused_get(db, &scene.paused, err);
    if (rc == 0)
        rc = store_job_running(db, &scene.running, &scene.running_count, err);
    if (rc == 0)
        rc = take_lanes(&scene, err);
    if (rc == 0)
        rc = store_job_heads(db, judged->now_ms, &heads, &count, err);
    if (rc == 0) {
        if (count > 1)
            qsort(heads, count, sizeof *heads, by_turn);
        note_running(&scene, judged);
        rc = judge_heads(&scene, judged, heads, count, err);
    }
    job_rows_free(heads, count);
    job_rows_free(scene.running, scene.running_count);
    for (size_t i = 0; i < scene.memo_count; i++)
        free(scene.memos[i].windows);
    cJSON_Delete(scene.lanes);
    return rc;
}

/* --- claiming, in a short write ------------------------------------------------------------- */

/* Nothing started that was not running when it was judged. */
static int check_running(struct db *db, struct judgement *judged, struct err *err)
{
    struct job_row *rows = NULL;
    size_t count = 0;
    if (store_job_running(db, &rows, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        bool seen = !rows[i].exclusive;
        for (size_t j = 0; j < judged->running_count && !seen; j++)
            seen = strcmp(rows[i].id, judged->running[j]) == 0;
        if (!seen)
            judged->stale = true;
    }
    job_rows_free(rows, count);
    return 0;
}

/* An instance that is gone meanwhile, was held or changed, or has something to be undone. */
static int check_instance(struct db *db, struct judgement *judged, struct err *err)
{
    struct instance_row row = {0};
    if (store_instance_get(db, judged->instance, &row, err) < 0)
        return -1;
    if (row.held || row.version != judged->instance_version)
        judged->stale = true;
    instance_row_fini(&row);
    bool pending = false;
    int rc = judged->exclusive ? must_wait_for_cleanup(db, judged->claim->cleaners,
                                                       judged->instance, judged->job, &pending, err)
                               : 0;
    judged->stale |= pending;
    return rc;
}

static int start(struct db *db, struct judgement *judged, struct err *err)
{
    struct claim *claim = judged->claim;
    struct job_row whole = {0};
    if (store_job_get(db, judged->job, &whole, err) < 0)
        return -1;
    int rc = 0;
    if (whole.version != judged->job_version) {
        judged->stale = true;
    } else {
        job_move(&whole, JOB_RUNNING, NULL, claim->now_ms);
        mem_replace(&whole.phase, "preparing");
        rc = store_job_update(db, &whole, err);
    }
    if (rc < 0 || judged->stale) {
        job_row_fini(&whole);
        return rc;
    }
    claim->row = whole;
    claim->closes_at = judged->closes_at;
    claim->found = true;
    return 0;
}

static int claim_work(struct db *db, void *arg, struct err *err)
{
    struct judgement *judged = arg;
    judged->stale = false;
    int rc = 0;
    if (judged->job) {
        rc = store_paused_get(db, &judged->stale, err); /* since it was judged */
        if (rc == 0)
            rc = check_running(db, judged, err);
        if (rc == 0)
            rc = check_instance(db, judged, err);
        if (rc == 0 && !judged->stale)
            rc = start(db, judged, err);
    }
    for (size_t i = 0; i < judged->mark_count && rc == 0 && !judged->stale; i++)
        rc = store_job_mark_waiting(db, judged->marks[i].instance, judged->marks[i].reason,
                                    MARK_LIMIT, err);
    return rc;
}

static int claim_once(struct store *store, struct claim *claim, bool *out_stale, struct err *err)
{
    struct judgement judged = {.now_ms = claim->now_ms, .claim = claim};
    int rc = store_read(store, judge_work, &judged, err);
    if (rc == 0 && (judged.job || judged.mark_count > 0))
        rc = store_write(store, claim_work, &judged, err);
    if (rc < 0 && claim->found) { /* it was not committed */
        job_row_fini(&claim->row);
        claim->found = false;
    }
    claim->needs_cleanup |= judged.needs_cleanup;
    *out_stale = rc == 0 && judged.stale;
    judgement_fini(&judged);
    return rc;
}

int scheduler_claim(struct store *store, struct claim *claim, struct err *err)
{
    bool stale = true;
    int rc = 0;
    claim->found = false;
    claim->needs_cleanup = false;
    for (int i = 0; i < CLAIM_TRIES && stale && rc == 0; i++)
        rc = claim_once(store, claim, &stale, err);
    return rc;
}
