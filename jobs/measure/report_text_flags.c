/* The overhead of trace flags in Markdown: rows with a member "flag". */
#include "jobs/measure/report_text.h"

#include <math.h>
#include <string.h>

#define MIB 1048576.0

static bool verdict_is(const cJSON *row, const char *verdict)
{
    const char *own = doc_text_of(row, "verdict");
    return own && strcmp(own, verdict) == 0;
}

/* 1.056: "+5.6 %" */
static void add_change(struct doc *doc, double ratio)
{
    if (isfinite(ratio))
        doc_say(doc, "%+.1f %%", 100 * (ratio - 1));
    else
        doc_unknown(doc);
}

static bool is_compressed(const cJSON *row)
{
    const char *compression = doc_text_of(row, "compression");
    return compression && strcmp(compression, "off") != 0;
}

void text_flag_verdict(struct doc *doc, const cJSON *row)
{
    double level = doc_number_of(row, "level");
    double ratio = doc_number_of(row, "ratio");
    bool undecided = verdict_is(row, "inconclusive") || !isfinite(ratio);
    doc_say(doc, "Trace flag ");
    doc_count(doc, doc_number_of(row, "flag"));
    doc_say(doc, " ");
    if (undecided)
        doc_say(doc, "leaves it open whether it changes ");
    else
        doc_say(doc, verdict_is(row, "no_difference") ? "makes no difference to " : "makes ");
    doc_say(doc, is_compressed(row) ? "compressed backups of " : "backups of ");
    doc_text(doc, doc_text_of(row, "database"));
    if (undecided) {
        doc_say(doc, ": the data do not decide, at first sight they are ");
        text_overhead(doc, ratio);
    } else if (!verdict_is(row, "no_difference")) {
        doc_say(doc, " ");
        text_overhead(doc, ratio);
    }
    if (isfinite(doc_number_of(row, "low"))) {
        doc_say(doc, " (");
        doc_percent(doc, isfinite(level) ? level : 0.95);
        doc_say(doc, " interval ");
        add_change(doc, doc_number_of(row, "low"));
        doc_say(doc, " to ");
        add_change(doc, doc_number_of(row, "high"));
        doc_say(doc, ")");
    }
}

/* "790.0 / 790.0" */
static void add_pair(struct doc *doc, const cJSON *pair, double unit)
{
    double off = doc_number_of(pair, "off");
    double on = doc_number_of(pair, "on");
    doc_rate(doc, off / unit);
    doc_say(doc, " / ");
    doc_rate(doc, on / unit);
}

static void write_ratios(struct doc *doc, const cJSON *pair)
{
    add_pair(doc, pair, 1);
}

static void write_sizes(struct doc *doc, const cJSON *pair)
{
    add_pair(doc, pair, MIB);
}

/* clang-format off */
static const struct doc_column columns[] = {
    {"flag",           true,  "flag",              doc_write_count},
    {"database",       false, "database",          doc_write_text},
    {"server seconds", true,  "ratio",             doc_write_ratio},
    {"interval",       false, NULL,                text_interval},
    {"elapsed",        true,  "ratio_elapsed",     doc_write_ratio},
    {"compression",    true,  "compression_ratio", write_ratios},
    {"file, MiB",      true,  "file_bytes",        write_sizes},
    {"peak, MiB",      true,  "peak_file_bytes",   write_sizes},
    {"verdict",        false, "verdict",           doc_write_verdict_word},
};
/* clang-format on */

void text_flag_section(struct doc *doc, const cJSON *rows)
{
    doc_heading(doc, "Overhead");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Times with the flag on / off: above 1 is slower. Sizes are off / on.");
    doc_end(doc, DOC_PARAGRAPH);
    doc_rows(doc, "Overhead", columns, sizeof columns / sizeof columns[0], rows);
}
