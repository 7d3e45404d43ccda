#pragma once
/* An independent look at T-SQL: its own tokenizer, sharing nothing with what builds statements. */
#include "server/buf.h"

#include <stdbool.h>

/* One statement as its structure: words in capitals, S a text, N a name in brackets, # a number,
 * punctuation as it is, one blank between tokens. *out_texts gets what the S and N held, unescaped,
 * a line each: "S value" or "N value" (line feeds within values as \n). False when the text does
 * not end (an open quote or comment) or holds a comment. */
bool sql_shape(const char *text, struct buf *out_shape, struct buf *out_texts);
