#pragma once
/* The workers: each carries one claimed job at a time. The registry of what runs is here, so that
 * jobs can be cancelled and watched. Threads: any may call. */
#include "jobs/jobs.h"
#include "jobs/run.h"

struct pool;

/* on_free is called (from a worker) after its job was carried and it is free again; ended: the
 * job's end is stored (else it waits, is queued again, or could not be stored). */
typedef void pool_on_free(void *ctx, const char *id, bool ended);

MUST_CHECK int pool_start(const struct jobs_parts *parts, int workers, pool_on_free *on_free,
                          void *ctx, struct pool **out, struct err *err);

/* Asks every run to stop for the shutdown and joins the workers; the pool may still be asked. False
 * when a worker did not end within 80 s: its server answers nothing, not even a cancel. Then
 * nothing may be freed that a worker uses. Accepts NULL. */
bool pool_drain(struct pool *pool);

/* How many runs ended for the shutdown with something owing: a change on the server that could not
 * be undone, or an end that could not be stored. To be asked after pool_drain. */
int pool_owing(struct pool *pool);

/* Drains, which must not fail, then frees. Accepts NULL. */
void pool_stop(struct pool *pool);

/* How many workers are free, and how many are busy. */
int pool_free_count(struct pool *pool);
int pool_busy_count(struct pool *pool);

/* Hands a claimed job to a free worker; closes_at: when its
 * window closes, 0 never. There must be a free worker (only the clock thread hands out). Takes the
 * row over. */
void pool_give(struct pool *pool, struct job_row *row, int64_t closes_at);

/* Hands a job that does not run to a free worker, which cleans its instance up (jobs/cleanup.h); as
 * pool_give. */
void pool_give_cleanup(struct pool *pool, struct job_row *row);

/* True when a worker has the job, to run it or for a clean-up. */
bool pool_has(struct pool *pool, const char *id);

/* False when the job was not given to a worker here. */
bool pool_stop_job(struct pool *pool, const char *id, enum run_stop why);
bool pool_current(struct pool *pool, const char *id, struct job_current *out);
/* All that run, at most max; how many they are. */
size_t pool_running(struct pool *pool, struct job_running *out, size_t max);

/* Stops runs whose time, deadline or window is over, gives up trials whose time is, and once more
 * those that were stopped and still run. */
void pool_tick(struct pool *pool, int64_t now_ms, int64_t mono_ns);
