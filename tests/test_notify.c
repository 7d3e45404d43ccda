/* What becomes of a delivery after each try (api.md §5). */
#include "jobs/notify.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW ((int64_t)1700000000000)

static struct delivery_row pending(int64_t attempts)
{
    return (struct delivery_row){.state = mem_copy("pending"), .attempts = attempts};
}

static struct notify_try answered(long status, int64_t retry_after_s)
{
    return (struct notify_try){.answer = {.status = status, .retry_after_s = retry_after_s},
                               .ended_at = NOW};
}

static void tries_eight_times_at_growing_distances(void **state)
{
    (void)state;
    static const int64_t pauses_s[] = {5, 30, 120, 600, 3600, 21600, 86400};
    struct notify_try failed = answered(500, -1);
    struct delivery_row row = pending(0);
    for (size_t i = 0; i < JSON_COUNT(pauses_s); i++) {
        assert_false(notify_settle(&row, &failed));
        assert_string_equal(row.state, "pending");
        assert_int_equal(row.attempts, i + 1);
        assert_int_equal(row.next_at, NOW + pauses_s[i] * 1000);
    }
    assert_false(notify_settle(&row, &failed));
    assert_string_equal(row.state, "dead");
    assert_int_equal(row.attempts, 8);
    delivery_row_fini(&row);
}

static void judges_each_answer(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *wanted;
        bool disables;
    } cases[] = {
        {200, "delivered", false}, {202, "delivered", false}, {204, "delivered", false},
        {299, "delivered", false}, {301, "pending", false},   {302, "pending", false},
        {307, "pending", false},   {400, "pending", false},   {401, "pending", false},
        {403, "pending", false},   {404, "pending", false},   {408, "pending", false},
        {409, "pending", false},   {410, "dead", true},       {413, "pending", false},
        {425, "pending", false},   {429, "pending", false},   {500, "pending", false},
        {502, "pending", false},   {503, "pending", false},   {504, "pending", false},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct delivery_row row = pending(0);
        struct notify_try done = answered(cases[i].status, -1);
        assert_int_equal(notify_settle(&row, &done), cases[i].disables);
        assert_string_equal(row.state, cases[i].wanted);
        assert_int_equal(row.last_status, cases[i].status);
        assert_int_equal(row.last_error != NULL, strcmp(cases[i].wanted, "delivered") != 0);
        delivery_row_fini(&row);
    }
}

static void judges_each_failure_before_an_answer(void **state)
{
    (void)state;
    static const struct {
        enum err_code code;
        const char *wanted;
    } cases[] = {
        {ERR_UNREACHABLE, "pending"}, {ERR_TIMEOUT, "pending"}, {ERR_STORE, "pending"},
        {ERR_SYSTEM, "pending"},      {ERR_REFUSED, "dead"},    {ERR_INPUT, "dead"},
        {ERR_NOT_FOUND, "dead"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct delivery_row row = pending(0);
        struct notify_try done = {.rc = -1, .ended_at = NOW};
        (void)err_set(&done.err, cases[i].code, 0, "it did not work");
        assert_false(notify_settle(&row, &done));
        assert_string_equal(row.state, cases[i].wanted);
        assert_string_equal(row.last_error, "it did not work");
        assert_int_equal(row.last_status, 0);
        delivery_row_fini(&row);
    }
}

static void honours_retry_after_but_not_for_ever(void **state)
{
    (void)state;
    static const struct {
        int64_t attempts, asked_s, pause_s;
    } cases[] = {
        {0, -1, 5},    {0, 0, 5},      {0, 3, 5}, /* never sooner than our own pause */
        {0, 100, 100}, {4, 100, 3600}, {0, 86400, 86400}, {0, 86401, 86400}, {0, INT64_MAX, 86400},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct delivery_row row = pending(cases[i].attempts);
        struct notify_try done = answered(429, cases[i].asked_s);
        assert_false(notify_settle(&row, &done));
        assert_int_equal(row.next_at, NOW + cases[i].pause_s * 1000);
        delivery_row_fini(&row);
    }
}

static void forgets_an_earlier_error_once_delivered(void **state)
{
    (void)state;
    struct delivery_row row = pending(3);
    row.last_error = mem_copy("the receiver answered 500");
    struct notify_try done = answered(200, -1);
    assert_false(notify_settle(&row, &done));
    assert_null(row.last_error);
    assert_int_equal(row.attempts, 4);
    delivery_row_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_eight_times_at_growing_distances),
        cmocka_unit_test(judges_each_answer),
        cmocka_unit_test(judges_each_failure_before_an_answer),
        cmocka_unit_test(honours_retry_after_but_not_for_ever),
        cmocka_unit_test(forgets_an_earlier_error_once_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
