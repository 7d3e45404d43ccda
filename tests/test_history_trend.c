/* How backup speeds change over months, from rows of msdb's backupset. */
#include "jobs/measure/history.h"
#include "server/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static const cJSON *trend_of(const cJSON *tree)
{
    const cJSON *trend = json_member(cJSON_GetArrayItem(json_member(tree, "history"), 0), "trend");
    assert_non_null(trend);
    return trend;
}

/* One backup each `minutes`, whose speed changes by `percent` a month; every fifth is far out. */
static cJSON *with_trend(int count, int64_t minutes, double percent, bool outliers)
{
    static const struct history_filter filter = {
        .types = {true, true, true}, .since_s = INT64_MIN, .confidence = 0.95};
    struct history *history = history_new(&filter);
    for (int i = 0; i < count; i++) {
        char start[CLOCK_TEXT_SIZE];
        char finish[CLOCK_TEXT_SIZE];
        int64_t at_ms = INT64_C(1767650400000) + i * minutes * 60000;
        double months = (double)(i * minutes) / (30.4375 * 1440);
        struct history_row row = {.database = "Sales", .type = "D", .compressed = NAN};
        row.start = clock_format(at_ms, start);
        row.finish = clock_format(at_ms + 100000, finish);
        row.size = 1e10 * exp(months * log1p(percent / 100)) * (1 + 0.01 * ((i * 7 % 11) - 5) / 5);
        if (outliers && i % 5 == 2)
            row.size /= 20;
        history_add(history, &row);
    }
    cJSON *tree = history_finish(history);
    history_free(history);
    return tree;
}

static void the_trend_is_the_change_a_month_whatever_single_backups_do(void **state)
{
    (void)state;
    static const struct {
        int count;
        int64_t minutes;
        double percent;
    } cases[] = {{40, 1440, -3}, {365, 1440, 2}, {4000, 60, 0.5}, {20, 1440 * 7, 10}};
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        size_t at = i / 2;
        cJSON *tree = with_trend(cases[at].count, cases[at].minutes, cases[at].percent, i % 2);
        const cJSON *trend = trend_of(tree);
        double percent = number_of(trend, "percent_per_month");
        double low = number_of(trend, "low");
        double high = number_of(trend, "high");
        if (!(fabs(percent - cases[at].percent) < 0.7) || !(low <= percent && percent <= high) ||
            !(low <= cases[at].percent && cases[at].percent <= high) ||
            (i % 2 == 0 && high - low > 4))
            fail_msg("case %zu: %g (%g to %g)", i, percent, low, high);
        assert_true(fabs(number_of(trend, "level") - 0.95) < 1e-9);
        cJSON_Delete(tree);
    }
}

static void too_few_backups_or_too_short_a_time_have_no_trend(void **state)
{
    (void)state;
    static const struct {
        int count;
        int64_t minutes;
    } cases[] = {{9, 1440 * 30}, {1000, 15}, {27, 1440}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        cJSON *tree = with_trend(cases[i].count, cases[i].minutes, 5, false);
        assert_true(cJSON_IsNull(trend_of(tree)));
        cJSON_Delete(tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trend_is_the_change_a_month_whatever_single_backups_do),
        cmocka_unit_test(too_few_backups_or_too_short_a_time_have_no_trend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
