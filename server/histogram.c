#include "server/histogram.h"

/* From a read out of memory to a disk in trouble. */
const double histogram_bounds[HISTOGRAM_BOUNDS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                   0.01,   0.025,   0.1,    1,     10};

void histogram_add(struct histogram *histogram, int64_t took_ns)
{
    int bucket = 0;
    while (bucket < HISTOGRAM_BOUNDS && (double)took_ns > histogram_bounds[bucket] * 1e9)
        bucket++;
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_ns, took_ns > 0 ? (uint64_t)took_ns : 0,
                              memory_order_relaxed);
}

uint64_t histogram_up_to(const struct histogram *histogram, int bound)
{
    uint64_t count = 0;
    for (int i = 0; i <= bound; i++)
        count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    return count;
}
