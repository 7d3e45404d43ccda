#pragma once
/* Text from outside in Markdown (CommonMark with tables). Pure. */
#include "server/buf.h"

/* Text that can be nothing but text: what Markdown or HTML would read as more is escaped, control
 * characters become blanks. */
void markdown_add_text(struct buf *out, const char *text);

/* A fenced block; the fence is longer than any row of backticks in the text. */
void markdown_add_code(struct buf *out, const char *language, const char *text);
