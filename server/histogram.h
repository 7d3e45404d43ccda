#pragma once
/* How long something took, counted in buckets; for metrics. Threads: any. */
#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 11

/* The upper ends of the buckets, in seconds; what took longer stands in none of them. */
extern const double histogram_bounds[HISTOGRAM_BOUNDS];

/* Zeroed: nothing was counted. */
struct histogram {
    _Atomic uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* not cumulative; the last one: longer */
    _Atomic uint64_t sum_ns;
};

void histogram_add(struct histogram *histogram, int64_t took_ns);

/* How many were counted in the buckets up to `bound`, it included; HISTOGRAM_BOUNDS: all. */
uint64_t histogram_up_to(const struct histogram *histogram, int bound);
