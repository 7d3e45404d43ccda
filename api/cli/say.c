#include "api/cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_say(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        abort(); /* no memory, as in mem.c */
    bool has_end = length > 0 && text[length - 1] == '\n';
    (void)fprintf(stderr, "sweetspot: %s%s", text, has_end ? "" : "\n");
    free(text);
}
