/* What the statistics promise, measured: simulated experiments with a known truth go through the
 * same code as real ones, and the tables say how often the answer was right.
 * Usage: statistics [EXPERIMENTS [SEED [FIGURE]]], the last to measure only figures whose name so
 * begins; or statistics --short: few experiments, bars as wide as so few need, for the test suite.
 * Exit 1 when a bar is missed. */
#include "tests/bench/chance.h"
#include "tests/bench/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum curve { CURVE_TWO, CURVE_TWELVE, CURVE_EXPONENTIAL, CURVE_HYPERBOLA, CURVE_RAMP, CURVE_HUMP };
enum grid { GRID_NONE, GRID_EVEN, GRID_WIDENING };

/* BUFFERCOUNT: the default's 7, then as the published sweep has it; and in growing steps. */
static const double grids[][12] = {
    [GRID_NONE] = {7, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550},
    [GRID_EVEN] = {7, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550},
    [GRID_WIDENING] = {7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500},
};

/* What an experiment is made in. */
struct condition {
    enum curve curve;
    enum grid grid;
    int blocks;
    enum design_order order;
    double noise, drift, outliers;
};

/* clang-format off */
#define TWO CURVE_TWO, GRID_NONE
#define TWELVE CURVE_TWELVE, GRID_NONE
#define RISE CURVE_EXPONENTIAL
#define KNEE CURVE_HYPERBOLA
#define EVEN GRID_EVEN
#define WIDE GRID_WIDENING
#define BLOCKS DESIGN_RANDOM_BLOCKS
#define ABBA DESIGN_ABBA
#define FIXED DESIGN_SEQUENTIAL

static const struct condition plain[] = {
    {TWO,  5, BLOCKS, 0.02, 0, 0}, {TWO,  5, BLOCKS, 0.02, 0.20, 0},
    {TWO,  5, BLOCKS, 0.05, 0, 0}, {TWO,  5, BLOCKS, 0.05, 0.20, 0},
    {TWO, 10, BLOCKS, 0.02, 0, 0}, {TWO, 10, BLOCKS, 0.02, 0.20, 0},
    {TWO, 10, BLOCKS, 0.05, 0, 0}, {TWO, 10, BLOCKS, 0.05, 0.20, 0},
};
static const struct condition slowed[] = {
    {TWO,  5, BLOCKS, 0.02, 0, 0.05}, {TWO,  5, BLOCKS, 0.02, 0.20, 0.05},
    {TWO,  5, BLOCKS, 0.05, 0, 0.05}, {TWO,  5, BLOCKS, 0.05, 0.20, 0.05},
    {TWO, 10, BLOCKS, 0.02, 0, 0.05}, {TWO, 10, BLOCKS, 0.02, 0.20, 0.05},
    {TWO, 10, BLOCKS, 0.05, 0, 0.05}, {TWO, 10, BLOCKS, 0.05, 0.20, 0.05},
};
static const struct condition equal[] = {
    {TWO, 5, BLOCKS, 0.03, 0,    0}, {TWO, 5, BLOCKS, 0.03, 0.05, 0},
    {TWO, 5, BLOCKS, 0.03, 0.10, 0}, {TWO, 5, BLOCKS, 0.03, 0.20, 0},
};
static const struct condition equal_abba[] = {
    {TWO, 5, ABBA, 0.03, 0,    0}, {TWO, 5, ABBA, 0.03, 0.05, 0},
    {TWO, 5, ABBA, 0.03, 0.10, 0}, {TWO, 5, ABBA, 0.03, 0.20, 0},
};
static const struct condition equal_any[] = {
    {TWO, 5, BLOCKS, 0.03, 0,    0}, {TWO, 5, BLOCKS, 0.03, 0.05, 0},
    {TWO, 5, BLOCKS, 0.03, 0.10, 0}, {TWO, 5, BLOCKS, 0.03, 0.20, 0},
    {TWO, 5, ABBA,   0.03, 0,    0}, {TWO, 5, ABBA,   0.03, 0.05, 0},
    {TWO, 5, ABBA,   0.03, 0.10, 0}, {TWO, 5, ABBA,   0.03, 0.20, 0},
    {TWO, 5, FIXED,  0.03, 0,    0}, {TWO, 5, FIXED,  0.03, 0.05, 0},
    {TWO, 5, FIXED,  0.03, 0.10, 0}, {TWO, 5, FIXED,  0.03, 0.20, 0},
};
static const struct condition equal_early[] = {
    {TWO,  5, BLOCKS, 0.03, 0, 0}, {TWO,  5, BLOCKS, 0.03, 0.20, 0},
    {TWO, 10, BLOCKS, 0.03, 0, 0}, {TWO, 10, BLOCKS, 0.03, 0.20, 0},
    {TWO, 10, ABBA,   0.03, 0, 0}, {TWO, 10, ABBA,   0.03, 0.20, 0},
};
static const struct condition two_quiet[] = {{TWO, 5, BLOCKS, 0.01, 0, 0}};
static const struct condition twelve_quiet[] = {{TWELVE, 5, BLOCKS, 0.01, 0, 0}};
static const struct condition knees[] = {
    {RISE, EVEN, 10, BLOCKS, 0.02, 0.2, 0}, {RISE, EVEN, 10, BLOCKS, 0.02, -0.2, 0},
    {RISE, WIDE, 10, BLOCKS, 0.02, 0.2, 0}, {RISE, WIDE, 10, BLOCKS, 0.02, -0.2, 0},
    {KNEE, EVEN, 10, BLOCKS, 0.02, 0.2, 0}, {KNEE, EVEN, 10, BLOCKS, 0.02, -0.2, 0},
    {KNEE, WIDE, 10, BLOCKS, 0.02, 0.2, 0}, {KNEE, WIDE, 10, BLOCKS, 0.02, -0.2, 0},
};
static const struct condition strangers[] = {
    {CURVE_RAMP, EVEN, 10, BLOCKS, 0.02, 0.2, 0}, {CURVE_RAMP, WIDE, 10, BLOCKS, 0.02, 0.2, 0},
    {CURVE_HUMP, EVEN, 10, BLOCKS, 0.02, 0.2, 0}, {CURVE_HUMP, WIDE, 10, BLOCKS, 0.02, 0.2, 0},
};
static const struct condition quiet[] = {
    {RISE, EVEN, 10, BLOCKS, 0.02, 0, 0}, {RISE, WIDE, 10, BLOCKS, 0.02, 0, 0},
    {KNEE, EVEN, 10, BLOCKS, 0.02, 0, 0}, {KNEE, WIDE, 10, BLOCKS, 0.02, 0, 0},
};
static const struct condition noisy[] = {
    {RISE, EVEN, 10, BLOCKS, 0.05, 0, 0}, {RISE, WIDE, 10, BLOCKS, 0.05, 0, 0},
    {KNEE, EVEN, 10, BLOCKS, 0.05, 0, 0}, {KNEE, WIDE, 10, BLOCKS, 0.05, 0, 0},
};
static const struct condition flat[] = {
    {TWELVE,  5, BLOCKS, 0.02, 0, 0}, {TWELVE,  5, BLOCKS, 0.05, 0, 0},
    {TWELVE, 10, BLOCKS, 0.02, 0, 0}, {TWELVE, 10, BLOCKS, 0.05, 0, 0},
};
static const struct condition drawn[] = {{TWO, 10, BLOCKS, 0.02, 0, 0}};

struct figure {
    const char *name;
    double (*measure)(const struct world *, int);
    double low, high; /* the bar */
    const struct condition *conditions;
    size_t count;
    double effect;    /* of arm 1 */
    int per;          /* one experiment in so many: what takes long runs less often */
    bool stop_early;
};

#define IN(conditions) (conditions), sizeof(conditions) / sizeof((conditions)[0])

static const struct figure figures[] = {
    {"coverage of the 95 % interval",                 figure_coverage,           0.93, 0.97, IN(plain),        0.03, 1,  false},
    {"coverage, 5 % of trials slowed",                figure_coverage,           0.92, 0.99, IN(slowed),       0.03, 1,  false},
    {"equal arms, random blocks: interval excludes 1", figure_excludes_one,      0.03, 0.07, IN(equal),        0,    1,  false},
    {"equal arms, ABBA: interval excludes 1",         figure_excludes_one,       0,    0.07, IN(equal_abba),   0,    1,  false},
    {"equal arms, any order: faster or slower",       figure_says_different,     0,    0.07, IN(equal_any),    0,    1,  false},
    {"two arms, 5 % effect: faster",                  figure_says_faster,        0.95, 1,    IN(two_quiet),    0.05, 1,  false},
    {"twelve arms, one with 5 % effect: faster",      figure_says_faster,        0.90, 1,    IN(twelve_quiet), 0.05, 1,  false},
    {"sweet spot within a step of the true one",      figure_spot_within_a_step, 0.95, 1,    IN(knees),        0,    5,  false},
    {"the same on curves of another family", figure_spot_within_a_step, 0.95, 1,   IN(strangers),    0,    5,  false},
    {"memory / true minimum, median, noise 2 %",      figure_spot_memory,        0.75, 1.3,  IN(quiet),        0,    5,  false},
    {"memory / true minimum, median, noise 5 %",      figure_spot_memory,        0.60, 1.3,  IN(noisy),        0,    5,  false},
    {"flat curve: keep_default",                      figure_keeps_default,      0.95, 1,    IN(flat),         0,    5,  false},
    {"race, drawn grids: trials, 90th percentile",    figure_race_trials_grid,   0,    0.40, IN(drawn),        0,    10, false},
    {"race, 17 at the top: trials, 90th percentile",  figure_race_trials_top,    0,    0.40, IN(drawn),        0,    10, false},
    {"race, drawn grids: fastest within 3 %",         figure_race_best_grid,     0.95, 1,    IN(drawn),        0,    10, false},
    {"race, 17 at the top: fastest within 3 %",       figure_race_best_top,      0.95, 1,    IN(drawn),        0,    10, false},
    {"race, drawn grids: recommended within 3 %",     figure_race_spot_grid,     0.95, 1,    IN(drawn),        0,    10, false},
    {"race, 17 at the top: recommended within 3 %",   figure_race_spot_top,      0.95, 1,    IN(drawn),        0,    10, false},
    {"stop_early: coverage",                          figure_coverage,           0.93, 0.97, IN(plain),        0.03, 1,  true},
    {"stop_early: coverage, 5 % of trials slowed",    figure_coverage,           0.92, 0.99, IN(slowed),       0.03, 1,  true},
    {"stop_early, equal arms: faster or slower",      figure_says_different,     0,    0.07, IN(equal_early),  0,    1,  true},
    {"bottleneck: right on labelled profiles",        figure_labelled,           0.95, 1,    IN(drawn),        0,    1,  false},
    {"bottleneck: unsure of ambiguous profiles",      figure_ambiguous,          0.90, 1,    IN(drawn),        0,    1,  false},
};
/* clang-format on */

#define FIGURES (sizeof figures / sizeof figures[0])

static double truth_of(enum curve curve, double buffers)
{
    switch (curve) {
    case CURVE_TWO:
    case CURVE_TWELVE:
        break;
    case CURVE_EXPONENTIAL:
        return 1 - 0.6 * exp(-buffers / 35);
    case CURVE_HYPERBOLA:
        return buffers / (buffers + 12);
    case CURVE_RAMP: /* in proportion, up to a sharp edge */
        return fmin(1, buffers / 160);
    case CURVE_HUMP: /* too many buffers cost */
        return buffers / (buffers + 30) * (buffers > 250 ? exp(-(buffers - 250) / 1500) : 1);
    }
    return 1;
}

static struct world world_of(const struct figure *figure, const struct condition *condition)
{
    struct world world = {.arm_count = condition->curve == CURVE_TWO ? 2 : 12,
                          .blocks = condition->blocks,
                          .order = condition->order,
                          .noise = condition->noise,
                          .drift = condition->drift,
                          .outliers = condition->outliers,
                          .stop_early = figure->stop_early};
    for (int i = 0; i < world.arm_count; i++) {
        world.memory[i] = grids[condition->grid][i];
        world.truth[i] = truth_of(condition->curve, world.memory[i]);
    }
    world.truth[1] *= 1 + figure->effect;
    return world;
}

/* Few experiments may miss a bar by chance: five standard errors of a share, or a fifth of a ratio,
 * or a twentieth of the trials. */
static double slack(const struct figure *figure, double bar, int experiments)
{
    if (figure->measure == figure_spot_memory)
        return 0.2;
    if (figure->measure == figure_race_trials_grid || figure->measure == figure_race_trials_top)
        return 0.05;
    return 5 * sqrt(fmax(bar * (1 - bar), 0.02) / experiments);
}

struct run {
    int experiments; /* of a row that takes no longer than others */
    bool few;        /* bars are widened for them */
    uint64_t seed;
    const char *only;    /* begin of the names of figures to measure */
    size_t index;        /* of the next row, measured or not: its chance follows from it */
    size_t rows, missed; /* so far */
};

static double measure(struct run *run, const struct figure *figure,
                      const struct condition *condition)
{
    struct world world = world_of(figure, condition);
    int experiments = run->experiments > figure->per ? run->experiments / figure->per : 1;
    chance_seed(run->seed + run->index++ * UINT64_C(0x632BE59BD9B4E019));
    double measured = figure->measure(&world, experiments);
    bool met = measured >= figure->low - (run->few ? slack(figure, figure->low, experiments) : 0) &&
               measured <= figure->high + (run->few ? slack(figure, figure->high, experiments) : 0);
    run->rows++;
    run->missed += !met;
    printf("| %-46s | %2d | %.0f %% | %3.0f %% | %.0f %% | %-13s | %.2f to %.2f | %.4f | %5d |%s\n",
           figure->name, condition->blocks, condition->noise * 100, condition->drift * 100,
           condition->outliers * 100, design_order_name(condition->order), figure->low,
           figure->high, measured, experiments, met ? "" : " MISSED");
    (void)fflush(stdout);
    return measured;
}

static bool is_wanted(const struct run *run, const struct figure *figure)
{
    return strncmp(figure->name, run->only, strlen(run->only)) == 0;
}

/* A figure in all its conditions; the least and the most measured. */
static void measure_all(struct run *run, const struct figure *figure, double out_ends[2])
{
    out_ends[0] = INFINITY;
    out_ends[1] = -INFINITY;
    for (size_t i = 0; i < figure->count; i++) {
        double measured = measure(run, figure, &figure->conditions[i]);
        out_ends[0] = fmin(out_ends[0], measured);
        out_ends[1] = fmax(out_ends[1], measured);
    }
}

static void print_summary(const struct run *run, double ends[][2])
{
    printf("\n| figure | rows | bar | measured, least to most | experiments a row |\n"
           "|---|---:|---|---|---:|\n");
    for (size_t i = 0; i < FIGURES; i++)
        if (is_wanted(run, &figures[i]))
            printf("| %s | %zu | %g to %g | %.3f to %.3f | %d |\n", figures[i].name,
                   figures[i].count, figures[i].low, figures[i].high, ends[i][0], ends[i][1],
                   run->experiments / figures[i].per);
    printf("\n%zu of %zu rows missed their bar (seed %llu)\n", run->missed, run->rows,
           (unsigned long long)run->seed);
}

int main(int argc, char **argv)
{
    double ends[FIGURES][2];
    bool few = argc > 1 && strcmp(argv[1], "--short") == 0;
    struct run run = {.experiments = few        ? 200
                                     : argc > 1 ? (int)strtol(argv[1], NULL, 10)
                                                : 10000,
                      .few = few,
                      .only = argc > 3 ? argv[3] : "",
                      .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 42};
    if (run.experiments < 10) {
        (void)fprintf(stderr,
                      "usage: statistics [EXPERIMENTS (10 or more) [SEED [FIGURE]]] | --short\n");
        return 2;
    }
    printf("| figure | blocks | noise | drift | slowed | order | bar | measured | experiments |\n"
           "|---|---:|---:|---:|---:|---|---|---:|---:|\n");
    for (size_t i = 0; i < FIGURES; i++) {
        if (is_wanted(&run, &figures[i]))
            measure_all(&run, &figures[i], ends[i]);
        else
            run.index += figures[i].count;
    }
    print_summary(&run, ends);
    return run.missed > 0;
}
