/* What a reader must know before trusting a report, as far as the trials themselves tell. */
#include "jobs/measure/report_parts.h"

#include "jobs/measure/message_advice.h"
#include "jobs/measure/stopping.h"
#include "server/buf.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP_S 0.05 /* experiments.md 2: max(50 ms, 5 %) */
#define GAP_SHARE 0.05
#define PAGES_SHARE 0.01 /* a database that grew by more is another database */
#define SHORT_S 1.0      /* the server counts milliseconds, and starting takes some */
#define LISTED_MAX 10    /* of trials named one by one */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void warn_of_server(cJSON *report, const struct bundle *bundle)
{
    if (bundle->facts->simulated)
        report_warn(report, "SIMULATED: the server is a simulator. No figure here says anything "
                            "about a real SQL Server.");
    if (!bundle->authenticated)
        report_warn(report, "The server was not authenticated: no ca_file is set, so its "
                            "certificate was not checked.");
}

static void warn_of_order(cJSON *report, const struct bundle *bundle)
{
    if (bundle->design->order == DESIGN_SEQUENTIAL)
        report_warn(report, "The arms ran in a fixed order: a host that grows faster or slower "
                            "during the job looks like a difference between them. The intervals "
                            "allow for a steady drift, not for a sudden one.");
}

static void warn_of_race(cJSON *report, const struct bundle *bundle,
                         const struct analysis *analysis)
{
    size_t count = 0;
    for (size_t a = 0; a < bundle->arm_count; a++)
        count += analysis->dropped_after[a] > 0;
    if (count > 0)
        report_warn(report,
                    "The race dropped %zu of %zu settings, each once the blocks so far showed that "
                    "it would not be recommended. They ran fewer blocks; comparisons with them "
                    "hold for the blocks they share.",
                    count, bundle->arm_count);
}

static void warn_of_early_end(cJSON *report, const struct bundle *bundle,
                              const struct analysis *analysis)
{
    if (analysis->confidence > stopping_confidence(bundle->design, design_blocks(bundle->design)))
        report_warn(report,
                    "Measuring ended before the last of %d blocks. With stop_early what is shown "
                    "so early must hold at %.6g %%, so the intervals are wide.",
                    design_blocks(bundle->design), 100 * analysis->confidence);
}

static void warn_of_failed(cJSON *report, const struct bundle *bundle)
{
    for (size_t a = 0; a < bundle->arm_count; a++) {
        const struct trial *last = NULL;
        size_t count = 0;
        for (size_t i = 0; i < bundle->trial_count; i++) {
            if (bundle->trials[i].arm != (int)a || bundle->trials[i].status != TRIAL_FAILED)
                continue;
            last = &bundle->trials[i];
            count++;
        }
        if (!last)
            continue;
        const char *advice = message_advice((int)last->error_number, last->error_text);
        report_warn(report,
                    "%s failed in %zu trial%s (error %lld: %s) and is never recommended.%s%s",
                    bundle->arms[a].label, count, plural(count), (long long)last->error_number,
                    last->error_text ? last->error_text : "no text", advice ? " " : "",
                    advice ? advice : "");
    }
}

static void warn_of_contaminated(cJSON *report, const struct bundle *bundle)
{
    size_t count = 0;
    size_t lost = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        bool cut_off = trial_was_lost(&bundle->trials[i]);
        lost += bundle->trials[i].status == TRIAL_CONTAMINATED && cut_off;
        count += bundle->trials[i].status == TRIAL_CONTAMINATED && !cut_off;
    }
    if (count > 0)
        report_warn(report,
                    "%zu trial%s ran beside other work on the instance. Such trials are "
                    "repeated, up to the limit, and never counted.",
                    count, plural(count));
    if (lost > 0)
        report_warn(report,
                    "%zu trial%s lost the connection. Such trials are repeated, up to the limit, "
                    "and never counted.",
                    lost, plural(lost));
}

static void warn_of_outliers(cJSON *report, const struct bundle *bundle,
                             const struct analysis *analysis)
{
    struct buf list = {0};
    size_t listed = 0;
    for (size_t i = 0; i < analysis->point_count; i++) {
        const struct stats_point *point = &analysis->points[i];
        if (!analysis->outlier[i] || listed++ >= LISTED_MAX)
            continue;
        buf_format(&list, "%s%s in block %d", listed > 1 ? ", " : "",
                   bundle->arms[point->arm].label, point->block);
    }
    if (analysis->outlier_count > 0)
        report_warn(report,
                    "%zu trial%s lay too far from what the arm and the block let expect "
                    "and did not enter the comparisons (the medians hold them): %s%s.",
                    analysis->outlier_count, plural(analysis->outlier_count), buf_text(&list),
                    listed > LISTED_MAX ? ", …" : "");
    buf_fini(&list);
}

static void warn_of_gaps(cJSON *report, const struct bundle *bundle)
{
    size_t count = 0;
    double widest = 0;
    int64_t widest_seq = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        double gap = fabs(trial->elapsed_s - trial->server_s);
        if (!trial_counts(trial) || !(gap > fmax(GAP_S, GAP_SHARE * trial->server_s)))
            continue;
        count++;
        if (!(gap > widest))
            continue;
        widest = gap;
        widest_seq = trial->seq;
    }
    if (count > 0)
        report_warn(report,
                    "In %zu trial%s our clock and the server's differ by more than 5 %% "
                    "(most in trial %lld: %.3g s). Rates use the server's, elapsed_s ours.",
                    count, plural(count), (long long)widest_seq, widest);
}

static bool has_note(const struct trial *trial, const char *text)
{
    const cJSON *note = NULL;
    cJSON_ArrayForEach(note, trial->notes) {
        if (cJSON_IsString(note) && strcmp(note->valuestring, text) == 0)
            return true;
    }
    return false;
}

static void warn_of_printed_rates(cJSON *report, const struct bundle *bundle)
{
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++)
        count += has_note(&bundle->trials[i], TRIAL_NOTE_PRINTED_RATE);
    if (count > 0)
        report_warn(report, "In %zu trial%s %s. Rates are computed from pages and seconds.", count,
                    plural(count), TRIAL_NOTE_PRINTED_RATE);
}

static void warn_of_few_runs(cJSON *report, const struct bundle *bundle,
                             const struct analysis *analysis)
{
    const struct stats_summary *fewest = NULL;
    for (size_t a = 0; a < bundle->arm_count; a++)
        if (analysis->elapsed[a].n > 0 && analysis->dropped_after[a] == 0 &&
            (!fewest || analysis->elapsed[a].n < fewest->n))
            fewest = &analysis->elapsed[a];
    if (!fewest || fewest->level >= bundle->design->confidence)
        return;
    if (fewest->n == 1)
        report_warn(report, "One run of an arm has no interval: ask for more repetitions.");
    else
        report_warn(report,
                    "%d runs allow an interval of at most %.6g %% for a median, not %.6g %%. "
                    "The intervals of the comparisons are their own and hold theirs.",
                    fewest->n, 100 * fewest->level, 100 * bundle->design->confidence);
}

/* The median of what an arm's counted trials give; NaN when there are none. */
static double median_of(const struct bundle *bundle, size_t arm, bool pages)
{
    struct stats_summary summary;
    double *values = mem_alloc(bundle->trial_count, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        double taken = isnan(trial->server_s) ? trial->elapsed_s : trial->server_s;
        if (trial->arm == (int)arm && trial_counts(trial))
            values[count++] = pages ? (double)trial->pages : taken;
    }
    stats_summarise(values, count, bundle->design->confidence, &summary);
    free(values);
    return summary.median;
}

static void warn_of_pages(cJSON *report, const struct bundle *bundle)
{
    for (size_t a = 0; a < bundle->arm_count; a++) {
        int against = bundle->arms[a].against;
        if (against < 0 || (size_t)against >= bundle->arm_count)
            continue;
        double here = median_of(bundle, a, true);
        double there = median_of(bundle, (size_t)against, true);
        if (there > 0 && fabs(here - there) > PAGES_SHARE * there)
            report_warn(report, "%s read %.0f pages, %s %.0f: they did not do the same work.",
                        bundle->arms[a].label, here, bundle->arms[against].label, there);
    }
}

static void warn_of_short_runs(cJSON *report, const struct bundle *bundle)
{
    double shortest = INFINITY;
    bool workload = false; /* no pages are counted */
    for (size_t a = 0; a < bundle->arm_count; a++) {
        shortest = fmin(shortest, median_of(bundle, a, false)); /* NaN is passed over */
        workload |= median_of(bundle, a, true) < 0;
    }
    if (shortest < SHORT_S && workload)
        report_warn(report,
                    "The shortest runs took %.3g s: the network and starting a statement weigh on "
                    "such figures. Let the workload do more.",
                    shortest);
    else if (shortest < SHORT_S)
        report_warn(report,
                    "The shortest runs took %.3g s: starting a backup and a clock of whole "
                    "milliseconds weigh on such figures. Measure a larger database.",
                    shortest);
}

void report_add_warnings(cJSON *report, const struct bundle *bundle,
                         const struct analysis *analysis)
{
    warn_of_server(report, bundle);
    warn_of_failed(report, bundle);
    warn_of_contaminated(report, bundle);
    warn_of_outliers(report, bundle, analysis);
    warn_of_order(report, bundle);
    warn_of_race(report, bundle, analysis);
    warn_of_early_end(report, bundle, analysis);
    warn_of_pages(report, bundle);
    warn_of_gaps(report, bundle);
    warn_of_printed_rates(report, bundle);
    warn_of_short_runs(report, bundle);
    warn_of_few_runs(report, bundle, analysis);
}
