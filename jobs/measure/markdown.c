#include "jobs/measure/markdown.h"
#include "server/unseen.h"

#include <stdbool.h>
#include <string.h>

#define SPECIAL "\\`*_[]<>|#&~!{}"
#define UNSEEN "\xEF\xBF\xBD" /* the replacement character */

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* What begins a list or a heading when it begins a line: "- ", "+ ", "1. ", "1) ", "===". */
static bool begins_block(const char *text, size_t at)
{
    size_t digits = 0;
    while (is_digit(text[digits]))
        digits++;
    if (digits == 0)
        return at == 0 && strchr("-+=", text[0]);
    bool ends_number = text[at] == '.' || text[at] == ')';
    return at == digits && ends_number && (text[at + 1] == ' ' || text[at + 1] == '\0');
}

static bool at_line_start(const struct buf *out)
{
    static const char item[] = "\n- ";
    size_t item_length = sizeof item - 1;
    const char *text = buf_text(out);
    if (out->length == 0 || text[out->length - 1] == '\n')
        return true;
    return out->length >= item_length && strcmp(text + out->length - item_length, item) == 0;
}

void markdown_add_text(struct buf *out, const char *text)
{
    bool line_start = at_line_start(out);
    bool unseen;
    size_t step;
    for (size_t i = 0; text[i]; i += step) {
        step = unseen_step(text + i, &unseen);
        if (unseen) {
            buf_add(out, step == 1 ? " " : UNSEEN);
            continue;
        }
        if (strchr(SPECIAL, text[i]) || (line_start && begins_block(text, i)))
            buf_add_char(out, '\\');
        buf_add_bytes(out, text + i, step);
    }
}

/* As it is, but for what would act on a terminal or turn text around: JSON keeps that. */
static void add_code_text(struct buf *out, const char *text)
{
    bool unseen;
    size_t step;
    for (; *text; text += step) {
        step = unseen_step(text, &unseen);
        if (unseen && *text != '\n' && *text != '\t')
            buf_add(out, UNSEEN);
        else
            buf_add_bytes(out, text, step);
    }
}

void markdown_add_code(struct buf *out, const char *language, const char *text)
{
    size_t longest = 2;
    size_t row = 0;
    for (size_t i = 0; text[i]; i++) {
        row = text[i] == '`' ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        buf_add_char(out, '`');
    buf_format(out, "%s\n", language);
    add_code_text(out, text);
    buf_add_char(out, '\n');
    for (size_t i = 0; i <= longest; i++)
        buf_add_char(out, '`');
    buf_add(out, "\n");
}
