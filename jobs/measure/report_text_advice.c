/* What is recommended, and how it compares with an earlier job. */
#include "jobs/measure/report_text.h"

#include <math.h>

/* --- recommendation --------------------------------------------------------------------------- */

static void add_paragraph(struct doc *doc, const char *text)
{
    doc_begin(doc, DOC_PARAGRAPH);
    doc_text(doc, text);
    doc_end(doc, DOC_PARAGRAPH);
}

static void say_paragraph(struct doc *doc, const char *words)
{
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "%s", words);
    doc_end(doc, DOC_PARAGRAPH);
}

static void add_setting_value(struct doc *doc, const cJSON *value)
{
    if (cJSON_IsNumber(value))
        doc_say(doc, "%.15g", value->valuedouble);
    else
        doc_text(doc, cJSON_IsString(value) ? value->valuestring : NULL);
}

/* Whether more than one value is as good; else the range says what the recommendation has said. */
static bool has_rivals(const cJSON *range)
{
    return !cJSON_Compare(cJSON_GetArrayItem(range, 0), cJSON_GetArrayItem(range, 1), true);
}

static void add_interval_of_settings(struct doc *doc, const cJSON *interval)
{
    const cJSON *range = NULL;
    const char *before = NULL;
    cJSON_ArrayForEach(range, interval) {
        if (!has_rivals(range))
            continue;
        if (!before) {
            doc_begin(doc, DOC_PARAGRAPH);
            doc_say(doc, "The data cannot tell apart from the best:");
        }
        doc_say(doc, "%s", before ? before : " ");
        before = ", ";
        doc_text(doc, range->string);
        doc_say(doc, " ");
        add_setting_value(doc, cJSON_GetArrayItem(range, 0));
        doc_say(doc, " to ");
        add_setting_value(doc, cJSON_GetArrayItem(range, 1));
    }
    if (!before)
        return;
    doc_say(doc, ".");
    doc_end(doc, DOC_PARAGRAPH);
}

void text_recommendation(struct doc *doc, const cJSON *report)
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
    doc_heading(doc, "Recommendation");
    if (doc_text_of(recommendation, "reason"))
        add_paragraph(doc, doc_text_of(recommendation, "reason"));
    add_interval_of_settings(doc, json_member(recommendation, "interval"));
    cJSON_ArrayForEach(note, json_member(recommendation, "notes"))
        add_paragraph(doc, note->valuestring);
    if (isfinite(doc_number_of(recommendation, "buffer_memory_mib")))
        say_paragraph(doc, "The buffers lie outside of the buffer pool for as long as a backup "
                           "runs; a restore with the same options takes them too.");
    if (doc_text_of(recommendation, "tsql"))
        say_paragraph(doc, "What follows is meant for your regular backups: it has no COPY_ONLY, "
                           "and so moves the differential base as they do.");
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const char *text = doc_text_of(recommendation, blocks[i].member);
        if (text)
            doc_code(doc, blocks[i].title, blocks[i].language, text);
    }
}

void text_baseline(struct doc *doc, const cJSON *report)
{
    const cJSON *baseline = json_member(report, "baseline");
    double ratio = doc_number_of(baseline, "ratio");
    if (!cJSON_IsObject(baseline))
        return;
    doc_heading(doc, "Against an earlier job");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_ratio(doc, ratio, ratio);
    doc_say(doc, " times as fast as in job ");
    doc_text(doc, doc_text_of(baseline, "job"));
    doc_say(doc, " (");
    text_interval(doc, baseline);
    doc_say(doc, "), verdict ");
    doc_verdict_word(doc, doc_text_of(baseline, "verdict"));
    doc_say(doc, ".");
    doc_end(doc, DOC_PARAGRAPH);
}
