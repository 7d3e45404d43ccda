/* The overhead of trace flags in Markdown: rows with a member "flag". */
#include "jobs/measure/report_markdown.h"

#include "jobs/measure/markdown.h"

#include <math.h>
#include <string.h>

#define MIB 1048576.0

static bool verdict_is(const cJSON *row, const char *verdict)
{
    const char *own = markdown_text(row, "verdict");
    return own && strcmp(own, verdict) == 0;
}

/* 1.056: "+5.6 %" */
static void add_change(struct buf *out, double ratio)
{
    if (isfinite(ratio))
        buf_format(out, "%+.1f %%", 100 * (ratio - 1));
    else
        buf_add(out, "–");
}

static bool is_compressed(const cJSON *row)
{
    const char *compression = markdown_text(row, "compression");
    return compression && strcmp(compression, "off") != 0;
}

void markdown_flag_verdict(struct buf *out, const cJSON *row)
{
    double level = markdown_number(row, "level");
    double ratio = markdown_number(row, "ratio");
    bool undecided = verdict_is(row, "inconclusive") || !isfinite(ratio);
    buf_format(out, "Trace flag %.0f ", markdown_number(row, "flag"));
    if (undecided)
        buf_add(out, "leaves it open whether it changes ");
    else
        buf_add(out, verdict_is(row, "no_difference") ? "makes no difference to " : "makes ");
    buf_add(out, is_compressed(row) ? "compressed backups of " : "backups of ");
    markdown_add_text(out, markdown_text(row, "database"));
    if (undecided) {
        buf_add(out, ": the data do not decide, at first sight they are ");
        markdown_add_overhead(out, ratio);
    } else if (!verdict_is(row, "no_difference")) {
        buf_add(out, " ");
        markdown_add_overhead(out, ratio);
    }
    if (isfinite(markdown_number(row, "low"))) {
        buf_add(out, " (");
        markdown_add_percent(out, isfinite(level) ? level : 0.95);
        buf_add(out, " interval ");
        add_change(out, markdown_number(row, "low"));
        buf_add(out, " to ");
        add_change(out, markdown_number(row, "high"));
        buf_add(out, ")");
    }
}

/* "790.0 / 790.0" */
static void add_pair(struct buf *out, const cJSON *pair, double unit)
{
    double off = markdown_number(pair, "off");
    double on = markdown_number(pair, "on");
    markdown_add_rate(out, off / unit);
    buf_add(out, " / ");
    markdown_add_rate(out, on / unit);
}

void markdown_flag_section(struct buf *out, const cJSON *rows)
{
    const cJSON *row = NULL;
    buf_add(out,
            "## Overhead\n\nTimes with the flag on / off: above 1 is slower. Sizes are off / "
            "on.\n\n"
            "| flag | database | server seconds | interval | elapsed | compression | file, MiB "
            "| peak, MiB | verdict |\n|---:|---|---:|---|---:|---:|---:|---:|---|\n");
    cJSON_ArrayForEach(row, rows) {
        double ratio = markdown_number(row, "ratio");
        double elapsed = markdown_number(row, "ratio_elapsed");
        buf_format(out, "| %.0f | ", markdown_number(row, "flag"));
        markdown_add_text(out, markdown_text(row, "database"));
        buf_add(out, " | ");
        markdown_add_ratio(out, ratio, ratio);
        buf_add(out, " | ");
        markdown_add_ratio(out, markdown_number(row, "low"), ratio);
        buf_add(out, " to ");
        markdown_add_ratio(out, markdown_number(row, "high"), ratio);
        buf_add(out, " | ");
        markdown_add_ratio(out, elapsed, elapsed);
        buf_add(out, " | ");
        add_pair(out, json_member(row, "compression_ratio"), 1);
        buf_add(out, " | ");
        add_pair(out, json_member(row, "file_bytes"), MIB);
        buf_add(out, " | ");
        add_pair(out, json_member(row, "peak_file_bytes"), MIB);
        buf_add(out, " | ");
        markdown_add_text(out, markdown_text(row, "verdict"));
        buf_add(out, " |\n");
    }
    buf_add(out, "\n");
}
