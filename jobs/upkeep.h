#pragma once
/* The upkeep of the queue, at the start and at each tick of the clock thread: deadlines, jobs that
 * an earlier process left, retries under a clock that was set, what is still to be undone. */
#include "server/store.h"
#include "server/store_rows.h"

#define OVERDUE_MAX 100 /* jobs a pass */

struct overdue {
    int64_t now_ms;
    char ids[OVERDUE_MAX][40]; /* out: who ended */
    size_t count;
};

/* A store_work with arg struct overdue *: jobs whose deadline passed before they started end as
 * timed out, with their events; jobs whose moment has come join their queue. */
int upkeep_overdue_work(struct db *db, void *arg, struct err *err);

/* A store_work with arg int64_t * (ms): the wall clock was set so much on, or back. Retries keep
 * their distance; not_before, deadlines and windows are dates, and stay. */
int upkeep_shift_work(struct db *db, void *arg, struct err *err);

#define LEFTOVERS_MAX 100 /* jobs a pass */

struct leftovers {
    struct job_row rows[LEFTOVERS_MAX]; /* out: jobs that do not run, with something to undo, one an
                                           instance; the caller frees them */
    size_t count;
};

/* A store_work with arg struct leftovers *, on any connection. */
int upkeep_leftovers_work(struct db *db, void *arg, struct err *err);

/* The same for jobs that measured and are still stored as running, for a process that has not
 * recovered yet (upkeep_recover_work). */
int upkeep_stranded_work(struct db *db, void *arg, struct err *err);

/* A store_work with arg int64_t * (now_ms): jobs that an earlier process left running are queued
 * again; they go on from their stored trials. Those that wait for an instance that is away are
 * tried within LIMIT_RETRY_S, whatever the clock did meanwhile. */
int upkeep_recover_work(struct db *db, void *arg, struct err *err);
