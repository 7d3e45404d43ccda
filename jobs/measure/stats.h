#pragma once
/* Statistics of an experiment, as experiments.md §3 asks: logarithms of rates, paired by block,
 * residual variance pooled over the arms of a job. Pure. Unknown results are NaN. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict { VERDICT_FASTER, VERDICT_SLOWER, VERDICT_NO_DIFFERENCE, VERDICT_INCONCLUSIVE };
const char *verdict_name(enum verdict verdict); /* "faster", "slower", "no_difference", … */

/* One arm. Median of an odd n is an observed value. low..high is the order-statistic interval of
 * the median with the level n really allows (`level` <= 1), the nearest at or above `wanted`
 * when n allows it, else the widest (min..max). For n 1 the interval is unknown (NaN). */
struct stats_summary {
    int n;
    double median, low, high, level;
    double mean, min, max, stdev; /* stdev NaN for n < 2 */
};
void stats_summarise(const double *values, size_t n, double wanted, struct stats_summary *out);

/* What the comparisons are made of: one counted trial. */
struct stats_point {
    int arm;
    int block;
    double rate;  /* > 0 */
    int position; /* place within its block, from 1, where the arms ran in a fixed order: a drift
                   * of the host then looks like a difference, and intervals allow for it.
                   * 0: the order was shuffled or balanced. */
};

/* Arm against its baseline. Ratios are speeds: above 1 the arm is faster. */
struct stats_comparison {
    int arm;
    int against;
    int pairs;               /* blocks both have */
    double ratio, low, high; /* low, high NaN with fewer than 2 pairs */
    double level;            /* the interval's own level */
    double p;                /* corrected for the number of arms (Holm); NaN: cannot be had */
    enum verdict verdict;
};

/* Compares every arm a with against[a] != a (against[a] < 0: not compared). out has room for
 * arm_count; returns how many were filled, in the order of arms. */
size_t stats_compare(const struct stats_point *points, size_t point_count, const int *against,
                     size_t arm_count, double confidence, double tolerance,
                     struct stats_comparison *out);

/* The verdict that a comparison's ratio, low, high and p (corrected) come to. */
enum verdict stats_judge(const struct stats_comparison *it, double confidence, double tolerance);

/* Marks the points that stats_compare sets aside because they lie too far out of what their arm
 * and block let expect; out has room for point_count. Returns how many. */
size_t stats_outliers(const struct stats_point *points, size_t point_count, const int *against,
                      size_t arm_count, bool *out);

/* Student's t, two-sided and quantiles, for degrees of freedom >= 1 (not necessarily whole). */
double stats_t_tail(double t, double freedom);             /* P(T > t) */
double stats_t_quantile(double p, double freedom);         /* t with P(T <= t) = p */
double stats_f_tail(double f, double above, double below); /* P(F > f), freedoms of the quotient */
