/* text.c: the part of base.h about UTF-8, UTF-16, code page 1252, case and LIKE. */
#include "base.h"

#include <string.h>

static const uint16_t cp1252_high[32] = {
    0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

uint32_t sim_utf8_next(const char **p)
{
    const unsigned char *s = (const unsigned char *)*p;
    uint32_t cp = s[0];
    int more = 0;

    if (cp < 0x80) {
        *p += 1;
        return cp;
    }
    if (cp >= 0xF0)
        more = 3, cp &= 7;
    else if (cp >= 0xE0)
        more = 2, cp &= 15;
    else if (cp >= 0xC0)
        more = 1, cp &= 31;
    else
        more = 0, cp = 0xFFFD;
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            *p += i;
            return 0xFFFD;
        }
        cp = cp << 6 | (s[i] & 63);
    }
    *p += more + 1;
    return cp;
}

size_t sim_utf8_put(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 63));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 63));
        out[2] = (char)(0x80 | (cp & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 63));
    out[2] = (char)(0x80 | (cp >> 6 & 63));
    out[3] = (char)(0x80 | (cp & 63));
    return 4;
}

char *sim_utf8_from_utf16(struct arena *arena, const uint8_t *data, size_t units)
{
    char *out = sim_arena_alloc(arena, units * 3 + 1);
    size_t n = 0;

    for (size_t i = 0; i < units; i++) {
        uint32_t cp = data[2 * i] | (uint32_t)data[2 * i + 1] << 8;
        if (cp >= 0xD800 && cp < 0xDC00 && i + 1 < units) {
            uint32_t low = data[2 * i + 2] | (uint32_t)data[2 * i + 3] << 8;
            if (low >= 0xDC00 && low < 0xE000) {
                cp = 0x10000 + ((cp & 0x3FF) << 10 | (low & 0x3FF));
                i++;
            }
        }
        n += sim_utf8_put(out + n, cp);
    }
    out[n] = 0;
    return out;
}

char *sim_utf8_from_cp1252(struct arena *arena, const uint8_t *data, size_t len)
{
    char *out = sim_arena_alloc(arena, len * 3 + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        uint32_t cp = data[i];
        if (cp >= 0x80 && cp < 0xA0)
            cp = cp1252_high[cp - 0x80];
        n += sim_utf8_put(out + n, cp);
    }
    return out;
}

void sim_bytes_cp1252(struct bytes *b, const char *utf8)
{
    while (*utf8) {
        uint32_t cp = sim_utf8_next(&utf8);
        unsigned byte = cp < 0x80 || (cp >= 0xA0 && cp < 0x100) ? cp : '?';
        for (unsigned i = 0; i < 32; i++)
            if (cp1252_high[i] == cp)
                byte = 0x80 + i;
        sim_bytes_u8(b, byte);
    }
}

size_t sim_utf16_len(const char *utf8)
{
    size_t n = 0;
    while (*utf8)
        n += sim_utf8_next(&utf8) >= 0x10000 ? 2 : 1;
    return n;
}

char *sim_utf16_cut(struct arena *arena, const char *utf8, size_t start, size_t count)
{
    struct bytes units = {0};
    sim_bytes_utf16(&units, utf8);
    size_t total = units.len / 2;
    if (start > total)
        start = total;
    if (count > total - start)
        count = total - start;
    char *cut = count ? sim_utf8_from_utf16(arena, units.data + 2 * start, count)
                      : sim_arena_dup(arena, "");
    sim_bytes_fini(&units);
    return cut;
}

uint32_t sim_fold(uint32_t cp)
{
    if ((cp >= 'A' && cp <= 'Z') || (cp >= 0xC0 && cp <= 0xDE && cp != 0xD7) ||
        (cp >= 0x391 && cp <= 0x3A9) || (cp >= 0x410 && cp <= 0x42F))
        return cp + 32;
    return cp;
}

int sim_text_cmp(const char *a, const char *b)
{
    while (*a && *b) {
        uint32_t x = sim_fold(sim_utf8_next(&a));
        uint32_t y = sim_fold(sim_utf8_next(&b));
        if (x != y)
            return x < y ? -1 : 1;
    }
    return *a ? 1 : *b ? -1 : 0;
}

bool sim_text_is(const char *a, const char *b)
{
    return sim_text_cmp(a, b) == 0;
}

bool sim_text_is_n(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (sim_fold((unsigned char)a[i]) != sim_fold((unsigned char)b[i]))
            return false;
        if (!a[i])
            return true;
    }
    return true;
}

bool sim_text_begins(const char *text, const char *prefix)
{
    while (*prefix) {
        if (!*text || sim_fold(sim_utf8_next(&text)) != sim_fold(sim_utf8_next(&prefix)))
            return false;
    }
    return true;
}

static bool only_blanks(const char *text)
{
    return text[strspn(text, " ")] == 0;
}

int sim_collate(const char *a, const char *b)
{
    while (*a && *b) {
        uint32_t x = sim_fold(sim_utf8_next(&a));
        uint32_t y = sim_fold(sim_utf8_next(&b));
        if (x != y)
            return x < y ? -1 : 1;
    }
    if (only_blanks(a) && only_blanks(b))
        return 0;
    return *a ? 1 : -1;
}

/* One [a-z] set; *pattern stands behind the bracket and is moved behind the closing one. */
static bool set_matches(const char **pattern, uint32_t cp)
{
    bool found = false;
    bool negated = **pattern == '^';
    const char *p = *pattern + negated;

    while (*p && *p != ']') {
        uint32_t low = sim_fold(sim_utf8_next(&p));
        uint32_t high = low;
        if (*p == '-' && p[1] && p[1] != ']') {
            p++;
            high = sim_fold(sim_utf8_next(&p));
        }
        if (cp >= low && cp <= high)
            found = true;
    }
    *pattern = *p ? p + 1 : p;
    return found != negated;
}

bool sim_text_like(const char *text, const char *pattern, uint32_t escape)
{
    while (*pattern) {
        uint32_t want = sim_utf8_next(&pattern);
        if (want == '%') {
            for (const char *t = text;; sim_utf8_next(&t)) {
                if (sim_text_like(t, pattern, escape))
                    return true;
                if (!*t)
                    return false;
            }
        }
        if (!*text)
            return false;
        uint32_t cp = sim_fold(sim_utf8_next(&text));
        if (want == escape && escape && *pattern)
            want = sim_utf8_next(&pattern);
        else if (want == '_')
            continue;
        else if (want == '[') {
            if (!set_matches(&pattern, cp))
                return false;
            continue;
        }
        if (sim_fold(want) != cp)
            return false;
    }
    return only_blanks(text);
}

char *sim_text_upper(struct arena *arena, const char *text, bool lower)
{
    char *out = sim_arena_alloc(arena, strlen(text) * 2 + 1);
    size_t n = 0;

    while (*text) {
        uint32_t cp = sim_utf8_next(&text);
        if (lower)
            cp = sim_fold(cp);
        else if (cp >= 32 && cp - 32 < cp && sim_fold(cp - 32) == cp)
            cp -= 32;
        n += sim_utf8_put(out + n, cp);
    }
    return out;
}
