/* Reference values come from R 4.2.2; the command stands above each table. */
#include "jobs/measure/model.h"
#include "jobs/measure/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void assert_near(double value, double wanted, double relative)
{
    if (fabs(value - wanted) <= relative * fabs(wanted))
        return;
    print_error("%.17g is not near %.17g\n", value, wanted);
    fail();
}

/* --- Student's t ---------------------------------------------------------------------------- */

static void tails_of_t_agree_with_r(void **state)
{
    (void)state;
    static const struct {
        double t, freedom, tail;
    } cases[] = {
        /* pt(t, v, lower.tail = FALSE) */
        {0, 4, 0.5},
        {0.5, 1, 0.352416382349567},
        {1, 1, 0.25},
        {60, 1, 0.00530467363262327},
        {2.776, 2, 0.0544818668054136},
        {60, 2, 0.000138831045297339},
        {0.5, 4, 0.321664981590932},
        {2.776, 4, 0.0250113891599882},
        {12, 4, 0.000138214274251487},
        {60, 4, 2.31053436381757e-07},
        {5, 9, 0.000369483954901621},
        {60, 9, 2.50059523583645e-13},
        {1, 18, 0.165282465639092},
        {12, 18, 2.52325555128183e-10},
        {2.776, 44, 0.0040259177714635},
        {60, 44, 3.80604353765385e-44},
        {0.5, 200, 0.30881237615823},
        {60, 200, 3.85578929202826e-130},
        {1, 2.5, 0.202030513639137},
        {12, 2.5, 0.00141810751503916},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_near(stats_t_tail(cases[i].t, cases[i].freedom), cases[i].tail, 1e-10);
        assert_near(stats_t_tail(-cases[i].t, cases[i].freedom), 1 - cases[i].tail, 1e-10);
    }
    assert_true(stats_t_tail(INFINITY, 4) == 0);
    assert_true(isnan(stats_t_tail(NAN, 4)));
    assert_true(isnan(stats_t_tail(1, 0)));
}

static void quantiles_of_t_agree_with_r(void **state)
{
    (void)state;
    static const struct {
        double p, freedom, t;
    } cases[] = {
        /* qt(p, v) */
        {0.6, 1, 0.324919696232906},    {0.975, 1, 12.7062047361747},
        {0.9995, 1, 636.61924876879},   {0.95, 2, 2.91998558035372},
        {0.9995, 2, 31.5990545764454},  {0.975, 4, 2.77644510519779},
        {0.025, 4, -2.77644510519779},  {0.95, 9, 1.83311293265624},
        {0.975, 9, 2.2621571627982},    {0.6, 44, 0.254884377033739},
        {0.95, 44, 1.68022997657212},   {0.9995, 44, 3.52580130648721},
        {0.975, 2.5, 3.57465484200369}, {0.025, 2.5, -3.57465484200369},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_near(stats_t_quantile(cases[i].p, cases[i].freedom), cases[i].t, 1e-10);
    assert_true(isnan(stats_t_quantile(0, 4)));
    assert_true(isnan(stats_t_quantile(1, 4)));
    assert_true(isnan(stats_t_quantile(0.9, 0)));
}

static void tails_of_f_agree_with_r(void **state)
{
    (void)state;
    static const struct {
        double f, above, below, tail;
    } cases[] = {
        /* pf(f, v, w, lower.tail = FALSE) */
        {1, 1, 1, 0.5},
        {4.2, 3, 12, 0.0301020775752666},
        {0.3, 9, 99, 0.973156565119072},
        {2.5, 9, 44, 0.0209698322370153},
        {30, 2, 4, 0.00390625},
        {1.9, 8, 2.5, 0.352872738310775},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_near(stats_f_tail(cases[i].f, cases[i].above, cases[i].below), cases[i].tail, 1e-10);
    assert_true(stats_f_tail(0, 3, 12) == 1);
    assert_true(stats_f_tail(INFINITY, 3, 12) == 0);
    assert_true(isnan(stats_f_tail(NAN, 3, 12)));
    assert_true(isnan(stats_f_tail(1, 0, 12)));
}

/* --- one arm --------------------------------------------------------------------------------- */

static void a_median_of_an_odd_number_is_an_observed_run(void **state)
{
    (void)state;
    /* x <- c(77.311, 81.606, 48.177, 50.774, 24.472, 24.625, 30.1); median(x); mean(x); sd(x) */
    static const double seconds[] = {77.311, 81.606, 48.177, 50.774, 24.472, 24.625, 30.1};
    struct stats_summary summary;
    stats_summarise(seconds, COUNT(seconds), 0.95, &summary);
    assert_int_equal(summary.n, 7);
    assert_true(summary.median == 48.177);
    assert_near(summary.mean, 48.1521428571429, 1e-12);
    assert_near(summary.stdev, 23.8622077033159, 1e-12);
    assert_true(summary.min == 24.472 && summary.max == 81.606);
    assert_true(summary.low == 24.472 && summary.high == 81.606);
    assert_near(summary.level, 0.984375, 1e-12);
}

static void the_interval_of_a_median_says_its_real_level(void **state)
{
    (void)state;
    static const struct {
        size_t n, cut;
        double wanted, level;
    } cases[] = {
        /* 1 - 2 * pbinom(cut, n, 0.5) with the largest cut whose level is at least `wanted` */
        {2, 0, 0.95, 0.5},
        {3, 0, 0.95, 0.75},
        {5, 0, 0.95, 0.9375},
        {6, 0, 0.95, 0.96875},
        {8, 0, 0.95, 0.9921875},
        {9, 1, 0.95, 0.9609375},
        {10, 1, 0.95, 0.978515625},
        {15, 3, 0.95, 0.96484375},
        {20, 5, 0.95, 0.958610534667969},
        {50, 17, 0.95, 0.967160862435731},
        {100, 39, 0.95, 0.964799799782295},
        {10, 2, 0.8, 0.890625},
        {5, 1, 0.5, 0.625},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double values[100];
        struct stats_summary summary;
        for (size_t j = 0; j < cases[i].n; j++)
            values[cases[i].n - 1 - j] = (double)j;
        stats_summarise(values, cases[i].n, cases[i].wanted, &summary);
        assert_near(summary.level, cases[i].level, 1e-12);
        assert_true(summary.low == (double)cases[i].cut);
        assert_true(summary.high == (double)(cases[i].n - 1 - cases[i].cut));
    }
}

static void what_cannot_be_known_of_few_runs_is_nan(void **state)
{
    (void)state;
    static const double one[] = {812.5};
    struct stats_summary summary;
    stats_summarise(one, 1, 0.95, &summary);
    assert_true(summary.median == 812.5 && summary.mean == 812.5);
    assert_true(isnan(summary.low) && isnan(summary.high) && isnan(summary.level));
    assert_true(isnan(summary.stdev));
    stats_summarise(NULL, 0, 0.95, &summary);
    assert_int_equal(summary.n, 0);
    assert_true(isnan(summary.median) && isnan(summary.mean) && isnan(summary.min));
}

/* --- comparisons ------------------------------------------------------------------------------ */

/* b, a, c of the R commands below. */
static const struct stats_point three_arms[] = {
    {0, 1, 812.4},  {0, 2, 799.1},  {0, 3, 820.3},  {0, 4, 805.5},  {0, 5, 811.0},
    {1, 1, 1490.2}, {1, 2, 1477.7}, {1, 3, 1502.9}, {1, 4, 1499.1}, {1, 5, 1481.4},
    {2, 1, 825.9},  {2, 2, 818.3},  {2, 3, 826.6},  {2, 4, 812.2},  {2, 5, 835.1},
};

static void two_arms_are_the_paired_t_test(void **state)
{
    (void)state;
    /* r <- t.test(log(a), log(b), paired = TRUE); exp(c(r$estimate, r$conf.int)); r$p.value */
    static const int against[] = {0, 0};
    struct stats_comparison found[2];
    assert_int_equal(stats_compare(three_arms, 10, against, 2, 0.95, 0.02, found), 1);
    assert_int_equal(found[0].arm, 1);
    assert_int_equal(found[0].against, 0);
    assert_int_equal(found[0].pairs, 5);
    assert_near(found[0].ratio, 1.84063103779, 1e-11);
    assert_near(found[0].low, 1.82319087387, 1e-11);
    assert_near(found[0].high, 1.85823802973, 1e-11);
    assert_near(found[0].p, 5.98512406239e-09, 1e-9);
    assert_near(found[0].level, 0.95, 1e-12);
    assert_int_equal(found[0].verdict, VERDICT_FASTER);
}

static void several_arms_share_one_variance(void **state)
{
    (void)state;
    /* m <- lm(log(y) ~ arm + blk); exp(coef(m)); exp(confint(m)); p.adjust(p, "holm") */
    static const int against[] = {0, 0, 0};
    struct stats_comparison found[3];
    assert_int_equal(stats_compare(three_arms, 15, against, 3, 0.95, 0.02, found), 2);
    assert_near(found[0].ratio, 1.84063103779, 1e-11);
    assert_near(found[0].low, 1.82011464841, 1e-11);
    assert_near(found[0].high, 1.86137868856, 1e-11);
    assert_near(found[0].p, 3.62948123604e-14, 1e-6);
    assert_near(found[1].ratio, 1.0172351211, 1e-11);
    assert_near(found[1].low, 1.00589662283, 1e-11);
    assert_near(found[1].high, 1.02870142728, 1e-11);
    assert_near(found[1].p, 0.00789722863182, 1e-9);
    /* surely faster, but by less than the tolerance, and perhaps by more: not decided */
    assert_int_equal(found[1].verdict, VERDICT_INCONCLUSIVE);
}

static void holes_leave_the_model_right(void **state)
{
    (void)state;
    /* m2 <- lm(log(y) ~ arm + blk, subset = !((arm==1 & blk==2) | (arm==2 & blk %in% c(1,5)))) */
    struct stats_point points[15];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(three_arms); i++) {
        const struct stats_point *point = &three_arms[i];
        bool hole = (point->arm == 1 && point->block == 2) ||
                    (point->arm == 2 && (point->block == 1 || point->block == 5));
        if (!hole)
            points[count++] = *point;
    }
    struct model model;
    model_fit(points, count, 3, NULL, &model);
    assert_near(model.freedom, 5, 1e-12);
    assert_near(model.variance, 4.67207787882e-05, 1e-8);
    assert_near(model.arm[1] - model.arm[0], 0.61050851504, 1e-8);
    assert_near(model.arm[2] - model.arm[0], 0.0112474652518, 1e-8);
    model_fini(&model);

    static const int against[] = {0, 0, 0};
    struct stats_comparison found[3];
    assert_int_equal(stats_compare(points, count, against, 3, 0.95, 0.02, found), 2);
    assert_int_equal(found[0].pairs, 4);
    assert_near(found[0].ratio, 1.83849367749, 1e-10);
    assert_near(found[0].low, 1.81579301626, 1e-8);
    assert_near(found[0].high, 1.8614781376, 1e-8);
    assert_near(found[0].p / 2, 5.97468449233684e-10, 1e-5);
    assert_int_equal(found[1].pairs, 3);
}

/* One arm of given rates against a baseline that always reads 100. */
static struct stats_comparison against_hundred(const double *rates, size_t blocks)
{
    static const int against[] = {0, 0};
    struct stats_point points[40];
    struct stats_comparison found[2];
    for (size_t i = 0; i < blocks; i++) {
        points[2 * i] = (struct stats_point){0, (int)i + 1, 100};
        points[2 * i + 1] = (struct stats_point){1, (int)i + 1, rates[i]};
    }
    assert_int_equal(stats_compare(points, 2 * blocks, against, 2, 0.95, 0.02, found), 1);
    return found[0];
}

static void verdicts_follow_the_rules(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        double rates[5];
        enum verdict verdict;
    } cases[] = {
        {"clearly above", {110, 111, 109, 110, 112}, VERDICT_FASTER},
        {"clearly below", {90, 91, 89, 90, 92}, VERDICT_SLOWER},
        {"surely different, but less than the tolerance",
         {101, 101.1, 100.9, 101, 101.05},
         VERDICT_NO_DIFFERENCE},
        {"the same within the tolerance", {100.1, 99.9, 100.2, 100, 99.8}, VERDICT_NO_DIFFERENCE},
        {"too noisy to say anything", {90, 112, 103, 95, 108}, VERDICT_INCONCLUSIVE},
        {"above 1, interval reaches beyond the tolerance",
         {101.2, 102.9, 101, 102.4, 101.9},
         VERDICT_INCONCLUSIVE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        enum verdict verdict = against_hundred(cases[i].rates, 5).verdict;
        if (verdict != cases[i].verdict)
            fail_msg("%s: %s", cases[i].why, verdict_name(verdict));
    }
}

static void without_variance_the_tolerance_decides(void **state)
{
    (void)state;
    static const struct {
        double rate;
        enum verdict verdict;
    } cases[] = {{103, VERDICT_FASTER},
                 {97, VERDICT_SLOWER},
                 {101, VERDICT_NO_DIFFERENCE},
                 {100, VERDICT_NO_DIFFERENCE}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const double rates[] = {cases[i].rate, cases[i].rate, cases[i].rate};
        struct stats_comparison found = against_hundred(rates, 3);
        assert_true(isnan(found.p));
        assert_true(found.low == found.ratio && found.high == found.ratio);
        assert_near(found.ratio, cases[i].rate / 100, 1e-12);
        assert_int_equal(found.verdict, cases[i].verdict);
    }
}

static void one_block_is_never_enough_for_a_verdict(void **state)
{
    (void)state;
    const double rates[] = {200};
    struct stats_comparison found = against_hundred(rates, 1);
    assert_int_equal(found.pairs, 1);
    assert_near(found.ratio, 2, 1e-12);
    assert_true(isnan(found.low) && isnan(found.high) && isnan(found.p) && isnan(found.level));
    assert_int_equal(found.verdict, VERDICT_INCONCLUSIVE);
}

static void arms_that_share_no_block_are_not_compared(void **state)
{
    (void)state;
    static const struct stats_point points[] = {{0, 1, 100}, {0, 2, 101}, {1, 3, 150}, {1, 4, 151}};
    static const int against[] = {0, 0};
    struct stats_comparison found[2];
    assert_int_equal(stats_compare(points, 4, against, 2, 0.95, 0.02, found), 1);
    assert_int_equal(found[0].pairs, 0);
    assert_true(isnan(found[0].ratio) && isnan(found[0].low));
    assert_int_equal(found[0].verdict, VERDICT_INCONCLUSIVE);
}

static void arms_without_a_baseline_are_left_out(void **state)
{
    (void)state;
    static const int against[] = {0, -1, 0, 99};
    struct stats_comparison found[4];
    assert_int_equal(stats_compare(three_arms, 15, against, 4, 0.95, 0.02, found), 1);
    assert_int_equal(found[0].arm, 2);
}

static void a_common_drift_cancels(void **state)
{
    (void)state;
    static const int against[] = {0, 0};
    struct stats_point points[10];
    struct stats_comparison plain[2];
    struct stats_comparison drifted[2];
    for (size_t i = 0; i < COUNT(points); i++) {
        points[i] = three_arms[i];
        points[i].rate *= exp(0.3 * points[i].block);
    }
    assert_int_equal(stats_compare(three_arms, 10, against, 2, 0.95, 0.02, plain), 1);
    assert_int_equal(stats_compare(points, 10, against, 2, 0.95, 0.02, drifted), 1);
    assert_near(drifted[0].low, plain[0].low, 1e-9);
    assert_near(drifted[0].high, plain[0].high, 1e-9);
}

static void a_fixed_order_makes_intervals_allow_for_drift(void **state)
{
    (void)state;
    /* two equal arms, one after the other, on a host that grows 4 % faster with each trial */
    static const double noise[] = {0.999, 1.001, 1.0005, 1.0, 0.9995, 1.001, 1.0, 0.999, 1.0, 1.0};
    static const int against[] = {0, 0};
    struct stats_comparison found[2];
    for (int fixed = 0; fixed <= 1; fixed++) {
        struct stats_point points[10];
        for (int i = 0; i < 10; i++)
            points[i] = (struct stats_point){.arm = i % 2,
                                             .block = 1 + i / 2,
                                             .rate = 100 * pow(1.04, i) * noise[i],
                                             .position = fixed ? 1 + i % 2 : 0};
        assert_int_equal(stats_compare(points, 10, against, 2, 0.95, 0.02, found), 1);
        assert_int_equal(found[0].verdict, fixed ? VERDICT_INCONCLUSIVE : VERDICT_FASTER);
        assert_int_equal(found[0].low < 1, fixed);
    }
}

static void one_interrupted_trial_does_not_spoil_the_others(void **state)
{
    (void)state;
    static const int against[] = {0, 0, 0};
    struct stats_point points[15];
    struct stats_comparison found[3];
    bool outlier[15];
    for (size_t i = 0; i < COUNT(points); i++)
        points[i] = three_arms[i];
    points[12].rate /= 2.2; /* arm 2 in block 3 */
    assert_int_equal(stats_outliers(points, 15, against, 3, outlier), 1);
    assert_true(outlier[12]);
    assert_int_equal(stats_compare(points, 15, against, 3, 0.95, 0.02, found), 2);
    assert_int_equal(found[0].verdict, VERDICT_FASTER);
    assert_true(found[0].high / found[0].low < 1.05);
    assert_int_equal(found[1].pairs, 4);
    assert_int_equal(stats_outliers(three_arms, 15, against, 3, outlier), 0);
}

static void a_tick_of_the_clock_is_no_outlier(void **state)
{
    (void)state;
    /* all runs take 1.421 s but one, which takes a millisecond more */
    const double rates[] = {100, 100, 100, 100, 100 * 1.421 / 1.422};
    struct stats_comparison found = against_hundred(rates, 5);
    assert_int_equal(found.pairs, 5);
    assert_true(found.low < 1 && found.high > 1);
    assert_int_equal(found.verdict, VERDICT_NO_DIFFERENCE);
}

static void unusable_points_are_passed_over(void **state)
{
    (void)state;
    static const int against[] = {0, 0};
    struct stats_point points[16];
    struct stats_comparison found[2];
    for (size_t i = 0; i < 10; i++)
        points[i] = three_arms[i];
    points[10] = (struct stats_point){0, 6, 0};
    points[11] = (struct stats_point){1, 6, NAN};
    points[12] = (struct stats_point){-1, 6, 5};
    points[13] = (struct stats_point){7, 6, 5};
    points[14] = (struct stats_point){1, -2, 5};
    points[15] = (struct stats_point){1, 7, INFINITY};
    assert_int_equal(stats_compare(points, 16, against, 2, 0.95, 0.02, found), 1);
    assert_near(found[0].low, 1.82319087387, 1e-11);
}

static void verdicts_have_the_names_of_the_contract(void **state)
{
    (void)state;
    assert_string_equal(verdict_name(VERDICT_FASTER), "faster");
    assert_string_equal(verdict_name(VERDICT_SLOWER), "slower");
    assert_string_equal(verdict_name(VERDICT_NO_DIFFERENCE), "no_difference");
    assert_string_equal(verdict_name(VERDICT_INCONCLUSIVE), "inconclusive");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_of_t_agree_with_r),
        cmocka_unit_test(quantiles_of_t_agree_with_r),
        cmocka_unit_test(tails_of_f_agree_with_r),
        cmocka_unit_test(a_median_of_an_odd_number_is_an_observed_run),
        cmocka_unit_test(the_interval_of_a_median_says_its_real_level),
        cmocka_unit_test(what_cannot_be_known_of_few_runs_is_nan),
        cmocka_unit_test(two_arms_are_the_paired_t_test),
        cmocka_unit_test(several_arms_share_one_variance),
        cmocka_unit_test(holes_leave_the_model_right),
        cmocka_unit_test(verdicts_follow_the_rules),
        cmocka_unit_test(without_variance_the_tolerance_decides),
        cmocka_unit_test(one_block_is_never_enough_for_a_verdict),
        cmocka_unit_test(arms_that_share_no_block_are_not_compared),
        cmocka_unit_test(arms_without_a_baseline_are_left_out),
        cmocka_unit_test(a_common_drift_cancels),
        cmocka_unit_test(a_fixed_order_makes_intervals_allow_for_drift),
        cmocka_unit_test(one_interrupted_trial_does_not_spoil_the_others),
        cmocka_unit_test(a_tick_of_the_clock_is_no_outlier),
        cmocka_unit_test(unusable_points_are_passed_over),
        cmocka_unit_test(verdicts_have_the_names_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
