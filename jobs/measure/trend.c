#include "jobs/measure/trend.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHUFFLES 999

/* --- shuffling ------------------------------------------------------------------------------ */

/* splitmix64: small, and the same on every machine. */
static uint64_t next(uint64_t *state)
{
    uint64_t value = *state += 0x9E3779B97F4A7C15U;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31);
}

static void shuffle(double *values, size_t count, uint64_t *state)
{
    for (size_t i = count; i > 1; i--) {
        /* the remainder's bias is below 2^-50 for any series we hold */
        size_t other = (size_t)(next(state) % i);
        double kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

/* --- the best cut --------------------------------------------------------------------------- */

struct cut {
    size_t at;       /* 0: there is none */
    double distance; /* energy distance of the sides, times n m / (n + m) */
};

/* Sums of |x - y| over pairs: both left, both right, one each. A point that goes from right to left
 * changes them by its own distances, so that all cuts cost count^2 together. */
static struct cut best_cut(const double *values, size_t count)
{
    struct cut best = {0, 0};
    double left = 0;
    double right = 0;
    double across = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            right += fabs(values[i] - values[j]);
    for (size_t at = 1; at + TREND_SHORTEST <= count; at++) {
        double to_left = 0;
        double to_right = 0;
        double moved = values[at - 1];
        for (size_t i = 0; i < at; i++)
            to_left += fabs(moved - values[i]);
        for (size_t i = at; i < count; i++)
            to_right += fabs(moved - values[i]);
        left += to_left;
        right -= to_right;
        across += to_right - to_left;
        if (at < TREND_SHORTEST)
            continue;
        double n = (double)at;
        double m = (double)(count - at);
        double energy = 2 * across / (n * m) - 2 * left / (n * (n - 1)) - 2 * right / (m * (m - 1));
        double distance = energy * n * m / (n + m);
        if (distance > best.distance)
            best = (struct cut){at, distance};
    }
    return best;
}

/* The share of shuffles, the series itself among them, whose best cut is as good. 1 as soon as it
 * is sure to be above the level: most stretches have no change, and that shows soon. */
static double p_of(const double *values, size_t count, double distance, uint64_t *state)
{
    double *mixed = mem_alloc(count, sizeof *mixed);
    int as_good = 1;
    memcpy(mixed, values, count * sizeof *mixed);
    for (int i = 0; i < SHUFFLES && as_good <= TREND_LEVEL * (SHUFFLES + 1); i++) {
        shuffle(mixed, count, state);
        /* what only rounding keeps apart is as good */
        as_good += best_cut(mixed, count).distance >= distance * (1 - 1e-9);
    }
    free(mixed);
    double p = (double)as_good / (SHUFFLES + 1);
    return p > TREND_LEVEL ? 1 : p;
}

/* --- the series ----------------------------------------------------------------------------- */

struct search {
    const double *logs;
    uint64_t state;
    struct trend_change *out;
    size_t count;
};

/* Looks at from..to-1. Recursion: each level takes a change, of which a series has few; at most
 * count / TREND_SHORTEST deep. */
static void split(struct search *search, size_t from, size_t to)
{
    size_t count = to - from;
    if (count < 2 * (size_t)TREND_SHORTEST)
        return;
    struct cut cut = best_cut(search->logs + from, count);
    if (cut.at == 0)
        return;
    double p = p_of(search->logs + from, count, cut.distance, &search->state);
    if (p > TREND_LEVEL)
        return;
    split(search, from, from + cut.at);
    search->out[search->count++] = (struct trend_change){.at = from + cut.at, .p = p};
    split(search, from + cut.at, to);
}

static int by_value(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

static double median_of(const double *values, size_t count)
{
    double *sorted = mem_alloc(count, sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    double median = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    free(sorted);
    return median;
}

size_t trend_changes(const double *values, size_t count, uint64_t seed, struct trend_change *out)
{
    double *logs = mem_alloc(count + 1, sizeof *logs);
    for (size_t i = 0; i < count; i++)
        logs[i] = log(values[i]);
    struct search search = {.logs = logs, .state = seed, .out = out};
    split(&search, 0, count);
    free(logs);
    for (size_t i = 0; i < search.count; i++) {
        size_t from = i > 0 ? out[i - 1].at : 0;
        size_t to = i + 1 < search.count ? out[i + 1].at : count;
        out[i].ratio = median_of(values + out[i].at, to - out[i].at) /
                       median_of(values + from, out[i].at - from);
    }
    return search.count;
}
