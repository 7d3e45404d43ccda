/* Every statement on the real schema; instances and jobs, operation by operation. */
#include "server/clock.h"
#include "server/db_driver.h"
#include "server/ids.h"
#include "server/mem.h"
#include "server/store_rows.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- statements ----------------------------------------------------------------------------- */

static void every_statement_can_be_prepared_on_the_real_schema(void **state)
{
    char *path = kit_path(((struct kit *)*state)->folder, "store.db");
    sqlite3 *handle = NULL;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    for (int id = 0; id < SQL_COUNT; id++) {
        const struct sql_statement *statement = &sql_sqlite.statements[id];
        sqlite3_stmt *stmt = NULL;
        const char *rest = NULL;
        if (!statement->text)
            continue; /* of another dialect */
        if (sqlite3_prepare_v2(handle, statement->text, -1, &stmt, &rest) != SQLITE_OK)
            fail_msg("%s: %s", statement->name, sqlite3_errmsg(handle));
        assert_string_equal(rest + strspn(rest, "\n"), "");
        (void)sqlite3_finalize(stmt);
    }
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    free(path);
}

static void a_read_connection_cannot_write(void **state)
{
    struct kit *kit = *state;
    struct err err = {0};
    assert_int_equal(store_instance_hold(kit->reader, "sql01", "x", &err), -1);
    assert_int_equal(err.code, ERR_STORE);
    assert_non_null(strstr(err.msg, "instance_hold"));
}

/* --- instances ------------------------------------------------------------------------------ */

static void an_instance_is_created_then_replaced_and_its_version_counts_up(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    bool created = false;
    struct instance_row row = {.name = mem_copy("sql01"), .definition = mem_copy("{\"a\":1}")};
    kit_ok(store_instance_put(db, &row, -1, &created, &err), &err);
    assert_true(created);
    assert_int_equal(row.version, 1);
    assert_true(row.created_at > 0);
    int64_t created_at = row.created_at;

    kit_ok(store_instance_hold(db, "sql01", "login refused", &err), &err);
    mem_replace(&row.definition, "{\"a\":2}");
    kit_ok(store_instance_put(db, &row, 1, &created, &err), &err);
    assert_false(created);
    assert_int_equal(row.version, 2);
    assert_true(row.created_at == created_at);
    instance_row_fini(&row);

    kit_ok(store_instance_get(db, "sql01", &row, &err), &err);
    assert_string_equal(row.definition, "{\"a\":2}");
    assert_null(row.held); /* a PUT ends the hold */
    instance_row_fini(&row);
}

static void a_put_with_another_version_is_a_conflict_and_changes_nothing(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    bool created = false;
    struct instance_row row = {.name = mem_copy("sql01"), .definition = mem_copy("{}")};
    assert_int_equal(store_instance_put(db, &row, 1, &created, &err), -1); /* not there yet */
    assert_int_equal(err.code, ERR_CONFLICT);
    kit_put_instance(db, "sql01");
    assert_int_equal(store_instance_put(db, &row, 2, &created, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    instance_row_fini(&row);
    kit_ok(store_instance_get(db, "sql01", &row, &err), &err);
    assert_int_equal(row.version, 1);
    instance_row_fini(&row);
}

/* One a millisecond, so that none of them is as new as another. */
static void instances_are_listed_newest_first_in_pages(void **state)
{
    struct db *db = kit_db(state);
    static const char *const names[] = {"c", "a", "d", "b"};
    struct err err = {0};
    for (size_t i = 0; i < 4; i++) {
        clock_pass_ms(1);
        kit_put_instance(db, names[i]);
    }
    clock_pass_ms(1);
    kit_put_instance(db, "c"); /* replaced, and not newer for it */
    struct instance_row *rows = NULL;
    size_t count = 0;
    char *after = NULL;
    for (size_t seen = 0; seen < 4; seen += count) {
        struct store_list page = {.limit = 3, .after = after};
        kit_ok(store_instance_list(db, &page, &rows, &count, &err), &err);
        assert_int_equal(count, seen == 0 ? 3 : 1);
        free(after);
        after = store_place(rows[count - 1].created_at, rows[count - 1].name);
        for (size_t i = 0; i < count; i++) {
            assert_string_equal(rows[i].name, names[3 - seen - i]);
            instance_row_fini(&rows[i]);
        }
        free(rows);
    }
    free(after);
    clock_reset();
}

static void a_place_in_a_list_is_a_moment_and_a_name(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "sql01", "1796093588000", "1796093588000.",
                                      ".sql01", "-1.a",  "1 .a",          "1796093588000000.a"};
    int64_t moment = 0;
    const char *name = NULL;
    char *place = store_place(1796093588000, "sql01.example");
    assert_string_equal(place, "1796093588000.sql01.example");
    assert_true(store_place_is_valid(place));
    store_place_read(place, &moment, &name);
    assert_int_equal(moment, 1796093588000);
    assert_string_equal(name, "sql01.example");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(store_place_is_valid(bad[i]));
    store_place_read(NULL, &moment, &name);
    assert_true(moment == INT64_MAX);
    free(place);
}

static void an_instance_with_jobs_or_intents_cannot_be_deleted(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    char *id = kit_put_job(db, "sql01", 5, true);
    assert_int_equal(store_instance_delete(db, "sql01", -1, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);

    struct job_row job = {0};
    static const char *const states[] = {"waiting", "running", "succeeded"};
    for (size_t i = 0; i < 3; i++) {
        kit_ok(store_job_get(db, id, &job, &err), &err);
        mem_replace(&job.state, states[i]);
        kit_ok(store_job_update(db, &job, &err), &err);
        job_row_fini(&job);
        if (i < 2)
            assert_int_equal(store_instance_delete(db, "sql01", -1, &err), -1);
    }
    struct intent_row intent = {.id = mem_copy("i1"),
                                .job = mem_copy(id),
                                .instance = mem_copy("sql01"),
                                .action = mem_copy("file"),
                                .object = mem_copy("D:\\x.bak"),
                                .state = mem_copy("open")};
    kit_ok(store_intent_insert(db, &intent, &err), &err);
    assert_int_equal(store_instance_delete(db, "sql01", -1, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    kit_ok(store_intent_close(db, "i1", "failed", "it was refused", &err), &err);
    assert_int_equal(store_instance_delete(db, "sql01", -1, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    kit_ok(store_intent_close(db, "i1", "undone", NULL, &err), &err);
    assert_int_equal(store_instance_delete(db, "sql01", 7, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    kit_ok(store_instance_delete(db, "sql01", 1, &err), &err);
    assert_int_equal(store_instance_delete(db, "sql01", -1, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    kit_ok(store_job_get(db, id, &job, &err), &err); /* the history stays */
    job_row_fini(&job);
    intent_row_fini(&intent);
    free(id);
}

/* --- jobs ----------------------------------------------------------------------------------- */

static void a_job_comes_back_as_it_was_stored(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    struct job_row row = kit_job("sql01");
    row.state_reason = mem_copy("window");
    row.phase = mem_copy("measuring");
    row.requested_by = mem_copy("SQL Agent \xC3\xA9\n\"x\"");
    row.retry_of = mem_copy("0193");
    row.plan = mem_copy("{\"arms\":[]}");
    row.summary = mem_copy("s");
    row.error = mem_copy("{\"number\":1}");
    row.priority = 9;
    row.not_before = 1;
    row.deadline = INT64_MAX;
    row.retry_at = 3;
    row.unreachable_since = 4;
    row.attempts = 5;
    row.exclusive = true;
    row.cancel_asked = true;
    row.started_at = 6;
    row.finished_at = 7;
    row.trials_done = 8;
    row.trials_planned = 9;
    row.version = 10;
    kit_ok(store_job_insert(db, &row, &err), &err);
    struct job_row got = {0};
    kit_ok(store_job_get(((struct kit *)*state)->reader, row.id, &got, &err), &err);
    const char *const pairs[][2] = {
        {row.id, got.id},
        {row.kind, got.kind},
        {row.instance, got.instance},
        {row.state, got.state},
        {row.state_reason, got.state_reason},
        {row.phase, got.phase},
        {row.cleanup, got.cleanup},
        {row.requested_by, got.requested_by},
        {row.retry_of, got.retry_of},
        {row.definition, got.definition},
        {row.plan, got.plan},
        {row.summary, got.summary},
        {row.error, got.error},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(pairs[i][0], pairs[i][1]);
    assert_memory_equal(&row.priority, &got.priority,
                        offsetof(struct job_row, exclusive) - offsetof(struct job_row, priority));
    assert_true(got.exclusive && got.cancel_asked);
    assert_true(got.created_at == row.created_at && got.started_at == 6 && got.finished_at == 7);
    assert_true(got.trials_done == 8 && got.trials_planned == 9 && got.version == 10);
    assert_int_equal(store_job_insert(db, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    job_row_fini(&row);
    job_row_fini(&got);
}

static void a_job_of_an_instance_that_went_away_is_not_stored(void **state)
{
    struct err err = {0};
    struct job_row row = kit_job("gone");
    assert_int_equal(store_job_insert(kit_db(state), &row, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(store_job_get(kit_db(state), row.id, &row, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    job_row_fini(&row);
}

static void an_update_of_an_old_version_is_a_conflict(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    char *id = kit_put_job(db, "sql01", 5, true);
    struct job_row first = {0};
    struct job_row second = {0};
    kit_ok(store_job_get(db, id, &first, &err), &err);
    kit_ok(store_job_get(db, id, &second, &err), &err);
    mem_replace(&first.state, "running");
    kit_ok(store_job_update(db, &first, &err), &err);
    assert_int_equal(first.version, 2);
    mem_replace(&second.state, "cancelled");
    assert_int_equal(store_job_update(db, &second, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    first.trials_done = 1;
    kit_ok(store_job_update(db, &first, &err), &err);
    job_row_fini(&first);
    kit_ok(store_job_get(db, id, &first, &err), &err);
    assert_string_equal(first.state, "running");
    assert_int_equal(first.version, 3);
    job_row_fini(&first);
    job_row_fini(&second);
    free(id);
}

static void an_update_without_the_plan_leaves_the_stored_one(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    char *id = kit_put_job(db, "sql01", 5, true);
    struct job_row row = {0};
    kit_ok(store_job_get(db, id, &row, &err), &err);
    assert_null(row.plan);
    static const char *const plans[] = {"{\"p\":1}", NULL, "{\"p\":2}"};
    static const char *const stored[] = {"{\"p\":1}", "{\"p\":1}", "{\"p\":2}"};
    for (size_t i = 0; i < 3; i++) {
        mem_replace(&row.plan, plans[i]);
        kit_ok(store_job_update(db, &row, &err), &err);
        job_row_fini(&row);
        kit_ok(store_job_get(db, id, &row, &err), &err);
        assert_string_equal(row.plan, stored[i]);
    }
    job_row_fini(&row);
    free(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(every_statement_can_be_prepared_on_the_real_schema),
        KIT_TEST(a_read_connection_cannot_write),
        KIT_TEST(an_instance_is_created_then_replaced_and_its_version_counts_up),
        KIT_TEST(a_put_with_another_version_is_a_conflict_and_changes_nothing),
        KIT_TEST(instances_are_listed_newest_first_in_pages),
        cmocka_unit_test(a_place_in_a_list_is_a_moment_and_a_name),
        KIT_TEST(an_instance_with_jobs_or_intents_cannot_be_deleted),
        KIT_TEST(a_job_comes_back_as_it_was_stored),
        KIT_TEST(a_job_of_an_instance_that_went_away_is_not_stored),
        KIT_TEST(an_update_of_an_old_version_is_a_conflict),
        KIT_TEST(an_update_without_the_plan_leaves_the_stored_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
