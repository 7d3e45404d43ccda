/* value_convert.c: CAST and CONVERT. */
#include "value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dec_t ten_to(int n)
{
    dec_t v = 1;
    while (n-- > 0)
        v *= 10;
    return v;
}

static const char *decimal_text(struct arena *arena, dec_t v, int scale)
{
    char digits[48];
    int n = 0;
    bool negative = v < 0;

    if (negative)
        v = -v;
    do { /* at most 39 digits and a scale of 38 */
        digits[n++] = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v || n <= scale);
    char *out = sim_arena_alloc(arena, (size_t)n + 3), *p = out;
    if (negative)
        *p++ = '-';
    while (n) {
        if (n == scale)
            *p++ = '.';
        *p++ = digits[--n];
    }
    return out;
}

static const char *guid_text(struct arena *arena, const struct value *v)
{
    const uint8_t *g = (const uint8_t *)v->s;
    return sim_arena_printf(
        arena, "%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-%02X%02X%02X%02X%02X%02X", g[3], g[2],
        g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9], g[10], g[11], g[12], g[13], g[14], g[15]);
}

static const char *hex_text(struct arena *arena, const struct value *v, bool prefix)
{
    char *out = sim_arena_alloc(arena, v->len * 2 + 3);
    size_t n = 0;
    if (prefix) {
        out[n++] = '0';
        out[n++] = 'x';
    }
    for (size_t i = 0; i < v->len; i++) {
        static const char digits[] = "0123456789ABCDEF";
        out[n++] = digits[(uint8_t)v->s[i] >> 4];
        out[n++] = digits[v->s[i] & 15];
    }
    return out;
}

static const char *float_text(struct arena *arena, double f, int style)
{
    if (style == 3)
        return sim_arena_printf(arena, "%.17g", f);
    if (style == 2)
        return sim_arena_printf(arena, "%.15e", f);
    const char *text = sim_arena_printf(arena, style == 1 ? "%.7e" : "%.6g", f);
    const char *e = strchr(text, 'e');
    if (e && strlen(e + 2) < 3) /* SQL Server writes three digits of exponent */
        return sim_arena_printf(arena, "%.*se%c%03d", (int)(e - text), text, e[1],
                                (int)strtol(e + 2, NULL, 10));
    return text;
}

const char *sim_value_text(struct arena *arena, const struct value *v, int style)
{
    if (v->is_null)
        return "NULL";
    if (sim_type_is_text(&v->type))
        return v->s;
    if (sim_type_is_int(&v->type))
        return sim_arena_printf(arena, "%lld", (long long)v->i);
    if (v->type.base == VT_DECIMAL)
        return decimal_text(arena, v->dec, v->type.scale);
    if (v->type.base == VT_MONEY)
        return decimal_text(arena, v->i / 100, 2);
    if (v->type.base == VT_FLOAT || v->type.base == VT_REAL)
        return float_text(arena, v->f, style);
    if (v->type.base == VT_GUID)
        return guid_text(arena, v);
    if (v->type.base == VT_VARBINARY)
        return style == 1 || style == 2
                   ? hex_text(arena, v, style == 1)
                   : sim_utf8_from_cp1252(arena, (const uint8_t *)v->s, v->len);
    return sim_time_text(arena, v, style);
}

static int to_text(struct arena *arena, const struct value *in, int style, struct value *out)
{
    const char *text = sim_value_text(arena, in, style);
    size_t units = sim_utf16_len(text);
    int most = out->type.length;

    if (in->type.base == VT_VARBINARY && out->type.base == VT_NVARCHAR && style == 0)
        text = sim_utf8_from_utf16(arena, (const uint8_t *)in->s, in->len / 2);
    if (out->type.base == VT_VARCHAR) {
        struct bytes b = {0};
        sim_bytes_cp1252(&b, text);
        text = sim_utf8_from_cp1252(arena, b.data ? b.data : (const uint8_t *)"", b.len);
        sim_bytes_fini(&b);
    }
    if (most >= 0 && units > (size_t)most) {
        if (sim_type_is_int(&in->type))
            text = "*";
        else if (sim_type_is_number(&in->type))
            return 8115;
        else if (in->type.base == VT_GUID)
            return 8170;
        else
            text = sim_utf16_cut(arena, text, 0, (size_t)most);
    }
    if (out->type.fixed && most > 0 && sim_utf16_len(text) < (size_t)most) {
        size_t pad = (size_t)most - sim_utf16_len(text);
        text = sim_arena_printf(arena, "%s%*s", text, (int)pad, "");
    }
    out->s = text;
    out->len = strlen(text);
    return 0;
}

static bool parse_decimal(const char *text, int scale, dec_t *out)
{
    bool negative = false, any = false;
    dec_t v = 0;
    int after = -1;

    text += strspn(text, " \t\r\n");
    if (*text == '-' || *text == '+')
        negative = *text++ == '-';
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && after < 0); text++) {
        if (*text == '.') {
            after = 0;
            continue;
        }
        any = true;
        if (after >= scale) {
            if (after++ == scale && *text >= '5')
                v++;
            continue;
        }
        if (v > ten_to(37))
            return false;
        v = v * 10 + (*text - '0');
        if (after >= 0)
            after++;
    }
    for (after = after < 0 ? 0 : after; after < scale; after++) {
        if (v > ten_to(37))
            return false;
        v *= 10;
    }
    *out = negative ? -v : v;
    return any && text[strspn(text, " \t\r\n")] == 0;
}

static bool fits(enum vt base, dec_t v)
{
    if (base == VT_TINYINT)
        return v >= 0 && v <= 255;
    if (base == VT_SMALLINT)
        return v >= INT16_MIN && v <= INT16_MAX;
    if (base == VT_INT)
        return v >= INT32_MIN && v <= INT32_MAX;
    return v >= INT64_MIN && v <= INT64_MAX;
}

static dec_t binary_number(const struct value *in)
{
    uint64_t v = 0;
    for (size_t i = 0; i < in->len; i++)
        v = v << 8 | (uint8_t)in->s[i];
    return (dec_t)(int64_t)v;
}

/* To bit, the integers and money. */
static int to_int(const struct value *in, struct value *out)
{
    enum vt base = out->type.base;
    dec_t v = 0;
    int factor = base == VT_MONEY ? 10000 : 1;

    if (sim_type_is_text(&in->type)) {
        if (base == VT_BIT && (sim_text_is(in->s, "true") || sim_text_is(in->s, "false"))) {
            out->i = in->s[0] == 't' || in->s[0] == 'T';
            return 0;
        }
        if (!in->s[strspn(in->s, " ")]) {
            out->i = 0;
            return 0;
        }
        if (strchr(in->s, '.') && base != VT_MONEY)
            return 245;
        if (!parse_decimal(in->s, base == VT_MONEY ? 4 : 0, &v))
            return base == VT_BIGINT ? 8114 : base == VT_MONEY ? 235 : 245;
        factor = 1;
    } else if (in->type.base == VT_FLOAT || in->type.base == VT_REAL) {
        if (!(fabs(in->f) < 9e18))
            return 232;
        v = base == VT_MONEY ? (dec_t)llround(in->f * 10000) : (dec_t)in->f;
        factor = 1;
    } else if (in->type.base == VT_DECIMAL) {
        v = in->dec;
        if (base == VT_MONEY && !sim_dec_scale(&v, 4))
            return 8115;
        v /= ten_to(in->type.scale);
        factor = 1;
    } else if (in->type.base == VT_MONEY) {
        v = base == VT_MONEY ? in->i : in->i / 10000;
        factor = 1;
    } else if (in->type.base == VT_VARBINARY) {
        v = binary_number(in);
    } else if (sim_type_is_int(&in->type)) {
        v = in->i;
    } else if (in->type.base == VT_DATETIME || in->type.base == VT_SMALLDATETIME) {
        v = (in->i - TICKS_1900) / TICKS_PER_DAY;
    } else {
        return 529;
    }
    v *= factor;
    if (base == VT_BIT)
        v = v != 0;
    if (!fits(base, v))
        return sim_type_is_text(&in->type) ? (base == VT_INT ? 248 : 244)
               : base == VT_TINYINT        ? 220
                                           : 8115;
    out->i = (int64_t)v;
    return 0;
}

static int to_decimal(const struct value *in, struct value *out)
{
    int scale = out->type.scale;
    dec_t v = 0;

    if (sim_type_is_text(&in->type)) {
        if (!parse_decimal(in->s, scale, &v))
            return 8114;
    } else if (in->type.base == VT_FLOAT || in->type.base == VT_REAL) {
        long double f = (long double)in->f * powl(10, scale);
        if (!(fabsl(f) < 9e37L))
            return 8115;
        v = (dec_t)(f < 0 ? f - 0.5L : f + 0.5L);
    } else if (in->type.base == VT_DECIMAL) {
        v = in->dec;
        int from = in->type.scale;
        if (!sim_dec_scale(&v, scale - from))
            return 8115;
        for (; from > scale; from--)
            v = (from == scale + 1 ? v + (v < 0 ? -5 : 5) : v) / 10;
    } else if (sim_type_is_int(&in->type)) {
        v = in->i;
        if (!sim_dec_scale(&v, scale))
            return 8115;
    } else if (in->type.base == VT_MONEY) {
        v = in->i;
        if (!sim_dec_scale(&v, scale - 4))
            return 8115;
        v /= scale < 4 ? ten_to(4 - scale) : 1;
    } else {
        return 529;
    }
    if (v >= ten_to(out->type.precision) || -v >= ten_to(out->type.precision))
        return 8115;
    out->dec = v;
    return 0;
}

static int to_float(const struct value *in, struct value *out)
{
    if (sim_type_is_text(&in->type)) {
        char *end = NULL;
        out->f = strtod(in->s, &end);
        if (end == in->s || end[strspn(end, " ")])
            return in->s[strspn(in->s, " ")] ? 8114 : 0;
    } else if (sim_type_is_number(&in->type)) {
        out->f = sim_to_double(in);
    } else if (in->type.base == VT_DATETIME || in->type.base == VT_SMALLDATETIME) {
        out->f = (double)(in->i - TICKS_1900) / (double)TICKS_PER_DAY;
    } else {
        return 529;
    }
    if (out->type.base == VT_REAL)
        out->f = (double)(float)out->f;
    return 0;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *p = c ? strchr(digits, (int)sim_fold((unsigned char)c)) : NULL;
    return p ? (int)(p - digits) : -1;
}

static int to_guid(struct arena *arena, const struct value *in, struct value *out)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t raw[16] = {0};
    size_t n = 0;

    if (in->type.base == VT_VARBINARY) {
        memcpy(raw, in->s, in->len < 16 ? in->len : 16);
    } else if (sim_type_is_text(&in->type)) {
        const char *p = in->s + (in->s[0] == '{');
        for (; n < 32 && *p; p++) {
            if (*p == '-')
                continue;
            int digit = hex_digit(*p);
            if (digit < 0)
                return 8169;
            raw[order[n / 2]] = (uint8_t)(raw[order[n / 2]] << 4 | digit);
            n++;
        }
        if (n < 32)
            return 8169;
    } else {
        return 529;
    }
    out->s = sim_arena_dupn(arena, raw, 16);
    out->len = 16;
    return 0;
}

static int to_binary(struct arena *arena, const struct value *in, int style, struct value *out)
{
    struct bytes b = {0};

    if (sim_type_is_text(&in->type) && (style == 1 || style == 2)) {
        for (const char *p = in->s + (style == 1 && in->len >= 2 ? 2 : 0); p[0] && p[1]; p += 2)
            sim_bytes_u8(&b,
                         ((unsigned)hex_digit(p[0]) & 15) << 4 | ((unsigned)hex_digit(p[1]) & 15));
    } else if (in->type.base == VT_NVARCHAR) {
        sim_bytes_utf16(&b, in->s);
    } else if (in->type.base == VT_VARCHAR) {
        sim_bytes_cp1252(&b, in->s);
    } else if (in->type.base == VT_GUID || in->type.base == VT_VARBINARY) {
        sim_bytes_put(&b, in->s, in->len);
    } else {
        int size = sim_type_max_bytes(&in->type);
        size = size > 8 ? 8 : size;
        for (int i = size - 1; i >= 0; i--)
            sim_bytes_u8(&b, (unsigned)(in->i >> (8 * i)) & 255);
    }
    if (out->type.fixed)
        while (b.len < (size_t)out->type.length)
            sim_bytes_u8(&b, 0);
    if (out->type.length >= 0 && b.len > (size_t)out->type.length) {
        bool number = sim_type_is_int(&in->type);
        if (number) /* the low bytes stay */
            memmove(b.data, b.data + (b.len - (size_t)out->type.length), (size_t)out->type.length);
        b.len = (size_t)out->type.length;
    }
    out->s = sim_arena_dupn(arena, b.data, b.len);
    out->len = b.len;
    sim_bytes_fini(&b);
    return 0;
}

static int to_time(const struct value *in, struct value *out)
{
    enum vt base = out->type.base;

    if (sim_type_is_text(&in->type))
        return sim_time_parse(in->s, out->type, out);
    if (sim_type_is_time(&in->type)) {
        int64_t local =
            in->i +
            (in->type.base == VT_DATETIMEOFFSET ? in->offset_min * 60 * TICKS_PER_SECOND : 0);
        if (in->type.base == VT_TIME)
            local += TICKS_1900;
        if (base == VT_DATETIMEOFFSET) {
            out->i = in->i;
            out->offset_min = in->offset_min;
            return 0;
        }
        if (base == VT_DATE)
            local -= local % TICKS_PER_DAY;
        if (base == VT_TIME)
            local %= TICKS_PER_DAY;
        out->i = sim_time_round(base, out->type.scale, local);
        if (base == VT_DATETIME && out->i < INT64_C(639905) * TICKS_PER_DAY)
            return 242;
        return 0;
    }
    if (base == VT_DATETIME || base == VT_SMALLDATETIME) {
        if (!sim_type_is_number(&in->type))
            return 529;
        double days = sim_to_double(in);
        if (!(fabs(days) < 3e6))
            return 8115;
        out->i = sim_time_round(base, out->type.scale,
                                TICKS_1900 + llround(days * (double)TICKS_PER_DAY));
        return 0;
    }
    return 529;
}

int sim_convert(struct arena *arena, const struct value *in, struct type to, int style,
                struct value *out)
{
    struct value v = sim_null(to);
    int error = 0;

    if (to.base == VT_VARIANT || to.base == VT_NULL) {
        *out = *in;
        return 0;
    }
    if (in->is_null) {
        *out = v;
        return 0;
    }
    v.is_null = false;
    if (sim_type_is_text(&to))
        error = to_text(arena, in, style, &v);
    else if ((to.base >= VT_BIT && to.base <= VT_MONEY))
        error = to_int(in, &v);
    else if (to.base == VT_DECIMAL)
        error = to_decimal(in, &v);
    else if (to.base == VT_FLOAT || to.base == VT_REAL)
        error = to_float(in, &v);
    else if (to.base == VT_GUID)
        error = in->type.base == VT_GUID ? (v = *in, 0) : to_guid(arena, in, &v);
    else if (to.base == VT_VARBINARY)
        error = to_binary(arena, in, style, &v);
    else
        error = to_time(in, &v);
    if (!error)
        *out = v;
    return error;
}
