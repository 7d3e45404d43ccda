/* Tokens in the store, short visits to it, and databases that are older than this program. */
#include "server/clock.h"
#include "server/db_driver.h"
#include "server/mem.h"
#include "server/store_access.h"
#include "server/tokens.h"
#include "tests/store_kit.h"

#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void run_sql(sqlite3 *handle, const char *text)
{
    char *message = NULL;
    if (sqlite3_exec(handle, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
}

/* --- tokens -------------------------------------------------------------------------------- */

/* A digest that begins like another one is another one. */
static void a_token_is_found_by_its_whole_digest(void **state)
{
    struct db *db = kit_db(state);
    struct err err;
    char digest[HASH_HEX_SIZE];
    char name[] = "one";
    char scope[] = "read";
    bool any = true;
    struct token_row found = {0};
    struct token_row row = {.name = name, .scope = scope, .digest = digest, .created_at = 7};
    (void)hash_hex("secret", digest);
    kit_ok(store_token_any(db, &any, &err), &err);
    assert_false(any);
    kit_ok(store_token_insert(db, &row, &err), &err);
    kit_ok(store_token_any(db, &any, &err), &err);
    assert_true(any);
    assert_int_equal(store_token_insert(db, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(store_token_find(db, digest, &found, &err), 1);
    assert_string_equal(found.name, "one");
    assert_true(found.created_at == 7 && found.last_used_at == 0);
    token_row_fini(&found);
    for (size_t i = 0; i < HASH_HEX_SIZE - 1; i++) {
        char other[HASH_HEX_SIZE];
        (void)snprintf(other, sizeof other, "%s", digest);
        other[i] = other[i] == 'a' ? 'b' : 'a';
        if (store_token_find(db, other, &found, &err) != 0)
            fail_msg("digit %zu does not count", i);
    }
}

static void a_use_never_goes_back_in_time(void **state)
{
    struct db *db = kit_db(state);
    struct err err;
    char digest[HASH_HEX_SIZE];
    char name[] = "one";
    char scope[] = "read";
    struct token_row *rows = NULL;
    size_t count = 0;
    struct token_row row = {.name = name, .scope = scope, .digest = digest};
    (void)hash_hex("secret", digest);
    kit_ok(store_token_insert(db, &row, &err), &err);
    kit_ok(store_token_used(db, "one", 20, &err), &err);
    kit_ok(store_token_used(db, "one", 10, &err), &err);
    kit_ok(store_token_used(db, "none", 10, &err), &err);
    kit_ok(store_token_list(db, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].last_used_at, 20);
    token_row_fini(&rows[0]);
    free(rows);
}

/* --- short visits -------------------------------------------------------------------------- */

static int put_work(struct db *db, void *arg, struct err *err)
{
    struct token_change change = {.name = arg, .scope = SCOPE_READ};
    char token[TOKEN_TEXT_SIZE];
    char digest[HASH_HEX_SIZE];
    token_new(token);
    change.digest = hash_hex(token, digest);
    return token_create_work(db, &change, err);
}

static int count_work(struct db *db, void *arg, struct err *err)
{
    size_t *count = arg;
    struct token_row *rows = NULL;
    if (store_token_list(db, &rows, count, err) < 0)
        return -1;
    for (size_t i = 0; i < *count; i++)
        token_row_fini(&rows[i]);
    free(rows);
    return 0;
}

static int fail_work(struct db *db, void *arg, struct err *err)
{
    if (put_work(db, arg, err) < 0)
        return -1;
    return err_set(err, ERR_CONFLICT, 0, "on purpose");
}

static void a_visit_is_seen_by_who_has_it_open(void **state)
{
    struct kit_store *kit = *state;
    struct err err = {0};
    size_t count = 0;
    char one[] = "one";
    char two[] = "two";
    char three[] = "three";
    kit_ok(store_once(kit->url, put_work, one, &err), &err); /* makes it */
    kit_store_open(kit);
    kit_ok(store_read(kit->store, count_work, &count, &err), &err);
    assert_int_equal(count, 1);
    kit_ok(store_once(kit->url, put_work, two, &err), &err); /* beside it */
    kit_ok(store_read(kit->store, count_work, &count, &err), &err);
    assert_int_equal(count, 2);
    kit_ok(store_write(kit->store, put_work, three, &err), &err);
    kit_ok(store_once(kit->url, count_work, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_int_equal(store_once(kit->url, put_work, two, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    char four[] = "four"; /* what a work did that failed is not there */
    assert_int_equal(store_once(kit->url, fail_work, four, &err), -1);
    kit_ok(store_read(kit->store, count_work, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_true(store_is_healthy(kit->store));
}

struct busy {
    struct store *store;
    atomic_bool stop;
    int writes;
};

static int use_work(struct db *db, void *arg, struct err *err)
{
    (void)arg;
    return store_token_used(db, "one", clock_wall_ms(), err);
}

static void *write_without_pause(void *arg)
{
    struct busy *busy = arg;
    while (!atomic_load(&busy->stop)) {
        struct err err;
        assert_int_equal(store_write(busy->store, use_work, NULL, &err), 0);
        busy->writes++;
    }
    return NULL;
}

static void visits_and_a_busy_writer_let_each_other_through(void **state)
{
    struct kit_store *kit = *state;
    struct err err = {0};
    char one[] = "one";
    pthread_t thread;
    size_t count = 0;
    kit_store_open(kit);
    struct busy busy = {.store = kit->store};
    kit_ok(store_once(kit->url, put_work, one, &err), &err);
    assert_int_equal(pthread_create(&thread, NULL, write_without_pause, &busy), 0);
    for (int i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "token-%d", i);
        kit_ok(store_once(kit->url, put_work, name, &err), &err);
    }
    atomic_store(&busy.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(busy.writes > 0);
    kit_ok(store_read(kit->store, count_work, &count, &err), &err);
    assert_int_equal(count, 21);
    assert_true(store_is_healthy(kit->store));
}

/* A database of an older version, as the program of that time left it. */
static void make_old(const char *path, int version)
{
    sqlite3 *handle = NULL;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    for (int i = 0; i < version; i++)
        run_sql(handle, sql_sqlite.migrations[i]);
    run_sql(handle, "INSERT INTO instance VALUES ('sql01', '{}', 3, 1, 2, NULL)");
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static int get_work(struct db *db, void *arg, struct err *err)
{
    return store_instance_get(db, "sql01", arg, err);
}

static void each_older_version_is_brought_to_ours(void **state)
{
    struct kit_store *kit = *state;
    struct err err = {0};
    assert_true(sql_sqlite.migration_count >= 2);
    for (int version = 1; version <= sql_sqlite.migration_count; version++) {
        for (int by_visit = 0; by_visit < 2; by_visit++) {
            struct instance_row row = {0};
            char one[] = "one";
            make_old(kit->path, version);
            if (by_visit)
                kit_ok(store_once(kit->url, put_work, one, &err), &err);
            kit_store_open(kit);
            kit_ok(store_read(kit->store, get_work, &row, &err), &err);
            assert_int_equal(row.version, 3);
            if (!by_visit)
                kit_ok(store_write(kit->store, put_work, one, &err), &err);
            instance_row_fini(&row);
            kit_store_close(kit);
            assert_int_equal(remove(kit->path), 0);
        }
    }
}

static void a_visit_changes_nothing_that_is_not_ours(void **state)
{
    static const struct {
        const char *sql;
        const char *words;
    } cases[] = {
        {"CREATE TABLE t (x)", "another program"},
        {"PRAGMA application_id = 0x53575350; PRAGMA user_version = 999", "newer program"},
    };
    struct kit_store *kit = *state;
    char one[] = "one";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        sqlite3 *handle = NULL;
        assert_int_equal(sqlite3_open(kit->path, &handle), SQLITE_OK);
        run_sql(handle, cases[i].sql);
        assert_int_equal(sqlite3_close(handle), SQLITE_OK);
        assert_int_equal(store_once(kit->url, put_work, one, &err), -1);
        assert_int_equal(err.code, ERR_REFUSED);
        if (!strstr(err.msg, cases[i].words))
            fail_msg("%s", err.msg);
        assert_int_equal(remove(kit->path), 0);
    }
    struct err err = {0};
    assert_int_equal(store_once("nonsense", put_work, one, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(a_token_is_found_by_its_whole_digest),
        KIT_TEST(a_use_never_goes_back_in_time),
        cmocka_unit_test_setup_teardown(a_visit_is_seen_by_who_has_it_open, kit_store_set_up,
                                        kit_store_tear_down),
        cmocka_unit_test_setup_teardown(visits_and_a_busy_writer_let_each_other_through,
                                        kit_store_set_up, kit_store_tear_down),
        cmocka_unit_test_setup_teardown(each_older_version_is_brought_to_ours, kit_store_set_up,
                                        kit_store_tear_down),
        cmocka_unit_test_setup_teardown(a_visit_changes_nothing_that_is_not_ours, kit_store_set_up,
                                        kit_store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
