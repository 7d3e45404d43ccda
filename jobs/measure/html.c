#include "jobs/measure/html.h"

#include "server/unseen.h"

#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static bool is_control(uint32_t code)
{
    return (code > 0 && code < 0x20) || (code >= 0x7F && code < 0xA0);
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

static void add_unseen(struct buf *out, uint32_t code, bool keeps_lines, bool shows_marks)
{
    if (is_control(code))
        buf_add(out, keeps_lines && code == '\n' ? "\n" : keeps_lines && code == '\t' ? "\t" : " ");
    else if (shows_marks && code != 0)
        buf_format(out, "<span class=\"mark\">U+%04X</span>", code);
    else
        buf_add(out, REPLACEMENT);
}

static void add(struct buf *out, const char *text, bool keeps_lines, bool shows_marks)
{
    bool unseen;
    size_t step;
    for (; *text; text += step) {
        step = unseen_step(text, &unseen);
        uint32_t code = unseen_code(text, step);
        const char *entity = entity_of(code);
        if (unseen)
            add_unseen(out, code, keeps_lines, shows_marks);
        else if (entity)
            buf_add(out, entity);
        else
            buf_add_bytes(out, text, step);
    }
}

void html_add_text(struct buf *out, const char *text, enum html_text how)
{
    add(out, text, how == HTML_LINES, how == HTML_LINES);
}

static bool is_ascii(const char *text)
{
    while (*text && (unsigned char)*text < 0x80) /* char has no sign everywhere */
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
