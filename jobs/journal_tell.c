/* What the journal's intents come to for people: the cleanup of their jobs, and when it is told
 * that one failed. */
#include "jobs/event.h"
#include "jobs/journal_inner.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int journal_list_work(struct db *db, void *arg, struct err *err)
{
    struct list_work *work = arg;
    if (!work->job && !work->state)
        return store_intent_list_left(db, work->instance, &work->rows, &work->count, err);
    return store_intent_list(db, work->job, work->instance, work->state, &work->rows, &work->count,
                             err);
}

void journal_list_fini(struct list_work *work)
{
    for (size_t i = 0; i < work->count; i++)
        intent_row_fini(&work->rows[i]);
    free(work->rows);
}

const char *journal_cleanup_of(const struct intent_row *rows, size_t count)
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

static _Atomic int64_t failures;

void journal_count_failure(void)
{
    atomic_fetch_add(&failures, 1);
}

int64_t journal_failures(void)
{
    return atomic_load(&failures);
}

/* The ended job's clean-up is known to have failed from now on, which is told once. */
static int tell_failed(struct db *db, struct job_row *row, struct err *err)
{
    if (strcmp(row->cleanup, "failed") == 0)
        return 0;
    mem_replace(&row->cleanup, "failed");
    if (store_job_update(db, row, err) < 0 ||
        event_write(db, EVENT_CLEANUP_FAILED, row, NULL, clock_wall_ms(), err) < 0)
        return -1;
    journal_count_failure();
    return 0;
}

/* An ended job says itself that it was cleaned up after its end; others say so when they run. What
 * was told to have failed is not pending again, but may be done in the end. */
int journal_tell_work(struct db *db, void *arg, struct err *err)
{
    struct list_work work = {.job = arg};
    struct job_row row = {0};
    int rc = store_job_get(db, arg, &row, err);
    if (rc == 0 && job_is_done(&row))
        rc = journal_list_work(db, &work, err);
    const char *cleanup = journal_cleanup_of(work.rows, work.count);
    if (rc == 0 && work.count > 0 && strcmp(cleanup, "failed") == 0)
        rc = tell_failed(db, &row, err);
    else if (rc == 0 && work.count > 0 &&
             (strcmp(cleanup, "done") == 0 || strcmp(row.cleanup, "failed") != 0)) {
        mem_replace(&row.cleanup, cleanup);
        rc = store_job_update(db, &row, err);
    }
    journal_list_fini(&work);
    job_row_fini(&row);
    return rc;
}

int journal_tell(struct run *run, struct err *err)
{
    return store_write(run->parts->store, journal_tell_work, run->row.id, err);
}

static int give_up_work(struct db *db, void *arg, struct err *err)
{
    struct list_work work = {.job = arg, .state = "open"};
    struct job_row row = {0};
    int rc = store_job_get(db, arg, &row, err);
    if (rc == 0 && job_is_done(&row))
        rc = journal_list_work(db, &work, err);
    if (rc == 0 && work.count > 0)
        rc = tell_failed(db, &row, err);
    journal_list_fini(&work);
    job_row_fini(&row);
    return rc;
}

int journal_give_up(struct run *run, struct err *err)
{
    return store_write(run->parts->store, give_up_work, run->row.id, err);
}
