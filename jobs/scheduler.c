#include "jobs/scheduler.h"
#include "jobs/event.h"
#include "jobs/instance.h"
#include "jobs/kind.h"
#include "jobs/member.h"
#include "jobs/state.h"
#include "jobs/window.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK_LIMIT 500 /* rows a pass marks as waiting: the rest follows in the next ones */

static void rows_free(struct job_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        job_row_fini(&rows[i]);
    free(rows);
}

/* What a candidate is checked against. */
struct scene {
    struct db *db;
    int64_t now_ms;
    bool paused; /* POST /v1/mode: nothing starts */
    struct job_row *running;
    size_t running_count;
    cJSON *lanes; /* object: the lanes that running jobs take, as members */
};

/* 1: read; 0: its definition is not readable, which concerns its own jobs only; -1: the store
 * fails. instance_fini ends *out after 1. */
static int load(struct db *db, const char *name, struct instance *out, bool *out_held,
                struct err *err)
{
    struct instance_row row = {0};
    struct err unreadable;
    if (store_instance_get(db, name, &row, err) < 0)
        return -1;
    *out_held = row.held != NULL;
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
        if (!scene->running[i].exclusive)
            continue;
        int found = load(scene->db, scene->running[i].instance, &instance, &held, err);
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

static bool instance_is_busy(const struct scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->running_count; i++)
        if (scene->running[i].exclusive && strcmp(scene->running[i].instance, name) == 0)
            return true;
    return false;
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

static bool ignores_windows(const struct job_row *row)
{
    cJSON *tree = NULL;
    struct err ignored; /* unreadable: the run will say so */
    bool ignores = member_parse_own(row->definition, &tree, &ignored) == 0 &&
                   cJSON_IsTrue(json_member(tree, "ignore_windows"));
    cJSON_Delete(tree);
    return ignores;
}

/* Why the job cannot run now; NULL: it can. out_closes_at as in struct claim. */
static int judge(const struct scene *scene, const struct job_row *row, const char **out_reason,
                 int64_t *out_closes_at, struct err *err)
{
    struct instance instance;
    bool held;
    bool open = true;
    struct err no_zone;
    *out_reason = scene->paused ? "paused" : NULL;
    *out_closes_at = 0;
    if (scene->paused)
        return 0;
    int found = load(scene->db, row->instance, &instance, &held, err);
    if (found <= 0)
        return found; /* not readable: the run says so and fails */
    if (held)
        *out_reason = "unreachable";
    else if (row->exclusive && instance_is_busy(scene, row->instance))
        *out_reason = "instance_busy";
    else if (row->exclusive && lane_is_busy(scene, &instance))
        *out_reason = "lane_busy";
    else if (!ignores_windows(row) &&
             window_state(instance.windows, scene->now_ms, &open, out_closes_at, &no_zone) < 0)
        open = false; /* a zone that went missing: no window is known to be open */
    if (!open)
        *out_reason = "window";
    instance_fini(&instance);
    return 0;
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

static int start(struct db *db, struct job_row *row, struct claim *claim, int64_t closes_at,
                 struct err *err)
{
    struct job_row whole = {0};
    if (store_job_get(db, row->id, &whole, err) < 0)
        return -1;
    job_move(&whole, JOB_RUNNING, NULL, claim->now_ms);
    mem_replace(&whole.phase, "preparing");
    if (store_job_update(db, &whole, err) < 0) {
        job_row_fini(&whole);
        return -1;
    }
    claim->row = whole;
    claim->closes_at = closes_at;
    claim->found = true;
    return 0;
}

static int try_heads(struct scene *scene, struct claim *claim, struct job_row *heads, size_t count,
                     struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *reason;
        int64_t closes_at;
        if (judge(scene, &heads[i], &reason, &closes_at, err) < 0)
            return -1;
        if (!reason && !claim->found && start(scene->db, &heads[i], claim, closes_at, err) < 0)
            return -1;
        if (claim->found && !reason && strcmp(claim->row.id, heads[i].id) == 0 &&
            heads[i].exclusive)
            reason = "instance_busy"; /* for the others behind it */
        if (reason &&
            store_job_mark_waiting(scene->db, heads[i].instance, reason, MARK_LIMIT, err) < 0)
            return -1;
    }
    return 0;
}

int scheduler_claim_work(struct db *db, void *arg, struct err *err)
{
    struct claim *claim = arg;
    struct scene scene = {.db = db, .now_ms = claim->now_ms, .lanes = cJSON_CreateObject()};
    struct job_row *heads = NULL;
    size_t count = 0;
    claim->found = false;
    int rc = store_paused_get(db, &scene.paused, err);
    if (rc == 0)
        rc = store_job_running(db, &scene.running, &scene.running_count, err);
    if (rc == 0)
        rc = take_lanes(&scene, err);
    if (rc == 0)
        rc = store_job_heads(db, claim->now_ms, &heads, &count, err);
    if (rc == 0) {
        if (count > 1)
            qsort(heads, count, sizeof *heads, by_turn);
        rc = try_heads(&scene, claim, heads, count, err);
    }
    if (rc < 0 && claim->found) {
        job_row_fini(&claim->row);
        claim->found = false;
    }
    rows_free(heads, count);
    rows_free(scene.running, scene.running_count);
    cJSON_Delete(scene.lanes);
    return rc;
}

int scheduler_overdue_work(struct db *db, void *arg, struct err *err)
{
    struct overdue *overdue = arg;
    int64_t now_ms = overdue->now_ms;
    struct job_row *rows = NULL;
    size_t count = 0;
    overdue->count = 0;
    int rc = store_job_overdue(db, now_ms, &rows, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct job_row whole = {0};
        rc = store_job_get(db, rows[i].id, &whole, err);
        if (rc == 0) {
            job_move(&whole, JOB_TIMED_OUT, NULL, now_ms);
            mem_replace(&whole.error, "{\"number\":null,\"message\":\"the deadline passed while "
                                      "the job was waiting\",\"step\":\"queue\"}");
            rc = store_job_update(db, &whole, err);
        }
        if (rc == 0)
            rc = event_write(db, EVENT_JOB_FINISHED, &whole, NULL, now_ms, err);
        if (rc == 0 && overdue->count < OVERDUE_MAX)
            (void)snprintf(overdue->ids[overdue->count++], sizeof overdue->ids[0], "%s", whole.id);
        job_row_fini(&whole);
    }
    rows_free(rows, count);
    return rc;
}

int scheduler_leftovers_work(struct db *db, void *arg, struct err *err)
{
    struct leftovers *out = arg;
    struct intent_row *intents = NULL;
    size_t count = 0;
    out->count = 0;
    int rc = store_intent_leftovers(db, &intents, &count, err);
    for (size_t i = 0; i < count; i++) {
        if (rc == 0 && out->count < LEFTOVERS_MAX) {
            out->rows[out->count] = (struct job_row){0};
            rc = store_job_get(db, intents[i].job, &out->rows[out->count], err);
            out->count += rc == 0;
        }
        intent_row_fini(&intents[i]);
    }
    free(intents);
    return rc;
}

int scheduler_recover_work(struct db *db, void *arg, struct err *err)
{
    int64_t now_ms = *(const int64_t *)arg;
    struct job_row *rows = NULL;
    size_t count = 0;
    int rc = store_job_running(db, &rows, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct job_row whole = {0};
        rc = store_job_get(db, rows[i].id, &whole, err);
        if (rc == 0) {
            job_move(&whole, JOB_QUEUED, NULL, now_ms);
            rc = store_job_update(db, &whole, err);
        }
        job_row_fini(&whole);
    }
    rows_free(rows, count);
    return rc;
}
