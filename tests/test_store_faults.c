/* The store on a disk that fails: writes share commits, and each is answered truly. */
#include "server/clock.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_rows.h"
#include "tests/store_kit.h"
#include "tests/store_vfs.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int set_up(void **state)
{
    vfs_reset();
    return kit_store_set_up(state);
}

static int tear_down(void **state)
{
    vfs_reset();
    return kit_store_tear_down(state);
}

/* --- group commit --------------------------------------------------------------------------- */

static void *write_two_hundred(void *arg)
{
    for (int i = 0; i < 200; i++) {
        struct job_row row = kit_job("sql01");
        if (store_write(arg, kit_insert_job_work, &row, NULL) < 0)
            abort();
        job_row_fini(&row);
    }
    return NULL;
}

static void eight_clients_share_commits(void **state)
{
    struct kit_store *kit = *state;
    pthread_t threads[8];
    kit_store_start(kit);
    vfs_reset();
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_two_hundred, kit->store), 0);
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
        store_write_later(store, kit_insert_job_work, &rows[i], count_answer, tally);
    (void)sem_post(&gate);
    for (int i = 0; i < count; i++)
        while (sem_wait(&tally->answered) < 0)
            ;
    (void)sem_destroy(&gate);
    (void)sem_destroy(&tally->answered);
}

static void a_batch_is_one_commit_and_each_is_answered(void **state)
{
    struct kit_store *kit = *state;
    struct job_row rows[50];
    struct tally tally = {0};
    kit_store_start(kit);
    vfs_reset();
    for (int i = 0; i < 50; i++)
        rows[i] = kit_job("sql01");
    write_together(kit->store, rows, 50, &tally);
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
    struct kit_store *kit = *state;
    kit_store_start(kit);
    for (int only_sync = 0; only_sync < 2; only_sync++) {
        struct job_row rows[8];
        struct tally tally = {0};
        struct err err = {0};
        for (int i = 0; i < 8; i++)
            rows[i] = kit_job("sql01");
        assert_true(store_is_healthy(kit->store));
        fail_from_now(100000, only_sync);
        write_together(kit->store, rows, 8, &tally);
        assert_int_equal(tally.refused, 8);
        assert_false(store_is_healthy(kit->store));
        for (int i = 0; i < 8; i++) { /* reading goes on, and none is there */
            assert_int_equal(store_read(kit->store, kit_get_job_work, rows[i].id, &err), -1);
            assert_int_equal(err.code, ERR_NOT_FOUND);
        }
        vfs_reset(); /* the disk is well again: so is the store, without a restart */
        kit_ok(store_write(kit->store, kit_insert_job_work, &rows[0], &err), &err);
        assert_true(store_is_healthy(kit->store));
        for (int i = 0; i < 8; i++)
            job_row_fini(&rows[i]);
    }
}

/* When the disk was full nobody may come for long, because readyz says no: the store itself looks
 * whether it is back. */
static void a_disk_that_comes_back_is_noticed_without_a_caller(void **state)
{
    struct kit_store *kit = *state;
    struct err err = {0};
    struct job_row row = kit_job("sql01");
    kit_store_start(kit);
    fail_from_now(100000, true);
    assert_int_equal(store_write(kit->store, kit_insert_job_work, &row, &err), -1);
    assert_false(store_is_healthy(kit->store));
    vfs_reset();
    int64_t until = clock_mono_ns() + INT64_C(20000000000);
    while (!store_is_healthy(kit->store) && clock_mono_ns() < until)
        (void)usleep(1000); /* the next look, not a guess of how long it takes */
    assert_true(store_is_healthy(kit->store));
    job_row_fini(&row);
}

/* Rows of a megabyte overflow SQLite's cache, so that writing fails in the middle of a work and
 * SQLite gives the whole transaction up. */
static void a_transaction_lost_in_the_middle_answers_every_waiter(void **state)
{
    struct kit_store *kit = *state;
    struct job_row rows[8];
    struct tally tally = {0};
    struct err err = {0};
    char *large = mem_alloc((1 << 20) + 1, 1);
    kit_store_start(kit);
    memset(large, ' ', 1 << 20);
    large[0] = '{';
    large[(1 << 20) - 1] = '}';
    for (int i = 0; i < 8; i++) {
        rows[i] = kit_job("sql01");
        mem_replace(&rows[i].definition, large);
    }
    fail_from_now(100000, false);
    write_together(kit->store, rows, 8, &tally);
    assert_int_equal(tally.refused, 8);
    vfs_reset();
    for (int i = 0; i < 8; i++) {
        assert_int_equal(store_read(kit->store, kit_get_job_work, rows[i].id, &err), -1);
        kit_ok(store_write(kit->store, kit_insert_job_work, &rows[i], &err), &err);
    }
    for (int i = 0; i < 8; i++)
        job_row_fini(&rows[i]);
    free(large);
}

/* One operation fails at every point in turn: what was acknowledged is there after a restart. */
static void no_single_failure_loses_what_was_acknowledged(void **state)
{
    struct kit_store *kit = *state;
    int refused = 0;
    kit_store_start(kit);
    for (int point = 1; point <= 120; point++) {
        struct err err = {0};
        struct job_row rows[3] = {kit_job("sql01"), kit_job("sql01"), kit_job("sql01")};
        int rcs[3];
        vfs_reset();
        atomic_store(&vfs_faults.fail_at, point % 40 + 1);
        for (int i = 0; i < 3; i++) {
            rcs[i] = store_write(kit->store, kit_insert_job_work, &rows[i], &err);
            refused += rcs[i] < 0;
        }
        kit_store_close(kit); /* the failure may also hit the last checkpoint */
        vfs_reset();
        kit_store_start(kit);
        for (int i = 0; i < 3; i++) {
            int found = store_read(kit->store, kit_get_job_work, rows[i].id, &err);
            assert_int_equal(found, rcs[i]);
            job_row_fini(&rows[i]);
        }
    }
    assert_true(refused > 0);
}

/* --- what was read before ------------------------------------------------------------------ */

struct onlooker {
    struct store *store;
    char *id;
    struct store_mark mark;
    int found;        /* whether the job can be read: 0, else -1 */
    bool still_holds; /* the mark */
};

static void look(void *ctx)
{
    struct onlooker *onlooker = ctx;
    onlooker->found = store_read(onlooker->store, kit_get_job_work, onlooker->id, NULL);
    onlooker->still_holds = store_is_unchanged(onlooker->store, &onlooker->mark);
}

/* Else who has seen the new state in one answer would be shown the old one in the next. */
static void a_mark_ends_before_what_is_committed_can_be_seen(void **state)
{
    struct kit_store *kit = *state;
    struct err err;
    struct job_row row = kit_job("sql01");
    kit_store_start(kit);
    clock_pass_ms(0);
    struct onlooker onlooker = {
        .store = kit->store, .id = row.id, .mark = store_mark(kit->store), .found = -1};
    assert_true(store_is_unchanged(kit->store, &onlooker.mark));
    vfs_faults.committed_ctx = &onlooker;
    atomic_store(&vfs_faults.committed, look);
    kit_ok(store_write(kit->store, kit_insert_job_work, &row, &err), &err);
    assert_int_equal(onlooker.found, 0);
    assert_false(onlooker.still_holds);
    struct store_mark mark = store_mark(kit->store); /* and afterwards there are marks again */
    assert_true(store_is_unchanged(kit->store, &mark));
    clock_reset();
    job_row_fini(&row);
}

static void look_from_now(void *ctx)
{
    struct onlooker *onlooker = ctx;
    onlooker->mark = store_mark(onlooker->store);
    look(ctx);
}

static void no_mark_is_made_while_a_commit_is_on_its_way(void **state)
{
    struct kit_store *kit = *state;
    struct err err;
    struct job_row row = kit_job("sql01");
    struct onlooker onlooker = {.id = row.id, .still_holds = true};
    kit_store_start(kit);
    onlooker.store = kit->store;
    vfs_faults.committed_ctx = &onlooker;
    atomic_store(&vfs_faults.committed, look_from_now);
    kit_ok(store_write(kit->store, kit_insert_job_work, &row, &err), &err);
    assert_false(onlooker.still_holds);
    assert_false(store_is_unchanged(kit->store, &onlooker.mark));
    job_row_fini(&row);
}

static void a_commit_that_failed_ends_marks_too(void **state)
{
    struct kit_store *kit = *state;
    struct err err;
    struct job_row row = kit_job("sql01");
    kit_store_start(kit);
    clock_pass_ms(0);
    struct store_mark before = store_mark(kit->store);
    vfs_reset();
    atomic_store(&vfs_faults.fail_only_sync, 1);
    atomic_store(&vfs_faults.fail_count, 100);
    atomic_store(&vfs_faults.fail_at, 1);
    assert_int_equal(store_write(kit->store, kit_insert_job_work, &row, &err), -1);
    vfs_reset();
    assert_false(store_is_unchanged(kit->store, &before));
    kit_ok(store_write(kit->store, kit_insert_job_work, &row, &err), &err);
    struct store_mark after = store_mark(kit->store);
    assert_true(store_is_unchanged(kit->store, &after));
    clock_reset();
    job_row_fini(&row);
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(eight_clients_share_commits),
        FAULT_TEST(a_batch_is_one_commit_and_each_is_answered),
        FAULT_TEST(a_failing_commit_answers_every_waiter),
        FAULT_TEST(a_disk_that_comes_back_is_noticed_without_a_caller),
        FAULT_TEST(a_transaction_lost_in_the_middle_answers_every_waiter),
        FAULT_TEST(no_single_failure_loses_what_was_acknowledged),
        FAULT_TEST(a_mark_ends_before_what_is_committed_can_be_seen),
        FAULT_TEST(no_mark_is_made_while_a_commit_is_on_its_way),
        FAULT_TEST(a_commit_that_failed_ends_marks_too),
    };
    vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
