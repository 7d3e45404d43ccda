#include "jobs/measure/report_text.h"

#include <math.h>
#include <string.h>

#define COLUMNS(table) (sizeof(table) / sizeof((table)[0]))

#define FIRST_LINE_DATABASES 4 /* more are told below */

/* --- overhead: trace_flag, snapshot_overhead ------------------------------------------------ */

void text_overhead(struct doc *doc, double ratio)
{
    if (!isfinite(ratio))
        doc_say(doc, "unknown");
    else
        doc_say(doc, "%.1f %% %s", 100 * fabs(ratio - 1), ratio >= 1 ? "slower" : "faster");
}

static bool is_of_flag(const cJSON *row)
{
    return !isnan(doc_number_of(row, "flag"));
}

/* "2 snapshots at SSD" */
static void add_subject(struct doc *doc, const cJSON *row)
{
    double snapshots = doc_number_of(row, "snapshots");
    doc_count(doc, snapshots);
    doc_say(doc, snapshots == 1 ? " snapshot at " : " snapshots at ");
    doc_text(doc, doc_text_of(row, "location"));
}

/* The row that says most: the largest overhead that is shown, else the first. */
static const cJSON *leading_row(const cJSON *rows)
{
    const cJSON *row = NULL;
    const cJSON *leading = cJSON_GetArrayItem(rows, 0);
    bool shown = false;
    cJSON_ArrayForEach(row, rows) {
        const char *verdict = doc_text_of(row, "verdict");
        bool differs =
            verdict && (strcmp(verdict, "slower") == 0 || strcmp(verdict, "faster") == 0);
        if (!differs)
            continue;
        if (!shown || doc_number_of(row, "ratio") > doc_number_of(leading, "ratio"))
            leading = row;
        shown = true;
    }
    return leading;
}

static void snapshot_verdict(struct doc *doc, const cJSON *row)
{
    const char *verdict = doc_text_of(row, "verdict");
    doc_say(doc, "With ");
    doc_begin(doc, DOC_STRONG);
    add_subject(doc, row);
    doc_end(doc, DOC_STRONG);
    doc_say(doc, " ");
    if (verdict && strcmp(verdict, "no_difference") == 0)
        doc_say(doc, "times differ by less than the tolerance");
    else if (verdict && strcmp(verdict, "inconclusive") == 0)
        doc_say(doc, "the data do not decide: at first sight it runs ");
    else
        doc_say(doc, "it runs ");
    if (!verdict || strcmp(verdict, "no_difference") != 0)
        text_overhead(doc, doc_number_of(row, "ratio"));
    doc_say(doc, " (times in proportion: ");
    text_interval(doc, row);
    doc_say(doc, ")");
}

static void overhead_verdict(struct doc *doc, const cJSON *rows)
{
    const cJSON *row = leading_row(rows);
    int more = cJSON_GetArraySize(rows) - 1;
    if (is_of_flag(row))
        text_flag_verdict(doc, row);
    else
        snapshot_verdict(doc, row);
    if (more > 0)
        doc_say(doc, "; %d more below", more);
    doc_say(doc, ".");
}

/* clang-format off */
static const struct doc_column overhead_columns[] = {
    {"with",     false, NULL,      add_subject},
    {"ratio",    true,  "ratio",   doc_write_ratio},
    {"interval", false, NULL,      text_interval},
    {"verdict",  false, "verdict", doc_write_verdict_word},
};
/* clang-format on */

static void overhead_section(struct doc *doc, const cJSON *rows)
{
    if (is_of_flag(cJSON_GetArrayItem(rows, 0))) {
        text_flag_section(doc, rows);
        return;
    }
    doc_heading(doc, "Overhead");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Times with / times without: above 1 is slower.");
    doc_end(doc, DOC_PARAGRAPH);
    doc_rows(doc, "Overhead", overhead_columns, COLUMNS(overhead_columns), rows);
}

/* What the first and the next snapshot cost, in words. */
static void snapshot_cost_section(struct doc *doc, const cJSON *rows)
{
    const cJSON *row = NULL;
    doc_heading(doc, "Cost of each snapshot");
    doc_begin(doc, DOC_LIST);
    cJSON_ArrayForEach(row, rows) {
        doc_begin(doc, DOC_ITEM);
        text_strong(doc, doc_text_of(row, "location"));
        doc_say(doc, ": ");
        doc_text(doc, doc_text_of(row, "words"));
        doc_say(doc, ".");
        doc_end(doc, DOC_ITEM);
    }
    doc_end(doc, DOC_LIST);
}

/* --- bottleneck: backup_throughput ---------------------------------------------------------- */

static void add_bottleneck(struct doc *doc, const cJSON *target)
{
    static const struct {
        const char *verdict, *before, *strong, *after;
    } words[] = {
        {"read", "", "reading", " limits"},
        {"write", "", "writing", " limits"},
        {"cpu", "the ", "CPU", " limits"},
        {"balanced", "reading and writing keep pace", NULL, ""},
        {"", "the evidence does not tell what limits", NULL, ""}, /* any other */
    };
    const char *verdict = doc_text_of(target, "verdict");
    size_t i = 0;
    while (*words[i].verdict && (!verdict || strcmp(words[i].verdict, verdict) != 0))
        i++;
    doc_say(doc, " to ");
    doc_text(doc, doc_text_of(target, "name"));
    doc_say(doc, ": %s", words[i].before);
    if (words[i].strong)
        text_strong(doc, words[i].strong);
    doc_say(doc, "%s (", words[i].after);
    doc_percent(doc, doc_number_of(target, "fraction_of_ceiling"));
    doc_say(doc, " of what reading alone gives)");
}

/* One database: each of its targets, or what reading alone gives. */
static void add_database_verdict(struct doc *doc, const cJSON *row)
{
    const cJSON *targets = json_member(row, "targets");
    const cJSON *target = NULL;
    int said = 0;
    text_strong(doc, doc_text_of(row, "database"));
    cJSON_ArrayForEach(target, targets) {
        doc_say(doc, "%s", said++ ? "," : "");
        add_bottleneck(doc, target);
    }
    if (said > 0)
        return;
    doc_say(doc, ": reading alone gives ");
    doc_rate(doc, doc_number_of(row, "read_ceiling_mib_s"));
    doc_say(doc, " MiB/s");
}

static void bottleneck_verdict(struct doc *doc, const cJSON *rows)
{
    const cJSON *row = NULL;
    int said = 0;
    cJSON_ArrayForEach(row, rows) {
        if (said == FIRST_LINE_DATABASES)
            break;
        doc_say(doc, "%s", said++ ? "; " : "");
        add_database_verdict(doc, row);
    }
    int more = cJSON_GetArraySize(rows) - said;
    if (more > 0)
        doc_say(doc, "; %d more database%s below", more, more == 1 ? "" : "s");
    doc_say(doc, ".");
}

static void add_list(struct doc *doc, const char *title, const cJSON *target, const char *member)
{
    const cJSON *texts = json_member(target, member);
    const cJSON *text = NULL;
    if (cJSON_GetArraySize(texts) == 0)
        return;
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "%s (", title);
    doc_text(doc, doc_text_of(target, "name"));
    doc_say(doc, "):");
    doc_end(doc, DOC_PARAGRAPH);
    doc_begin(doc, DOC_LIST);
    cJSON_ArrayForEach(text, texts) {
        doc_begin(doc, DOC_ITEM);
        doc_text(doc, text->valuestring);
        doc_end(doc, DOC_ITEM);
    }
    doc_end(doc, DOC_LIST);
}

/* clang-format off */
static const struct doc_column target_columns[] = {
    {"target",         false, "name",                doc_write_text},
    {"MiB/s",          true,  "rate_mib_s",          doc_write_rate},
    {"of the ceiling", true,  "fraction_of_ceiling", doc_write_percent},
    {"verdict",        false, "verdict",             doc_write_text},
};
static const struct doc_column file_columns[] = {
    {"file",                false, "file",             doc_write_text},
    {"drive",               false, "volume",           doc_write_text},
    {"MiB/s",               true,  "mib_s",            doc_write_rate},
    {"ms of waiting a MiB", true,  "stall_ms_per_mib", doc_write_rate},
};
/* clang-format on */

static void add_targets(struct doc *doc, const cJSON *targets)
{
    const cJSON *target = NULL;
    if (cJSON_GetArraySize(targets) == 0)
        return;
    doc_rows(doc, "Targets", target_columns, COLUMNS(target_columns), targets);
    cJSON_ArrayForEach(target, targets) {
        add_list(doc, "Evidence", target, "evidence");
        add_list(doc, "Advice", target, "advice");
    }
}

/* What each data file and its drive gave while the database was only read. */
static void add_read_files(struct doc *doc, const cJSON *files)
{
    if (cJSON_GetArraySize(files) > 0)
        doc_rows(doc, "Data files", file_columns, COLUMNS(file_columns), files);
}

static void bottleneck_section(struct doc *doc, const cJSON *rows)
{
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows) {
        const char *slowest = doc_text_of(row, "slowest_drive");
        doc_begin(doc, DOC_HEADING);
        doc_say(doc, "Bottleneck of ");
        doc_text(doc, doc_text_of(row, "database"));
        doc_end(doc, DOC_HEADING);
        doc_begin(doc, DOC_PARAGRAPH);
        doc_say(doc, "Reading alone (NUL) gives ");
        doc_rate(doc, doc_number_of(row, "read_ceiling_mib_s"));
        doc_say(doc, " MiB/s");
        if (slowest) {
            doc_say(doc, "; the slowest drive is ");
            doc_text(doc, slowest);
        }
        doc_say(doc, ".");
        doc_end(doc, DOC_PARAGRAPH);
        add_read_files(doc, json_member(row, "files"));
        add_targets(doc, json_member(row, "targets"));
    }
}

/* --- history -------------------------------------------------------------------------------- */

static void history_verdict(struct doc *doc, const cJSON *rows)
{
    double n = 0;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows) {
        double here = doc_number_of(row, "n");
        n += isnan(here) ? 0 : here;
    }
    int series = cJSON_GetArraySize(rows);
    doc_begin(doc, DOC_STRONG);
    doc_say(doc, "%.0f recorded backup%s", n, n == 1 ? "" : "s");
    doc_end(doc, DOC_STRONG);
    doc_say(doc, " in %d series.", series);
}

static void add_spread(struct doc *doc, const cJSON *spread)
{
    doc_rate(doc, doc_number_of(spread, "median"));
    doc_say(doc, " (");
    doc_rate(doc, doc_number_of(spread, "p5"));
    doc_say(doc, " to ");
    doc_rate(doc, doc_number_of(spread, "p95"));
    doc_say(doc, ")");
}

/* "+1.2 % (+0.4 to +2.0)". */
static void add_trend(struct doc *doc, const cJSON *trend)
{
    double percent = doc_number_of(trend, "percent_per_month");
    double low = doc_number_of(trend, "low");
    double high = doc_number_of(trend, "high");
    if (isfinite(percent))
        doc_say(doc, "%+.1f %%", percent);
    else
        doc_unknown(doc);
    if (isfinite(percent) && isfinite(low) && isfinite(high))
        doc_say(doc, " (%+.1f to %+.1f)", low, high);
}

static void add_band(struct doc *doc, const cJSON *spread)
{
    doc_rate(doc, doc_number_of(spread, "low"));
    doc_say(doc, " to ");
    if (isnan(doc_number_of(spread, "high")))
        doc_say(doc, "unknown");
    else
        doc_rate(doc, doc_number_of(spread, "high"));
}

static void write_reason(struct doc *doc, const cJSON *row)
{
    const char *detail = doc_text_of(row, "detail");
    doc_text(doc, detail ? detail : doc_text_of(row, "reason"));
}

/* clang-format off */
static const struct doc_column history_columns[] = {
    {"database",        false, "database",      doc_write_text},
    {"type",            false, "type",          doc_write_text},
    {"n",               true,  "n",             doc_write_count},
    {"data",            false, "logical_mib_s", add_spread},
    {"to the device",   false, "device_mib_s",  add_spread},
    {"compression",     true,  "ratio",         doc_write_ratio},
    {"median of data, at least and at most", false, "logical_mib_s", add_band},
    {"change a month",  false, "trend",         add_trend},
};
static const struct doc_column excluded_columns[] = {
    {"backups", true,  "n",  doc_write_count},
    {"why",     false, NULL, write_reason},
};
/* clang-format on */

static void history_section(struct doc *doc, const cJSON *rows)
{
    doc_heading(doc, "History");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc,
            "MiB/s: median (5th to 95th percentile). msdb keeps whole seconds: the true median "
            "of the data's speed lies within the last column but one.");
    doc_end(doc, DOC_PARAGRAPH);
    doc_rows(doc, "History", history_columns, COLUMNS(history_columns), rows);
}

static void excluded_section(struct doc *doc, const cJSON *rows)
{
    doc_heading(doc, "Left out");
    doc_rows(doc, "Left out", excluded_columns, COLUMNS(excluded_columns), rows);
}

/* --- confirmation ---------------------------------------------------------------------------- */

static void confirmation_section(struct doc *doc, const cJSON *confirmation)
{
    double ratio = doc_number_of(confirmation, "ratio");
    doc_heading(doc, "Confirmation");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Again on ");
    doc_text(doc, doc_text_of(confirmation, "target"));
    doc_say(doc, ": ");
    doc_ratio(doc, ratio, ratio);
    doc_say(doc, " times as fast as the default there (");
    text_interval(doc, confirmation);
    doc_say(doc, "), verdict ");
    doc_verdict_word(doc, doc_text_of(confirmation, "verdict"));
    doc_say(doc, ".");
    doc_end(doc, DOC_PARAGRAPH);
}

/* --- which of them ---------------------------------------------------------------------------- */

static const struct {
    const char *member;
    void (*verdict)(struct doc *, const cJSON *); /* NULL: it has no say in the first line */
    void (*section)(struct doc *, const cJSON *);
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

bool text_kind_verdict(struct doc *doc, const cJSON *report)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const cJSON *member = json_member(report, parts[i].member);
        if (!parts[i].verdict || !is_filled(member))
            continue;
        parts[i].verdict(doc, member);
        return true;
    }
    return false;
}

void text_kind_sections(struct doc *doc, const cJSON *report)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const cJSON *member = json_member(report, parts[i].member);
        if (is_filled(member))
            parts[i].section(doc, member);
    }
}
