#include "jobs/measure/doc.h"

#include "jobs/measure/html.h"
#include "jobs/measure/markdown.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMS (DOC_HTML + 1)

/* clang-format off */
static const struct {
    const char *open[FORMS], *close[FORMS];
} parts[DOC_PART_COUNT] = {
    [DOC_PARAGRAPH] = {{"",    "<p>"},                           {"\n\n", "</p>\n"}},
    [DOC_VERDICT]   = {{"",    "<h1>"},                          {"\n\n", "</h1>\n"}},
    [DOC_ALERT]     = {{"> ",  "<p class=\"alert\" role=\"note\">"}, {"\n\n", "</p>\n"}},
    [DOC_HEADING]   = {{"## ", "<h2>"},                          {"\n\n", "</h2>\n"}},
    [DOC_LIST]      = {{"",    "<ul>\n"},                        {"\n",   "</ul>\n"}},
    [DOC_ITEM]      = {{"- ",  "<li>"},                          {"\n",   "</li>\n"}},
    [DOC_STRONG]    = {{"**",  "<strong>"},                      {"**",   "</strong>"}},
};
/* clang-format on */

char *doc_take(struct doc *doc)
{
    struct buf *out = &doc->out;
    if (out->length > 1 && strcmp(out->data + out->length - 2, "\n\n") == 0)
        out->data[--out->length] = '\0'; /* blank lines lie between parts, and none at the end */
    return buf_take(&doc->out);
}

void doc_begin(struct doc *doc, enum doc_part part)
{
    buf_add(&doc->out, parts[part].open[doc->form]);
}

void doc_end(struct doc *doc, enum doc_part part)
{
    buf_add(&doc->out, parts[part].close[doc->form]);
}

void doc_heading(struct doc *doc, const char *words)
{
    doc_begin(doc, DOC_HEADING);
    doc_say(doc, "%s", words);
    doc_end(doc, DOC_HEADING);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* A table keeps its roles when a narrow page shows its cells as blocks. */
static void begin_html_table(struct doc *doc, const char *name)
{
    buf_add(&doc->out, "<table role=\"table\" aria-label=\"");
    html_add_text(&doc->out, name, HTML_LINE);
    buf_add(&doc->out, "\">\n<thead role=\"rowgroup\"><tr role=\"row\">");
    for (size_t i = 0; i < doc->column_count; i++) {
        buf_format(&doc->out, "<th scope=\"col\" role=\"columnheader\"%s>",
                   doc->columns[i].is_number ? " class=\"number\"" : "");
        html_add_text(&doc->out, doc->columns[i].title, HTML_LINE);
        buf_add(&doc->out, "</th>");
    }
    buf_add(&doc->out, "</tr></thead>\n<tbody role=\"rowgroup\">\n");
}

static void begin_markdown_table(struct doc *doc)
{
    for (size_t i = 0; i < doc->column_count; i++)
        buf_format(&doc->out, "%s%s", i ? " | " : "| ", doc->columns[i].title);
    buf_add(&doc->out, " |\n|");
    for (size_t i = 0; i < doc->column_count; i++)
        buf_add(&doc->out, doc->columns[i].is_number ? "---:|" : "---|");
    buf_add(&doc->out, "\n");
}

void doc_table(struct doc *doc, const char *name, const struct doc_column *columns, size_t count)
{
    assert(!doc->columns && count > 0);
    doc->columns = columns;
    doc->column_count = count;
    doc->column = 0;
    if (doc->form == DOC_HTML)
        begin_html_table(doc, name);
    else
        begin_markdown_table(doc);
}

static void end_cell(struct doc *doc)
{
    if (doc->form == DOC_HTML)
        buf_add(&doc->out, doc->column == 1 ? "</th>" : "</td>");
}

static void end_row(struct doc *doc)
{
    if (doc->column == 0)
        return; /* the first */
    assert(doc->column == doc->column_count);
    end_cell(doc);
    buf_add(&doc->out, doc->form == DOC_HTML ? "</tr>\n" : " |\n");
    doc->column = 0;
}

void doc_row(struct doc *doc, bool is_chosen)
{
    end_row(doc);
    if (doc->form == DOC_HTML)
        buf_format(&doc->out, "<tr role=\"row\"%s>", is_chosen ? " class=\"chosen\"" : "");
}

void doc_cell(struct doc *doc)
{
    assert(doc->columns && doc->column < doc->column_count);
    const struct doc_column *column = &doc->columns[doc->column];
    if (doc->column > 0)
        end_cell(doc);
    if (doc->form == DOC_MARKDOWN) {
        buf_add(&doc->out, doc->column ? " | " : "| ");
    } else if (doc->column == 0) {
        buf_add(&doc->out, "<th scope=\"row\" role=\"rowheader\">");
    } else { /* a narrow page shows the column's title beside the cell */
        buf_add(&doc->out, "<td role=\"cell\" data-title=\"");
        html_add_text(&doc->out, column->title, HTML_LINE);
        buf_format(&doc->out, "\"%s>", column->is_number ? " class=\"number\"" : "");
    }
    doc->column++;
}

void doc_table_end(struct doc *doc)
{
    end_row(doc);
    buf_add(&doc->out, doc->form == DOC_HTML ? "</tbody>\n</table>\n" : "\n");
    doc->columns = NULL;
}

void doc_rows(struct doc *doc, const char *name, const struct doc_column *columns, size_t count,
              const cJSON *rows)
{
    const cJSON *row = NULL;
    doc_table(doc, name, columns, count);
    cJSON_ArrayForEach(row, rows) {
        doc_row(doc, false);
        for (size_t i = 0; i < count; i++) {
            doc_cell(doc);
            columns[i].write(doc, columns[i].member ? json_member(row, columns[i].member) : row);
        }
    }
    doc_table_end(doc);
}

void doc_code(struct doc *doc, const char *title, const char *language, const char *text)
{
    if (doc->form == DOC_MARKDOWN) {
        buf_format(&doc->out, "%s:\n\n", title);
        markdown_add_code(&doc->out, language, text);
        buf_add(&doc->out, "\n");
        return;
    }
    buf_add(&doc->out, "<figure class=\"code\"><figcaption>");
    html_add_text(&doc->out, title, HTML_LINE);
    buf_add(&doc->out, "</figcaption><pre><code>");
    html_add_text(&doc->out, text, HTML_LINES);
    buf_add(&doc->out, "</code></pre></figure>\n");
}

/* --- words and numbers ----------------------------------------------------------------------- */

void doc_say(struct doc *doc, const char *format, ...)
{
    struct buf words = {0};
    va_list args;
    va_start(args, format);
    buf_format_args(&words, format, args);
    va_end(args);
    if (doc->form == DOC_HTML)
        html_add_text(&doc->out, buf_text(&words), HTML_LINE);
    else
        buf_add(&doc->out, buf_text(&words));
    buf_fini(&words);
}

void doc_text(struct doc *doc, const char *text)
{
    if (!text)
        doc_unknown(doc);
    else if (doc->form == DOC_HTML)
        html_add_foreign(&doc->out, text);
    else
        markdown_add_text(&doc->out, text);
}

void doc_verdict_word(struct doc *doc, const char *word)
{
    if (!word || doc->form == DOC_MARKDOWN) {
        doc_text(doc, word);
        return;
    }
    static const struct {
        const char *word, *shown, *look;
    } words[] = {
        {"faster", "faster", "good"},
        {"slower", "slower", "bad"},
        {"no_difference", "no difference", "same"},
        {"inconclusive", "inconclusive", "open"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) != 0)
            continue;
        buf_format(&doc->out, "<span class=\"%s\">%s</span>", words[i].look, words[i].shown);
        return;
    }
    doc_text(doc, word);
}

void doc_tag(struct doc *doc, const char *word)
{
    if (doc->form == DOC_HTML)
        buf_format(&doc->out, " <span class=\"tag\">%s</span>", word);
}

void doc_unknown(struct doc *doc)
{
    buf_add(&doc->out, doc->form == DOC_HTML ? "<span class=\"unknown\">unknown</span>" : "–");
}

void doc_rate(struct doc *doc, double value)
{
    double size = fabs(value);
    int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
    if (isfinite(value))
        buf_format(&doc->out, "%.*f", decimals, value);
    else
        doc_unknown(doc);
}

void doc_ratio(struct doc *doc, double value, double beside)
{
    if (isfinite(value))
        buf_format(&doc->out, "%.*f", fabs(beside - 1) < 0.1 ? 3 : 2, value);
    else
        doc_unknown(doc);
}

void doc_percent(struct doc *doc, double share)
{
    if (isfinite(share))
        buf_format(&doc->out, "%.4g %%", 100 * share);
    else
        doc_unknown(doc);
}

void doc_count(struct doc *doc, double value)
{
    if (isfinite(value)) /* memory of small buffers has a fraction */
        buf_format(&doc->out, fabs(value) < 10 && value != floor(value) ? "%.2f" : "%.0f", value);
    else
        doc_unknown(doc);
}

/* --- writers of columns ------------------------------------------------------------------------
 */

static double number_of(const cJSON *value)
{
    return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

void doc_write_text(struct doc *doc, const cJSON *value)
{
    doc_text(doc, cJSON_GetStringValue(value));
}

void doc_write_verdict_word(struct doc *doc, const cJSON *value)
{
    doc_verdict_word(doc, cJSON_GetStringValue(value));
}

void doc_write_rate(struct doc *doc, const cJSON *value)
{
    doc_rate(doc, number_of(value));
}

void doc_write_ratio(struct doc *doc, const cJSON *value)
{
    doc_ratio(doc, number_of(value), number_of(value));
}

void doc_write_percent(struct doc *doc, const cJSON *value)
{
    doc_percent(doc, number_of(value));
}

void doc_write_count(struct doc *doc, const cJSON *value)
{
    doc_count(doc, number_of(value));
}

/* --- members of a report --------------------------------------------------------------------- */

double doc_number_of(const cJSON *object, const char *name)
{
    return number_of(json_member(object, name));
}

const char *doc_text_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsString(member) ? member->valuestring : NULL;
}
