#include "jobs/measure/sweetspot.h"

#include "jobs/measure/curve.h"
#include "jobs/measure/model.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>

#define EXACT 1e-9 /* rounding of logarithms */

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

struct rule {
    double tolerated; /* how far below the best is good enough, in logarithms */
    double t_far;     /* standard errors beyond that which show that an arm is not */
    double t_at_all;  /* standard errors which show, corrected, that it is below at all */
};

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

/* True unless the data show that the arm lies more than the tolerance below the best. Two things
 * must be shown, at the confidence: that it is that far below the best, and, corrected for the
 * number of arms the best was picked from, that it is below at all (the best of many noisy arms
 * looks good by chance). */
static bool is_good_enough(const struct model *model, int arm, int best, const struct rule *rule)
{
    struct model_contrast contrast = model_contrast(model, best, arm);
    if (contrast.pairs == 0)
        return false; /* never ran beside the best: nothing speaks for it */
    double behind = contrast.difference - contrast.drift;
    if (model_is_exact(model))
        return behind <= rule->tolerated + EXACT;
    return behind <=
           fmax(rule->tolerated + rule->t_far * contrast.error, rule->t_at_all * contrast.error);
}

static struct rule rule_for(const struct model *model, const struct sweetspot_arm *arms,
                            double confidence, double tolerance)
{
    size_t eligible = 0;
    for (size_t a = 0; a < model->arm_count; a++)
        eligible += arms[a].eligible && !isnan(model->arm[a]);
    /* the best was picked from all but the arm that is judged */
    double chance = (1 - confidence) / (double)(eligible > 2 ? eligible - 1 : 1);
    return (struct rule){.tolerated = -log1p(-tolerance),
                         .t_far = stats_t_quantile(confidence, model->freedom),
                         .t_at_all = stats_t_quantile(1 - chance, model->freedom)};
}

/* Judges the arms of one series by a curve through them: qualifies[] of each. False when there is
 * no such curve. */
static bool judge_by_curve(const struct model *model, const struct sweetspot_arm *arms, int series,
                           double confidence, double tolerated, bool *qualifies)
{
    struct curve_point *points = mem_alloc(model->arm_count, sizeof *points);
    double *least = mem_alloc(model->arm_count, sizeof *least);
    size_t *place = mem_alloc(model->arm_count, sizeof *place);
    size_t count = 0;
    for (size_t a = 0; a < model->arm_count; a++) {
        if (arms[a].series != series || !(arms[a].x > 0) || isnan(model->arm[a]))
            continue;
        place[count] = a;
        points[count++] = (struct curve_point){arms[a].x, model->arm[a], model->arm_n[a]};
    }
    bool fits = curve_gaps(points, count, model->variance, model->freedom, confidence, least);
    for (size_t i = 0; fits && i < count; i++)
        qualifies[place[i]] = least[i] <= tolerated;
    free(points);
    free(least);
    free(place);
    return fits;
}

/* True when every eligible arm reads the same to the last digit. */
static bool is_flat(const struct model *model, const struct sweetspot_arm *arms, int best)
{
    for (size_t a = 0; a < model->arm_count; a++)
        if (arms[a].eligible && model->arm[a] < model->arm[best] - EXACT)
            return false;
    return true;
}

/* True when every other eligible arm is shown to be at most the tolerance faster. */
static bool is_settled(const struct model *model, const struct sweetspot_arm *arms, int arm,
                       const struct rule *rule)
{
    for (size_t a = 0; a < model->arm_count; a++) {
        if ((int)a == arm || !arms[a].eligible || isnan(model->arm[a]))
            continue;
        struct model_contrast contrast = model_contrast(model, (int)a, arm);
        double error = model_is_exact(model) ? 0 : rule->t_far * contrast.error;
        if (!(contrast.difference + contrast.drift + error <= rule->tolerated + EXACT))
            return false;
    }
    return true;
}

/* Which arms qualify. */
static void judge(const struct model *model, const struct sweetspot_arm *arms,
                  const struct rule *rule, double confidence, struct sweetspot *out)
{
    bool *by_curve = mem_alloc(model->arm_count, sizeof *by_curve);
    int series = arms[out->best].series;
    bool fits = series > 0 && !model_is_exact(model) &&
                judge_by_curve(model, arms, series, confidence, rule->tolerated, by_curve);
    for (size_t a = 0; a < model->arm_count; a++) {
        bool on_curve = fits && arms[a].series == series && arms[a].x > 0;
        if (!arms[a].eligible || isnan(model->arm[a]))
            continue;
        if ((int)a == out->best || !(model->freedom > 0))
            out->qualifies[a] = true;
        else if (on_curve)
            out->qualifies[a] = by_curve[a];
        else
            out->qualifies[a] = is_good_enough(model, (int)a, out->best, rule);
    }
    free(by_curve);
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
    struct rule rule = rule_for(&model, arms, confidence, tolerance);
    if (out->best >= 0 && (model.freedom > 0 || is_flat(&model, arms, out->best)))
        judge(&model, arms, &rule, confidence, out);
    for (size_t a = 0; a < arm_count; a++) {
        if (!out->qualifies[a])
            continue;
        out->keep_default = out->keep_default || arms[a].is_default;
        if (out->arm < 0 || compare_cost(&arms[a], &arms[out->arm]) < 0)
            out->arm = (int)a;
    }
    out->settled = out->arm >= 0 && model.freedom > 0 && is_settled(&model, arms, out->arm, &rule);
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

/* -1, 0, 1: a is worse, equal, better; unknown for one of them only: neither can be said to be no
 * worse. */
static int compare(double a, double b, bool more_is_better)
{
    if (isnan(a) && isnan(b))
        return 0;
    if (isnan(a) || isnan(b))
        return -1;
    int larger = (a > b) - (a < b);
    return more_is_better ? larger : -larger;
}

/* What was measured counts as equal within the same per cent: else the last digits of noise would
 * put every arm on the front. */
static double step_of(double measured)
{
    if (isnan(measured))
        return measured;
    return measured > 0 ? round(log(measured) * 100) : -INFINITY;
}

static bool beats(const struct pareto_arm *a, const struct pareto_arm *b)
{
    int results[] = {compare(step_of(a->rate), step_of(b->rate), true),
                     compare(a->memory_mib, b->memory_mib, false),
                     compare(step_of(a->cpu_s_per_gib), step_of(b->cpu_s_per_gib), false),
                     compare(step_of(a->file_bytes), step_of(b->file_bytes), false)};
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
