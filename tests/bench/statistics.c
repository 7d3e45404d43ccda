/* What the statistics promise, measured: simulated experiments with a known truth go through the
 * same design, comparison and sweet spot as real ones, and the table says how often the answer
 * was right. Usage: statistics [EXPERIMENTS [SEED]]. Exit 1 when a bar is missed. */
#include "jobs/measure/design.h"
#include "jobs/measure/stats.h"
#include "jobs/measure/sweetspot.h"
#include "server/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ARMS_MAX 16
#define CONFIDENCE 0.95
#define TOLERANCE 0.02

/* One world to measure in. */
struct world {
    int arm_count;
    double truth[ARMS_MAX];  /* true rate of each arm */
    double memory[ARMS_MAX]; /* what it costs */
    int blocks;
    enum design_order order;
    double noise;    /* standard deviation of the logarithm */
    double drift;    /* change of the rate over the whole session, 0.2: ends 20 % higher */
    double outliers; /* share of trials slowed 1.5 to 3 times */
};

/* --- chance ------------------------------------------------------------------------------- */

static uint64_t chance_state = 1;

static double chance(void) /* uniform in (0, 1) */
{
    chance_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = chance_state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    mixed ^= mixed >> 31;
    return ((double)(mixed >> 11) + 0.5) / 9007199254740992.0;
}

static double chance_normal(void) /* Box and Muller */
{
    double radius = sqrt(-2 * log(chance()));
    return radius * cos(2 * acos(-1) * chance());
}

/* --- one experiment ----------------------------------------------------------------------- */

static struct stats_point *run(const struct world *world, size_t *out_count)
{
    struct design design = {.order = world->order,
                            .repetitions = world->blocks,
                            .warmups = 1,
                            .seed = (int64_t)(chance() * 1e15)};
    bool fixed = world->order == DESIGN_SEQUENTIAL;
    size_t step_count = 0;
    struct design_step *steps = design_steps(&design, 0, world->arm_count, 0, &step_count);
    struct stats_point *points = mem_alloc(step_count, sizeof *points);
    size_t count = 0;
    for (size_t i = 0; i < step_count; i++) {
        double when = step_count > 1 ? (double)i / (double)(step_count - 1) : 0;
        double rate = world->truth[steps[i].arm] * exp(world->noise * chance_normal()) *
                      exp(log1p(world->drift) * when);
        if (chance() < world->outliers)
            rate /= 1.5 + 1.5 * chance();
        if (!steps[i].warmup)
            points[count++] =
                (struct stats_point){.arm = steps[i].arm,
                                     .block = steps[i].block,
                                     .rate = rate,
                                     .position = fixed ? 1 + (int)i % world->arm_count : 0};
    }
    free(steps);
    *out_count = count;
    return points;
}

static size_t compare(const struct world *world, struct stats_comparison *out)
{
    int against[ARMS_MAX] = {0}; /* all against the first */
    size_t count = 0;
    struct stats_point *points = run(world, &count);
    count =
        stats_compare(points, count, against, (size_t)world->arm_count, CONFIDENCE, TOLERANCE, out);
    free(points);
    return count;
}

static int find_spot(const struct world *world, bool *out_keep_default)
{
    struct sweetspot_arm arms[ARMS_MAX] = {0};
    struct sweetspot spot;
    size_t count = 0;
    struct stats_point *points = run(world, &count);
    for (int i = 0; i < world->arm_count; i++)
        arms[i] = (struct sweetspot_arm){.eligible = true,
                                         .is_default = i == 0,
                                         .memory_mib = world->memory[i],
                                         .cpu_s = NAN,
                                         .series = 1,
                                         .x = i == 0 ? NAN : world->memory[i]};
    sweetspot_find(points, count, arms, (size_t)world->arm_count, CONFIDENCE, TOLERANCE, &spot);
    int arm = spot.arm;
    *out_keep_default = spot.keep_default;
    sweetspot_fini(&spot);
    free(points);
    return arm;
}

/* --- figures: each returns a share or a median over `experiments` --------------------------- */

static double coverage(const struct world *world, int experiments)
{
    struct stats_comparison found[ARMS_MAX];
    double truth = world->truth[1] / world->truth[0];
    int inside = 0;
    for (int i = 0; i < experiments; i++) {
        (void)compare(world, found);
        inside += found[0].low <= truth && truth <= found[0].high;
    }
    return (double)inside / experiments;
}

static double excludes_one(const struct world *world, int experiments)
{
    return 1 - coverage(world, experiments); /* both arms are the same in these worlds */
}

static double says_different(const struct world *world, int experiments)
{
    struct stats_comparison found[ARMS_MAX];
    int wrong = 0;
    for (int i = 0; i < experiments; i++) {
        (void)compare(world, found);
        wrong += found[0].verdict == VERDICT_FASTER || found[0].verdict == VERDICT_SLOWER;
    }
    return (double)wrong / experiments;
}

static double says_faster(const struct world *world, int experiments)
{
    struct stats_comparison found[ARMS_MAX];
    int right = 0;
    for (int i = 0; i < experiments; i++) {
        (void)compare(world, found); /* the faster arm is number 1 */
        right += found[0].verdict == VERDICT_FASTER;
    }
    return (double)right / experiments;
}

/* The cheapest arm within the tolerance of the true best. */
static int true_spot(const struct world *world)
{
    double best = 0;
    for (int i = 0; i < world->arm_count; i++)
        best = fmax(best, world->truth[i]);
    for (int i = 0; i < world->arm_count; i++)
        if (world->truth[i] >= best * (1 - TOLERANCE))
            return i; /* arms are in the order of their cost */
    return -1;
}

static double spot_within_a_step(const struct world *world, int experiments)
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

static double spot_memory(const struct world *world, int experiments)
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

static double spot_keeps_default(const struct world *world, int experiments)
{
    int kept = 0;
    for (int i = 0; i < experiments; i++) {
        bool keep_default = false;
        (void)find_spot(world, &keep_default);
        kept += keep_default;
    }
    return (double)kept / experiments;
}

/* --- the table ---------------------------------------------------------------------------- */

enum curve { CURVE_TWO, CURVE_TWELVE, CURVE_EXPONENTIAL, CURVE_HYPERBOLA };
enum grid { GRID_NONE, GRID_EVEN, GRID_WIDENING };

/* BUFFERCOUNT: the default's 7, then as the published sweep has it; and in growing steps. */
static const double grids[][12] = {
    [GRID_NONE] = {7, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550},
    [GRID_EVEN] = {7, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550},
    [GRID_WIDENING] = {7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500},
};

struct row {
    const char *figure;
    double (*measure)(const struct world *, int);
    enum curve curve;
    enum grid grid;
    double effect; /* of arm 1 */
    int blocks;
    enum design_order order;
    double noise, drift, outliers;
    double low, high; /* the bar */
};

#define TWO CURVE_TWO, GRID_NONE
#define TWELVE CURVE_TWELVE, GRID_NONE
#define BLOCKS DESIGN_RANDOM_BLOCKS
#define RISE CURVE_EXPONENTIAL
#define KNEE CURVE_HYPERBOLA

/* clang-format off */
static const struct row rows[] = {
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03,  5, BLOCKS, 0.02, 0,    0,    0.93, 0.97},
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03,  5, BLOCKS, 0.05, 0,    0,    0.93, 0.97},
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03,  5, BLOCKS, 0.02, 0.20, 0,    0.93, 0.97},
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03,  5, BLOCKS, 0.05, 0.20, 0,    0.93, 0.97},
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03, 10, BLOCKS, 0.02, 0,    0,    0.93, 0.97},
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03, 10, BLOCKS, 0.05, 0,    0,    0.93, 0.97},
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03, 10, BLOCKS, 0.02, 0.20, 0,    0.93, 0.97},
    {"coverage of the 95 % interval",     coverage,           TWO, 0.03, 10, BLOCKS, 0.05, 0.20, 0,    0.93, 0.97},
    {"coverage with outliers",            coverage,           TWO, 0.03,  5, BLOCKS, 0.02, 0,    0.05, 0.92, 0.99},
    {"coverage with outliers",            coverage,           TWO, 0.03,  5, BLOCKS, 0.05, 0,    0.05, 0.92, 0.99},
    {"coverage with outliers",            coverage,           TWO, 0.03,  5, BLOCKS, 0.02, 0.20, 0.05, 0.92, 0.99},
    {"coverage with outliers",            coverage,           TWO, 0.03,  5, BLOCKS, 0.05, 0.20, 0.05, 0.92, 0.99},
    {"coverage with outliers",            coverage,           TWO, 0.03, 10, BLOCKS, 0.02, 0,    0.05, 0.92, 0.99},
    {"coverage with outliers",            coverage,           TWO, 0.03, 10, BLOCKS, 0.05, 0,    0.05, 0.92, 0.99},
    {"coverage with outliers",            coverage,           TWO, 0.03, 10, BLOCKS, 0.02, 0.20, 0.05, 0.92, 0.99},
    {"coverage with outliers",            coverage,           TWO, 0.03, 10, BLOCKS, 0.05, 0.20, 0.05, 0.92, 0.99},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, BLOCKS, 0.03, 0,    0,    0.03, 0.07},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, BLOCKS, 0.03, 0.05, 0,    0.03, 0.07},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, BLOCKS, 0.03, 0.10, 0,    0.03, 0.07},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, BLOCKS, 0.03, 0.20, 0,    0.03, 0.07},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, DESIGN_ABBA, 0.03, 0,    0, 0,   0.07},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, DESIGN_ABBA, 0.03, 0.05, 0, 0,   0.07},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, DESIGN_ABBA, 0.03, 0.10, 0, 0,   0.07},
    {"A/A: the interval excludes 1",      excludes_one,       TWO, 0,     5, DESIGN_ABBA, 0.03, 0.20, 0, 0,   0.07},
    {"A/A: verdict faster or slower",     says_different,     TWO, 0,     5, BLOCKS, 0.03, 0,    0,    0,    0.07},
    {"A/A: verdict faster or slower",     says_different,     TWO, 0,     5, BLOCKS, 0.03, 0.20, 0,    0,    0.07},
    {"A/A: verdict faster or slower",     says_different,     TWO, 0,     5, DESIGN_ABBA, 0.03, 0.20, 0, 0,   0.07},
    {"A/A: verdict faster or slower",     says_different,     TWO, 0,     5, DESIGN_SEQUENTIAL, 0.03, 0,    0, 0, 0.07},
    {"A/A: verdict faster or slower",     says_different,     TWO, 0,     5, DESIGN_SEQUENTIAL, 0.03, 0.05, 0, 0, 0.07},
    {"A/A: verdict faster or slower",     says_different,     TWO, 0,     5, DESIGN_SEQUENTIAL, 0.03, 0.10, 0, 0, 0.07},
    {"A/A: verdict faster or slower",     says_different,     TWO, 0,     5, DESIGN_SEQUENTIAL, 0.03, 0.20, 0, 0, 0.07},
    {"two arms, 5 % effect: faster",      says_faster,        TWO, 0.05,  5, BLOCKS, 0.01, 0,    0,    0.95, 1},
    {"twelve arms, one 5 %: faster",      says_faster,     TWELVE, 0.05,  5, BLOCKS, 0.01, 0,    0,    0.90, 1},
    {"twelve arms, one 5 %, outliers",    says_faster,     TWELVE, 0.05,  5, BLOCKS, 0.01, 0,    0.05, 0,    1},
    {"spot within a step, 1-0.6exp",      spot_within_a_step, RISE, GRID_EVEN,     0, 10, BLOCKS, 0.02, 0.2,  0, 0.95, 1},
    {"spot within a step, 1-0.6exp",      spot_within_a_step, RISE, GRID_EVEN,     0, 10, BLOCKS, 0.02, -0.2, 0, 0.95, 1},
    {"spot within a step, 1-0.6exp",      spot_within_a_step, RISE, GRID_WIDENING, 0, 10, BLOCKS, 0.02, 0.2,  0, 0.95, 1},
    {"spot within a step, 1-0.6exp",      spot_within_a_step, RISE, GRID_WIDENING, 0, 10, BLOCKS, 0.02, -0.2, 0, 0.95, 1},
    {"spot within a step, b/(b+12)",      spot_within_a_step, KNEE, GRID_EVEN,     0, 10, BLOCKS, 0.02, 0.2,  0, 0.95, 1},
    {"spot within a step, b/(b+12)",      spot_within_a_step, KNEE, GRID_EVEN,     0, 10, BLOCKS, 0.02, -0.2, 0, 0.95, 1},
    {"spot within a step, b/(b+12)",      spot_within_a_step, KNEE, GRID_WIDENING, 0, 10, BLOCKS, 0.02, 0.2,  0, 0.95, 1},
    {"spot within a step, b/(b+12)",      spot_within_a_step, KNEE, GRID_WIDENING, 0, 10, BLOCKS, 0.02, -0.2, 0, 0.95, 1},
    {"memory / least, 1-0.6exp",          spot_memory,        RISE, GRID_EVEN,     0, 10, BLOCKS, 0.02, 0,    0, 0.75, 1.3},
    {"memory / least, 1-0.6exp",          spot_memory,        RISE, GRID_EVEN,     0, 10, BLOCKS, 0.05, 0,    0, 0.60, 1.3},
    {"memory / least, b/(b+12)",          spot_memory,        KNEE, GRID_EVEN,     0, 10, BLOCKS, 0.02, 0,    0, 0.75, 1.3},
    {"memory / least, b/(b+12)",          spot_memory,        KNEE, GRID_EVEN,     0, 10, BLOCKS, 0.05, 0,    0, 0.60, 1.3},
    {"memory / least, b/(b+12)",          spot_memory,        KNEE, GRID_WIDENING, 0, 10, BLOCKS, 0.02, 0,    0, 0.75, 1.3},
    {"memory / least, b/(b+12)",          spot_memory,        KNEE, GRID_WIDENING, 0, 10, BLOCKS, 0.05, 0,    0, 0.60, 1.3},
    {"flat curve: keep the default",      spot_keeps_default, TWELVE, 0,  5, BLOCKS, 0.02, 0,    0,    0.95, 1},
    {"flat curve: keep the default",      spot_keeps_default, TWELVE, 0,  5, BLOCKS, 0.05, 0,    0,    0.95, 1},
    {"flat curve: keep the default",      spot_keeps_default, TWELVE, 0, 10, BLOCKS, 0.02, 0,    0,    0.95, 1},
    {"flat curve: keep the default",      spot_keeps_default, TWELVE, 0, 10, BLOCKS, 0.05, 0,    0,    0.95, 1},
};
/* clang-format on */

static struct world world_of(const struct row *row)
{
    struct world world = {.arm_count = row->curve == CURVE_TWO ? 2 : 12,
                          .blocks = row->blocks,
                          .order = row->order,
                          .noise = row->noise,
                          .drift = row->drift,
                          .outliers = row->outliers};
    for (int i = 0; i < world.arm_count; i++) {
        double buffers = grids[row->grid][i];
        world.memory[i] = buffers;
        world.truth[i] = 1;
        if (row->curve == CURVE_EXPONENTIAL)
            world.truth[i] = 1 - 0.6 * exp(-buffers / 35);
        if (row->curve == CURVE_HYPERBOLA)
            world.truth[i] = buffers / (buffers + 12);
    }
    world.truth[1] *= 1 + row->effect;
    return world;
}

int main(int argc, char **argv)
{
    int experiments = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 42;
    int missed = 0;
    if (experiments < 1)
        experiments = 1;
    printf("%-32s %2s %6s %5s %5s %-13s | %-12s | %8s | %s\n", "figure", "n", "noise", "drift",
           "slow", "order", "bar", "measured", "experiments");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        struct world world = world_of(row);
        chance_state = seed + i * UINT64_C(0x632BE59BD9B4E019);
        double measured = row->measure(&world, experiments);
        bool met = measured >= row->low && measured <= row->high;
        missed += !met;
        printf("%-32s %2d %5.1f%% %4.0f%% %4.0f%% %-13s | %.2f to %.2f | %8.4f | %d%s\n",
               row->figure, row->blocks, row->noise * 100, row->drift * 100, row->outliers * 100,
               design_order_name(row->order), row->low, row->high, measured, experiments,
               met ? "" : "  MISSED");
    }
    printf("%d of %zu rows missed their bar (seed %llu)\n", missed, sizeof rows / sizeof rows[0],
           (unsigned long long)seed);
    return missed > 0;
}
