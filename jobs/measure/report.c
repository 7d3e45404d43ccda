#include "jobs/measure/report.h"

#include "jobs/measure/report_parts.h"
#include "server/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 6   /* of rates, seconds and ratios */
#define P_DIGITS 4 /* of p: nobody reads more */
#define WAITS_MAX 10

static void add(cJSON *object, const char *name, cJSON *item)
{
    (void)cJSON_AddItemToObject(object, name, item); /* fails for NULL arguments only */
}

static cJSON *rounded(double value)
{
    return json_rounded(value, DIGITS);
}

static cJSON *whole_or_null(int64_t value)
{
    return value < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)value);
}

int report_block_count(const struct bundle *bundle)
{
    int count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++)
        if (trial_counts(&bundle->trials[i]) && bundle->trials[i].block > count)
            count = bundle->trials[i].block;
    return count;
}

static cJSON *instance_of(const struct bundle *bundle)
{
    const struct server_facts *facts = bundle->facts;
    cJSON *tree = cJSON_CreateObject();
    add(tree, "name", json_text(bundle->instance));
    add(tree, "version", json_text(facts->version));
    add(tree, "edition", json_text(facts->edition));
    add(tree, "platform", json_text(facts->platform));
    add(tree, "cpu_count", whole_or_null(facts->cpu_count));
    add(tree, "memory_mib", whole_or_null(facts->memory_mib));
    add(tree, "authenticated", cJSON_CreateBool(bundle->authenticated));
    add(tree, "simulated", cJSON_CreateBool(facts->simulated));
    return tree;
}

static cJSON *design_of(const struct bundle *bundle)
{
    const struct design *design = bundle->design;
    cJSON *tree = cJSON_CreateObject();
    add(tree, "order", json_text(design_order_name(design->order)));
    add(tree, "search", json_text(design->race ? "race" : "grid"));
    add(tree, "stop_early", cJSON_CreateBool(design->stop_early));
    add(tree, "seed", cJSON_CreateNumber((double)design->seed));
    add(tree, "blocks", cJSON_CreateNumber(report_block_count(bundle)));
    add(tree, "repetitions", cJSON_CreateNumber((double)design->repetitions));
    add(tree, "warmups", cJSON_CreateNumber((double)design->warmups));
    add(tree, "confidence", json_number(design->confidence));
    add(tree, "tolerance", json_number(design->tolerance));
    return tree;
}

/* --- arms --------------------------------------------------------------------------------- */

static cJSON *median_only(double median)
{
    cJSON *tree = cJSON_CreateObject();
    add(tree, "median", rounded(median));
    return tree;
}

static cJSON *interval_of(const struct stats_summary *summary)
{
    cJSON *tree = median_only(summary->median);
    add(tree, "low", rounded(summary->low));
    add(tree, "high", rounded(summary->high));
    add(tree, "level", rounded(summary->level));
    return tree;
}

static cJSON *summary_of(const struct stats_summary *summary)
{
    cJSON *tree = interval_of(summary);
    add(tree, "mean", rounded(summary->mean));
    add(tree, "min", rounded(summary->min));
    add(tree, "max", rounded(summary->max));
    add(tree, "stdev", rounded(summary->stdev));
    return tree;
}

static size_t count_status(const struct bundle *bundle, size_t arm, enum trial_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++)
        count += bundle->trials[i].arm == (int)arm && bundle->trials[i].status == status;
    return count;
}

static double cpu_percent(const struct bundle *bundle, size_t arm)
{
    double *values = mem_alloc(bundle->trial_count, sizeof *values);
    struct stats_summary summary;
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        double capacity = trial->elapsed_s * (double)trial->cpu_count;
        if (trial->arm == (int)arm && trial_counts(trial) && trial->cpu_count > 0 && capacity > 0 &&
            !isnan(trial->cpu_s))
            values[count++] = 100 * trial->cpu_s / capacity;
    }
    stats_summarise(values, count, bundle->design->confidence, &summary);
    free(values);
    return summary.median;
}

/* The trial whose rate is the median, so that pages, seconds and rate can be read from one run;
 * -1 when the median lies between two. */
static int64_t median_seq(const struct bundle *bundle, size_t arm, double median)
{
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        double rate = trial_rate(trial);
        if (trial->arm == (int)arm && trial_counts(trial) && !(rate < median) && !(rate > median))
            return trial->seq;
    }
    return -1;
}

/* Waits by type: the milliseconds of each counted trial, 0 where the type did not occur. */
struct wait_row {
    const char *type; /* borrowed from the trials */
    double *ms;       /* per counted trial */
    double median;
};

static int by_median(const void *left, const void *right)
{
    const struct wait_row *a = left;
    const struct wait_row *b = right;
    if (a->median < b->median || a->median > b->median)
        return a->median > b->median ? -1 : 1;
    return strcmp(a->type, b->type); /* a report must not depend on the order of a sort */
}

static void collect_waits(const cJSON *waits, struct wait_row **rows, size_t *count,
                          size_t *capacity, size_t trial, size_t trial_count)
{
    const cJSON *wait = NULL;
    cJSON_ArrayForEach(wait, waits) {
        const cJSON *type = json_member(wait, "type");
        const cJSON *ms = json_member(wait, "ms");
        size_t row = 0;
        if (!cJSON_IsString(type) || !cJSON_IsNumber(ms))
            continue;
        while (row < *count && strcmp((*rows)[row].type, type->valuestring) != 0)
            row++;
        if (row == *count) {
            *rows = mem_grow(*rows, capacity, *count + 1, sizeof **rows);
            (*rows)[(*count)++] = (struct wait_row){.type = type->valuestring,
                                                    .ms = mem_alloc(trial_count, sizeof(double))};
        }
        (*rows)[row].ms[trial] += ms->valuedouble;
    }
}

static cJSON *waits_of(const struct bundle *bundle, size_t arm)
{
    struct wait_row *rows = NULL;
    size_t count = 0;
    size_t capacity = 0;
    size_t trials = 0;
    cJSON *tree = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial->arm == (int)arm && trial_counts(trial))
            collect_waits(trial->waits, &rows, &count, &capacity, trials++, bundle->trial_count);
    }
    for (size_t i = 0; i < count; i++) {
        struct stats_summary summary;
        stats_summarise(rows[i].ms, trials, bundle->design->confidence, &summary);
        rows[i].median = summary.median;
    }
    if (count > 0)
        qsort(rows, count, sizeof *rows, by_median);
    for (size_t i = 0; i < count && i < WAITS_MAX && rows[i].median > 0; i++) {
        cJSON *row = cJSON_CreateObject();
        add(row, "type", json_text(rows[i].type));
        add(row, "ms", rounded(rows[i].median));
        (void)cJSON_AddItemToArray(tree, row);
    }
    for (size_t i = 0; i < count; i++)
        free(rows[i].ms);
    free(rows);
    return tree;
}

/* Why an arm ran fewer blocks than others: after which, and who beat it. */
static cJSON *dropped_of(const struct analysis *analysis, size_t arm)
{
    char name[ARM_NAME_SIZE];
    if (analysis->dropped_after[arm] == 0)
        return cJSON_CreateNull();
    cJSON *tree = cJSON_CreateObject();
    add(tree, "after_block", cJSON_CreateNumber(analysis->dropped_after[arm]));
    add(tree, "beaten_by", json_text(arm_name(analysis->beaten_by[arm], name)));
    return tree;
}

static cJSON *arm_of(const struct bundle *bundle, const struct analysis *analysis, size_t index)
{
    const struct arm *arm = &bundle->arms[index];
    int64_t seq = median_seq(bundle, index, analysis->rates[index].median);
    char name[ARM_NAME_SIZE];
    cJSON *tree = cJSON_CreateObject();
    add(tree, "arm", json_text(arm_name(arm->index, name)));
    add(tree, "label", json_text(arm->label));
    add(tree, "settings",
        arm->settings ? cJSON_Duplicate(arm->settings, true) : cJSON_CreateObject());
    add(tree, "baseline", cJSON_CreateBool(arm->baseline));
    add(tree, "n", cJSON_CreateNumber(analysis->elapsed[index].n));
    add(tree, "failed", cJSON_CreateNumber((double)count_status(bundle, index, TRIAL_FAILED)));
    add(tree, "contaminated",
        cJSON_CreateNumber((double)count_status(bundle, index, TRIAL_CONTAMINATED)));
    add(tree, "dropped", dropped_of(analysis, index));
    add(tree, "elapsed_s", summary_of(&analysis->elapsed[index]));
    add(tree, "rate_mib_s", interval_of(&analysis->rates[index]));
    add(tree, "median_seq", whole_or_null(seq));
    add(tree, "cpu_s", median_only(analysis->cpu_s[index]));
    add(tree, "cpu_s_per_gib", median_only(analysis->cpu_s_per_gib[index]));
    add(tree, "cpu_percent", median_only(cpu_percent(bundle, index)));
    add(tree, "buffer_memory_mib", rounded(arm->buffer_memory_mib));
    add(tree, "file_bytes", median_only(analysis->file_bytes[index]));
    add(tree, "waits", waits_of(bundle, index));
    return tree;
}

static cJSON *comparison_of(const struct stats_comparison *it)
{
    char name[ARM_NAME_SIZE];
    cJSON *tree = cJSON_CreateObject();
    add(tree, "arm", json_text(arm_name(it->arm, name)));
    add(tree, "against", json_text(arm_name(it->against, name)));
    add(tree, "pairs", cJSON_CreateNumber(it->pairs));
    add(tree, "ratio", rounded(it->ratio));
    add(tree, "low", rounded(it->low));
    add(tree, "high", rounded(it->high));
    add(tree, "level", rounded(it->level));
    add(tree, "p", json_rounded(it->p, P_DIGITS));
    add(tree, "verdict", json_text(verdict_name(it->verdict)));
    return tree;
}

/* --- the whole ---------------------------------------------------------------------------- */

void report_warn(cJSON *report, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    cJSON *warnings = cJSON_GetObjectItemCaseSensitive(report, "warnings");
    if (length >= 0 && warnings)
        (void)cJSON_AddItemToArray(warnings, json_text(text));
    free(text);
}

cJSON *report_make(const struct bundle *bundle, const struct analysis *analysis)
{
    cJSON *report = cJSON_CreateObject();
    cJSON *arms = cJSON_CreateArray();
    cJSON *comparisons = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->arm_count; i++)
        (void)cJSON_AddItemToArray(arms, arm_of(bundle, analysis, i));
    for (size_t i = 0; i < analysis->comparison_count; i++)
        (void)cJSON_AddItemToArray(comparisons, comparison_of(&analysis->comparisons[i]));
    add(report, "job", json_text(bundle->job));
    add(report, "kind", json_text(bundle->kind));
    add(report, "instance", instance_of(bundle));
    add(report, "design", design_of(bundle));
    add(report, "arms", arms);
    add(report, "comparisons", comparisons);
    add(report, "recommendation", cJSON_CreateNull());
    add(report, "baseline", cJSON_CreateNull());
    add(report, "warnings", cJSON_CreateArray());
    add(report, "left_behind", cJSON_CreateArray());
    add(report, "chain", cJSON_CreateNull());
    report_add_warnings(report, bundle, analysis);
    return report;
}
