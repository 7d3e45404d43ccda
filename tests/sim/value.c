#include "value.h"

#include <string.h>

struct type_name {
    const char *name;
    enum vt base;
    bool fixed;
    int length;
};

static const struct type_name type_names[] = {
    {"bit", VT_BIT, false, 0},
    {"tinyint", VT_TINYINT, false, 0},
    {"smallint", VT_SMALLINT, false, 0},
    {"int", VT_INT, false, 0},
    {"integer", VT_INT, false, 0},
    {"bigint", VT_BIGINT, false, 0},
    {"money", VT_MONEY, false, 0},
    {"smallmoney", VT_MONEY, false, 0},
    {"decimal", VT_DECIMAL, false, 0},
    {"dec", VT_DECIMAL, false, 0},
    {"numeric", VT_DECIMAL, false, 0},
    {"real", VT_REAL, false, 0},
    {"float", VT_FLOAT, false, 0},
    {"date", VT_DATE, false, 0},
    {"time", VT_TIME, false, 0},
    {"smalldatetime", VT_SMALLDATETIME, false, 0},
    {"datetime", VT_DATETIME, false, 0},
    {"datetime2", VT_DATETIME2, false, 0},
    {"datetimeoffset", VT_DATETIMEOFFSET, false, 0},
    {"varchar", VT_VARCHAR, false, 30},
    {"char", VT_VARCHAR, true, 30},
    {"text", VT_VARCHAR, false, -1},
    {"nvarchar", VT_NVARCHAR, false, 30},
    {"nchar", VT_NVARCHAR, true, 30},
    {"ntext", VT_NVARCHAR, false, -1},
    {"sysname", VT_NVARCHAR, false, 128},
    {"xml", VT_NVARCHAR, false, -1},
    {"varbinary", VT_VARBINARY, false, 30},
    {"binary", VT_VARBINARY, true, 30},
    {"image", VT_VARBINARY, false, -1},
    {"uniqueidentifier", VT_GUID, false, 0},
    {"sql_variant", VT_VARIANT, false, 0},
};

struct type sim_type(enum vt base, int length)
{
    struct type t = {.base = base, .length = length};
    if (base == VT_DATETIME2 || base == VT_TIME || base == VT_DATETIMEOFFSET)
        t.scale = 7;
    if (base == VT_DATETIME)
        t.scale = 3;
    if (base == VT_DECIMAL)
        t.precision = 18;
    return t;
}

struct type sim_type_decimal(int precision, int scale)
{
    struct type t = {.base = VT_DECIMAL, .precision = precision, .scale = scale};
    return t;
}

bool sim_type_parse(const char *name, int a, int b, struct type *out)
{
    for (size_t i = 0; i < sizeof(type_names) / sizeof(*type_names); i++) {
        const struct type_name *n = &type_names[i];
        if (!sim_text_is(n->name, name))
            continue;
        struct type t = sim_type(n->base, n->length);
        t.fixed = n->fixed;
        if (a != -2 && (t.base == VT_VARCHAR || t.base == VT_NVARCHAR || t.base == VT_VARBINARY))
            t.length = a;
        else if (a != -2 && t.base == VT_DECIMAL)
            t.precision = a;
        else if (a != -2 && t.base == VT_FLOAT && a <= 24)
            t.base = VT_REAL;
        else if (a != -2)
            t.scale = a;
        if (b != -2 && t.base == VT_DECIMAL)
            t.scale = b;
        bool sized = sim_type_is_text(&t) || t.base == VT_VARBINARY;
        int most = t.base == VT_DECIMAL ? t.precision : 7;
        if ((sized && (t.length == 0 || t.length < -1)) || t.scale < 0 || t.scale > most ||
            (t.base == VT_DECIMAL && (t.precision < 1 || t.precision > 38)))
            return false;
        *out = t;
        return true;
    }
    return false;
}

const char *sim_type_name(const struct type *type)
{
    for (size_t i = 0; i < sizeof(type_names) / sizeof(*type_names); i++)
        if (type_names[i].base == type->base && type_names[i].fixed == type->fixed &&
            !sim_text_is(type_names[i].name, "dec") && !sim_text_is(type_names[i].name, "decimal"))
            return type_names[i].name;
    return "int";
}

int sim_type_max_bytes(const struct type *type)
{
    static const uint8_t sizes[] = {
        [VT_GUID] = 16,    [VT_BIT] = 1,           [VT_TINYINT] = 1,   [VT_SMALLINT] = 2,
        [VT_INT] = 4,      [VT_BIGINT] = 8,        [VT_MONEY] = 8,     [VT_DECIMAL] = 17,
        [VT_REAL] = 4,     [VT_FLOAT] = 8,         [VT_TIME] = 5,      [VT_DATE] = 3,
        [VT_DATETIME] = 8, [VT_SMALLDATETIME] = 4, [VT_DATETIME2] = 8, [VT_DATETIMEOFFSET] = 10,
        [VT_VARIANT] = 255};
    if (type->base == VT_NVARCHAR)
        return type->length < 0 ? -1 : type->length * 2;
    if (type->base == VT_VARCHAR || type->base == VT_VARBINARY)
        return type->length;
    if (type->base == VT_DECIMAL)
        return type->precision <= 9    ? 5
               : type->precision <= 19 ? 9
               : type->precision <= 28 ? 13
                                       : 17;
    if (type->base == VT_VARIANT)
        return 8016;
    return sizes[type->base];
}

bool sim_type_is_text(const struct type *type)
{
    return type->base == VT_VARCHAR || type->base == VT_NVARCHAR;
}

bool sim_type_is_int(const struct type *type)
{
    return type->base >= VT_BIT && type->base <= VT_BIGINT;
}

bool sim_type_is_time(const struct type *type)
{
    return type->base >= VT_TIME && type->base <= VT_DATETIMEOFFSET;
}

bool sim_type_is_number(const struct type *type)
{
    return type->base >= VT_BIT && type->base <= VT_FLOAT;
}

static int int_digits(enum vt base)
{
    static const int digits[] = {[VT_BIT] = 1,  [VT_TINYINT] = 3, [VT_SMALLINT] = 5,
                                 [VT_INT] = 10, [VT_BIGINT] = 19, [VT_MONEY] = 19};
    return base >= VT_BIT && base <= VT_MONEY ? digits[base] : 18;
}

static struct type as_decimal(struct type t)
{
    if (t.base == VT_DECIMAL)
        return t;
    return sim_type_decimal(int_digits(t.base), t.base == VT_MONEY ? 4 : 0);
}

struct type sim_type_merge(struct type a, struct type b)
{
    if (a.base == VT_NULL)
        return b;
    if (b.base == VT_NULL)
        return a;
    struct type high = a.base >= b.base ? a : b;
    struct type low = a.base >= b.base ? b : a;
    if (high.base == VT_DECIMAL && sim_type_is_number(&low)) {
        struct type l = as_decimal(low);
        int scale = high.scale > l.scale ? high.scale : l.scale;
        int whole = high.precision - high.scale > l.precision - l.scale
                        ? high.precision - high.scale
                        : l.precision - l.scale;
        return sim_type_decimal(whole + scale > 38 ? 38 : whole + scale, scale);
    }
    if (sim_type_is_text(&high) || high.base == VT_VARBINARY) {
        if (low.length < 0 || high.length < 0)
            high.length = -1;
        else if (low.length > high.length)
            high.length = low.length;
        if (!low.fixed)
            high.fixed = false;
    }
    if (high.base == low.base && low.scale > high.scale)
        high.scale = low.scale;
    return high;
}

struct value sim_null(struct type type)
{
    return (struct value){.type = type, .is_null = true};
}

struct value sim_number(enum vt base, int64_t v)
{
    return (struct value){.type = sim_type(base, 0), .i = v};
}

struct value sim_int(int64_t v)
{
    return sim_number(VT_INT, v);
}

struct value sim_bigint(int64_t v)
{
    return sim_number(VT_BIGINT, v);
}

struct value sim_bit(bool v)
{
    return sim_number(VT_BIT, v);
}

struct value sim_float(double v)
{
    return (struct value){.type = sim_type(VT_FLOAT, 0), .f = v};
}

struct value sim_text_n(const char *text, int length)
{
    if (!text)
        return sim_null(sim_type(VT_NVARCHAR, length));
    return (struct value){.type = sim_type(VT_NVARCHAR, length), .s = text, .len = strlen(text)};
}

struct value sim_text(const char *text)
{
    size_t units = text ? sim_utf16_len(text) : 1;
    return sim_text_n(text, units > 4000 ? -1 : units ? (int)units : 1);
}

struct value sim_binary(const void *data, size_t len)
{
    return (struct value){.type = sim_type(VT_VARBINARY, len > 8000 ? -1
                                                         : len      ? (int)len
                                                                    : 1),
                          .s = data,
                          .len = len};
}

struct value sim_decimal(dec_t v, int precision, int scale)
{
    return (struct value){.type = sim_type_decimal(precision, scale), .dec = v};
}

struct value sim_time(enum vt base, int64_t ticks)
{
    struct value v = {.type = sim_type(base, 0)};
    v.i = sim_time_round(base, v.type.scale, ticks);
    return v;
}

struct value sim_guid(const void *sixteen)
{
    return (struct value){.type = sim_type(VT_GUID, 0), .s = sixteen, .len = 16};
}
