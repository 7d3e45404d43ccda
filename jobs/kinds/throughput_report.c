#include "jobs/kinds/throughput_report.h"
#include "jobs/kinds/throughput.h"
#include "jobs/kinds/throughput_reads.h"
#include "jobs/measure/bottleneck.h"
#include "jobs/member.h"
#include "jobs/target.h"
#include "server/buf.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 6
#define COMPRESSES 1.1       /* below this ratio a file is as good as not compressed */
#define FIRST_COMPRESSING 10 /* 2008 */
#define SUMMARY_PARTS 4
#define CLEARLY 1.5 /* times as fast: more than a busy hour makes of one place */

/* What everything here looks at. */
struct view {
    const struct bundle *bundle;
    const struct analysis *analysis;
    const struct throughput *throughput;
};

/* --- medians of one arm's counted trials ----------------------------------------------------- */

typedef double figure_of(const struct trial *trial, const char *name);

static double seconds_of(const struct trial *trial)
{
    return isnan(trial->server_s) ? trial->elapsed_s : trial->server_s;
}

/* Waiting seconds of one type for each second of the backup. An empty list: nothing was seen. */
static double wait_of(const struct trial *trial, const char *type)
{
    double ms = 0;
    const cJSON *wait;
    if (cJSON_GetArraySize(trial->waits) == 0)
        return NAN;
    cJSON_ArrayForEach(wait, trial->waits) {
        const char *own = member_text(wait, "type");
        if (own && strcmp(own, type) == 0)
            ms += (double)member_int(wait, "ms", 0);
    }
    return ms / 1000 / seconds_of(trial);
}

static double cores_of(const struct trial *trial, const char *name)
{
    (void)name; /* there is one such figure only */
    return trial->cpu_s / seconds_of(trial);
}

static double ratio_of(const struct trial *trial, const char *name)
{
    (void)name; /* as above */
    return trial->file_bytes > 0 ? (double)trial->bytes / (double)trial->file_bytes : NAN;
}

static double median_of(const struct view *view, int arm, figure_of *figure, const char *name)
{
    const struct bundle *bundle = view->bundle;
    struct stats_summary summary;
    double *values = mem_alloc(bundle->trial_count, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        double value = trial->arm == arm && trial_counts(trial) ? figure(trial, name) : NAN;
        if (isfinite(value))
            values[count++] = value;
    }
    stats_summarise(values, count, bundle->design->confidence, &summary);
    free(values);
    return summary.median;
}

/* --- profiles -------------------------------------------------------------------------------- */

static struct bottleneck_range range_of(const struct stats_summary *summary)
{
    return (struct bottleneck_range){summary->median, summary->low, summary->high};
}

static struct bottleneck_range compared(const struct view *view, int arm)
{
    const struct analysis *analysis = view->analysis;
    for (size_t i = 0; i < analysis->comparison_count; i++) {
        const struct stats_comparison *it = &analysis->comparisons[i];
        if (it->arm == arm)
            return (struct bottleneck_range){it->ratio, it->low, it->high};
    }
    return (struct bottleneck_range){NAN, NAN, NAN};
}

static const char *database_of(const struct view *view, int arm)
{
    return member_text(view->bundle->arms[arm].settings, "database");
}

/* Where the server decides, the files tell; where there is no file, it may be compressed. */
static bool is_compressed(const struct view *view, int arm)
{
    const char *word = view->throughput->compression;
    bool seen = false;
    int major = view->bundle->facts->major;
    if (strcmp(word, "default") != 0)
        return strcmp(word, "off") != 0;
    if (major > 0 && major < FIRST_COMPRESSING)
        return false;
    for (size_t i = 0; i < view->bundle->arm_count; i++) {
        double ratio = median_of(view, (int)i, ratio_of, NULL);
        if (strcmp(database_of(view, (int)i), database_of(view, arm)) != 0 || isnan(ratio))
            continue;
        if (ratio >= COMPRESSES)
            return true;
        seen = true;
    }
    return !seen;
}

static const cJSON *target_of(const struct view *view, int arm)
{
    const char *name = member_text(view->bundle->arms[arm].settings, "target");
    const cJSON *target;
    cJSON_ArrayForEach(target, view->throughput->targets) {
        if (name && strcmp(member_text(target, "name"), name) == 0)
            return target;
    }
    return NULL;
}

/* What throughput_growth gathered of a database; NULL when it is not there. */
static const cJSON *growth_of(const struct bundle *bundle, const char *database)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(bundle->gathered, "growth")) {
        const char *own = member_text(item, "database");
        if (own && strcmp(own, database) == 0)
            return item;
    }
    return NULL;
}

static bool is_on_share(const cJSON *target)
{
    const cJSON *path;
    cJSON_ArrayForEach(path, json_member(target, "paths")) {
        if (strncmp(path->valuestring, "\\\\", 2) == 0)
            return true;
    }
    return false;
}

/* What the fastest folder of the server's own took of the same database, when that is clearly more
 * than this target on a share did; else 0. */
static double local_rate(const struct view *view, int arm)
{
    const struct bundle *bundle = view->bundle;
    double own = view->analysis->rates[arm].median;
    double fastest = 0;
    for (size_t i = 0; i < bundle->arm_count; i++) {
        const cJSON *target = target_of(view, (int)i);
        double rate = view->analysis->rates[i].median;
        if (bundle->arms[i].against == bundle->arms[arm].against && !target_is_nul(target) &&
            !is_on_share(target) && rate > fastest)
            fastest = rate;
    }
    return own > 0 && fastest >= CLEARLY * own ? fastest : 0;
}

static struct bottleneck_layout layout_of(const struct view *view, int arm,
                                          const struct throughput_reads *reads)
{
    const cJSON *target = target_of(view, arm);
    const cJSON *growth = growth_of(view->bundle, database_of(view, arm));
    struct bottleneck_layout layout = {.on_share = is_on_share(target),
                                       .log_beside_data = reads->log_beside_data,
                                       .data_volumes = cJSON_GetArraySize(reads->drives),
                                       .slowest_drive = reads->slowest_drive,
                                       .growths = member_int(growth, "events", 0),
                                       .growths_since = member_text(growth, "since")};
    const cJSON *path;
    cJSON_ArrayForEach(path, json_member(target, "paths")) {
        layout.beside_data |= throughput_is_beside_data(reads, path->valuestring);
    }
    if (layout.on_share)
        layout.local_mib_s = local_rate(view, arm);
    return layout;
}

/* The arm that is this one's ceiling: reading to NUL with as many files, where the job measured
 * that, else the baseline. */
static int ceiling_of(const struct view *view, int arm)
{
    const struct bundle *bundle = view->bundle;
    int64_t files = member_int(bundle->arms[arm].settings, "files", 1);
    for (size_t i = 0; i < bundle->arm_count; i++)
        if ((int)i != arm && bundle->arms[i].against == bundle->arms[arm].against &&
            target_is_nul(target_of(view, (int)i)) && view->analysis->rates[i].n > 0 &&
            member_int(bundle->arms[i].settings, "files", 1) == files)
            return (int)i;
    return bundle->arms[arm].against;
}

static struct bottleneck_profile profile_of(const struct view *view, int arm,
                                            const struct throughput_reads *reads)
{
    const struct bundle *bundle = view->bundle;
    int ceiling = ceiling_of(view, arm);
    struct bottleneck_range none = {NAN, NAN, NAN}; /* taken from the two rates */
    return (struct bottleneck_profile){
        .rate = range_of(&view->analysis->rates[arm]),
        .ceiling = range_of(&view->analysis->rates[ceiling]),
        .fraction = ceiling == bundle->arms[arm].against ? compared(view, arm) : none,
        .write_wait = median_of(view, arm, wait_of, "BACKUPIO"),
        .buffer_wait = median_of(view, arm, wait_of, "BACKUPBUFFER"),
        .read_wait = median_of(view, arm, wait_of, "ASYNC_IO_COMPLETION"),
        .cpu_cores = median_of(view, arm, cores_of, NULL),
        .cpu_count = (int)bundle->facts->cpu_count,
        .writers = (int)member_int(bundle->arms[arm].settings, "files", 1),
        .ceiling_files = (int)member_int(bundle->arms[ceiling].settings, "files", 1),
        .discards = target_is_nul(target_of(view, arm)),
        .compressed = is_compressed(view, arm),
        .ratio = median_of(view, arm, ratio_of, NULL),
        .server_major = bundle->facts->major,
        .server_build = guard_build(bundle->facts),
        .layout = layout_of(view, arm, reads),
    };
}

/* --- the report's member --------------------------------------------------------------------- */

/* What is counted and said at the end. */
struct tale {
    struct buf summary;
    int parts;
    int verdicts;
    int sure;
    int ceilings;
};

static void tell(struct tale *tale, const char *database, const struct bottleneck_profile *profile,
                 const char *target, const struct bottleneck_verdict *verdict)
{
    static const char *const words[] = {
        [BOTTLENECK_READ] = "reading limits",       [BOTTLENECK_WRITE] = "writing limits",
        [BOTTLENECK_CPU] = "the CPU limits",        [BOTTLENECK_BALANCED] = "both sides keep pace",
        [BOTTLENECK_UNSURE] = "unsure what limits",
    };
    tale->verdicts++;
    tale->sure += verdict->bottleneck != BOTTLENECK_UNSURE;
    if (tale->parts++ >= SUMMARY_PARTS)
        return;
    buf_format(&tale->summary, "%s%s to %s: %s", tale->summary.length ? "; " : "", database, target,
               words[verdict->bottleneck]);
    if (isfinite(verdict->fraction))
        buf_format(&tale->summary, " (%.0f %% of the %.4g MiB/s that reading gives)",
                   100 * verdict->fraction, profile->ceiling.value);
}

static void tell_ceiling(struct tale *tale, const char *database, double ceiling)
{
    if (tale->parts++ >= SUMMARY_PARTS)
        return;
    buf_format(&tale->summary, "%s%s: ", tale->summary.length ? "; " : "", database);
    if (isfinite(ceiling))
        buf_format(&tale->summary, "reading alone gives %.4g MiB/s", ceiling);
    else
        buf_add(&tale->summary, "reading alone was not measured");
}

static cJSON *target_json(const struct view *view, int arm, const struct throughput_reads *ceiling,
                          cJSON *report, struct tale *tale)
{
    const char *name = member_text(view->bundle->arms[arm].settings, "target");
    struct throughput_reads reads;
    struct bottleneck_verdict verdict;
    char arm_text[ARM_NAME_SIZE];
    struct bottleneck_profile profile = profile_of(view, arm, ceiling);
    bottleneck_judge(&profile, &verdict);
    throughput_reads_make(view->bundle, arm, &reads);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "name", name);
    cJSON_AddStringToObject(tree, "arm", arm_name(arm, arm_text));
    cJSON_AddItemToObject(tree, "rate_mib_s", json_rounded(profile.rate.value, DIGITS));
    cJSON_AddItemToObject(tree, "fraction_of_ceiling", json_rounded(verdict.fraction, DIGITS));
    cJSON_AddItemToObject(tree, "low", json_rounded(verdict.low, DIGITS));
    cJSON_AddItemToObject(tree, "high", json_rounded(verdict.high, DIGITS));
    cJSON_AddItemToObject(tree, "compression_ratio", json_rounded(profile.ratio, DIGITS));
    cJSON_AddItemToObject(tree, "verdict", json_text(bottleneck_name(verdict.bottleneck)));
    cJSON_AddItemToObject(tree, "evidence", cJSON_Duplicate(verdict.evidence, true));
    cJSON_AddItemToObject(tree, "advice", cJSON_Duplicate(verdict.advice, true));
    cJSON_AddItemToObject(tree, "drives", cJSON_Duplicate(reads.drives, true));
    tell(tale, database_of(view, arm), &profile, name, &verdict);
    if (profile.compressed)
        report_warn_of_ratio(report, view->bundle, arm, profile.ratio);
    bottleneck_verdict_fini(&verdict);
    throughput_reads_fini(&reads);
    return tree;
}

static cJSON *database_json(const struct view *view, int baseline, cJSON *report, struct tale *tale)
{
    double ceiling = view->analysis->rates[baseline].median;
    struct throughput_reads reads;
    throughput_reads_make(view->bundle, baseline, &reads);
    cJSON *tree = cJSON_CreateObject();
    cJSON *targets = cJSON_CreateArray();
    tale->ceilings += isfinite(ceiling);
    cJSON_AddStringToObject(tree, "database", database_of(view, baseline));
    cJSON_AddItemToObject(tree, "read_ceiling_mib_s", json_rounded(ceiling, DIGITS));
    for (size_t i = 0; i < view->bundle->arm_count; i++)
        if (!view->bundle->arms[i].baseline && view->bundle->arms[i].against == baseline)
            cJSON_AddItemToArray(targets, target_json(view, (int)i, &reads, report, tale));
    cJSON_AddItemToObject(tree, "targets", targets);
    cJSON_AddItemToObject(tree, "files", cJSON_Duplicate(reads.files, true));
    cJSON_AddItemToObject(tree, "drives", cJSON_Duplicate(reads.drives, true));
    cJSON_AddItemToObject(tree, "slowest_drive", json_text(reads.slowest_drive));
    if (cJSON_GetArraySize(targets) == 0)
        tell_ceiling(tale, database_of(view, baseline), ceiling);
    throughput_reads_fini(&reads);
    return tree;
}

/* Without targets the ceilings are what was asked for. */
static enum job_state state_of(const struct tale *tale)
{
    bool answered = tale->verdicts > 0 ? tale->sure > 0 : tale->ceilings > 0;
    return answered ? JOB_SUCCEEDED : JOB_INCONCLUSIVE;
}

void throughput_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                       struct outcome *out)
{
    struct throughput throughput;
    struct tale tale = {0};
    throughput_read(bundle->parameters, &throughput, NULL);
    struct view view = {bundle, analysis, &throughput};
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->arm_count; i++)
        if (bundle->arms[i].baseline)
            cJSON_AddItemToArray(rows, database_json(&view, (int)i, report, &tale));
    cJSON_AddItemToObject(report, "bottleneck", rows);
    if (tale.parts > SUMMARY_PARTS)
        buf_format(&tale.summary, "; %d more in the report", tale.parts - SUMMARY_PARTS);
    out->state = state_of(&tale);
    out->summary = buf_take(&tale.summary);
    throughput_fini(&throughput);
}
