/* decode.c: parameters of remote procedure calls. */
#include <string.h>

#include "session.h"

struct cursor {
    const uint8_t *p, *end;
    bool bad;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
    static const uint8_t zeros[32];
    if (c->bad || (size_t)(c->end - c->p) < n) {
        c->bad = true;
        return n <= sizeof(zeros) ? zeros : NULL;
    }
    const uint8_t *p = c->p;
    c->p += n;
    return p;
}

static uint64_t get(struct cursor *c, int size)
{
    const uint8_t *p = take(c, (size_t)size);
    uint64_t v = 0;
    for (int i = size - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static int64_t signed_of(uint64_t v, size_t size)
{
    if (size == 1)
        return (int64_t)(v & 255);
    return size == 2 ? (int16_t)v : size == 4 ? (int32_t)v : (int64_t)v;
}

static void set_int(struct value *v, const uint8_t *p, size_t size)
{
    uint64_t n = 0;
    for (size_t i = size; i-- > 0;)
        n = n << 8 | p[i];
    v->i = signed_of(n, size);
}

static void set_datetime(struct value *v, const uint8_t *p, size_t size)
{
    if (size == 8) {
        int32_t days = 0;
        uint32_t units = 0;
        memcpy(&days, p, 4);
        memcpy(&units, p + 4, 4);
        if (days < -53690 || days > 2958463) /* 1753 to 9999 */
            days = 0;
        units %= 25920000;
        v->i = sim_time_round(VT_DATETIME, 3,
                              TICKS_1900 + days * TICKS_PER_DAY + units * TICKS_PER_SECOND / 300);
    } else {
        v->i = TICKS_1900 + (p[0] | p[1] << 8) * TICKS_PER_DAY +
               (p[2] | p[3] << 8) * 60 * TICKS_PER_SECOND;
    }
}

static void set_new_time(struct value *v, const uint8_t *p, size_t size)
{
    size_t tail = v->type.base == VT_DATETIMEOFFSET ? 5 : v->type.base == VT_TIME ? 0 : 3;
    uint64_t clock = 0;
    if (size < tail)
        return;
    for (size_t i = size - tail; i-- > 0;)
        clock = clock << 8 | p[i];
    for (int s = v->type.scale; s < 7; s++)
        clock *= 10;
    v->i = (int64_t)(clock % (uint64_t)TICKS_PER_DAY);
    if (tail) {
        const uint8_t *d = p + size - tail;
        int days = d[0] | d[1] << 8 | d[2] << 16;
        v->i += (days > 3652058 ? 0 : days) * TICKS_PER_DAY;
        if (tail == 5)
            v->offset_min = (int16_t)(d[3] | d[4] << 8);
    }
}

static void set_decimal(struct value *v, const uint8_t *p, size_t size)
{
    unsigned __int128 d = 0;
    for (size_t i = size < 17 ? size : 17; i-- > 1;)
        d = d << 8 | p[i];
    if (d >> 126)
        d = 0; /* more than 38 digits */
    v->dec = p[0] ? (dec_t)d : -(dec_t)d;
}

static void set_varying(struct value *v, const uint8_t *p, size_t size, struct arena *arena)
{
    if (v->type.base == VT_NVARCHAR)
        v->s = sim_utf8_from_utf16(arena, p, size / 2);
    else if (v->type.base == VT_VARCHAR)
        v->s = sim_utf8_from_cp1252(arena, p, size);
    else
        v->s = sim_arena_dupn(arena, p, size);
    v->len = v->type.base == VT_VARBINARY ? size : strlen(v->s);
}

static void set_fixed(struct value *v, const uint8_t *p, size_t size, struct arena *arena)
{
    enum vt base = v->type.base;

    v->is_null = size == 0;
    if (size == 0)
        return;
    if (sim_type_is_int(&v->type)) {
        set_int(v, p, size);
    } else if (base == VT_MONEY) {
        set_int(v, p, size);
        if (size == 8)
            v->i = (int64_t)((uint64_t)v->i << 32 | (uint64_t)v->i >> 32);
    } else if (base == VT_DECIMAL) {
        set_decimal(v, p, size);
    } else if (base == VT_FLOAT && size == 4) {
        float f = 0;
        memcpy(&f, p, 4);
        v->f = (double)f;
    } else if (base == VT_FLOAT) {
        memcpy(&v->f, p, size < 8 ? size : 8);
    } else if (base == VT_DATETIME) {
        set_datetime(v, p, size);
    } else if (base == VT_GUID) {
        v->s = sim_arena_dupn(arena, p, size);
        v->len = size;
        v->is_null = size != 16;
    } else {
        set_new_time(v, p, size);
    }
}

/* Fixed-length types without a length byte: code, type, size. */
static bool old_type(uint8_t code, enum vt *base, size_t *size)
{
    static const struct {
        uint8_t code;
        enum vt base;
        uint8_t size;
    } types[] = {{0x30, VT_TINYINT, 1}, {0x32, VT_BIT, 1},      {0x34, VT_SMALLINT, 2},
                 {0x38, VT_INT, 4},     {0x7F, VT_BIGINT, 8},   {0x3B, VT_FLOAT, 4},
                 {0x3E, VT_FLOAT, 8},   {0x3A, VT_DATETIME, 4}, {0x3D, VT_DATETIME, 8},
                 {0x3C, VT_MONEY, 8},   {0x7A, VT_MONEY, 4}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (types[i].code == code) {
            *base = types[i].base;
            *size = types[i].size;
            return true;
        }
    return false;
}

static void read_max(struct cursor *c, struct value *v, struct arena *arena)
{
    struct bytes all = {0};
    uint64_t total = get(c, 8);

    v->is_null = total == UINT64_MAX;
    while (!v->is_null && !c->bad) {
        size_t n = (size_t)get(c, 4);
        if (!n)
            break;
        const uint8_t *p = take(c, n);
        if (p && !c->bad)
            sim_bytes_put(&all, p, n);
    }
    if (!v->is_null && !c->bad)
        set_varying(v, all.data ? all.data : (const uint8_t *)"", all.len, arena);
    sim_bytes_fini(&all);
}

static void read_varying(struct cursor *c, uint8_t code, struct value *v, struct arena *arena)
{
    bool wide = code == 0xE7 || code == 0xEF, binary = code == 0xA5 || code == 0xAD;
    size_t most = (size_t)get(c, 2);

    v->type = sim_type(wide ? VT_NVARCHAR : binary ? VT_VARBINARY : VT_VARCHAR, -1);
    if (!binary)
        (void)take(c, 5);
    if (most == 0xFFFF) {
        read_max(c, v, arena);
        return;
    }
    v->type.length = wide ? (int)most / 2 : (int)most;
    if (v->type.length == 0)
        v->type.length = 1;
    size_t n = (size_t)get(c, 2);
    v->is_null = n == 0xFFFF;
    if (v->is_null)
        return;
    const uint8_t *p = take(c, n);
    if (p && !c->bad)
        set_varying(v, p, n, arena);
}

static void read_long(struct cursor *c, uint8_t code, struct value *v, struct arena *arena)
{
    (void)get(c, 4);
    v->type = sim_type(code == 0x63 ? VT_NVARCHAR : code == 0x23 ? VT_VARCHAR : VT_VARBINARY, -1);
    if (code != 0x22)
        (void)take(c, 5);
    size_t n = (size_t)get(c, 4);
    v->is_null = n == 0xFFFFFFFF;
    if (v->is_null)
        return;
    const uint8_t *p = take(c, n);
    if (p && !c->bad)
        set_varying(v, p, n, arena);
}

static bool read_sized(struct cursor *c, uint8_t code, struct value *v, struct arena *arena)
{
    static const enum vt ints[] = {VT_INT,    VT_TINYINT, VT_SMALLINT, VT_INT,   VT_INT,
                                   VT_BIGINT, VT_BIGINT,  VT_BIGINT,   VT_BIGINT};
    size_t most = code == 0x28 || (code >= 0x29 && code <= 0x2B) ? 0 : (size_t)get(c, 1);

    if (code == 0x26)
        v->type = sim_type(ints[most <= 8 ? most : 8], 0);
    else if (code == 0x68)
        v->type = sim_type(VT_BIT, 0);
    else if (code == 0x6D)
        v->type = sim_type(VT_FLOAT, 0);
    else if (code == 0x6F)
        v->type = sim_type(VT_DATETIME, 0);
    else if (code == 0x6E)
        v->type = sim_type(VT_MONEY, 0);
    else if (code == 0x24)
        v->type = sim_type(VT_GUID, 0);
    else if (code == 0x28)
        v->type = sim_type(VT_DATE, 0);
    else if (code >= 0x29 && code <= 0x2B) {
        v->type = sim_type(code == 0x29   ? VT_TIME
                           : code == 0x2A ? VT_DATETIME2
                                          : VT_DATETIMEOFFSET,
                           0);
        v->type.scale = (int)get(c, 1) & 7;
    } else if (code == 0x6A || code == 0x6C) {
        int precision = (int)get(c, 1), scale = (int)get(c, 1);
        if (precision < 1 || precision > 38 || scale > precision)
            return false;
        v->type = sim_type_decimal(precision, scale);
    } else {
        return false;
    }
    size_t n = (size_t)get(c, 1);
    const uint8_t *p = n <= 32 ? take(c, n) : NULL;
    if (p && !c->bad)
        set_fixed(v, p, n, arena);
    return n <= 32;
}

bool sim_decode_parameter(const uint8_t **p, const uint8_t *end, struct arena *arena,
                          struct parameter *out)
{
    struct cursor c = {.p = *p, .end = end};
    enum vt base = VT_INT;
    size_t size = 0;
    bool known = true;

    *out = (struct parameter){0};
    size_t units = (size_t)get(&c, 1);
    const uint8_t *name = take(&c, units * 2);
    if (c.bad || !name)
        return false;
    out->name = sim_utf8_from_utf16(arena, name, units);
    out->output = get(&c, 1) & 1;
    uint8_t code = (uint8_t)get(&c, 1);
    struct value *v = &out->value;
    if (code == 0x1F) {
        v->is_null = true;
    } else if (old_type(code, &base, &size)) {
        v->type = sim_type(base, 0);
        set_fixed(v, take(&c, size), size, arena);
    } else if (code == 0xE7 || code == 0xEF || code == 0xA7 || code == 0xAF || code == 0xA5 ||
               code == 0xAD) {
        read_varying(&c, code, v, arena);
    } else if (code == 0x63 || code == 0x23 || code == 0x22) {
        read_long(&c, code, v, arena);
    } else {
        known = read_sized(&c, code, v, arena);
    }
    *p = c.p;
    return known && !c.bad;
}
