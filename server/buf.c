#include "server/buf.h"
#include "server/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_DEFAULT_MAX ((size_t)64 << 20)

void buf_add_bytes(struct buf *buf, const void *bytes, size_t length)
{
    size_t max = buf->max ? buf->max : BUF_DEFAULT_MAX;
    if (buf->failed || length > max - buf->length) {
        buf->failed = true;
        return;
    }
    buf->data = mem_grow(buf->data, &buf->capacity, buf->length + length + 1, 1);
    if (length > 0)
        memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void buf_add(struct buf *buf, const char *text)
{
    buf_add_bytes(buf, text, strlen(text));
}

void buf_add_char(struct buf *buf, char character)
{
    buf_add_bytes(buf, &character, 1);
}

void buf_format_args(struct buf *buf, const char *format, va_list args)
{
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    if (length < 0)
        buf->failed = true;
    else
        buf_add_bytes(buf, text, (size_t)length);
    free(text);
}

void buf_format(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_format_args(buf, format, args);
    va_end(args);
}

bool buf_ok(const struct buf *buf)
{
    return !buf->failed;
}

const char *buf_text(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}

char *buf_take(struct buf *buf)
{
    char *text = buf->data ? buf->data : mem_copy("");
    *buf = (struct buf){.max = buf->max};
    return text;
}

void buf_clear(struct buf *buf)
{
    buf->length = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

void buf_fini(struct buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    *buf = (struct buf){.max = buf->max};
}
