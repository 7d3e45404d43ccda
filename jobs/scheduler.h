#pragma once
/* Who may run now: one job that measures per instance and per lane, inside the instance's
 * windows, the highest priority first, then the oldest. */
#include "server/store.h"
#include "server/store_rows.h"

#include <stdbool.h>

struct cleaners;

struct claim {
    int64_t now_ms;
    struct cleaners *cleaners; /* which instances are being cleaned up; may be NULL */
    bool found;                /* out */
    bool needs_cleanup;        /* out: a job waits for a clean-up from now on */
    struct job_row row;        /* out: the job, running now; the caller frees it */
    int64_t closes_at;         /* out: when its window closes, 0 never */
};

/* Moves the best runnable job to running, and marks those that have to wait with their reason.
 * Judging (all instances, their windows and zones) happens in a read; the write looks only whether
 * what was judged still stands, and judges anew when it does not. found is false when nothing may
 * run, or when others were quicker each time. */
MUST_CHECK int scheduler_claim(struct store *store, struct claim *claim, struct err *err);

#define OVERDUE_MAX 100 /* jobs a pass */

struct overdue {
    int64_t now_ms;
    char ids[OVERDUE_MAX][40]; /* out: who ended */
    size_t count;
};

/* A store_work with arg struct overdue *: jobs whose deadline passed before they started end as
 * timed out, with their events; jobs whose moment has come join their queue. */
int scheduler_overdue_work(struct db *db, void *arg, struct err *err);

/* A store_work with arg int64_t * (ms): the wall clock was set so much on, or back. Retries keep
 * their distance; not_before, deadlines and windows are dates, and stay. */
int scheduler_shift_work(struct db *db, void *arg, struct err *err);

#define LEFTOVERS_MAX 100 /* jobs a pass */

struct leftovers {
    struct job_row rows[LEFTOVERS_MAX]; /* out: jobs that do not run, with something to undo, one an
                                           instance; the caller frees them */
    size_t count;
};

/* A store_work with arg struct leftovers *, on any connection. */
int scheduler_leftovers_work(struct db *db, void *arg, struct err *err);

/* A store_work with arg int64_t * (now_ms): jobs that an earlier process left running are queued
 * again; they go on from their stored trials. Those that wait for an instance that is away are
 * tried within LIMIT_RETRY_S, whatever the clock did meanwhile. */
int scheduler_recover_work(struct db *db, void *arg, struct err *err);
