/* The small tools every other file stands on: text, time, ids, errors. */
#include "server/buf.h"
#include "server/clock.h"
#include "server/err.h"
#include "server/ids.h"
#include "server/log.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_buffer_remembers_that_something_did_not_fit(void **state)
{
    (void)state;
    struct buf buf = BUF_WITH_MAX(5);
    buf_add(&buf, "abc");
    assert_true(buf_ok(&buf));
    buf_add(&buf, "def");
    assert_false(buf_ok(&buf));
    buf_add(&buf, "");
    assert_false(buf_ok(&buf));
    assert_string_equal(buf_text(&buf), "abc");
    buf_fini(&buf);
}

static void taken_text_belongs_to_the_caller(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_format(&buf, "%s=%d", "BUFFERCOUNT", 100);
    char *text = buf_take(&buf);
    assert_string_equal(text, "BUFFERCOUNT=100");
    assert_string_equal(buf_text(&buf), "");
    free(text);
}

static void times_are_written_and_read_as_rfc_3339(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool valid;
        int64_t ms;
    } cases[] = {
        {"1970-01-01T00:00:00Z", true, 0},
        {"2026-12-01T02:53:08.123Z", true, 1796093588123},
        {"2026-12-01T04:53:08.123+02:00", true, 1796093588123},
        {"2028-02-29T00:00:00Z", true, 1835395200000},
        {"2027-02-29T00:00:00Z", false, 0},
        {"2026-12-01", false, 0},
        {"2026-12-01T02:53:08", false, 0},
        {"2026-13-01T02:53:08Z", false, 0},
        {"2026-12-01T24:00:00Z", false, 0},
        {"2026-12-01T02:53:08.Z", false, 0},
        {"2026-12-01T02:53:08Zx", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = -7;
        assert_int_equal(clock_parse(cases[i].text, &ms), cases[i].valid);
        assert_true(ms == (cases[i].valid ? cases[i].ms : -7));
    }
    char text[CLOCK_TEXT_SIZE];
    assert_string_equal(clock_format(1796093588123, text), "2026-12-01T02:53:08.123Z");
}

static void ids_sort_in_the_order_they_were_made(void **state)
{
    (void)state;
    char before[IDS_TEXT_SIZE];
    char after[IDS_TEXT_SIZE];
    ids_new(before);
    for (int i = 0; i < 10000; i++) {
        ids_new(after);
        assert_true(ids_is_valid(after));
        assert_true(strcmp(before, after) < 0);
        memcpy(before, after, sizeof before);
    }
    assert_false(ids_is_valid("0193A1B2-0000-7000-8000-000000000000"));
    assert_false(ids_is_valid("x"));
}

static void a_long_message_is_cut_at_a_character(void **state)
{
    (void)state;
    struct err err;
    char text[1000] = "";
    for (int i = 0; i < 300; i++)
        memcpy(text + 3 * i, "\xE6\x97\xA5", 4);
    err_set(&err, ERR_SQL, 3013, "%s", text);
    assert_int_equal(strlen(err.msg) % 3, 0);
    assert_true(strlen(err.msg) > 470);
}

static void an_error_can_be_wrapped_in_its_context(void **state)
{
    (void)state;
    struct err err;
    err_set(&err, ERR_SQL, 911, "database does not exist");
    assert_int_equal(err_wrap(&err, "back up \"x\""), -1);
    assert_string_equal(err.msg, "back up \"x\": database does not exist");
    assert_int_equal(err.detail, 911);
}

static void a_log_value_stays_on_one_line(void **state)
{
    (void)state;
    assert_string_equal(log_quote("a\"b\n\x1B[31m\xE2\x80\xAEx"), "\"a\\\"b\\x0a\\x1b[31m?x\"");
    assert_string_equal(log_quote("a\xC2\x9B"
                                  "31m\xC2\x85\xC3\xA4\x9B\xEF\xBB\xBF"),
                        "\"a?31m?\xC3\xA4\\x9b?\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_remembers_that_something_did_not_fit),
        cmocka_unit_test(taken_text_belongs_to_the_caller),
        cmocka_unit_test(times_are_written_and_read_as_rfc_3339),
        cmocka_unit_test(ids_sort_in_the_order_they_were_made),
        cmocka_unit_test(a_long_message_is_cut_at_a_character),
        cmocka_unit_test(an_error_can_be_wrapped_in_its_context),
        cmocka_unit_test(a_log_value_stays_on_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
