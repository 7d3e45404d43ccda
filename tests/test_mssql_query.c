/* Queries: values in, rows out. */
#include "server/buf.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/mssql_place.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#define WAIT_MS 20000

static struct mssql_rows *query(struct place *place, const char *sql,
                                const struct mssql_value *values, size_t count)
{
    struct mssql_rows *rows = NULL;
    if (mssql_query(place->session, sql, values, count, &rows, &place->err) < 0)
        fail_msg("%s: %s", sql, place->err.msg);
    assert_non_null(rows);
    return rows;
}

static void kit_succeeds(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

static char *repeat(const char *text, size_t times)
{
    struct buf buf = {0};
    for (size_t i = 0; i < times; i++)
        buf_add(&buf, text);
    return buf_take(&buf);
}

static void text_goes_in_and_comes_back_unchanged(void **state)
{
    struct place *place = *state;
    char *many[] = {repeat("x", 3999),
                    repeat("x", 4000),
                    repeat("x", 4001),
                    repeat("\xC3\xBC", 4096),
                    repeat("\xF0\x9F\x98\x80", 2000),
                    repeat("\xF0\x9F\x98\x80", 30000)};
    const char *const few[] = {"a",
                               "it's",
                               "'; DROP DATABASE Sales; --",
                               "\"quoted\" [bracketed] ?",
                               "\xF0\x9F\x98\x80",
                               "\xE6\x97\xA5\xE6\x9C\xAC \xC3\xBC",
                               " blanks ",
                               "line\r\nline\ttab",
                               ""};
    for (size_t i = 0; i < sizeof few / sizeof few[0] + 6; i++) {
        const char *text = i < 6 ? many[i] : few[i - 6];
        struct mssql_value value = {.text = text};
        struct mssql_rows *rows = query(place, "SELECT ?", &value, 1);
        assert_int_equal(mssql_row_count(rows), 1);
        assert_int_equal(mssql_column_count(rows), 1);
        assert_string_equal(mssql_text(rows, 0, 0), text);
        mssql_rows_free(rows);
    }
    for (size_t i = 0; i < 6; i++)
        free(many[i]);
}

static void numbers_go_in_and_come_back_unchanged(void **state)
{
    static const int64_t numbers[] = {0, 1, -1, 2147483648, 9007199254740993, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct mssql_value value = {.number = numbers[i]};
        struct mssql_rows *rows = query(*state, "SELECT ?", &value, 1);
        assert_int_equal(mssql_int(rows, 0, 0, 17), numbers[i]);
        mssql_rows_free(rows);
    }
}

static void values_keep_their_order_among_quotes_and_comments(void **state)
{
    const struct mssql_value values[] = {{.text = "one"}, {.number = 2}, {.text = "three"}};
    struct mssql_rows *rows =
        query(*state, "SELECT ? AS a, N'?' AS b, ? /* ? */ AS c, ? AS d -- ?\n", values, 3);
    assert_int_equal(mssql_column_count(rows), 4);
    assert_string_equal(mssql_text(rows, 0, 0), "one");
    assert_string_equal(mssql_text(rows, 0, 1), "?");
    assert_string_equal(mssql_text(rows, 0, 2), "2");
    assert_string_equal(mssql_text(rows, 0, 3), "three");
    mssql_rows_free(rows);
}

static void null_is_told_from_an_empty_text(void **state)
{
    struct mssql_rows *rows =
        query(*state, "SELECT CAST(NULL AS nvarchar(10)), N'', CAST(NULL AS bigint)", NULL, 0);
    assert_null(mssql_text(rows, 0, 0));
    assert_string_equal(mssql_text(rows, 0, 1), "");
    assert_null(mssql_text(rows, 0, 2));
    assert_int_equal(mssql_int(rows, 0, 2, -5), -5);
    assert_true(isnan(mssql_real(rows, 0, 2)));
    mssql_rows_free(rows);
}

static void what_is_not_there_reads_as_missing(void **state)
{
    struct mssql_rows *rows = query(*state, "SELECT 1, N'x', N''", NULL, 0);
    assert_null(mssql_text(rows, 1, 0));
    assert_null(mssql_text(rows, 0, 3));
    assert_int_equal(mssql_int(rows, 1, 0, 7), 7);
    assert_int_equal(mssql_int(rows, 0, 1, 7), 7);
    assert_int_equal(mssql_int(rows, 0, 2, 7), 7);
    assert_true(isnan(mssql_real(rows, 0, 1)));
    assert_true(isnan(mssql_real(rows, 9, 9)));
    mssql_rows_free(rows);
}

static void numbers_of_any_type_are_read(void **state)
{
    struct mssql_rows *rows =
        query(*state,
              "SELECT CAST(1 AS bit), CAST(12345678901234 AS numeric(20,0)), "
              "CAST(12.75 AS decimal(9,2)), CAST(0.5 AS float), CAST(-3 AS smallint)",
              NULL, 0);
    assert_int_equal(mssql_int(rows, 0, 0, -9), 1);
    assert_int_equal(mssql_int(rows, 0, 1, -9), 12345678901234);
    assert_int_equal(mssql_int(rows, 0, 2, -9), 12);
    assert_true(mssql_real(rows, 0, 2) == 12.75);
    assert_true(mssql_real(rows, 0, 3) == 0.5);
    assert_int_equal(mssql_int(rows, 0, 4, -9), -3);
    mssql_rows_free(rows);
}

static void dates_and_binary_come_as_text(void **state)
{
    struct mssql_rows *rows = query(
        *state, "SELECT CAST('2024-05-06T07:08:09.1234567' AS datetime2(7)), 0x00FF10AB", NULL, 0);
    assert_string_equal(mssql_text(rows, 0, 0), "2024-05-06 07:08:09.1234567");
    assert_int_equal(strcasecmp(mssql_text(rows, 0, 1), "00FF10AB"), 0);
    mssql_rows_free(rows);
}

static void long_texts_come_in_pieces_and_whole(void **state)
{
    static const int lengths[] = {4094, 4095, 4096, 4097, 8190, 8191, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        /* one unit before the emoji: each piece ends in the middle of one */
        char *emoji = repeat("\xF0\x9F\x98\x80", (size_t)lengths[i]);
        char *text = mem_format("a%s", emoji);
        struct mssql_value value = {.text = text};
        struct mssql_rows *rows = query(*state, "SELECT ?", &value, 1);
        assert_string_equal(mssql_text(rows, 0, 0), text);
        mssql_rows_free(rows);
        free(text);
        free(emoji);
    }
}

#define TEN "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"

static void many_rows_are_kept_in_their_order(void **state)
{
    struct mssql_rows *rows =
        query(*state,
              "SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n, N'row' AS t FROM " TEN
              " AS a(n) CROSS JOIN " TEN " AS b(n) CROSS JOIN " TEN " AS c(n) CROSS JOIN " TEN
              " AS d(n) ORDER BY n",
              NULL, 0);
    assert_int_equal(mssql_row_count(rows), 10000);
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(mssql_int(rows, i, 0, -1), i);
        assert_string_equal(mssql_text(rows, i, 1), "row");
    }
    mssql_rows_free(rows);
}

static void more_rows_than_the_limit_are_refused_and_the_session_goes_on(void **state)
{
    struct place *place = *state;
    struct mssql_rows *rows = NULL;
    int rc = mssql_query(place->session,
                         "SELECT a.n FROM " TEN " AS a(n) CROSS JOIN " TEN
                         " AS b(n) CROSS JOIN " TEN " AS c(n) CROSS JOIN " TEN
                         " AS d(n) CROSS JOIN " TEN " AS e(n) CROSS JOIN (VALUES (0),(1)) AS f(n)",
                         NULL, 0, &rows, &place->err);
    assert_int_equal(rc, -1);
    assert_int_equal(place->err.code, ERR_REFUSED);
    assert_null(rows);
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

static void no_rows_and_no_result_are_empty_answers(void **state)
{
    struct mssql_rows *rows = query(*state, "SELECT name FROM sys.databases WHERE 1 = 0", NULL, 0);
    assert_int_equal(mssql_row_count(rows), 0);
    assert_null(mssql_text(rows, 0, 0));
    mssql_rows_free(rows);
    rows = query(*state, "SET NOCOUNT ON", NULL, 0);
    assert_int_equal(mssql_row_count(rows), 0);
    assert_int_equal(mssql_column_count(rows), 0);
    mssql_rows_free(rows);
}

static void only_the_first_result_set_is_kept(void **state)
{
    struct mssql_rows *rows = query(*state, "SELECT 1 AS a; SELECT 2 AS b, 3 AS c", NULL, 0);
    assert_int_equal(mssql_row_count(rows), 1);
    assert_int_equal(mssql_column_count(rows), 1);
    assert_int_equal(mssql_int(rows, 0, 0, -1), 1);
    mssql_rows_free(rows);
}

static void an_answer_nobody_wants_is_thrown_away(void **state)
{
    struct place *place = *state;
    assert_int_equal(
        mssql_query(place->session, "SELECT name FROM sys.databases", NULL, 0, NULL, &place->err),
        0);
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
    mssql_rows_free(NULL);
}

static void an_error_of_a_query_has_the_servers_number(void **state)
{
    struct place *place = *state;
    static const struct mssql_value value = {.text = "x"};
    struct mssql_rows *rows = NULL;
    assert_int_equal(mssql_query(place->session, "SELECT * FROM no_such_table WHERE a = ?", &value,
                                 1, &rows, &place->err),
                     -1);
    assert_int_equal(place->err.code, ERR_SQL);
    assert_int_equal(place->err.detail, 208);
    assert_null(rows);
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

static void a_value_that_is_not_utf8_is_refused(void **state)
{
    struct place *place = *state;
    static const struct mssql_value values[] = {{.text = "fine"}, {.text = "\xC3("}};
    assert_int_equal(mssql_query(place->session, "SELECT ?, ?", values, 2, NULL, &place->err), -1);
    assert_int_equal(place->err.code, ERR_INPUT);
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

static void a_silent_server_times_out_and_the_session_goes_on(void **state)
{
    struct place *place = *state;
    place_fault(place, "{'do': 'hold_before', 'match': 'SELECT 17'}");
    mssql_set_query_seconds(place->session, 1);
    assert_int_equal(mssql_query(place->session, "SELECT 17", NULL, 0, NULL, &place->err), -1);
    assert_int_equal(place->err.code, ERR_TIMEOUT);
    assert_false(mssql_is_dead(place->session));
    sim_fault_clear(place->sim);
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

struct query_thread {
    struct place *place;
    int rc;
    struct err err;
};

static void *query_17(void *argument)
{
    struct query_thread *query_thread = argument;
    static const struct mssql_value value = {.number = 17};
    query_thread->rc = mssql_query(query_thread->place->session, "SELECT ? AS held", &value, 1,
                                   NULL, &query_thread->err);
    return NULL;
}

static void a_query_can_be_cancelled(void **state)
{
    struct place *place = *state;
    struct query_thread query_thread = {.place = place};
    pthread_t thread;
    place_fault(place, "{'do': 'hold_before', 'match': 'SELECT @P1 AS held'}");
    assert_int_equal(pthread_create(&thread, NULL, query_17, &query_thread), 0);
    assert_int_equal(sim_wait_for(place->sim, SIM_EVENT_HELD, NULL, 1, WAIT_MS), 0);
    mssql_cancel(place->session);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(query_thread.rc, -1);
    assert_int_equal(query_thread.err.code, ERR_CANCELLED);
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

static void a_connection_dropped_in_a_query_ends_the_session(void **state)
{
    struct place *place = *state;
    place_fault(place, "{'do': 'drop_before', 'match': 'SELECT 17'}");
    assert_int_equal(mssql_query(place->session, "SELECT 17", NULL, 0, NULL, &place->err), -1);
    assert_int_equal(place->err.code, ERR_UNREACHABLE);
    assert_true(mssql_is_dead(place->session));
}

/* --- streamed -------------------------------------------------------------------------------- */

/* 4^8 = 65,536 rows and more with each further letter; the simulator has no table so long. */
#define FOUR "(SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)"
#define MANY                                                                                       \
    "SELECT a.x, N'\xC3\xBC' AS y FROM " FOUR " AS a CROSS JOIN " FOUR " AS b CROSS JOIN " FOUR    \
    " AS c CROSS JOIN " FOUR " AS d CROSS JOIN " FOUR " AS e CROSS JOIN " FOUR                     \
    " AS f CROSS JOIN " FOUR " AS g CROSS JOIN " FOUR " AS h CROSS JOIN " FOUR " AS i"

struct seen {
    size_t rows;
    int64_t sum;
    size_t stop_after;     /* 0: never */
    struct mssql *cancels; /* after stop_after rows; NULL: the end is said by an error */
    char texts[200];
};

static int see_row(void *ctx, const struct mssql_rows *rows, struct err *err)
{
    struct seen *seen = ctx;
    assert_int_equal(mssql_row_count(rows), 1);
    assert_null(mssql_text(rows, 1, 0));
    seen->rows++;
    seen->sum += mssql_int(rows, 0, 0, -1000000);
    const char *text = mssql_text(rows, 0, 1);
    if (strlen(seen->texts) < 100)
        (void)snprintf(seen->texts + strlen(seen->texts), 100, "%s;", text ? text : "NULL");
    if (seen->rows == seen->stop_after && seen->cancels) {
        mssql_cancel(seen->cancels);
        clock_pass_ms(1000);
    } else if (seen->rows == seen->stop_after) {
        return err_set(err, ERR_INPUT, 77, "enough");
    }
    return 0;
}

static void streamed_rows_come_one_by_one_with_their_values(void **state)
{
    struct place *place = *state;
    struct seen seen = {0};
    const struct mssql_value values[] = {{.text = "it's"}, {.number = 7}};
    kit_succeeds(mssql_stream(place->session,
                              "SELECT 1, CONVERT(nvarchar(20), ?) UNION ALL SELECT ?, N'' "
                              "UNION ALL SELECT 2, CONVERT(nvarchar(20), NULL)",
                              values, 2, see_row, &seen, &place->err),
                 &place->err);
    assert_int_equal(seen.rows, 3);
    assert_int_equal(seen.sum, 10);
    assert_string_equal(seen.texts, "it's;;NULL;");
}

static void more_rows_than_a_query_keeps_can_be_streamed(void **state)
{
    struct place *place = *state;
    struct seen seen = {0};
    kit_succeeds(mssql_stream(place->session, MANY, NULL, 0, see_row, &seen, &place->err),
                 &place->err);
    assert_int_equal(seen.rows, 262144);
    assert_int_equal(seen.sum, 262144 / 4 * (1 + 2 + 3 + 4));
}

static void who_streams_may_end_it_and_the_session_goes_on(void **state)
{
    struct place *place = *state;
    struct seen seen = {.stop_after = 5};
    assert_int_equal(mssql_stream(place->session, MANY, NULL, 0, see_row, &seen, &place->err), -1);
    assert_int_equal(seen.rows, 5);
    assert_int_equal(place->err.code, ERR_INPUT);
    assert_string_equal(place->err.msg, "enough");
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

/* Rows come faster than the driver takes a cancel. */
static void no_row_is_fetched_a_second_after_a_cancel(void **state)
{
    struct place *place = *state;
    clock_pass_ms(0);
    struct seen seen = {.stop_after = 5, .cancels = place->session};
    assert_int_equal(mssql_stream(place->session, MANY, NULL, 0, see_row, &seen, &place->err), -1);
    assert_int_equal(place->err.code, ERR_CANCELLED);
    assert_int_equal(seen.rows, 5);
    clock_reset();
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

static void a_streamed_row_that_is_too_long_is_refused(void **state)
{
    struct place *place = *state;
    struct seen seen = {0};
    char *text = repeat("x", 1 << 20);
    struct mssql_value value = {.text = text};
    assert_int_equal(
        mssql_stream(place->session, "SELECT 1, ?", &value, 1, see_row, &seen, &place->err), -1);
    assert_int_equal(place->err.code, ERR_REFUSED);
    assert_int_equal(seen.rows, 0);
    free(text);
    mssql_rows_free(query(place, "SELECT 1", NULL, 0));
}

static void only_the_first_result_set_is_streamed(void **state)
{
    struct place *place = *state;
    struct seen seen = {0};
    kit_succeeds(mssql_stream(place->session, "SELECT 1, N'a' SELECT 2, N'b'", NULL, 0, see_row,
                              &seen, &place->err),
                 &place->err);
    assert_string_equal(seen.texts, "a;");
}

static void errors_of_a_streamed_query_are_told(void **state)
{
    struct place *place = *state;
    struct seen seen = {0};
    assert_int_equal(mssql_stream(place->session, "SELECT 1, N'a' FROM dbo.nothing", NULL, 0,
                                  see_row, &seen, &place->err),
                     -1);
    assert_int_equal(place->err.code, ERR_SQL);
    assert_int_equal(place->err.detail, 208);
    place_fault(place, "{'do': 'drop_before', 'match': 'SELECT 17'}");
    assert_int_equal(
        mssql_stream(place->session, "SELECT 17, N''", NULL, 0, see_row, &seen, &place->err), -1);
    assert_int_equal(place->err.code, ERR_UNREACHABLE);
    assert_int_equal(seen.rows, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_start, place_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(text_goes_in_and_comes_back_unchanged),
        TEST(numbers_go_in_and_come_back_unchanged),
        TEST(values_keep_their_order_among_quotes_and_comments),
        TEST(null_is_told_from_an_empty_text),
        TEST(what_is_not_there_reads_as_missing),
        TEST(numbers_of_any_type_are_read),
        TEST(dates_and_binary_come_as_text),
        TEST(long_texts_come_in_pieces_and_whole),
        TEST(many_rows_are_kept_in_their_order),
        TEST(more_rows_than_the_limit_are_refused_and_the_session_goes_on),
        TEST(no_rows_and_no_result_are_empty_answers),
        TEST(only_the_first_result_set_is_kept),
        TEST(an_answer_nobody_wants_is_thrown_away),
        TEST(an_error_of_a_query_has_the_servers_number),
        TEST(a_value_that_is_not_utf8_is_refused),
        TEST(a_silent_server_times_out_and_the_session_goes_on),
        TEST(a_query_can_be_cancelled),
        TEST(a_connection_dropped_in_a_query_ends_the_session),
        TEST(streamed_rows_come_one_by_one_with_their_values),
        TEST(more_rows_than_a_query_keeps_can_be_streamed),
        TEST(who_streams_may_end_it_and_the_session_goes_on),
        TEST(no_row_is_fetched_a_second_after_a_cancel),
        TEST(a_streamed_row_that_is_too_long_is_refused),
        TEST(only_the_first_result_set_is_streamed),
        TEST(errors_of_a_streamed_query_are_told),
    };
    return cmocka_run_group_tests(tests, place_init, place_fini);
}
