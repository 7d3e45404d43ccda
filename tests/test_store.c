/* The store as its callers see it: threads that write and read, and files it must refuse. */
#include "server/clock.h"
#include "server/db_sqlite.h"
#include "server/ids.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_rows.h"
#include "tests/store_kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int set_up(void **state)
{
    (void)kit_store_set_up(state);
    kit_store_start(*state);
    return 0;
}

/* --- writing and reading -------------------------------------------------------------------- */

static int insert_job_then_refuse(struct db *db, void *arg, struct err *err)
{
    if (store_job_insert(db, arg, err) < 0)
        return -1;
    return err_set(err, ERR_REFUSED, 0, "no");
}

static int insert_job_then_say_nothing(struct db *db, void *arg, struct err *err)
{
    int rc = store_job_insert(db, arg, err);
    return rc < 0 ? rc : -1;
}

static int count_jobs(struct db *db, void *arg, struct err *err)
{
    const struct job_filter filter = {0};
    const struct store_list page = {.limit = 500};
    struct job_row *rows = NULL;
    if (store_job_list(db, &filter, &page, &rows, arg, err) < 0)
        return -1;
    kit_free_jobs(rows, *(size_t *)arg);
    return 0;
}

static size_t jobs_in(struct store *store)
{
    struct err err = {0};
    size_t count = 0;
    kit_ok(store_read(store, count_jobs, &count, &err), &err);
    return count;
}

static void what_was_written_is_read_at_once(void **state)
{
    struct store *store = ((struct kit_store *)*state)->store;
    struct err err = {0};
    struct job_row row = kit_job("sql01");
    kit_ok(store_write(store, kit_insert_job_work, &row, &err), &err);
    kit_ok(store_read(store, kit_get_job_work, row.id, &err), &err);
    char missing[] = "none";
    assert_int_equal(store_read(store, kit_get_job_work, missing, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(store_read(store, kit_get_job_work, missing, NULL), -1);
    assert_true(store_is_healthy(store));
    job_row_fini(&row);
}

/* Answers of writes nobody waited for. */
struct tally {
    atomic_int stored;
    atomic_int refused;
};

static void count_answer(void *ctx, int rc, const struct err *err)
{
    struct tally *tally = ctx;
    if (rc == 0)
        atomic_fetch_add(&tally->stored, 1);
    else if (err->code == ERR_REFUSED)
        atomic_fetch_add(&tally->refused, 1);
}

static void a_failing_work_rolls_back_alone(void **state)
{
    struct kit_store *kit = *state;
    struct tally tally = {0};
    struct job_row rows[30];
    for (int i = 0; i < 30; i++) {
        rows[i] = kit_job("sql01");
        store_work *work = i % 3 == 1 ? insert_job_then_refuse : kit_insert_job_work;
        store_write_later(kit->store, work, &rows[i], count_answer, &tally);
    }
    store_close(kit->store); /* writes what is queued */
    kit->store = NULL;
    assert_int_equal(tally.stored, 20);
    assert_int_equal(tally.refused, 10);
    kit_store_open(kit);
    for (int i = 0; i < 30; i++) {
        struct err err = {0};
        int rc = store_read(kit->store, kit_get_job_work, rows[i].id, &err);
        assert_int_equal(rc, i % 3 == 1 ? -1 : 0);
        job_row_fini(&rows[i]);
    }
}

static void a_work_that_fails_without_a_reason_is_still_an_error(void **state)
{
    struct store *store = ((struct kit_store *)*state)->store;
    struct err err = {0};
    struct job_row row = kit_job("sql01");
    assert_int_equal(store_write(store, insert_job_then_say_nothing, &row, &err), -1);
    assert_int_equal(err.code, ERR_STORE);
    assert_int_equal(jobs_in(store), 0);
    job_row_fini(&row);
}

struct submit {
    struct store *store;
    struct job_row row;
    char *answered; /* the job that the key stands for */
    pthread_t thread;
};

static int submit_once(struct db *db, void *arg, struct err *err)
{
    struct submit *submit = arg;
    char *fingerprint = NULL;
    int claim =
        store_key_claim(db, "key", "f", submit->row.id, 1, &submit->answered, &fingerprint, err);
    free(fingerprint);
    if (claim < 0)
        return -1;
    if (claim == 0)
        return 0;
    submit->answered = mem_copy(submit->row.id);
    return store_job_insert(db, &submit->row, err);
}

static void *submit_main(void *arg)
{
    struct submit *submit = arg;
    if (store_write(submit->store, submit_once, submit, NULL) < 0)
        mem_replace(&submit->answered, "failed");
    return NULL;
}

static void a_hundred_threads_with_one_key_get_one_job(void **state)
{
    struct store *store = ((struct kit_store *)*state)->store;
    static struct submit submits[100];
    for (int i = 0; i < 100; i++) {
        submits[i] = (struct submit){.store = store, .row = kit_job("sql01")};
        assert_int_equal(pthread_create(&submits[i].thread, NULL, submit_main, &submits[i]), 0);
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(pthread_join(submits[i].thread, NULL), 0);
    assert_int_equal(jobs_in(store), 1);
    for (int i = 1; i < 100; i++)
        assert_string_equal(submits[i].answered, submits[0].answered);
    for (int i = 0; i < 100; i++) {
        free(submits[i].answered);
        job_row_fini(&submits[i].row);
    }
}

/* --- files ---------------------------------------------------------------------------------- */

static void expect_refusal(struct kit_store *kit, const char *words)
{
    struct err err = {0};
    struct store *store = NULL;
    assert_int_equal(store_open(kit->url, &store, &err), -1);
    assert_null(store);
    if (err.code != ERR_REFUSED || !strstr(err.msg, words))
        fail_msg("refused with \"%s\", not with \"%s\"", err.msg, words);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *handle = NULL;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* The bytes of a file; the caller frees them. */
static char *read_file(const char *path, size_t *out_size)
{
    struct stat stats;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &stats), 0);
    *out_size = (size_t)stats.st_size;
    char *bytes = mem_alloc(*out_size + 1, 1);
    assert_int_equal(read(fd, bytes, *out_size), *out_size);
    (void)close(fd);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    (void)close(fd);
}

static void a_second_opener_is_told_the_pid_of_the_first(void **state)
{
    char *words = mem_format("in use by process %d;", (int)getpid());
    expect_refusal(*state, words);
    free(words);
}

static void the_file_is_private_and_the_folder_is_made(void **state)
{
    struct kit_store *kit = *state;
    struct stat stats;
    struct err err = {0};
    struct store *store = NULL;
    char *folder = kit_path(kit->folder, "new");
    char *path = kit_path(folder, "store.db");
    char *url = mem_format("sqlite:%s", path);
    mode_t mask = umask(0);
    kit_ok(store_open(url, &store, &err), &err);
    (void)umask(mask);
    assert_int_equal(stat(folder, &stats), 0);
    assert_int_equal(stats.st_mode & 0777, 0700);
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".visits"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char *name = mem_format("%s%s", path, suffixes[i]);
        assert_int_equal(stat(name, &stats), 0);
        assert_int_equal(stats.st_mode & 0777, 0600);
        free(name);
    }
    store_close(store);
    kit_remove_folder(folder);
    free(path);
    free(url);
}

static void opening_again_changes_nothing(void **state)
{
    struct kit_store *kit = *state;
    size_t before_size;
    size_t after_size;
    kit_store_open(kit);
    store_close(kit->store);
    char *before = read_file(kit->path, &before_size);
    kit_store_open(kit);
    store_close(kit->store);
    kit->store = NULL;
    char *after = read_file(kit->path, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    free(before);
    free(after);
}

static int put_work(struct db *db, void *arg, struct err *err)
{
    struct instance_row row = {.name = arg, .definition = (char[]){"{}"}};
    bool is_new;
    return store_instance_put(db, &row, -1, &is_new, err);
}

static int nothing_work(struct db *db, void *arg, struct err *err)
{
    (void)db;
    (void)arg;
    (void)err;
    return 0;
}

static void a_mark_holds_until_something_is_committed(void **state)
{
    struct kit_store *kit = *state;
    struct err err = {0};
    kit_store_open(kit);
    clock_pass_ms(0);
    struct store_mark mark = store_mark(kit->store);
    kit_ok(store_read(kit->store, nothing_work, NULL, &err), &err);
    kit_ok(store_write(kit->store, nothing_work, NULL, &err), &err);
    assert_true(store_is_unchanged(kit->store, &mark));

    kit_ok(store_write(kit->store, put_work, (char[]){"sql01"}, &err), &err);
    assert_false(store_is_unchanged(kit->store, &mark));

    mark = store_mark(kit->store);
    kit_ok(store_once(kit->url, nothing_work, NULL, &err), &err); /* a visitor: it may have */
    assert_false(store_is_unchanged(kit->store, &mark));

    mark = store_mark(kit->store);
    clock_pass_ms(STORE_MARK_MS);
    assert_false(store_is_unchanged(kit->store, &mark));
    clock_reset();
}

static void without_its_file_of_visits_no_mark_holds(void **state)
{
    struct kit_store *kit = *state;
    struct err err = {0};
    char *visits = mem_format("%s.visits", kit->path);
    assert_int_equal(mkdir(visits, 0700), 0); /* so that it cannot be made */
    kit_store_open(kit);
    struct store_mark mark = store_mark(kit->store);
    assert_false(store_is_unchanged(kit->store, &mark));
    kit_ok(store_once(kit->url, put_work, (char[]){"sql01"}, &err), &err);
    assert_int_equal(rmdir(visits), 0);
    free(visits);
}

static void files_that_are_not_ours_are_refused_and_left_as_they_are(void **state)
{
    struct kit_store *kit = *state;
    static const struct {
        const char *sql;   /* what is done to a database of ours, */
        bool is_ours;      /* or to an empty one */
        const char *words; /* what the refusal must say */
    } cases[] = {
        {"CREATE TABLE t (x); INSERT INTO t VALUES (1)", false, "another program"},
        {"PRAGMA application_id = 7", false, "another program"},
        {"PRAGMA user_version = 1", false, "another program"},
        {"PRAGMA journal_mode = WAL; CREATE TABLE t (x)", false, "another program"},
        {"PRAGMA user_version = 999", true, "newer program"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t before_size;
        size_t after_size;
        if (cases[i].is_ours) {
            kit_store_open(kit);
            store_close(kit->store);
            kit->store = NULL;
        }
        run_sql(kit->path, cases[i].sql);
        char *before = read_file(kit->path, &before_size);
        expect_refusal(kit, cases[i].words);
        char *after = read_file(kit->path, &after_size);
        assert_int_equal(before_size, after_size);
        assert_memory_equal(before, after, before_size);
        free(before);
        free(after);
        assert_int_equal(unlink(kit->path), 0);
    }
}

/* Bytes are turned over one at a time: the file then opens, or is refused with advice. */
static void damaged_files_are_refused_or_open_but_never_crash(void **state)
{
    struct kit_store *kit = *state;
    size_t size;
    int refused = 0;
    kit_store_open(kit);
    store_close(kit->store);
    kit->store = NULL;
    char *bytes = read_file(kit->path, &size);
    for (size_t i = 0; i < 200; i++) {
        size_t at = i < 100 ? i : i * 7919 % size; /* the header, then anywhere */
        struct err err = {0};
        bytes[at] = (char)(bytes[at] ^ 0x55);
        write_file(kit->path, bytes, size);
        if (store_open(kit->url, &kit->store, &err) < 0) {
            refused++;
            if (err.code != ERR_REFUSED)
                fail_msg("byte %zu: %s", at, err.msg);
        }
        store_close(kit->store);
        kit->store = NULL;
        bytes[at] = (char)(bytes[at] ^ 0x55);
    }
    assert_true(refused > 20);
    write_file(kit->path, "not a database at all, but long enough to be looked at", 54);
    expect_refusal(kit, "damaged");
    write_file(kit->path, bytes, size / 2 / 4096 * 4096);
    expect_refusal(kit, "damaged");
    free(bytes);
}

static void network_file_systems_are_known_by_their_numbers(void **state)
{
    (void)state;
    assert_string_equal(db_sqlite_unfit_file_system(0x6969), "NFS");
    assert_string_equal(db_sqlite_unfit_file_system(0xFF534D42), "CIFS");
    assert_string_equal(db_sqlite_unfit_file_system(0x65735546), "FUSE");
    assert_null(db_sqlite_unfit_file_system(0xEF53));     /* ext4 */
    assert_null(db_sqlite_unfit_file_system(0x58465342)); /* XFS */
    assert_null(db_sqlite_unfit_file_system(0x01021994)); /* tmpfs */
}

static void urls_of_no_driver_are_bad_input(void **state)
{
    (void)state;
    static const char *const urls[] = {"", "sqlite", "sqlite:", "mysql://x", "/var/lib/x.db"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct err err = {0};
        struct store *store = NULL;
        assert_int_equal(store_open(urls[i], &store, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
    }
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, kit_store_tear_down)
#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, kit_store_set_up, kit_store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN_TEST(what_was_written_is_read_at_once),
        OPEN_TEST(a_failing_work_rolls_back_alone),
        OPEN_TEST(a_work_that_fails_without_a_reason_is_still_an_error),
        OPEN_TEST(a_hundred_threads_with_one_key_get_one_job),
        OPEN_TEST(a_second_opener_is_told_the_pid_of_the_first),
        FILE_TEST(the_file_is_private_and_the_folder_is_made),
        FILE_TEST(opening_again_changes_nothing),
        FILE_TEST(a_mark_holds_until_something_is_committed),
        FILE_TEST(without_its_file_of_visits_no_mark_holds),
        FILE_TEST(files_that_are_not_ours_are_refused_and_left_as_they_are),
        FILE_TEST(damaged_files_are_refused_or_open_but_never_crash),
        cmocka_unit_test(network_file_systems_are_known_by_their_numbers),
        cmocka_unit_test(urls_of_no_driver_are_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
