/* What is known of the same setting in two jobs, and of a series of jobs: how often a comparison
 * and a change point are false, and how often a real difference is found. Seeded; `bench_series N`.
 */
#include "jobs/measure/trend.h"
#include "jobs/measure/unpaired.h"
#include "server/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20260101
#define TRIALS_MOST 20
#define POINTS_MOST 200
#define METHODS 3

static uint64_t state;

/* splitmix64 */
static double uniform(void)
{
    uint64_t value = state += 0x9E3779B97F4A7C15U;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    value ^= value >> 31;
    return ((double)(value >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

struct noise {
    double sd;
    double drift;    /* over the job, as a factor less 1 */
    double outliers; /* share of runs slowed 1.5 to 3 times */
};

static void draw(double level, const struct noise *noise, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        double at = count > 1 ? (double)i / (double)(count - 1) : 0;
        out[i] = level * exp(noise->sd * normal() + log1p(noise->drift) * at);
        if (uniform() < noise->outliers)
            out[i] /= 1.5 + 1.5 * uniform();
    }
}

/* --- two jobs -------------------------------------------------------------------------------- */

/* The methods that were tried. Ratios are now / base; low is NaN where a method has no interval. */
static void welch(const double *base, const double *now, size_t n, double *low, double *high)
{
    struct stats_comparison it;
    unpaired_compare(base, n, now, n, 0.95, 0.02, &it);
    *low = it.low;
    *high = it.high;
}

/* Student's interval with one variance for both. */
static void pooled(const double *base, const double *now, size_t n, double *low, double *high)
{
    double mean[2] = {0, 0};
    double squares = 0;
    const double *both[2] = {base, now};
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < n; i++)
            mean[side] += log(both[side][i]) / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += pow(log(both[side][i]) - mean[side], 2);
    }
    double freedom = 2 * (double)n - 2;
    double reach = stats_t_quantile(0.975, freedom) * sqrt(squares / freedom * 2 / (double)n);
    *low = exp(mean[1] - mean[0] - reach);
    *high = exp(mean[1] - mean[0] + reach);
}

static int by_value(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

/* The rank-sum test's interval: of the n n quotients, all but the outermost. How many of those go
 * is the largest U with P(U <= u) <= 2.5 %, plus one (tables; R: qwilcox(0.025, n, n)). */
static void rank_sum(const double *base, const double *now, size_t n, double *low, double *high)
{
    double quotients[TRIALS_MOST * TRIALS_MOST] = {0};
    size_t cut = n == 5 ? 2 : 23;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            quotients[count++] = now[i] / base[j];
    qsort(quotients, count, sizeof *quotients, by_value);
    *low = quotients[cut];
    *high = quotients[count - 1 - cut];
}

static void two_jobs(int experiments)
{
    static const struct {
        const char *name;
        void (*interval)(const double *, const double *, size_t, double *, double *);
    } methods[] = {{"Welch", welch}, {"pooled", pooled}, {"rank sum", rank_sum}};

    static const struct {
        const char *what;
        size_t runs;
        double ratio;
        struct noise noise;
        struct noise noise_now; /* of the second job */
    } rows[] = {
        {"the same, 5 runs, noise 2 %", 5, 1, {.sd = 0.02}, {.sd = 0.02}},
        {"the same, 5 runs, noise 5 %", 5, 1, {.sd = 0.05}, {.sd = 0.05}},
        {"the same, 10 runs, noise 2 %", 10, 1, {.sd = 0.02}, {.sd = 0.02}},
        {"the same, 5 runs, noise 1 % and 5 %", 5, 1, {.sd = 0.01}, {.sd = 0.05}},
        {"the same, 5 runs, 5 % outliers",
         5,
         1,
         {.sd = 0.02, .outliers = 0.05},
         {.sd = 0.02, .outliers = 0.05}},
        {"the same, 5 runs, drift 20 % in each",
         5,
         1,
         {.sd = 0.02, .drift = 0.2},
         {.sd = 0.02, .drift = 0.2}},
        {"10 % slower, 5 runs, noise 2 %", 5, 0.9, {.sd = 0.02}, {.sd = 0.02}},
        {"10 % slower, 5 runs, noise 5 %", 5, 0.9, {.sd = 0.05}, {.sd = 0.05}},
        {"10 % slower, 10 runs, noise 5 %", 10, 0.9, {.sd = 0.05}, {.sd = 0.05}},
        {"20 % slower, 5 runs, noise 5 %", 5, 0.8, {.sd = 0.05}, {.sd = 0.05}},
        {"10 % slower, 5 runs, 5 % outliers",
         5,
         0.9,
         {.sd = 0.02, .outliers = 0.05},
         {.sd = 0.02, .outliers = 0.05}},
    };
    printf("%-40s", "two jobs: covered, interval below 1");
    for (size_t m = 0; m < METHODS; m++)
        printf(" %17s", methods[m].name);
    printf(" %10s\n", "regressed");
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        int covered[METHODS] = {0};
        int below[METHODS] = {0};
        int regressed = 0;
        for (int i = 0; i < experiments; i++) {
            double base[TRIALS_MOST];
            double now[TRIALS_MOST];
            struct stats_comparison it;
            draw(100, &rows[r].noise, rows[r].runs, base);
            draw(100 * rows[r].ratio, &rows[r].noise_now, rows[r].runs, now);
            for (size_t m = 0; m < METHODS; m++) {
                double low;
                double high;
                methods[m].interval(base, now, rows[r].runs, &low, &high);
                covered[m] += low <= rows[r].ratio && rows[r].ratio <= high;
                below[m] += high < 1;
            }
            unpaired_compare(base, rows[r].runs, now, rows[r].runs, 0.95, 0.02, &it);
            regressed += it.verdict == VERDICT_SLOWER && it.ratio < 0.95;
        }
        printf("%-40s", rows[r].what);
        for (size_t m = 0; m < METHODS; m++)
            printf(" %8.2f%% %7.2f%%", 100.0 * covered[m] / experiments,
                   100.0 * below[m] / experiments);
        printf(" %9.2f%%\n", 100.0 * regressed / experiments);
    }
}

/* --- a series -------------------------------------------------------------------------------- */

static void series(int experiments)
{
    static const struct {
        const char *what;
        size_t count, change; /* change: index of the first point after it; 0: none */
        double ratio;
        struct noise noise;
    } rows[] = {
        {"30 points, noise 3 %, no change", 30, 0, 1, {.sd = 0.03}},
        {"100 points, noise 3 %, no change", 100, 0, 1, {.sd = 0.03}},
        {"30 points, 5 % outliers, no change", 30, 0, 1, {.sd = 0.03, .outliers = 0.05}},
        {"10 + 10, noise 3 %, 10 % slower", 20, 10, 0.9, {.sd = 0.03}},
        {"10 + 10, noise 3 %, 5 % slower", 20, 10, 0.95, {.sd = 0.03}},
        {"20 + 5, noise 3 %, 10 % slower", 25, 20, 0.9, {.sd = 0.03}},
        {"50 + 50, noise 3 %, 5 % faster", 100, 50, 1.05, {.sd = 0.03}},
        {"10 + 10, 5 % outliers, 10 % slower", 20, 10, 0.9, {.sd = 0.03, .outliers = 0.05}},
    };
    printf("\n%-40s %9s %9s %9s\n", "a series, E-divisive", "any", "near", "too many");
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        int any = 0;
        int near = 0;
        int more = 0;
        for (int i = 0; i < experiments; i++) {
            double values[POINTS_MOST];
            struct trend_change found[POINTS_MOST];
            draw(100, &rows[r].noise, rows[r].count, values);
            for (size_t k = rows[r].change; rows[r].change > 0 && k < rows[r].count; k++)
                values[k] *= rows[r].ratio;
            size_t count = trend_changes(values, rows[r].count, 1, found);
            size_t true_count = rows[r].change > 0;
            bool hit = false;
            for (size_t k = 0; k < count; k++)
                hit |= rows[r].change > 0 && found[k].at + 1 >= rows[r].change &&
                       found[k].at <= rows[r].change + 1;
            any += count > 0;
            near += hit;
            more += count > true_count;
        }
        printf("%-40s %8.2f%% %8.2f%% %8.2f%%\n", rows[r].what, 100.0 * any / experiments,
               100.0 * near / experiments, 100.0 * more / experiments);
    }
}

int main(int argc, char *argv[])
{
    long experiments = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    if (experiments < 1 || experiments > 1000000) {
        (void)fprintf(stderr, "usage: bench_series [EXPERIMENTS]\n");
        return 2;
    }
    state = SEED;
    printf("seed %d, %ld experiments a row\n", SEED, experiments);
    two_jobs((int)experiments);
    series((int)experiments);
    return 0;
}
