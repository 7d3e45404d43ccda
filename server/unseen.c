#include "server/unseen.h"
#include "server/json_scan.h"

#include <stdint.h>
#include <string.h>

static const struct {
    uint32_t first, last;
} ranges[] = {
    {0x0001, 0x001F}, {0x007F, 0x009F}, {0x00AD, 0x00AD}, {0x061C, 0x061C},   {0x200B, 0x200F},
    {0x2028, 0x202E}, {0x2060, 0x2069}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE007F},
};

static uint32_t decode(const unsigned char *bytes, size_t length)
{
    uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (bytes[i] & 0x3FU);
    return code;
}

size_t unseen_step(const char *at, bool *out_unseen)
{
    size_t length = json_utf8_length(at, strnlen(at, 4));
    *out_unseen = length == 0;
    if (length == 0)
        return 1;
    uint32_t code = decode((const unsigned char *)at, length);
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        *out_unseen |= code >= ranges[i].first && code <= ranges[i].last;
    return length;
}
