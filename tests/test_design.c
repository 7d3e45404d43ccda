#include "jobs/measure/design.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct design_step *steps_of(enum design_order order, int64_t blocks, int64_t warmups,
                                    int64_t seed, int arms, size_t *count)
{
    struct design design = {
        .order = order, .repetitions = blocks, .warmups = warmups, .seed = seed};
    return design_steps(&design, 0, arms, 0, count);
}

static void each_block_runs_every_arm_once(void **state)
{
    (void)state;
    static const enum design_order orders[] = {DESIGN_RANDOM_BLOCKS, DESIGN_ABBA,
                                               DESIGN_SEQUENTIAL};
    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
        for (int arms = 1; arms <= 7; arms++) {
            size_t count = 0;
            int seen[7][7] = {0};
            struct design_step *steps = steps_of(orders[o], 6, 2, 42, arms, &count);
            assert_int_equal(count, (size_t)arms * 8);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(steps[i].warmup, steps[i].block == 0);
                seen[steps[i].arm][steps[i].block]++;
            }
            for (int a = 0; a < arms; a++)
                for (int b = 0; b <= 6; b++)
                    assert_int_equal(seen[a][b], b == 0 ? 2 : 1);
            free(steps);
        }
    }
}

static void warmups_come_before_the_first_block(void **state)
{
    (void)state;
    size_t count = 0;
    struct design_step *steps = steps_of(DESIGN_RANDOM_BLOCKS, 3, 2, 7, 5, &count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps[i].warmup, i < 10);
    free(steps);
}

static void the_same_seed_gives_the_same_order_on_every_machine(void **state)
{
    (void)state;
    /* written down once: when this changes, stored jobs can no longer be checked */
    static const int wanted[] = {2, 0, 3, 1, 3, 1, 0, 2, 3, 2, 0, 1};
    size_t count = 0;
    struct design_step *steps = steps_of(DESIGN_RANDOM_BLOCKS, 2, 1, 42, 4, &count);
    assert_int_equal(count, sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps[i].arm, wanted[i]);
    free(steps);
}

static void another_seed_gives_another_order(void **state)
{
    (void)state;
    size_t count = 0;
    struct design_step *one = steps_of(DESIGN_RANDOM_BLOCKS, 5, 1, 1, 8, &count);
    struct design_step *two = steps_of(DESIGN_RANDOM_BLOCKS, 5, 1, 2, 8, &count);
    int same = 0;
    for (size_t i = 0; i < count; i++)
        same += one[i].arm == two[i].arm;
    assert_true((size_t)same < count / 2);
    free(one);
    free(two);
}

static void every_place_in_a_block_is_equally_likely(void **state)
{
    (void)state;
    enum { ARMS = 5, BLOCKS = 100, SEEDS = 200 };
    int first[ARMS] = {0};
    for (int64_t seed = 0; seed < SEEDS; seed++) {
        size_t count = 0;
        struct design_step *steps = steps_of(DESIGN_RANDOM_BLOCKS, BLOCKS, 0, seed, ARMS, &count);
        for (size_t i = 0; i < count; i += ARMS)
            first[steps[i].arm]++;
        free(steps);
    }
    for (int a = 0; a < ARMS; a++) /* 4000 wanted, standard deviation 57 */
        assert_in_range(first[a], 3750, 4250);
}

static void abba_runs_each_pair_off_on_on_off(void **state)
{
    (void)state;
    size_t count = 0;
    struct design_step *steps = steps_of(DESIGN_ABBA, 3, 0, 9, 2, &count);
    static const int wanted[] = {0, 1, 1, 0, 0, 1, 1, 0};
    assert_int_equal(count, 8); /* an odd number of repetitions is rounded up */
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(steps[i].arm, wanted[i]);
        assert_int_equal(steps[i].block, 1 + (int)i / 2);
    }
    free(steps);

    steps = steps_of(DESIGN_ABBA, 2, 0, 9, 6, &count);
    assert_int_equal(count, 12);
    for (size_t i = 0; i < count; i += 4) {
        int off = steps[i].arm;
        assert_int_equal(off % 2, 0);
        assert_int_equal(steps[i + 1].arm, off + 1);
        assert_int_equal(steps[i + 2].arm, off + 1);
        assert_int_equal(steps[i + 3].arm, off);
    }
    free(steps);
}

static void sequential_keeps_the_order_of_the_plan(void **state)
{
    (void)state;
    size_t count = 0;
    struct design_step *steps = steps_of(DESIGN_SEQUENTIAL, 3, 1, 9, 4, &count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps[i].arm, (int)i % 4);
    free(steps);
}

static void a_second_phase_goes_on_counting(void **state)
{
    (void)state;
    struct design design = {.repetitions = 2, .warmups = 1, .seed = 5};
    size_t count = 0;
    struct design_step *steps = design_steps(&design, 12, 2, 5, &count);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(steps[i].arm, 12, 13);
        assert_int_equal(steps[i].block, i < 2 ? 0 : i < 4 ? 6 : 7);
    }
    free(steps);
}

static void no_arms_give_no_steps(void **state)
{
    (void)state;
    size_t count = 99;
    struct design_step *steps = steps_of(DESIGN_ABBA, 5, 1, 5, 0, &count);
    assert_int_equal(count, 0);
    free(steps);
}

static void orders_have_the_names_of_the_contract(void **state)
{
    (void)state;
    assert_string_equal(design_order_name(DESIGN_RANDOM_BLOCKS), "random_blocks");
    assert_string_equal(design_order_name(DESIGN_ABBA), "abba");
    assert_string_equal(design_order_name(DESIGN_SEQUENTIAL), "sequential");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_runs_every_arm_once),
        cmocka_unit_test(warmups_come_before_the_first_block),
        cmocka_unit_test(the_same_seed_gives_the_same_order_on_every_machine),
        cmocka_unit_test(another_seed_gives_another_order),
        cmocka_unit_test(every_place_in_a_block_is_equally_likely),
        cmocka_unit_test(abba_runs_each_pair_off_on_on_off),
        cmocka_unit_test(sequential_keeps_the_order_of_the_plan),
        cmocka_unit_test(a_second_phase_goes_on_counting),
        cmocka_unit_test(no_arms_give_no_steps),
        cmocka_unit_test(orders_have_the_names_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
