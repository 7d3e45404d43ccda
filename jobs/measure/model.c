#include "jobs/measure/model.h"

#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS_MAX 2000
#define CLOSE 1e-13        /* of a logarithm: a rate of 1000 MiB/s to the tenth of a byte */
#define EXACT 1e-10        /* noise below this is rounding of doubles, not noise */
#define OUTLIER_ALPHA 0.01 /* chance of setting anything aside where nothing is out of the way */
#define OUTLIER_LEAST 0.05 /* never for less than 5 %: clocks tick in whole milliseconds */
#define OUTLIER_SHARE 5    /* at most one trial in five */
#define PATIENCE_LEAST 8   /* farthest points looked behind, when the nearest ones prove nothing: */
#define PATIENCE_SHARE 20  /* one trial in twenty */

/* One half of a turn: levels of arms given blocks, or of blocks given arms. Returns the largest
 * move. */
static double solve_half(struct model *model, bool for_arms)
{
    double *level = for_arms ? model->arm : model->block;
    const double *other = for_arms ? model->block : model->arm;
    const int *n = for_arms ? model->arm_n : model->block_n;
    size_t count = for_arms ? model->arm_count : model->block_count;
    double moved = 0;

    memset(model->sums, 0, count * sizeof *model->sums);
    for (size_t i = 0; i < model->point_count; i++) {
        int arm = model->points[i].arm;
        int block = model->points[i].block;
        if (model->used[i])
            model->sums[for_arms ? arm : block] += model->y[i] - other[for_arms ? block : arm];
    }
    for (size_t i = 0; i < count; i++) {
        double mean = n[i] > 0 ? model->sums[i] / n[i] : 0;
        moved = fmax(moved, fabs(mean - level[i]));
        level[i] = mean;
    }
    return moved;
}

static double residual(const struct model *model, size_t i)
{
    return model->y[i] - model->arm[model->points[i].arm] - model->block[model->points[i].block];
}

static size_t root_of(size_t *parents, size_t node)
{
    while (parents[node] != node) {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    return node;
}

/* Free parameters: a level per arm and per block, less one for every part of the experiment
 * that shares no block with the rest. */
static size_t parameter_count(const struct model *model)
{
    size_t nodes = model->arm_count + model->block_count;
    size_t *parents = mem_alloc(nodes, sizeof *parents);
    size_t count = 0;
    for (size_t i = 0; i < nodes; i++)
        parents[i] = i;
    for (size_t a = 0; a < model->arm_count; a++)
        count += model->arm_n[a] > 0;
    for (size_t b = 0; b < model->block_count; b++)
        count += model->block_n[b] > 0;
    size_t levels = count;
    size_t joins = 0;
    for (size_t i = 0; i < model->point_count; i++) {
        if (!model->used[i])
            continue;
        size_t arm = root_of(parents, (size_t)model->points[i].arm);
        size_t block = root_of(parents, model->arm_count + (size_t)model->points[i].block);
        joins += arm != block;
        parents[arm] = block;
    }
    free(parents);
    size_t parts = levels - joins;
    return levels - parts;
}

/* Least squares by turns, from the last solution on. One turn is exact when every arm ran in every
 * block; holes make it go on. Then the noise that is left. */
static void solve(struct model *model)
{
    size_t used = 0;
    double squares = 0;
    for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        double moved = solve_half(model, true);
        moved = fmax(moved, solve_half(model, false));
        if (moved < CLOSE)
            break;
    }
    for (size_t i = 0; i < model->point_count; i++) {
        if (!model->used[i])
            continue;
        used++;
        squares += residual(model, i) * residual(model, i);
    }
    size_t parameters = parameter_count(model);
    model->freedom = used > parameters ? (double)(used - parameters) : 0;
    model->variance = model->freedom > 0 ? squares / model->freedom : NAN;
}

static void use(struct model *model, size_t i, bool used)
{
    int step = (int)used - (int)model->used[i];
    model->used[i] = used;
    model->arm_n[model->points[i].arm] += step;
    model->block_n[model->points[i].block] += step;
}

/* How much of its own noise a point's residual still shows (1 - leverage; exact without holes).
 * 0: the point is alone in its arm or block, and nothing can be said of it. */
static double visible_share(const struct model *model, size_t i)
{
    return (1 - 1.0 / model->arm_n[model->points[i].arm]) *
           (1 - 1.0 / model->block_n[model->points[i].block]);
}

/* The point farthest out of the model in units of its own noise; false when there is none to
 * choose. An arm keeps more than half of its points, whatever they say. */
static bool farthest(const struct model *model, const int *arm_total, size_t *out, double *out_far)
{
    bool found = false;
    for (size_t i = 0; i < model->point_count; i++) {
        int arm = model->points[i].arm;
        if (!model->used[i] || 2 * (model->arm_n[arm] - 1) <= arm_total[arm])
            continue;
        double share = visible_share(model, i);
        if (!(share > 0))
            continue;
        double off = residual(model, i);
        double far = fabs(off) / sqrt(model->variance * share);
        /* in a block of two both are as far out: the slow one is meant */
        double prefer = off < 0 ? 1 + 1e-9 : 1;
        if (found && !(far * prefer > *out_far))
            continue;
        found = true;
        *out = i;
        *out_far = far * prefer;
    }
    return found;
}

/* The largest of `count` studentised residuals that chance lets happen (Grubbs; Bonferroni). */
static double farthest_allowed(size_t count, double freedom)
{
    double t = stats_t_quantile(1 - OUTLIER_ALPHA / (2 * (double)count), freedom - 1);
    return t * sqrt(freedom / (freedom - 1 + t * t));
}

/* Rosner's generalised test: take the farthest point out again and again, then look from the end
 * for the last one that was too far for chance. Testing from the end keeps two outliers from
 * hiding each other. */
static void set_outliers_aside(struct model *model)
{
    size_t used = 0;
    for (size_t a = 0; a < model->arm_count; a++)
        used += (size_t)model->arm_n[a];
    size_t most = used / OUTLIER_SHARE;
    size_t patience =
        used / PATIENCE_SHARE > PATIENCE_LEAST ? used / PATIENCE_SHARE : PATIENCE_LEAST;
    size_t *taken = mem_alloc(most, sizeof *taken);
    int *arm_total = mem_alloc(model->arm_count, sizeof *arm_total);
    size_t count = 0;
    size_t proven = 0;

    memcpy(arm_total, model->arm_n, model->arm_count * sizeof *arm_total);
    while (count < most && count < proven + patience && model->freedom >= 3 &&
           !model_is_exact(model)) {
        size_t worst = 0;
        double far = 0;
        if (!farthest(model, arm_total, &worst, &far))
            break;
        double off = residual(model, worst) / visible_share(model, worst);
        taken[count++] = worst;
        if (far > farthest_allowed(used - count + 1, model->freedom) && fabs(off) > OUTLIER_LEAST)
            proven = count;
        use(model, worst, false);
        solve(model);
    }
    for (size_t i = 0; i < count; i++) {
        if (i < proven)
            model->outlier[taken[i]] = true;
        else
            use(model, taken[i], true);
    }
    if (count > proven)
        solve(model);
    free(arm_total);
    free(taken);
}

void model_fit(const struct stats_point *points, size_t point_count, size_t arm_count,
               const bool *chosen, struct model *out)
{
    *out = (struct model){
        .points = points, .point_count = point_count, .arm_count = arm_count, .variance = NAN};
    for (size_t i = 0; i < point_count; i++)
        if (points[i].block >= 0 && (size_t)points[i].block >= out->block_count)
            out->block_count = (size_t)points[i].block + 1;
    size_t larger = arm_count > out->block_count ? arm_count : out->block_count;
    out->y = mem_alloc(point_count, sizeof *out->y);
    out->used = mem_alloc(point_count, sizeof *out->used);
    out->outlier = mem_alloc(point_count, sizeof *out->outlier);
    out->arm = mem_alloc(arm_count, sizeof *out->arm);
    out->arm_n = mem_alloc(arm_count, sizeof *out->arm_n);
    out->block = mem_alloc(out->block_count, sizeof *out->block);
    out->block_n = mem_alloc(out->block_count, sizeof *out->block_n);
    out->sums = mem_alloc(larger, sizeof *out->sums);
    for (size_t i = 0; i < point_count; i++) {
        const struct stats_point *point = &points[i];
        if (point->arm < 0 || (size_t)point->arm >= arm_count || point->block < 0)
            continue;
        if ((chosen && !chosen[point->arm]) || !(point->rate > 0) || isinf(point->rate))
            continue;
        out->y[i] = log(point->rate);
        use(out, i, true);
    }
    solve(out);
    set_outliers_aside(out);
    for (size_t a = 0; a < arm_count; a++)
        if (out->arm_n[a] == 0)
            out->arm[a] = NAN;
}

void model_fini(struct model *model)
{
    if (!model)
        return;
    free(model->y);
    free(model->used);
    free(model->outlier);
    free(model->arm);
    free(model->arm_n);
    free(model->block);
    free(model->block_n);
    free(model->sums);
    *model = (struct model){0};
}

/* --- contrasts ---------------------------------------------------------------------------- */

/* Two arms in one block. */
struct cell {
    double y[2];
    double position[2];
    int n[2];
};

static struct cell *collect_cells(const struct model *model, int arm, int against)
{
    struct cell *cells = mem_alloc(model->block_count, sizeof *cells);
    for (size_t i = 0; i < model->point_count; i++) {
        const struct stats_point *point = &model->points[i];
        if (!model->used[i] || (point->arm != arm && point->arm != against))
            continue;
        struct cell *cell = &cells[point->block];
        int side = point->arm == against;
        cell->y[side] += model->y[i];
        cell->position[side] += point->position;
        cell->n[side]++;
    }
    return cells;
}

/* How much the blocks rise from one place to the next: the slope of their levels over their
 * numbers, by the places in a block. 0 when places are not known. */
static double drift_per_position(const struct model *model)
{
    int places = 0;
    double n = 0;
    double sum_number = 0;
    for (size_t i = 0; i < model->point_count; i++)
        if (model->points[i].position > places)
            places = model->points[i].position;
    for (size_t b = 0; b < model->block_count; b++) {
        n += model->block_n[b] > 0;
        sum_number += model->block_n[b] > 0 ? (double)b : 0;
    }
    if (places == 0 || n < 2)
        return 0;
    double rise = 0;
    double squares = 0;
    for (size_t b = 0; b < model->block_count; b++) {
        double off = (double)b - sum_number / n;
        if (model->block_n[b] == 0)
            continue;
        rise += off * model->block[b];
        squares += off * off;
    }
    return rise / squares / places;
}

struct model_contrast model_contrast(const struct model *model, int arm, int against)
{
    struct model_contrast contrast = {.difference = NAN, .error = NAN};
    struct cell *cells = collect_cells(model, arm, against);
    double difference = 0;
    double places = 0;
    for (size_t b = 0; b < model->block_count; b++) {
        const struct cell *cell = &cells[b];
        if (cell->n[0] == 0 || cell->n[1] == 0)
            continue;
        difference += cell->y[0] / cell->n[0] - cell->y[1] / cell->n[1];
        places += cell->position[0] / cell->n[0] - cell->position[1] / cell->n[1];
        contrast.pairs++;
    }
    free(cells);
    if (contrast.pairs == 0)
        return contrast;
    contrast.difference = difference / contrast.pairs;
    contrast.error = sqrt(model->variance * 2 / contrast.pairs);
    contrast.drift = fabs(drift_per_position(model) * places / contrast.pairs);
    return contrast;
}

bool model_is_exact(const struct model *model)
{
    return model->freedom > 0 && sqrt(model->variance) < EXACT;
}
