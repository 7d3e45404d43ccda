/* The frame of the report as a page. */
#include "jobs/measure/report_page.h"

#include "jobs/measure/doc.h"
#include "jobs/measure/html.h"
#include "jobs/measure/report.h"
#include "server/hash.h"

#include <stdlib.h>
#include <string.h>

extern const char embedded_report_style[]; /* report.css, made at build time */

void report_page_policy(struct buf *out)
{
    char hash[HASH_BASE64_SIZE];
    buf_format(out,
               "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'",
               hash_base64(embedded_report_style, hash));
}

/* The kinds in words. */
static const char *kind_words(const char *kind)
{
    static const struct {
        const char *kind, *words;
    } kinds[] = {
        {"backup_sweep", "Backup settings"},
        {"backup_throughput", "Backup throughput"},
        {"trace_flag", "Trace flags"},
        {"snapshot_overhead", "Database snapshots"},
        {"backup_history", "History of backups"},
    };
    for (size_t i = 0; kind && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].words;
    return "Report";
}

static const char *instance_name(const cJSON *report)
{
    const char *name = doc_text_of(json_member(report, "instance"), "name");
    return name ? name : "unknown";
}

void page_begin(struct buf *out, const cJSON *report)
{
    const char *words = kind_words(doc_text_of(report, "kind"));
    buf_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    struct buf policy = {0};
    report_page_policy(&policy);
    html_add_text(out, buf_text(&policy), HTML_LINE);
    buf_fini(&policy);
    buf_add(out,
            "\" />\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
            "<meta name=\"color-scheme\" content=\"light dark\" />\n"
            "<meta name=\"referrer\" content=\"no-referrer\" />\n<title>");
    buf_format(out, "%s on ", words);
    html_add_text(out, instance_name(report), HTML_LINE);
    buf_format(out, " – Sweetspot</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n",
               embedded_report_style);
    buf_format(out, "<p class=\"what\">Sweetspot <span>%s</span></p>\n", words);
}

void page_end(struct buf *out)
{
    buf_add(out, "</main>\n</body>\n</html>\n");
}

/* --- facts ----------------------------------------------------------------------------------- */

static void begin_fact(struct buf *out, const char *name)
{
    buf_format(out, "<div><dt>%s</dt><dd>", name);
}

static void add_fact(struct buf *out, const char *name, const char *text)
{
    begin_fact(out, name);
    html_add_foreign(out, text ? text : "unknown");
    buf_add(out, "</dd></div>\n");
}

static const char *database_of(const cJSON *arm)
{
    return doc_text_of(json_member(arm, "settings"), "database");
}

/* Each database once, in the order of the arms. */
static void add_databases(struct buf *out, const cJSON *arms)
{
    const cJSON *arm = NULL;
    int told = 0;
    cJSON_ArrayForEach(arm, arms) {
        const char *name = database_of(arm);
        const cJSON *before = arms ? arms->child : NULL;
        while (name && before != arm &&
               !(database_of(before) && strcmp(database_of(before), name) == 0))
            before = before->next;
        if (!name || before != arm)
            continue;
        if (told == 0)
            begin_fact(out, "Database");
        buf_add(out, told++ ? ", " : "");
        html_add_foreign(out, name);
    }
    buf_add(out, told ? "</dd></div>\n" : "");
}

static void add_server(struct buf *out, const cJSON *instance)
{
    static const char *const parts[] = {"version", "edition", "platform"};
    begin_fact(out, "SQL Server");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *text = doc_text_of(instance, parts[i]);
        buf_add(out, i ? ", " : "");
        html_add_foreign(out, text ? text : "unknown");
    }
    if (!cJSON_IsTrue(json_member(instance, "authenticated")))
        buf_add(out, ", not authenticated");
    buf_add(out, "</dd></div>\n");
}

void page_facts(struct buf *out, const cJSON *report)
{
    const cJSON *instance = json_member(report, "instance");
    buf_add(out, "<dl>\n");
    add_fact(out, "Instance", doc_text_of(instance, "name"));
    add_databases(out, json_member(report, "arms"));
    add_server(out, instance);
    add_fact(out, "Kind", doc_text_of(report, "kind"));
    add_fact(out, "Job", doc_text_of(report, "job"));
    buf_add(out, "</dl>\n");
}
