/* Reference values come from R 4.2.2; the command stands above each table. */
#include "jobs/measure/curve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* log(b / (b + 12)) with some noise */
static const struct curve_point knee[] = {
    {50, -0.2159, 10},  {100, -0.1101, 10}, {150, -0.0822, 10}, {200, -0.0553, 10},
    {300, -0.0404, 10}, {400, -0.0275, 10}, {500, -0.0266, 10},
};

static void bounds_agree_with_r(void **state)
{
    (void)state;
    /* x <- c(50,100,150,200,300,400,500); u <- x/50; n <- 10; s2 <- 0.0004
     * y <- c(-0.2159,-0.1101,-0.0822,-0.0553,-0.0404,-0.0275,-0.0266)
     * f <- function(d, k) -log1p(exp(d - exp(k)*log(u)))
     * rss <- function(d, k) { r <- y - f(d, k); sum(n*(r - mean(r))^2) }
     * g <- expand.grid(d = seq(-8,5,length.out=2601), k = seq(-1.6,1.6,length.out=1281))
     * v <- mapply(rss, g$d, g$k); ok <- which(v <= min(v) + qt(.95,60)^2*s2)
     * apply(sapply(ok, function(i) { s <- f(g$d[i], g$k[i]); max(s) - s }), 1, min) */
    static const double wanted[] = {0.17865, 0.07624, 0.042103, 0.025982, 0.010917, 0.003944, 0};
    double least[COUNT(knee)];
    assert_true(curve_gaps(knee, COUNT(knee), 0.0004, 60, 0.95, least));
    for (size_t i = 0; i < COUNT(knee); i++)
        if (fabs(least[i] - wanted[i]) > 0.001)
            fail_msg("%zu: %.6f, wanted %.6f", i, least[i], wanted[i]);
}

static void a_higher_confidence_shows_less(void **state)
{
    (void)state;
    double usual[COUNT(knee)];
    double strict[COUNT(knee)];
    assert_true(curve_gaps(knee, COUNT(knee), 0.0004, 60, 0.95, usual));
    assert_true(curve_gaps(knee, COUNT(knee), 0.0004, 60, 0.999, strict));
    for (size_t i = 0; i + 1 < COUNT(knee); i++)
        assert_true(strict[i] < usual[i]);
}

static void a_flat_curve_shows_no_gap(void **state)
{
    (void)state;
    struct curve_point flat[COUNT(knee)];
    double least[COUNT(knee)];
    for (size_t i = 0; i < COUNT(knee); i++)
        flat[i] = (struct curve_point){knee[i].x, i % 2 ? 0.003 : -0.003, 10};
    assert_true(curve_gaps(flat, COUNT(flat), 0.0004, 60, 0.95, least));
    for (size_t i = 0; i < COUNT(knee); i++)
        assert_true(least[i] < 0.003);
}

static void what_is_not_of_the_family_is_refused(void **state)
{
    (void)state;
    struct curve_point hump[COUNT(knee)];
    double least[COUNT(knee)] = {7};
    for (size_t i = 0; i < COUNT(knee); i++)
        hump[i] = (struct curve_point){knee[i].x, -0.05 * fabs((double)i - 2), 10};
    assert_false(curve_gaps(hump, COUNT(hump), 0.0004, 60, 0.95, least));
    assert_true(least[0] == 7);
}

static void too_few_points_or_no_noise_give_no_curve(void **state)
{
    (void)state;
    double least[COUNT(knee)];
    assert_false(curve_gaps(knee, 4, 0.0004, 60, 0.95, least));
    assert_false(curve_gaps(knee, COUNT(knee), 0.0004, 2, 0.95, least));
    assert_false(curve_gaps(knee, COUNT(knee), 0, 60, 0.95, least));
    assert_false(curve_gaps(knee, COUNT(knee), NAN, 0, 0.95, least));
}

static void the_unit_of_x_does_not_matter(void **state)
{
    (void)state;
    struct curve_point bytes[COUNT(knee)];
    double least[COUNT(knee)];
    double again[COUNT(knee)];
    for (size_t i = 0; i < COUNT(knee); i++)
        bytes[i] = (struct curve_point){knee[i].x * 1048576, knee[i].y + 7, knee[i].n};
    assert_true(curve_gaps(knee, COUNT(knee), 0.0004, 60, 0.95, least));
    assert_true(curve_gaps(bytes, COUNT(knee), 0.0004, 60, 0.95, again));
    for (size_t i = 0; i < COUNT(knee); i++)
        assert_true(fabs(again[i] - least[i]) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_agree_with_r),
        cmocka_unit_test(a_higher_confidence_shows_less),
        cmocka_unit_test(a_flat_curve_shows_no_gap),
        cmocka_unit_test(what_is_not_of_the_family_is_refused),
        cmocka_unit_test(too_few_points_or_no_noise_give_no_curve),
        cmocka_unit_test(the_unit_of_x_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
