#include "jobs/measure/rivals.h"
#include "server/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARMS 8
#define BLOCKS 6

/* Two targets, each a default and three settings. */
struct place {
    struct arm arms[ARMS];
    struct trial trials[ARMS * BLOCKS];
    struct stats_point points[ARMS * BLOCKS];
    struct design design;
    struct bundle bundle;
};

static const double rates[ARMS] = {500, 600, 990, 1000, 300, 250, 240, 290};

static void place_make(struct place *place, const double *truth)
{
    static const double ripple[] = {1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.9985};
    static const int buffers[] = {0, 10, 50, 100};
    *place = (struct place){
        .design = {.repetitions = BLOCKS, .race = true, .confidence = 0.95, .tolerance = 0.02}};
    for (int a = 0; a < ARMS; a++) {
        struct arm *arm = &place->arms[a];
        *arm = (struct arm){.index = a,
                            .settings = cJSON_CreateObject(),
                            .baseline = a % 4 == 0,
                            .against = a / 4 * 4,
                            .buffer_memory_mib = a % 4 ? (double)buffers[a % 4] : (double)NAN};
        if (a % 4)
            cJSON_AddNumberToObject(arm->settings, "buffercount", buffers[a % 4]);
        else
            cJSON_AddStringToObject(arm->settings, "buffercount", "default");
        cJSON_AddStringToObject(arm->settings, "target", a < 4 ? "NUL" : "disk");
    }
    for (int i = 0; i < ARMS * BLOCKS; i++) {
        int arm = i % ARMS;
        int block = 1 + i / ARMS;
        place->trials[i] = trial_new(i + 1, block, arm, false);
        place->points[i] = (struct stats_point){
            .arm = arm, .block = block, .rate = truth[arm] * ripple[(arm * 3 + block * 5) % 7]};
    }
    place->bundle = (struct bundle){.design = &place->design,
                                    .arms = place->arms,
                                    .arm_count = ARMS,
                                    .trials = place->trials,
                                    .trial_count = ARMS * BLOCKS};
}

static void place_end(struct place *place)
{
    for (int a = 0; a < ARMS; a++)
        cJSON_Delete(place->arms[a].settings);
    for (int i = 0; i < ARMS * BLOCKS; i++)
        trial_fini(&place->trials[i]);
}

static void look(const struct place *place, int block, struct race *out)
{
    race_init(out, ARMS);
    race_look(out, &place->bundle, place->points, ARMS * BLOCKS, block);
}

static void each_target_has_its_own_race(void **state)
{
    (void)state;
    static const int wanted[ARMS] = {0, 2, 0, 0, 0, 2, 2, 2};
    struct place place;
    struct race race;
    place_make(&place, rates);
    look(&place, BLOCKS - 1, &race);
    for (int a = 0; a < ARMS; a++)
        if (race.after[a] != wanted[a])
            fail_msg("arm %d was dropped after %d", a, race.after[a]);
    assert_int_equal(race.beaten_by[1], 3);
    assert_int_equal(race.beaten_by[5], 4); /* the default of its target */
    race_fini(&race);
    place_end(&place);
}

static void one_block_drops_nothing(void **state)
{
    (void)state;
    struct place place;
    struct race race;
    place_make(&place, rates);
    look(&place, 1, &race);
    for (int a = 0; a < ARMS; a++)
        assert_int_equal(race.after[a], 0);
    race_fini(&race);
    place_end(&place);
}

static void looks_in_steps_or_at_once_drop_the_same(void **state)
{
    (void)state;
    struct place place;
    struct race at_once;
    struct race in_steps;
    place_make(&place, rates);
    for (size_t i = 0; i < ARMS * BLOCKS; i++) /* the second block shows nothing yet */
        if (place.points[i].block <= 2)
            place.points[i].rate *= place.points[i].block == 1 ? 1 + 0.2 * (double)(i % 3) : 1;
    look(&place, BLOCKS - 1, &at_once);
    race_init(&in_steps, ARMS);
    for (int b = 1; b < BLOCKS; b++)
        race_look(&in_steps, &place.bundle, place.points, (size_t)(ARMS * b), b);
    assert_memory_equal(at_once.after, in_steps.after, sizeof(int) * ARMS);
    assert_memory_equal(at_once.beaten_by, in_steps.beaten_by, sizeof(int) * ARMS);
    race_fini(&at_once);
    race_fini(&in_steps);
    place_end(&place);
}

static void later_phases_and_grids_do_not_race(void **state)
{
    (void)state;
    struct place place;
    struct race race;
    place_make(&place, rates);
    place.design.repetitions = 1; /* what follows is a confirmation */
    look(&place, BLOCKS, &race);
    for (int a = 0; a < ARMS; a++)
        assert_int_equal(race.after[a], 0);
    race_fini(&race);
    place.design.repetitions = BLOCKS;
    place.design.race = false;
    look(&place, BLOCKS, &race);
    for (int a = 0; a < ARMS; a++)
        assert_int_equal(race.after[a], 0);
    race_fini(&race);
    place_end(&place);
}

static void a_failure_counts_from_its_block_on(void **state)
{
    (void)state;
    struct place place;
    struct sweetspot_arm arms[ARMS];
    place_make(&place, rates);
    place.trials[3 * ARMS + 3].status = TRIAL_FAILED; /* arm 3 in block 4 */
    rivals_of(&place.bundle, 0, 3, arms);
    assert_true(arms[3].eligible);
    rivals_of(&place.bundle, 0, 4, arms);
    assert_false(arms[3].eligible);
    assert_true(isnan(arms[3].x)); /* nor part of the curve */
    place_end(&place);
}

static void arms_of_one_curve_are_a_series(void **state)
{
    (void)state;
    struct place place;
    struct sweetspot_arm arms[ARMS];
    place_make(&place, rates);
    rivals_of(&place.bundle, 0, BLOCKS, arms);
    assert_true(arms[0].is_default && arms[0].series == 0 && isnan(arms[0].x));
    for (int a = 1; a < 4; a++)
        assert_int_equal(arms[a].series, arms[1].series);
    assert_true(arms[2].x == 50);
    for (int a = 4; a < ARMS; a++)
        assert_false(arms[a].eligible);
    cJSON_AddStringToObject(place.arms[3].settings, "compression", "on");
    rivals_of(&place.bundle, 0, BLOCKS, arms);
    assert_true(arms[3].series != arms[1].series); /* it differs in more than the buffers */
    place_end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_target_has_its_own_race),
        cmocka_unit_test(one_block_drops_nothing),
        cmocka_unit_test(looks_in_steps_or_at_once_drop_the_same),
        cmocka_unit_test(later_phases_and_grids_do_not_race),
        cmocka_unit_test(a_failure_counts_from_its_block_on),
        cmocka_unit_test(arms_of_one_curve_are_a_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
