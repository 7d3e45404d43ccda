/* Backups' sizes, where any file was written. */
#include "jobs/measure/report_text.h"

#include <math.h>

#define MIB 1048576.0

static const struct doc_column columns[] = {{"setting", false}, {"MiB", true}, {"ratio", true}};

static void begin_table(struct doc *doc)
{
    doc_heading(doc, "Sizes");
    doc_begin(doc, DOC_PARAGRAPH);
    doc_say(doc, "Of the backup on its target, and how many times smaller it is than what was "
                 "read.");
    doc_end(doc, DOC_PARAGRAPH);
    doc_table(doc, "Sizes", columns, sizeof columns / sizeof columns[0]);
}

void text_sizes_section(struct doc *doc, const cJSON *report)
{
    bool begun = false;
    const cJSON *arm = NULL;
    cJSON_ArrayForEach(arm, json_member(report, "arms")) {
        double ratio = doc_number_of(arm, "compression_ratio");
        double bytes = doc_number_of(json_member(arm, "file_bytes"), "median");
        if (isnan(ratio))
            continue;
        if (!begun)
            begin_table(doc);
        begun = true;
        doc_row(doc, false);
        doc_cell(doc);
        doc_text(doc, doc_text_of(arm, "label"));
        doc_cell(doc);
        doc_count(doc, round(bytes / MIB));
        doc_cell(doc);
        doc_ratio(doc, ratio, ratio);
    }
    if (begun)
        doc_table_end(doc);
}
