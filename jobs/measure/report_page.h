#pragma once
/* What surrounds the report as an HTML page, and its chart; for report_text.c. The page needs
 * nothing from outside and runs nothing: it can be kept as a file. Pure. */
#include "server/buf.h"
#include "server/json.h"

/* The head of the page, and a line that says what it is the report of. */
void page_begin(struct buf *out, const cJSON *report);
void page_end(struct buf *out);

/* Where it was measured: instance, databases, server, job. */
void page_facts(struct buf *out, const cJSON *report);

/* `curve` as SVG with its intervals; nothing when it has less than two settings with a number. */
void chart_curve(struct buf *out, const cJSON *report);
