/* How near the store's group commit comes to a bare log on the same disk: bench_store [FOLDER].
 * The log: clients hand 630 bytes to a thread that appends what is there and calls fdatasync once.
 * The store: the same clients insert a job each. Both run in turns, so that a drifting disk or a
 * busy neighbour hits both; the ratio is the result, the rates only hang on the disk. */
#include "server/clock.h"
#include "server/ids.h"
#include "server/lock.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_rows.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 5
#define ROUND_NS 1000000000LL
#define CLIENTS_MAX 32
#define RECORD_BYTES 630

/* A record on its way into the log; lives on its client's stack. */
struct record {
    char bytes[RECORD_BYTES];
    bool is_stored;
    struct wait wake;
    struct record *next;
};

struct log_file {
    int fd;
    struct lock lock; /* guards the rest */
    struct wait wake;
    struct record *queue;
    bool is_closing;
};

struct bench {
    struct log_file *log; /* one of the two */
    struct store *store;
    atomic_bool stop;
    atomic_int stored;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_store: %s\n", what);
    exit(1);
}

/* --- the log -------------------------------------------------------------------------------- */

static void append(int fd, const struct record *batch)
{
    for (; batch; batch = batch->next) {
        if (write(fd, batch->bytes, RECORD_BYTES) != RECORD_BYTES)
            die("the log cannot be written");
    }
    if (fdatasync(fd) < 0)
        die("the log cannot be flushed");
}

static void *log_main(void *arg)
{
    struct log_file *log = arg;
    lock_take(&log->lock);
    for (;;) {
        while (!log->queue && !log->is_closing)
            wait_on(&log->wake, &log->lock);
        struct record *batch = log->queue;
        log->queue = NULL;
        if (!batch)
            break;
        lock_drop(&log->lock);
        append(log->fd, batch);
        lock_take(&log->lock);
        while (batch) {
            struct record *record = batch;
            batch = record->next;
            record->is_stored = true;
            wait_wake_one(&record->wake);
        }
    }
    lock_drop(&log->lock);
    return NULL;
}

static void log_write(struct log_file *log, struct record *record)
{
    lock_take(&log->lock);
    record->is_stored = false;
    record->next = log->queue;
    log->queue = record;
    wait_wake_one(&log->wake);
    while (!record->is_stored)
        wait_on(&record->wake, &log->lock);
    lock_drop(&log->lock);
}

static void *log_client(void *arg)
{
    struct bench *bench = arg;
    struct record record = {0};
    wait_init(&record.wake);
    while (!atomic_load(&bench->stop)) {
        log_write(bench->log, &record);
        atomic_fetch_add(&bench->stored, 1);
    }
    wait_fini(&record.wake);
    return NULL;
}

/* --- the store ------------------------------------------------------------------------------ */

static int insert_job(struct db *db, void *arg, struct err *err)
{
    return store_job_insert(db, arg, err);
}

static int put_instance(struct db *db, void *arg, struct err *err)
{
    bool created;
    return store_instance_put(db, arg, -1, &created, err);
}

static void *store_client(void *arg)
{
    struct bench *bench = arg;
    char id[IDS_TEXT_SIZE];
    char kind[] = "backup_sweep";
    char instance[] = "sql01";
    char state[] = "queued";
    char cleanup[] = "none";
    char definition[RECORD_BYTES];
    memset(definition, 'x', sizeof definition);
    memcpy(definition, "{\"x\":\"", 6);
    memcpy(definition + sizeof definition - 3, "\"}", 3);
    struct job_row row = {.id = id,
                          .kind = kind,
                          .instance = instance,
                          .state = state,
                          .cleanup = cleanup,
                          .definition = definition,
                          .exclusive = true,
                          .version = 1};
    while (!atomic_load(&bench->stop)) {
        struct err err = {0};
        (void)ids_new(id);
        row.created_at = clock_wall_ms();
        if (store_write(bench->store, insert_job, &row, &err) < 0)
            die(err.msg);
        atomic_fetch_add(&bench->stored, 1);
    }
    return NULL;
}

/* --- rounds --------------------------------------------------------------------------------- */

/* Lets so many clients run for a round; returns records a second. */
static double run_round(struct bench *bench, void *(*client)(void *), int clients)
{
    pthread_t threads[CLIENTS_MAX];
    atomic_store(&bench->stop, false);
    atomic_store(&bench->stored, 0);
    int64_t start = clock_mono_ns();
    for (int i = 0; i < clients; i++) {
        if (pthread_create(&threads[i], NULL, client, bench) != 0)
            die("no thread");
    }
    const struct timespec round = {.tv_sec = ROUND_NS / 1000000000,
                                   .tv_nsec = ROUND_NS % 1000000000};
    (void)nanosleep(&round, NULL);
    atomic_store(&bench->stop, true);
    for (int i = 0; i < clients; i++)
        (void)pthread_join(threads[i], NULL);
    return atomic_load(&bench->stored) * 1e9 / (double)(clock_mono_ns() - start);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(const double *values)
{
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof sorted[0], compare);
    return sorted[ROUNDS / 2];
}

static void run_clients(struct bench *bench, int clients)
{
    double log[ROUNDS];
    double store[ROUNDS];
    double ratio[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        log[i] = run_round(bench, log_client, clients);
        store[i] = run_round(bench, store_client, clients);
        ratio[i] = store[i] / log[i];
    }
    (void)printf("%7d  %10.0f  %10.0f  %5.2f\n", clients, median(log), median(store),
                 median(ratio));
}

static void run(struct bench *bench, const char *folder)
{
    struct err err = {0};
    pthread_t thread;
    struct log_file log = {0};
    char *path = mem_format("%s/log", folder);
    char *url = mem_format("sqlite:%s/store.db", folder);
    struct instance_row instance = {.name = mem_copy("sql01"), .definition = mem_copy("{}")};
    log.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    lock_init(&log.lock);
    wait_init(&log.wake);
    if (log.fd < 0 || pthread_create(&thread, NULL, log_main, &log) != 0)
        die("the log cannot be made");
    if (store_open(url, &bench->store, &err) < 0 ||
        store_write(bench->store, put_instance, &instance, &err) < 0)
        die(err.msg);
    bench->log = &log;
    (void)printf("clients  bare log/s     store/s  ratio (median of %d rounds)\n", ROUNDS);
    static const int clients[] = {1, 8, 32};
    for (size_t i = 0; i < sizeof clients / sizeof clients[0]; i++)
        run_clients(bench, clients[i]);
    store_close(bench->store);
    lock_take(&log.lock);
    log.is_closing = true;
    wait_wake_one(&log.wake);
    lock_drop(&log.lock);
    (void)pthread_join(thread, NULL);
    (void)close(log.fd);
    instance_row_fini(&instance);
    free(path);
    free(url);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"log", "store.db", "store.db.lock"};
    struct bench bench = {0};
    char *folder = mem_format("%s/sweetspot-bench-XXXXXX", argc > 1 ? argv[1] : "/var/tmp");
    if (!mkdtemp(folder))
        die("the folder cannot be made");
    run(&bench, folder);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = mem_format("%s/%s", folder, names[i]);
        (void)unlink(path);
        free(path);
    }
    (void)rmdir(folder);
    free(folder);
    return 0;
}
