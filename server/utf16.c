#include "server/utf16.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT 0xFFFDu
#define NOT_VALID 0xFFFFFFFFu

/* The forms of UTF-8 (Unicode 15, table 3-7): how a first byte says what follows it. */
static const struct {
    unsigned char mask, lead; /* first byte & mask == lead */
    int more;                 /* bytes that follow */
    uint32_t least;           /* smaller values are overlong */
} forms[] = {
    {0x80, 0x00, 0, 0},
    {0xE0, 0xC0, 1, 0x80},
    {0xF0, 0xE0, 2, 0x800},
    {0xF8, 0xF0, 3, 0x10000},
};

/* Reads one character and advances *at; NOT_VALID when there is none. A NUL ends the text, so the
 * bytes after it are never looked at. */
static uint32_t next_character(const unsigned char **at)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if ((**at & forms[i].mask) != forms[i].lead)
            continue;
        uint32_t value = **at & (unsigned char)~forms[i].mask;
        (*at)++;
        for (int more = forms[i].more; more > 0; more--, (*at)++) {
            if ((**at & 0xC0) != 0x80)
                return NOT_VALID;
            value = value << 6 | (**at & 0x3Fu);
        }
        bool surrogate = value >= 0xD800 && value <= 0xDFFF;
        return value < forms[i].least || surrogate || value > 0x10FFFF ? NOT_VALID : value;
    }
    return NOT_VALID;
}

size_t utf16_count(const char *text)
{
    size_t count = 0;
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        uint32_t value = next_character(&at);
        if (value == NOT_VALID)
            return SIZE_MAX;
        count += value > 0xFFFF ? 2 : 1;
    }
    return count;
}

uint16_t *utf16_from_text(const char *text, size_t *out_count)
{
    size_t count = utf16_count(text);
    if (count == SIZE_MAX)
        return NULL;
    uint16_t *units = mem_alloc(count + 1, sizeof *units);
    uint16_t *to = units;
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        uint32_t value = next_character(&at);
        if (value > 0xFFFF) {
            *to++ = (uint16_t)(0xD800 + ((value - 0x10000) >> 10));
            *to++ = (uint16_t)(0xDC00 + ((value - 0x10000) & 0x3FF));
        } else {
            *to++ = (uint16_t)value;
        }
    }
    if (out_count)
        *out_count = count;
    return units;
}

static void append_character(struct buf *buf, uint32_t value)
{
    char bytes[4];
    size_t length = value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    for (size_t i = length; i-- > 1; value >>= 6)
        bytes[i] = (char)(0x80 | (value & 0x3F));
    bytes[0] = (char)(leads[length] | value);
    buf_add_bytes(buf, bytes, length);
}

void utf16_append_to(struct buf *buf, const uint16_t *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t value = units[i];
        bool high = value >= 0xD800 && value <= 0xDBFF;
        if (high && i + 1 < count && units[i + 1] >= 0xDC00 && units[i + 1] <= 0xDFFF)
            value = 0x10000 + ((value - 0xD800) << 10) + (units[++i] - 0xDC00u);
        else if (value == 0 || (value >= 0xD800 && value <= 0xDFFF))
            value = REPLACEMENT;
        append_character(buf, value);
    }
}
