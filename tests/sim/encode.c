/* encode.c: types and values as TDS has them. */
#include <string.h>

#include "session.h"

static const uint8_t collation[5] = {0x09, 0x04, 0xD0, 0x00, 0x34};

static bool is_new_time(const struct type *t)
{
    return t->base == VT_DATE || t->base == VT_TIME || t->base == VT_DATETIME2 ||
           t->base == VT_DATETIMEOFFSET;
}

/* Clients of 2005 get the newer times as text. */
static struct type downgrade(struct type t, uint32_t tds_version)
{
    if (tds_version < 0x730A0003 && is_new_time(&t))
        return sim_type(VT_NVARCHAR, 34);
    if (t.base == VT_NULL)
        return sim_type(VT_INT, 0);
    return t;
}

static int int_size(enum vt base)
{
    return base == VT_TINYINT ? 1 : base == VT_SMALLINT ? 2 : base == VT_INT ? 4 : 8;
}

static int time_size(int scale)
{
    return scale <= 2 ? 3 : scale <= 4 ? 4 : 5;
}

static void text_type(struct bytes *b, const struct type *t)
{
    bool wide = t->base == VT_NVARCHAR;
    sim_bytes_u8(b, wide ? (t->fixed ? 0xEF : 0xE7) : (t->fixed ? 0xAF : 0xA7));
    if (t->length < 0 || t->length > (wide ? 4000 : 8000))
        sim_bytes_u16(b, 0xFFFF);
    else
        sim_bytes_u16(b, (unsigned)t->length * (wide ? 2 : 1));
    sim_bytes_put(b, collation, 5);
}

void sim_encode_type(struct bytes *b, struct type type, uint32_t tds_version)
{
    struct type t = downgrade(type, tds_version);

    if (sim_type_is_text(&t)) {
        text_type(b, &t);
    } else if (t.base == VT_VARBINARY) {
        sim_bytes_u8(b, t.fixed ? 0xAD : 0xA5);
        sim_bytes_u16(b, t.length < 0 || t.length > 8000 ? 0xFFFF : (unsigned)t.length);
    } else if (t.base == VT_BIT) {
        sim_bytes_u16(b, 0x0168);
    } else if (sim_type_is_int(&t)) {
        sim_bytes_u8(b, 0x26);
        sim_bytes_u8(b, (unsigned)int_size(t.base));
    } else if (t.base == VT_MONEY) {
        sim_bytes_u16(b, 0x086E);
    } else if (t.base == VT_DECIMAL) {
        sim_bytes_u16(b, 0x116C);
        sim_bytes_u8(b, (unsigned)t.precision);
        sim_bytes_u8(b, (unsigned)t.scale);
    } else if (t.base == VT_REAL || t.base == VT_FLOAT) {
        sim_bytes_u8(b, 0x6D);
        sim_bytes_u8(b, t.base == VT_REAL ? 4 : 8);
    } else if (t.base == VT_DATETIME || t.base == VT_SMALLDATETIME) {
        sim_bytes_u8(b, 0x6F);
        sim_bytes_u8(b, t.base == VT_DATETIME ? 8 : 4);
    } else if (t.base == VT_DATE) {
        sim_bytes_u8(b, 0x28);
    } else if (is_new_time(&t)) {
        sim_bytes_u8(b, t.base == VT_TIME ? 0x29 : t.base == VT_DATETIME2 ? 0x2A : 0x2B);
        sim_bytes_u8(b, (unsigned)t.scale);
    } else if (t.base == VT_GUID) {
        sim_bytes_u16(b, 0x1024);
    } else { /* sql_variant */
        sim_bytes_u8(b, 0x62);
        sim_bytes_u32(b, 8009);
    }
}

static void put_le(struct bytes *b, uint64_t v, int size)
{
    for (int i = 0; i < size; i++)
        sim_bytes_u8(b, (unsigned)(v >> (8 * i)) & 255);
}

static void put_decimal(struct bytes *b, const struct value *v, int scale)
{
    dec_t d = v->dec;
    (void)sim_dec_scale(&d, scale - v->type.scale); /* it was converted to the type before */
    sim_bytes_u8(b, d >= 0);
    if (d < 0)
        d = -d;
    put_le(b, (uint64_t)d, 8);
    put_le(b, (uint64_t)(d >> 64), 8);
}

static void put_datetime(struct bytes *b, const struct value *v, bool small)
{
    int64_t since = v->i - TICKS_1900;
    int64_t days = since / TICKS_PER_DAY, rest = since % TICKS_PER_DAY;
    if (rest < 0) {
        rest += TICKS_PER_DAY;
        days--;
    }
    if (small) {
        sim_bytes_u16(b, (unsigned)days & 0xFFFF);
        sim_bytes_u16(b, (unsigned)(rest / TICKS_PER_SECOND / 60) & 0xFFFF);
    } else {
        sim_bytes_u32(b, (uint32_t)days);
        sim_bytes_u32(b, (uint32_t)((rest * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND));
    }
}

static void put_clock(struct bytes *b, int64_t ticks, int scale)
{
    for (int i = scale; i < 7; i++)
        ticks /= 10;
    put_le(b, (uint64_t)ticks, time_size(scale));
}

/* The bare bytes of a value that has the type already. */
static void put_bare(struct bytes *b, const struct type *t, const struct value *v)
{
    if (t->base == VT_NVARCHAR)
        sim_bytes_utf16(b, v->s);
    else if (t->base == VT_VARCHAR)
        sim_bytes_cp1252(b, v->s);
    else if (t->base == VT_VARBINARY || t->base == VT_GUID)
        sim_bytes_put(b, v->s, v->len);
    else if (t->base == VT_BIT)
        sim_bytes_u8(b, v->i != 0);
    else if (sim_type_is_int(t))
        put_le(b, (uint64_t)v->i, int_size(t->base));
    else if (t->base == VT_MONEY)
        sim_bytes_u32(b, (uint32_t)((uint64_t)v->i >> 32)), sim_bytes_u32(b, (uint32_t)v->i);
    else if (t->base == VT_DECIMAL)
        put_decimal(b, v, t->scale);
    else if (t->base == VT_DATETIME || t->base == VT_SMALLDATETIME)
        put_datetime(b, v, t->base == VT_SMALLDATETIME);
    else if (t->base == VT_REAL) {
        float f = (float)v->f;
        sim_bytes_put(b, &f, 4);
    } else if (t->base == VT_FLOAT) {
        sim_bytes_put(b, &v->f, 8);
    } else {
        if (t->base != VT_DATE)
            put_clock(b, v->i % TICKS_PER_DAY, t->scale);
        if (t->base != VT_TIME)
            put_le(b, (uint64_t)(v->i / TICKS_PER_DAY), 3);
        if (t->base == VT_DATETIMEOFFSET)
            sim_bytes_u16(b, (unsigned)v->offset_min & 0xFFFF);
    }
}

static void put_variant(struct bytes *b, const struct value *v)
{
    struct bytes bare = {0}, props = {0};
    struct type t = v->type;
    uint8_t code = 0;
    static const uint8_t codes[] = {
        [VT_GUID] = 0x24,           [VT_BIT] = 0x32,       [VT_TINYINT] = 0x30,
        [VT_SMALLINT] = 0x34,       [VT_INT] = 0x38,       [VT_BIGINT] = 0x7F,
        [VT_MONEY] = 0x3C,          [VT_DECIMAL] = 0x6C,   [VT_REAL] = 0x3B,
        [VT_FLOAT] = 0x3E,          [VT_TIME] = 0x29,      [VT_DATE] = 0x28,
        [VT_SMALLDATETIME] = 0x3A,  [VT_DATETIME] = 0x3D,  [VT_DATETIME2] = 0x2A,
        [VT_DATETIMEOFFSET] = 0x2B, [VT_VARBINARY] = 0xA5, [VT_VARCHAR] = 0xA7,
        [VT_NVARCHAR] = 0xE7,       [VT_VARIANT] = 0};
    if (v->is_null || t.base == VT_VARIANT || t.base == VT_NULL) {
        sim_bytes_u32(b, 0);
        return;
    }
    code = codes[t.base];
    put_bare(&bare, &t, v);
    if (sim_type_is_text(&t))
        sim_bytes_put(&props, collation, 5);
    if (sim_type_is_text(&t) || t.base == VT_VARBINARY)
        sim_bytes_u16(&props, 8000);
    if (t.base == VT_DECIMAL) {
        sim_bytes_u8(&props, (unsigned)t.precision);
        sim_bytes_u8(&props, (unsigned)t.scale);
    } else if (is_new_time(&t) && t.base != VT_DATE) {
        sim_bytes_u8(&props, (unsigned)t.scale);
    }
    sim_bytes_u32(b, (uint32_t)(2 + props.len + bare.len));
    sim_bytes_u8(b, code);
    sim_bytes_u8(b, (unsigned)props.len);
    sim_bytes_put(b, props.data, props.len);
    sim_bytes_put(b, bare.data, bare.len);
    sim_bytes_fini(&props);
    sim_bytes_fini(&bare);
}

void sim_encode_value(struct bytes *b, struct type type, const struct value *in,
                      uint32_t tds_version, struct arena *arena)
{
    struct type t = downgrade(type, tds_version);
    struct value v = *in;
    struct bytes bare = {0};
    bool varies = sim_type_is_text(&t) || t.base == VT_VARBINARY;
    bool long_form = varies && (t.length < 0 || t.length > (t.base == VT_NVARCHAR ? 4000 : 8000));

    if (t.base == VT_VARIANT) {
        put_variant(b, &v);
        return;
    }
    if (!v.is_null && sim_convert(arena, in, t, 0, &v))
        v.is_null = true; /* cannot happen: results are converted before */
    if (!v.is_null)
        put_bare(&bare, &t, &v);
    if (long_form && v.is_null) {
        sim_bytes_u64(b, UINT64_MAX);
    } else if (long_form) {
        sim_bytes_u64(b, bare.len);
        if (bare.len) {
            sim_bytes_u32(b, (uint32_t)bare.len);
            sim_bytes_put(b, bare.data, bare.len);
        }
        sim_bytes_u32(b, 0);
    } else if (varies) {
        sim_bytes_u16(b, v.is_null ? 0xFFFF : (unsigned)bare.len);
        sim_bytes_put(b, bare.data, bare.len);
    } else {
        sim_bytes_u8(b, v.is_null ? 0 : (unsigned)bare.len);
        sim_bytes_put(b, bare.data, bare.len);
    }
    sim_bytes_fini(&bare);
}
