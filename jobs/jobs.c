#include "jobs/cleanup.h"
#include "jobs/inside.h"
#include "jobs/journal.h"
#include "jobs/preview.h"
#include "jobs/scheduler.h"
#include "jobs/upkeep.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/log.h"
#include "server/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CLEAN_NS                                                                                   \
    (60 * INT64_C(1000000000)) /* leftovers of ended jobs are looked for once a minute */
#define CLOCK_SET_MS 2000      /* by less the wall clock is only kept right */
#define CLOCK_READ_NS INT64_C(100000000)
#define FORGET_NS INT64_C(3600000000000) /* old events, once an hour */
#define TICK_NS 1000000000 /* windows, deadlines and retries are looked at once a second */

static _Atomic int64_t tick_ns = TICK_NS;

void jobs_set_tick(int64_t ms)
{
    atomic_store(&tick_ns, ms * 1000000);
}

/* --- the clock thread ---------------------------------------------------------------------- */

/* How far the wall clock is ahead of the steady one; read again when something came between. */
static int64_t ahead_ms(void)
{
    for (;;) {
        int64_t before_ns = clock_mono_ns();
        int64_t wall_ms = clock_wall_ms();
        int64_t after_ns = clock_mono_ns();
        if (after_ns - before_ns < CLOCK_READ_NS)
            return wall_ms - after_ns / 1000000;
    }
}

/* Retries are durations, though their moments are stored as dates: when somebody sets the clock
 * those are set, too. */
static void heed_clock(struct jobs *jobs)
{
    int64_t by_ms = ahead_ms() - jobs->ahead_ms;
    struct err err = {0};
    if (by_ms > -CLOCK_SET_MS && by_ms < CLOCK_SET_MS)
        return;
    log_event(LOG_LEVEL_WARN, "clock_was_set", "by_ms=%" PRId64, by_ms);
    if (store_write(jobs->parts.store, upkeep_shift_work, &by_ms, &err) == 0)
        jobs->ahead_ms += by_ms;
    else /* the next pass tries again */
        log_event(LOG_LEVEL_ERROR, "retries_not_moved", "error=%s", log_quote(err.msg));
}

static void end_overdue(struct jobs *jobs, int64_t now_ms)
{
    struct overdue overdue = {.now_ms = now_ms};
    struct err err = {0};
    if (store_write(jobs->parts.store, upkeep_overdue_work, &overdue, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "deadlines_failed", "error=%s", log_quote(err.msg));
    for (size_t i = 0; i < overdue.count; i++)
        watchers_tell(jobs->watchers, overdue.ids[i]);
    if (overdue.count > 0)
        notify_wake(jobs->notify);
}

/* Before anything is claimed; false when it has to wait for the disk. */
static bool recover(struct jobs *jobs)
{
    int64_t now_ms = clock_wall_ms();
    struct err err = {0};
    if (!atomic_load(&jobs->parts.unrecovered))
        return true;
    if (store_write(jobs->parts.store, upkeep_recover_work, &now_ms, &err) < 0)
        return false; /* the next pass tries again; said at the start */
    atomic_store(&jobs->parts.unrecovered, false);
    log_event(LOG_LEVEL_INFO, "recovered", NULL);
    return true;
}

/* Gives jobs to free workers while both are there. */
static void hand_out(struct jobs *jobs)
{
    struct err err = {0};
    if (!recover(jobs))
        return;
    int64_t now_ms = clock_wall_ms(); /* first: a clock that is set later counts in the next pass */
    heed_clock(jobs);
    end_overdue(jobs, now_ms); /* what is too late must not start */
    for (;;) {
        struct claim claim = {.now_ms = now_ms, .cleaners = jobs->parts.cleaners};
        if (pool_free_count(jobs->pool) == 0)
            return;
        if (scheduler_claim(jobs->parts.store, &claim, &err) < 0) {
            log_event(LOG_LEVEL_ERROR, "claim_failed", "error=%s", log_quote(err.msg));
            return;
        }
        if (claim.needs_cleanup)
            jobs->clean_at_ns = clock_mono_ns(); /* a job waits for it */
        if (!claim.found)
            return;
        pool_give(jobs->pool, &claim.row, claim.closes_at);
    }
}

/* Jobs that ended, or wait, while their instance was away: what they left is undone when it is
 * back.
 */
static void clean_leftovers_of(struct jobs *jobs, store_work *who)
{
    bool all = true;
    struct leftovers *leftovers = mem_alloc(1, sizeof *leftovers);
    struct err err = {0};
    if (store_read(jobs->parts.store, who, leftovers, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "leftovers_failed", "error=%s", log_quote(err.msg));
    for (size_t i = 0; i < leftovers->count; i++) {
        bool is_free = pool_free_count(jobs->pool) > 0;
        all &= is_free;
        if (is_free && !pool_has(jobs->pool, leftovers->rows[i].id))
            pool_give_cleanup(jobs->pool, &leftovers->rows[i]);
        job_row_fini(&leftovers->rows[i]);
    }
    free(leftovers);
    jobs->clean_at_ns = clock_mono_ns() + (all ? CLEAN_NS : TICK_NS);
}

static void clean_leftovers(struct jobs *jobs)
{
    clean_leftovers_of(jobs, upkeep_leftovers_work);
    if (atomic_load(&jobs->parts.unrecovered))
        clean_leftovers_of(jobs, upkeep_stranded_work);
}

static int expire_work(struct db *db, void *arg, struct err *err)
{
    return store_event_expire(db, *(const int64_t *)arg, err);
}

/* What happened long ago nobody resumes from. */
static void forget_events(struct jobs *jobs)
{
    int64_t before_ms = clock_wall_ms() - LIMIT_EVENT_DAYS * INT64_C(86400000);
    struct err err = {0};
    if (store_write(jobs->parts.store, expire_work, &before_ms, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "expiry_failed", "error=%s", log_quote(err.msg));
}

/* Waits for a wake, or until the next tick is due. False when the threads must end. */
static bool wait_for_work(struct jobs *jobs, int64_t tick_at_ns)
{
    lock_take(&jobs->lock);
    while (!jobs->woken && !jobs->ending && clock_mono_ns() < tick_at_ns)
        wait_until(&jobs->wake, &jobs->lock, tick_at_ns);
    jobs->woken = false;
    bool ending = jobs->ending;
    lock_drop(&jobs->lock);
    return !ending;
}

static void *clock_thread(void *arg)
{
    struct jobs *jobs = arg;
    int64_t tick_at_ns = clock_mono_ns() + atomic_load(&tick_ns);
    int64_t forget_at_ns = clock_mono_ns();
    jobs->clean_at_ns = clock_mono_ns();
    hand_out(jobs);
    while (wait_for_work(jobs, tick_at_ns)) {
        if (clock_mono_ns() >= tick_at_ns) { /* also when wakes never let it sleep */
            pool_tick(jobs->pool, clock_wall_ms(), clock_mono_ns());
            tick_at_ns = clock_mono_ns() + atomic_load(&tick_ns);
        }
        hand_out(jobs);
        if (clock_mono_ns() >= jobs->clean_at_ns) /* after the queue: it finds who waits for it */
            clean_leftovers(jobs);
        if (clock_mono_ns() >= forget_at_ns) {
            forget_events(jobs);
            forget_at_ns = clock_mono_ns() + FORGET_NS;
        }
    }
    return NULL;
}

/* --- start and stop ------------------------------------------------------------------------ */

/* Where the disk is full that comes later, in the clock thread. */
static int recover_first(struct jobs *jobs, struct err *err)
{
    int64_t now_ms = clock_wall_ms();
    if (store_write(jobs->parts.store, upkeep_recover_work, &now_ms, err) == 0)
        return 0;
    if (store_is_healthy(jobs->parts.store))
        return -1;
    log_event(LOG_LEVEL_ERROR, "recovery_postponed", "error=%s", log_quote(err->msg));
    atomic_store(&jobs->parts.unrecovered, true);
    err_clear(err);
    return 0;
}

static void on_free(void *ctx, const char *id, bool ended)
{
    struct jobs *jobs = ctx;
    if (ended)
        watchers_tell(jobs->watchers, id);
    jobs_wake(jobs);
}

int jobs_start(const struct jobs_parts *parts, struct jobs **out, struct err *err)
{
    struct jobs *jobs = mem_alloc(1, sizeof *jobs);
    int failed = 0;
    jobs->parts = *parts;
    jobs->ahead_ms = ahead_ms();
    jobs->parts.cleaners = cleaners_new();
    lock_init(&jobs->lock);
    wait_init(&jobs->wake);
    jobs->watchers = watchers_new();
    if (recover_first(jobs, err) < 0 || notify_start(parts, &jobs->notify, err) < 0 ||
        check_pool_start(&jobs->parts, &jobs->checks, err) < 0 ||
        pool_start(&jobs->parts, (int)parts->config->workers, on_free, jobs, &jobs->pool, err) < 0)
        goto out;
    failed = pthread_create(&jobs->clock, NULL, clock_thread, jobs);
    if (failed) {
        err_set(err, ERR_SYSTEM, failed, "start the clock thread: %s", strerror(failed));
        goto out;
    }
    (void)pthread_setname_np(jobs->clock, "clock"); /* only for people */
    jobs->clock_started = true;
    *out = jobs;
    return 0;
out:
    jobs_stop(jobs);
    return -1;
}

bool jobs_drain(struct jobs *jobs)
{
    if (!jobs)
        return true;
    lock_take(&jobs->lock);
    jobs->ending = true;
    wait_wake_all(&jobs->wake);
    lock_drop(&jobs->lock);
    if (jobs->clock_started)
        (void)pthread_join(jobs->clock, NULL);
    jobs->clock_started = false;
    check_pool_drain(jobs->checks);
    return pool_drain(jobs->pool);
}

bool jobs_owing(const struct jobs *jobs)
{
    return jobs && (pool_owing(jobs->pool) > 0 || atomic_load(&jobs->parts.unrecovered));
}

void jobs_stop(struct jobs *jobs)
{
    if (!jobs)
        return;
    bool ended = jobs_drain(jobs);
    assert(ended);
    check_pool_stop(jobs->checks);
    pool_stop(jobs->pool);
    notify_stop(jobs->notify);
    watchers_free(jobs->watchers);
    cleaners_free(jobs->parts.cleaners);
    wait_fini(&jobs->wake);
    lock_fini(&jobs->lock);
    free(jobs);
}

void jobs_wake(struct jobs *jobs)
{
    lock_take(&jobs->lock);
    jobs->woken = true;
    wait_wake_all(&jobs->wake);
    lock_drop(&jobs->lock);
    notify_wake(jobs->notify);
}

/* --- the rest of the face ------------------------------------------------------------------ */

void jobs_cancelled(struct jobs *jobs, const char *id)
{
    if (pool_stop_job(jobs->pool, id, RUN_CANCEL))
        return; /* its end is told when it is stored */
    watchers_tell(jobs->watchers, id);
    notify_wake(jobs->notify);
}

bool jobs_current(struct jobs *jobs, const char *id, struct job_current *out)
{
    return pool_current(jobs->pool, id, out);
}

size_t jobs_running(struct jobs *jobs, struct job_running *out, size_t max)
{
    return pool_running(jobs->pool, out, max);
}

struct jobs_watch *jobs_watch_add(struct jobs *jobs, const char *id, jobs_on_end *on_end, void *ctx)
{
    return watchers_add(jobs->watchers, id, on_end, ctx);
}

void jobs_watch_remove(struct jobs *jobs, struct jobs_watch *watch)
{
    watchers_remove(jobs->watchers, watch);
}

struct jobs_checking *jobs_check_begin(struct jobs *jobs, const struct instance_row *row,
                                       jobs_on_check *on_check, void *ctx)
{
    return check_pool_begin(jobs->checks, row, on_check, ctx);
}

struct jobs_checking *jobs_plan_begin(struct jobs *jobs, struct job_row *row, const char *refusal,
                                      jobs_on_check *on_check, void *ctx)
{
    return check_pool_plan(jobs->checks, row, refusal, on_check, ctx);
}

cJSON *jobs_plan_unasked(struct jobs *jobs, struct job_row *row, const char *refusal,
                         const char *why)
{
    return preview_unasked(&jobs->parts, row, refusal, why);
}

struct jobs_checking *jobs_reconcile_begin(struct jobs *jobs, const char *instance, bool dry_run,
                                           jobs_on_check *on_check, void *ctx)
{
    return check_pool_reconcile(jobs->checks, instance, dry_run, on_check, ctx);
}

cJSON *jobs_reconcile_unasked(struct jobs *jobs, const char *instance, const char *why)
{
    return cleanup_list(&jobs->parts, instance, why);
}

cJSON *jobs_check_end(struct jobs *jobs, struct jobs_checking *checking)
{
    return check_pool_end(jobs->checks, checking);
}

int jobs_free(struct jobs *jobs)
{
    return pool_free_count(jobs->pool);
}

int jobs_busy(struct jobs *jobs)
{
    return pool_busy_count(jobs->pool);
}

int64_t jobs_cleanup_failures(const struct jobs *jobs)
{
    (void)jobs; /* counted for the process */
    return journal_failures();
}
