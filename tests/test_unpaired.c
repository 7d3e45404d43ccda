/* The same setting in two jobs. Reference values from R 4.2, made by
 * Rscript -e 'a<-c(101,99,103,98,100); b<-c(90,93,88,91,89,92); t<-t.test(log(b),log(a));
 *   print(c(exp(mean(log(b))-mean(log(a))),exp(t$conf.int),t$p.value),digits=12)' */
#include "jobs/measure/unpaired.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.15g instead of %.15g", value, wanted);
}

static const double before[] = {101, 99, 103, 98, 100};
static const double slower[] = {90, 93, 88, 91, 89, 92};
static const double wild[] = {101.5, 80, 120, 99, 100};

static void gives_what_r_gives(void **state)
{
    (void)state;
    static const struct {
        const double *now;
        size_t count;
        double confidence, ratio, low, high, p;
    } cases[] = {
        {slower, 6, 0.95, 0.903165318434, 0.878879339903, 0.928122388804, 1.53896184413e-05},
        {slower, 6, 0.90, 0.903165318434, 0.883446620709, 0.923324141267, 1.53896184413e-05},
        {wild, 5, 0.95, 0.990992848069, 0.829289817963, 1.184226314676, 0.895839787755},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stats_comparison it;
        unpaired_compare(before, 5, cases[i].now, cases[i].count, cases[i].confidence, 0.02, &it);
        expect_near(it.ratio, cases[i].ratio);
        expect_near(it.low, cases[i].low);
        expect_near(it.high, cases[i].high);
        expect_near(it.p, cases[i].p);
        expect_near(it.level, cases[i].confidence);
        assert_int_equal(it.pairs, 5);
    }
}

static void judges_as_every_comparison_is_judged(void **state)
{
    (void)state;
    static const double alike[] = {100.2, 99.9, 100.1, 100, 99.8};
    static const double same[] = {100, 100.1, 99.9, 100, 100.1};
    struct stats_comparison it;
    unpaired_compare(before, 5, slower, 6, 0.95, 0.02, &it);
    assert_int_equal(it.verdict, VERDICT_SLOWER);
    unpaired_compare(slower, 6, before, 5, 0.95, 0.02, &it);
    assert_int_equal(it.verdict, VERDICT_FASTER);
    unpaired_compare(before, 5, slower, 6, 0.95, 0.2, &it); /* within the tolerance */
    assert_int_equal(it.verdict, VERDICT_NO_DIFFERENCE);
    unpaired_compare(alike, 5, same, 5, 0.95, 0.02, &it);
    assert_int_equal(it.verdict, VERDICT_NO_DIFFERENCE);
    unpaired_compare(before, 5, wild, 5, 0.95, 0.02, &it);
    assert_int_equal(it.verdict, VERDICT_INCONCLUSIVE);
}

static void too_few_runs_have_no_interval(void **state)
{
    (void)state;
    struct stats_comparison it;
    unpaired_compare(before, 1, slower, 6, 0.95, 0.02, &it);
    assert_true(it.ratio > 0 && isnan(it.low) && isnan(it.high) && isnan(it.p));
    assert_int_equal(it.verdict, VERDICT_INCONCLUSIVE);
    unpaired_compare(before, 0, slower, 6, 0.95, 0.02, &it);
    assert_true(isnan(it.ratio));
    assert_int_equal(it.verdict, VERDICT_INCONCLUSIVE);
}

static void without_noise_the_interval_is_the_point(void **state)
{
    (void)state;
    static const double flat[] = {100, 100, 100};
    static const double lower[] = {90, 90, 90};
    struct stats_comparison it;
    unpaired_compare(flat, 3, lower, 3, 0.95, 0.02, &it);
    expect_near(it.ratio, 0.9);
    assert_true(it.low == it.ratio && it.high == it.ratio && isnan(it.p));
    assert_int_equal(it.verdict, VERDICT_SLOWER);
    unpaired_compare(flat, 3, flat, 3, 0.95, 0.02, &it);
    assert_int_equal(it.verdict, VERDICT_NO_DIFFERENCE);
    unpaired_compare(flat, 3, before, 5, 0.95, 0.02, &it); /* one side alone has noise */
    assert_true(it.low < it.ratio && it.ratio < it.high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_what_r_gives),
        cmocka_unit_test(judges_as_every_comparison_is_judged),
        cmocka_unit_test(too_few_runs_have_no_interval),
        cmocka_unit_test(without_noise_the_interval_is_the_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
