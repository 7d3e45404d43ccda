#pragma once
/* The sweet spot (experiments.md §3): the cheapest arm for which the data do not show, at the
 * asked confidence (one-sided, pooled variance), that it is more than the tolerance below the
 * best, nor, corrected for the number of arms, that it is below the best at all. Where arms differ
 * in one quantity only, they are judged by the curve through them (curve.h) instead. Pure. */
#include "jobs/measure/stats.h"

struct sweetspot_arm {
    bool eligible;     /* false: failed, dropped, or otherwise never to be recommended */
    bool is_default;   /* counts as cheapest */
    double memory_mib; /* buffer memory; NaN counts as 0 */
    double cpu_s;      /* median CPU seconds, the second key; NaN counts as equal */
    int series;        /* arms of one number > 0 differ in x only; 0: none */
    double x;          /* what the rate saturates in, > 0; NaN: stands for itself */
};

struct sweetspot {
    int arm;           /* the recommended arm; -1: no answer */
    int best;          /* the arm with the highest estimated rate; -1 */
    bool keep_default; /* the default qualifies */
    bool settled;      /* arm is shown, at the confidence, to be within the tolerance of all */
    bool *qualifies;   /* per arm: the data cannot tell it apart from the best; owned */
};

/* Fills *out. No answer (arm -1) when no eligible arm has data or there are too few blocks to
 * know any variance while rates differ. */
void sweetspot_find(const struct stats_point *points, size_t point_count,
                    const struct sweetspot_arm *arms, size_t arm_count, double confidence,
                    double tolerance, struct sweetspot *out);
void sweetspot_fini(struct sweetspot *spot);

/* Pareto front over rate (more), memory, CPU seconds per GiB read and size of the backup (less):
 * fills front[arm_count] with true for eligible arms with a rate that no other such arm beats or
 * equals everywhere and beats somewhere. What was measured counts as equal within the same per
 * cent. What is unknown for one of two arms keeps both: neither is known to take no more. */
struct pareto_arm {
    bool eligible;
    double rate, memory_mib, cpu_s_per_gib, file_bytes; /* NaN: unknown */
};
void sweetspot_pareto(const struct pareto_arm *arms, size_t arm_count, bool *front);
