#pragma once
/* Growing text with a maximum. Appends return nothing: failure (too long) sticks, and is
 * asked once at the end by buf_ok(). Always NUL-terminated. Threads: one owner. */
#include "server/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;    /* never NULL after the first append */
    size_t length; /* bytes without the NUL */
    size_t capacity;
    size_t max; /* bytes without the NUL; 0 means 64 MiB */
    bool failed;
};

#define BUF_WITH_MAX(limit) ((struct buf){.max = (limit)})

void buf_add(struct buf *buf, const char *text);
void buf_add_bytes(struct buf *buf, const void *bytes, size_t length);
void buf_add_char(struct buf *buf, char character);
void buf_format(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_format_args(struct buf *buf, const char *format, va_list args) PRINTF_LIKE(2, 0);

/* True while nothing was cut off. */
bool buf_ok(const struct buf *buf);

/* The text, "" when nothing was appended; valid until the next append. */
const char *buf_text(const struct buf *buf);

/* Hands the text over to the caller, who frees it; the buf is empty afterwards. Never NULL. */
char *buf_take(struct buf *buf);

/* Empties, keeping the memory. */
void buf_clear(struct buf *buf);

/* Frees; the buf may be used again. Accepts NULL. */
void buf_fini(struct buf *buf);
