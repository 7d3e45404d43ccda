/* What snapshot_overhead's report says beyond the common members: the overhead of each number of
 * snapshots at each location, and what the first and the next one add. Pure. */
#include "jobs/kinds/snapshot.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 6

/* What one arm with snapshots gave. Seconds are medians. */
struct overhead {
    const struct arm *arm;
    const char *location;
    int snapshots;
    double seconds;
    double ratio, low, high; /* times: above 1 is slower */
    double level;
    enum verdict verdict;
    double added_by_last; /* seconds */
    double create_s;
};

/* --- numbers -------------------------------------------------------------------------------- */

/* Milliseconds of one wait type in a trial; NaN when its waits are not known. */
static double wait_ms(const struct trial *trial, const char *type)
{
    const cJSON *wait;
    cJSON_ArrayForEach(wait, trial->waits) {
        const char *own = member_text(wait, "type");
        if (own && strcmp(own, type) == 0)
            return (double)member_int(wait, "ms", 0);
    }
    return NAN;
}

/* The median over an arm's counted trials of create_s, or of a wait when type is not NULL. */
static double median_of(const struct bundle *bundle, int arm, const char *type)
{
    double *values = mem_alloc(bundle->trial_count, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        double value = type ? wait_ms(trial, type) : trial->create_s;
        if (trial->arm == arm && trial_counts(trial) && !isnan(value))
            values[count++] = value;
    }
    struct stats_summary summary;
    stats_summarise(values, count, bundle->design->confidence, &summary);
    free(values);
    return count > 0 ? summary.median : NAN;
}

static const struct stats_comparison *comparison_of(const struct analysis *analysis, int arm)
{
    for (size_t i = 0; i < analysis->comparison_count; i++)
        if (analysis->comparisons[i].arm == arm)
            return &analysis->comparisons[i];
    return NULL;
}

/* Speeds become times: the interval's ends change places. */
static void take_comparison(const struct stats_comparison *found, struct overhead *out)
{
    out->ratio = out->low = out->high = out->level = NAN;
    out->verdict = VERDICT_INCONCLUSIVE;
    if (!found)
        return;
    out->ratio = 1 / found->ratio;
    out->low = 1 / found->high;
    out->high = 1 / found->low;
    out->level = found->level;
    out->verdict = found->verdict;
}

/* The row before in the same place, which has fewer snapshots; NULL: the baseline. */
static const struct overhead *fewer(const struct overhead *rows, size_t index)
{
    const struct overhead *before = index > 0 ? &rows[index - 1] : NULL;
    return before && strcmp(before->location, rows[index].location) == 0 ? before : NULL;
}

/* Where counts were left out, what each of those added since has added on average. */
static void find_added(struct overhead *rows, size_t index, double baseline_s)
{
    struct overhead *row = &rows[index];
    const struct overhead *before = fewer(rows, index);
    int added = row->snapshots - (before ? before->snapshots : 0);
    row->added_by_last = (row->seconds - (before ? before->seconds : baseline_s)) / added;
}

/* Rows of every arm but the baseline, in the order of arms; the caller frees the array. */
static struct overhead *find_overheads(const struct bundle *bundle, const struct analysis *analysis,
                                       size_t *out_count)
{
    struct overhead *rows = mem_alloc(bundle->arm_count, sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; i < bundle->arm_count; i++) {
        const struct arm *arm = &bundle->arms[i];
        const char *location = member_text(arm->settings, "location");
        if (arm->baseline || !location)
            continue;
        struct overhead *row = &rows[count];
        *row = (struct overhead){.arm = arm,
                                 .location = location,
                                 .snapshots = (int)member_int(arm->settings, "snapshots", 1),
                                 .seconds =
                                     analysis->elapsed[i].n > 0 ? analysis->elapsed[i].median : NAN,
                                 .create_s = median_of(bundle, arm->index, NULL)};
        take_comparison(comparison_of(analysis, arm->index), row);
        find_added(rows, count++, analysis->elapsed[0].n > 0 ? analysis->elapsed[0].median : NAN);
    }
    *out_count = count;
    return rows;
}

/* --- JSON ----------------------------------------------------------------------------------- */

static cJSON *overhead_json(const struct overhead *row)
{
    char name[ARM_NAME_SIZE];
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "arm", json_text(arm_name(row->arm->index, name)));
    cJSON_AddItemToObject(tree, "location", json_text(row->location));
    cJSON_AddNumberToObject(tree, "snapshots", row->snapshots);
    cJSON_AddItemToObject(tree, "ratio", json_rounded(row->ratio, DIGITS));
    cJSON_AddItemToObject(tree, "low", json_rounded(row->low, DIGITS));
    cJSON_AddItemToObject(tree, "high", json_rounded(row->high, DIGITS));
    cJSON_AddItemToObject(tree, "level", json_rounded(row->level, DIGITS));
    cJSON_AddItemToObject(tree, "added_by_last_s", json_rounded(row->added_by_last, DIGITS));
    cJSON_AddItemToObject(tree, "create_s", json_rounded(row->create_s, DIGITS));
    cJSON_AddItemToObject(tree, "verdict", json_text(verdict_name(row->verdict)));
    return tree;
}

/* "the first snapshot adds", "each of 2 snapshots adds", "the second one adds", … */
static void add_subject(struct buf *text, const struct overhead *row, const struct overhead *before)
{
    int added = row->snapshots - (before ? before->snapshots : 0);
    if (!before && added == 1)
        buf_add(text, "the first snapshot adds ");
    else if (!before)
        buf_format(text, "each of %d snapshots adds ", added);
    else if (added == 1 && row->snapshots == 2)
        buf_add(text, "the second one adds ");
    else if (added == 1)
        buf_format(text, "number %d adds ", row->snapshots);
    else
        buf_format(text, "each of the next %d adds ", added);
}

static char *cost_words(const struct overhead *rows, size_t first, size_t end, double baseline_s)
{
    struct buf text = {0};
    for (size_t i = first; i < end; i++) {
        const struct overhead *row = &rows[i];
        buf_add(&text, i > first ? ", " : "");
        add_subject(&text, row, fewer(rows, i));
        if (isnan(row->added_by_last))
            buf_add(&text, "what is not known");
        else
            buf_format(&text, "%.3g s", row->added_by_last);
    }
    if (!isnan(baseline_s))
        buf_format(&text, "; without any it takes %.3g s", baseline_s);
    return buf_take(&text);
}

/* One entry a location: what the first and the next snapshot cost. */
static cJSON *costs_json(const struct overhead *rows, size_t count, double baseline_s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        while (end < count && fewer(rows, end))
            end++;
        char *words = cost_words(rows, first, end, baseline_s);
        cJSON *tree = cJSON_CreateObject();
        cJSON_AddItemToObject(tree, "location", json_text(rows[first].location));
        cJSON_AddItemToObject(tree, "first_s", json_rounded(rows[first].added_by_last, DIGITS));
        cJSON_AddItemToObject(tree, "next_s",
                              end > first + 1 ? json_rounded(rows[first + 1].added_by_last, DIGITS)
                                              : cJSON_CreateNull());
        cJSON_AddItemToObject(tree, "words", json_text(words));
        cJSON_AddItemToArray(list, tree);
        free(words);
        first = end;
    }
    return list;
}

static bool lists_wait(const cJSON *waits, const char *type)
{
    const cJSON *wait;
    cJSON_ArrayForEach(wait, waits) {
        const char *own = member_text(wait, "type");
        if (own && strcmp(own, type) == 0)
            return true;
    }
    return false;
}

/* The waits of snapshots are shown for every arm, also where they are 0 or not among the longest.
 */
static void complete_waits(const struct bundle *bundle, cJSON *report)
{
    const cJSON *arms = json_member(report, "arms");
    for (size_t i = 0; i < bundle->arm_count; i++) {
        cJSON *waits = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(arms, (int)i), "waits");
        for (const char *const *type = snapshot_waits; *type && waits; type++) {
            double median = median_of(bundle, (int)i, *type);
            if (isnan(median) || lists_wait(waits, *type))
                continue;
            cJSON *wait = cJSON_CreateObject();
            cJSON_AddStringToObject(wait, "type", *type);
            cJSON_AddItemToObject(wait, "ms", json_rounded(median, DIGITS));
            cJSON_AddItemToArray(waits, wait);
        }
    }
}

/* --- the outcome ---------------------------------------------------------------------------- */

/* The largest overhead that is shown; NULL when none is. */
static const struct overhead *worst_of(const struct overhead *rows, size_t count)
{
    const struct overhead *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (rows[i].verdict == VERDICT_SLOWER && (!worst || rows[i].ratio > worst->ratio))
            worst = &rows[i];
    return worst;
}

static bool any_answer(const struct overhead *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].verdict != VERDICT_INCONCLUSIVE)
            return true;
    return false;
}

static void add_first_and_next(const struct overhead *rows, size_t count,
                               const struct overhead *worst, struct buf *text)
{
    size_t told = 0;
    for (size_t i = 0; i < count && told < 2; i++) {
        if (strcmp(rows[i].location, worst->location) != 0)
            continue;
        bool is_single = rows[i].snapshots == (int)told + 1 && !isnan(rows[i].added_by_last);
        if (is_single && told == 0)
            buf_format(text, "; the first adds %.3g s", rows[i].added_by_last);
        else if (is_single)
            buf_format(text, ", the next %.3g s", rows[i].added_by_last);
        told++;
    }
}

/* "2 snapshots at SSD: 1.80x the time without (95 % 1.75-1.85); the first adds 0.9 s, …" */
static char *summary_of(const struct bundle *bundle, const struct overhead *rows, size_t count)
{
    const struct overhead *worst = worst_of(rows, count);
    struct buf text = {0};
    if (!worst && any_answer(rows, count))
        buf_format(&text, "No overhead of snapshots beyond %g %% is shown",
                   100 * bundle->design->tolerance);
    else if (!worst)
        buf_add(&text, "The data do not tell whether snapshots slow this workload");
    if (worst) {
        buf_format(&text, "%s: %.2fx the time without", worst->arm->label, worst->ratio);
        if (isfinite(worst->low) && isfinite(worst->high))
            buf_format(&text, " (%g %% %.2f-%.2f)", 100 * worst->level, worst->low, worst->high);
        add_first_and_next(rows, count, worst, &text);
    }
    return buf_take(&text);
}

void snapshot_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                     struct outcome *out)
{
    struct snapshot_parameters parameters;
    size_t count;
    snapshot_read(bundle->parameters, &parameters, NULL);
    struct overhead *rows = find_overheads(bundle, analysis, &count);
    double baseline_s = analysis->elapsed[0].n > 0 ? analysis->elapsed[0].median : NAN;
    cJSON *list = cJSON_AddArrayToObject(report, "overhead");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, overhead_json(&rows[i]));
    cJSON_AddItemToObject(report, "snapshot_cost", costs_json(rows, count, baseline_s));
    if (parameters.sql)
        cJSON_AddTrueToObject(report, "custom_sql");
    complete_waits(bundle, report);
    out->state = any_answer(rows, count) ? JOB_SUCCEEDED : JOB_INCONCLUSIVE;
    out->summary = summary_of(bundle, rows, count);
    free(rows);
}
