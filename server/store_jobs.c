#include "server/db_driver.h"
#include "server/rows.h"
#include "server/store_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_WITH_PLAN 29
#define COLUMNS 28

/* In the order of {job_columns} and of job_insert's parameters; the plan has a table of its own. */
static const struct row_field job_fields[] = {
    /* clang-format off */
    {ROW_TEXT, offsetof(struct job_row, id)},
    {ROW_TEXT, offsetof(struct job_row, kind)},
    {ROW_TEXT, offsetof(struct job_row, instance)},
    {ROW_TEXT, offsetof(struct job_row, state)},
    {ROW_TEXT, offsetof(struct job_row, state_reason)},
    {ROW_TEXT, offsetof(struct job_row, phase)},
    {ROW_TEXT, offsetof(struct job_row, cleanup)},
    {ROW_INT,  offsetof(struct job_row, priority)},
    {ROW_INT,  offsetof(struct job_row, not_before)},
    {ROW_INT,  offsetof(struct job_row, deadline)},
    {ROW_INT,  offsetof(struct job_row, retry_at)},
    {ROW_INT,  offsetof(struct job_row, unreachable_since)},
    {ROW_INT,  offsetof(struct job_row, attempts)},
    {ROW_BOOL, offsetof(struct job_row, exclusive)},
    {ROW_BOOL, offsetof(struct job_row, cancel_asked)},
    {ROW_INT,  offsetof(struct job_row, created_at)},
    {ROW_INT,  offsetof(struct job_row, started_at)},
    {ROW_INT,  offsetof(struct job_row, finished_at)},
    {ROW_TEXT, offsetof(struct job_row, requested_by)},
    {ROW_TEXT, offsetof(struct job_row, retry_of)},
    {ROW_TEXT, offsetof(struct job_row, definition)},
    {ROW_TEXT, offsetof(struct job_row, summary)},
    {ROW_TEXT, offsetof(struct job_row, error)},
    {ROW_INT,  offsetof(struct job_row, trials_done)},
    {ROW_INT,  offsetof(struct job_row, trials_planned)},
    {ROW_INT,  offsetof(struct job_row, version)},
    {ROW_INT,  offsetof(struct job_row, run_ms)},
    {ROW_BOOL, offsetof(struct job_row, ignores_windows)},
    {ROW_TEXT, offsetof(struct job_row, plan)},
    /* clang-format on */
};
static const struct row_shape job_shape = ROW_SHAPE(job_fields, struct job_row);
_Static_assert(sizeof job_fields / sizeof job_fields[0] == COLUMNS_WITH_PLAN, "one row a column");

void job_row_fini(struct job_row *row)
{
    row_fini(&job_shape, row);
}

void job_rows_free(struct job_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        job_row_fini(&rows[i]);
    free(rows);
}

static int put_plan(struct db *db, const struct job_row *row, struct err *err)
{
    if (!row->plan)
        return 0;
    struct db_use *use = db_use(db, SQL_JOB_PLAN_PUT);
    db_bind_text(use, 1, row->id);
    db_bind_text(use, 2, row->plan);
    return db_run(use, NULL, err);
}

static int put_labels(struct db *db, const struct job_row *row, struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_LABEL_INSERT);
    db_bind_text(use, 1, row->id);
    db_bind_text(use, 2, row->definition);
    return db_run(use, NULL, err);
}

int store_job_insert(struct db *db, const struct job_row *row, struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_JOB_INSERT);
    row_bind(&job_shape, use, COLUMNS, row);
    if (db_run(use, &changed, err) < 0)
        return -1;
    if (changed == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "there is no instance %s", row->instance);
    if (put_labels(db, row, err) < 0)
        return -1;
    return put_plan(db, row, err);
}

int store_job_get(struct db *db, const char *id, struct job_row *out, struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_GET);
    db_bind_text(use, 1, id);
    int found = row_one(&job_shape, use, COLUMNS_WITH_PLAN, out, err);
    if (found == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "there is no job %s", id);
    return found < 0 ? -1 : 0;
}

int store_job_update(struct db *db, struct job_row *row, struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_JOB_UPDATE);
    row_bind(&job_shape, use, COLUMNS, row);
    if (db_run(use, &changed, err) < 0)
        return -1;
    if (changed == 0)
        return err_set(err, ERR_CONFLICT, 0, "job %s was changed by another meanwhile", row->id);
    if (put_plan(db, row, err) < 0)
        return -1;
    row->version++;
    return 0;
}

/* --- lists ---------------------------------------------------------------------------------- */

/* The narrowest key that the filter allows. */
static enum sql_id choose_list(const struct job_filter *filter)
{
    if (filter->label_key && filter->label_value)
        return SQL_JOB_LIST_LABEL;
    if (filter->instance)
        return SQL_JOB_LIST_INSTANCE;
    if (filter->state && strcmp(filter->state, "succeeded") != 0)
        return SQL_JOB_LIST_STATE;
    return SQL_JOB_LIST; /* those that succeeded are most, and found soon along the ids */
}

/* The lowest id that a job created at or after this moment can have: ids begin with their time,
 * which is taken a little before the row's. Ends the walk along the ids there. */
static void lowest_id(int64_t since, char out[16])
{
    const int64_t slack_ms = 60000;
    uint64_t from = since > slack_ms ? (uint64_t)(since - slack_ms) & 0xFFFFFFFFFFFF : 0;
    if (from == 0)
        out[0] = '\0';
    else
        (void)snprintf(out, 16, "%08x-%04x", (unsigned)(from >> 16), (unsigned)(from & 0xFFFF));
}

int store_job_list(struct db *db, const struct job_filter *filter, const struct store_list *page,
                   struct job_row **out_rows, size_t *out_count, struct err *err)
{
    char lowest[16];
    void *rows = NULL;
    lowest_id(filter->since, lowest);
    struct db_use *use = db_use(db, choose_list(filter));
    db_bind_text(use, 1, page->after);
    db_bind_text(use, 2, lowest);
    db_bind_int(use, 3, filter->since);
    db_bind_text(use, 4, filter->state);
    db_bind_text(use, 5, filter->kind);
    db_bind_text(use, 6, filter->instance);
    db_bind_text(use, 7, filter->label_key);
    db_bind_text(use, 8, filter->label_value);
    db_bind_int(use, 9, page->limit);
    if (row_all(&job_shape, use, COLUMNS, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

static int collect(struct db_use *use, struct job_row **out_rows, size_t *out_count,
                   struct err *err)
{
    void *rows = NULL;
    if (row_all(&job_shape, use, COLUMNS_WITH_PLAN, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

/* --- the queues ----------------------------------------------------------------------------- */

int store_job_wake(struct db *db, int64_t now_ms, struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_WAKE);
    db_bind_int(use, 1, now_ms);
    return db_run(use, NULL, err);
}

int store_job_shift_retries(struct db *db, int64_t by_ms, struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_SHIFT_RETRIES);
    db_bind_int(use, 1, by_ms);
    return db_run(use, NULL, err);
}

int store_job_bound_retries(struct db *db, int64_t now_ms, int64_t longest_ms, struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_BOUND_RETRIES);
    db_bind_int(use, 1, now_ms);
    db_bind_int(use, 2, longest_ms);
    return db_run(use, NULL, err);
}

int store_job_heads(struct db *db, int64_t now_ms, struct job_row **out_rows, size_t *out_count,
                    struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_HEADS);
    db_bind_int(use, 1, now_ms);
    return collect(use, out_rows, out_count, err);
}

int store_job_running(struct db *db, struct job_row **out_rows, size_t *out_count, struct err *err)
{
    return collect(db_use(db, SQL_JOB_RUNNING), out_rows, out_count, err);
}

int store_job_overdue(struct db *db, int64_t now_ms, struct job_row **out_rows, size_t *out_count,
                      struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_OVERDUE);
    db_bind_int(use, 1, now_ms);
    return collect(use, out_rows, out_count, err);
}

int store_job_unmarked(struct db *db, const char *instance, const char *reason, bool *out_found,
                       struct err *err)
{
    static const enum sql_id looks[] = {SQL_JOB_UNMARKED_QUEUED, SQL_JOB_UNMARKED_WAITING};
    *out_found = false;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0] && !*out_found; i++) {
        struct db_use *use = db_use(db, looks[i]);
        db_bind_text(use, 1, instance);
        db_bind_text(use, 2, reason);
        int step = db_step(use, err);
        *out_found = step == 1;
        db_done(use);
        if (step < 0)
            return -1;
    }
    return 0;
}

int store_job_kept_back(struct db *db, const char *instance, int64_t now_ms, bool *out_found,
                        struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_KEPT_BACK);
    db_bind_text(use, 1, instance);
    db_bind_int(use, 2, now_ms);
    int step = db_step(use, err);
    db_done(use);
    *out_found = step == 1;
    return step < 0 ? -1 : 0;
}

int store_job_mark_waiting(struct db *db, const char *instance, const char *reason, int64_t limit,
                           struct err *err)
{
    static const enum sql_id marks[] = {SQL_JOB_MARK_QUEUED, SQL_JOB_MARK_WAITING};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0] && limit > 0; i++) {
        int64_t changed = 0;
        struct db_use *use = db_use(db, marks[i]);
        db_bind_text(use, 1, instance);
        db_bind_text(use, 2, reason);
        db_bind_int(use, 3, limit);
        if (db_run(use, &changed, err) < 0)
            return -1;
        limit -= changed;
    }
    return 0;
}

int store_job_next_moment(struct db *db, int64_t now_ms, int64_t *out_ms, struct err *err)
{
    struct db_use *use = db_use(db, SQL_JOB_NEXT_MOMENT);
    db_bind_int(use, 1, now_ms);
    int step = db_step(use, err);
    if (step == 1)
        *out_ms = db_int(use, 0); /* NULL reads as 0 */
    db_done(use);
    return step < 0 ? -1 : 0;
}
