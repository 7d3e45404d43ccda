/* functions_math.c: functions on numbers. */
#include <math.h>

#include "functions.h"

static bool any_null(const struct value *args, int n)
{
    for (int i = 0; i < n; i++)
        if (args[i].is_null)
            return true;
    return false;
}

#define FUNCTION(name)                                                                             \
    static bool name(struct eval *ev, const struct expr *e, struct value *args, int n,             \
                     struct value *out)
#define UNUSED ((void)ev, (void)e, (void)n, (void)args)

FUNCTION(fn_abs)
{
    UNUSED;
    *out = args[0];
    out->i = out->i < 0 ? -out->i : out->i;
    out->f = fabs(out->f);
    out->dec = out->dec < 0 ? -out->dec : out->dec;
    return true;
}

FUNCTION(fn_round)
{
    int64_t digits = 0, mode = 0;
    UNUSED;
    *out = args[0];
    if (any_null(args, n))
        return true;
    if ((n > 1 && !tsql_as_int(ev, &args[1], &digits)) ||
        (n > 2 && !tsql_as_int(ev, &args[2], &mode)))
        return false;
    bool up = sim_text_begins(e->text, "CEILING"), down = sim_text_is(e->text, "FLOOR");
    if (out->type.base == VT_DECIMAL) {
        dec_t unit = 1;
        for (int64_t i = digits; i < out->type.scale; i++)
            unit *= 10;
        dec_t rest = out->dec % unit, base = out->dec - rest;
        bool more = up ? rest > 0 : (!down && !mode && rest * 2 >= unit);
        bool less = down ? rest < 0 : (!up && !mode && -rest * 2 >= unit);
        out->dec = base + (more ? unit : less ? -unit : 0);
    } else if (out->type.base == VT_FLOAT || out->type.base == VT_REAL) {
        double unit = pow(10, (double)digits), f = out->f * unit;
        out->f = (up ? ceil(f) : down ? floor(f) : mode ? trunc(f) : round(f)) / unit;
    }
    return true;
}

FUNCTION(fn_math)
{
    UNUSED;
    if (any_null(args, n))
        return true;
    double a = sim_to_double(&args[0]), b = n > 1 ? sim_to_double(&args[1]) : 0, r = 0;
    if (sim_text_is(e->text, "SQRT"))
        r = sqrt(a);
    else if (sim_text_is(e->text, "EXP"))
        r = exp(a);
    else if (sim_text_is(e->text, "LOG"))
        r = n > 1 ? log(a) / log(b) : log(a);
    else if (sim_text_is(e->text, "POWER"))
        r = pow(a, b);
    else
        r = (double)((a > 0) - (a < 0));
    struct value f = sim_float(r);
    if (isnan(r) || isinf(r))
        return sim_raise_text(ev->session, 3623, 16, 1,
                              "An invalid floating point operation occurred.");
    return tsql_cast(ev, &f, e->type, out);
}

/* clang-format off */
const struct function tsql_math_functions[] = {
    {"ABS", 1, 1, R_ARG0, fn_abs, 0},          {"ROUND", 2, 3, R_ARG0, fn_round, 0},
    {"FLOOR", 1, 1, R_ARG0, fn_round, 0},      {"CEILING", 1, 1, R_ARG0, fn_round, 0},
    {"SQRT", 1, 1, R_FLOAT, fn_math, 0},       {"EXP", 1, 1, R_FLOAT, fn_math, 0},
    {"LOG", 1, 2, R_FLOAT, fn_math, 0},        {"POWER", 2, 2, R_ARG0, fn_math, 0},
    {"SIGN", 1, 1, R_ARG0, fn_math, 0},        {NULL, 0, 0, 0, NULL, 0},
};
/* clang-format on */
