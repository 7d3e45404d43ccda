#include "jobs/looks.h"
#include "jobs/ending.h"
#include "jobs/kind.h"
#include "jobs/measure/stopping.h"
#include "jobs/run.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/mem.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define MIB ((int64_t)1 << 20)
#define TRIAL_MARGIN 1.25 /* a trial may take this much longer than the longest so far */

void looks_init(struct looks *looks, size_t arms_max)
{
    *looks = (struct looks){0};
    race_init(&looks->race, arms_max);
}

void looks_fini(struct looks *looks)
{
    if (!looks)
        return;
    race_fini(&looks->race);
}

/* --- looks --------------------------------------------------------------------------------- */

/* Blocks that are complete before the first step of `block`: ABBA runs two at a time. Later phases
 * are not looked at. */
static int complete_before(const struct design *design, int block)
{
    int complete = design->order == DESIGN_ABBA ? (block - 1) / 2 * 2 : block - 1;
    int last = design_blocks(design) - 1;
    return complete < last ? complete : last;
}

/* Comparisons with a failed arm get no further data, and keep nothing open. */
static bool is_decided(const struct bundle *bundle, const struct analysis *analysis)
{
    struct stats_comparison *open = mem_alloc(analysis->comparison_count, sizeof *open);
    size_t count = 0;
    for (size_t i = 0; i < analysis->comparison_count; i++) {
        const struct stats_comparison *comparison = &analysis->comparisons[i];
        if (!rivals_is_out(bundle, comparison->arm, INT_MAX) &&
            !rivals_is_out(bundle, comparison->against, INT_MAX))
            open[count++] = *comparison;
    }
    bool decided = stopping_is_decided(open, count);
    free(open);
    return decided;
}

static bool is_answered(const struct run *run, const struct bundle *bundle)
{
    const struct job_kind *kind = run->definition.kind;
    struct analysis analysis;
    analysis_make(bundle, &analysis);
    bool answered =
        kind->is_answered ? kind->is_answered(bundle, &analysis) : is_decided(bundle, &analysis);
    analysis_fini(&analysis);
    return answered;
}

static void look_after(struct run *run, int block)
{
    const struct design *design = &run->definition.design;
    struct bundle bundle = ending_bundle(run);
    struct trial *seen = mem_alloc(run->trial_count, sizeof *seen); /* borrows what they hold */
    size_t point_count = 0;
    bundle.trials = seen;
    bundle.trial_count = 0;
    for (size_t i = 0; i < run->trial_count; i++)
        if (run->trials[i].block <= block)
            seen[bundle.trial_count++] = run->trials[i];
    struct stats_point *points = analysis_points(&bundle, &point_count);
    race_look(&run->looks.race, &bundle, points, point_count, block);
    if (stopping_looks_after(design, block) && is_answered(run, &bundle)) {
        run->looks.stopped_after = block;
        log_event(LOG_LEVEL_INFO, "answered_early", "block=%d", block);
    }
    free(points);
    free(seen);
}

void looks_take(struct run *run, int block)
{
    const struct design *design = &run->definition.design;
    int complete = complete_before(design, block);
    while ((design->race || design->stop_early) && run->looks.looked < complete &&
           run->looks.stopped_after == 0)
        look_after(run, ++run->looks.looked);
}

bool looks_leave_out(const struct run *run, const struct design_step *step)
{
    const struct looks *looks = &run->looks;
    int dropped_after = looks->race.after[step->arm];
    if (looks->budget_over)
        return true;
    if (step->block > design_blocks(&run->definition.design))
        return false;
    return (dropped_after > 0 && step->block > dropped_after) ||
           (looks->stopped_after > 0 && step->block > looks->stopped_after);
}

/* --- budgets of a race --------------------------------------------------------------------- */

static bool has_counted(const struct run *run)
{
    for (size_t i = 0; i < run->trial_count; i++)
        if (trial_counts(&run->trials[i]))
            return true;
    return false;
}

static double longest_s(const struct run *run)
{
    double longest = 0;
    for (size_t i = 0; i < run->trial_count; i++)
        longest = fmax(longest, run->trials[i].elapsed_s); /* NaN is passed over */
    return longest;
}

bool looks_budget_is_used(struct run *run)
{
    const struct limits *limits = &run->limits;
    double left_s = (double)(run->stop_at_ns - clock_mono_ns()) / 1e9;
    const struct {
        const char *name;
        int64_t limit;
        bool used;
    } budgets[] = {
        {"read_mib", limits->read_mib, run->bytes_read / MIB >= limits->read_mib},
        {"written_mib", limits->written_mib,
         run->bytes_written > 0 && run->bytes_written / MIB >= limits->written_mib},
        {"minutes", limits->job_minutes, TRIAL_MARGIN * longest_s(run) > left_s},
    };
    if (!run->definition.design.race || run->looks.budget_over || !has_counted(run))
        return run->looks.budget_over;
    for (size_t i = 0; i < JSON_COUNT(budgets) && !run->looks.budget_over; i++) {
        if (!budgets[i].used)
            continue;
        run->looks.budget_over = true;
        run_warn(run,
                 "the race ended before its last block: its budget (%s %" PRId64 ") is used up",
                 budgets[i].name, budgets[i].limit);
    }
    return run->looks.budget_over;
}
