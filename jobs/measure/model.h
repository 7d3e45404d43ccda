#pragma once
/* The model behind every number of a report: the logarithm of a rate is the arm's own level plus
 * what its block shares plus noise of one size. Trials far out of that model (somebody else's
 * work in the minute they ran) are set aside before the noise is measured. Pure. */
#include "jobs/measure/stats.h"

struct model {
    const struct stats_point *points; /* borrowed */
    size_t point_count;
    size_t arm_count;
    size_t block_count; /* highest block number + 1 */
    double *y;          /* per point: logarithm of the rate */
    bool *used;         /* per point: in the model (a usable rate, chosen, not set aside) */
    bool *outlier;      /* per point: set aside */
    double *arm;        /* per arm: level; NaN when it has no used point */
    int *arm_n;         /* per arm: used points */
    double *block;      /* per block: what it shares; 0 when it has no used point */
    int *block_n;       /* per block: used points */
    double *sums;       /* room to add up in, per arm or block */
    double variance;    /* of the noise; NaN when freedom is 0 */
    double freedom;     /* degrees of freedom */
};

/* Fits the points whose arm is chosen (chosen NULL: every arm) and whose rate is a positive
 * number. */
void model_fit(const struct stats_point *points, size_t point_count, size_t arm_count,
               const bool *chosen, struct model *out);
void model_fini(struct model *model);

/* One arm against another, over the blocks both have. */
struct model_contrast {
    int pairs;         /* such blocks */
    double difference; /* mean difference of the logarithms; NaN without a pair */
    double error;      /* its standard error; NaN while the variance is unknown */
    double drift;      /* what a steady drift may have put into it: 0 unless the order was fixed */
};
struct model_contrast model_contrast(const struct model *model, int arm, int against);

/* True when nothing varies: the noise is below what logarithms of doubles resolve. */
bool model_is_exact(const struct model *model);
