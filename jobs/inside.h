#pragma once
/* What struct jobs is made of; only for files of this folder that implement jobs/jobs.h. */
#include "jobs/check.h"
#include "jobs/cleaners.h"
#include "jobs/jobs.h"
#include "jobs/notify.h"
#include "jobs/pool.h"
#include "jobs/watch.h"
#include "server/lock.h"

/* For tests: how often windows, deadlines and retries are looked at; 1 s else. Before jobs_start.
 */
void jobs_set_tick(int64_t ms);

struct jobs {
    struct jobs_parts parts;
    struct pool *pool;
    struct watchers *watchers;
    struct notify *notify;
    struct check_pool *checks;
    pthread_t clock; /* hands out jobs; deadlines, retries, windows */
    bool clock_started;
    int64_t ahead_ms;    /* the clock thread's: how far the wall clock is ahead of the steady one */
    int64_t clean_at_ns; /* the clock thread's: when leftovers are looked for next */
    struct lock lock;    /* guards the members below */
    struct wait wake;
    bool woken;
    bool ending;
};
