/* Time zones, below maintenance windows. libc's own time zones are the judge where
 * there are too many cases for a table; the tables were made with Python's zoneinfo. */
#include "jobs/timezone.h"
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

static int64_t seconds_of(const char *text)
{
    int64_t ms = 0;
    if (!clock_parse(text, &ms))
        fail_msg("not a time: %s", text);
    return ms / 1000;
}

static struct zone *open_zone(const char *name)
{
    struct zone *zone = NULL;
    struct err err;
    if (timezone_open(name, &zone, &err) < 0)
        fail_msg("%s (these tests need tzdata)", err.msg);
    return zone;
}

static void knows_the_offset_before_and_at_a_moment(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *utc;
        int before_s, at_s;
    } cases[] = {
        {"Europe/Berlin", "1995-09-24T01:00:00Z", 7200, 3600},
        {"Europe/Berlin", "2026-03-29T01:00:00Z", 3600, 7200},
        {"Europe/Berlin", "2026-10-25T01:00:00Z", 7200, 3600},
        {"Europe/Berlin", "2027-03-28T01:00:00Z", 3600, 7200},
        {"Europe/Berlin", "2027-10-31T01:00:00Z", 7200, 3600},
        {"Europe/Berlin", "2060-07-01T00:00:00Z", 7200, 7200},
        {"America/New_York", "2006-03-12T07:00:00Z", -18000, -18000},
        {"America/New_York", "2006-04-02T07:00:00Z", -18000, -14400},
        {"America/New_York", "2026-03-08T07:00:00Z", -18000, -14400},
        {"America/New_York", "2026-11-01T06:00:00Z", -14400, -18000},
        {"Asia/Kathmandu", "1985-12-31T18:30:00Z", 19800, 20700},
        {"Asia/Kathmandu", "2059-06-01T00:00:00Z", 20700, 20700},
        {"Australia/Lord_Howe", "2026-04-04T15:00:00Z", 39600, 37800},
        {"Australia/Lord_Howe", "2026-10-03T15:30:00Z", 37800, 39600},
        {"America/Sao_Paulo", "2018-11-04T03:00:00Z", -10800, -7200},
        {"America/Sao_Paulo", "2019-02-17T02:00:00Z", -7200, -10800},
        {"America/Sao_Paulo", "2026-12-25T00:00:00Z", -10800, -10800},
        {"Africa/Casablanca", "2019-05-05T02:00:00Z", 3600, 0},
        {"Africa/Casablanca", "2019-06-09T02:00:00Z", 0, 3600},
        {"Pacific/Apia", "2011-12-30T10:00:00Z", -36000, 50400},
        {"Europe/Dublin", "2050-12-01T00:00:00Z", 0, 0},
        {"UTC", "2026-07-01T00:00:00Z", 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct zone *zone = open_zone(cases[i].zone);
        int before_s = timezone_offset(zone, seconds_of(cases[i].utc) - 1);
        int at_s = timezone_offset(zone, seconds_of(cases[i].utc));
        timezone_close(zone);
        if (before_s != cases[i].before_s || at_s != cases[i].at_s)
            fail_msg("%s at %s: %d, %d", cases[i].zone, cases[i].utc, before_s, at_s);
    }
}

static void finds_the_moments_of_a_local_time(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *local;
        const char *first, *last; /* last: NULL when there is one only */
    } cases[] = {
        {"Europe/Berlin", "2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z", NULL},
        {"Europe/Berlin", "2026-03-29T02:00:00Z", "2026-03-29T01:00:00Z", NULL}, /* a gap */
        {"Europe/Berlin", "2026-03-29T02:59:59Z", "2026-03-29T01:00:00Z", NULL},
        {"Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z", NULL},
        {"Europe/Berlin", "2059-03-30T02:30:00Z", "2059-03-30T01:00:00Z", NULL},
        {"Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:30:00Z", NULL},
        {"America/Sao_Paulo", "2018-11-04T00:30:00Z", "2018-11-04T03:00:00Z", NULL},
        {"Pacific/Apia", "2011-12-29T23:59:59Z", "2011-12-30T09:59:59Z", NULL},
        {"Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z", NULL},
        {"Asia/Kathmandu", "2026-05-05T05:45:00Z", "2026-05-05T00:00:00Z", NULL},
        {"UTC", "2026-05-05T05:45:00Z", "2026-05-05T05:45:00Z", NULL},
        {"Europe/Berlin", "2026-10-25T01:59:59Z", "2026-10-24T23:59:59Z", NULL},
        {"Europe/Berlin", "2026-10-25T02:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
        {"Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z", NULL},
        {"Europe/Berlin", "2027-10-31T02:59:59Z", "2027-10-31T00:59:59Z", "2027-10-31T01:59:59Z"},
        {"Europe/Dublin", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
        {"America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00Z",
         "2026-11-01T06:30:00Z"},
        {"Australia/Lord_Howe", "2026-04-05T01:45:00Z", "2026-04-04T14:45:00Z",
         "2026-04-04T15:15:00Z"},
        {"Africa/Casablanca", "2019-05-05T02:30:00Z", "2019-05-05T01:30:00Z",
         "2019-05-05T02:30:00Z"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct zone *zone = open_zone(cases[i].zone);
        int64_t local_s = seconds_of(cases[i].local);
        int64_t first_s = timezone_to_utc(zone, local_s, TIMEZONE_FIRST);
        int64_t last_s = timezone_to_utc(zone, local_s, TIMEZONE_LAST);
        const char *last = cases[i].last ? cases[i].last : cases[i].first;
        timezone_close(zone);
        if (first_s != seconds_of(cases[i].first) || last_s != seconds_of(last))
            fail_msg("%s: %s", cases[i].zone, cases[i].local);
    }
}

static void names_that_leave_the_directory_or_name_no_zone_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum err_code code;
    } cases[] = {
        {"", ERR_INPUT},
        {"/etc/localtime", ERR_INPUT},
        {"../zoneinfo/Europe/Berlin", ERR_INPUT},
        {"Europe/../Europe/Berlin", ERR_INPUT},
        {"zone.tab", ERR_INPUT},
        {"Europe/Berlin ", ERR_INPUT},
        {"Europe/Z\xc3\xbcrich", ERR_INPUT},
        {"A/name/that/is/so/long/that/no/zone/of/this/world/will/ever/have/it", ERR_INPUT},
        {"Europe", ERR_NOT_FOUND},
        {"Europe/Atlantis", ERR_NOT_FOUND},
        {"Europe/Berlin/Mitte", ERR_NOT_FOUND},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct zone *zone = NULL;
        struct err err = {0};
        assert_int_equal(timezone_open(cases[i].name, &zone, &err), -1);
        assert_null(zone);
        if (err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].name, err.msg);
    }
    timezone_close(NULL);
}

/* A TZif file whose only content is its rule. */
static void write_tzif(struct buf *buf, const char *rule)
{
    static const char header[44] = {'T', 'Z', 'i', 'f', '2', [39] = 1, [43] = 1}; /* type, text */
    static const char data[7] = {0};
    for (int part = 0; part < 2; part++) {
        buf_add_bytes(buf, header, sizeof header);
        buf_add_bytes(buf, data, sizeof data);
    }
    buf_format(buf, "\n%s\n", rule);
}

static void follows_the_rule_after_the_last_moment_as_libc_does(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "UTC0",
        "<+0530>-5:30",
        "<-00>+0:00:01",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "EST5EDT4,M3.2.0/02:00:00,M11.1.0",
        "IST-1GMT0,M10.5.0,M3.5.0/1",      /* Dublin: winter time is the daylight saving */
        "IST-2IDT,M3.4.4/26,M10.5.0",      /* Jerusalem: the day after that Thursday */
        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", /* Nuuk: the evening before */
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "NZST-12NZDT,J274,J60/2:45:30", /* 1 March in leap years, too */
        "AAA-1BBB,M2.1.2,M2.5.2",       /* Tuesdays, in 2028 the 1st and the 29th */
        "AAA-1BBB,59,300/1",            /* 29 February in leap years */
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        struct buf buf = {0};
        struct zone *zone = NULL;
        write_tzif(&buf, rules[i]);
        assert_int_equal(timezone_parse(buf.data, buf.length, &zone, NULL), 0);
        (void)setenv("TZ", rules[i], 1);
        tzset();
        for (time_t utc = 1767225600; utc < 1767225600 + 1500 * 86400L; utc += 1800) {
            struct tm parts;
            if (timezone_offset(zone, utc) != localtime_r(&utc, &parts)->tm_gmtoff)
                fail_msg("%s at %lld", rules[i], (long long)utc);
        }
        timezone_close(zone);
        buf_fini(&buf);
    }
}

static void a_rule_can_be_daylight_saving_time_all_year(void **state)
{
    (void)state;
    struct buf buf = {0};
    struct zone *zone = NULL;
    write_tzif(&buf, "XXX3EDT4,0/0,J365/23"); /* RFC 9636, 3.3.2; libc errs about it */
    assert_int_equal(timezone_parse(buf.data, buf.length, &zone, NULL), 0);
    for (int64_t utc_s = 1767225600; utc_s < 1767225600 + 1500 * 86400L; utc_s += 1800)
        assert_int_equal(timezone_offset(zone, utc_s), -4 * 3600);
    timezone_close(zone);
    buf_fini(&buf);
}

static void rules_that_are_none_are_refused(void **state)
{
    (void)state;
    /* clang-format off */
    static const char *const rules[] = {
        "E5", "EST", "EST25", "EST5:60", "EST-", "EST99999999999999999999", "<+01-1", "<+0:1>-1",
        "EST5x", "EST5EDT", "EST5EDT,", "EST5EDT,M3.2.0", "EST5EDT,M3.2.0,M11.1.0,",
        "EST5EDT,M3.2.0,M11.1.0/", "EST5EDT,M0.2.0,M11.1.0", "EST5EDT,M13.2.0,M11.1.0",
        "EST5EDT,M3.0.0,M11.1.0", "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0",
        "EST5EDT,M3.2,M11.1.0", "EST5EDT,J0,J300", "EST5EDT,J60,J366", "EST5EDT,60,366",
        "EST5EDT,M3.2.0/168,M11.1.0", "EST5EDT,M3.2.0/-168,M11.1.0", "EST5EDT,-1,5",
        "<A>0", "<AB>0", "<>0", /* three characters at least */
        ("<0123456789012345678901234567890123456789012345678901234567890123456789"
         "012345678901234567890123456789012345678901234567890123456789>0"), /* longer than we take */
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(rules); i++) {
        struct buf buf = {0};
        struct zone *zone = NULL;
        struct err err = {0};
        write_tzif(&buf, rules[i]);
        if (timezone_parse(buf.data, buf.length, &zone, &err) == 0)
            fail_msg("taken: %s", rules[i]);
        assert_int_equal(err.code, ERR_SYSTEM);
        buf_fini(&buf);
    }
}

/* Parses a copy that ends where its memory ends, so that the sanitizer sees any step beyond. */
static int parse_copy(const char *bytes, size_t length)
{
    struct zone *zone = NULL;
    char *copy = mem_alloc(length, 1);
    memcpy(copy, bytes, length);
    int rc = timezone_parse(copy, length, &zone, NULL);
    free(copy);
    for (int64_t utc_s = -5000000000; zone && utc_s < 5000000000; utc_s += 999999999) {
        int offset_s = timezone_offset(zone, utc_s);
        int64_t back_s = timezone_to_utc(zone, utc_s, TIMEZONE_LAST);
        assert_in_range(offset_s + 90000, 1, 90000 + 93599);
        assert_true(back_s >= timezone_to_utc(zone, utc_s, TIMEZONE_FIRST));
        assert_true(utc_s - back_s > -90000 && utc_s - back_s < 93600);
    }
    for (int far = 0; zone && far < 2; far++) {
        int64_t end_s = far ? INT64_MAX : INT64_MIN;
        (void)(timezone_offset(zone, end_s) + timezone_to_utc(zone, end_s, TIMEZONE_FIRST));
    }
    timezone_close(zone);
    return rc;
}

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    static char bytes[64 << 10];
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    assert_int_equal(parse_copy(bytes, length), 0);
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(parse_copy(bytes, cut), -1);
    for (size_t at = 0; at < length * 8; at++) {
        bytes[at / 8] = (char)(bytes[at / 8] ^ 1 << at % 8);
        (void)parse_copy(bytes, length); /* some changes are as good as the original */
        bytes[at / 8] = (char)(bytes[at / 8] ^ 1 << at % 8);
    }
    for (size_t at = 20; at < 44; at += 4) { /* the counts of the first header */
        char kept[4];
        memcpy(kept, bytes + at, 4);
        memset(bytes + at, 0xFF, 4);
        assert_int_equal(parse_copy(bytes, length), -1);
        memcpy(bytes + at, kept, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_offset_before_and_at_a_moment),
        cmocka_unit_test(finds_the_moments_of_a_local_time),
        cmocka_unit_test(names_that_leave_the_directory_or_name_no_zone_are_refused),
        cmocka_unit_test(follows_the_rule_after_the_last_moment_as_libc_does),
        cmocka_unit_test(a_rule_can_be_daylight_saving_time_all_year),
        cmocka_unit_test(rules_that_are_none_are_refused),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
