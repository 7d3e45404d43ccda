/* What trace_flag's report says beyond the common members: overhead, compression, sizes. */
#include "jobs/kinds/flag.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 6
#define SUMMARY_MAX 4 /* databases named in the line for chat */

/* One pair of arms: off and on. */
struct pair {
    const struct arm *off;
    const struct arm *on;
    const struct stats_comparison *server;  /* by the server's seconds; NULL when there is none */
    const struct stats_comparison *elapsed; /* by ours */
};

static const struct stats_comparison *find(const struct stats_comparison *list, size_t count,
                                           int arm)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].arm == arm)
            return &list[i];
    return NULL;
}

/* The comparisons once more by our clock: pre-allocation may lie outside of what the server counts
 * as the backup's seconds. */
static struct stats_comparison *compare_elapsed(const struct bundle *bundle, size_t *out_count)
{
    struct stats_comparison *list = mem_alloc(bundle->arm_count, sizeof *list);
    struct stats_point *points = mem_alloc(bundle->trial_count, sizeof *points);
    int *against = mem_alloc(bundle->arm_count, sizeof *against);
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial_counts(trial) && trial->elapsed_s > 0 && trial->bytes > 0)
            points[count++] = (struct stats_point){.arm = trial->arm,
                                                   .block = trial->block,
                                                   .rate = (double)trial->bytes / trial->elapsed_s};
    }
    for (size_t i = 0; i < bundle->arm_count; i++)
        against[i] = bundle->arms[i].against;
    *out_count = stats_compare(points, count, against, bundle->arm_count,
                               bundle->design->confidence, bundle->design->tolerance, list);
    free(against);
    free(points);
    return list;
}

/* The median over an arm's counted trials; NaN when none knows it. */
static double median_of(const struct bundle *bundle, int arm,
                        int64_t (*value_of)(const struct trial *))
{
    struct stats_summary summary;
    double *values = mem_alloc(bundle->trial_count, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial->arm == arm && trial_counts(trial) && value_of(trial) >= 0)
            values[count++] = (double)value_of(trial);
    }
    stats_summarise(values, count, bundle->design->confidence, &summary);
    free(values);
    return summary.median;
}

static int64_t pages_of(const struct trial *trial)
{
    return trial->pages;
}

/* The largest size on disk that any trial of the arm was seen to have, warm-ups too (only they are
 * watched); NaN when none was. */
static double peak_bytes(const struct bundle *bundle, int arm)
{
    double peak = NAN;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial->arm == arm && trial->status == TRIAL_OK && trial->peak_bytes >= 0)
            peak = fmax(peak, (double)trial->peak_bytes); /* NaN is passed over */
    }
    return peak;
}

static cJSON *off_on(double off, double on, int digits)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "off", json_rounded(off, digits));
    cJSON_AddItemToObject(tree, "on", json_rounded(on, digits));
    return tree;
}

/* --- the members ---------------------------------------------------------------------------- */

static cJSON *overhead_of(const struct bundle *bundle, const struct analysis *analysis,
                          const struct pair *pair)
{
    const struct stats_comparison *server = pair->server;
    int off = pair->off->index;
    int on = pair->on->index;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToObject(row, "database", json_text(member_text(pair->on->settings, "database")));
    cJSON_AddNumberToObject(row, "flag", flag_of_arm(pair->on));
    cJSON_AddItemToObject(row, "compression",
                          json_text(member_text(pair->on->settings, "compression")));
    /* a comparison is of speeds: as times its ends change places */
    cJSON_AddItemToObject(row, "ratio", json_rounded(server ? 1 / server->ratio : NAN, DIGITS));
    cJSON_AddItemToObject(row, "low", json_rounded(server ? 1 / server->high : NAN, DIGITS));
    cJSON_AddItemToObject(row, "high", json_rounded(server ? 1 / server->low : NAN, DIGITS));
    cJSON_AddItemToObject(row, "level", json_number(server ? server->level : NAN));
    cJSON_AddItemToObject(row, "ratio_elapsed",
                          json_rounded(pair->elapsed ? 1 / pair->elapsed->ratio : NAN, DIGITS));
    cJSON_AddStringToObject(row, "verdict",
                            verdict_name(server ? server->verdict : VERDICT_INCONCLUSIVE));
    cJSON_AddItemToObject(
        row, "pages",
        off_on(median_of(bundle, off, pages_of), median_of(bundle, on, pages_of), 17));
    cJSON_AddItemToObject(row, "file_bytes",
                          off_on(analysis->file_bytes[off], analysis->file_bytes[on], 17));
    cJSON_AddItemToObject(row, "peak_file_bytes",
                          off_on(peak_bytes(bundle, off), peak_bytes(bundle, on), 17));
    cJSON_AddItemToObject(row, "compression_ratio",
                          off_on(report_compression_ratio(bundle, analysis, off),
                                 report_compression_ratio(bundle, analysis, on), DIGITS));
    return row;
}

/* Arms carry theirs too, so that nobody has to divide. */
static void add_to_arms(const struct bundle *bundle, cJSON *report)
{
    int index = 0;
    cJSON *arms = cJSON_GetObjectItemCaseSensitive(report, "arms");
    cJSON *arm;
    cJSON_ArrayForEach(arm, arms) {
        cJSON_AddItemToObject(arm, "peak_file_bytes", json_rounded(peak_bytes(bundle, index), 17));
        index++;
    }
}

static void warn_of_pages(const struct bundle *bundle, const struct pair *pair, cJSON *report)
{
    double off = median_of(bundle, pair->off->index, pages_of);
    double on = median_of(bundle, pair->on->index, pages_of);
    if (off < on || off > on)
        report_warn(report,
                    "%s held %.0f pages with trace flag %d off and %.0f with it on (medians): the "
                    "database changed while it was measured. Ratios are of seconds per page.",
                    member_text(pair->on->settings, "database"), off, flag_of_arm(pair->on), on);
}

/* Both clocks with a verdict, and the one the other way round from the other. */
static void warn_of_clocks(const struct pair *pair, cJSON *report)
{
    const struct stats_comparison *server = pair->server;
    const struct stats_comparison *elapsed = pair->elapsed;
    if (!server || !elapsed || (server->ratio > 1) == (elapsed->ratio > 1) ||
        (server->verdict != VERDICT_FASTER && server->verdict != VERDICT_SLOWER) ||
        fabs(elapsed->ratio - 1) < 0.01)
        return;
    report_warn(report,
                "%s: by the seconds that the server tells, trace flag %d makes it %s; by our clock "
                "it is %s (%.3f times as long). What lies outside of the server's seconds weighs "
                "more here than the flag: measure a larger database.",
                member_text(pair->on->settings, "database"), flag_of_arm(pair->on),
                server->ratio > 1 ? "faster" : "slower", elapsed->ratio > 1 ? "faster" : "slower",
                1 / elapsed->ratio);
}

static void warn_of_global(const struct flag_parameters *parameters, cJSON *report)
{
    const cJSON *flag;
    cJSON_ArrayForEach(flag, parameters->flags) {
        report_warn(report,
                    "Trace flag %.0f is global: while this job ran it was switched for every "
                    "session of the instance, other backups included. Afterwards it is put back to "
                    "what was found.",
                    flag->valuedouble);
    }
}

/* --- the line for people --------------------------------------------------------------------- */

static void add_percent(struct buf *out, double ratio)
{
    buf_format(out, "%.1f %% %s", 100 * fabs(ratio - 1), ratio >= 1 ? "slower" : "faster");
}

static void add_to_summary(struct buf *out, const struct pair *pair)
{
    const struct stats_comparison *server = pair->server;
    enum verdict verdict = server ? server->verdict : VERDICT_INCONCLUSIVE;
    buf_format(out, "%s ", member_text(pair->on->settings, "database"));
    switch (verdict) {
    case VERDICT_NO_DIFFERENCE:
        buf_add(out, "no difference");
        break;
    case VERDICT_INCONCLUSIVE:
        buf_add(out, "undecided");
        break;
    case VERDICT_FASTER:
    case VERDICT_SLOWER:
        add_percent(out, 1 / server->ratio);
        break;
    }
    if (server && isfinite(server->low) && isfinite(server->high))
        buf_format(out, " (%g %% %+.1f to %+.1f %%)", 100 * server->level,
                   100 * (1 / server->high - 1), 100 * (1 / server->low - 1));
}

/* "Trace flag 3042 on: Sales 5.6 % slower (95 % +5.0 to +6.2 %), HR no difference (…)" */
static char *summary_of(const struct pair *pairs, size_t count)
{
    struct buf text = {0};
    int last = 0;
    for (size_t i = 0; i < count && i < SUMMARY_MAX; i++) {
        int flag = flag_of_arm(pairs[i].on);
        if (flag != last)
            buf_format(&text, "%sTrace flag %d on: ", i > 0 ? "; " : "", flag);
        else
            buf_add(&text, ", ");
        last = flag;
        add_to_summary(&text, &pairs[i]);
    }
    if (count > SUMMARY_MAX)
        buf_format(&text, "; %zu more in the report", count - SUMMARY_MAX);
    return buf_take(&text);
}

void flag_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                 struct outcome *out)
{
    struct flag_parameters parameters;
    size_t elapsed_count;
    size_t pair_count = 0;
    bool decided = false;
    flag_read(bundle->parameters, &parameters, NULL);
    struct stats_comparison *elapsed = compare_elapsed(bundle, &elapsed_count);
    struct pair *pairs = mem_alloc(bundle->arm_count, sizeof *pairs);
    cJSON *overhead = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->arm_count; i++) {
        const struct arm *on = &bundle->arms[i];
        if (on->baseline)
            continue;
        struct pair *pair = &pairs[pair_count++];
        *pair = (struct pair){
            .off = &bundle->arms[on->against],
            .on = on,
            .server = find(analysis->comparisons, analysis->comparison_count, on->index),
            .elapsed = find(elapsed, elapsed_count, on->index)};
        cJSON_AddItemToArray(overhead, overhead_of(bundle, analysis, pair));
        warn_of_pages(bundle, pair, report);
        warn_of_clocks(pair, report);
        decided |= pair->server && pair->server->verdict != VERDICT_INCONCLUSIVE;
    }
    cJSON_AddItemToObject(report, "overhead", overhead);
    report_add_compression(report, bundle, analysis);
    add_to_arms(bundle, report);
    warn_of_global(&parameters, report);
    out->state = decided ? JOB_SUCCEEDED : JOB_INCONCLUSIVE;
    out->summary = summary_of(pairs, pair_count);
    free(pairs);
    free(elapsed);
}
