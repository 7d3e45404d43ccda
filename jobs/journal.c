#include "jobs/journal.h"
#include "jobs/files.h"
#include "jobs/flags.h"
#include "jobs/measure/own_name.h"
#include "jobs/snapshots.h"
#include "jobs/state.h"
#include "jobs/tables.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

static int undo_file(struct run *run, const struct intent_row *intent, struct err *err)
{
    return files_remove(run, intent->object, err);
}

/* What can be undone, and how. */
static const struct {
    const char *action;
    journal_undo_one *undo;
    bool lasts; /* from trial to trial; the kind changes it when the next one needs it otherwise */
} actions[] = {
    {JOURNAL_FILE, undo_file},
    {JOURNAL_FLAG, flags_undo, .lasts = true},
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

struct list_work {
    const char *job;      /* of this job, or (NULL) ... */
    const char *instance; /* ... of all jobs of this instance */
    const char *state;
    struct intent_row *rows;
    size_t count;
};

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct list_work *work = arg;
    return store_intent_list(db, work->job, work->instance, work->state, &work->rows, &work->count,
                             err);
}

static void list_fini(struct list_work *work)
{
    for (size_t i = 0; i < work->count; i++)
        intent_row_fini(&work->rows[i]);
    free(work->rows);
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

static int undo_one(struct run *run, const struct intent_row *row, struct err *err)
{
    struct err why = {0};
    if (undo_by_table(run, row, &why) < 0) {
        if (why.code == ERR_UNREACHABLE || mssql_is_dead(run_session(run)))
            return err_set(err, ERR_UNREACHABLE, why.detail, "%s", why.msg);
        if (why.code == ERR_TIMEOUT) { /* a large file or slow storage: it stays open */
            *err = why;
            return -1;
        }
        struct close_work failed = {row->id, "failed", why.msg};
        return store_write(run->parts->store, close_work, &failed, err);
    }
    struct close_work undone = {row->id, "undone", NULL};
    return store_write(run->parts->store, close_work, &undone, err);
}

/* The `cleanup` that intents come to. */
static const char *cleanup_of(const struct intent_row *rows, size_t count)
{
    const char *cleanup = count > 0 ? "done" : "none";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].state, "open") == 0)
            return "pending";
        if (strcmp(rows[i].state, "undone") != 0)
            cleanup = "failed";
    }
    return cleanup;
}

/* An ended job says itself that it was cleaned up after its end; others say so when they run. */
static int tell_work(struct db *db, void *arg, struct err *err)
{
    struct list_work work = {.job = arg};
    struct job_row row = {0};
    int rc = store_job_get(db, arg, &row, err);
    if (rc == 0 && job_is_done(&row))
        rc = list_work(db, &work, err);
    if (rc == 0 && work.count > 0) {
        mem_replace(&row.cleanup, cleanup_of(work.rows, work.count));
        rc = store_job_update(db, &row, err);
    }
    list_fini(&work);
    job_row_fini(&row);
    return rc;
}

int journal_tell(struct run *run, struct err *err)
{
    return store_write(run->parts->store, tell_work, run->row.id, err);
}

int journal_undo_others(struct run *run, struct err *err)
{
    struct list_work work = {.instance = run->row.instance, .state = "open"};
    if (!run->row.exclusive) /* who is not alone cannot know what others are at */
        return 0;
    bool undisturbed = run_keep_undisturbed(run, true);
    int rc = store_read(run->parts->store, list_work, &work, err);
    for (size_t i = work.count; i-- > 0 && rc == 0;) { /* the newest first */
        rc = undo_one(run, &work.rows[i], err);
        if (rc == 0)
            rc = store_write(run->parts->store, tell_work, work.rows[i].job, err);
    }
    list_fini(&work);
    (void)run_keep_undisturbed(run, undisturbed); /* as it was */
    return rc;
}

int journal_undo_picked(struct run *run, journal_pick *pick, const void *arg, struct err *err)
{
    struct list_work work = {.job = run->row.id, .state = "open"};
    /* a cancelled look would be taken for a file that cannot be deleted */
    bool undisturbed = run_keep_undisturbed(run, true);
    int rc = store_read(run->parts->store, list_work, &work, err);
    if (rc == 0 && work.count > 0)
        rc = run_connect(run, err);
    for (size_t i = work.count; i-- > 0 && rc == 0;) /* the newest first */
        if (pick(&work.rows[i], arg))
            rc = undo_one(run, &work.rows[i], err);
    list_fini(&work);
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
    if (store_read(run->parts->store, list_work, &work, err) < 0)
        return -1;
    const char *cleanup = cleanup_of(work.rows, work.count);
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
    list_fini(&work);
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
    if (store_read(run->parts->store, list_work, &work, err) < 0)
        return -1;
    int64_t last = 0;
    for (size_t i = 0; i < work.count; i++)
        if (seq_of(work.rows[i].object) > last)
            last = seq_of(work.rows[i].object);
    list_fini(&work);
    *out_seq = last;
    return 0;
}
