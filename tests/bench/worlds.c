#include "tests/bench/worlds.h"

#include "server/mem.h"
#include "tests/bench/chance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- one experiment ----------------------------------------------------------------------- */

struct design world_design(const struct world *world)
{
    return (struct design){.order = world->order,
                           .repetitions = world->blocks,
                           .warmups = 1,
                           .seed = (int64_t)(chance() * 1e15),
                           .stop_early = world->stop_early,
                           .confidence = WORLD_CONFIDENCE,
                           .tolerance = WORLD_TOLERANCE};
}

double world_measure(const struct world *world, int arm, double when)
{
    double rate =
        world->truth[arm] * exp(world->noise * chance_normal()) * exp(log1p(world->drift) * when);
    if (chance() < world->outliers)
        rate /= chance_between(1.5, 3);
    return rate;
}

struct stats_point *world_run(const struct world *world, size_t *out_count)
{
    struct design design = world_design(world);
    bool fixed = world->order == DESIGN_SEQUENTIAL;
    size_t step_count = 0;
    size_t count = 0;
    struct design_step *steps = design_steps(&design, 0, world->arm_count, 0, &step_count);
    struct stats_point *points = mem_alloc(step_count, sizeof *points);
    for (size_t i = 0; i < step_count; i++) {
        double when = step_count > 1 ? (double)i / (double)(step_count - 1) : 0;
        double rate = world_measure(world, steps[i].arm, when);
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

/* --- two swept options -------------------------------------------------------------------- */

#define COUNTS 12
#define SIZES 6
#define NEAR 0.03

static const int buffers[COUNTS] = {7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500};
static const int sizes_kib[SIZES] = {64, 128, 256, 512, 1024, 4096};

static int count_near(const struct world *world)
{
    double best = 0;
    int count = 0;
    for (int i = 0; i < world->arm_count; i++)
        best = fmax(best, world->truth[i]);
    for (int i = 0; i < world->arm_count; i++)
        count += world->truth[i] >= best * (1 - NEAR);
    return count;
}

/* Both options saturate, at a place of their own, and no surface is quite smooth (1 %). */
static void draw_grid(struct world *out)
{
    double half_count = 3 * exp(chance_between(0, log(20)));
    double half_size = 40 * exp(chance_between(0, log(10)));
    for (int i = 0; i < WORLD_ARMS; i++) {
        const int row = i / SIZES;
        double count = buffers[row];
        double size = sizes_kib[i % SIZES];
        out->truth[i] =
            count / (count + half_count) * size / (size + half_size) * exp(0.01 * chance_normal());
    }
}

static void draw_top(struct world *out)
{
    for (int i = 0; i < WORLD_ARMS; i++)
        out->truth[i] = i < FIELD_TOP_MOST ? 1 - NEAR * chance() : chance_between(0.5, 1 - NEAR);
    out->truth[0] = 1;
    for (int i = WORLD_ARMS - 1; i > 0; i--) {
        int other = (int)(chance() * (i + 1));
        double kept = out->truth[i];
        out->truth[i] = out->truth[other];
        out->truth[other] = kept;
    }
}

static void add_option(struct arm *arm, const char *name, int value)
{
    if (arm->baseline)
        cJSON_AddStringToObject(arm->settings, name, "default");
    else
        cJSON_AddNumberToObject(arm->settings, name, value);
}

void world_draw_field(enum field field, struct world *out, struct arm *out_arms)
{
    out->arm_count = WORLD_ARMS;
    do {
        if (field == FIELD_GRID)
            draw_grid(out);
        else
            draw_top(out);
    } while (count_near(out) > FIELD_TOP_MOST);
    for (int i = 0; i < WORLD_ARMS; i++) {
        struct arm *arm = &out_arms[i];
        *arm = (struct arm){.index = i, .baseline = i == 0, .settings = cJSON_CreateObject()};
        const int count = buffers[i / SIZES];
        const int size_kib = sizes_kib[i % SIZES];
        out->memory[i] = count * (size_kib / 1024.0);
        arm->buffer_memory_mib = i == 0 ? (double)NAN : out->memory[i];
        add_option(arm, "buffercount", count);
        add_option(arm, "maxtransfersize", size_kib * 1024);
        cJSON_AddStringToObject(arm->settings, "target", "NUL");
    }
}

void world_settings_free(struct arm *arms, int count)
{
    for (int i = 0; i < count; i++)
        cJSON_Delete(arms[i].settings);
}
