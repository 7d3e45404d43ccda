/* From trials to the numbers of a report. */
#include "jobs/measure/report.h"

#include "jobs/measure/rivals.h"
#include "jobs/measure/stopping.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>

#define GIB 1073741824.0

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

/* CPU seconds for each GiB read. */
static double cpu_per_gib_of(const struct trial *trial)
{
    return trial->bytes > 0 ? trial->cpu_s / ((double)trial->bytes / GIB) : NAN;
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

struct stats_point *analysis_points(const struct bundle *bundle, size_t *out_count)
{
    bool fixed_order = bundle->design->order == DESIGN_SEQUENTIAL;
    struct stats_point *points = mem_alloc(bundle->trial_count, sizeof *points);
    *out_count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial_counts(trial))
            points[(*out_count)++] =
                (struct stats_point){.arm = trial->arm,
                                     .block = trial->block,
                                     .rate = trial_speed(trial),
                                     .position = fixed_order ? position_of(bundle, i) : 0};
    }
    return points;
}

/* The highest block of the first phase that a trial ran in, counted ones only or all. */
static int last_block(const struct bundle *bundle, bool counted)
{
    int last = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial->block > last && trial->block <= design_blocks(bundle->design) &&
            (!counted || trial_counts(trial)))
            last = trial->block;
    }
    return last;
}

/* True for an arm that ran in a later phase only (a confirmation). */
static bool is_later(const struct bundle *bundle, size_t arm)
{
    for (size_t i = 0; i < bundle->trial_count; i++)
        if (bundle->trials[i].arm == (int)arm && !bundle->trials[i].warmup &&
            bundle->trials[i].block <= design_blocks(bundle->design))
            return false;
    return true;
}

/* Later phases run to their end, and are judged at the confidence asked for. */
static void compare(const struct bundle *bundle, const int *against, struct analysis *out)
{
    size_t arms = bundle->arm_count;
    int *chosen = mem_alloc(arms, sizeof *chosen);
    int phases = bundle->design->stop_early ? 2 : 1;
    for (int phase = 0; phase < phases; phase++) {
        double confidence = phase == 0 ? out->confidence : bundle->design->confidence;
        for (size_t a = 0; a < arms; a++)
            chosen[a] = phases == 1 || is_later(bundle, a) == (phase == 1) ? against[a] : (int)a;
        out->comparison_count +=
            stats_compare(out->points, out->point_count, chosen, arms, confidence,
                          bundle->design->tolerance, out->comparisons + out->comparison_count);
    }
    free(chosen);
}

/* What a race dropped: every look that was followed by another trial. */
static void replay_race(const struct bundle *bundle, struct analysis *out)
{
    struct race race;
    race_init(&race, bundle->arm_count);
    race_look(&race, bundle, out->points, out->point_count, last_block(bundle, false) - 1);
    out->dropped_after = race.after;
    out->beaten_by = race.beaten_by;
}

void analysis_make(const struct bundle *bundle, struct analysis *out)
{
    size_t arms = bundle->arm_count;
    *out = (struct analysis){.rates = mem_alloc(arms, sizeof *out->rates),
                             .elapsed = mem_alloc(arms, sizeof *out->elapsed),
                             .cpu_s = mem_alloc(arms, sizeof *out->cpu_s),
                             .cpu_s_per_gib = mem_alloc(arms, sizeof *out->cpu_s_per_gib),
                             .file_bytes = mem_alloc(arms, sizeof *out->file_bytes),
                             .comparisons = mem_alloc(arms, sizeof *out->comparisons)};
    int *against = mem_alloc(arms, sizeof *against);
    for (size_t a = 0; a < arms; a++) {
        out->rates[a] = summarise(bundle, a, trial_rate);
        out->elapsed[a] = summarise(bundle, a, elapsed_of);
        out->cpu_s[a] = summarise(bundle, a, cpu_of).median;
        out->cpu_s_per_gib[a] = summarise(bundle, a, cpu_per_gib_of).median;
        out->file_bytes[a] = summarise(bundle, a, file_of).median;
        against[a] = bundle->arms[a].against;
    }
    out->points = analysis_points(bundle, &out->point_count);
    out->confidence = stopping_confidence(bundle->design, last_block(bundle, true));
    compare(bundle, against, out);
    replay_race(bundle, out);
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
    free(analysis->cpu_s_per_gib);
    free(analysis->dropped_after);
    free(analysis->beaten_by);
    free(analysis->file_bytes);
    free(analysis->points);
    free(analysis->outlier);
    free(analysis->comparisons);
    *analysis = (struct analysis){0};
}
