/* The store on a disk that fails, in a process that is killed, on a machine that loses power:
 * what was acknowledged is there, what was refused was told so. Seeds are printed. */
#include "server/ids.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_rows.h"
#include "tests/store_kit.h"
#include "tests/store_vfs.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CLIENTS 4
#define ID_BYTES (IDS_TEXT_SIZE - 1)

struct fixture {
    char *folder;
    char *url;
    struct store *store;
};

static int set_up(void **state)
{
    struct fixture *fixture = mem_alloc(1, sizeof *fixture);
    fixture->folder = kit_make_folder();
    fixture->url = mem_format("sqlite:%s/store.db", fixture->folder);
    vfs_reset();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    vfs_reset();
    store_close(fixture->store);
    kit_remove_folder(fixture->folder);
    free(fixture->url);
    free(fixture);
    return 0;
}

static int put_instance(struct db *db, void *arg, struct err *err)
{
    bool created = false;
    struct instance_row row = {.name = mem_copy(arg), .definition = mem_copy("{}")};
    int rc = store_instance_put(db, &row, -1, &created, err);
    instance_row_fini(&row);
    return rc;
}

static void open_store(struct fixture *fixture)
{
    char name[] = "sql01";
    struct err err = {0};
    kit_ok(store_open(fixture->url, &fixture->store, &err), &err);
    kit_ok(store_write(fixture->store, put_instance, name, &err), &err);
}

static void close_store(struct fixture *fixture)
{
    store_close(fixture->store);
    fixture->store = NULL;
}

static int insert_job(struct db *db, void *arg, struct err *err)
{
    return store_job_insert(db, arg, err);
}

static int get_job(struct db *db, void *arg, struct err *err)
{
    struct job_row row = {0};
    int rc = store_job_get(db, arg, &row, err);
    job_row_fini(&row);
    return rc;
}

/* --- group commit --------------------------------------------------------------------------- */

static void *write_two_hundred(void *arg)
{
    for (int i = 0; i < 200; i++) {
        struct job_row row = kit_job("sql01");
        if (store_write(arg, insert_job, &row, NULL) < 0)
            abort();
        job_row_fini(&row);
    }
    return NULL;
}

static void eight_clients_share_commits(void **state)
{
    struct fixture *fixture = *state;
    pthread_t threads[8];
    open_store(fixture);
    vfs_reset();
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_two_hundred, fixture->store), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    int syncs = atomic_load(&vfs_faults.log_syncs);
    print_message("1600 writes of 8 clients in %d flushes of the log\n", syncs);
    assert_true(syncs < 1600 / 2);
}

/* Holds the writer thread in a work, so that what is queued meanwhile forms one batch. */
static int wait_at_gate(struct db *db, void *arg, struct err *err)
{
    (void)db;
    (void)err;
    while (sem_wait(arg) < 0)
        ;
    return 0;
}

static void ignore_answer(void *ctx, int rc, const struct err *err)
{
    (void)ctx;
    (void)rc;
    (void)err;
}

struct tally {
    atomic_int stored;
    atomic_int refused; /* with ERR_STORE */
    atomic_int other;
    sem_t answered;
};

static void count_answer(void *ctx, int rc, const struct err *err)
{
    struct tally *tally = ctx;
    if (rc == 0)
        atomic_fetch_add(&tally->stored, 1);
    else if (err->code == ERR_STORE)
        atomic_fetch_add(&tally->refused, 1);
    else
        atomic_fetch_add(&tally->other, 1);
    (void)sem_post(&tally->answered);
}

/* Writes these jobs in one transaction and waits for all answers. */
static void write_together(struct store *store, struct job_row *rows, int count,
                           struct tally *tally)
{
    sem_t gate;
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    assert_int_equal(sem_init(&tally->answered, 0, 0), 0);
    store_write_later(store, wait_at_gate, &gate, ignore_answer, NULL);
    for (int i = 0; i < count; i++)
        store_write_later(store, insert_job, &rows[i], count_answer, tally);
    (void)sem_post(&gate);
    for (int i = 0; i < count; i++)
        while (sem_wait(&tally->answered) < 0)
            ;
    (void)sem_destroy(&gate);
    (void)sem_destroy(&tally->answered);
}

static void a_batch_is_one_commit_and_each_is_answered(void **state)
{
    struct fixture *fixture = *state;
    struct job_row rows[50];
    struct tally tally = {0};
    open_store(fixture);
    vfs_reset();
    for (int i = 0; i < 50; i++)
        rows[i] = kit_job("sql01");
    write_together(fixture->store, rows, 50, &tally);
    assert_int_equal(tally.stored, 50);
    assert_true(atomic_load(&vfs_faults.log_syncs) <= 2); /* the gate's batch may hold some */
    for (int i = 0; i < 50; i++)
        job_row_fini(&rows[i]);
}

/* --- a disk that fails ---------------------------------------------------------------------- */

/* The next operation fails, and as many after it. */
static void fail_from_now(int count, bool only_sync)
{
    vfs_reset();
    atomic_store(&vfs_faults.fail_only_sync, only_sync);
    atomic_store(&vfs_faults.fail_count, count);
    atomic_store(&vfs_faults.fail_at, 1);
}

static void a_failing_commit_answers_every_waiter(void **state)
{
    struct fixture *fixture = *state;
    open_store(fixture);
    for (int only_sync = 0; only_sync < 2; only_sync++) {
        struct job_row rows[8];
        struct tally tally = {0};
        struct err err = {0};
        for (int i = 0; i < 8; i++)
            rows[i] = kit_job("sql01");
        assert_true(store_is_healthy(fixture->store));
        fail_from_now(100000, only_sync);
        write_together(fixture->store, rows, 8, &tally);
        assert_int_equal(tally.refused, 8);
        assert_false(store_is_healthy(fixture->store));
        for (int i = 0; i < 8; i++) { /* reading goes on, and none is there */
            assert_int_equal(store_read(fixture->store, get_job, rows[i].id, &err), -1);
            assert_int_equal(err.code, ERR_NOT_FOUND);
        }
        vfs_reset(); /* the disk is well again: so is the store, without a restart */
        kit_ok(store_write(fixture->store, insert_job, &rows[0], &err), &err);
        assert_true(store_is_healthy(fixture->store));
        for (int i = 0; i < 8; i++)
            job_row_fini(&rows[i]);
    }
}

/* Rows of a megabyte overflow SQLite's cache, so that writing fails in the middle of a work and
 * SQLite gives the whole transaction up. */
static void a_transaction_lost_in_the_middle_answers_every_waiter(void **state)
{
    struct fixture *fixture = *state;
    struct job_row rows[8];
    struct tally tally = {0};
    struct err err = {0};
    char *large = mem_alloc((1 << 20) + 1, 1);
    open_store(fixture);
    memset(large, ' ', 1 << 20);
    large[0] = '{';
    large[(1 << 20) - 1] = '}';
    for (int i = 0; i < 8; i++) {
        rows[i] = kit_job("sql01");
        mem_replace(&rows[i].definition, large);
    }
    fail_from_now(100000, false);
    write_together(fixture->store, rows, 8, &tally);
    assert_int_equal(tally.refused, 8);
    vfs_reset();
    for (int i = 0; i < 8; i++) {
        assert_int_equal(store_read(fixture->store, get_job, rows[i].id, &err), -1);
        kit_ok(store_write(fixture->store, insert_job, &rows[i], &err), &err);
    }
    for (int i = 0; i < 8; i++)
        job_row_fini(&rows[i]);
    free(large);
}

/* One operation fails at every point in turn: what was acknowledged is there after a restart. */
static void no_single_failure_loses_what_was_acknowledged(void **state)
{
    struct fixture *fixture = *state;
    int refused = 0;
    open_store(fixture);
    for (int point = 1; point <= 120; point++) {
        struct err err = {0};
        struct job_row rows[3] = {kit_job("sql01"), kit_job("sql01"), kit_job("sql01")};
        int rcs[3];
        vfs_reset();
        atomic_store(&vfs_faults.fail_at, point % 40 + 1);
        for (int i = 0; i < 3; i++) {
            rcs[i] = store_write(fixture->store, insert_job, &rows[i], &err);
            refused += rcs[i] < 0;
        }
        close_store(fixture); /* the failure may also hit the last checkpoint */
        vfs_reset();
        open_store(fixture);
        for (int i = 0; i < 3; i++) {
            int found = store_read(fixture->store, get_job, rows[i].id, &err);
            assert_int_equal(found, rcs[i]);
            job_row_fini(&rows[i]);
        }
    }
    assert_true(refused > 0);
}

/* --- a process that dies -------------------------------------------------------------------- */

struct client {
    struct store *store;
    int pipe_fd;
};

/* Stores jobs for ever, and writes the id of each that was acknowledged to the pipe. */
static void *submit_for_ever(void *arg)
{
    const struct client *client = arg;
    for (;;) {
        struct job_row row = kit_job("sql01");
        if (store_write(client->store, insert_job, &row, NULL) == 0 &&
            write(client->pipe_fd, row.id, ID_BYTES) != ID_BYTES)
            _exit(1);
        job_row_fini(&row);
    }
}

/* The child: opens the store, starts the clients, and lives until it is killed. */
static void live_until_killed(const char *url, int pipe_fd)
{
    static struct client client;
    char name[] = "sql01";
    pthread_t thread;
    struct err err = {0};
    client.pipe_fd = pipe_fd;
    if (store_open(url, &client.store, &err) < 0 ||
        store_write(client.store, put_instance, name, &err) < 0)
        _exit(1);
    for (int i = 0; i < CLIENTS; i++) {
        if (pthread_create(&thread, NULL, submit_for_ever, &client) != 0)
            _exit(1);
    }
    for (;;)
        (void)pause();
}

/* Starts the child; the parent has no threads at this moment. */
static pid_t start_child(const char *url, int *out_fd)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        live_until_killed(url, ends[1]);
    }
    (void)close(ends[1]);
    *out_fd = ends[0];
    return child;
}

/* Reads acknowledged ids until there are `enough` (then kills) or the child is dead. Returns how
 * many there are; *out_ids is a heap array of them, without NULs between. */
static size_t read_acknowledged(int fd, pid_t child, size_t enough, char **out_ids)
{
    char *ids = NULL;
    size_t length = 0;
    size_t capacity = 0;
    for (;;) {
        ids = mem_grow(ids, &capacity, length + 4096, 1);
        ssize_t got = read(fd, ids + length, 4096);
        if (got <= 0)
            break;
        length += (size_t)got;
        if (length >= enough * ID_BYTES)
            assert_int_equal(kill(child, SIGKILL), 0); /* a second time does no harm */
    }
    (void)close(fd);
    *out_ids = ids;
    return length / ID_BYTES;
}

static void expect_killed(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void expect_all_there(struct fixture *fixture, const char *ids, size_t count)
{
    struct err err = {0};
    kit_ok(store_open(fixture->url, &fixture->store, &err), &err); /* with quick_check */
    for (size_t i = 0; i < count; i++) {
        char id[IDS_TEXT_SIZE] = "";
        memcpy(id, ids + i * ID_BYTES, ID_BYTES);
        kit_ok(store_read(fixture->store, get_job, id, &err), &err);
    }
    close_store(fixture);
}

static void what_was_acknowledged_survives_kill_9(void **state)
{
    struct fixture *fixture = *state;
    size_t total = 0;
    unsigned seed = (unsigned)ids_random_seed();
    print_message("seed %u\n", seed);
    for (int round = 0; round < 20; round++) {
        char *ids = NULL;
        int fd = -1;
        pid_t child = start_child(fixture->url, &fd);
        size_t count = read_acknowledged(fd, child, 1 + (size_t)rand_r(&seed) % 100, &ids);
        expect_killed(child);
        expect_all_there(fixture, ids, count);
        total += count;
        free(ids);
    }
    print_message("20 kills, %zu acknowledged, 0 lost\n", total);
}

static void what_was_acknowledged_survives_a_power_cut(void **state)
{
    struct fixture *fixture = *state;
    size_t total = 0;
    unsigned seed = (unsigned)ids_random_seed();
    print_message("seed %u\n", seed);
    for (int round = 0; round < 40; round++) {
        char *ids = NULL;
        int fd = -1;
        vfs_reset();
        vfs_faults.death = VFS_POWER;
        vfs_faults.seed = (unsigned)rand_r(&seed);
        atomic_store(&vfs_faults.die_at, 1 + rand_r(&seed) % 1500);
        pid_t child = start_child(fixture->url, &fd);
        vfs_reset();
        size_t count = read_acknowledged(fd, child, SIZE_MAX / ID_BYTES, &ids);
        expect_killed(child);
        expect_all_there(fixture, ids, count);
        total += count;
        free(ids);
    }
    print_message("40 power cuts, %zu acknowledged, 0 lost\n", total);
}

/* The child of a making: dies at the chosen operation, or ends well when there are fewer. */
static bool making_ends_well(const char *url, int die_at, enum vfs_death death)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct store *store = NULL;
        struct err err = {0};
        vfs_reset();
        vfs_faults.death = death;
        vfs_faults.seed = (unsigned)die_at;
        atomic_store(&vfs_faults.die_at, die_at);
        if (store_open(url, &store, &err) < 0)
            _exit(1);
        store_close(store);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

static void a_store_half_made_is_made_anew_at_every_point(void **state)
{
    struct fixture *fixture = *state;
    for (int death = VFS_KILL; death <= VFS_POWER; death++) {
        int die_at = 1;
        while (!making_ends_well(fixture->url, die_at, (enum vfs_death)death)) {
            open_store(fixture);
            close_store(fixture);
            char *path = kit_path(fixture->folder, "store.db");
            assert_int_equal(unlink(path), 0);
            free(path);
            die_at++;
        }
        print_message("%d points\n", die_at - 1);
        assert_true(die_at > 10);
        char *path = kit_path(fixture->folder, "store.db");
        assert_int_equal(unlink(path), 0);
        free(path);
    }
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(eight_clients_share_commits),
        FAULT_TEST(a_batch_is_one_commit_and_each_is_answered),
        FAULT_TEST(a_failing_commit_answers_every_waiter),
        FAULT_TEST(a_transaction_lost_in_the_middle_answers_every_waiter),
        FAULT_TEST(no_single_failure_loses_what_was_acknowledged),
        FAULT_TEST(what_was_acknowledged_survives_kill_9),
        FAULT_TEST(what_was_acknowledged_survives_a_power_cut),
        FAULT_TEST(a_store_half_made_is_made_anew_at_every_point),
    };
    vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
