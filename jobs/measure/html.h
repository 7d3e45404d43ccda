#pragma once
/* Text in HTML that is well formed as XML, too. Pure. */
#include "server/buf.h"

enum html_text {
    HTML_LINE,  /* control characters become blanks; also for values of attributes */
    HTML_LINES, /* line ends and tabs stay */
};

/* Text that can be nothing but text. Bytes that are not UTF-8, and characters XML does not know,
 * become U+FFFD; so does in HTML_LINE what changes the direction of the text behind it, which in
 * HTML_LINES is shown by its number. */
void html_add_text(struct buf *out, const char *text, enum html_text how);

/* Text from outside within a line of ours: as above, its direction kept to itself, and what would
 * change it shown by its number. */
void html_add_foreign(struct buf *out, const char *text);
