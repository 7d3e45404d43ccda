#include "jobs/measure/stopping.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct design ten = {.repetitions = 10, .confidence = 0.95, .stop_early = true};

static void looks_spend_what_was_asked_for_and_no_more(void **state)
{
    (void)state;
    for (int order = DESIGN_RANDOM_BLOCKS; order <= DESIGN_SEQUENTIAL; order++)
        for (int blocks = 1; blocks <= 30; blocks++) {
            struct design design = {.order = (enum design_order)order,
                                    .repetitions = blocks,
                                    .confidence = 0.9,
                                    .stop_early = true};
            double spent = 1 - stopping_confidence(&design, design_blocks(&design));
            for (int b = 1; b < design_blocks(&design); b++)
                if (stopping_looks_after(&design, b))
                    spent += 1 - stopping_confidence(&design, b);
            assert_true(fabs(spent - 0.1) < 1e-12);
        }
}

static void each_look_has_its_share_and_the_end_the_rest(void **state)
{
    (void)state;
    /* seven looks, after blocks 3 to 9 */
    assert_true(fabs(stopping_confidence(&ten, 3) - (1 - 0.02 * 0.05 / 7)) < 1e-12);
    assert_true(fabs(stopping_confidence(&ten, 9) - (1 - 0.02 * 0.05 / 7)) < 1e-12);
    assert_true(fabs(stopping_confidence(&ten, 10) - 0.951) < 1e-12);
}

static void nothing_is_looked_at_too_early_or_in_half_a_pair(void **state)
{
    (void)state;
    struct design abba = ten;
    abba.order = DESIGN_ABBA;
    abba.repetitions = 9; /* ten blocks */
    for (int b = 0; b <= 11; b++) {
        assert_int_equal(stopping_looks_after(&ten, b), b >= 3 && b <= 9);
        assert_int_equal(stopping_looks_after(&abba, b), b == 4 || b == 6 || b == 8);
    }
}

static void without_stop_early_every_block_has_the_confidence_asked_for(void **state)
{
    (void)state;
    struct design design = ten;
    design.stop_early = false;
    for (int b = 0; b <= 11; b++) {
        assert_false(stopping_looks_after(&design, b));
        assert_true(stopping_confidence(&design, b) == 0.95);
    }
}

static void one_open_comparison_leaves_all_open(void **state)
{
    (void)state;
    struct stats_comparison comparisons[] = {{.verdict = VERDICT_FASTER},
                                             {.verdict = VERDICT_NO_DIFFERENCE},
                                             {.verdict = VERDICT_INCONCLUSIVE}};
    assert_true(stopping_is_decided(comparisons, 2));
    assert_false(stopping_is_decided(comparisons, 3));
    assert_false(stopping_is_decided(comparisons, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_spend_what_was_asked_for_and_no_more),
        cmocka_unit_test(each_look_has_its_share_and_the_end_the_rest),
        cmocka_unit_test(nothing_is_looked_at_too_early_or_in_half_a_pair),
        cmocka_unit_test(without_stop_early_every_block_has_the_confidence_asked_for),
        cmocka_unit_test(one_open_comparison_leaves_all_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
