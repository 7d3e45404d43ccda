/* From trials to the numbers of a report. */
#include "jobs/measure/report.h"

#include "server/mem.h"

#include <math.h>
#include <stdlib.h>

/* Values of one arm's counted trials. */
struct values {
    double *items;
    size_t count;
};

static double elapsed_of(const struct trial *trial)
{
    return trial->elapsed_s;
}

static double cpu_of(const struct trial *trial)
{
    return trial->cpu_s;
}

static double file_of(const struct trial *trial)
{
    return trial->file_bytes < 0 ? NAN : (double)trial->file_bytes;
}

static struct values collect(const struct bundle *bundle, size_t arm,
                             double (*value_of)(const struct trial *))
{
    struct values values = {.items = mem_alloc(bundle->trial_count, sizeof *values.items)};
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial->arm != (int)arm || !trial_counts(trial))
            continue;
        double value = value_of(trial);
        if (!isnan(value))
            values.items[values.count++] = value;
    }
    return values;
}

static struct stats_summary summarise(const struct bundle *bundle, size_t arm,
                                      double (*value_of)(const struct trial *))
{
    struct stats_summary summary;
    struct values values = collect(bundle, arm, value_of);
    stats_summarise(values.items, values.count, bundle->design->confidence, &summary);
    free(values.items);
    return summary;
}

/* The place of a trial among the trials of its block that count. */
static int position_of(const struct bundle *bundle, size_t index)
{
    int position = 1;
    for (size_t i = 0; i < bundle->trial_count; i++)
        position += bundle->trials[i].block == bundle->trials[index].block &&
                    bundle->trials[i].seq < bundle->trials[index].seq &&
                    trial_counts(&bundle->trials[i]);
    return position;
}

static void collect_points(const struct bundle *bundle, struct analysis *out)
{
    bool fixed_order = bundle->design->order == DESIGN_SEQUENTIAL;
    out->points = mem_alloc(bundle->trial_count, sizeof *out->points);
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial_counts(trial))
            out->points[out->point_count++] =
                (struct stats_point){.arm = trial->arm,
                                     .block = trial->block,
                                     .rate = trial_speed(trial),
                                     .position = fixed_order ? position_of(bundle, i) : 0};
    }
}

void analysis_make(const struct bundle *bundle, struct analysis *out)
{
    size_t arms = bundle->arm_count;
    *out = (struct analysis){.rates = mem_alloc(arms, sizeof *out->rates),
                             .elapsed = mem_alloc(arms, sizeof *out->elapsed),
                             .cpu_s = mem_alloc(arms, sizeof *out->cpu_s),
                             .file_bytes = mem_alloc(arms, sizeof *out->file_bytes),
                             .comparisons = mem_alloc(arms, sizeof *out->comparisons)};
    int *against = mem_alloc(arms, sizeof *against);
    for (size_t a = 0; a < arms; a++) {
        out->rates[a] = summarise(bundle, a, trial_rate);
        out->elapsed[a] = summarise(bundle, a, elapsed_of);
        out->cpu_s[a] = summarise(bundle, a, cpu_of).median;
        out->file_bytes[a] = summarise(bundle, a, file_of).median;
        against[a] = bundle->arms[a].against;
    }
    collect_points(bundle, out);
    out->comparison_count =
        stats_compare(out->points, out->point_count, against, arms, bundle->design->confidence,
                      bundle->design->tolerance, out->comparisons);
    out->outlier = mem_alloc(out->point_count, sizeof *out->outlier);
    out->outlier_count = stats_outliers(out->points, out->point_count, against, arms, out->outlier);
    free(against);
}

void analysis_fini(struct analysis *analysis)
{
    if (!analysis)
        return;
    free(analysis->rates);
    free(analysis->elapsed);
    free(analysis->cpu_s);
    free(analysis->file_bytes);
    free(analysis->points);
    free(analysis->outlier);
    free(analysis->comparisons);
    *analysis = (struct analysis){0};
}
