#include "jobs/measure/report_markdown.h"

#include "jobs/measure/markdown.h"
#include "jobs/measure/report.h"
#include "jobs/measure/tsql_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- finding things -------------------------------------------------------------------------- */

/* The row whose member `name` is this text; NULL. */
static const cJSON *find_row(const cJSON *rows, const char *name, const char *text)
{
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows) {
        const char *value = markdown_text(row, name);
        if (text && value && strcmp(value, text) == 0)
            return row;
    }
    return NULL;
}

static const cJSON *arm_row(const cJSON *report, const char *arm)
{
    return find_row(json_member(report, "arms"), "arm", arm);
}

static const cJSON *comparison_row(const cJSON *report, const char *arm)
{
    return find_row(json_member(report, "comparisons"), "arm", arm);
}

static bool is_true(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(json_member(object, name));
}

static void add_interval(struct buf *out, const cJSON *row)
{
    double ratio = markdown_number(row, "ratio");
    markdown_add_ratio(out, markdown_number(row, "low"), ratio);
    buf_add(out, " to ");
    markdown_add_ratio(out, markdown_number(row, "high"), ratio);
}

/* --- the first line -------------------------------------------------------------------------- */

/* What "default" sent, which is not the server's default where the compression is said:
 * " The default here: BUFFERCOUNT not sent, NO_COMPRESSION." */
static void add_default(struct buf *out, const cJSON *settings)
{
    static const struct {
        const char *member, *option;
    } options[] = {{"buffercount", "BUFFERCOUNT"},
                   {"maxtransfersize", "MAXTRANSFERSIZE"},
                   {"blocksize", "BLOCKSIZE"}};
    const char *word = markdown_text(settings, "compression");
    const struct tsql_compression *compression = tsql_compression_find(word ? word : "off");
    const char *before = " The default here: ";
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (!json_member(settings, options[i].member))
            continue;
        buf_format(out, "%s%s not sent", before, options[i].option);
        before = ", ";
    }
    if (compression)
        buf_format(out, "%s%s.", before,
                   compression->tsql ? compression->tsql : "no word on compression");
}

static void keep_default_verdict(struct buf *out, const cJSON *report, const cJSON *recommendation)
{
    const cJSON *design = json_member(report, "design");
    buf_add(out, "**Keep the default**: the data do not show that any setting is more than ");
    markdown_add_percent(out, markdown_number(design, "tolerance"));
    buf_add(out, " faster.");
    add_default(out, json_member(recommendation, "settings"));
}

static void setting_verdict(struct buf *out, const cJSON *report, const cJSON *recommendation)
{
    const char *name = markdown_text(recommendation, "arm");
    const cJSON *arm = arm_row(report, name);
    const cJSON *comparison = comparison_row(report, name);
    const char *against = markdown_text(comparison, "against");
    const char *target = markdown_text(json_member(arm, "settings"), "target");
    double ratio = markdown_number(comparison, "ratio");
    double memory = markdown_number(recommendation, "buffer_memory_mib");
    buf_add(out, "**");
    markdown_add_text(out, arm ? markdown_text(arm, "label") : name);
    buf_add(out, target && strcmp(target, "NUL") == 0 ? "** reads " : "** backs up ");
    markdown_add_ratio(out, ratio, ratio);
    buf_add(out, " times as fast as the default");
    if (isfinite(markdown_number(comparison, "low"))) {
        buf_add(out, " (");
        markdown_add_percent(out, markdown_number(comparison, "level"));
        buf_add(out, " interval ");
        add_interval(out, comparison);
        buf_add(out, ")");
    }
    if (isfinite(memory)) {
        buf_add(out, " and takes ");
        markdown_add_count(out, memory);
        buf_add(out, " MiB of buffers");
    }
    buf_add(out, ".");
    if (comparison)
        add_default(out, json_member(arm_row(report, against), "settings"));
}

static void add_verdict(struct buf *out, const cJSON *report)
{
    const cJSON *recommendation = json_member(report, "recommendation");
    const char *reason = markdown_text(report, "no_recommendation");
    if (cJSON_IsObject(recommendation) && is_true(recommendation, "keep_default")) {
        keep_default_verdict(out, report, recommendation);
    } else if (cJSON_IsObject(recommendation)) {
        setting_verdict(out, report, recommendation);
    } else if (!markdown_kind_verdict(out, report)) {
        buf_add(out, "**No recommendation**: ");
        markdown_add_text(out, reason ? reason : "the data do not decide.");
    }
    buf_add(out, "\n\n");
}

static void add_instance(struct buf *out, const cJSON *report)
{
    const cJSON *instance = json_member(report, "instance");
    if (is_true(instance, "simulated"))
        buf_add(out, "> **SIMULATED SERVER.** These figures come from a simulator and say nothing "
                     "about a real SQL Server.\n\n");
    buf_add(out, "Instance **");
    markdown_add_text(out, markdown_text(instance, "name"));
    buf_add(out, "**, SQL Server ");
    markdown_add_text(out, markdown_text(instance, "version"));
    buf_add(out, ", ");
    markdown_add_text(out, markdown_text(instance, "edition"));
    buf_add(out, ", ");
    markdown_add_text(out, markdown_text(instance, "platform"));
    if (!is_true(instance, "authenticated"))
        buf_add(out, ", not authenticated");
    buf_add(out, ". Job ");
    markdown_add_text(out, markdown_text(report, "job"));
    buf_add(out, ", kind ");
    markdown_add_text(out, markdown_text(report, "kind"));
    buf_add(out, ".\n\n");
}

/* --- arms ------------------------------------------------------------------------------------- */

static void add_summary(struct buf *out, const cJSON *summary)
{
    markdown_add_rate(out, markdown_number(summary, "median"));
    if (!isfinite(markdown_number(summary, "low")))
        return;
    buf_add(out, " (");
    markdown_add_rate(out, markdown_number(summary, "low"));
    buf_add(out, " to ");
    markdown_add_rate(out, markdown_number(summary, "high"));
    buf_add(out, ")");
}

static void add_against(struct buf *out, const cJSON *report, const cJSON *arm)
{
    const cJSON *comparison = comparison_row(report, markdown_text(arm, "arm"));
    double ratio = markdown_number(comparison, "ratio");
    if (is_true(arm, "baseline"))
        buf_add(out, "baseline");
    else
        markdown_add_ratio(out, ratio, ratio);
    if (!is_true(arm, "baseline") && isfinite(ratio))
        buf_add(out, "×");
}

static void add_runs(struct buf *out, const cJSON *arm)
{
    static const char *const others[] = {"failed", "contaminated"};
    markdown_add_count(out, markdown_number(arm, "n"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (markdown_number(arm, others[i]) > 0)
            buf_format(out, ", %.0f %s", markdown_number(arm, others[i]), others[i]);
    if (cJSON_IsObject(json_member(arm, "dropped")))
        buf_format(out, ", dropped after block %.0f",
                   markdown_number(json_member(arm, "dropped"), "after_block"));
}

/* Rates where there are any, else seconds: a workload has no rate. */
static bool has_rates(const cJSON *arms)
{
    const cJSON *arm = NULL;
    cJSON_ArrayForEach(arm, arms) {
        if (isfinite(markdown_number(json_member(arm, "rate_mib_s"), "median")))
            return true;
    }
    return false;
}

/* "5 runs give 93.75 %": each number of runs once. */
static void add_levels(struct buf *out, const cJSON *arms, const char *summary)
{
    const cJSON *arm = NULL;
    double told[4] = {0};
    size_t count = 0;
    cJSON_ArrayForEach(arm, arms) {
        double n = markdown_number(arm, "n");
        double level = markdown_number(json_member(arm, summary), "level");
        size_t i = 0;
        while (i < count && told[i] != n)
            i++;
        if (!isfinite(level) || i < count || count == sizeof told / sizeof told[0])
            continue;
        told[count++] = n;
        buf_format(out, "%s%.0f runs give ", count == 1 ? "" : ", ", n);
        markdown_add_percent(out, level);
    }
    if (count == 0)
        buf_add(out, "one run gives none");
}

static void add_arms(struct buf *out, const cJSON *report)
{
    const cJSON *arms = json_member(report, "arms");
    const cJSON *arm = NULL;
    bool rates = has_rates(arms);
    const char *summary = rates ? "rate_mib_s" : "elapsed_s";
    if (cJSON_GetArraySize(arms) == 0)
        return;
    buf_format(
        out,
        "## Settings\n\n| setting | %s | speed against its baseline | buffers, MiB | CPU | runs |\n"
        "|---|---|---:|---:|---:|---|\n",
        rates ? "MiB/s" : "seconds");
    cJSON_ArrayForEach(arm, arms) {
        double cpu = markdown_number(json_member(arm, "cpu_percent"), "median");
        buf_add(out, "| ");
        markdown_add_text(out, markdown_text(arm, "label"));
        buf_add(out, " | ");
        add_summary(out, json_member(arm, summary));
        buf_add(out, " | ");
        add_against(out, report, arm);
        buf_add(out, " | ");
        markdown_add_count(out, markdown_number(arm, "buffer_memory_mib"));
        buf_add(out, " | ");
        markdown_add_percent(out, round(cpu) / 100);
        buf_add(out, " | ");
        add_runs(out, arm);
        buf_add(out, " |\n");
    }
    buf_add(out, "\nMedians; in brackets the interval of the median, at the level that so many "
                 "runs allow: ");
    add_levels(out, arms, summary);
    buf_add(out, ".\n\n");
}

static void add_label(struct buf *out, const cJSON *report, const char *arm)
{
    const char *label = markdown_text(arm_row(report, arm), "label");
    markdown_add_text(out, label ? label : arm);
}

static void add_comparisons(struct buf *out, const cJSON *report)
{
    const cJSON *rows = json_member(report, "comparisons");
    const cJSON *row = NULL;
    if (cJSON_GetArraySize(rows) == 0)
        return;
    buf_add(out, "## Comparisons\n\nSpeeds in proportion: above 1 the setting is faster. p is "
                 "corrected for the number of comparisons (Holm).\n\n"
                 "| setting | against | speed | interval | p | verdict |\n"
                 "|---|---|---:|---|---:|---|\n");
    cJSON_ArrayForEach(row, rows) {
        double ratio = markdown_number(row, "ratio");
        double p = markdown_number(row, "p");
        buf_add(out, "| ");
        add_label(out, report, markdown_text(row, "arm"));
        buf_add(out, " | ");
        add_label(out, report, markdown_text(row, "against"));
        buf_add(out, " | ");
        markdown_add_ratio(out, ratio, ratio);
        buf_add(out, " | ");
        add_interval(out, row);
        if (isfinite(p) && p < 0.0001)
            buf_add(out, " | < 0.0001 | ");
        else if (isfinite(p))
            buf_format(out, " | %.4f | ", p);
        else
            buf_add(out, " | – | ");
        markdown_add_text(out, markdown_text(row, "verdict"));
        buf_add(out, " |\n");
    }
    buf_add(out, "\n");
}

/* --- recommendation --------------------------------------------------------------------------- */

static void add_setting_value(struct buf *out, const cJSON *value)
{
    if (cJSON_IsNumber(value))
        buf_format(out, "%.15g", value->valuedouble);
    else
        markdown_add_text(out, cJSON_IsString(value) ? value->valuestring : NULL);
}

static void add_interval_of_settings(struct buf *out, const cJSON *interval)
{
    const cJSON *range = NULL;
    const char *before = " ";
    if (cJSON_GetArraySize(interval) == 0)
        return;
    buf_add(out, "The data cannot tell apart from the best:");
    cJSON_ArrayForEach(range, interval) {
        buf_add(out, before);
        before = ", ";
        markdown_add_text(out, range->string);
        buf_add(out, " ");
        add_setting_value(out, cJSON_GetArrayItem(range, 0));
        buf_add(out, " to ");
        add_setting_value(out, cJSON_GetArrayItem(range, 1));
    }
    buf_add(out, ".\n\n");
}

static void add_recommendation(struct buf *out, const cJSON *report)
{
    static const struct {
        const char *member, *title, *language;
    } blocks[] = {
        {"tsql", "T-SQL", "sql"},
        {"ola", "Ola Hallengren's DatabaseBackup", "sql"},
        {"dbatools", "dbatools", "powershell"},
    };
    const cJSON *recommendation = json_member(report, "recommendation");
    const cJSON *note = NULL;
    if (!cJSON_IsObject(recommendation))
        return;
    buf_add(out, "## Recommendation\n\n");
    if (markdown_text(recommendation, "reason")) {
        markdown_add_text(out, markdown_text(recommendation, "reason"));
        buf_add(out, "\n\n");
    }
    add_interval_of_settings(out, json_member(recommendation, "interval"));
    cJSON_ArrayForEach(note, json_member(recommendation, "notes")) {
        markdown_add_text(out, note->valuestring);
        buf_add(out, "\n\n");
    }
    if (isfinite(markdown_number(recommendation, "buffer_memory_mib")))
        buf_add(out, "The buffers lie outside of the buffer pool for as long as a backup runs; a "
                     "restore with the same options takes them too.\n\n");
    if (markdown_text(recommendation, "tsql"))
        buf_add(out, "What follows is meant for your regular backups: it has no COPY_ONLY, and so "
                     "moves the differential base as they do.\n\n");
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const char *text = markdown_text(recommendation, blocks[i].member);
        if (!text)
            continue;
        buf_format(out, "%s:\n\n", blocks[i].title);
        markdown_add_code(out, blocks[i].language, text);
        buf_add(out, "\n");
    }
}

static void add_baseline(struct buf *out, const cJSON *report)
{
    const cJSON *baseline = json_member(report, "baseline");
    double ratio = markdown_number(baseline, "ratio");
    if (!cJSON_IsObject(baseline))
        return;
    buf_add(out, "## Against an earlier job\n\n");
    markdown_add_ratio(out, ratio, ratio);
    buf_add(out, " times as fast as in job ");
    markdown_add_text(out, markdown_text(baseline, "job"));
    buf_add(out, " (");
    add_interval(out, baseline);
    buf_add(out, "), verdict ");
    markdown_add_text(out, markdown_text(baseline, "verdict"));
    buf_add(out, ".\n\n");
}

/* --- the end -----------------------------------------------------------------------------------
 */

static void add_list(struct buf *out, const char *title, const cJSON *items)
{
    const cJSON *item = NULL;
    if (cJSON_GetArraySize(items) == 0)
        return;
    buf_format(out, "## %s\n\n", title);
    cJSON_ArrayForEach(item, items) {
        char *printed = cJSON_IsString(item) ? NULL : json_print(item);
        buf_add(out, "- ");
        markdown_add_text(out, printed ? printed : item->valuestring);
        buf_add(out, "\n");
        free(printed);
    }
    buf_add(out, "\n");
}

static void add_chain(struct buf *out, const cJSON *report)
{
    static const struct {
        const char *member, *unchanged, *changed;
    } links[] = {
        {"differential_base_unchanged", "The differential base is unchanged.",
         "**The differential base changed during the job.**"},
        {"log_chain_unchanged", "The log chain is unchanged.",
         "**The log chain changed during the job.**"},
    };
    const cJSON *chain = json_member(report, "chain");
    bool any = false;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        const cJSON *link = json_member(chain, links[i].member);
        if (!cJSON_IsBool(link))
            continue;
        buf_format(out, "%s%s", any ? " " : "",
                   cJSON_IsTrue(link) ? links[i].unchanged : links[i].changed);
        any = true;
    }
    if (any)
        buf_add(out, "\n\n");
}

static void add_design(struct buf *out, const cJSON *report)
{
    static const struct {
        const char *order, *words;
    } orders[] = {
        {"random_blocks", "in random order within each block"},
        {"abba", "in the order A B B A"},
        {"sequential", "in a fixed order"},
    };
    const cJSON *design = json_member(report, "design");
    const char *order = markdown_text(design, "order");
    double blocks = markdown_number(design, "blocks");
    if (!cJSON_IsObject(design) || cJSON_GetArraySize(json_member(report, "arms")) == 0)
        return; /* a kind without trials has none */
    buf_add(out, "Design: ");
    markdown_add_count(out, blocks);
    buf_add(out, blocks == 1 ? " block " : " blocks ");
    for (size_t i = 0; order && i < sizeof orders / sizeof orders[0]; i++)
        if (strcmp(order, orders[i].order) == 0)
            buf_add(out, orders[i].words);
    buf_add(out, ", seed ");
    markdown_add_count(out, markdown_number(design, "seed"));
    buf_add(out, ", confidence ");
    markdown_add_percent(out, markdown_number(design, "confidence"));
    buf_add(out, ", tolerance ");
    markdown_add_percent(out, markdown_number(design, "tolerance"));
    buf_add(out, ".\n");
}

char *report_markdown(const cJSON *report)
{
    struct buf out = {0};
    add_verdict(&out, report);
    add_instance(&out, report);
    add_arms(&out, report);
    add_comparisons(&out, report);
    if (!json_member(report, "overhead")) /* has its own table */
        markdown_sizes_section(&out, report);
    markdown_kind_sections(&out, report);
    add_recommendation(&out, report);
    add_baseline(&out, report);
    add_list(&out, "Warnings", json_member(report, "warnings"));
    add_list(&out, "Left behind", json_member(report, "left_behind"));
    add_chain(&out, report);
    add_design(&out, report);
    return buf_take(&out);
}
