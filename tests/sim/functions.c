/* functions.c: looking functions up, and those on text and numbers. */
#include "functions.h"

#include <stdlib.h>
#include <string.h>

void tsql_set_text(struct eval *ev, struct value *out, const char *text)
{
    out->is_null = !text;
    out->s = text ? text : "";
    out->len = text ? strlen(text) : 0;
    (void)ev;
}

bool tsql_as_text(struct eval *ev, const struct value *v, const char **out)
{
    struct value t = {0};
    if (!tsql_cast(ev, v, sim_type(VT_NVARCHAR, -1), &t))
        return false;
    *out = t.s;
    return true;
}

bool tsql_as_int(struct eval *ev, const struct value *v, int64_t *out)
{
    struct value t = {0};
    if (!tsql_cast(ev, v, sim_type(VT_BIGINT, 0), &t))
        return false;
    *out = t.i;
    return true;
}

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

static size_t trimmed_len(const char *text)
{
    size_t n = strlen(text);
    while (n && text[n - 1] == ' ')
        n--;
    return n;
}

FUNCTION(fn_len)
{
    const char *t = NULL;
    UNUSED;
    if (args[0].is_null)
        return true;
    if (!tsql_as_text(ev, &args[0], &t))
        return false;
    *out = sim_int((int64_t)sim_utf16_len(sim_arena_dupn(ev->arena, t, trimmed_len(t))));
    return true;
}

FUNCTION(fn_datalength)
{
    UNUSED;
    if (args[0].is_null)
        return true;
    int64_t bytes = sim_type_max_bytes(&args[0].type);
    if (args[0].type.base == VT_NVARCHAR)
        bytes = (int64_t)sim_utf16_len(args[0].s) * 2;
    else if (args[0].type.base == VT_VARCHAR)
        bytes = (int64_t)sim_utf16_len(args[0].s);
    else if (args[0].type.base == VT_VARBINARY)
        bytes = (int64_t)args[0].len;
    *out = sim_int(bytes);
    return true;
}

FUNCTION(fn_trim)
{
    const char *t = NULL;
    UNUSED;
    if (args[0].is_null)
        return true;
    if (!tsql_as_text(ev, &args[0], &t))
        return false;
    bool left = !sim_text_is(e->text, "RTRIM"), right = !sim_text_is(e->text, "LTRIM");
    if (left)
        t += strspn(t, " ");
    tsql_set_text(ev, out, sim_arena_dupn(ev->arena, t, right ? trimmed_len(t) : strlen(t)));
    return true;
}

FUNCTION(fn_case)
{
    const char *t = NULL;
    UNUSED;
    if (args[0].is_null)
        return true;
    if (!tsql_as_text(ev, &args[0], &t))
        return false;
    tsql_set_text(ev, out, sim_text_upper(ev->arena, t, sim_text_is(e->text, "LOWER")));
    return true;
}

FUNCTION(fn_substring)
{
    const char *t = NULL;
    int64_t a = 0, b = 0;
    UNUSED;
    if (any_null(args, n))
        return true;
    if (!tsql_as_text(ev, &args[0], &t) || !tsql_as_int(ev, &args[1], &a) ||
        (n > 2 && !tsql_as_int(ev, &args[2], &b)))
        return false;
    int64_t len = (int64_t)sim_utf16_len(t), start = a - 1;
    if (sim_text_is(e->text, "LEFT"))
        start = 0, b = a;
    else if (sim_text_is(e->text, "RIGHT"))
        start = len - a < 0 ? 0 : len - a, b = a;
    if (b < 0)
        return sim_raise_text(ev->session, 537, 16, 3,
                              "Invalid length parameter passed to the LEFT or SUBSTRING function.");
    if (start < 0)
        b += start, start = 0;
    tsql_set_text(ev, out, sim_utf16_cut(ev->arena, t, (size_t)start, b > 0 ? (size_t)b : 0));
    return true;
}

/* Position of `what` in `text` from a byte offset, without case; -1 if it is not there. */
static ptrdiff_t find(const char *text, size_t from, const char *what)
{
    size_t n = strlen(text);
    for (size_t i = from; i <= n; i++)
        if (sim_text_begins(text + i, what))
            return (ptrdiff_t)i;
    return -1;
}

FUNCTION(fn_charindex)
{
    const char *what = NULL, *text = NULL;
    int64_t from = 1;
    UNUSED;
    if (any_null(args, n))
        return true;
    if (!tsql_as_text(ev, &args[0], &what) || !tsql_as_text(ev, &args[1], &text) ||
        (n > 2 && !tsql_as_int(ev, &args[2], &from)))
        return false;
    const char *p = text;
    for (int64_t i = 1; i < from && *p; i++)
        sim_utf8_next(&p);
    ptrdiff_t at = *what ? find(text, (size_t)(p - text), what) : -1;
    *out = sim_int(
        at < 0 ? 0 : 1 + (int64_t)sim_utf16_len(sim_arena_dupn(ev->arena, text, (size_t)at)));
    return true;
}

FUNCTION(fn_replace)
{
    const char *text = NULL, *what = NULL, *by = NULL;
    struct bytes b = {0};
    UNUSED;
    if (any_null(args, n))
        return true;
    if (!tsql_as_text(ev, &args[0], &text) || !tsql_as_text(ev, &args[1], &what) ||
        !tsql_as_text(ev, &args[2], &by))
        return false;
    size_t at = 0, len = strlen(what);
    for (ptrdiff_t hit = 0; *what && (hit = find(text, at, what)) >= 0; at = (size_t)hit + len) {
        sim_bytes_put(&b, text + at, (size_t)hit - at);
        sim_bytes_text(&b, by);
    }
    sim_bytes_text(&b, text + at);
    tsql_set_text(ev, out, sim_arena_dup(ev->arena, sim_bytes_str(&b)));
    sim_bytes_fini(&b);
    return true;
}

FUNCTION(fn_concat)
{
    struct bytes b = {0};
    bool ws = sim_text_is(e->text, "CONCAT_WS"), first = true, good = true;
    const char *separator = "";
    UNUSED;
    if (ws && !args[0].is_null && !tsql_as_text(ev, &args[0], &separator))
        return false;
    for (int i = ws; i < n && good; i++) {
        const char *t = "";
        if (args[i].is_null)
            continue;
        good = tsql_as_text(ev, &args[i], &t);
        if (!first)
            sim_bytes_text(&b, separator);
        sim_bytes_text(&b, t);
        first = false;
    }
    tsql_set_text(ev, out, sim_arena_dup(ev->arena, sim_bytes_str(&b)));
    sim_bytes_fini(&b);
    return good;
}

FUNCTION(fn_replicate)
{
    const char *t = " ";
    int64_t count = 0;
    struct bytes b = {0};
    bool space = sim_text_is(e->text, "SPACE");
    UNUSED;
    if (any_null(args, n))
        return true;
    if ((!space && !tsql_as_text(ev, &args[0], &t)) ||
        !tsql_as_int(ev, &args[space ? 0 : 1], &count))
        return false;
    if (count < 0)
        return true;
    for (int64_t i = 0; i < count && b.len < 16000; i++)
        sim_bytes_text(&b, t);
    tsql_set_text(ev, out, sim_arena_dup(ev->arena, sim_bytes_str(&b)));
    sim_bytes_fini(&b);
    return true;
}

FUNCTION(fn_stuff)
{
    const char *t = NULL, *insert = "";
    int64_t start = 0, count = 0;
    UNUSED;
    if (any_null(args, 3))
        return true;
    if (!tsql_as_text(ev, &args[0], &t) || !tsql_as_int(ev, &args[1], &start) ||
        !tsql_as_int(ev, &args[2], &count) ||
        (!args[3].is_null && !tsql_as_text(ev, &args[3], &insert)))
        return false;
    if (start < 1 || count < 0 || (size_t)start > sim_utf16_len(t))
        return true;
    const char *left = sim_utf16_cut(ev->arena, t, 0, (size_t)start - 1);
    const char *right = sim_utf16_cut(ev->arena, t, (size_t)(start - 1 + count), 1U << 30);
    tsql_set_text(ev, out, sim_arena_printf(ev->arena, "%s%s%s", left, insert, right));
    return true;
}

FUNCTION(fn_reverse)
{
    const char *t = NULL;
    UNUSED;
    if (args[0].is_null)
        return true;
    if (!tsql_as_text(ev, &args[0], &t))
        return false;
    size_t at = strlen(t);
    char *reversed = sim_arena_alloc(ev->arena, at + 1);
    while (*t) {
        const char *one = t;
        sim_utf8_next(&t);
        at -= (size_t)(t - one);
        memcpy(reversed + at, one, (size_t)(t - one));
    }
    tsql_set_text(ev, out, reversed);
    return true;
}

FUNCTION(fn_quotename)
{
    const char *t = NULL, *mark = "[";
    struct bytes b = {0};
    UNUSED;
    if (any_null(args, n))
        return true;
    if (!tsql_as_text(ev, &args[0], &t) || (n > 1 && !tsql_as_text(ev, &args[1], &mark)))
        return false;
    char open = mark[0], close = open == '[' || open == ']' ? ']' : open == '(' ? ')' : open;
    if (sim_utf16_len(t) > 128 || !strchr("[]'\"()", open))
        return true;
    sim_bytes_u8(&b, open == ']' ? '[' : (unsigned char)open);
    for (; *t; t++) {
        sim_bytes_put(&b, t, 1);
        if (*t == close)
            sim_bytes_put(&b, t, 1);
    }
    sim_bytes_u8(&b, (unsigned char)close);
    tsql_set_text(ev, out, sim_arena_dup(ev->arena, sim_bytes_str(&b)));
    sim_bytes_fini(&b);
    return true;
}

FUNCTION(fn_char)
{
    int64_t code = 0;
    char text[8] = {0};
    UNUSED;
    if (any_null(args, n))
        return true;
    if (!tsql_as_int(ev, &args[0], &code))
        return false;
    if (code <= 0 || code > 0xFFFF || (code > 255 && sim_text_is(e->text, "CHAR")))
        return true;
    sim_utf8_put(text, (uint32_t)code);
    tsql_set_text(ev, out, sim_arena_dup(ev->arena, text));
    return true;
}

FUNCTION(fn_unicode)
{
    const char *t = NULL;
    UNUSED;
    if (any_null(args, n))
        return true;
    if (!tsql_as_text(ev, &args[0], &t))
        return false;
    if (*t)
        *out = sim_int(sim_utf8_next(&t));
    return true;
}

FUNCTION(fn_parsename)
{
    const char *t = NULL;
    int64_t part = 1;
    UNUSED;
    if (any_null(args, n))
        return true;
    if (!tsql_as_text(ev, &args[0], &t) || !tsql_as_int(ev, &args[1], &part))
        return false;
    const char *starts[5] = {t, NULL};
    int count = 1;
    for (const char *p = t; *p && count < 5; p++)
        if (*p == '.')
            starts[count++] = p + 1;
    if (part < 1 || part > count || count > 4)
        return true;
    const char *s = starts[count - part];
    tsql_set_text(ev, out, sim_arena_dupn(ev->arena, s, strcspn(s, ".")));
    return true;
}

FUNCTION(fn_coalesce)
{
    UNUSED;
    for (int i = 0; i < n; i++)
        if (!args[i].is_null)
            return tsql_cast(ev, &args[i], e->type, out);
    return true;
}

FUNCTION(fn_nullif)
{
    int error = 0;
    UNUSED;
    *out = args[0];
    if (!any_null(args, 2) && sim_compare(ev->arena, &args[0], &args[1], &error) == 0 && !error)
        out->is_null = true;
    return true;
}

FUNCTION(fn_isnumeric)
{
    struct value v = {0};
    UNUSED;
    *out = sim_int(!args[0].is_null && args[0].s != NULL &&
                   sim_convert(ev->arena, &args[0], sim_type(VT_FLOAT, 0), 0, &v) == 0);
    if (sim_type_is_number(&args[0].type))
        *out = sim_int(!args[0].is_null);
    return true;
}

FUNCTION(fn_newid)
{
    uint8_t guid[16];
    UNUSED;
    pthread_mutex_lock(&ev->session->sim->lock);
    sim_fill_guid_locked(ev->session->sim, guid);
    pthread_mutex_unlock(&ev->session->sim->lock);
    *out = sim_guid(sim_arena_dupn(ev->arena, guid, 16));
    return true;
}

/* clang-format off */
const struct function tsql_text_functions[] = {
    {"LEN", 1, 1, R_INT, fn_len, 0},           {"DATALENGTH", 1, 1, R_INT, fn_datalength, 0},
    {"LTRIM", 1, 1, R_TEXT0, fn_trim, 0},      {"RTRIM", 1, 1, R_TEXT0, fn_trim, 0},
    {"TRIM", 1, 1, R_TEXT0, fn_trim, 14},      {"UPPER", 1, 1, R_TEXT0, fn_case, 0},
    {"LOWER", 1, 1, R_TEXT0, fn_case, 0},      {"SUBSTRING", 3, 3, R_TEXT0, fn_substring, 0},
    {"LEFT", 2, 2, R_TEXT0, fn_substring, 0},  {"RIGHT", 2, 2, R_TEXT0, fn_substring, 0},
    {"CHARINDEX", 2, 3, R_INT, fn_charindex, 0}, {"REPLACE", 3, 3, R_LONG0, fn_replace, 0},
    {"CONCAT", 2, 254, R_CONCAT, fn_concat, 11}, {"CONCAT_WS", 3, 254, R_CONCAT, fn_concat, 14},
    {"REPLICATE", 2, 2, R_LONG0, fn_replicate, 0}, {"SPACE", 1, 1, R_VARCHAR, fn_replicate, 0},
    {"STUFF", 4, 4, R_LONG0, fn_stuff, 0},     {"REVERSE", 1, 1, R_TEXT0, fn_reverse, 0},
    {"QUOTENAME", 1, 2, R_NAME, fn_quotename, 0}, {"CHAR", 1, 1, R_VARCHAR, fn_char, 0},
    {"NCHAR", 1, 1, R_TEXT, fn_char, 0},       {"UNICODE", 1, 1, R_INT, fn_unicode, 0},
    {"ASCII", 1, 1, R_INT, fn_unicode, 0},     {"PARSENAME", 2, 2, R_NAME, fn_parsename, 0},
    {"COALESCE", 2, 254, R_MERGE, fn_coalesce, 0}, {"ISNULL", 2, 2, R_ARG0, fn_coalesce, 0},
    {"NULLIF", 2, 2, R_ARG0, fn_nullif, 0},    {"ISNUMERIC", 1, 1, R_INT, fn_isnumeric, 0},
    {"NEWID", 0, 0, R_GUID, fn_newid, 0},
    {NULL, 0, 0, 0, NULL, 0},
};
/* clang-format on */

const struct function *tsql_function(const struct sim *sim, const char *name)
{
    const struct function *const tables[] = {tsql_text_functions, tsql_math_functions,
                                             tsql_time_functions, tsql_server_functions,
                                             tsql_hadr_functions, tsql_json_functions};
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
        for (const struct function *fn = tables[t]; fn->name; fn++)
            if (sim_text_is(fn->name, name))
                return sim->major >= fn->since ? fn : NULL;
    return NULL;
}

static struct type concat_type(const struct expr *e)
{
    int length = 0;
    bool wide = false;
    for (int i = 0; i < e->count; i++) {
        const struct type *t = &e->args[i]->type;
        wide = wide || t->base == VT_NVARCHAR;
        length = length < 0 || (sim_type_is_text(t) && t->length < 0)
                     ? -1
                     : length + (sim_type_is_text(t) ? t->length : 40);
    }
    int most = wide ? 4000 : 8000;
    return sim_type(wide ? VT_NVARCHAR : VT_VARCHAR, length > most ? most : length);
}

struct type tsql_function_type(const struct function *fn, const struct expr *e)
{
    static const enum vt plain[] = {[R_INT] = VT_INT,
                                    [R_BIGINT] = VT_BIGINT,
                                    [R_BIT] = VT_BIT,
                                    [R_FLOAT] = VT_FLOAT,
                                    [R_DATETIME] = VT_DATETIME,
                                    [R_DATETIME2] = VT_DATETIME2,
                                    [R_OFFSET] = VT_DATETIMEOFFSET,
                                    [R_DATE] = VT_DATE,
                                    [R_GUID] = VT_GUID,
                                    [R_VARIANT] = VT_VARIANT};
    struct type first = e->count ? e->args[0]->type : sim_type(VT_INT, 0);
    bool narrow = first.base == VT_VARCHAR;

    if (fn->result <= R_VARIANT)
        return sim_type(plain[fn->result], 0);
    if (fn->result == R_NAME)
        return sim_type(VT_NVARCHAR, sim_text_is(fn->name, "QUOTENAME") ? 258 : 128);
    if (fn->result == R_TEXT)
        return sim_type(VT_NVARCHAR, 4000);
    if (fn->result == R_VARCHAR)
        return sim_type(VT_VARCHAR, 8000);
    if (fn->result == R_BINARY)
        return sim_type(VT_VARBINARY, 8000);
    if (fn->result == R_ARG2)
        return e->count > 2 && sim_type_is_time(&e->args[2]->type) ? e->args[2]->type
                                                                   : sim_type(VT_DATETIME, 0);
    if (fn->result == R_TEXT0)
        return sim_type_is_text(&first) ? sim_type(first.base, first.length)
                                        : sim_type(VT_VARCHAR, 8000);
    if (fn->result == R_LONG0)
        return sim_type(narrow ? VT_VARCHAR : VT_NVARCHAR, narrow ? 8000 : 4000);
    if (fn->result == R_CONCAT)
        return concat_type(e);
    if (fn->result == R_MERGE) {
        struct type t = first;
        for (int i = 1; i < e->count; i++)
            t = sim_type_merge(t, e->args[i]->type);
        return t;
    }
    if (first.base == VT_NULL && e->count > 1)
        return e->args[1]->type;
    return first.base == VT_NULL ? sim_type(VT_INT, 0) : first;
}
