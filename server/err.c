#include "server/err.h"

#include <stdio.h>
#include <string.h>

/* A message is cut at the end of its buffer; a UTF-8 character must not be cut in half. */
static void trim_to_character(char *text, size_t size)
{
    size_t length = strlen(text);
    if (length + 1 < size)
        return;
    while (length > 0 && ((unsigned char)text[length - 1] & 0xC0) == 0x80)
        length--;
    if (length > 0 && (unsigned char)text[length - 1] >= 0xC0)
        length--;
    text[length] = '\0';
}

int err_set(struct err *err, enum err_code code, int detail, const char *format, ...)
{
    if (!err)
        return -1;
    va_list args;
    char text[sizeof err->msg]; /* the arguments may point into err->msg itself */
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trim_to_character(text, sizeof text);
    err->code = code;
    err->detail = detail;
    memcpy(err->msg, text, sizeof text);
    return -1;
}

int err_wrap(struct err *err, const char *context)
{
    if (!err)
        return -1;
    return err_set(err, err->code, err->detail, "%s: %s", context, err->msg);
}

void err_clear(struct err *err)
{
    if (!err)
        return;
    err->code = ERR_NONE;
    err->detail = 0;
    err->msg[0] = '\0';
}
