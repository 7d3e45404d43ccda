/* functions_time.c: functions on dates and times. */
#include "functions.h"

#define FUNCTION(name)                                                                             \
    static bool name(struct eval *ev, const struct expr *e, struct value *args, int n,             \
                     struct value *out)
#define UNUSED ((void)ev, (void)e, (void)n, (void)args)

FUNCTION(fn_now)
{
    struct sim *sim = ev->session->sim;
    int64_t us = sim_now_us(sim);
    bool utc = sim_text_begins(e->text, "GETUTC") || sim_text_begins(e->text, "SYSUTC");
    UNUSED;
    if (e->type.base == VT_DATETIMEOFFSET) {
        *out = sim_time(VT_DATETIMEOFFSET, sim_ticks_utc(us));
        out->offset_min = sim->utc_offset_min;
    } else {
        *out = sim_time(e->type.base, utc ? sim_ticks_utc(us) : sim_ticks_local(sim, us));
    }
    return true;
}

static bool as_time(struct eval *ev, const struct value *v, struct value *out)
{
    if (sim_type_is_time(&v->type)) {
        *out = *v;
        return true;
    }
    return tsql_cast(ev, v, sim_type(sim_type_is_text(&v->type) ? VT_DATETIME2 : VT_DATETIME, 0),
                     out);
}

static bool part_of(struct eval *ev, const struct value *v, const char *function, int *part)
{
    *part = v->s ? sim_datepart(v->s) : -1;
    if (*part >= 0)
        return true;
    return sim_raise(ev->session, 155, 1, v->s ? v->s : "", function, NULL);
}

FUNCTION(fn_datediff)
{
    struct value a, b;
    int part = 0;
    UNUSED;
    if (!part_of(ev, &args[0], "datediff", &part))
        return false;
    if (args[1].is_null || args[2].is_null)
        return true;
    if (!as_time(ev, &args[1], &a) || !as_time(ev, &args[2], &b))
        return false;
    int64_t d = sim_datediff(part, a.i, b.i);
    if (e->type.base == VT_INT && (d > INT32_MAX || d < INT32_MIN))
        return sim_raise_text(
            ev->session, 535, 16, 0,
            "The datediff function resulted in an overflow. The number of dateparts "
            "separating two date/time instances is too large. Try to use datediff with "
            "a less precise datepart.");
    *out = sim_number(e->type.base, d);
    return true;
}

FUNCTION(fn_dateadd)
{
    struct value v;
    int64_t count = 0;
    int part = 0;
    UNUSED;
    if (!part_of(ev, &args[0], "dateadd", &part))
        return false;
    if (args[1].is_null || args[2].is_null)
        return true;
    struct value source = args[2];
    if (!tsql_as_int(ev, &args[1], &count) || !tsql_cast(ev, &source, e->type, &v))
        return false;
    int error = sim_dateadd(part, count, &v, out);
    return error ? sim_raise(ev->session, error, 1, sim_type_name(&e->type), NULL) : true;
}

FUNCTION(fn_datepart)
{
    struct value v;
    int part = 0;
    bool simple = n == 1; /* YEAR(x) … */
    struct value word = sim_text(e->text);
    UNUSED;
    if (!part_of(ev, simple ? &word : &args[0], "datepart", &part))
        return false;
    if (args[n - 1].is_null)
        return true;
    if (!as_time(ev, &args[n - 1], &v))
        return false;
    if (e->type.base == VT_INT)
        *out = sim_int(sim_datepart_get(part, &v));
    else
        tsql_set_text(ev, out, sim_num(ev->session, sim_datepart_get(part, &v)));
    return true;
}

/* clang-format off */
const struct function tsql_time_functions[] = {
    {"GETDATE", 0, 0, R_DATETIME, fn_now, 0},       {"CURRENT_TIMESTAMP", 0, 0, R_DATETIME, fn_now, 0},
    {"GETUTCDATE", 0, 0, R_DATETIME, fn_now, 0},    {"SYSDATETIME", 0, 0, R_DATETIME2, fn_now, 10},
    {"SYSUTCDATETIME", 0, 0, R_DATETIME2, fn_now, 10}, {"SYSDATETIMEOFFSET", 0, 0, R_OFFSET, fn_now, 10},
    {"DATEDIFF", 3, 3, R_INT, fn_datediff, 0},      {"DATEDIFF_BIG", 3, 3, R_BIGINT, fn_datediff, 13},
    {"DATEADD", 3, 3, R_ARG2, fn_dateadd, 0},       {"DATEPART", 2, 2, R_INT, fn_datepart, 0},
    {"DATENAME", 2, 2, R_TEXT, fn_datepart, 0},     {"YEAR", 1, 1, R_INT, fn_datepart, 0},
    {"MONTH", 1, 1, R_INT, fn_datepart, 0},         {"DAY", 1, 1, R_INT, fn_datepart, 0},
    {NULL, 0, 0, 0, NULL, 0},
};
/* clang-format on */
