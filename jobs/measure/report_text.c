#include "jobs/measure/report_text.h"
#include "jobs/measure/report.h"
#include "jobs/measure/report_page.h"
#include "jobs/measure/tsql_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- finding things -------------------------------------------------------------------------- */

/* The row whose member "arm" is this text; NULL. */
static const cJSON *find_row(const cJSON *rows, const char *arm)
{
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows) {
        const char *value = doc_text_of(row, "arm");
        if (arm && value && strcmp(value, arm) == 0)
            return row;
    }
    return NULL;
}

const cJSON *text_arm(const cJSON *report, const char *arm)
{
    return find_row(json_member(report, "arms"), arm);
}

const cJSON *text_comparison(const cJSON *report, const char *arm)
{
    return find_row(json_member(report, "comparisons"), arm);
}

bool text_is_true(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(json_member(object, name));
}

void text_strong(struct doc *doc, const char *text)
{
    doc_begin(doc, DOC_STRONG);
    doc_text(doc, text);
    doc_end(doc, DOC_STRONG);
}

void text_interval(struct doc *doc, const cJSON *row)
{
    double ratio = doc_number_of(row, "ratio");
    double low = doc_number_of(row, "low");
    double high = doc_number_of(row, "high");
    if (!isfinite(low) && !isfinite(high)) {
        doc_unknown(doc);
        return;
    }
    doc_ratio(doc, low, ratio);
    doc_say(doc, " to ");
    doc_ratio(doc, high, ratio);
}

/* --- the first line -------------------------------------------------------------------------- */

/* What "default" sent, which is not the server's default where the compression is said:
 * " The default here: BUFFERCOUNT not sent, NO_COMPRESSION." */
static void add_default(struct doc *doc, const cJSON *settings)
{
    static const struct {
        const char *member, *option;
    } options[] = {{"buffercount", "BUFFERCOUNT"},
                   {"maxtransfersize", "MAXTRANSFERSIZE"},
                   {"blocksize", "BLOCKSIZE"}};
    const char *word = doc_text_of(settings, "compression");
    const struct tsql_compression *compression = tsql_compression_find(word ? word : "off");
    const char *before = " The default here: ";
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (!json_member(settings, options[i].member))
            continue;
        doc_say(doc, "%s%s not sent", before, options[i].option);
        before = ", ";
    }
    if (compression)
        doc_say(doc, "%s%s.", before,
                compression->tsql ? compression->tsql : "no word on compression");
}

static void keep_default_verdict(struct doc *doc, const cJSON *report, const cJSON *recommendation)
{
    const cJSON *design = json_member(report, "design");
    text_strong(doc, "Keep the default");
    doc_say(doc, ": the data do not show that any setting is more than ");
    doc_percent(doc, doc_number_of(design, "tolerance"));
    doc_say(doc, " faster.");
    add_default(doc, json_member(recommendation, "settings"));
}

static void setting_verdict(struct doc *doc, const cJSON *report, const cJSON *recommendation)
{
    const char *name = doc_text_of(recommendation, "arm");
    const cJSON *arm = text_arm(report, name);
    const cJSON *comparison = text_comparison(report, name);
    const char *against = doc_text_of(comparison, "against");
    const char *target = doc_text_of(json_member(arm, "settings"), "target");
    double ratio = doc_number_of(comparison, "ratio");
    double memory = doc_number_of(recommendation, "buffer_memory_mib");
    text_strong(doc, arm ? doc_text_of(arm, "label") : name);
    doc_say(doc, target && strcmp(target, "NUL") == 0 ? " reads " : " backs up ");
    doc_ratio(doc, ratio, ratio);
    doc_say(doc, " times as fast as the default");
    if (isfinite(doc_number_of(comparison, "low"))) {
        doc_say(doc, " (");
        doc_percent(doc, doc_number_of(comparison, "level"));
        doc_say(doc, " interval ");
        text_interval(doc, comparison);
        doc_say(doc, ")");
    }
    if (isfinite(memory)) {
        doc_say(doc, " and takes ");
        doc_count(doc, memory);
        doc_say(doc, " MiB of buffers");
    }
    doc_say(doc, ".");
    if (comparison)
        add_default(doc, json_member(text_arm(report, against), "settings"));
}

static void add_verdict(struct doc *doc, const cJSON *report)
{
    const cJSON *recommendation = json_member(report, "recommendation");
    const char *reason = doc_text_of(report, "no_recommendation");
    doc_begin(doc, DOC_VERDICT);
    if (cJSON_IsObject(recommendation) && text_is_true(recommendation, "keep_default")) {
        keep_default_verdict(doc, report, recommendation);
    } else if (cJSON_IsObject(recommendation)) {
        setting_verdict(doc, report, recommendation);
    } else if (!text_kind_verdict(doc, report)) {
        const char *kind = doc_text_of(report, "kind");
        bool recommends = !kind || strcmp(kind, "backup_sweep") == 0; /* the others answer */
        text_strong(doc, recommends ? "No recommendation" : "No answer");
        doc_say(doc, ": ");
        doc_text(doc, reason ? reason : "the data do not decide.");
    }
    doc_end(doc, DOC_VERDICT);
}

static void add_simulated(struct doc *doc, const cJSON *report)
{
    if (!text_is_true(json_member(report, "instance"), "simulated"))
        return;
    doc_begin(doc, DOC_ALERT);
    text_strong(doc, "SIMULATED SERVER.");
    doc_say(doc, " These figures come from a simulator and say nothing about a real SQL Server.");
    doc_end(doc, DOC_ALERT);
}

static void add_instance(struct doc *doc, const cJSON *report)
{
    const cJSON *instance = json_member(report, "instance");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Instance ");
    text_strong(doc, doc_text_of(instance, "name"));
    doc_say(doc, ", SQL Server ");
    doc_text(doc, doc_text_of(instance, "version"));
    doc_say(doc, ", ");
    doc_text(doc, doc_text_of(instance, "edition"));
    doc_say(doc, ", ");
    doc_text(doc, doc_text_of(instance, "platform"));
    if (!text_is_true(instance, "authenticated"))
        doc_say(doc, ", not authenticated");
    doc_say(doc, ". Job ");
    doc_text(doc, doc_text_of(report, "job"));
    doc_say(doc, ", kind ");
    doc_text(doc, doc_text_of(report, "kind"));
    doc_say(doc, ".");
    doc_end(doc, DOC_PARAGRAPH);
}

/* --- the end --------------------------------------------------------------------------------- */

static void add_list(struct doc *doc, const char *title, const cJSON *items)
{
    const cJSON *item = NULL;
    if (cJSON_GetArraySize(items) == 0)
        return;
    doc_heading(doc, title);
    doc_begin(doc, DOC_LIST);
    cJSON_ArrayForEach(item, items) {
        char *printed = cJSON_IsString(item) ? NULL : json_print(item);
        doc_begin(doc, DOC_ITEM);
        doc_text(doc, printed ? printed : item->valuestring);
        doc_end(doc, DOC_ITEM);
        free(printed);
    }
    doc_end(doc, DOC_LIST);
}

static void add_chain(struct doc *doc, const cJSON *report)
{
    static const struct {
        const char *member, *unchanged, *changed;
    } links[] = {
        {"differential_base_unchanged", "The differential base is unchanged.",
         "The differential base changed during the job."},
        {"log_chain_unchanged", "The log chain is unchanged.",
         "The log chain changed during the job."},
    };
    const cJSON *chain = json_member(report, "chain");
    bool any = false;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        const cJSON *link = json_member(chain, links[i].member);
        if (!cJSON_IsBool(link))
            continue;
        if (any)
            doc_say(doc, " ");
        else
            doc_begin(doc, DOC_PARAGRAPH);
        any = true;
        if (cJSON_IsTrue(link))
            doc_say(doc, "%s", links[i].unchanged);
        else
            text_strong(doc, links[i].changed);
    }
    if (any)
        doc_end(doc, DOC_PARAGRAPH);
}

static void add_design(struct doc *doc, const cJSON *report)
{
    static const struct {
        const char *order, *words;
    } orders[] = {
        {"random_blocks", "in random order within each block"},
        {"abba", "in the order A B B A"},
        {"sequential", "in a fixed order"},
    };
    const cJSON *design = json_member(report, "design");
    const char *order = doc_text_of(design, "order");
    double blocks = doc_number_of(design, "blocks");
    if (!cJSON_IsObject(design) || cJSON_GetArraySize(json_member(report, "arms")) == 0)
        return; /* a kind without trials has none */
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Design: ");
    doc_count(doc, blocks);
    doc_say(doc, "%s", blocks == 1 ? " block " : " blocks ");
    for (size_t i = 0; order && i < sizeof orders / sizeof orders[0]; i++)
        if (strcmp(order, orders[i].order) == 0)
            doc_say(doc, "%s", orders[i].words);
    doc_say(doc, ", seed ");
    doc_count(doc, doc_number_of(design, "seed"));
    doc_say(doc, ", confidence ");
    doc_percent(doc, doc_number_of(design, "confidence"));
    doc_say(doc, ", tolerance ");
    doc_percent(doc, doc_number_of(design, "tolerance"));
    doc_say(doc, ".");
    doc_end(doc, DOC_PARAGRAPH);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void add_tables(struct doc *doc, const cJSON *report)
{
    text_arms(doc, report);
    text_comparisons(doc, report);
    text_pareto(doc, report);
    if (!json_member(report, "overhead")) /* has its own table */
        text_sizes_section(doc, report);
    text_kind_sections(doc, report);
}

static void add_end(struct doc *doc, const cJSON *report)
{
    text_baseline(doc, report);
    add_list(doc, "Warnings", json_member(report, "warnings"));
    add_list(doc, "Left behind", json_member(report, "left_behind"));
    add_chain(doc, report);
    add_design(doc, report);
}

char *report_markdown(const cJSON *report)
{
    struct doc doc = {.form = DOC_MARKDOWN};
    add_verdict(&doc, report);
    add_simulated(&doc, report);
    add_instance(&doc, report);
    add_tables(&doc, report);
    text_recommendation(&doc, report);
    add_end(&doc, report);
    return doc_take(&doc);
}

char *report_html(const cJSON *report)
{
    struct doc doc = {.form = DOC_HTML};
    page_begin(&doc.out, report);
    add_verdict(&doc, report);
    add_simulated(&doc, report);
    page_facts(&doc.out, report);
    chart_curve(&doc.out, report);
    text_recommendation(&doc, report);
    add_tables(&doc, report);
    add_end(&doc, report);
    page_end(&doc.out);
    return doc_take(&doc);
}
