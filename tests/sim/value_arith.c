/* value_arith.c: comparing and computing. */
#include "value.h"

#include <math.h>
#include <string.h>

double sim_to_double(const struct value *v)
{
    if (v->type.base == VT_REAL || v->type.base == VT_FLOAT)
        return v->f;
    if (v->type.base == VT_DECIMAL)
        return (double)v->dec / pow(10, v->type.scale);
    if (v->type.base == VT_MONEY)
        return (double)v->i / 10000.0;
    return (double)v->i;
}

bool sim_dec_scale(dec_t *v, int by)
{
    for (; by > 0; by--)
        if (__builtin_mul_overflow(*v, 10, v))
            return false;
    return true;
}

static int compare_decimal(const struct value *a, const struct value *b)
{
    dec_t x = a->dec, y = b->dec;
    if (!sim_dec_scale(&x, b->type.scale - a->type.scale))
        return x < 0 ? -1 : 1; /* far beyond what the other one can hold */
    if (!sim_dec_scale(&y, a->type.scale - b->type.scale))
        return y < 0 ? 1 : -1;
    return x < y ? -1 : x > y;
}

static int compare_bytes(const struct value *a, const struct value *b)
{
    size_t n = a->len < b->len ? a->len : b->len;
    int c = n ? memcmp(a->s, b->s, n) : 0;
    if (c)
        return c < 0 ? -1 : 1;
    return a->len < b->len ? -1 : a->len > b->len;
}

int sim_compare(struct arena *arena, const struct value *a, const struct value *b, int *error)
{
    struct type t = sim_type_merge(a->type, b->type);
    struct value x = *a, y = *b;

    *error = 0;
    if (t.base == VT_VARIANT)
        t = sim_type(VT_NVARCHAR, -1);
    if (t.base != VT_DECIMAL || !sim_type_is_number(&a->type) || !sim_type_is_number(&b->type) ||
        a->type.base != b->type.base) {
        int e = sim_convert(arena, a, t, 0, &x);
        int f = sim_convert(arena, b, t, 0, &y);
        if (e || f) {
            *error = e ? e : f;
            return 0;
        }
    }
    if (sim_type_is_text(&t))
        return sim_collate(x.s, y.s);
    if (t.base == VT_VARBINARY || t.base == VT_GUID)
        return compare_bytes(&x, &y);
    if (t.base == VT_DECIMAL)
        return compare_decimal(&x, &y);
    if (t.base == VT_FLOAT || t.base == VT_REAL)
        return x.f < y.f ? -1 : x.f > y.f;
    return x.i < y.i ? -1 : x.i > y.i;
}

static struct type decimal_result(char op, struct type a, struct type b)
{
    int p = 0, s = 0;

    if (op == '*') {
        s = a.scale + b.scale;
        p = a.precision + b.precision + 1;
    } else if (op == '/') {
        s = a.scale + b.precision + 1;
        s = s < 6 ? 6 : s;
        p = a.precision - a.scale + b.scale + s;
    } else {
        s = a.scale > b.scale ? a.scale : b.scale;
        int wa = a.precision - a.scale, wb = b.precision - b.scale;
        p = (wa > wb ? wa : wb) + s + 1;
    }
    if (p > 38) { /* the documented rule: keep whole digits, but at least 6 of the scale */
        int whole = p - s;
        int least = s < 6 ? s : 6;
        s = 38 - whole > least ? 38 - whole : least;
        p = 38;
    }
    return sim_type_decimal(p, s);
}

struct type sim_arith_type(char op, struct type a, struct type b)
{
    if (a.base == VT_NULL && b.base == VT_NULL)
        return sim_type(VT_INT, 0);
    struct type t = sim_type_merge(a, b);
    if (sim_type_is_text(&t) || t.base == VT_VARBINARY) {
        int la = a.base == VT_NULL ? 0 : a.length, lb = b.base == VT_NULL ? 0 : b.length;
        t.length = la < 0 || lb < 0 ? -1 : la + lb;
        int most = t.base == VT_NVARCHAR ? 4000 : 8000;
        if (t.length > most)
            t.length = most;
        t.fixed = false;
        return t;
    }
    if (t.base == VT_DECIMAL) {
        struct type da = a.base == VT_DECIMAL ? a : sim_type_merge(a, sim_type_decimal(1, 0));
        struct type db = b.base == VT_DECIMAL ? b : sim_type_merge(b, sim_type_decimal(1, 0));
        return decimal_result(op, da.base == VT_DECIMAL ? da : t, db.base == VT_DECIMAL ? db : t);
    }
    if (t.base == VT_BIT)
        return t;
    return t;
}

static int arith_int(char op, int64_t a, int64_t b, enum vt base, int64_t *out)
{
    bool over = false;
    static const int64_t most[] = {[VT_BIT] = 1,
                                   [VT_TINYINT] = 255,
                                   [VT_SMALLINT] = INT16_MAX,
                                   [VT_INT] = INT32_MAX,
                                   [VT_BIGINT] = INT64_MAX};
    if ((op == '/' || op == '%') && b == 0)
        return 8134;
    if (op == '+')
        over = __builtin_add_overflow(a, b, out);
    else if (op == '-')
        over = __builtin_sub_overflow(a, b, out);
    else if (op == '*')
        over = __builtin_mul_overflow(a, b, out);
    else if ((op == '/' || op == '%') && b == -1)
        *out = op == '%' ? 0 : (a == INT64_MIN ? a : -a);
    else if (op == '/')
        *out = a / b;
    else if (op == '%')
        *out = a % b;
    else
        *out = op == '&' ? (a & b) : op == '|' ? (a | b) : (a ^ b);
    if (base < VT_BIGINT &&
        (*out > most[base] || *out < -most[base] - 1 || (base <= VT_TINYINT && *out < 0)))
        over = true;
    return over ? 8115 : 0;
}

static int arith_decimal(char op, struct value *x, struct value *y, struct type t,
                         struct value *out)
{
    dec_t a = x->dec, b = y->dec;
    int sa = x->type.scale, sb = y->type.scale;

    if ((op == '/' || op == '%') && b == 0)
        return 8134;
    out->type = t;
    if (op == '*' || op == '/') { /* long double has 64 bits; exact where the product fits */
        dec_t product = 0;
        int scale = sa + sb;
        if (op == '*' && !__builtin_mul_overflow(a, b, &product)) {
            for (; scale > t.scale; scale--)
                product = (product + (scale == t.scale + 1 ? (product < 0 ? -5 : 5) : 0)) / 10;
            out->dec = product;
            return 0;
        }
        int shift = t.scale + sb - sa;
        dec_t scaled = a;
        if (op == '/' && shift >= 0 && sim_dec_scale(&scaled, shift)) {
            out->dec = scaled / b;
            return 0;
        }
        long double r = op == '*' ? (long double)a * (long double)b / powl(10, sa + sb - t.scale)
                                  : (long double)a / (long double)b * powl(10, shift);
        if (fabsl(r) > 9e37L)
            return 8115;
        out->dec = (dec_t)r;
        return 0;
    }
    dec_t r = 0;
    bool fits = sim_dec_scale(&a, sb - sa) && sim_dec_scale(&b, sa - sb);
    if (fits && op == '%')
        r = a % b;
    else if (fits)
        fits = op == '+' ? !__builtin_add_overflow(a, b, &r) : !__builtin_sub_overflow(a, b, &r);
    if (!fits)
        return 8115;
    for (int scale = sa > sb ? sa : sb; scale > t.scale; scale--)
        r /= 10;
    out->dec = r;
    return 0;
}

static int arith_text(struct arena *arena, char op, struct value *x, struct value *y,
                      struct value *out)
{
    if (op != '+')
        return 8117;
    char *s = sim_arena_alloc(arena, x->len + y->len + 1);
    if (x->len)
        memcpy(s, x->s, x->len);
    if (y->len)
        memcpy(s + x->len, y->s, y->len);
    out->s = s;
    out->len = x->len + y->len;
    return 0;
}

static int arith_time(char op, const struct value *x, const struct value *y, struct value *out)
{
    if ((op != '+' && op != '-') || out->type.base > VT_DATETIME)
        return 402;
    out->i = op == '+' ? x->i + y->i - TICKS_1900 : x->i - y->i + TICKS_1900;
    return 0;
}

int sim_arith(struct arena *arena, char op, const struct value *a, const struct value *b,
              struct value *out)
{
    struct type t = sim_arith_type(op, a->type, b->type);
    struct value x = *a, y = *b;

    *out = sim_null(t); /* out may be a or b: from here on only the copies are used */
    if (x.is_null || y.is_null)
        return 0;
    if (t.base != VT_DECIMAL || x.type.base != VT_DECIMAL || y.type.base != VT_DECIMAL) {
        struct type common = sim_type_merge(x.type, y.type), whole = sim_type_decimal(19, 0);
        bool decimal = common.base == VT_DECIMAL;
        struct value l = x, r = y;
        int e = sim_convert(arena, &l, decimal && sim_type_is_int(&l.type) ? whole : common, 0, &x);
        if (!e)
            e = sim_convert(arena, &r, decimal && sim_type_is_int(&r.type) ? whole : common, 0, &y);
        if (e)
            return e;
    }
    out->is_null = false;
    if (sim_type_is_text(&t) || t.base == VT_VARBINARY)
        return arith_text(arena, op, &x, &y, out);
    if (t.base == VT_DECIMAL)
        return arith_decimal(op, &x, &y, t, out);
    if (sim_type_is_int(&t))
        return arith_int(op, x.i, y.i, t.base, &out->i);
    if (sim_type_is_time(&t))
        return arith_time(op, &x, &y, out);
    if (t.base == VT_MONEY) {
        double fx = (double)x.i / 1e4, fy = (double)y.i / 1e4;
        if (op == '/' && fy == 0)
            return 8134;
        out->i = llround(1e4 * (op == '+'   ? fx + fy
                                : op == '-' ? fx - fy
                                : op == '*' ? fx * fy
                                            : fx / fy));
        return 0;
    }
    if (t.base != VT_FLOAT && t.base != VT_REAL)
        return 402;
    if ((op == '/' || op == '%') && y.f == 0)
        return 8134;
    out->f = op == '+'   ? x.f + y.f
             : op == '-' ? x.f - y.f
             : op == '*' ? x.f * y.f
             : op == '/' ? x.f / y.f
                         : fmod(x.f, y.f);
    return 0;
}
