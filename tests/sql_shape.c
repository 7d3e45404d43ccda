#include "tests/sql_shape.h"

#include <ctype.h>
#include <string.h>

static void add_value(struct buf *texts, char kind, const char *from, size_t length, char closing)
{
    buf_format(texts, "%c ", kind);
    for (size_t i = 0; i < length; i++) {
        if (from[i] == '\n')
            buf_add(texts, "\\n");
        else
            buf_add_char(texts, from[i]);
        i += from[i] == closing;
    }
    buf_add_char(texts, '\n');
}

/* What stands between from[0] and its closing character, doubled ones skipped; NULL: it is open. */
static const char *find_end(const char *from, char closing)
{
    for (const char *at = from + 1; *at; at++) {
        if (*at != closing)
            continue;
        if (at[1] != closing)
            return at;
        at++;
    }
    return NULL;
}

static bool is_word(char character)
{
    return isalnum((unsigned char)character) || strchr("_@#$", character) || character < 0;
}

static const char *take_quoted(const char *at, struct buf *shape, struct buf *texts)
{
    char kind = *at == '[' || *at == '"' ? 'N' : 'S';
    char closing = *at;
    if (*at == '[')
        closing = ']';
    const char *end = find_end(at, closing);
    if (!end)
        return NULL;
    add_value(texts, kind, at + 1, (size_t)(end - at - 1), closing);
    buf_add_char(shape, kind);
    return end + 1;
}

static const char *take_word(const char *at, struct buf *shape)
{
    bool number = isdigit((unsigned char)*at);
    if (number)
        buf_add_char(shape, '#');
    for (; *at && is_word(*at); at++)
        if (!number)
            buf_add_char(shape, (char)toupper((unsigned char)*at));
    return at;
}

bool sql_shape(const char *text, struct buf *out_shape, struct buf *out_texts)
{
    const char *at = text;
    while (*at) {
        if (isspace((unsigned char)*at)) {
            at++;
            continue;
        }
        if (strncmp(at, "--", 2) == 0 || strncmp(at, "/*", 2) == 0)
            return false;
        if (out_shape->length > 0)
            buf_add_char(out_shape, ' ');
        if (strchr("['\"", *at) || (at[0] == 'N' && at[1] == '\''))
            at = take_quoted(at + (*at == 'N'), out_shape, out_texts);
        else if (is_word(*at))
            at = take_word(at, out_shape);
        else
            buf_add_char(out_shape, *at++);
        if (!at)
            return false;
    }
    return true;
}
