#include "jobs/measure/report_markdown.h"

#include "jobs/measure/markdown.h"

#include <math.h>
#include <string.h>

#define FIRST_LINE_DATABASES 4 /* more are told below */

/* --- overhead: trace_flag, snapshot_overhead ------------------------------------------------ */

void markdown_add_overhead(struct buf *out, double ratio)
{
    if (!isfinite(ratio))
        buf_add(out, "unknown");
    else
        buf_format(out, "%.1f %% %s", 100 * fabs(ratio - 1), ratio >= 1 ? "slower" : "faster");
}

static bool is_of_flag(const cJSON *row)
{
    return !isnan(markdown_number(row, "flag"));
}

/* "2 snapshots at SSD" */
static void add_subject(struct buf *out, const cJSON *row)
{
    double snapshots = markdown_number(row, "snapshots");
    markdown_add_count(out, snapshots);
    buf_add(out, snapshots == 1 ? " snapshot at " : " snapshots at ");
    markdown_add_text(out, markdown_text(row, "location"));
}

static void add_interval(struct buf *out, const cJSON *row)
{
    double ratio = markdown_number(row, "ratio");
    markdown_add_ratio(out, markdown_number(row, "low"), ratio);
    buf_add(out, " to ");
    markdown_add_ratio(out, markdown_number(row, "high"), ratio);
}

/* The row that says most: the largest overhead that is shown, else the first. */
static const cJSON *leading_row(const cJSON *rows)
{
    const cJSON *row = NULL;
    const cJSON *leading = cJSON_GetArrayItem(rows, 0);
    bool shown = false;
    cJSON_ArrayForEach(row, rows) {
        const char *verdict = markdown_text(row, "verdict");
        bool differs =
            verdict && (strcmp(verdict, "slower") == 0 || strcmp(verdict, "faster") == 0);
        if (!differs)
            continue;
        if (!shown || markdown_number(row, "ratio") > markdown_number(leading, "ratio"))
            leading = row;
        shown = true;
    }
    return leading;
}

static void snapshot_verdict(struct buf *out, const cJSON *row)
{
    const char *verdict = markdown_text(row, "verdict");
    buf_add(out, "With **");
    add_subject(out, row);
    buf_add(out, "** ");
    if (verdict && strcmp(verdict, "no_difference") == 0)
        buf_add(out, "times differ by less than the tolerance");
    else if (verdict && strcmp(verdict, "inconclusive") == 0)
        buf_add(out, "the data do not decide: at first sight it runs ");
    else
        buf_add(out, "it runs ");
    if (!verdict || strcmp(verdict, "no_difference") != 0)
        markdown_add_overhead(out, markdown_number(row, "ratio"));
    buf_add(out, " (times in proportion: ");
    add_interval(out, row);
    buf_add(out, ")");
}

static void overhead_verdict(struct buf *out, const cJSON *rows)
{
    const cJSON *row = leading_row(rows);
    int more = cJSON_GetArraySize(rows) - 1;
    if (is_of_flag(row))
        markdown_flag_verdict(out, row);
    else
        snapshot_verdict(out, row);
    if (more > 0)
        buf_format(out, "; %d more below", more);
    buf_add(out, ".");
}

static void overhead_section(struct buf *out, const cJSON *rows)
{
    const cJSON *row = NULL;
    if (is_of_flag(cJSON_GetArrayItem(rows, 0))) {
        markdown_flag_section(out, rows);
        return;
    }
    buf_add(out, "## Overhead\n\nTimes with / times without: above 1 is slower.\n\n"
                 "| with | ratio | interval | verdict |\n|---|---:|---|---|\n");
    cJSON_ArrayForEach(row, rows) {
        double ratio = markdown_number(row, "ratio");
        buf_add(out, "| ");
        add_subject(out, row);
        buf_add(out, " | ");
        markdown_add_ratio(out, ratio, ratio);
        buf_add(out, " | ");
        add_interval(out, row);
        buf_add(out, " | ");
        markdown_add_text(out, markdown_text(row, "verdict"));
        buf_add(out, " |\n");
    }
    buf_add(out, "\n");
}

/* What the first and the next snapshot cost, in words. */
static void snapshot_cost_section(struct buf *out, const cJSON *rows)
{
    const cJSON *row = NULL;
    buf_add(out, "## Cost of each snapshot\n\n");
    cJSON_ArrayForEach(row, rows) {
        buf_add(out, "- **");
        markdown_add_text(out, markdown_text(row, "location"));
        buf_add(out, "**: ");
        markdown_add_text(out, markdown_text(row, "words"));
        buf_add(out, ".\n");
    }
    buf_add(out, "\n");
}

/* --- bottleneck: backup_throughput ---------------------------------------------------------- */

static void add_bottleneck(struct buf *out, const cJSON *target)
{
    static const struct {
        const char *verdict, *words;
    } words[] = {
        {"read", "**reading** limits"},
        {"write", "**writing** limits"},
        {"cpu", "the **CPU** limits"},
        {"balanced", "reading and writing keep pace"},
    };
    const char *verdict = markdown_text(target, "verdict");
    const char *found = "the evidence does not tell what limits";
    for (size_t i = 0; verdict && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].verdict, verdict) == 0)
            found = words[i].words;
    buf_add(out, " to ");
    markdown_add_text(out, markdown_text(target, "name"));
    buf_format(out, ": %s (", found);
    markdown_add_percent(out, markdown_number(target, "fraction_of_ceiling"));
    buf_add(out, " of what reading alone gives)");
}

/* One database: each of its targets, or what reading alone gives. */
static void add_database_verdict(struct buf *out, const cJSON *row)
{
    const cJSON *targets = json_member(row, "targets");
    const cJSON *target = NULL;
    int said = 0;
    buf_add(out, "**");
    markdown_add_text(out, markdown_text(row, "database"));
    buf_add(out, "**");
    cJSON_ArrayForEach(target, targets) {
        buf_add(out, said++ ? "," : "");
        add_bottleneck(out, target);
    }
    if (said > 0)
        return;
    buf_add(out, ": reading alone gives ");
    markdown_add_rate(out, markdown_number(row, "read_ceiling_mib_s"));
    buf_add(out, " MiB/s");
}

static void bottleneck_verdict(struct buf *out, const cJSON *rows)
{
    const cJSON *row = NULL;
    int said = 0;
    cJSON_ArrayForEach(row, rows) {
        if (said == FIRST_LINE_DATABASES)
            break;
        buf_add(out, said++ ? "; " : "");
        add_database_verdict(out, row);
    }
    int more = cJSON_GetArraySize(rows) - said;
    if (more > 0)
        buf_format(out, "; %d more database%s below", more, more == 1 ? "" : "s");
    buf_add(out, ".");
}

static void add_list(struct buf *out, const char *title, const cJSON *target, const char *member)
{
    const cJSON *texts = json_member(target, member);
    const cJSON *text = NULL;
    if (cJSON_GetArraySize(texts) == 0)
        return;
    buf_format(out, "%s (", title);
    markdown_add_text(out, markdown_text(target, "name"));
    buf_add(out, "):\n\n");
    cJSON_ArrayForEach(text, texts) {
        buf_add(out, "- ");
        markdown_add_text(out, text->valuestring);
        buf_add(out, "\n");
    }
    buf_add(out, "\n");
}

static void add_targets(struct buf *out, const cJSON *targets)
{
    const cJSON *target = NULL;
    if (cJSON_GetArraySize(targets) == 0)
        return;
    buf_add(out, "| target | MiB/s | of the ceiling | verdict |\n|---|---:|---:|---|\n");
    cJSON_ArrayForEach(target, targets) {
        buf_add(out, "| ");
        markdown_add_text(out, markdown_text(target, "name"));
        buf_add(out, " | ");
        markdown_add_rate(out, markdown_number(target, "rate_mib_s"));
        buf_add(out, " | ");
        markdown_add_percent(out, markdown_number(target, "fraction_of_ceiling"));
        buf_add(out, " | ");
        markdown_add_text(out, markdown_text(target, "verdict"));
        buf_add(out, " |\n");
    }
    buf_add(out, "\n");
    cJSON_ArrayForEach(target, targets) {
        add_list(out, "Evidence", target, "evidence");
        add_list(out, "Advice", target, "advice");
    }
}

/* What each data file and its drive gave while the database was only read. */
static void add_read_files(struct buf *out, const cJSON *files)
{
    const cJSON *file = NULL;
    if (cJSON_GetArraySize(files) == 0)
        return;
    buf_add(out, "| file | drive | MiB/s | ms of waiting a MiB |\n|---|---|---:|---:|\n");
    cJSON_ArrayForEach(file, files) {
        buf_add(out, "| ");
        markdown_add_text(out, markdown_text(file, "file"));
        buf_add(out, " | ");
        markdown_add_text(out, markdown_text(file, "volume"));
        buf_add(out, " | ");
        markdown_add_rate(out, markdown_number(file, "mib_s"));
        buf_add(out, " | ");
        markdown_add_rate(out, markdown_number(file, "stall_ms_per_mib"));
        buf_add(out, " |\n");
    }
    buf_add(out, "\n");
}

static void bottleneck_section(struct buf *out, const cJSON *rows)
{
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows) {
        const char *slowest = markdown_text(row, "slowest_drive");
        buf_add(out, "## Bottleneck of ");
        markdown_add_text(out, markdown_text(row, "database"));
        buf_add(out, "\n\nReading alone (NUL) gives ");
        markdown_add_rate(out, markdown_number(row, "read_ceiling_mib_s"));
        buf_add(out, " MiB/s");
        if (slowest) {
            buf_add(out, "; the slowest drive is ");
            markdown_add_text(out, slowest);
        }
        buf_add(out, ".\n\n");
        add_read_files(out, json_member(row, "files"));
        add_targets(out, json_member(row, "targets"));
    }
}

/* --- history -------------------------------------------------------------------------------- */

static void history_verdict(struct buf *out, const cJSON *rows)
{
    double n = 0;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows) {
        double here = markdown_number(row, "n");
        n += isnan(here) ? 0 : here;
    }
    buf_format(out, "**%.0f recorded backups** in %d series.", n, cJSON_GetArraySize(rows));
}

static void add_spread(struct buf *out, const cJSON *spread)
{
    markdown_add_rate(out, markdown_number(spread, "median"));
    buf_add(out, " (");
    markdown_add_rate(out, markdown_number(spread, "p5"));
    buf_add(out, " to ");
    markdown_add_rate(out, markdown_number(spread, "p95"));
    buf_add(out, ")");
}

/* "+1.2 % (+0.4 to +2.0)". */
static void add_trend(struct buf *out, const cJSON *trend)
{
    double percent = markdown_number(trend, "percent_per_month");
    if (isnan(percent))
        buf_add(out, "–");
    else
        buf_format(out, "%+.1f %% (%+.1f to %+.1f)", percent, markdown_number(trend, "low"),
                   markdown_number(trend, "high"));
}

static void add_band(struct buf *out, const cJSON *spread)
{
    markdown_add_rate(out, markdown_number(spread, "low"));
    buf_add(out, " to ");
    if (isnan(markdown_number(spread, "high")))
        buf_add(out, "unknown");
    else
        markdown_add_rate(out, markdown_number(spread, "high"));
}

static void history_section(struct buf *out, const cJSON *rows)
{
    const cJSON *row = NULL;
    buf_add(out, "## History\n\nMiB/s: median (5th to 95th percentile). msdb keeps whole seconds: "
                 "the true median of the data's speed lies within the last column but one.\n\n"
                 "| database | type | n | data | to the device | compression | median of data, at "
                 "least and at most | change a month |\n"
                 "|---|---|---:|---|---|---:|---|---|\n");
    cJSON_ArrayForEach(row, rows) {
        double ratio = markdown_number(row, "ratio");
        buf_add(out, "| ");
        markdown_add_text(out, markdown_text(row, "database"));
        buf_add(out, " | ");
        markdown_add_text(out, markdown_text(row, "type"));
        buf_add(out, " | ");
        markdown_add_count(out, markdown_number(row, "n"));
        buf_add(out, " | ");
        add_spread(out, json_member(row, "logical_mib_s"));
        buf_add(out, " | ");
        add_spread(out, json_member(row, "device_mib_s"));
        buf_add(out, " | ");
        markdown_add_ratio(out, ratio, ratio);
        buf_add(out, " | ");
        add_band(out, json_member(row, "logical_mib_s"));
        buf_add(out, " | ");
        add_trend(out, json_member(row, "trend"));
        buf_add(out, " |\n");
    }
    buf_add(out, "\n");
}

static void excluded_section(struct buf *out, const cJSON *rows)
{
    const cJSON *row = NULL;
    buf_add(out, "## Left out\n\n| backups | why |\n|---:|---|\n");
    cJSON_ArrayForEach(row, rows) {
        const char *detail = markdown_text(row, "detail");
        buf_add(out, "| ");
        markdown_add_count(out, markdown_number(row, "n"));
        buf_add(out, " | ");
        markdown_add_text(out, detail ? detail : markdown_text(row, "reason"));
        buf_add(out, " |\n");
    }
    buf_add(out, "\n");
}

/* --- confirmation ---------------------------------------------------------------------------- */

static void confirmation_section(struct buf *out, const cJSON *confirmation)
{
    double ratio = markdown_number(confirmation, "ratio");
    buf_add(out, "## Confirmation\n\nAgain on ");
    markdown_add_text(out, markdown_text(confirmation, "target"));
    buf_add(out, ": ");
    markdown_add_ratio(out, ratio, ratio);
    buf_add(out, " times as fast as the default there (");
    add_interval(out, confirmation);
    buf_add(out, "), verdict ");
    markdown_add_text(out, markdown_text(confirmation, "verdict"));
    buf_add(out, ".\n\n");
}

/* --- which of them ---------------------------------------------------------------------------- */

static const struct {
    const char *member;
    void (*verdict)(struct buf *, const cJSON *); /* NULL: it has no say in the first line */
    void (*section)(struct buf *, const cJSON *);
} parts[] = {
    {"overhead", overhead_verdict, overhead_section},
    {"snapshot_cost", NULL, snapshot_cost_section},
    {"bottleneck", bottleneck_verdict, bottleneck_section},
    {"history", history_verdict, history_section},
    {"excluded", NULL, excluded_section},
    {"confirmation", NULL, confirmation_section},
};

static bool is_filled(const cJSON *member)
{
    return cJSON_IsObject(member) || cJSON_GetArraySize(member) > 0;
}

bool markdown_kind_verdict(struct buf *out, const cJSON *report)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const cJSON *member = json_member(report, parts[i].member);
        if (!parts[i].verdict || !is_filled(member))
            continue;
        parts[i].verdict(out, member);
        return true;
    }
    return false;
}

void markdown_kind_sections(struct buf *out, const cJSON *report)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const cJSON *member = json_member(report, parts[i].member);
        if (is_filled(member))
            parts[i].section(out, member);
    }
}
