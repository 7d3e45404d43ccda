/* Races between 72 settings. */
#include "jobs/measure/rivals.h"
#include "server/mem.h"
#include "tests/bench/figures.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define NEAR 0.03 /* of the true best */

struct finish {
    double trials;  /* of those of the full grid, warm-ups counted on both sides */
    double of_best; /* true rate of the fastest arm at the end, of the true best */
    double of_spot; /* of the recommended arm */
};

/* Runs the design's steps as a job does: a look between blocks, dropped arms left out. */
static struct stats_point *run(const struct world *world, const struct bundle *bundle,
                               struct race *race, struct finish *out, size_t *out_count)
{
    size_t step_count = 0;
    size_t count = 0;
    size_t warmups = 0;
    struct design_step *steps = design_steps(bundle->design, 0, world->arm_count, 0, &step_count);
    struct stats_point *points = mem_alloc(step_count, sizeof *points);
    for (size_t i = 0; i < step_count; i++) {
        const struct design_step *step = &steps[i];
        race_look(race, bundle, points, count, step->block - 1);
        if (step->warmup)
            warmups++;
        else if (race->after[step->arm] == 0)
            points[count++] = (struct stats_point){
                .arm = step->arm,
                .block = step->block,
                .rate = world_measure(world, step->arm, (double)i / (double)step_count)};
    }
    out->trials = (double)(count + warmups) / (double)step_count;
    free(steps);
    *out_count = count;
    return points;
}

static double share_of_best(const struct world *world, int arm)
{
    double best = 0;
    for (int i = 0; i < world->arm_count; i++)
        best = fmax(best, world->truth[i]);
    return arm < 0 ? 0 : world->truth[arm] / best;
}

static struct finish race_in(const struct world *like, enum field field)
{
    struct world world = *like;
    struct arm arms[WORLD_ARMS];
    struct sweetspot_arm rivals[WORLD_ARMS];
    struct sweetspot spot;
    struct race race;
    struct finish finish;
    size_t count = 0;
    world_draw_field(field, &world, arms);
    struct design design = world_design(&world);
    design.race = true;
    struct bundle bundle = {.design = &design, .arms = arms, .arm_count = WORLD_ARMS};
    race_init(&race, WORLD_ARMS);
    struct stats_point *points = run(&world, &bundle, &race, &finish, &count);
    rivals_of(&bundle, 0, INT_MAX, rivals);
    for (int i = 0; i < WORLD_ARMS; i++)
        rivals[i].eligible = race.after[i] == 0;
    sweetspot_find(points, count, rivals, WORLD_ARMS, WORLD_CONFIDENCE, WORLD_TOLERANCE, &spot);
    finish.of_best = share_of_best(&world, spot.best);
    finish.of_spot = share_of_best(&world, spot.arm);
    sweetspot_fini(&spot);
    race_fini(&race);
    free(points);
    world_settings_free(arms, WORLD_ARMS);
    return finish;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double trials_of(const struct world *world, enum field field, int experiments)
{
    double *shares = mem_alloc((size_t)experiments, sizeof *shares);
    for (int i = 0; i < experiments; i++) {
        struct finish finish = race_in(world, field);
        shares[i] = finish.trials;
    }
    qsort(shares, (size_t)experiments, sizeof *shares, by_value);
    double high = shares[experiments * 9 / 10];
    free(shares);
    return high;
}

static double near_the_best(const struct world *world, enum field field, bool spot, int experiments)
{
    int near = 0;
    for (int i = 0; i < experiments; i++) {
        struct finish finish = race_in(world, field);
        near += (spot ? finish.of_spot : finish.of_best) >= 1 - NEAR;
    }
    return (double)near / experiments;
}

double figure_race_trials_grid(const struct world *world, int experiments)
{
    return trials_of(world, FIELD_GRID, experiments);
}

double figure_race_trials_top(const struct world *world, int experiments)
{
    return trials_of(world, FIELD_TOP, experiments);
}

double figure_race_best_grid(const struct world *world, int experiments)
{
    return near_the_best(world, FIELD_GRID, false, experiments);
}

double figure_race_best_top(const struct world *world, int experiments)
{
    return near_the_best(world, FIELD_TOP, false, experiments);
}

double figure_race_spot_grid(const struct world *world, int experiments)
{
    return near_the_best(world, FIELD_GRID, true, experiments);
}

double figure_race_spot_top(const struct world *world, int experiments)
{
    return near_the_best(world, FIELD_TOP, true, experiments);
}
