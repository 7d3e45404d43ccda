/* Threads that check instances, so that neither a request nor a worker waits for one. */
#include "jobs/check.h"
#include "jobs/cleanup.h"
#include "jobs/preview.h"
#include "server/lock.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4 /* a login to nowhere takes 15 s: a few such must not keep the others waiting */
#define WAITING_MAX 32

/*
 *   begin ──► waiting ──► running ──► done ──► end (frees)
 *                │           │
 *               end         end: left to its thread, which frees it
 *             (frees)
 */
struct jobs_checking {
    struct check_pool *pool;
    struct instance instance;   /* of a check */
    char *name;                 /* of a check: the instance's */
    struct job_row row;         /* of a plan: the job; its id is set */
    char *refusal;              /* of a plan */
    char *reconciled;           /* of a clean-up: the instance's name */
    bool dry_run;               /* of a clean-up */
    struct jobs_checking *next; /* of the list it is in */
    /* guarded by pool->lock */
    jobs_on_check *on_check; /* NULL when it was called or must not be */
    void *ctx;
    bool running;
    bool given_up;         /* its end was asked for; nobody wants the answer */
    bool left;             /* nobody holds it but its thread */
    struct mssql *session; /* while it may be cancelled */
    cJSON *answer;
};

struct check_pool {
    const struct jobs_parts *parts;
    pthread_t threads[THREADS];
    int started;
    struct lock lock; /* guards the members below */
    struct wait wake;
    bool ending;
    struct jobs_checking *waiting; /* oldest first */
    struct jobs_checking *running;
    int waiting_count;
};

/* --- a check ------------------------------------------------------------------------------- */

static void checking_free(struct jobs_checking *checking)
{
    instance_fini(&checking->instance);
    free(checking->name);
    job_row_fini(&checking->row);
    free(checking->refusal);
    free(checking->reconciled);
    cJSON_Delete(checking->answer);
    free(checking);
}

static void set_session(void *ctx, struct mssql *session)
{
    struct jobs_checking *checking = ctx;
    lock_take(&checking->pool->lock);
    checking->session = session;
    lock_drop(&checking->pool->lock);
}

static bool given_up(void *ctx)
{
    struct jobs_checking *checking = ctx;
    lock_take(&checking->pool->lock);
    bool given_up = checking->given_up;
    lock_drop(&checking->pool->lock);
    return given_up;
}

/* False when it is not in the list. */
static bool unlink_checking(struct jobs_checking **list, struct jobs_checking *checking)
{
    while (*list && *list != checking)
        list = &(*list)->next;
    if (!*list)
        return false;
    *list = checking->next;
    return true;
}

/* Under the pool's lock: whoever waits is told once. */
static void tell(struct jobs_checking *checking)
{
    jobs_on_check *on_check = checking->on_check;
    checking->on_check = NULL;
    if (on_check)
        on_check(checking->ctx);
}

static void give_up(struct jobs_checking *checking)
{
    checking->given_up = true;
    if (checking->session)
        mssql_cancel(checking->session);
}

/* --- threads ------------------------------------------------------------------------------- */

static cJSON *find_out(const struct jobs_parts *parts, struct jobs_checking *checking)
{
    struct check_control control = {set_session, given_up, checking};
    if (checking->reconciled)
        return cleanup_reconcile(parts, checking->reconciled, checking->dry_run, &control);
    if (checking->row.id)
        return preview_make(parts, &checking->row, checking->refusal, &control);
    return check_instance(parts, &checking->instance, checking->name, &control);
}

static void run_check(struct check_pool *pool, struct jobs_checking *checking)
{
    cJSON *answer = find_out(pool->parts, checking);
    lock_take(&pool->lock);
    (void)unlink_checking(&pool->running, checking); /* it is there */
    checking->running = false;
    bool left = checking->left;
    checking->answer = answer;
    tell(checking);
    lock_drop(&pool->lock);
    if (left)
        checking_free(checking);
}

static void *work(void *arg)
{
    struct check_pool *pool = arg;
    lock_take(&pool->lock);
    while (!pool->ending) {
        struct jobs_checking *checking = pool->waiting;
        if (!checking) {
            wait_on(&pool->wake, &pool->lock);
            continue;
        }
        pool->waiting = checking->next;
        pool->waiting_count--;
        checking->running = true;
        checking->next = pool->running;
        pool->running = checking;
        lock_drop(&pool->lock);
        run_check(pool, checking);
        lock_take(&pool->lock);
    }
    lock_drop(&pool->lock);
    return NULL;
}

int check_pool_start(const struct jobs_parts *parts, struct check_pool **out, struct err *err)
{
    struct check_pool *pool = mem_alloc(1, sizeof *pool);
    pool->parts = parts;
    lock_init(&pool->lock);
    wait_init(&pool->wake);
    for (int i = 0; i < THREADS; i++) {
        char name[16];
        int failed = pthread_create(&pool->threads[i], NULL, work, pool);
        if (failed) {
            err_set(err, ERR_SYSTEM, failed, "start a thread that checks instances: %s",
                    strerror(failed));
            check_pool_stop(pool);
            return -1;
        }
        pool->started++;
        (void)snprintf(name, sizeof name, "check-%d", i + 1);
        (void)pthread_setname_np(pool->threads[i], name); /* only for people */
    }
    *out = pool;
    return 0;
}

void check_pool_drain(struct check_pool *pool)
{
    if (!pool)
        return;
    lock_take(&pool->lock);
    pool->ending = true;
    for (struct jobs_checking *at = pool->running; at; at = at->next) {
        give_up(at);
        tell(at); /* a login that hangs must not keep who waits for it */
    }
    for (struct jobs_checking *at = pool->waiting; at; at = at->next)
        tell(at);
    wait_wake_all(&pool->wake);
    lock_drop(&pool->lock);
    for (; pool->started > 0; pool->started--)
        (void)pthread_join(pool->threads[pool->started - 1], NULL);
}

void check_pool_stop(struct check_pool *pool)
{
    if (!pool)
        return;
    check_pool_drain(pool);
    wait_fini(&pool->wake);
    lock_fini(&pool->lock);
    free(pool);
}

/* --- asking for one ------------------------------------------------------------------------ */

static void append_locked(struct check_pool *pool, struct jobs_checking *checking) NEEDS(pool->lock)
{
    struct jobs_checking **last = &pool->waiting;
    while (*last)
        last = &(*last)->next;
    *last = checking;
    pool->waiting_count++;
    wait_wake_one(&pool->wake);
}

/* NULL, and freed, when it is not taken. */
static struct jobs_checking *put_in_line(struct check_pool *pool, struct jobs_checking *checking,
                                         jobs_on_check *on_check, void *ctx)
{
    checking->pool = pool;
    checking->on_check = on_check;
    checking->ctx = ctx;
    lock_take(&pool->lock);
    bool taken = !pool->ending && pool->waiting_count < WAITING_MAX;
    if (taken)
        append_locked(pool, checking);
    lock_drop(&pool->lock);
    if (taken)
        return checking;
    checking_free(checking);
    return NULL;
}

struct jobs_checking *check_pool_begin(struct check_pool *pool, const struct instance_row *row,
                                       jobs_on_check *on_check, void *ctx)
{
    struct err ignored; /* an unreadable definition is refused like a full queue */
    struct jobs_checking *checking = mem_alloc(1, sizeof *checking);
    checking->name = mem_copy(row->name);
    if (instance_load(row->definition, &checking->instance, &ignored) == 0)
        return put_in_line(pool, checking, on_check, ctx);
    checking_free(checking);
    return NULL;
}

struct jobs_checking *check_pool_plan(struct check_pool *pool, struct job_row *row,
                                      const char *refusal, jobs_on_check *on_check, void *ctx)
{
    struct jobs_checking *checking = mem_alloc(1, sizeof *checking);
    checking->row = *row;
    *row = (struct job_row){0};
    checking->refusal = mem_copy(refusal);
    return put_in_line(pool, checking, on_check, ctx);
}

struct jobs_checking *check_pool_reconcile(struct check_pool *pool, const char *instance,
                                           bool dry_run, jobs_on_check *on_check, void *ctx)
{
    struct jobs_checking *checking = mem_alloc(1, sizeof *checking);
    checking->reconciled = mem_copy(instance);
    checking->dry_run = dry_run;
    return put_in_line(pool, checking, on_check, ctx);
}

cJSON *check_pool_end(struct check_pool *pool, struct jobs_checking *checking)
{
    cJSON *answer = NULL;
    if (!checking)
        return NULL;
    lock_take(&pool->lock);
    checking->on_check = NULL;
    bool running = checking->running;
    if (running) {
        give_up(checking);
        checking->left = true;
    } else {
        pool->waiting_count -= unlink_checking(&pool->waiting, checking);
        answer = checking->answer;
        checking->answer = NULL;
    }
    lock_drop(&pool->lock);
    if (!running)
        checking_free(checking);
    return answer;
}
