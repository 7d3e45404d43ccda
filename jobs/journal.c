#include "jobs/applock.h"
#include "jobs/files.h"
#include "jobs/flags.h"
#include "jobs/former.h"
#include "jobs/journal_inner.h"
#include "jobs/measure/messages.h"
#include "jobs/measure/own_name.h"
#include "jobs/snapshots.h"
#include "jobs/tables.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_IN_USE 3702 /* what is to be dropped is in use */

#define UNDO_TRIES 4      /* of an undo that passes: a deadlock, a lock time-out */
#define UNDO_PAUSE_MS 100 /* after the first of them; doubled each time */

static int undo_file(struct run *run, const struct intent_row *intent, struct err *err)
{
    return files_remove(run, intent->object, err);
}

/* What can be undone, and how. */
static const struct {
    const char *action;
    journal_undo_one *undo;
    bool lasts; /* from trial to trial; the kind changes it when the next one needs it otherwise */
    bool alone; /* not while another service measures: it has found it so, and puts it back so */
} actions[] = {
    {JOURNAL_FILE, undo_file},
    {JOURNAL_FLAG, flags_undo, .lasts = true, .alone = true},
    {JOURNAL_SNAPSHOT, snapshot_undo},
    {JOURNAL_TABLE, table_undo},
};

struct write_work {
    const struct job_row *job;
    const char *action;
    const char *const *objects;
    size_t count;
    const char *prior; /* or NULL */
};

static int write_work(struct db *db, void *arg, struct err *err)
{
    const struct write_work *work = arg;
    for (size_t i = 0; i < work->count; i++) {
        char id[IDS_TEXT_SIZE];
        struct intent_row row = {.id = mem_copy(ids_new(id)),
                                 .job = mem_copy(work->job->id),
                                 .instance = mem_copy(work->job->instance),
                                 .action = mem_copy(work->action),
                                 .object = mem_copy(work->objects[i]),
                                 .prior = mem_copy(work->prior),
                                 .state = mem_copy("open"),
                                 .created_at = clock_wall_ms()};
        int rc = store_intent_insert(db, &row, err);
        intent_row_fini(&row);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int write_down(struct run *run, struct write_work *work, struct err *err)
{
    mem_replace(&run->row.cleanup, "pending"); /* shown with the next progress */
    return store_write(run->parts->store, write_work, work, err);
}

int journal_files(struct run *run, const char *const *paths, size_t count, struct err *err)
{
    struct write_work work = {&run->row, JOURNAL_FILE, paths, count, NULL};
    return write_down(run, &work, err);
}

int journal_write(struct run *run, const char *action, const char *object, const char *prior,
                  struct err *err)
{
    struct write_work work = {&run->row, action, &object, 1, prior};
    return write_down(run, &work, err);
}

struct close_work {
    const char *id;
    const char *state;
    const char *detail;
};

static int close_work(struct db *db, void *arg, struct err *err)
{
    const struct close_work *work = arg;
    return store_intent_close(db, work->id, work->state, work->detail, err);
}

static int undo_by_table(struct run *run, const struct intent_row *row, struct err *err)
{
    for (size_t i = 0; i < JSON_COUNT(actions); i++)
        if (strcmp(actions[i].action, row->action) == 0)
            return actions[i].undo(run, row, err);
    return err_set(err, ERR_REFUSED, 0, "this version does not know how to undo \"%s\"",
                   row->action);
}

/* What passes: a lock, a deadlock, somebody who still reads the snapshot. */
static bool passes(int number)
{
    return message_is_passing(number) || number == MESSAGE_IN_USE;
}

/* An error of the server's is tried once more at once, one that passes a few times more. */
static int undo_patiently(struct run *run, const struct intent_row *row, struct err *err)
{
    int64_t pause_ms = UNDO_PAUSE_MS;
    int rc = undo_by_table(run, row, err);
    for (int tries = 1; rc < 0 && tries < UNDO_TRIES; tries++) {
        bool passing = passes(err->detail);
        bool answered = err->code == ERR_SQL || (err->code == ERR_REFUSED && err->detail != 0);
        if (!answered || mssql_is_dead(run_session(run)) || (tries > 1 && !passing))
            break;
        if (passing)
            (void)run_rest(run, pause_ms); /* also while the daemon ends: the tries are few */
        pause_ms *= 2;
        *err = (struct err){0};
        rc = undo_by_table(run, row, err);
    }
    return rc;
}

/* True when it may do later: the intent stays open. */
static bool may_do_later(const struct run *run, const struct err *why)
{
    return why->code == ERR_UNREACHABLE || why->code == ERR_TIMEOUT || /* large file, slow disk */
           why->code == ERR_CANCELLED || why->code == ERR_STORE || passes(why->detail) ||
           mssql_is_dead(run->session);
}

/* Somebody who measures there now is waited for, as a server that is away is. */
static int be_alone(struct run *run, const struct intent_row *row, struct err *err)
{
    bool alone = false;
    for (size_t i = 0; i < JSON_COUNT(actions); i++)
        alone |= actions[i].alone && strcmp(actions[i].action, row->action) == 0;
    if (!alone || applock_take_to_undo(run, err) == 0)
        return 0;
    if (err->code == ERR_SQL)
        err->code = mssql_is_dead(run_session(run)) ? ERR_UNREACHABLE : ERR_TIMEOUT;
    return -1;
}

static bool is_failed(const struct intent_row *row)
{
    return strcmp(row->state, "failed") == 0;
}

/* True when nothing more can be undone now. */
static bool ends_undoing(const struct err *why)
{
    return why->code == ERR_UNREACHABLE || why->code == ERR_CANCELLED;
}

/* What failed before and may do later stays failed: it keeps nobody waiting. */
static int stay_failed(struct run *run, const struct intent_row *row, const struct err *why,
                       struct err *err)
{
    struct close_work failed = {row->id, "failed", why->msg};
    return store_write(run->parts->store, close_work, &failed, err);
}

static bool is_unmarked(const struct run *run, const char *id)
{
    for (size_t i = 0; i < run->unmarked_count; i++)
        if (strcmp(run->unmarked[i], id) == 0)
            return true;
    return false;
}

/* A full disk on our side must not keep anything on the server: what is undone there is kept in
 * mind until it can be written. Other jobs' intents stay open, and the next look finds them undone.
 */
static void note_unmarked(struct run *run, const struct intent_row *row)
{
    if (strcmp(row->job, run->row.id) != 0 || is_unmarked(run, row->id))
        return;
    run->unmarked = mem_grow(run->unmarked, &run->unmarked_capacity, run->unmarked_count + 1,
                             sizeof *run->unmarked);
    run->unmarked[run->unmarked_count++] = mem_copy(row->id);
}

int journal_mark_work(struct db *db, const struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->unmarked_count; i++)
        if (store_intent_close(db, run->unmarked[i], "undone", NULL, err) < 0)
            return -1;
    return 0;
}

static int undo_one(struct run *run, const struct intent_row *row, struct err *err)
{
    struct err why = {0};
    if (undo_patiently(run, row, &why) < 0) {
        if (mssql_is_dead(run_session(run)))
            return err_set(err, ERR_UNREACHABLE, why.detail, "%s", why.msg);
        if (may_do_later(run, &why)) {
            *err = why;
            err->code = why.code == ERR_SQL || why.code == ERR_REFUSED ? ERR_TIMEOUT : why.code;
            return -1;
        }
        struct close_work failed = {row->id, "failed", why.msg};
        return store_write(run->parts->store, close_work, &failed, err);
    }
    struct close_work undone = {row->id, "undone", NULL};
    if (store_write(run->parts->store, close_work, &undone, err) == 0)
        return 0;
    note_unmarked(run, row);
    return err_wrap(err, "note that a change was undone");
}

static int note_work(struct db *db, void *arg, struct err *err)
{
    return store_intent_give_up(db, arg, clock_wall_ms(), err);
}

int journal_note_given_up(struct run *run, struct err *err)
{
    return store_write(run->parts->store, note_work, run->row.id, err);
}

/* The session that has ended, as far as can be seen. */
struct ended {
    const char *job;
    int64_t given_up_at;
};

/* Nothing is touched while the session that made it may still be at it. */
static int wait_for_its_session(struct run *run, const struct intent_row *row, bool others,
                                struct ended *ended, struct err *err)
{
    if (!others && row->given_up_at == 0)
        return former_wait_own(run, err);
    if (strcmp(ended->job, row->job) == 0 && ended->given_up_at >= row->given_up_at)
        return 0;
    ended->job = "";
    if (former_wait(run, row->job, row->given_up_at, err) < 0)
        return -1;
    *ended = (struct ended){row->job, row->given_up_at};
    return 0;
}

/* Undoes those that pick says yes to (NULL: all), the newest first. One that may do later, or that
 * cannot be noted, does not keep the others: the first error is the answer. others: rows of several
 * jobs, which this run knows nothing of. */
static int undo_rows(struct run *run, const struct list_work *work, journal_pick *pick,
                     const void *arg, bool others, struct err *err)
{
    int rc = 0;
    struct ended ended = {.job = ""};
    for (size_t i = work->count; i-- > 0;) {
        const struct intent_row *row = &work->rows[i];
        struct err why = {0};
        if (pick && !pick(row, arg))
            continue;
        int one = wait_for_its_session(run, row, others, &ended, &why);
        if (one == 0)
            one = be_alone(run, row, &why);
        if (one == 0)
            one = undo_one(run, row, &why);
        if (one < 0 && is_failed(row) && why.code != ERR_STORE && !ends_undoing(&why)) {
            struct err reason = why;
            one = stay_failed(run, row, &reason, &why);
        }
        if (one == 0 && others)
            one = store_write(run->parts->store, journal_tell_work, row->job, &why);
        if (one == 0)
            continue;
        if (rc == 0)
            *err = why;
        rc = -1;
        if (ends_undoing(&why))
            break;
    }
    return rc;
}

int journal_undo_others(struct run *run, bool failed_too, struct err *err)
{
    struct list_work work = {.instance = run->row.instance, .state = failed_too ? NULL : "open"};
    if (!run->row.exclusive) /* who is not alone cannot know what others are at */
        return 0;
    bool undisturbed = run_keep_undisturbed(run, true);
    int rc = store_read(run->parts->store, journal_list_work, &work, err);
    if (rc == 0)
        rc = undo_rows(run, &work, NULL, NULL, true, err);
    journal_list_fini(&work);
    (void)run_keep_undisturbed(run, undisturbed); /* as it was */
    return rc;
}

int journal_undo_picked(struct run *run, journal_pick *pick, const void *arg, struct err *err)
{
    struct list_work work = {.job = run->row.id, .state = "open"};
    /* a cancelled look would be taken for a file that cannot be deleted */
    bool undisturbed = run_keep_undisturbed(run, true);
    int rc = store_read(run->parts->store, journal_list_work, &work, err);
    if (rc == 0 && work.count > 0)
        rc = run_connect(run, err);
    if (rc == 0)
        rc = undo_rows(run, &work, pick, arg, false, err);
    journal_list_fini(&work);
    (void)run_keep_undisturbed(run, undisturbed); /* as it was */
    return rc;
}

static bool is_any(const struct intent_row *intent, const void *arg)
{
    (void)intent;
    (void)arg;
    return true;
}

int journal_undo(struct run *run, struct err *err)
{
    return journal_undo_picked(run, is_any, NULL, err);
}

static bool ends_with_its_trial(const struct intent_row *intent, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < JSON_COUNT(actions); i++)
        if (strcmp(actions[i].action, intent->action) == 0)
            return !actions[i].lasts;
    return true;
}

int journal_undo_trial(struct run *run, struct err *err)
{
    return journal_undo_picked(run, ends_with_its_trial, NULL, err);
}

int journal_state(struct run *run, const char **out_cleanup, cJSON **out_left, struct err *err)
{
    struct list_work work = {.job = run->row.id};
    if (store_read(run->parts->store, journal_list_work, &work, err) < 0)
        return -1;
    for (size_t i = 0; i < work.count; i++)
        if (is_unmarked(run, work.rows[i].id))
            mem_replace(&work.rows[i].state, "undone");
    const char *cleanup = journal_cleanup_of(work.rows, work.count);
    cJSON *left = cJSON_CreateArray();
    for (size_t i = 0; i < work.count; i++) {
        const struct intent_row *row = &work.rows[i];
        if (strcmp(row->state, "undone") == 0)
            continue;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "action", row->action);
        cJSON_AddStringToObject(item, "object", row->object);
        cJSON_AddItemToObject(item, "detail", json_text(row->detail));
        cJSON_AddItemToArray(left, item);
    }
    journal_list_fini(&work);
    *out_cleanup = cleanup;
    if (out_left)
        *out_left = left;
    else
        cJSON_Delete(left);
    return 0;
}

/* The number behind the job's id in sweetspot_<job>_<seq>…, which the last component is. */
static int64_t seq_of(const char *object)
{
    const char *name = object;
    for (const char *at = strstr(name, OWN_NAME_PREFIX); at; at = strstr(at + 1, OWN_NAME_PREFIX))
        name = at + strlen(OWN_NAME_PREFIX);
    if (name == object || strlen(name) < IDS_TEXT_SIZE || name[IDS_TEXT_SIZE - 1] != '_')
        return 0;
    return strtoll(name + IDS_TEXT_SIZE, NULL, 10);
}

int journal_last_seq(struct run *run, int64_t *out_seq, struct err *err)
{
    struct list_work work = {.job = run->row.id};
    if (store_read(run->parts->store, journal_list_work, &work, err) < 0)
        return -1;
    int64_t last = 0;
    for (size_t i = 0; i < work.count; i++)
        if (seq_of(work.rows[i].object) > last)
            last = seq_of(work.rows[i].object);
    journal_list_fini(&work);
    *out_seq = last;
    return 0;
}
