#include "jobs/measure/html.h"

#include "server/json_scan.h"

#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static uint32_t code_of(const unsigned char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = text[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (text[i] & 0x3F);
    return code;
}

/* Marks, embeddings, overrides and isolates of direction, and the ends of lines and paragraphs
 * that do not look like it: with them a name reads as another one. */
static bool misleads(uint32_t code)
{
    return code == 0x61C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

static const char *entity_of(uint32_t code)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void add_character(struct buf *out, const char *text, size_t length, bool keeps_lines,
                          bool shows_marks)
{
    uint32_t code = code_of((const unsigned char *)text, length);
    const char *entity = entity_of(code);
    if (entity)
        buf_add(out, entity);
    else if (is_control(code))
        buf_add(out, keeps_lines && code == '\n' ? "\n" : keeps_lines && code == '\t' ? "\t" : " ");
    else if (misleads(code) && shows_marks)
        buf_format(out, "<span class=\"mark\">U+%04X</span>", code);
    else if (misleads(code) || code == 0xFFFE || code == 0xFFFF)
        buf_add(out, REPLACEMENT);
    else
        buf_add_bytes(out, text, length);
}

static void add(struct buf *out, const char *text, bool keeps_lines, bool shows_marks)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = json_utf8_length(text, left);
        if (length == 0)
            buf_add(out, REPLACEMENT);
        else
            add_character(out, text, length, keeps_lines, shows_marks);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
}

void html_add_text(struct buf *out, const char *text, enum html_text how)
{
    add(out, text, how == HTML_LINES, how == HTML_LINES);
}

static bool is_ascii(const char *text)
{
    while (*text > 0)
        text++;
    return *text == '\0';
}

void html_add_foreign(struct buf *out, const char *text)
{
    bool is_plain = is_ascii(text);
    buf_add(out, is_plain ? "" : "<bdi>");
    add(out, text, false, true);
    buf_add(out, is_plain ? "" : "</bdi>");
}
