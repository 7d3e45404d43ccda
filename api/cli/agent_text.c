#include "api/cli/agent_text.h"
#include "server/utf16.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- JSON ---------------------------------------------------------------------------------- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(" -_./:,+", c));
}

static void add_unit(struct buf *out, unsigned unit)
{
    if (unit < 0x80 && is_plain((char)unit))
        buf_add_char(out, (char)unit);
    else
        buf_format(out, "\\u%04x", unit);
}

/* The escape at text[0] = '\\'; how many bytes it takes. */
static size_t add_escape(const char *text, struct buf *out)
{
    static const char letters[] = "bfnrt";
    static const char values[] = "\b\f\n\r\t";
    const char *letter = strchr(letters, text[1]);
    if (text[1] == 'u') {
        char digits[5] = {text[2], text[3], text[4], text[5], '\0'};
        add_unit(out, (unsigned)strtoul(digits, NULL, 16));
        return 6;
    }
    add_unit(out, letter ? (unsigned char)values[letter - letters] : (unsigned char)text[1]);
    return 2;
}

/* A run of bytes that begins no escape and ends no string; how many there are. */
static size_t add_run(const char *text, struct buf *out)
{
    size_t length = strcspn(text, "\"\\");
    size_t count = 0;
    char *run = strndup(text, length);
    if (!run)
        abort(); /* no memory, as in mem.c */
    uint16_t *units = utf16_from_text(run, &count);
    assert(units); /* the JSON was read: it is UTF-8 */
    for (size_t i = 0; i < count; i++)
        add_unit(out, units[i]);
    free(units);
    free(run);
    return length;
}

/* The string at text[0] = '"'; how many bytes it takes. */
static size_t add_string(const char *text, struct buf *out)
{
    size_t at = 1;
    buf_add_char(out, '"');
    while (text[at] != '"')
        at += text[at] == '\\' ? add_escape(text + at, out) : add_run(text + at, out);
    buf_add_char(out, '"');
    return at + 1;
}

void agent_text_json(const char *json, size_t length, struct buf *out)
{
    for (size_t at = 0; at < length;) {
        if (json[at] == '"') {
            at += add_string(json + at, out);
            continue;
        }
        if (!strchr(" \t\r\n", json[at]))
            buf_add_char(out, json[at]);
        at++;
    }
}

/* --- T-SQL, arguments ---------------------------------------------------------------------- */

/* The units as what they are in memory of the server: binary, cast to text. */
static size_t add_foreign(const uint16_t *units, size_t count, struct buf *out)
{
    size_t used = 0;
    buf_add(out, "' + CAST(0x");
    for (; used < count && (units[used] >= 0x80 || units[used] < ' '); used++)
        buf_format(out, "%02X%02X", units[used] & 0xFFU, units[used] >> 8U);
    buf_format(out, " AS nvarchar(%zu)) + N'", used);
    return used;
}

static bool is_foreign(uint16_t unit)
{
    return unit >= 0x80 || (unit < ' ' && unit != '\n');
}

static size_t add_character(const uint16_t *units, struct buf *out)
{
    if (units[0] == '\'')
        buf_add(out, "''");
    else if (units[0] == '$' && units[1] == '(')
        buf_add(out, "$' + N'");
    else
        buf_add_char(out, (char)units[0]);
    return 1;
}

void agent_text_tsql(const char *text, struct buf *out)
{
    size_t count = 0;
    uint16_t *units = utf16_from_text(text, &count);
    assert(units); /* the caller looked */
    /* else the parts, each shorter, would be joined to 4,000 characters at most */
    buf_add(out, "CAST(N'' AS nvarchar(max)) + N'");
    for (size_t at = 0; at < count;)
        at += is_foreign(units[at]) ? add_foreign(units + at, count - at, out)
                                    : add_character(units + at, out);
    buf_add(out, "'");
    free(units);
}

void agent_text_argument(const char *text, struct buf *out)
{
    for (; *text; text++) {
        if (*text == '"')
            buf_add_char(out, '\\');
        buf_add_char(out, *text);
    }
}

/* --- templates ----------------------------------------------------------------------------- */

static const char *value_of(const struct agent_place *places, const char *name, size_t length)
{
    for (; places->name; places++) {
        if (strlen(places->name) == length && strncmp(places->name, name, length) == 0)
            return places->value;
    }
    return NULL;
}

void agent_text_fill(const char *template, const struct agent_place *places, struct buf *out)
{
    size_t length = strlen(template);
    const char *end = template + length - (length > 0 && template[length - 1] == '\n');
    for (const char *at = template; at < end;) {
        const char *place = strstr(at, "{{");
        if (!place) {
            buf_add_bytes(out, at, (size_t)(end - at));
            return;
        }
        size_t name = strcspn(place + 2, "}");
        const char *value = value_of(places, place + 2, name);
        assert(value); /* a template of ours names a place that nobody fills */
        buf_add_bytes(out, at, (size_t)(place - at));
        buf_add(out, value);
        at = place + 2 + name + 2;
    }
}
