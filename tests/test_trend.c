/* Change points of made-up series. The rates of false and missed ones are measured with many more
 * series by tests/bench/bench_series. */
#include "jobs/measure/trend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MOST 120

static uint64_t state_of_noise;

/* Roughly normal: the sum of twelve uniform numbers, by Knuth's MMIX generator. */
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        state_of_noise = state_of_noise * 6364136223846793005U + 1442695040888963407U;
        sum += (double)(state_of_noise >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* `count` speeds around 100, from `change` on around 100 * ratio. */
static void make(double *out, size_t count, size_t change, double ratio, double noise)
{
    for (size_t i = 0; i < count; i++)
        out[i] = 100 * (i < change ? 1 : ratio) * exp(noise * normal());
}

static void finds_a_step_where_it_is(void **state)
{
    (void)state;
    static const struct {
        size_t count, change;
        double ratio;
    } cases[] = {{16, 8, 0.8}, {20, 10, 1.25}, {40, 35, 0.8}, {40, 6, 1.3}, {100, 60, 0.9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double values[MOST];
        struct trend_change found[MOST];
        state_of_noise = i + 1;
        make(values, cases[i].count, cases[i].change, cases[i].ratio, 0.01);
        size_t count = trend_changes(values, cases[i].count, 1, found);
        assert_int_equal(count, 1);
        assert_int_equal(found[0].at, cases[i].change);
        assert_true(fabs(found[0].ratio / cases[i].ratio - 1) < 0.02);
        assert_true(found[0].p <= TREND_LEVEL);
    }
}

static void finds_several_steps_in_order(void **state)
{
    (void)state;
    double values[MOST];
    struct trend_change found[MOST];
    state_of_noise = 5;
    make(values, 60, 60, 1, 0.01);
    for (size_t i = 20; i < 40; i++)
        values[i] *= 0.7;
    assert_int_equal(trend_changes(values, 60, 1, found), 2);
    assert_int_equal(found[0].at, 20);
    assert_int_equal(found[1].at, 40);
    assert_true(fabs(found[0].ratio - 0.7) < 0.02);
    assert_true(fabs(found[1].ratio - 1 / 0.7) < 0.05);
}

static void one_slow_day_is_no_change(void **state)
{
    (void)state;
    double values[MOST];
    struct trend_change found[MOST];
    state_of_noise = 9;
    make(values, 30, 30, 1, 0.02);
    values[12] /= 3;
    assert_int_equal(trend_changes(values, 30, 1, found), 0);
}

static void a_series_that_is_too_short_or_flat_has_none(void **state)
{
    (void)state;
    double values[MOST];
    struct trend_change found[MOST];
    for (size_t count = 0; count < 6; count++) {
        make(values, count, count / 2, 0.5, 0);
        assert_int_equal(trend_changes(values, count, 1, found), 0);
    }
    make(values, 50, 50, 1, 0);
    assert_int_equal(trend_changes(values, 50, 1, found), 0);
    make(values, 6, 3, 0.5, 0.001); /* 20 arrangements cannot give p below 0.01 */
    assert_int_equal(trend_changes(values, 6, 1, found), 0);
}

static void the_same_series_gives_the_same_answer(void **state)
{
    (void)state;
    double values[MOST];
    struct trend_change first[MOST];
    struct trend_change second[MOST];
    state_of_noise = 11;
    make(values, 24, 12, 0.96, 0.03); /* a close call */
    size_t count = trend_changes(values, 24, 1, first);
    assert_int_equal(trend_changes(values, 24, 1, second), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(first[i].at, second[i].at);
        assert_true(first[i].p == second[i].p && first[i].ratio == second[i].ratio);
    }
}

/* 400 series of 20 points without a change: 1 % are cut on average, so more than 12 would be one in
 * a thousand, and the seed is fixed. With a step of 10 % under noise of 3 %: nearly all. */
static void false_and_missed_changes_are_rare(void **state)
{
    (void)state;
    int without = 0;
    int with = 0;
    state_of_noise = 2026;
    for (int i = 0; i < 400; i++) {
        double values[MOST];
        struct trend_change found[MOST];
        make(values, 20, 20, 1, 0.03);
        without += trend_changes(values, 20, 1, found) > 0;
    }
    for (int i = 0; i < 50; i++) {
        double values[MOST];
        struct trend_change found[MOST];
        make(values, 20, 10, 0.9, 0.03);
        with += trend_changes(values, 20, 1, found) > 0;
    }
    assert_in_range(without, 0, 12);
    assert_in_range(with, 47, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_step_where_it_is),
        cmocka_unit_test(finds_several_steps_in_order),
        cmocka_unit_test(one_slow_day_is_no_change),
        cmocka_unit_test(a_series_that_is_too_short_or_flat_has_none),
        cmocka_unit_test(the_same_series_gives_the_same_answer),
        cmocka_unit_test(false_and_missed_changes_are_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
