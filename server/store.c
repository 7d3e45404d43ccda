#include "server/store.h"
#include "server/clock.h"
#include "server/db_driver.h"
#include "server/histogram.h"
#include "server/lock.h"
#include "server/mem.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Works a transaction takes at most: bounds how long the first of them waits for the last, and
 * the size of the log. Far above what as many waiting callers can make. */
#define BATCH_MAX 1000

#define TRY_DISK_NS 1000000000 /* between two looks whether a failed disk has come back */

/* One write on its way:  queue -> batch -> done(). Owned by whoever holds it in that order; a
 * ticket of store_write lives on its caller's stack and is not touched after done. */
struct ticket {
    store_work *work;
    void *arg;
    store_done *done;
    void *ctx;
    int rc;
    bool is_heap; /* made by store_write_later */
    struct err err;
    struct ticket *next;
};

struct reader {
    struct db *db;
    struct reader *next;
};

struct store {
    const struct db_driver *driver;
    struct db_source *source;
    struct db *writer; /* the writer thread's alone */
    pthread_t thread;
    atomic_bool is_healthy;
    atomic_uint_least64_t turns; /* a commit's beginning is one, its end another: odd in between,
                                    when readers may see what it changes or not yet */
    struct histogram commits;
    struct lock lock;            /* guards the rest */
    struct wait wake;            /* the writer: work or the end came */
    struct ticket *queue_head;   /* oldest */
    struct ticket **queue_end;   /* where the next one is hung */
    bool is_closing;             /* no more work comes */
    struct reader *idle_readers; /* a connection each, last used first */
    int busy_readers;            /* must be 0 at the end */
    struct lock listener_lock;   /* guards the two below, and is held while changed runs, so that a
                                    listener that has left is never called */
    store_changed *changed;
    void *changed_ctx;
};

/* --- the writer ----------------------------------------------------------------------------- */

static int fail_unsaid(struct err *err)
{
    if (err->code == ERR_NONE)
        (void)err_set(err, ERR_STORE, 0, "a work failed without saying why");
    return -1;
}

/* Runs one work inside the batch's transaction. -1 when the transaction itself is lost. */
static int run_work(struct db *db, struct ticket *ticket, struct err *err)
{
    if (db_run_all(db, SQL_WORK_BEGIN, err) < 0)
        return -1;
    ticket->rc = ticket->work(db, ticket->arg, &ticket->err);
    assert(db->uses == 0); /* the work did not end a statement */
    if (ticket->rc == 0)
        return db_run_all(db, SQL_WORK_KEEP, err);
    ticket->rc = fail_unsaid(&ticket->err);
    if (!db->ops->in_transaction(db)) { /* full disk, I/O error: the driver gave all of it up */
        *err = ticket->err;
        return -1;
    }
    if (db_run_all(db, SQL_WORK_UNDO, err) < 0)
        return -1;
    return db_run_all(db, SQL_WORK_KEEP, err);
}

static int commit(struct db *db, struct histogram *commits, struct err *err)
{
    int64_t began_ns = clock_mono_ns();
    int rc = db_run_all(db, SQL_TX_COMMIT, err);
    histogram_add(commits, clock_mono_ns() - began_ns);
    return rc;
}

/* out_changed: rows. */
static int run_transaction(struct store *store, struct ticket *batch, int64_t *out_changed,
                           struct err *err)
{
    struct db *db = store->writer;
    int64_t before = db->ops->total_changed(db);
    if (db_run_all(db, SQL_TX_BEGIN, err) < 0)
        return -1;
    for (struct ticket *ticket = batch; ticket; ticket = ticket->next) {
        if (run_work(db, ticket, err) < 0)
            goto failed;
    }
    *out_changed = db->ops->total_changed(db) - before;
    if (*out_changed > 0)
        (void)atomic_fetch_add(&store->turns, 1); /* run_batch ends it */
    if (commit(db, &store->commits, err) == 0)
        return 0;
failed:
    db_roll_back(db);
    return -1;
}

/* A transaction that changed nothing says nothing about the disk. */
static void note_health(struct store *store, int rc, int64_t changed, const struct err *err)
{
    if (rc == 0 && changed > 0)
        atomic_store(&store->is_healthy, true);
    else if (rc < 0 && store->writer->ops->is_disk_failure(err->detail))
        atomic_store(&store->is_healthy, false);
}

static void tell_listener(struct store *store)
{
    lock_take(&store->listener_lock);
    if (store->changed)
        store->changed(store->changed_ctx);
    lock_drop(&store->listener_lock);
}

void store_listen(struct store *store, store_changed *changed, void *ctx)
{
    lock_take(&store->listener_lock);
    store->changed = changed;
    store->changed_ctx = ctx;
    lock_drop(&store->listener_lock);
}

/* Answers each alone: one broadcast would make all waiters fight for one lock. */
static void answer(struct ticket *batch, int rc, const struct err *err)
{
    while (batch) {
        struct ticket *ticket = batch;
        batch = ticket->next; /* after done a ticket on a caller's stack is gone */
        bool is_heap = ticket->is_heap;
        if (rc < 0) {
            ticket->rc = -1;
            ticket->err = *err;
        }
        ticket->done(ticket->ctx, ticket->rc, &ticket->err);
        if (is_heap)
            free(ticket);
    }
}

static void run_batch(struct store *store, struct ticket *batch)
{
    struct err err = {0};
    int64_t changed = 0;
    int rc = run_transaction(store, batch, &changed, &err);
    if (rc < 0) {
        (void)err_wrap(&err, "the write was not stored");
        err.code = ERR_STORE; /* whatever it was: not the fault of those who are answered so */
    }
    note_health(store, rc, changed, &err);
    if (changed > 0)
        (void)atomic_fetch_add(&store->turns, 1);
    answer(batch, rc, &err);
    if (rc == 0 && changed > 0)
        tell_listener(store);
}

/* Takes the oldest, at most BATCH_MAX; NULL when there is none. */
static struct ticket *take_batch_locked(struct store *store) NEEDS(store->lock)
{
    struct ticket *batch = store->queue_head;
    if (!batch)
        return NULL;
    struct ticket *last = batch;
    for (int count = 1; last->next && count < BATCH_MAX; count++)
        last = last->next;
    store->queue_head = last->next;
    last->next = NULL;
    if (!store->queue_head)
        store->queue_end = &store->queue_head;
    return batch;
}

/* One that nobody's stack holds. */
static struct ticket *new_ticket(store_work *work, void *arg, store_done *done, void *ctx)
{
    struct ticket *ticket = mem_alloc(1, sizeof *ticket);
    *ticket = (struct ticket){.work = work, .arg = arg, .done = done, .ctx = ctx, .is_heap = true};
    return ticket;
}

/* Writes something that is gone again in the same transaction: only a real write tells whether the
 * disk has come back. */
static int try_disk_work(struct db *db, void *arg, struct err *err)
{
    int64_t changed;
    (void)arg;
    if (db_run(db_use(db, SQL_DISK_TRY), &changed, err) < 0)
        return -1;
    return db_run(db_use(db, SQL_DISK_TRIED), &changed, err);
}

static void ignore_done(void *ctx, int rc, const struct err *err)
{
    (void)ctx;
    (void)rc; /* note_health has seen it */
    (void)err;
}

/* The next batch; after a disk failure nobody may come for long (readyz says no), so the writer
 * itself tries the disk now and then. NULL: closing, and all is written. */
static struct ticket *next_batch(struct store *store)
{
    struct ticket *batch = NULL;
    int64_t until = clock_mono_ns() + TRY_DISK_NS;
    lock_take(&store->lock);
    while (!store->queue_head && !store->is_closing && !batch) {
        if (atomic_load(&store->is_healthy))
            wait_on(&store->wake, &store->lock);
        else if (clock_mono_ns() < until)
            wait_until(&store->wake, &store->lock, until);
        else
            batch = new_ticket(try_disk_work, NULL, ignore_done, NULL);
    }
    if (!batch)
        batch = take_batch_locked(store);
    lock_drop(&store->lock);
    return batch;
}

/* No timer waits for a batch to fill: while one commit is flushing the next batch comes in. */
static void *writer_main(void *ctx)
{
    struct store *store = ctx;
    for (;;) {
        struct ticket *batch = next_batch(store);
        if (!batch)
            return NULL;
        run_batch(store, batch);
    }
}

static void enqueue(struct store *store, struct ticket *ticket)
{
    lock_take(&store->lock);
    assert(!store->is_closing);
    bool was_empty = !store->queue_head;
    *store->queue_end = ticket;
    store->queue_end = &ticket->next;
    if (was_empty)
        wait_wake_one(&store->wake);
    lock_drop(&store->lock);
}

/* --- callers -------------------------------------------------------------------------------- */

struct waiter {
    struct lock lock; /* guards the three below */
    struct wait wake;
    bool is_done;
    int rc;
    struct err *err; /* the caller's; may be NULL */
};

static void wake_waiter(void *ctx, int rc, const struct err *err)
{
    struct waiter *waiter = ctx;
    lock_take(&waiter->lock);
    waiter->rc = rc;
    if (rc < 0 && waiter->err)
        *waiter->err = *err;
    waiter->is_done = true;
    wait_wake_one(&waiter->wake); /* under the lock: after it the waiter may be gone */
    lock_drop(&waiter->lock);
}

int store_write(struct store *store, store_work *work, void *arg, struct err *err)
{
    struct waiter waiter = {.err = err};
    lock_init(&waiter.lock);
    wait_init(&waiter.wake);
    struct ticket ticket = {.work = work, .arg = arg, .done = wake_waiter, .ctx = &waiter};
    enqueue(store, &ticket);
    lock_take(&waiter.lock);
    while (!waiter.is_done)
        wait_on(&waiter.wake, &waiter.lock);
    lock_drop(&waiter.lock);
    wait_fini(&waiter.wake);
    lock_fini(&waiter.lock);
    return waiter.rc;
}

void store_write_later(struct store *store, store_work *work, void *arg, store_done *done,
                       void *ctx)
{
    enqueue(store, new_ticket(work, arg, done, ctx));
}

/* An idle read connection, or a new one. */
static struct reader *take_reader(struct store *store, struct err *err)
{
    lock_take(&store->lock);
    struct reader *reader = store->idle_readers;
    if (reader)
        store->idle_readers = reader->next;
    store->busy_readers++;
    lock_drop(&store->lock);
    if (reader)
        return reader;
    reader = mem_alloc(1, sizeof *reader);
    if (store->driver->connect(store->source, true, &reader->db, err) == 0)
        return reader;
    free(reader);
    lock_take(&store->lock);
    store->busy_readers--;
    lock_drop(&store->lock);
    return NULL;
}

static void give_reader_back(struct store *store, struct reader *reader)
{
    lock_take(&store->lock);
    reader->next = store->idle_readers;
    store->idle_readers = reader;
    store->busy_readers--;
    lock_drop(&store->lock);
}

/* One transaction, so that all statements of the work see the same moment. */
static int run_read(struct db *db, store_work *work, void *arg, struct err *err)
{
    if (db_run_all(db, SQL_TX_BEGIN_READ, err) < 0)
        return -1;
    int rc = work(db, arg, err);
    assert(db->uses == 0); /* the work did not end a statement */
    db_roll_back(db);
    return rc;
}

int store_read(struct store *store, store_work *work, void *arg, struct err *err)
{
    struct err unsaid = {0};
    if (!err)
        err = &unsaid;
    err_clear(err);
    struct reader *reader = take_reader(store, err);
    if (!reader)
        return -1;
    int rc = run_read(reader->db, work, arg, err);
    give_reader_back(store, reader);
    return rc < 0 ? fail_unsaid(err) : 0;
}

struct store_mark store_mark(const struct store *store)
{
    struct store_mark mark = {.turns = atomic_load(&store->turns),
                              .visits = store->driver->visits(store->source)};
    if (mark.turns % 2 == 0 && mark.visits != DB_VISITS_UNKNOWN)
        mark.until_ns = clock_mono_ns() + STORE_MARK_MS * INT64_C(1000000);
    return mark;
}

bool store_is_unchanged(const struct store *store, const struct store_mark *mark)
{
    return mark->turns == atomic_load(&store->turns) &&
           mark->visits == store->driver->visits(store->source) && clock_mono_ns() < mark->until_ns;
}

const struct histogram *store_commits(struct store *store)
{
    return &store->commits;
}

bool store_is_healthy(struct store *store)
{
    return atomic_load(&store->is_healthy);
}

/* --- opening and closing -------------------------------------------------------------------- */

/* Signals are the main thread's: the writer starts with all of them blocked. */
static int start_writer(struct store *store, struct err *err)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&store->thread, NULL, writer_main, store);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return err_set(err, ERR_SYSTEM, code, "start the writer thread: %s", strerror(code));
    (void)pthread_setname_np(store->thread, "store");
    return 0;
}

static void close_readers_locked(struct store *store) NEEDS(store->lock)
{
    assert(store->busy_readers == 0);
    while (store->idle_readers) {
        struct reader *reader = store->idle_readers;
        store->idle_readers = reader->next;
        reader->db->ops->close(reader->db);
        free(reader);
    }
}

/* Without the writer thread. */
static void dismantle(struct store *store)
{
    lock_take(&store->lock);
    close_readers_locked(store);
    lock_drop(&store->lock);
    if (store->writer)
        store->writer->ops->close(store->writer); /* the last one moves the log into the file */
    store->driver->close(store->source);
    wait_fini(&store->wake);
    lock_fini(&store->listener_lock);
    lock_fini(&store->lock);
    free(store);
}

static struct store *store_new(const struct db_driver *driver)
{
    struct store *store = mem_alloc(1, sizeof *store);
    store->driver = driver;
    atomic_init(&store->is_healthy, true);
    lock_init(&store->lock);
    lock_init(&store->listener_lock);
    wait_init(&store->wake);
    store->queue_end = &store->queue_head;
    return store;
}

int store_open(const char *url, struct store **out_store, struct err *err)
{
    const char *place = NULL;
    const struct db_driver *driver = db_driver_of(url, &place, err);
    if (!driver)
        return -1;
    struct store *store = store_new(driver);
    if (driver->open(place, &store->source, err) < 0 ||
        driver->connect(store->source, false, &store->writer, err) < 0 ||
        start_writer(store, err) < 0) {
        dismantle(store);
        return -1;
    }
    *out_store = store;
    return 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    lock_take(&store->lock);
    store->is_closing = true;
    wait_wake_one(&store->wake);
    lock_drop(&store->lock);
    (void)pthread_join(store->thread, NULL); /* fails only for a thread that is not ours */
    dismantle(store);
}
