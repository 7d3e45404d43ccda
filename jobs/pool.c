#include "jobs/pool.h"
#include "jobs/cleanup.h"
#include "jobs/event.h"
#include "jobs/guarding.h"
#include "jobs/runner.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/mem.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_REPEAT_NS 500000000

/* Less than the 90 s after which systemd kills, more than a server that falls silent can take: a
 * batch is given up 30 s after its cancel, a query after twice 30, and then a login after 15. */
#define DRAIN_NS (80 * INT64_C(1000000000))

struct worker {
    struct pool *pool;
    pthread_t thread;
    bool started;
    struct wait wake;
    /* all guarded by pool->lock */
    bool busy;   /* from pool_give until the job is settled */
    bool given;  /* row and closes_at wait to be taken */
    bool cleans; /* its job does not run: it cleans up */
    struct job_row row;
    char id[40]; /* of its job while busy */
    int64_t closes_at;
    enum run_stop asked; /* a stop that came before there was a run */
    struct run *run;     /* while it runs */
    int holders;         /* others that use run just now */
};

struct pool {
    const struct jobs_parts *parts;
    pool_on_free *on_free;
    void *ctx;
    struct lock lock;     /* guards ending, alive, owing and the workers' members */
    struct wait released; /* a run is not used any more, or a worker ended */
    bool ending;
    int alive; /* workers that have not ended */
    int owing; /* runs that ended while ending, with something not undone or not stored */
    int count;
    struct worker *workers;
};

/* The job could not even be read: it ends as failed, so that it does not come back for ever. */
static int fail_work(struct db *db, void *arg, struct err *err)
{
    struct job_row *row = arg;
    struct job_row stored = {0};
    if (store_job_get(db, row->id, &stored, err) < 0)
        return -1;
    row->version = stored.version;
    job_row_fini(&stored);
    if (store_job_update(db, row, err) < 0)
        return -1;
    return event_write_end(db, row, NULL, false, row->finished_at, err);
}

static void fail_unreadable(struct pool *pool, struct run *run, const struct err *why)
{
    struct err err = {0};
    cJSON *error = cJSON_CreateObject();
    cJSON_AddNullToObject(error, "number");
    cJSON_AddItemToObject(error, "message", json_text(why->msg));
    cJSON_AddStringToObject(error, "step", "load");
    free(run->row.error);
    run->row.error = json_print(error);
    cJSON_Delete(error);
    job_move(&run->row, JOB_FAILED, NULL, clock_wall_ms());
    run->settled = store_write(pool->parts->store, fail_work, &run->row, &err) == 0;
    if (!run->settled)
        log_event(LOG_LEVEL_ERROR, "job_not_stored", "error=%s", log_quote(err.msg));
}

/* Makes the run known to the others, or (NULL) waits until none of them uses it. */
static void publish(struct worker *worker, struct run *run)
{
    struct pool *pool = worker->pool;
    lock_take(&pool->lock);
    while (!run && worker->holders > 0)
        wait_on(&pool->released, &pool->lock);
    worker->run = run;
    enum run_stop asked = worker->asked;
    if (asked == RUN_GO && pool->ending)
        asked = RUN_SHUTDOWN;
    lock_drop(&pool->lock);
    if (run && asked != RUN_GO)
        run_stop(run, asked);
}

static void carry(struct worker *worker, struct job_row *row, int64_t closes_at, bool cleans)
{
    struct pool *pool = worker->pool;
    struct err err = {0};
    struct run *run = NULL;
    int rc = run_new(pool->parts, row, &run, &err);
    if (rc < 0 && cleans) {
        log_event(LOG_LEVEL_WARN, "cleanup_pending", "error=%s", log_quote(err.msg));
    } else if (rc < 0) {
        fail_unreadable(pool, run, &err);
    } else {
        atomic_store(&run->closes_at, closes_at);
        publish(worker, run);
        if (run->row.cancel_asked && !cleans)
            run_stop(run, RUN_CANCEL);
        if (cleans)
            cleanup_run(run);
        else
            runner_execute(run);
        publish(worker, NULL);
    }
    char id[40];
    (void)snprintf(id, sizeof id, "%s", run->row.id);
    bool ended = !cleans && run->settled && job_is_done(&run->row);
    bool owes = !cleans && (!run->settled || strcmp(run->row.cleanup, "pending") == 0);
    run_free(run);
    lock_take(&pool->lock);
    worker->busy = false;
    pool->owing += owes && pool->ending;
    lock_drop(&pool->lock);
    pool->on_free(pool->ctx, id, ended);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct pool *pool = worker->pool;
    lock_take(&pool->lock);
    while (!pool->ending || worker->given) {
        if (!worker->given) {
            wait_on(&worker->wake, &pool->lock);
            continue;
        }
        struct job_row row = worker->row;
        worker->row = (struct job_row){0};
        worker->given = false;
        int64_t closes_at = worker->closes_at;
        bool cleans = worker->cleans;
        lock_drop(&pool->lock);
        carry(worker, &row, closes_at, cleans);
        lock_take(&pool->lock);
    }
    pool->alive--;
    wait_wake_all(&pool->released);
    lock_drop(&pool->lock);
    return NULL;
}

int pool_start(const struct jobs_parts *parts, int workers, pool_on_free *on_free, void *ctx,
               struct pool **out, struct err *err)
{
    struct pool *pool = mem_alloc(1, sizeof *pool);
    pool->parts = parts;
    pool->on_free = on_free;
    pool->ctx = ctx;
    pool->count = workers;
    pool->workers = mem_alloc((size_t)workers, sizeof *pool->workers);
    lock_init(&pool->lock);
    wait_init(&pool->released);
    for (int i = 0; i < workers; i++) {
        struct worker *worker = &pool->workers[i];
        char name[24]; /* the kernel keeps 15 characters */
        worker->pool = pool;
        wait_init(&worker->wake);
        int failed = pthread_create(&worker->thread, NULL, work, worker);
        if (failed) {
            err_set(err, ERR_SYSTEM, failed, "start worker %d of %d: %s", i + 1, workers,
                    strerror(failed));
            pool_stop(pool);
            return -1;
        }
        worker->started = true;
        lock_take(&pool->lock);
        pool->alive++;
        lock_drop(&pool->lock);
        (void)snprintf(name, sizeof name, "worker-%d", i + 1);
        name[15] = '\0';
        (void)pthread_setname_np(worker->thread, name); /* only for people */
    }
    *out = pool;
    return 0;
}

static void release(struct pool *pool, struct worker *worker)
{
    lock_take(&pool->lock);
    worker->holders--;
    wait_wake_all(&pool->released);
    lock_drop(&pool->lock);
}

/* The run of a worker, kept alive until release; NULL when it has none. */
static struct run *hold_worker(struct pool *pool, struct worker *worker)
{
    lock_take(&pool->lock);
    struct run *run = worker->run;
    worker->holders += run != NULL;
    lock_drop(&pool->lock);
    return run;
}

static void stop_all(struct pool *pool, enum run_stop why)
{
    for (int i = 0; i < pool->count; i++) {
        struct run *run = hold_worker(pool, &pool->workers[i]);
        if (!run)
            continue;
        run_stop(run, why);
        release(pool, &pool->workers[i]);
    }
}

/* A stop may miss a statement that only begins: it is repeated until every worker has ended. */
static bool wait_for_workers(struct pool *pool)
{
    int64_t until = clock_mono_ns() + STOP_REPEAT_NS;
    lock_take(&pool->lock);
    while (pool->alive > 0 && clock_mono_ns() < until)
        wait_until(&pool->released, &pool->lock, until);
    bool ended = pool->alive == 0;
    lock_drop(&pool->lock);
    return ended;
}

bool pool_drain(struct pool *pool)
{
    int64_t until = clock_mono_ns() + DRAIN_NS;
    bool ended = false;
    if (!pool)
        return true;
    lock_take(&pool->lock);
    pool->ending = true;
    for (int i = 0; i < pool->count; i++)
        wait_wake_all(&pool->workers[i].wake);
    lock_drop(&pool->lock);
    do {
        stop_all(pool, RUN_SHUTDOWN);
        ended = wait_for_workers(pool);
    } while (!ended && clock_mono_ns() < until);
    for (int i = 0; i < pool->count && ended; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->started)
            (void)pthread_join(worker->thread, NULL);
        worker->started = false;
    }
    return ended;
}

void pool_stop(struct pool *pool)
{
    if (!pool)
        return;
    bool ended = pool_drain(pool);
    assert(ended);
    for (int i = 0; i < pool->count; i++) {
        job_row_fini(&pool->workers[i].row);
        wait_fini(&pool->workers[i].wake);
    }
    wait_fini(&pool->released);
    lock_fini(&pool->lock);
    free(pool->workers);
    free(pool);
}

int pool_owing(struct pool *pool)
{
    lock_take(&pool->lock);
    int owing = pool->owing;
    lock_drop(&pool->lock);
    return owing;
}

int pool_busy_count(struct pool *pool)
{
    int busy = 0;
    lock_take(&pool->lock);
    for (int i = 0; i < pool->count; i++)
        busy += pool->workers[i].busy;
    lock_drop(&pool->lock);
    return busy;
}

int pool_free_count(struct pool *pool)
{
    return pool->count - pool_busy_count(pool);
}

static void give(struct pool *pool, struct job_row *row, int64_t closes_at, bool cleans)
{
    lock_take(&pool->lock);
    for (int i = 0; i < pool->count; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->busy)
            continue;
        worker->busy = true;
        worker->given = true;
        worker->row = *row;
        worker->closes_at = closes_at;
        worker->cleans = cleans;
        worker->asked = RUN_GO;
        (void)snprintf(worker->id, sizeof worker->id, "%s", row->id);
        *row = (struct job_row){0};
        wait_wake_one(&worker->wake);
        break;
    }
    lock_drop(&pool->lock);
}

void pool_give(struct pool *pool, struct job_row *row, int64_t closes_at)
{
    give(pool, row, closes_at, false);
}

void pool_give_cleanup(struct pool *pool, struct job_row *row)
{
    give(pool, row, 0, true);
}

bool pool_has(struct pool *pool, const char *id)
{
    bool found = false;
    lock_take(&pool->lock);
    for (int i = 0; i < pool->count; i++)
        found |= pool->workers[i].busy && strcmp(pool->workers[i].id, id) == 0;
    lock_drop(&pool->lock);
    return found;
}

bool pool_stop_job(struct pool *pool, const char *id, enum run_stop why)
{
    bool found = false;
    struct worker *running = NULL;
    lock_take(&pool->lock);
    for (int i = 0; i < pool->count && !found; i++) {
        struct worker *worker = &pool->workers[i];
        found = worker->busy && !worker->cleans && strcmp(worker->id, id) == 0;
        if (found && worker->asked == RUN_GO)
            worker->asked = why;
        if (found && worker->run)
            running = worker;
    }
    if (running)
        running->holders++;
    lock_drop(&pool->lock);
    if (!running)
        return found;
    run_stop(running->run, why);
    release(pool, running);
    return true;
}

bool pool_current(struct pool *pool, const char *id, struct job_current *out)
{
    for (int i = 0; i < pool->count; i++) {
        struct run *run = hold_worker(pool, &pool->workers[i]);
        if (!run)
            continue;
        bool found = strcmp(run->row.id, id) == 0;
        if (found)
            *out = run_get_current(run);
        release(pool, &pool->workers[i]);
        if (found)
            return true;
    }
    return false;
}

size_t pool_running(struct pool *pool, struct job_running *out, size_t max)
{
    size_t count = 0;
    for (int i = 0; i < pool->count && count < max; i++) {
        struct run *run = hold_worker(pool, &pool->workers[i]);
        if (!run)
            continue;
        (void)snprintf(out[count].id, sizeof out[count].id, "%s", run->row.id);
        out[count++].current = run_get_current(run);
        release(pool, &pool->workers[i]);
    }
    return count;
}

void pool_tick(struct pool *pool, int64_t now_ms, int64_t mono_ns)
{
    for (int i = 0; i < pool->count; i++) {
        struct run *run = hold_worker(pool, &pool->workers[i]);
        if (!run)
            continue;
        enum run_stop why = (enum run_stop)atomic_load(&run->stop);
        if (why == RUN_GO)
            why = guarding_over(run, now_ms, mono_ns);
        if (why != RUN_GO)
            run_stop(run, why);
        else
            run_give_up_trial(run, mono_ns);
        release(pool, &pool->workers[i]);
    }
}
