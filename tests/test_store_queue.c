/* The queues and lists of jobs: who is next, what waits, and what it costs to ask. */
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void move(struct db *db, const char *id, const char *to_state, int64_t not_before,
                 int64_t retry_at)
{
    struct err err = {0};
    struct job_row row = {0};
    kit_ok(store_job_get(db, id, &row, &err), &err);
    mem_replace(&row.state, to_state);
    row.not_before = not_before;
    row.retry_at = retry_at;
    kit_ok(store_job_update(db, &row, &err), &err);
    job_row_fini(&row);
}

/* Checks the heads at a moment: ids in their order, NULL at the end. */
static void expect_heads(struct db *db, int64_t now_ms, const char *const *ids)
{
    struct err err = {0};
    struct job_row *rows = NULL;
    size_t count = 0;
    kit_ok(store_job_heads(db, now_ms, &rows, &count, &err), &err);
    size_t expected = 0;
    for (; ids[expected]; expected++) {
        assert_true(expected < count);
        assert_string_equal(rows[expected].id, ids[expected]);
    }
    assert_int_equal(count, expected);
    kit_free_jobs(rows, count);
}

/* --- heads ---------------------------------------------------------------------------------- */

static void the_head_is_the_highest_priority_then_the_oldest(void **state)
{
    struct db *db = kit_db(state);
    kit_put_instance(db, "sql01");
    kit_put_instance(db, "sql02");
    char *low = kit_put_job(db, "sql01", 1, true);
    char *first = kit_put_job(db, "sql01", 5, true);
    char *second = kit_put_job(db, "sql01", 5, true);
    char *beside = kit_put_job(db, "sql01", 0, false);
    char *other = kit_put_job(db, "sql02", 9, true);
    expect_heads(db, 1, (const char *const[]){other, first, beside, NULL});
    move(db, first, "running", 0, 0);
    expect_heads(db, 1, (const char *const[]){other, second, beside, NULL});
    move(db, second, "waiting", 0, 0); /* waiting jobs keep their place */
    expect_heads(db, 1, (const char *const[]){other, second, beside, NULL});
    move(db, second, "cancelled", 0, 0);
    move(db, other, "succeeded", 0, 0);
    expect_heads(db, 1, (const char *const[]){low, beside, NULL});
    free(low);
    free(first);
    free(second);
    free(beside);
    free(other);
}

static void a_job_is_no_head_before_its_moment(void **state)
{
    struct kit *kit = *state;
    struct db *db = kit->db;
    kit_put_instance(db, "sql01");
    char *later = kit_put_job(db, "sql01", 9, true);
    char *now = kit_put_job(db, "sql01", 1, true);
    move(db, later, "waiting", 1000, 2000);
    struct db *const both[] = {kit->reader, kit->db};
    for (size_t i = 0; i < 2; i++) { /* the reader first: the writer notes that the moment passed */
        struct err err = {0};
        if (both[i] == kit->db)
            kit_ok(store_job_wake(db, 1999, &err), &err);
        expect_heads(both[i], 1999, (const char *const[]){now, NULL});
        if (both[i] == kit->db)
            kit_ok(store_job_wake(db, 2000, &err), &err);
        expect_heads(both[i], 2000, (const char *const[]){later, NULL});
    }
    move(db, later, "waiting", 1000, 2000); /* the same moments again: still passed */
    expect_heads(kit->reader, 2000, (const char *const[]){later, NULL});
    move(db, later, "waiting", 1000, 3000);
    expect_heads(db, 2000, (const char *const[]){now, NULL});
    expect_heads(db, 3000, (const char *const[]){later, NULL});
    free(later);
    free(now);
}

static void expect_retry(struct db *db, const char *id, int64_t retry_at, int64_t since)
{
    struct err err = {0};
    struct job_row row = {0};
    kit_ok(store_job_get(db, id, &row, &err), &err);
    assert_int_equal(row.retry_at, retry_at);
    assert_int_equal(row.unreachable_since, since);
    job_row_fini(&row);
}

static void go_away(struct db *db, const char *id, const char *reason)
{
    struct err err = {0};
    struct job_row row = {0};
    kit_ok(store_job_get(db, id, &row, &err), &err);
    mem_replace(&row.state, "waiting");
    mem_replace(&row.state_reason, reason);
    row.retry_at = 500000;
    row.unreachable_since = 400000;
    kit_ok(store_job_update(db, &row, &err), &err);
    job_row_fini(&row);
}

static void retries_move_with_the_clock_and_nothing_else_does(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    char *away = kit_put_job(db, "sql01", 9, true);
    char *closed = kit_put_job(db, "sql01", 1, false);
    go_away(db, away, "unreachable");
    go_away(db, closed, "window"); /* waits for a date */
    kit_ok(store_job_shift_retries(db, -100000, &err), &err);
    expect_retry(db, away, 400000, 300000);
    expect_retry(db, closed, 500000, 400000);
    kit_ok(store_job_wake(db, 400000, &err), &err);
    expect_heads(db, 400000, (const char *const[]){away, NULL});
    kit_ok(store_job_shift_retries(db, 200000, &err),
           &err); /* its moment has passed: it stays so */
    expect_retry(db, away, 600000, 500000);
    expect_heads(db, 400000, (const char *const[]){away, NULL});
    kit_ok(store_job_bound_retries(db, 1000, 5000, &err), &err);
    expect_retry(db, away, 6000, 1000);
    kit_ok(store_job_bound_retries(db, 6000, 5000, &err), &err); /* due already */
    expect_retry(db, away, 6000, 1000);
    expect_retry(db, closed, 500000, 400000);
    free(away);
    free(closed);
}

static void heads_come_with_their_plan(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    struct job_row *rows = NULL;
    size_t count = 0;
    kit_put_instance(db, "sql01");
    struct job_row row = kit_job("sql01");
    row.plan = mem_copy("{\"p\":1}");
    kit_ok(store_job_insert(db, &row, &err), &err);
    kit_ok(store_job_heads(db, 1, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].plan, "{\"p\":1}");
    kit_free_jobs(rows, count);
    mem_replace(&row.state, "running");
    kit_ok(store_job_update(db, &row, &err), &err);
    kit_ok(store_job_running(db, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].plan, "{\"p\":1}");
    kit_free_jobs(rows, count);
    job_row_fini(&row);
}

/* --- what a question costs ------------------------------------------------------------------ */

static sqlite3 *open_beside(void **state)
{
    sqlite3 *handle = NULL;
    char *path = kit_path(((struct kit *)*state)->folder, "store.db");
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    free(path);
    return handle;
}

static void run_sql(sqlite3 *handle, const char *sql)
{
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
}

/* Fills the queue with copies of the only job, without the C side: only their number matters. */
static void copy_the_job(sqlite3 *handle, int times)
{
    sqlite3_stmt *name = NULL;
    sqlite3_stmt *insert = NULL;
    run_sql(handle, "CREATE TEMP TABLE copy AS SELECT * FROM job; BEGIN");
    assert_int_equal(
        sqlite3_prepare_v2(handle, "UPDATE copy SET id = printf('1-%08d', ?1)", -1, &name, NULL),
        SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(handle, "INSERT INTO job SELECT * FROM copy", -1, &insert, NULL),
        SQLITE_OK);
    for (int i = 0; i < times; i++) {
        assert_int_equal(sqlite3_bind_int(name, 1, i), SQLITE_OK);
        assert_int_equal(sqlite3_step(name), SQLITE_DONE);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        (void)sqlite3_reset(name);
        (void)sqlite3_reset(insert);
    }
    (void)sqlite3_finalize(name);
    (void)sqlite3_finalize(insert);
    run_sql(handle, "COMMIT; DROP TABLE copy");
}

/* The steps that SQLite's machine takes for a statement of ours: unlike time, always the same. */
static int count_steps(sqlite3 *handle, enum sql_id id, const char *const *texts, int64_t number)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(handle, sql_sqlite.statements[id].text, -1, &stmt, NULL),
                     SQLITE_OK);
    int index = 1;
    for (; texts && *texts; texts++)
        assert_int_equal(sqlite3_bind_text(stmt, index++, *texts, -1, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_bind_int64(stmt, index, number), SQLITE_OK);
    int code;
    do {
        code = sqlite3_step(stmt);
    } while (code == SQLITE_ROW);
    assert_int_equal(code, SQLITE_DONE);
    int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
    (void)sqlite3_finalize(stmt);
    return steps;
}

static void a_hundred_thousand_queued_jobs_cost_as_much_as_one(void **state)
{
    static const char *const mark[] = {"sql01", "instance_busy", NULL};
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    kit_put_instance(db, "sql02");
    free(kit_put_job(db, "sql01", 5, true));
    sqlite3 *handle = open_beside(state);
    int one = count_steps(handle, SQL_JOB_HEADS, NULL, 1);
    copy_the_job(handle, 100000);
    int many = count_steps(handle, SQL_JOB_HEADS, NULL, 1);
    print_message("job_heads: %d steps with one job, %d with 100,001\n", one, many);
    assert_true(many <= one + 10);

    /* neither do those that are marked already cost when others are looked for */
    kit_ok(store_job_mark_waiting(db, "sql01", "instance_busy", 1000000, &err), &err);
    assert_true(count_steps(handle, SQL_JOB_MARK_QUEUED, mark, 100) < 200);
    assert_true(count_steps(handle, SQL_JOB_MARK_WAITING, mark, 100) < 200);
    assert_true(count_steps(handle, SQL_JOB_HEADS, NULL, 1) <= one + 10);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static void no_question_about_jobs_scans_their_table(void **state)
{
    sqlite3 *handle = open_beside(state);
    for (int id = 0; id < SQL_COUNT; id++) {
        const char *name = sql_sqlite.statements[id].name;
        sqlite3_stmt *stmt = NULL;
        if (!name || strncmp(name, "job_", 4) != 0)
            continue;
        char *sql = mem_format("EXPLAIN QUERY PLAN %s", sql_sqlite.statements[id].text);
        assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *step = (const char *)sqlite3_column_text(stmt, 3);
            bool is_list = strncmp(name, "job_list", 8) == 0;
            if (strncmp(step, "SCAN job", 8) == 0 || (is_list && strstr(step, "TEMP B-TREE")))
                fail_msg("%s: %s", name, step);
        }
        (void)sqlite3_finalize(stmt);
        free(sql);
    }
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* --- waiting, moments, deadlines ------------------------------------------------------------ */

static int count_in_state(struct db *db, const char *name, const char *reason)
{
    struct err err = {0};
    struct job_row *rows = NULL;
    size_t count = 0;
    int matching = 0;
    const struct job_filter filter = {.state = name};
    const struct store_list page = {.limit = 500};
    kit_ok(store_job_list(db, &filter, &page, &rows, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        const char *got = rows[i].state_reason ? rows[i].state_reason : "";
        matching += strcmp(got, reason) == 0;
    }
    kit_free_jobs(rows, count);
    return matching;
}

static void jobs_are_marked_as_waiting_a_few_at_a_time(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    kit_put_instance(db, "sql02");
    for (int i = 0; i < 10; i++)
        free(kit_put_job(db, i < 8 ? "sql01" : "sql02", 5, i % 2));
    struct job_row later = kit_job("sql01");
    mem_replace(&later.state, "waiting");
    later.state_reason = mem_copy("not_before");
    later.not_before = clock_wall_ms() + 3600000;
    kit_ok(store_job_insert(db, &later, &err), &err);

    kit_ok(store_job_mark_waiting(db, "sql01", "window", 3, &err), &err);
    assert_int_equal(count_in_state(db, "waiting", "window"), 3);
    kit_ok(store_job_mark_waiting(db, "sql01", "window", 100, &err), &err);
    assert_int_equal(count_in_state(db, "waiting", "window"), 8);
    kit_ok(store_job_mark_waiting(db, "sql01", "lane_busy", 5, &err), &err);
    kit_ok(store_job_mark_waiting(db, "sql01", "paused", 0, &err), &err);
    assert_int_equal(count_in_state(db, "waiting", "window"), 3);
    assert_int_equal(count_in_state(db, "waiting", "lane_busy"), 5);
    assert_int_equal(count_in_state(db, "waiting", "not_before"), 1);
    assert_int_equal(count_in_state(db, "queued", ""), 2);
    assert_int_equal(store_job_update(db, &later, &err), 0); /* it alone kept its version */
    job_row_fini(&later);
}

static void the_next_moment_is_the_earliest_that_matters(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    int64_t moment = -1;
    kit_put_instance(db, "sql01");
    kit_ok(store_job_next_moment(db, 0, &moment, &err), &err);
    assert_int_equal(moment, 0);
    static const struct {
        const char *state;
        int64_t not_before, retry_at, deadline;
    } jobs[] = {
        {"queued", 100, 0, 900},
        {"waiting", 50, 300, 0}, /* at 50 it is not free to start: 300 counts */
        {"running", 10, 0, 20},
        {"succeeded", 11, 0, 21},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct job_row row = kit_job("sql01");
        mem_replace(&row.state, jobs[i].state);
        row.not_before = jobs[i].not_before;
        row.retry_at = jobs[i].retry_at;
        row.deadline = jobs[i].deadline;
        kit_ok(store_job_insert(db, &row, &err), &err);
        job_row_fini(&row);
    }
    static const int64_t steps[][2] = {{0, 100}, {99, 100}, {100, 300}, {300, 900}, {900, 0}};
    for (size_t i = 0; i < 5; i++) {
        kit_ok(store_job_next_moment(db, steps[i][0], &moment, &err), &err);
        assert_int_equal(moment, steps[i][1]);
    }
    struct job_row *rows = NULL;
    size_t count = 0;
    kit_ok(store_job_overdue(db, 899, &rows, &count, &err), &err);
    assert_int_equal(count, 0);
    kit_ok(store_job_overdue(db, 900, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].state, "queued");
    kit_free_jobs(rows, count);
}

/* --- lists ---------------------------------------------------------------------------------- */

/* Sixty jobs: of two instances, two kinds, three states, every fifth with a label. */
static void put_sixty_jobs(struct db *db)
{
    static const char *const states[] = {"queued", "running", "succeeded"};
    struct err err = {0};
    kit_put_instance(db, "sql01");
    kit_put_instance(db, "sql02");
    for (int i = 0; i < 60; i++) {
        struct job_row row = kit_job(i % 2 ? "sql02" : "sql01");
        mem_replace(&row.kind, i % 4 < 2 ? "trace_flag" : "backup_sweep");
        mem_replace(&row.state, states[i % 3]);
        if (i % 5 == 0)
            mem_replace(&row.definition, "{\"labels\":{\"change\":\"CHG-1\",\"site.x\":\"fra\"}}");
        row.created_at += i;
        kit_ok(store_job_insert(db, &row, &err), &err);
        job_row_fini(&row);
    }
}

/* Walks all pages of a list: newest first, nothing twice; returns how many there are. */
static int walk_list(struct db *db, const struct job_filter *filter, int64_t limit)
{
    struct err err = {0};
    char last[IDS_TEXT_SIZE] = "~";
    struct store_list page = {.limit = limit};
    int total = 0;
    size_t count = 0;
    do {
        struct job_row *rows = NULL;
        kit_ok(store_job_list(db, filter, &page, &rows, &count, &err), &err);
        for (size_t i = 0; i < count; i++) {
            assert_true(strcmp(rows[i].id, last) < 0);
            (void)snprintf(last, sizeof last, "%s", rows[i].id);
            assert_null(rows[i].plan);
        }
        page.after = last;
        total += (int)count;
        kit_free_jobs(rows, count);
    } while (count == (size_t)limit);
    return total;
}

static void lists_are_filtered_and_paged_newest_first(void **state)
{
    struct db *db = kit_db(state);
    put_sixty_jobs(db);
    static const struct {
        struct job_filter filter;
        int count;
    } cases[] = {
        {{0}, 60},
        {{.state = "queued"}, 20},
        {{.state = "succeeded"}, 20},
        {{.state = "failed"}, 0},
        {{.kind = "trace_flag"}, 30},
        {{.instance = "sql01"}, 30},
        {{.instance = "none"}, 0},
        {{.instance = "sql01", .kind = "trace_flag", .state = "queued"}, 5},
        {{.label_key = "change", .label_value = "CHG-1"}, 12},
        {{.label_key = "site.x", .label_value = "fra", .instance = "sql02"}, 6},
        {{.label_key = "change", .label_value = "CHG-2"}, 0},
        {{.since = 1}, 60},
        {{.since = INT64_MAX}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const int64_t limits[] = {1, 7, 500};
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(walk_list(db, &cases[i].filter, limits[k]), cases[i].count);
    }
}

static void since_counts_from_the_moment_of_creation(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    struct job_row row = kit_job("sql01");
    kit_ok(store_job_insert(db, &row, &err), &err);
    struct job_filter filter = {.since = row.created_at};
    assert_int_equal(walk_list(db, &filter, 10), 1);
    filter.since++;
    assert_int_equal(walk_list(db, &filter, 10), 0);
    job_row_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(the_head_is_the_highest_priority_then_the_oldest),
        KIT_TEST(a_job_is_no_head_before_its_moment),
        KIT_TEST(retries_move_with_the_clock_and_nothing_else_does),
        KIT_TEST(heads_come_with_their_plan),
        KIT_TEST(a_hundred_thousand_queued_jobs_cost_as_much_as_one),
        KIT_TEST(no_question_about_jobs_scans_their_table),
        KIT_TEST(jobs_are_marked_as_waiting_a_few_at_a_time),
        KIT_TEST(the_next_moment_is_the_earliest_that_matters),
        KIT_TEST(lists_are_filtered_and_paged_newest_first),
        KIT_TEST(since_counts_from_the_moment_of_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
