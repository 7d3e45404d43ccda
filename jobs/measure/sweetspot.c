#include "jobs/measure/sweetspot.h"

#include "jobs/measure/model.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>

/* --- the cheapest arm that is good enough -------------------------------------------------- */

/* Negative when a is cheaper than b. */
static int compare_cost(const struct sweetspot_arm *a, const struct sweetspot_arm *b)
{
    if (a->is_default != b->is_default)
        return a->is_default ? -1 : 1;
    double memory_a = isnan(a->memory_mib) ? 0 : a->memory_mib;
    double memory_b = isnan(b->memory_mib) ? 0 : b->memory_mib;
    if (memory_a < memory_b || memory_a > memory_b)
        return memory_a < memory_b ? -1 : 1;
    if (a->cpu_s < b->cpu_s || a->cpu_s > b->cpu_s) /* false for NaN */
        return a->cpu_s < b->cpu_s ? -1 : 1;
    return 0;
}

static int find_best(const struct model *model, const struct sweetspot_arm *arms)
{
    int best = -1;
    for (size_t a = 0; a < model->arm_count; a++) {
        if (!arms[a].eligible || isnan(model->arm[a]))
            continue;
        if (best < 0 || model->arm[a] > model->arm[best])
            best = (int)a;
    }
    return best;
}

/* True unless the data show, at the confidence, that the arm lies more than the tolerance below
 * the best. */
static bool is_good_enough(const struct model *model, int arm, int best, double confidence,
                           double tolerance)
{
    int pairs = 0;
    double behind = model_difference(model, best, arm, &pairs) + log1p(-tolerance);
    if (pairs == 0)
        return false; /* never ran beside the best: nothing speaks for it */
    if (model_is_exact(model))
        return behind <= 1e-9; /* rounding of logarithms */
    double error = sqrt(model->variance * 2 / pairs);
    return behind <= stats_t_quantile(confidence, model->freedom) * error;
}

/* True when every eligible arm reads the same to the last digit. */
static bool is_flat(const struct model *model, const struct sweetspot_arm *arms, int best)
{
    for (size_t a = 0; a < model->arm_count; a++)
        if (arms[a].eligible && model->arm[a] < model->arm[best] - 1e-9)
            return false;
    return true;
}

void sweetspot_find(const struct stats_point *points, size_t point_count,
                    const struct sweetspot_arm *arms, size_t arm_count, double confidence,
                    double tolerance, struct sweetspot *out)
{
    struct model model;
    *out = (struct sweetspot){
        .arm = -1, .best = -1, .qualifies = mem_alloc(arm_count, sizeof *out->qualifies)};
    model_fit(points, point_count, arm_count, NULL, &model);
    out->best = find_best(&model, arms);
    bool known = out->best >= 0 && (model.freedom > 0 || is_flat(&model, arms, out->best));
    for (size_t a = 0; known && a < arm_count; a++) {
        if (!arms[a].eligible || isnan(model.arm[a]))
            continue;
        if ((int)a != out->best && model.freedom > 0 &&
            !is_good_enough(&model, (int)a, out->best, confidence, tolerance))
            continue;
        out->qualifies[a] = true;
        out->keep_default = out->keep_default || arms[a].is_default;
        if (out->arm < 0 || compare_cost(&arms[a], &arms[out->arm]) < 0)
            out->arm = (int)a;
    }
    model_fini(&model);
}

void sweetspot_fini(struct sweetspot *spot)
{
    if (!spot)
        return;
    free(spot->qualifies);
    spot->qualifies = NULL;
}

/* --- Pareto front ------------------------------------------------------------------------- */

/* -1, 0, 1: a is worse, equal, better. What was measured counts as equal within the same per
 * cent: else the last digits of noise would put every arm on the front. */
static int compare_measured(double a, double b, bool more_is_better)
{
    if (isnan(a) || isnan(b))
        return 0;
    double step_a = a > 0 ? round(log(a) * 100) : -INFINITY;
    double step_b = b > 0 ? round(log(b) * 100) : -INFINITY;
    int larger = (step_a > step_b) - (step_a < step_b);
    return more_is_better ? larger : -larger;
}

static bool beats(const struct pareto_arm *a, const struct pareto_arm *b)
{
    int memory = 0;
    if (!isnan(a->memory_mib) && !isnan(b->memory_mib))
        memory = (a->memory_mib < b->memory_mib) - (a->memory_mib > b->memory_mib);
    int results[] = {compare_measured(a->rate, b->rate, true), memory,
                     compare_measured(a->cpu_s, b->cpu_s, false),
                     compare_measured(a->file_bytes, b->file_bytes, false)};
    bool better = false;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        if (results[i] < 0)
            return false;
        better = better || results[i] > 0;
    }
    return better;
}

void sweetspot_pareto(const struct pareto_arm *arms, size_t arm_count, bool *front)
{
    for (size_t a = 0; a < arm_count; a++) {
        front[a] = arms[a].eligible && !isnan(arms[a].rate);
        for (size_t b = 0; front[a] && b < arm_count; b++)
            if (b != a && arms[b].eligible && !isnan(arms[b].rate) && beats(&arms[b], &arms[a]))
                front[a] = false;
    }
}
