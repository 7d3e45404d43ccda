#include "jobs/measure/stats.h"

#include "jobs/measure/model.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdict_names[] = {
    [VERDICT_FASTER] = "faster",
    [VERDICT_SLOWER] = "slower",
    [VERDICT_NO_DIFFERENCE] = "no_difference",
    [VERDICT_INCONCLUSIVE] = "inconclusive",
};

const char *verdict_name(enum verdict verdict)
{
    return verdict_names[verdict];
}

/* --- one arm ------------------------------------------------------------------------------ */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* How many values may be cut off at either end so that what is left still holds the median with
 * the wanted probability: each value lies below the median with probability 1/2, on its own.
 * *out_level is what the cut really gives. */
static size_t median_cut(size_t n, double wanted, double *out_level)
{
    double chance = exp2(-(double)n); /* of exactly `cut` values below the median */
    double outside = chance;          /* of at most `cut` */
    size_t cut = 0;
    *out_level = 1 - 2 * outside;
    while (2 * (cut + 1) < n) {
        chance *= (double)(n - cut) / (double)(cut + 1);
        outside += chance;
        if (1 - 2 * outside < wanted)
            break;
        cut++;
        *out_level = 1 - 2 * outside;
    }
    return cut;
}

void stats_summarise(const double *values, size_t n, double wanted, struct stats_summary *out)
{
    *out = (struct stats_summary){.n = (int)n,
                                  .median = NAN,
                                  .low = NAN,
                                  .high = NAN,
                                  .level = NAN,
                                  .mean = NAN,
                                  .min = NAN,
                                  .max = NAN,
                                  .stdev = NAN};
    if (n == 0)
        return;
    double *sorted = mem_alloc(n, sizeof *sorted);
    double sum = 0;
    double squares = 0;
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    out->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (sorted[i] - out->mean) * (sorted[i] - out->mean);
    out->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    out->min = sorted[0];
    out->max = sorted[n - 1];
    if (n > 1) {
        size_t cut = median_cut(n, wanted, &out->level);
        out->low = sorted[cut];
        out->high = sorted[n - 1 - cut];
        out->stdev = sqrt(squares / (double)(n - 1));
    }
    free(sorted);
}

/* --- arm against arm ---------------------------------------------------------------------- */

/* Arms compared with the same baseline share one measure of noise. Arms of another baseline
 * (another database, another compression) may be noisier or quieter, and keep their own. */
static void fit_group(const struct stats_point *points, size_t point_count, const int *against,
                      size_t arm_count, int baseline, struct model *out)
{
    bool *chosen = mem_alloc(arm_count, sizeof *chosen);
    for (size_t a = 0; a < arm_count; a++)
        chosen[a] = against[a] == baseline || (int)a == baseline;
    model_fit(points, point_count, arm_count, chosen, out);
    free(chosen);
}

static void compare_in(const struct model *model, double confidence, struct stats_comparison *out)
{
    struct model_contrast contrast = model_contrast(model, out->arm, out->against);
    out->pairs = contrast.pairs;
    out->ratio = exp(contrast.difference);
    out->low = out->high = out->level = out->p = NAN;
    if (contrast.pairs < 2 || isnan(contrast.error))
        return;
    bool exact = model_is_exact(model);
    double sure = fmax(0, fabs(contrast.difference) - contrast.drift); /* not the drift's doing */
    double reach = contrast.drift;
    if (!exact) {
        reach += stats_t_quantile(0.5 + confidence / 2, model->freedom) * contrast.error;
        out->p = fmin(1, 2 * stats_t_tail(sure / contrast.error, model->freedom));
    }
    out->level = confidence;
    out->low = reach > 0 ? exp(contrast.difference - reach) : out->ratio;
    out->high = reach > 0 ? exp(contrast.difference + reach) : out->ratio;
}

static int by_p(const void *left, const void *right)
{
    const struct stats_comparison *a = *(struct stats_comparison *const *)left;
    const struct stats_comparison *b = *(struct stats_comparison *const *)right;
    if (a->p < b->p || a->p > b->p)
        return a->p < b->p ? -1 : 1;
    return (a->arm > b->arm) - (a->arm < b->arm);
}

/* Holm's step-down: the smallest p times how many there are, the next times one less, and never
 * smaller than the one before. */
static void correct_holm(struct stats_comparison *comparisons, size_t count)
{
    struct stats_comparison **known = mem_alloc(count, sizeof(struct stats_comparison *));
    size_t known_count = 0;
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(comparisons[i].p))
            known[known_count++] = &comparisons[i];
    qsort(known, known_count, sizeof(struct stats_comparison *), by_p);
    for (size_t i = 0; i < known_count; i++) {
        largest = fmax(largest, fmin(1, known[i]->p * (double)(known_count - i)));
        known[i]->p = largest;
    }
    free(known);
}

/* experiments.md 3: a difference needs all three, its interval, its size and its corrected p. */
enum verdict stats_judge(const struct stats_comparison *it, double confidence, double tolerance)
{
    if (isnan(it->low))
        return VERDICT_INCONCLUSIVE;
    bool exact = isnan(it->p); /* no variance: the tolerance alone decides */
    bool shown = exact || it->p < 1 - confidence;
    if (shown && it->low > 1 && it->ratio > 1 + tolerance)
        return VERDICT_FASTER;
    if (shown && it->high < 1 && it->ratio < 1 - tolerance)
        return VERDICT_SLOWER;
    if (it->low >= 1 - tolerance && it->high <= 1 + tolerance)
        return VERDICT_NO_DIFFERENCE;
    return VERDICT_INCONCLUSIVE;
}

size_t stats_compare(const struct stats_point *points, size_t point_count, const int *against,
                     size_t arm_count, double confidence, double tolerance,
                     struct stats_comparison *out)
{
    struct model *models = mem_alloc(arm_count, sizeof *models); /* by baseline, when needed */
    bool *fitted = mem_alloc(arm_count, sizeof *fitted);
    size_t count = 0;
    for (size_t a = 0; a < arm_count; a++) {
        int baseline = against[a];
        if (baseline < 0 || (size_t)baseline >= arm_count || (size_t)baseline == a)
            continue;
        if (!fitted[baseline])
            fit_group(points, point_count, against, arm_count, baseline, &models[baseline]);
        fitted[baseline] = true;
        struct stats_comparison *comparison = &out[count++];
        *comparison = (struct stats_comparison){.arm = (int)a, .against = baseline};
        compare_in(&models[baseline], confidence, comparison);
    }
    correct_holm(out, count);
    for (size_t i = 0; i < count; i++)
        out[i].verdict = stats_judge(&out[i], confidence, tolerance);
    for (size_t a = 0; a < arm_count; a++)
        model_fini(&models[a]);
    free(fitted);
    free(models);
    return count;
}

size_t stats_outliers(const struct stats_point *points, size_t point_count, const int *against,
                      size_t arm_count, bool *out)
{
    bool *seen = mem_alloc(arm_count, sizeof *seen);
    size_t count = 0;
    memset(out, 0, point_count * sizeof *out);
    for (size_t a = 0; a < arm_count; a++) {
        struct model model;
        int baseline = against[a];
        if (baseline < 0 || (size_t)baseline >= arm_count || (size_t)baseline == a ||
            seen[baseline])
            continue;
        seen[baseline] = true;
        fit_group(points, point_count, against, arm_count, baseline, &model);
        for (size_t i = 0; i < point_count; i++)
            out[i] = out[i] || model.outlier[i];
        model_fini(&model);
    }
    for (size_t i = 0; i < point_count; i++)
        count += out[i];
    free(seen);
    return count;
}
