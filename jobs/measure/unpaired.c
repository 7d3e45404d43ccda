#include "jobs/measure/unpaired.h"

#include <math.h>

#define EXACT 1e-24 /* a variance that rounding alone makes (as in model.c: of logarithms) */

struct moments {
    double n, mean;
    double share; /* variance of the mean */
};

static struct moments moments_of(const double *values, size_t count)
{
    struct moments out = {.n = (double)count};
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        out.mean += log(values[i]) / out.n;
    for (size_t i = 0; i < count; i++) {
        double off = log(values[i]) - out.mean;
        squares += off * off;
    }
    out.share = count > 1 ? squares / (out.n - 1) / out.n : NAN;
    return out;
}

/* Welch and Satterthwaite. */
static double freedom_of(const struct moments *a, const struct moments *b)
{
    double sum = a->share + b->share;
    return sum * sum / (a->share * a->share / (a->n - 1) + b->share * b->share / (b->n - 1));
}

void unpaired_compare(const double *base, size_t base_count, const double *now, size_t now_count,
                      double confidence, double tolerance, struct stats_comparison *out)
{
    struct moments a = moments_of(base, base_count);
    struct moments b = moments_of(now, now_count);
    *out =
        (struct stats_comparison){.pairs = (int)(base_count < now_count ? base_count : now_count),
                                  .ratio = NAN,
                                  .low = NAN,
                                  .high = NAN,
                                  .level = NAN,
                                  .p = NAN,
                                  .verdict = VERDICT_INCONCLUSIVE};
    if (base_count == 0 || now_count == 0)
        return;
    double difference = b.mean - a.mean;
    double variance = a.share + b.share;
    out->ratio = exp(difference);
    if (isnan(variance))
        return;
    out->level = confidence;
    out->low = out->high = out->ratio;
    if (variance > EXACT) {
        double freedom = freedom_of(&a, &b);
        double error = sqrt(variance);
        double reach = stats_t_quantile(0.5 + confidence / 2, freedom) * error;
        out->low = exp(difference - reach);
        out->high = exp(difference + reach);
        out->p = fmin(1, 2 * stats_t_tail(fabs(difference) / error, freedom));
    }
    out->verdict = stats_judge(out, confidence, tolerance);
}
