/* Maintenance windows and the time zones below them. libc's own time zones are the judge where
 * there are too many cases for a table; the tables were made with Python's zoneinfo. */
#include "jobs/measure/guards.h"
#include "jobs/timezone.h"
#include "jobs/window.h"
#include "server/buf.h"
#include "server/clock.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* --- windows ----------------------------------------------------------------------------- */

#define WINDOW(days, from, to, zone)                                                               \
    "{\"days\":[" days "],\"from\":\"" from "\",\"to\":\"" to "\",\"time_zone\":\"" zone "\"}"
#define BERLIN(days, from, to) WINDOW(days, from, to, "Europe/Berlin")
#define FRI "\"fri\""
#define SAT "\"sat\""
#define SUN "\"sun\""
#define DAILY "\"mon\",\"tue\",\"wed\",\"thu\"," FRI "," SAT "," SUN

static cJSON *parse(const char *text)
{
    cJSON *tree = NULL;
    struct err err;
    if (json_parse(text, strlen(text), &tree, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return tree;
}

struct window_case {
    const char *windows, *now;
    bool open;
    const char *change; /* NULL: none within eight days */
};

static void check_cases(const struct window_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool open = !cases[i].open;
        int64_t now_ms = 0, wanted_ms = 0, change_ms = -1;
        struct err err = {0};
        cJSON *windows = parse(cases[i].windows);
        assert_true(clock_parse(cases[i].now, &now_ms));
        assert_true(!cases[i].change || clock_parse(cases[i].change, &wanted_ms));
        assert_int_equal(window_state(windows, now_ms, &open, &change_ms, &err), 0);
        cJSON_Delete(windows);
        char text[CLOCK_TEXT_SIZE];
        if (open != cases[i].open || change_ms != wanted_ms)
            fail_msg("%s at %s: open %d until %s", cases[i].windows, cases[i].now, open,
                     clock_format(change_ms, text));
    }
}

static void no_windows_and_always_mean_open(void **state)
{
    (void)state;
    static const struct window_case cases[] = {
        {"\"always\"", "2026-06-06T00:00:00Z", true, NULL},
        {"[]", "2026-06-06T00:00:00Z", true, NULL},
        {"null", "2026-06-06T00:00:00Z", true, NULL},
    };
    bool open = false;
    int64_t change_ms = -1;
    check_cases(cases, COUNT(cases));
    assert_int_equal(window_state(NULL, 0, &open, &change_ms, NULL), 0);
    assert_true(open);
    assert_int_equal(change_ms, 0);
}

static void opens_on_its_days_from_and_until_the_minute(void **state)
{
    (void)state;
#define WEEKEND "[" BERLIN(SAT "," SUN, "01:00", "05:00") "]"
#define KATHMANDU "[" WINDOW("\"mon\"", "00:00", "06:00", "Asia/Kathmandu") "]"
    static const struct window_case cases[] = {
        {WEEKEND, "2026-06-05T22:59:59.999Z", false, "2026-06-05T23:00:00Z"},
        {WEEKEND, "2026-06-05T23:00:00Z", true, "2026-06-06T03:00:00Z"},
        {WEEKEND, "2026-06-06T02:59:59.999Z", true, "2026-06-06T03:00:00Z"},
        {WEEKEND, "2026-06-06T03:00:00Z", false, "2026-06-06T23:00:00Z"},
        {WEEKEND, "2026-06-07T03:00:00Z", false, "2026-06-12T23:00:00Z"},
        {WEEKEND, "2026-12-05T00:00:00Z", true, "2026-12-05T04:00:00Z"},
        {KATHMANDU, "2026-05-31T18:14:59Z", false, "2026-05-31T18:15:00Z"},
        {KATHMANDU, "2026-05-31T18:15:00Z", true, "2026-06-01T00:15:00Z"},
        {KATHMANDU, "2026-06-01T00:15:00Z", false, "2026-06-07T18:15:00Z"},
    };
    check_cases(cases, COUNT(cases));
}

static void a_window_over_midnight_belongs_to_the_day_it_opens(void **state)
{
    (void)state;
#define FRIDAY_NIGHT "[" BERLIN(FRI, "22:00", "02:00") "]"
#define SATURDAY "[" BERLIN(SAT, "00:00", "00:00") "]"
#define WHOLE_SATURDAY "[" BERLIN(SAT, "00:00", "24:00") "]"
#define TO_MIDNIGHT "[" BERLIN(SAT, "22:00", "24:00") "]"
#define FROM_TEN "[" BERLIN(SAT, "22:00", "22:00") "]"
    static const struct window_case cases[] = {
        {FRIDAY_NIGHT, "2026-06-04T23:00:00Z", false, "2026-06-05T20:00:00Z"},
        {FRIDAY_NIGHT, "2026-06-05T20:00:00Z", true, "2026-06-06T00:00:00Z"},
        {FRIDAY_NIGHT, "2026-06-05T23:00:00Z", true, "2026-06-06T00:00:00Z"},
        {FRIDAY_NIGHT, "2026-06-06T00:00:00Z", false, "2026-06-12T20:00:00Z"},
        {SATURDAY, "2026-06-05T21:59:59Z", false, "2026-06-05T22:00:00Z"},
        {SATURDAY, "2026-06-05T22:00:00Z", true, "2026-06-06T22:00:00Z"},
        {WHOLE_SATURDAY, "2026-06-05T21:59:59Z", false, "2026-06-05T22:00:00Z"},
        {WHOLE_SATURDAY, "2026-06-06T21:59:59Z", true, "2026-06-06T22:00:00Z"},
        {WHOLE_SATURDAY, "2026-06-06T22:00:00Z", false, "2026-06-12T22:00:00Z"},
        {TO_MIDNIGHT, "2026-06-06T20:00:00Z", true, "2026-06-06T22:00:00Z"},
        {FROM_TEN, "2026-06-07T19:59:59Z", true, "2026-06-07T20:00:00Z"},
        {FROM_TEN, "2026-06-07T20:00:00Z", false, "2026-06-13T20:00:00Z"},
    };
    check_cases(cases, COUNT(cases));
}

static void windows_that_touch_or_overlap_are_one(void **state)
{
    (void)state;
#define LATE BERLIN(SAT, "03:00", "05:00")
#define LONDON WINDOW(SAT, "00:00", "04:00", "Europe/London")
    static const struct window_case cases[] = {
        {"[" LATE "," BERLIN(SAT, "01:00", "03:00") "]", "2026-06-05T23:30:00Z", true,
         "2026-06-06T03:00:00Z"},
        {"[" BERLIN(SAT, "01:00", "03:00") "," LONDON "," LATE "]", "2026-06-06T00:30:00Z", true,
         "2026-06-06T03:00:00Z"},
        {"[" LATE "," LONDON "]", "2026-06-06T03:00:00Z", false, "2026-06-12T23:00:00Z"},
        {"[" BERLIN(DAILY, "00:00", "00:00") "]", "2026-06-06T03:00:00Z", true, NULL},
        {"[" BERLIN(DAILY, "02:30", "02:30") "]", "2026-03-28T03:00:00Z", true, NULL},
        {"[" BERLIN(DAILY, "02:30", "02:29") "]", "2026-06-06T03:00:00Z", true,
         "2026-06-07T00:29:00Z"},
    };
    check_cases(cases, COUNT(cases));
}

static void a_skipped_time_counts_from_the_end_of_the_gap(void **state)
{
    (void)state;
#define INTO_GAP "[" BERLIN(SUN, "01:00", "02:30") "]"
#define OUT_OF_GAP "[" BERLIN(SUN, "02:30", "04:00") "]"
#define INSIDE_GAP "[" BERLIN(SUN, "02:10", "02:50") "]"
#define APIA "[" WINDOW(FRI, "01:00", "05:00", "Pacific/Apia") "]"
    static const struct window_case cases[] = {
        {INTO_GAP, "2026-03-29T00:00:00Z", true, "2026-03-29T01:00:00Z"},
        {OUT_OF_GAP, "2026-03-29T00:59:59Z", false, "2026-03-29T01:00:00Z"},
        {OUT_OF_GAP, "2026-03-29T01:00:00Z", true, "2026-03-29T02:00:00Z"},
        {INSIDE_GAP, "2026-03-28T12:00:00Z", false, "2026-04-05T00:10:00Z"},
        {APIA, "2011-12-28T10:59:59.999Z", false, NULL}, /* that Friday did not exist there */
        {APIA, "2011-12-28T11:00:00Z", false, "2012-01-05T11:00:00Z"},
    };
    check_cases(cases, COUNT(cases));
}

static void a_time_that_comes_twice_opens_first_and_closes_last(void **state)
{
    (void)state;
#define IN_FOLD "[" BERLIN(SUN, "02:30", "02:45") "]"
    static const struct window_case cases[] = {
        {IN_FOLD, "2026-10-25T00:29:59Z", false, "2026-10-25T00:30:00Z"},
        {IN_FOLD, "2026-10-25T00:50:00Z", true, "2026-10-25T01:45:00Z"},
        {IN_FOLD, "2026-10-25T01:45:00Z", false, "2026-11-01T01:30:00Z"},
        {"[" BERLIN(SAT, "23:00", "02:30") "]", "2026-10-25T00:30:00Z", true,
         "2026-10-25T01:30:00Z"},
        /* past midnight, and 23:30 comes once more: clocks go from 00:01 to 23:01 */
        {"[" WINDOW(FRI, "23:30", "23:30", "America/St_Johns") "]", "2010-11-07T02:30:30Z", true,
         "2010-11-07T03:00:00Z"},
    };
    check_cases(cases, COUNT(cases));
}

static void what_cannot_be_read_is_an_error_and_not_open(void **state)
{
    (void)state;
    static const struct {
        const char *windows;
        enum err_code code;
    } cases[] = {
        {"[" WINDOW(SAT, "01:00", "05:00", "Europe/Atlantis") "]", ERR_SYSTEM},
        {"[" WINDOW(SAT, "01:00", "05:00", "../Berlin") "]", ERR_SYSTEM},
        {"[" BERLIN("\"Sat\"", "01:00", "05:00") "]", ERR_INPUT},
        {"[" BERLIN(SAT, "24:00", "05:00") "]", ERR_INPUT},
        {"[" BERLIN(SAT, "01:00", "05:60") "]", ERR_INPUT},
        {"[" BERLIN(SAT, "01:00", "24:01") "]", ERR_INPUT},
        {"[" BERLIN(SAT, "1:000", "05:00") "]", ERR_INPUT},
        {"[{}]", ERR_INPUT},
        {"[null]", ERR_INPUT},
        {"{}", ERR_INPUT},
        {"\"never\"", ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool open = false;
        int64_t change_ms = -1;
        struct err err = {0};
        cJSON *windows = parse(cases[i].windows);
        assert_int_equal(window_state(windows, 1780000000000, &open, &change_ms, &err), -1);
        cJSON_Delete(windows);
        assert_int_equal(err.code, cases[i].code);
        assert_false(open);
        assert_int_equal(change_ms, -1);
    }
}

static void each_unknown_time_zone_is_a_fault_of_its_own(void **state)
{
    (void)state;
    struct json_faults faults = {0};
    cJSON *windows =
        parse("[" WINDOW(SAT, "01:00", "05:00", "Mars/Base") "," LATE "," LATE ",{},1," WINDOW(
            SAT, "01:00", "05:00", "..") "]");
    window_check(windows, json_pointer("", "windows"), &faults);
    window_check(NULL, "/windows", &faults);
    assert_int_equal(faults.count, 2);
    assert_string_equal(faults.items[0].pointer, "/windows/0/time_zone");
    assert_string_equal(faults.items[0].detail, "this machine has no time zone Mars/Base");
    assert_string_equal(faults.items[1].pointer, "/windows/5/time_zone");
    json_faults_fini(&faults);
    cJSON_Delete(windows);
}

/* --- windows against a model that tries each minute, with libc's time zones ---------------- */

#define SCENARIOS 100
#define MOMENTS 100 /* of each scenario: 10,000 in all */
#define MODEL_MINUTES (18 * 1440)
#define FIRST_MINUTE (3 * 1440)   /* moments are taken from four days, so that what was open */
#define MOMENT_MINUTES (4 * 1440) /* before them and what changes after them is in the model */

static int64_t model_local[MODEL_MINUTES]; /* the zone's clock, minutes since 1970 */
static bool model_open[MODEL_MINUTES];

static uint64_t next_random(uint64_t below) /* splitmix64, so that each run is the same */
{
    static uint64_t seed = 20261201;
    uint64_t mixed = seed += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return (mixed ^ mixed >> 31) % below;
}

static long libc_offset_s(time_t utc)
{
    struct tm parts;
    return localtime_r(&utc, &parts)->tm_gmtoff;
}

/* The minute of the model at which the local time comes (first or last), or the gap over it ends.
 */
static int model_minute(int64_t local, bool last)
{
    int found = -1;
    for (int i = 0; i < MODEL_MINUTES && (last || found < 0); i++)
        if (model_local[i] == local)
            found = i;
    for (int i = 0; i < MODEL_MINUTES && found < 0; i++)
        if (model_local[i] > local)
            found = i;
    return found;
}

static void model_add(const char *zone, int64_t base_s, unsigned days, int from, int to)
{
    (void)setenv("TZ", zone, 1);
    tzset();
    for (int i = 0; i < MODEL_MINUTES; i++)
        model_local[i] = (base_s + i * 60 + libc_offset_s(base_s + i * 60)) / 60;
    int64_t today = model_local[0] / 1440;
    for (int64_t day = today + 1; day < today + 16; day++) {
        int close = model_minute(day * 1440 + to + (to > from ? 0 : 1440), true);
        for (int i = model_minute(day * 1440 + from, false); i < close; i++)
            model_open[i] |= days >> (day + 3) % 7 & 1;
    }
}

/* A random list of windows in JSON, and the same in the model. */
static void make_scenario(struct buf *json, int64_t *out_base_s)
{
    static const char *const zones[] = {
        "Europe/Berlin",  "America/New_York",  "Australia/Lord_Howe", "America/Sao_Paulo",
        "America/Havana", "Africa/Casablanca", "Pacific/Apia",        "Asia/Kathmandu",
        "Africa/Cairo",   "Europe/Dublin",     "Antarctica/Troll",    "UTC"};
    static const char *const names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    const char *zone = zones[next_random(COUNT(zones))];
    bool wants_change = next_random(4) > 0;
    (void)setenv("TZ", zone, 1);
    tzset();
    for (int tries = 0; tries < 300; tries++) { /* 2005..2044 */
        *out_base_s = (int64_t)(1104537600 + next_random(40 * 365) * 86400);
        if (!wants_change ||
            libc_offset_s(*out_base_s + 2 * 86400) != libc_offset_s(*out_base_s + 8 * 86400))
            break;
    }
    memset(model_open, 0, sizeof model_open);
    for (uint64_t left = 1 + next_random(3); left > 0; left--) {
        unsigned days = (unsigned)(1 + next_random(127));
        int from = (int)next_random(next_random(2) ? 240 : 1440);
        int to = next_random(8) ? (int)next_random(next_random(2) ? 240 : 1440) : from;
        model_add(zone, *out_base_s, days, from, to);
        buf_add(json, json->length ? ",{\"days\":[" : "[{\"days\":[");
        for (int i = 0, written = 0; i < 7; i++)
            if (days >> i & 1)
                buf_format(json, "%s\"%s\"", written++ ? "," : "", names[i]);
        buf_format(json, "],\"from\":\"%02d:%02d\",\"to\":\"%02d:%02d\",\"time_zone\":\"%s\"}",
                   from / 60, from % 60, to / 60, to % 60, zone);
        zone = next_random(2) ? zone : zones[next_random(COUNT(zones))];
    }
    buf_add(json, "]");
}

static void agrees_with_trying_each_minute(void **state)
{
    (void)state;
    for (int scenario = 0; scenario < SCENARIOS; scenario++) {
        struct buf json = {0};
        int64_t base_s = 0;
        make_scenario(&json, &base_s);
        cJSON *windows = parse(buf_text(&json));
        for (int moment = 0; moment < MOMENTS; moment++) {
            int minute = FIRST_MINUTE + (int)next_random(MOMENT_MINUTES);
            int64_t now_ms = (base_s + minute * 60) * 1000 + (int64_t)next_random(60000);
            int next = minute;
            while (next < MODEL_MINUTES && model_open[next] == model_open[minute])
                next++;
            int64_t wanted_ms = (base_s + next * 60) * 1000;
            if (wanted_ms > now_ms + 8 * 86400000LL)
                wanted_ms = 0;
            bool open = false;
            int64_t change_ms = -1;
            assert_int_equal(window_state(windows, now_ms, &open, &change_ms, NULL), 0);
            if (open != model_open[minute] || change_ms != wanted_ms)
                fail_msg("%s at %lld", buf_text(&json), (long long)now_ms);
        }
        cJSON_Delete(windows);
        buf_fini(&json);
    }
}

#define NIGHT_SCENARIOS 250
#define NIGHTS_EACH 40 /* 10,000 nights in all */
#define NIGHT_MINUTES 240

/* One night of one job on an instance with such windows. */
struct night {
    const cJSON *windows;
    int64_t base_s;
    int64_t now_ms;
    int64_t longest_ms; /* of its trials so far; -1 */
    int starts, stops, misfits;
};

static bool is_inside(const struct night *night, int64_t at_ms)
{
    int64_t minute = (at_ms / 1000 - night->base_s) / 60;
    if (minute < 0 || minute >= MODEL_MINUTES) {
        fail_msg("minute %lld is not in the model", (long long)minute);
        return false;
    }
    return model_open[minute];
}

static struct guards_answer ask_at(const struct night *night, enum guards_moment moment,
                                   struct guards_input *input)
{
    int64_t change_ms = 0;
    *input = GUARDS_INPUT;
    input->moment = moment;
    input->now_ms = night->now_ms;
    input->longest_ms = night->longest_ms;
    assert_int_equal(
        window_state(night->windows, night->now_ms, &input->window_open, &change_ms, NULL), 0);
    input->closes_at = input->window_open ? change_ms : 0;
    return guards_judge(input);
}

/* A trial from now on: it runs until its end, or until the window's, and not a tick longer. */
static void run_one(struct night *night, struct guards_input input)
{
    int64_t end_ms = night->now_ms + (int64_t)(1 + next_random(90 * 60)) * 1000;
    if (!is_inside(night, night->now_ms))
        fail_msg("started at %lld, outside of the window", (long long)night->now_ms);
    night->starts++;
    input.moment = GUARDS_RUNNING;
    int64_t last_ms = input.closes_at && input.closes_at < end_ms ? input.closes_at : end_ms;
    assert_true(is_inside(night, last_ms - 1));
    input.now_ms = last_ms - 1;
    assert_int_equal(guards_judge(&input).verdict, GUARDS_GO);
    if (last_ms < end_ms) { /* the hard stop, on the millisecond */
        input.now_ms = last_ms;
        assert_int_equal(guards_judge(&input).verdict, GUARDS_WAIT);
        assert_false(is_inside(night, last_ms));
        night->stops++;
    } else if (end_ms - night->now_ms > night->longest_ms) {
        night->longest_ms = end_ms - night->now_ms;
    }
    night->now_ms = last_ms;
}

/* Now and then somebody sets the clock, by an hour or a day. */
static void move_clock(struct night *night)
{
    static const int64_t jumps_s[] = {3600, -3600, 86400, -86400};
    int64_t first_ms = (night->base_s + (int64_t)FIRST_MINUTE * 60) * 1000;
    int64_t jump_ms = jumps_s[next_random(COUNT(jumps_s))] * 1000;
    if (next_random(20) == 0 && night->now_ms + jump_ms > first_ms) /* the model begins there */
        night->now_ms += jump_ms;
    night->now_ms += (int64_t)next_random(20 * 60) * 1000;
}

static void one_night(struct night *night)
{
    struct guards_input input;
    int64_t until_ms = night->now_ms + NIGHT_MINUTES * 60000;
    while (night->now_ms < until_ms) {
        struct guards_answer answer = ask_at(night, GUARDS_CLAIM, &input);
        assert_int_equal(answer.verdict == GUARDS_GO, is_inside(night, night->now_ms));
        if (answer.verdict == GUARDS_GO) { /* the clock may be set between claim and trial, too */
            if (next_random(50) == 0)
                move_clock(night);
            answer = ask_at(night, GUARDS_TRIAL, &input);
            night->misfits += answer.verdict != GUARDS_GO && is_inside(night, night->now_ms);
            if (answer.verdict == GUARDS_GO)
                run_one(night, input);
        }
        move_clock(night);
    }
}

static void ten_thousand_nights_start_nothing_outside(void **state)
{
    (void)state;
    struct night night = {0};
    int nights = 0;
    for (int scenario = 0; scenario < NIGHT_SCENARIOS; scenario++) {
        struct buf json = {0};
        make_scenario(&json, &night.base_s);
        cJSON *windows = parse(buf_text(&json));
        night.windows = windows;
        for (int i = 0; i < NIGHTS_EACH; i++, nights++) {
            int minute = FIRST_MINUTE + (int)next_random(MOMENT_MINUTES);
            night.now_ms = (night.base_s + minute * 60) * 1000;
            night.longest_ms = -1;
            one_night(&night);
        }
        cJSON_Delete(windows);
        buf_fini(&json);
    }
    print_message("%d nights: %d starts, 0 outside; %d stopped at the end of a window, %d not "
                  "begun since they would not fit\n",
                  nights, night.starts, night.stops, night.misfits);
    assert_true(night.starts > 1000 && night.stops > 100 && night.misfits > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_windows_and_always_mean_open),
        cmocka_unit_test(opens_on_its_days_from_and_until_the_minute),
        cmocka_unit_test(a_window_over_midnight_belongs_to_the_day_it_opens),
        cmocka_unit_test(windows_that_touch_or_overlap_are_one),
        cmocka_unit_test(a_skipped_time_counts_from_the_end_of_the_gap),
        cmocka_unit_test(a_time_that_comes_twice_opens_first_and_closes_last),
        cmocka_unit_test(what_cannot_be_read_is_an_error_and_not_open),
        cmocka_unit_test(each_unknown_time_zone_is_a_fault_of_its_own),
        cmocka_unit_test(agrees_with_trying_each_minute),
        cmocka_unit_test(ten_thousand_nights_start_nothing_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
