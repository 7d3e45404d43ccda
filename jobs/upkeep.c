#include "jobs/upkeep.h"
#include "jobs/event.h"
#include "jobs/state.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>

int upkeep_overdue_work(struct db *db, void *arg, struct err *err)
{
    struct overdue *overdue = arg;
    int64_t now_ms = overdue->now_ms;
    struct job_row *rows = NULL;
    size_t count = 0;
    overdue->count = 0;
    int rc = store_job_wake(db, now_ms, err);
    if (rc == 0)
        rc = store_job_overdue(db, now_ms, &rows, &count, err);
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
            rc = event_write_end(db, &whole, NULL, false, now_ms, err);
        if (rc == 0 && overdue->count < OVERDUE_MAX)
            (void)snprintf(overdue->ids[overdue->count++], sizeof overdue->ids[0], "%s", whole.id);
        job_row_fini(&whole);
    }
    job_rows_free(rows, count);
    return rc;
}

int upkeep_leftovers_work(struct db *db, void *arg, struct err *err)
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

int upkeep_stranded_work(struct db *db, void *arg, struct err *err)
{
    struct leftovers *out = arg;
    struct job_row *rows = NULL;
    size_t count = 0;
    out->count = 0;
    int rc = store_job_running(db, &rows, &count, err);
    for (size_t i = 0; i < count && rc == 0 && out->count < LEFTOVERS_MAX; i++) {
        if (!rows[i].exclusive)
            continue;
        out->rows[out->count] = (struct job_row){0};
        rc = store_job_get(db, rows[i].id, &out->rows[out->count], err);
        out->count += rc == 0;
    }
    job_rows_free(rows, count);
    return rc;
}

int upkeep_shift_work(struct db *db, void *arg, struct err *err)
{
    return store_job_shift_retries(db, *(const int64_t *)arg, err);
}

int upkeep_recover_work(struct db *db, void *arg, struct err *err)
{
    int64_t now_ms = *(const int64_t *)arg;
    struct job_row *rows = NULL;
    size_t count = 0;
    int rc = store_job_bound_retries(db, now_ms, LIMIT_RETRY_S * INT64_C(1000), err);
    if (rc == 0)
        rc = store_job_running(db, &rows, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct job_row whole = {0};
        rc = store_job_get(db, rows[i].id, &whole, err);
        if (rc == 0) {
            job_move(&whole, JOB_QUEUED, NULL, now_ms);
            rc = store_job_update(db, &whole, err);
        }
        job_row_fini(&whole);
    }
    job_rows_free(rows, count);
    return rc;
}
