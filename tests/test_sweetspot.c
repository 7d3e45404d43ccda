#include "jobs/measure/sweetspot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define BLOCKS 5

/* A sweep over memory: rates with a small fixed ripple (0.2 %), so that a variance is known. */
static size_t points_of(const double *rates, size_t arms, int blocks, struct stats_point *out)
{
    static const double ripple[] = {1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.9985};
    size_t count = 0;
    for (int b = 0; b < blocks; b++)
        for (size_t a = 0; a < arms; a++)
            out[count++] =
                (struct stats_point){(int)a, b + 1, rates[a] * ripple[(a * 3 + (size_t)b * 5) % 7]};
    return count;
}

static struct sweetspot find(const double *rates, const double *memory, size_t arms,
                             const bool *eligible)
{
    struct stats_point points[64];
    struct sweetspot_arm settings[8];
    struct sweetspot spot;
    for (size_t a = 0; a < arms; a++)
        settings[a] = (struct sweetspot_arm){.eligible = !eligible || eligible[a],
                                             .is_default = a == 0,
                                             .memory_mib = memory[a],
                                             .cpu_s = NAN};
    size_t count = points_of(rates, arms, BLOCKS, points);
    sweetspot_find(points, count, settings, arms, 0.95, 0.02, &spot);
    return spot;
}

static const double memory[] = {NAN, 50, 100, 150, 300, 600};

static void the_knee_of_a_rising_curve_is_recommended(void **state)
{
    (void)state;
    static const double rates[] = {500, 850, 960, 992, 1000, 1001};
    struct sweetspot spot = find(rates, memory, 6, NULL);
    assert_int_equal(spot.arm, 3);
    assert_int_equal(spot.best, 5);
    assert_false(spot.keep_default);
    assert_false(spot.qualifies[2]);
    assert_true(spot.qualifies[3] && spot.qualifies[4] && spot.qualifies[5]);
    sweetspot_fini(&spot);
}

static void a_flat_curve_keeps_the_default(void **state)
{
    (void)state;
    static const double rates[] = {1000, 1003, 998, 1001, 1005, 1002};
    struct sweetspot spot = find(rates, memory, 6, NULL);
    assert_true(spot.keep_default);
    assert_int_equal(spot.arm, 0);
    sweetspot_fini(&spot);
}

static void a_falling_curve_keeps_the_default(void **state)
{
    (void)state;
    static const double rates[] = {1000, 950, 900, 850, 800, 750};
    struct sweetspot spot = find(rates, memory, 6, NULL);
    assert_true(spot.keep_default);
    assert_int_equal(spot.best, 0);
    assert_false(spot.qualifies[1]);
    sweetspot_fini(&spot);
}

static void a_failed_arm_is_never_recommended(void **state)
{
    (void)state;
    static const double rates[] = {500, 850, 960, 1000, 1000, 1001};
    static const bool eligible[] = {true, true, true, false, true, true};
    struct sweetspot spot = find(rates, memory, 6, eligible);
    assert_int_equal(spot.arm, 4);
    assert_false(spot.qualifies[3]);
    sweetspot_fini(&spot);

    static const bool none[6] = {false};
    spot = find(rates, memory, 6, none);
    assert_int_equal(spot.arm, -1);
    assert_int_equal(spot.best, -1);
    sweetspot_fini(&spot);
}

static void cpu_decides_between_arms_of_the_same_memory(void **state)
{
    (void)state;
    static const double rates[] = {1000, 1000, 1000};
    struct stats_point points[64];
    size_t count = points_of(rates, 3, BLOCKS, points);
    struct sweetspot_arm arms[] = {{.eligible = true, .memory_mib = 100, .cpu_s = 12},
                                   {.eligible = true, .memory_mib = 100, .cpu_s = 9},
                                   {.eligible = true, .memory_mib = 100, .cpu_s = NAN}};
    struct sweetspot spot;
    sweetspot_find(points, count, arms, 3, 0.95, 0.02, &spot);
    assert_int_equal(spot.arm, 1);
    sweetspot_fini(&spot);
}

static void one_block_with_differences_has_no_answer(void **state)
{
    (void)state;
    static const struct stats_point points[] = {{0, 1, 500}, {1, 1, 900}};
    struct sweetspot_arm arms[] = {{.eligible = true, .is_default = true, .memory_mib = NAN},
                                   {.eligible = true, .memory_mib = 50}};
    struct sweetspot spot;
    sweetspot_find(points, 2, arms, 2, 0.95, 0.02, &spot);
    assert_int_equal(spot.arm, -1);
    assert_int_equal(spot.best, 1);
    assert_false(spot.qualifies[0] || spot.qualifies[1]);
    sweetspot_fini(&spot);
}

static void no_data_have_no_answer(void **state)
{
    (void)state;
    struct sweetspot_arm arms[] = {{.eligible = true}};
    struct sweetspot spot;
    sweetspot_find(NULL, 0, arms, 1, 0.95, 0.02, &spot);
    assert_int_equal(spot.arm, -1);
    assert_int_equal(spot.best, -1);
    sweetspot_fini(&spot);
}

static void without_variance_the_tolerance_decides(void **state)
{
    (void)state;
    static const double rates[] = {500, 979, 981, 1000};
    struct stats_point points[12];
    struct sweetspot_arm arms[4];
    struct sweetspot spot;
    for (size_t i = 0; i < 12; i++)
        points[i] = (struct stats_point){(int)i % 4, 1 + (int)i / 4, rates[i % 4]};
    for (size_t a = 0; a < 4; a++)
        arms[a] = (struct sweetspot_arm){
            .eligible = true, .is_default = a == 0, .memory_mib = memory[a], .cpu_s = NAN};
    sweetspot_find(points, 12, arms, 4, 0.95, 0.02, &spot);
    assert_int_equal(spot.arm, 2);
    assert_false(spot.qualifies[1]);
    sweetspot_fini(&spot);
}

/* Twelve arms on 1 - 1 / (1 + x), none of them known well alone. */
static struct sweetspot find_on_curve(int series)
{
    static const double x[] = {1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
    static const double noise[] = {0.02, -0.015, 0.01, 0.0, -0.02, 0.015, -0.01, 0.005};
    struct stats_point points[12 * 10];
    struct sweetspot_arm arms[12];
    struct sweetspot spot;
    for (size_t i = 0; i < 120; i++) {
        size_t a = i % 12;
        size_t b = i / 12;
        double rate = x[a] / (x[a] + 1) * exp(noise[(a * 5 + b * 3 + a * b) % 8] * 2);
        points[i] = (struct stats_point){.arm = (int)a, .block = 1 + (int)b, .rate = rate};
    }
    for (size_t a = 0; a < 12; a++)
        arms[a] = (struct sweetspot_arm){
            .eligible = true, .memory_mib = x[a], .cpu_s = NAN, .series = series, .x = x[a]};
    sweetspot_find(points, 120, arms, 12, 0.95, 0.02, &spot);
    return spot;
}

static void the_curve_knows_more_than_its_arms(void **state)
{
    (void)state;
    struct sweetspot alone = find_on_curve(0);
    struct sweetspot together = find_on_curve(1);
    assert_true(alone.arm < together.arm); /* noise lets cheap ones pass */
    assert_in_range(together.arm, 8,
                    9); /* 48 is the cheapest within 2 % of 96, and 32 misses it by a hair */
    sweetspot_fini(&alone);
    sweetspot_fini(&together);
}

static void an_answer_is_settled_when_nothing_can_be_much_faster(void **state)
{
    (void)state;
    static const double clear[] = {500, 850, 999, 1000, 1000, 1001};
    static const double close[] = {500, 850, 981, 1000, 1000, 1001}; /* 2 % below, about */
    struct sweetspot spot = find(clear, memory, 6, NULL);
    assert_int_equal(spot.arm, 2);
    assert_true(spot.settled);
    sweetspot_fini(&spot);
    spot = find(close, memory, 6, NULL);
    assert_int_equal(spot.arm, 2);
    assert_false(spot.settled);
    sweetspot_fini(&spot);
}

static void the_front_holds_what_nothing_beats(void **state)
{
    (void)state;
    static const struct pareto_arm arms[] = {
        {true, 1000, 100, 10, 0},  /* fastest */
        {true, 900, 50, 8, 0},     /* cheaper */
        {true, 890, 60, 9, 0},     /* beaten by the second */
        {true, 1002, 300, 10, 0},  /* as fast as the first within a per cent, but dearer */
        {false, 2000, 10, 1, 0},   /* failed */
        {true, 700, NAN, 8.1, 0},  /* memory unknown: nobody is known to take no more */
        {true, 650, 20, 8.1, 0},   /* slower than that one, which may take more */
        {true, NAN, 1, 1, 0},      /* no data */
        {true, 500, 300, 30, 100}, /* beaten everywhere */
    };
    static const bool wanted[] = {true, true, false, false, false, true, true, false, false};
    bool front[9];
    sweetspot_pareto(arms, 9, front);
    for (size_t i = 0; i < 9; i++)
        if (front[i] != wanted[i])
            fail_msg("arm %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_knee_of_a_rising_curve_is_recommended),
        cmocka_unit_test(a_flat_curve_keeps_the_default),
        cmocka_unit_test(a_falling_curve_keeps_the_default),
        cmocka_unit_test(a_failed_arm_is_never_recommended),
        cmocka_unit_test(cpu_decides_between_arms_of_the_same_memory),
        cmocka_unit_test(one_block_with_differences_has_no_answer),
        cmocka_unit_test(no_data_have_no_answer),
        cmocka_unit_test(without_variance_the_tolerance_decides),
        cmocka_unit_test(the_curve_knows_more_than_its_arms),
        cmocka_unit_test(an_answer_is_settled_when_nothing_can_be_much_faster),
        cmocka_unit_test(the_front_holds_what_nothing_beats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
