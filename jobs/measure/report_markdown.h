#pragma once
/* The parts of the Markdown report that only some kinds have (report_markdown_kinds.c), for
 * report_markdown.c. Pure. */
#include "server/buf.h"
#include "server/json.h"

/* The answer of a kind that recommends nothing, as one sentence; false: the report has none. */
bool markdown_kind_verdict(struct buf *out, const cJSON *report);

/* Its tables: overhead, bottleneck, history, confirmation. */
void markdown_kind_sections(struct buf *out, const cJSON *report);

/* Of overhead rows with a "flag" (report_markdown_flags.c): one row as a sentence without its full
 * stop, and the table. */
void markdown_flag_verdict(struct buf *out, const cJSON *row);
void markdown_flag_section(struct buf *out, const cJSON *rows);

/* "2.0 % slower", "1.2 % faster" for a ratio of times. */
void markdown_add_overhead(struct buf *out, double ratio);

/* Sizes and compression of every arm that wrote a file (report_markdown_sizes.c); nothing when none
 * did. */
void markdown_sizes_section(struct buf *out, const cJSON *report);
