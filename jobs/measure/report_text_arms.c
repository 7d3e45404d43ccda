/* The tables of settings and their comparisons. */
#include "jobs/measure/report_text.h"

#include <math.h>
#include <string.h>

#define COLUMNS(table) (sizeof(table) / sizeof((table)[0]))

static const struct doc_column rate_columns[] = {
    {"setting", false},     {"MiB/s", false}, {"speed against its baseline", true},
    {"buffers, MiB", true}, {"CPU", true},    {"runs", false},
};
static const struct doc_column time_columns[] = {
    {"setting", false},     {"seconds", false}, {"speed against its baseline", true},
    {"buffers, MiB", true}, {"CPU", true},      {"runs", false},
};
static const struct doc_column comparison_columns[] = {
    {"setting", false},  {"against", false}, {"speed", true},
    {"interval", false}, {"p", true},        {"verdict", false},
};
static const struct doc_column pareto_columns[] = {
    {"setting", false}, {"MiB/s", true}, {"buffers, MiB", true}};

/* --- arms ------------------------------------------------------------------------------------- */

static void add_summary(struct doc *doc, const cJSON *summary)
{
    doc_rate(doc, doc_number_of(summary, "median"));
    if (!isfinite(doc_number_of(summary, "low")))
        return;
    doc_say(doc, " (");
    doc_rate(doc, doc_number_of(summary, "low"));
    doc_say(doc, " to ");
    doc_rate(doc, doc_number_of(summary, "high"));
    doc_say(doc, ")");
}

static void add_against(struct doc *doc, const cJSON *report, const cJSON *arm)
{
    const cJSON *comparison = text_comparison(report, doc_text_of(arm, "arm"));
    double ratio = doc_number_of(comparison, "ratio");
    if (text_is_true(arm, "baseline"))
        doc_say(doc, "baseline");
    else
        doc_ratio(doc, ratio, ratio);
    if (!text_is_true(arm, "baseline") && isfinite(ratio))
        doc_say(doc, "×");
}

static void add_runs(struct doc *doc, const cJSON *arm)
{
    static const char *const others[] = {"failed", "contaminated"};
    doc_count(doc, doc_number_of(arm, "n"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (doc_number_of(arm, others[i]) > 0)
            doc_say(doc, ", %.0f %s", doc_number_of(arm, others[i]), others[i]);
    if (cJSON_IsObject(json_member(arm, "dropped"))) {
        doc_say(doc, ", dropped after block ");
        doc_count(doc, doc_number_of(json_member(arm, "dropped"), "after_block"));
    }
}

/* Rates where there are any, else seconds: a workload has no rate. */
static bool has_rates(const cJSON *arms)
{
    const cJSON *arm = NULL;
    cJSON_ArrayForEach(arm, arms) {
        if (isfinite(doc_number_of(json_member(arm, "rate_mib_s"), "median")))
            return true;
    }
    return false;
}

/* "5 runs give 93.75 %": each number of runs once. */
static void add_levels(struct doc *doc, const cJSON *arms, const char *summary)
{
    const cJSON *arm = NULL;
    double told[4] = {0};
    size_t count = 0;
    cJSON_ArrayForEach(arm, arms) {
        double n = doc_number_of(arm, "n");
        double level = doc_number_of(json_member(arm, summary), "level");
        size_t i = 0;
        while (i < count && told[i] != n)
            i++;
        if (!isfinite(level) || i < count || count == sizeof told / sizeof told[0])
            continue;
        told[count++] = n;
        doc_say(doc, "%s%.0f runs give ", count == 1 ? "" : ", ", n);
        doc_percent(doc, level);
    }
    if (count == 0)
        doc_say(doc, "one run gives none");
}

static bool is_recommended(const cJSON *report, const cJSON *arm)
{
    const char *chosen = doc_text_of(json_member(report, "recommendation"), "arm");
    const char *name = doc_text_of(arm, "arm");
    return chosen && name && strcmp(chosen, name) == 0;
}

void text_arms(struct doc *doc, const cJSON *report)
{
    const cJSON *arms = json_member(report, "arms");
    const cJSON *arm = NULL;
    bool rates = has_rates(arms);
    const char *summary = rates ? "rate_mib_s" : "elapsed_s";
    if (cJSON_GetArraySize(arms) == 0)
        return;
    doc_heading(doc, "Settings");
    doc_table(doc, "Settings", rates ? rate_columns : time_columns, COLUMNS(rate_columns));
    cJSON_ArrayForEach(arm, arms) {
        double cpu = doc_number_of(json_member(arm, "cpu_percent"), "median");
        doc_row(doc, is_recommended(report, arm));
        doc_cell(doc);
        doc_text(doc, doc_text_of(arm, "label"));
        if (is_recommended(report, arm))
            doc_tag(doc, "recommended");
        doc_cell(doc);
        add_summary(doc, json_member(arm, summary));
        doc_cell(doc);
        add_against(doc, report, arm);
        doc_cell(doc);
        doc_count(doc, doc_number_of(arm, "buffer_memory_mib"));
        doc_cell(doc);
        doc_percent(doc, round(cpu) / 100);
        doc_cell(doc);
        add_runs(doc, arm);
    }
    doc_table_end(doc);
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Medians; in brackets the interval of the median, at the level that so many "
                 "runs allow: ");
    add_levels(doc, arms, summary);
    doc_say(doc, ".");
    doc_end(doc, DOC_PARAGRAPH);
}

static void add_label(struct doc *doc, const cJSON *report, const char *arm)
{
    const char *label = doc_text_of(text_arm(report, arm), "label");
    doc_text(doc, label ? label : arm);
}

static void add_p(struct doc *doc, double p)
{
    if (!isfinite(p))
        doc_unknown(doc);
    else if (p < 0.0001)
        doc_say(doc, "< 0.0001");
    else
        doc_say(doc, "%.4f", p);
}

void text_comparisons(struct doc *doc, const cJSON *report)
{
    const cJSON *rows = json_member(report, "comparisons");
    const cJSON *row = NULL;
    if (cJSON_GetArraySize(rows) == 0)
        return;
    doc_heading(doc, "Comparisons");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Speeds in proportion: above 1 the setting is faster. p is corrected for the "
                 "number of comparisons (Holm).");
    doc_end(doc, DOC_PARAGRAPH);
    doc_table(doc, "Comparisons", comparison_columns, COLUMNS(comparison_columns));
    cJSON_ArrayForEach(row, rows) {
        double ratio = doc_number_of(row, "ratio");
        doc_row(doc, is_recommended(report, row));
        doc_cell(doc);
        add_label(doc, report, doc_text_of(row, "arm"));
        doc_cell(doc);
        add_label(doc, report, doc_text_of(row, "against"));
        doc_cell(doc);
        doc_ratio(doc, ratio, ratio);
        doc_cell(doc);
        text_interval(doc, row);
        doc_cell(doc);
        add_p(doc, doc_number_of(row, "p"));
        doc_cell(doc);
        doc_verdict_word(doc, doc_text_of(row, "verdict"));
    }
    doc_table_end(doc);
}

/* --- speed for memory ------------------------------------------------------------------------ */

void text_pareto(struct doc *doc, const cJSON *report)
{
    const cJSON *names = json_member(report, "pareto");
    const cJSON *name = NULL;
    if (cJSON_GetArraySize(names) < 2)
        return;
    doc_heading(doc, "Worth their price");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc,
            "Every other setting is beaten by one of these, which is at least as fast and takes "
            "no more memory, CPU time or room.");
    doc_end(doc, DOC_PARAGRAPH);
    doc_table(doc, "Settings worth their price", pareto_columns, COLUMNS(pareto_columns));
    cJSON_ArrayForEach(name, names) {
        const cJSON *arm = text_arm(report, cJSON_GetStringValue(name));
        doc_row(doc, arm && is_recommended(report, arm));
        doc_cell(doc);
        doc_text(doc, doc_text_of(arm, "label"));
        doc_cell(doc);
        doc_rate(doc, doc_number_of(json_member(arm, "rate_mib_s"), "median"));
        doc_cell(doc);
        doc_count(doc, doc_number_of(arm, "buffer_memory_mib"));
    }
    doc_table_end(doc);
}
