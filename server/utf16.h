#pragma once
/* Text between UTF-8 (everywhere in the daemon) and UTF-16 (ODBC's wide functions), in the byte
 * order of this machine. Strict on the way out, forgiving on the way in: what a server sends must
 * never stop us from showing it. Threads: any. */
#include "server/buf.h"

#include <stddef.h>
#include <stdint.h>

/* UTF-16 with a terminating 0; *out_count (may be NULL) gets the units without it. NULL when text
 * is not valid UTF-8 (overlong forms, surrogates and values over U+10FFFF are not). The caller
 * frees it. */
uint16_t *utf16_from_text(const char *text, size_t *out_count);

/* Appends units as UTF-8. A lone surrogate and U+0000 become U+FFFD. */
void utf16_append_to(struct buf *buf, const uint16_t *units, size_t count);

/* How many UTF-16 units text takes; SIZE_MAX when it is not valid UTF-8. */
size_t utf16_count(const char *text);
