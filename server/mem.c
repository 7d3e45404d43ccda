#include "server/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory) {
        (void)fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *mem_alloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *mem_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return array;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (wanted < needed)
        wanted = needed;
    char *grown = checked(reallocarray(array, wanted, size));
    memset(grown + *capacity * size, 0, (wanted - *capacity) * size);
    *capacity = wanted;
    return grown;
}

char *mem_copy(const char *text)
{
    return text ? checked(strdup(text)) : NULL;
}

char *mem_format(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return checked(length < 0 ? NULL : text);
}

void mem_replace(char **text, const char *new_text)
{
    char *copy = mem_copy(new_text);
    free(*text);
    *text = copy;
}
