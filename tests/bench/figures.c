#include "tests/bench/figures.h"

#include "jobs/measure/stopping.h"
#include "jobs/measure/sweetspot.h"
#include "server/mem.h"
#include "tests/bench/profiles.h"

#include <math.h>
#include <stdlib.h>

/* --- comparisons -------------------------------------------------------------------------- */

static void compare_first(const struct world *world, const struct stats_point *points, size_t count,
                          double confidence, struct stats_comparison *out)
{
    int against[WORLD_ARMS] = {0}; /* all against the default */
    struct stats_comparison found[WORLD_ARMS];
    (void)stats_compare(points, count, against, (size_t)world->arm_count, confidence,
                        WORLD_TOLERANCE, found);
    *out = found[0];
}

/* Points of the blocks up to one. The order of points does not matter to a comparison. */
static size_t choose(const struct stats_point *points, size_t count, int block,
                     struct stats_point *out)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++)
        if (points[i].block <= block)
            out[chosen++] = points[i];
    return chosen;
}

/* One experiment, to its end or to the look that decides it: arm 1 against the default. */
static void experiment(const struct world *world, struct stats_comparison *out)
{
    const struct design design = {.order = world->order,
                                  .repetitions = world->blocks,
                                  .stop_early = world->stop_early,
                                  .confidence = WORLD_CONFIDENCE};
    size_t count = 0;
    struct stats_point *points = world_run(world, &count);
    struct stats_point *seen = mem_alloc(count, sizeof *seen);
    int last = design_blocks(&design);
    bool decided = false;
    *out = (struct stats_comparison){.verdict = VERDICT_INCONCLUSIVE};
    for (int block = 1; block <= last && !decided; block++) {
        if (block < last && !stopping_looks_after(&design, block))
            continue;
        size_t chosen = choose(points, count, block, seen);
        compare_first(world, seen, chosen, stopping_confidence(&design, block), out);
        decided = stopping_is_decided(out, 1);
    }
    free(seen);
    free(points);
}

double figure_coverage(const struct world *world, int experiments)
{
    struct stats_comparison found;
    double truth = world->truth[1] / world->truth[0];
    int inside = 0;
    for (int i = 0; i < experiments; i++) {
        experiment(world, &found);
        inside += found.low <= truth && truth <= found.high;
    }
    return (double)inside / experiments;
}

double figure_excludes_one(const struct world *world, int experiments)
{
    return 1 - figure_coverage(world, experiments);
}

double figure_says_different(const struct world *world, int experiments)
{
    struct stats_comparison found;
    int wrong = 0;
    for (int i = 0; i < experiments; i++) {
        experiment(world, &found);
        wrong += found.verdict == VERDICT_FASTER || found.verdict == VERDICT_SLOWER;
    }
    return (double)wrong / experiments;
}

double figure_says_faster(const struct world *world, int experiments)
{
    struct stats_comparison found;
    int right = 0;
    for (int i = 0; i < experiments; i++) {
        experiment(world, &found);
        right += found.verdict == VERDICT_FASTER;
    }
    return (double)right / experiments;
}

/* --- the sweet spot ----------------------------------------------------------------------- */

static int find_spot(const struct world *world, bool *out_keep_default)
{
    struct sweetspot_arm arms[WORLD_ARMS] = {0};
    struct sweetspot spot;
    size_t count = 0;
    struct stats_point *points = world_run(world, &count);
    for (int i = 0; i < world->arm_count; i++)
        arms[i] = (struct sweetspot_arm){.eligible = true,
                                         .is_default = i == 0,
                                         .memory_mib = i == 0 ? (double)NAN : world->memory[i],
                                         .cpu_s = NAN,
                                         .series = 1,
                                         .x = i == 0 ? (double)NAN : world->memory[i]};
    sweetspot_find(points, count, arms, (size_t)world->arm_count, WORLD_CONFIDENCE, WORLD_TOLERANCE,
                   &spot);
    int arm = spot.arm;
    *out_keep_default = spot.keep_default;
    sweetspot_fini(&spot);
    free(points);
    return arm;
}

/* The cheapest arm within the tolerance of the true best. */
static int true_spot(const struct world *world)
{
    double best = 0;
    for (int i = 0; i < world->arm_count; i++)
        best = fmax(best, world->truth[i]);
    for (int i = 0; i < world->arm_count; i++)
        if (world->truth[i] >= best * (1 - WORLD_TOLERANCE))
            return i; /* arms are in the order of their cost */
    return -1;
}

double figure_spot_within_a_step(const struct world *world, int experiments)
{
    bool keep_default = false;
    int truth = true_spot(world);
    int right = 0;
    for (int i = 0; i < experiments; i++)
        right += abs(find_spot(world, &keep_default) - truth) <= 1;
    return (double)right / experiments;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double figure_spot_memory(const struct world *world, int experiments)
{
    bool keep_default = false;
    double *ratios = mem_alloc((size_t)experiments, sizeof *ratios);
    double least = world->memory[true_spot(world)];
    for (int i = 0; i < experiments; i++)
        ratios[i] = world->memory[find_spot(world, &keep_default)] / least;
    qsort(ratios, (size_t)experiments, sizeof *ratios, by_value);
    double median = ratios[experiments / 2];
    free(ratios);
    return median;
}

double figure_keeps_default(const struct world *world, int experiments)
{
    int kept = 0;
    for (int i = 0; i < experiments; i++) {
        bool keep_default = false;
        (void)find_spot(world, &keep_default);
        kept += keep_default;
    }
    return (double)kept / experiments;
}

/* --- bottlenecks -------------------------------------------------------------------------- */

static enum bottleneck judge(const struct bottleneck_profile *profile)
{
    struct bottleneck_verdict verdict;
    bottleneck_judge(profile, &verdict);
    enum bottleneck bottleneck = verdict.bottleneck;
    bottleneck_verdict_fini(&verdict);
    return bottleneck;
}

double figure_labelled(const struct world *world, int experiments)
{
    (void)world;
    int right = 0;
    for (int i = 0; i < experiments; i++) {
        enum bottleneck label = (enum bottleneck)(i % BOTTLENECK_UNSURE);
        struct bottleneck_profile profile = profile_labelled(label);
        right += judge(&profile) == label;
    }
    return (double)right / experiments;
}

double figure_ambiguous(const struct world *world, int experiments)
{
    (void)world;
    int unsure = 0;
    for (int i = 0; i < experiments; i++) {
        struct bottleneck_profile profile = profile_ambiguous(i % AMBIGUOUS_KINDS);
        unsure += judge(&profile) == BOTTLENECK_UNSURE;
    }
    return (double)unsure / experiments;
}
