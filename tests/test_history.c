/* Speeds from rows of msdb's backupset: what counts, what is left out, and the figures. */
#include "jobs/measure/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define MIB 1048576.0
#define ALL_TYPES                                                                                  \
    {                                                                                              \
        true, true, true                                                                           \
    }

static const struct history_filter everything = {
    .types = ALL_TYPES, .since_s = INT64_MIN, .confidence = 0.95};

/* A full backup of Sales, 100 MiB in 10 s, uncompressed. */
static struct history_row good_row(void)
{
    return (struct history_row){.database = "Sales",
                                .type = "D",
                                .name = "nightly",
                                .start = "2026-01-05 22:00:00",
                                .finish = "2026-01-05 22:00:10",
                                .zone = 4,
                                .size = 100 * MIB,
                                .compressed = 100 * MIB};
}

static cJSON *finish_of(const struct history_filter *filter, const struct history_row *rows,
                        size_t count)
{
    struct history *history = history_new(filter);
    for (size_t i = 0; i < count; i++)
        history_add(history, &rows[i]);
    cJSON *tree = history_finish(history);
    history_free(history);
    return tree;
}

static const cJSON *series_of(const cJSON *tree, int index)
{
    const cJSON *series = cJSON_GetArrayItem(json_member(tree, "history"), index);
    assert_non_null(series);
    return series;
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static double of_spread(const cJSON *series, const char *spread, const char *name)
{
    return number_of(json_member(series, spread), name);
}

static void expect_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-5 * fabs(expected)))
        fail_msg("%.9g instead of %.9g", value, expected);
}

static double excluded_for(const cJSON *tree, const char *reason)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(tree, "excluded")) {
        if (strcmp(cJSON_GetStringValue(json_member(item, "reason")), reason) == 0)
            return number_of(item, "n");
    }
    return 0;
}

/* --- figures ------------------------------------------------------------------------------- */

static void logical_and_device_rate_stand_apart_with_their_units(void **state)
{
    (void)state;
    struct history_row row = good_row();
    row.size = 3548 * MIB; /* seed 2: 3548 MiB in 77 s made a file of 790 MiB */
    row.compressed = 790 * MIB;
    row.finish = "2026-01-05 22:01:17";
    cJSON *tree = finish_of(&everything, &row, 1);
    const cJSON *series = series_of(tree, 0);
    assert_string_equal(cJSON_GetStringValue(json_member(series, "database")), "Sales");
    assert_string_equal(cJSON_GetStringValue(json_member(series, "type")), "full");
    expect_near(of_spread(series, "logical_mib_s", "median"), 3548.0 / 77);
    expect_near(of_spread(series, "device_mib_s", "median"), 790.0 / 77);
    expect_near(number_of(series, "ratio"), 3548.0 / 790);
    expect_near(of_spread(series, "logical_mib_s", "low"), 3548.0 / 78);
    expect_near(of_spread(series, "logical_mib_s", "high"), 3548.0 / 76);
    assert_true(cJSON_IsNull(json_member(series, "trend")));
    assert_string_equal(cJSON_GetStringValue(json_member(series, "first_at")),
                        "2026-01-05T21:00:00.000Z");
    cJSON_Delete(tree);
}

static void a_missing_compressed_size_means_uncompressed(void **state)
{
    (void)state;
    struct history_row row = good_row();
    row.compressed = NAN;
    cJSON *tree = finish_of(&everything, &row, 1);
    expect_near(number_of(series_of(tree, 0), "ratio"), 1);
    expect_near(of_spread(series_of(tree, 0), "device_mib_s", "median"), 10);
    cJSON_Delete(tree);
}

static void quantiles_lie_between_the_nearest_values(void **state)
{
    (void)state;
    struct history_row rows[41];
    for (size_t i = 0; i < COUNT(rows); i++) { /* 1 to 41 MiB/s, mixed up */
        rows[i] = good_row();
        rows[i].size = (double)(i * 17 % COUNT(rows) + 1) * 10 * MIB;
    }
    cJSON *tree = finish_of(&everything, rows, COUNT(rows));
    const cJSON *series = series_of(tree, 0);
    assert_int_equal(number_of(series, "n"), 41);
    expect_near(of_spread(series, "logical_mib_s", "median"), 21);
    expect_near(of_spread(series, "logical_mib_s", "p5"), 3);
    expect_near(of_spread(series, "logical_mib_s", "p95"), 39);
    cJSON_Delete(tree);
    tree = finish_of(&everything, rows, 2); /* 10 and 180 MiB in 10 s */
    expect_near(of_spread(series_of(tree, 0), "logical_mib_s", "median"), 9.5);
    expect_near(of_spread(series_of(tree, 0), "logical_mib_s", "p5"), 1 + 0.05 * 17);
    cJSON_Delete(tree);
}

static void databases_and_types_are_series_of_their_own_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *database, *type, *name;
    } wanted[] = {{"B", "D", "full"}, {"B", "I", "diff"}, {"B", "L", "log"}, {"a", "D", "full"}};
    struct history_row rows[] = {good_row(), good_row(), good_row(), good_row(), good_row()};
    for (size_t i = 0; i < COUNT(rows); i++) {
        rows[i].database = wanted[(i + 2) % 4].database;
        rows[i].type = wanted[(i + 2) % 4].type;
    }
    cJSON *tree = finish_of(&everything, rows, COUNT(rows));
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "history")), 4);
    for (int i = 0; i < 4; i++) {
        const cJSON *series = series_of(tree, i);
        assert_string_equal(cJSON_GetStringValue(json_member(series, "database")),
                            wanted[i].database);
        assert_string_equal(cJSON_GetStringValue(json_member(series, "type")), wanted[i].name);
        assert_int_equal(number_of(series, "n"), i == 2 ? 2 : 1);
    }
    cJSON_Delete(tree);
}

static void thousands_of_databases_are_kept_apart(void **state)
{
    (void)state;
    struct history *history = history_new(&everything);
    for (int i = 0; i < 6000; i++) {
        char name[16];
        struct history_row row = good_row();
        (void)snprintf(name, sizeof name, "db%d", i % 1500);
        row.database = name;
        history_add(history, &row);
    }
    cJSON *tree = history_finish(history);
    assert_int_equal(number_of(tree, "series"), 1500);
    assert_int_equal(number_of(tree, "rows"), 6000);
    assert_int_equal(number_of(series_of(tree, 1499), "n"), 4);
    cJSON_Delete(tree);
    history_free(history);
}

/* --- whole seconds ------------------------------------------------------------------------- */

/* domain.md 3.2: the seed's own runs of 1.421 s and 3.300 s. */
static void whole_seconds_make_short_backups_wrong_by_a_known_amount(void **state)
{
    (void)state;
    static const struct {
        double seconds, low, high;
    } cases[] = {{1.421, -0.2895, 0.421}, {3.300, -0.175, 0.1}, {2, 0, 0}, {0.4, -0.6, NAN}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double low;
        double high;
        history_rounding(cases[i].seconds, &low, &high);
        assert_true(fabs(low - cases[i].low) < 1e-9);
        assert_true(isnan(cases[i].high) ? isnan(high) : fabs(high - cases[i].high) < 1e-9);
    }
}

/* The seed's backup recorded as 1 s or 2 s: what it really was lies within both bands. */
static void the_error_band_holds_the_true_rate(void **state)
{
    (void)state;
    const double true_rate = 7529 * 8192 / MIB / 1.421;
    for (int seconds = 1; seconds <= 2; seconds++) {
        struct history_row row = good_row();
        row.size = row.compressed = 7529 * 8192;
        row.finish = seconds == 1 ? "2026-01-05 22:00:01" : "2026-01-05 22:00:02";
        cJSON *tree = finish_of(&everything, &row, 1);
        const cJSON *series = series_of(tree, 0);
        assert_true(of_spread(series, "logical_mib_s", "low") < true_rate);
        expect_near(of_spread(series, "logical_mib_s", "median"), true_rate * 1.421 / seconds);
        if (seconds == 1) /* it may have taken no time at all: unknown, not infinite */
            assert_true(cJSON_IsNull(json_member(json_member(series, "logical_mib_s"), "high")));
        else
            assert_true(of_spread(series, "logical_mib_s", "high") > true_rate);
        cJSON_Delete(tree);
    }
}

static void backups_within_a_second_are_unknown_and_counted_with_their_series(void **state)
{
    (void)state;
    struct history_row rows[] = {good_row(), good_row(), good_row()};
    rows[0].finish = rows[2].finish = rows[0].start;
    cJSON *tree = finish_of(&everything, rows, COUNT(rows));
    assert_int_equal(excluded_for(tree, "zero_seconds"), 2);
    assert_int_equal(number_of(series_of(tree, 0), "n"), 1);
    assert_int_equal(number_of(series_of(tree, 0), "zero_seconds"), 2);
    cJSON_Delete(tree);
}

/* --- what is left out ---------------------------------------------------------------------- */

static void own(struct history_row *row)
{
    row->name = "sweetspot:0193";
}
static void elsewhere(struct history_row *row)
{
    row->elsewhere = true;
}
static void snapshot(struct history_row *row)
{
    row->snapshot = true;
}
static void virtual_device(struct history_row *row)
{
    row->virtual_device = true;
}
static void nul(struct history_row *row)
{
    row->nul = true;
}
static void file_backup(struct history_row *row)
{
    row->type = "F";
}
static void copy_only(struct history_row *row)
{
    row->copy_only = true;
}
static void no_start(struct history_row *row)
{
    row->start = NULL;
}
static void no_finish(struct history_row *row)
{
    row->finish = NULL;
}
static void no_size(struct history_row *row)
{
    row->size = NAN;
}
static void empty(struct history_row *row)
{
    row->size = 0;
}
static void set_back(struct history_row *row)
{
    row->finish = "2026-01-05 21:59:59";
}
static void same_second(struct history_row *row)
{
    row->finish = row->start;
}

static void what_tells_no_speed_is_left_out_and_counted(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct history_row *row);
        const char *reason;
    } cases[] = {
        {own, "own"},
        {elsewhere, "other_server"},
        {snapshot, "virtual_device"},
        {virtual_device, "virtual_device"},
        {nul, "nul"},
        {file_backup, "partial"},
        {copy_only, "copy_only"},
        {no_start, "no_dates"},
        {no_finish, "no_dates"},
        {no_size, "no_size"},
        {empty, "no_size"},
        {set_back, "negative_duration"},
        {same_second, "zero_seconds"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct history_row rows[] = {good_row(), good_row(), good_row()};
        cases[i].change(&rows[1]);
        cJSON *tree = finish_of(&everything, rows, COUNT(rows));
        if (excluded_for(tree, cases[i].reason) < 1 ||
            cJSON_GetArraySize(json_member(tree, "excluded")) != 1 ||
            number_of(series_of(tree, 0), "n") < 2 || number_of(series_of(tree, 0), "n") > 2)
            fail_msg("case %zu: %s", i, cases[i].reason);
        expect_near(of_spread(series_of(tree, 0), "logical_mib_s", "median"), 10);
        cJSON_Delete(tree);
    }
}

static void nothing_that_counts_gives_no_series(void **state)
{
    (void)state;
    struct history_row row = good_row();
    row.nul = true;
    cJSON *tree = finish_of(&everything, &row, 1);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "history")), 0);
    assert_int_equal(excluded_for(tree, "nul"), 1);
    cJSON_Delete(tree);
    tree = finish_of(&everything, &row, 0);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "excluded")), 0);
    cJSON_Delete(tree);
}

static void what_was_not_asked_for_is_not_even_counted(void **state)
{
    (void)state;
    struct history_filter filter = {.types = {[HISTORY_FULL] = true}, .copy_only = true};
    filter.confidence = 0.95;
    filter.since_s = 1767646800; /* 2026-01-05T21:00:00Z: the first row begins then */
    struct history_row rows[] = {good_row(), good_row(), good_row(), good_row()};
    rows[1].type = "L";
    rows[2].start = "2026-01-05 21:59:59";
    rows[3].copy_only = true;
    cJSON *tree = finish_of(&filter, rows, COUNT(rows));
    assert_int_equal(number_of(series_of(tree, 0), "n"), 2);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "excluded")), 0);
    cJSON_Delete(tree);
}

/* --- clocks -------------------------------------------------------------------------------- */

/* Berlin, 2025-10-26: at 03:00 local time (UTC+2) the clock goes back to 02:00 (UTC+1). */
static void backups_next_to_a_change_of_the_offset_are_left_out(void **state)
{
    (void)state;
    struct history_row rows[5];
    for (size_t i = 0; i < COUNT(rows); i++)
        rows[i] = good_row();
    rows[0].start = "2025-10-25 01:00:00", rows[0].finish = "2025-10-25 01:00:10";
    rows[1].start = "2025-10-26 01:00:00", rows[1].finish = "2025-10-26 01:00:10";
    rows[2].start = "2025-10-26 01:50:00", rows[2].finish = "2025-10-26 02:20:00"; /* 90 min */
    rows[3].start = "2025-10-26 02:50:00", rows[3].finish = "2025-10-26 02:10:00"; /* 20 min */
    rows[4].start = "2025-10-27 01:00:00", rows[4].finish = "2025-10-27 01:00:10";
    rows[0].zone = rows[1].zone = 8;
    cJSON *tree = finish_of(&everything, rows, COUNT(rows));
    assert_int_equal(excluded_for(tree, "clock_changed"), 2); /* both neighbours of the change */
    assert_int_equal(excluded_for(tree, "negative_duration"), 1);
    assert_int_equal(number_of(series_of(tree, 0), "n"), 2);
    expect_near(of_spread(series_of(tree, 0), "logical_mib_s", "median"), 10);
    cJSON_Delete(tree);
}

static void unknown_offsets_and_other_servers_are_no_change(void **state)
{
    (void)state;
    struct history_row rows[] = {good_row(), good_row(), good_row(), good_row()};
    rows[1].zone = HISTORY_ZONE_UNKNOWN;
    rows[2].zone = -20;
    rows[2].elsewhere = true;
    cJSON *tree = finish_of(&everything, rows, COUNT(rows));
    assert_int_equal(excluded_for(tree, "clock_changed"), 0);
    assert_int_equal(number_of(series_of(tree, 0), "n"), 3);
    cJSON_Delete(tree);
}

static void a_row_without_an_offset_takes_the_servers_for_since(void **state)
{
    (void)state;
    struct history_filter filter = everything;
    struct history_row row = good_row(); /* 22:00 */
    row.zone = HISTORY_ZONE_UNKNOWN;
    filter.since_s = 1767646800; /* 21:00 UTC */
    filter.here_zone = 4;
    cJSON *tree = finish_of(&filter, &row, 1);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "history")), 1);
    cJSON_Delete(tree);
    filter.here_zone = 8; /* then it was 20:00 UTC */
    tree = finish_of(&filter, &row, 1);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "history")), 0);
    cJSON_Delete(tree);
}

static void dates_are_read_as_the_calendar_has_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {{"1970-01-01 00:00:00", 0},           {"1969-12-31 23:59:59", -1},
                {"2000-02-29 12:00:00", 951825600},   {"2024-02-29T23:59:59.997", 1709251199},
                {"2038-01-19 03:14:08", 2147483648},  {"1753-01-01 00:00:00", -6847804800},
                {"9999-12-31 23:59:59", 253402300799}};
    static const char *const bad[] = {"",
                                      "2024-02-29",
                                      "2024-13-01 00:00:00",
                                      "2024-00-01 00:00:00",
                                      "2024-01-01 24:00:00",
                                      "2024-01-01 00:60:00",
                                      "Jan  5 2026 10:00PM",
                                      "2024/01/01 00:00:00"};
    int64_t seconds = 7;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(history_read_time(good[i].text, &seconds));
        assert_true(seconds == good[i].seconds);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(history_read_time(bad[i], &seconds));
    assert_false(history_read_time(NULL, &seconds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logical_and_device_rate_stand_apart_with_their_units),
        cmocka_unit_test(a_missing_compressed_size_means_uncompressed),
        cmocka_unit_test(quantiles_lie_between_the_nearest_values),
        cmocka_unit_test(databases_and_types_are_series_of_their_own_in_order),
        cmocka_unit_test(thousands_of_databases_are_kept_apart),
        cmocka_unit_test(whole_seconds_make_short_backups_wrong_by_a_known_amount),
        cmocka_unit_test(the_error_band_holds_the_true_rate),
        cmocka_unit_test(backups_within_a_second_are_unknown_and_counted_with_their_series),
        cmocka_unit_test(what_tells_no_speed_is_left_out_and_counted),
        cmocka_unit_test(nothing_that_counts_gives_no_series),
        cmocka_unit_test(what_was_not_asked_for_is_not_even_counted),
        cmocka_unit_test(backups_next_to_a_change_of_the_offset_are_left_out),
        cmocka_unit_test(unknown_offsets_and_other_servers_are_no_change),
        cmocka_unit_test(a_row_without_an_offset_takes_the_servers_for_since),
        cmocka_unit_test(dates_are_read_as_the_calendar_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
