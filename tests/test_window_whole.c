/* From when to when a window is open, and whether a trial had all of it. */
#include "jobs/window.h"
#include "server/clock.h"
#include "server/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MINUTE INT64_C(60000)
#define NIGHT(from, to)                                                                            \
    "{\"days\":[\"mon\",\"tue\",\"wed\",\"thu\",\"fri\",\"sat\",\"sun\"],\"from\":\"" from         \
    "\",\"to\":\"" to "\",\"time_zone\":\"Europe/Berlin\"}"

static int64_t moment(const char *text)
{
    int64_t ms = 0;
    assert_true(clock_parse(text, &ms));
    return ms;
}

static bool around(const char *windows, const char *at, struct window_span *out)
{
    cJSON *tree = NULL;
    struct err err = {0};
    bool found = true;
    assert_int_equal(json_parse(windows, strlen(windows), &tree, &err), 0);
    assert_int_equal(window_around(tree, moment(at), &found, out, &err), 0);
    cJSON_Delete(tree);
    return found;
}

static void a_window_is_known_from_end_to_end(void **state)
{
    (void)state;
    static const struct {
        const char *windows, *at, *opens, *closes; /* opens NULL: none is open */
    } cases[] = {
        {"[" NIGHT("22:00", "02:00") "]", "2026-06-05T20:00:00Z", "2026-06-05T20:00:00Z",
         "2026-06-06T00:00:00Z"},
        {"[" NIGHT("22:00", "02:00") "]", "2026-06-05T23:59:59.999Z", "2026-06-05T20:00:00Z",
         "2026-06-06T00:00:00Z"},
        {"[" NIGHT("22:00", "02:00") "]", "2026-06-06T00:00:00Z", NULL, NULL},
        {"[" NIGHT("22:00", "02:00") "]", "2026-06-05T19:59:59Z", NULL, NULL},
        /* those that touch are one */
        {"[" NIGHT("22:00", "02:00") "," NIGHT("02:00", "04:00") "]", "2026-06-06T01:00:00Z",
         "2026-06-05T20:00:00Z", "2026-06-06T02:00:00Z"},
        {"[" NIGHT("02:00", "04:00") "," NIGHT("22:00", "02:30") "]", "2026-06-05T21:00:00Z",
         "2026-06-05T20:00:00Z", "2026-06-06T02:00:00Z"},
        /* an hour more in the night in which the clock is put back */
        {"[" NIGHT("01:00", "05:00") "]", "2026-10-25T00:30:00Z", "2026-10-24T23:00:00Z",
         "2026-10-25T04:00:00Z"},
        {"[]", "2026-06-05T20:00:00Z", NULL, NULL},
        {"\"always\"", "2026-06-05T20:00:00Z", NULL, NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct window_span span = {0, 0};
        bool found = around(cases[i].windows, cases[i].at, &span);
        assert_int_equal(found, cases[i].opens != NULL);
        if (!found)
            continue;
        assert_int_equal(span.opens_at, moment(cases[i].opens));
        assert_int_equal(span.closes_at, moment(cases[i].closes));
    }
}

static void what_cannot_be_read_is_no_window(void **state)
{
    (void)state;
    struct window_span span;
    struct err err = {0};
    bool found = true;
    cJSON *tree = cJSON_Parse("[{\"days\":[\"mon\"],\"from\":\"1\",\"to\":\"2\"}]");
    assert_int_equal(window_around(tree, 0, &found, &span, &err), -1);
    assert_false(found);
    cJSON_Delete(tree);
    assert_int_equal(window_around(NULL, 0, &found, &span, &err), 0);
    assert_false(found);
}

static void a_trial_had_the_whole_window_when_it_began_with_it(void **state)
{
    (void)state;
    const struct window_span span = {1000 * MINUTE, 1200 * MINUTE}; /* a twentieth: 10 min */
    static const struct {
        int64_t began, ready; /* minutes after it opened */
        bool first, whole;
    } cases[] = {
        {0, 0, true, true},     {10, 9, false, true},    {11, 0, false, false},
        {11, 10, true, true},   {11, 11, true, false},   {100, 10, true, true},
        {101, 10, true, false}, {150, 149, true, false}, {-30, -30, true, true},
        {10, 10, true, true},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++)
        assert_int_equal(window_was_whole(&span, span.opens_at + cases[i].began * MINUTE,
                                          cases[i].first, span.opens_at + cases[i].ready * MINUTE),
                         cases[i].whole);
    assert_false(window_was_whole(&span, span.opens_at + 10 * MINUTE + 1, false, span.opens_at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_known_from_end_to_end),
        cmocka_unit_test(what_cannot_be_read_is_no_window),
        cmocka_unit_test(a_trial_had_the_whole_window_when_it_began_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
