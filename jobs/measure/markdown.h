#pragma once
/* Writing Markdown (CommonMark with tables) with text from outside in it, and reading the members
 * of a report, of which any may be missing. Pure. */
#include "server/buf.h"
#include "server/json.h"

/* Text that can be nothing but text: what Markdown or HTML would read as more is escaped, control
 * characters become blanks. NULL adds a dash. */
void markdown_add_text(struct buf *out, const char *text);

/* A fenced block; the fence is longer than any row of backticks in the text. */
void markdown_add_code(struct buf *out, const char *language, const char *text);

/* Numbers for reading; NaN adds a dash. */
void markdown_add_rate(struct buf *out, double value);                 /* 4 to 6 digits */
void markdown_add_ratio(struct buf *out, double value, double beside); /* decimals fit `beside` */
void markdown_add_percent(struct buf *out, double share);              /* 0.9375: 93.75 % */
void markdown_add_count(struct buf *out, double value);

/* NaN when there is no such member or it is no number. */
double markdown_number(const cJSON *object, const char *name);
/* NULL when there is no such member or it is no text. */
const char *markdown_text(const cJSON *object, const char *name);
