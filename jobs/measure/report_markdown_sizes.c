/* The Markdown of backups' sizes, where any file was written. */
#include "jobs/measure/report_markdown.h"

#include "jobs/measure/markdown.h"

#include <math.h>

#define MIB 1048576.0

void markdown_sizes_section(struct buf *out, const cJSON *report)
{
    bool begun = false;
    const cJSON *arm = NULL;
    cJSON_ArrayForEach(arm, json_member(report, "arms")) {
        double ratio = markdown_number(arm, "compression_ratio");
        double bytes = markdown_number(json_member(arm, "file_bytes"), "median");
        if (isnan(ratio))
            continue;
        if (!begun)
            buf_add(out,
                    "## Sizes\n\nOf the backup on its target, and how many times smaller it is "
                    "than what was read.\n\n| setting | MiB | ratio |\n|---|---:|---:|\n");
        begun = true;
        buf_add(out, "| ");
        markdown_add_text(out, markdown_text(arm, "label"));
        buf_add(out, " | ");
        markdown_add_count(out, round(bytes / MIB));
        buf_add(out, " | ");
        markdown_add_ratio(out, ratio, ratio);
        buf_add(out, " |\n");
    }
    buf_add(out, begun ? "\n" : "");
}
