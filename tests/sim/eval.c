#include "eval.h"

#include <string.h>

/* Conditions have three values: 1, 0, and null for unknown. */
static struct value truth(int v)
{
    struct value out = sim_bit(v == 1);
    out.is_null = v < 0;
    return out;
}

bool tsql_conversion_error(struct session *s, int number, const struct value *v, struct type to)
{
    const char *from = sim_type_name(&v->type), *target = sim_type_name(&to);
    const char *text = sim_value_text(&s->arena, v, 0);

    if (number == 245 || number == 244 || number == 248)
        return sim_raise(s, number, 1, from, text, target, NULL);
    if (number == 8114 || number == 529)
        return sim_raise(s, number, 5, from, target, NULL);
    if (number == 8115)
        return sim_raise(s, number, 2,
                         sim_type_is_number(&v->type) && v->type.base == to.base ? "expression"
                                                                                 : from,
                         v->type.base == VT_DECIMAL ? "numeric" : target, NULL);
    if (number == 220)
        return sim_raise(s, number, 2, target, text, NULL);
    if (number == 232)
        return sim_raise(s, number, 3, target, NULL);
    if (number == 242)
        return sim_raise(s, number, 3, from, NULL);
    if (number == 402)
        return sim_raise(s, number, 1, from, target, "arithmetic", NULL);
    if (number == 8117)
        return sim_raise(s, number, 1, from, "arithmetic", NULL);
    return sim_raise(s, number, 1, NULL);
}

bool tsql_cast(struct eval *ev, const struct value *in, struct type to, struct value *out)
{
    int error = sim_convert(ev->arena, in, to, 0, out);
    return error ? tsql_conversion_error(ev->session, error, in, to) : true;
}

static bool compare(struct eval *ev, const struct value *a, const struct value *b, int *out)
{
    int error = 0;
    *out = sim_compare(ev->arena, a, b, &error);
    if (!error)
        return true;
    bool a_is_text = sim_type_is_text(&a->type);
    return tsql_conversion_error(ev->session, error, a_is_text ? a : b,
                                 a_is_text ? b->type : a->type);
}

static bool eval_compare(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value a = {0}, b = {0};
    int c = 0;

    if (!tsql_eval(ev, e->args[0], &a) || !tsql_eval(ev, e->args[1], &b))
        return false;
    *out = truth(-1);
    if (a.is_null || b.is_null)
        return true;
    if (!compare(ev, &a, &b, &c))
        return false;
    bool good = e->op == '='   ? c == 0
                : e->op == '#' ? c != 0
                : e->op == '<' ? c < 0
                : e->op == '>' ? c > 0
                : e->op == 'l' ? c <= 0
                               : c >= 0;
    *out = truth(good);
    return true;
}

static bool eval_logic(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value a = {0}, b = {0};

    if (e->kind == E_NOT) {
        if (!tsql_eval(ev, e->left, &a))
            return false;
        *out = truth(a.is_null ? -1 : !a.i);
        return true;
    }
    if (!tsql_eval(ev, e->args[0], &a))
        return false;
    int stop = e->kind == E_OR; /* this value decides */
    if (!a.is_null && a.i == stop) {
        *out = truth(stop);
        return true;
    }
    if (!tsql_eval(ev, e->args[1], &b))
        return false;
    if (!b.is_null && b.i == stop)
        *out = truth(stop);
    else
        *out = truth(a.is_null || b.is_null ? -1 : !stop);
    return true;
}

static bool in_rows(struct eval *ev, const struct expr *e, const struct value *v, int *out)
{
    struct rowset *rows = NULL;
    bool unknown = false;
    int c = 0;

    if (!tsql_query(ev->frame, e->query, ev->scope, false, &rows))
        return false;
    for (int r = 0; r < rows->row_count; r++) {
        if (v->is_null || rows->rows[r][0].is_null) {
            unknown = true;
            continue;
        }
        if (!compare(ev, v, &rows->rows[r][0], &c))
            return false;
        if (c == 0) {
            *out = 1;
            return true;
        }
    }
    *out = unknown ? -1 : 0;
    return true;
}

static bool eval_in(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value v = {0}, w = {0};
    int found = 0, c = 0;

    if (!tsql_eval(ev, e->left, &v))
        return false;
    if (e->query && !in_rows(ev, e, &v, &found))
        return false;
    for (int i = 0; i < e->count && found != 1; i++) {
        if (!tsql_eval(ev, e->args[i], &w))
            return false;
        if (v.is_null || w.is_null) {
            found = -1;
            continue;
        }
        if (!compare(ev, &v, &w, &c))
            return false;
        if (c == 0)
            found = 1;
    }
    *out = truth(found < 0 ? -1 : found != e->negated);
    return true;
}

static bool eval_between(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value v = {0}, low = {0}, high = {0};
    int a = 0, b = 0;

    if (!tsql_eval(ev, e->left, &v) || !tsql_eval(ev, e->args[0], &low) ||
        !tsql_eval(ev, e->args[1], &high))
        return false;
    *out = truth(-1);
    if (v.is_null || low.is_null || high.is_null)
        return true;
    if (!compare(ev, &v, &low, &a) || !compare(ev, &v, &high, &b))
        return false;
    *out = truth((a >= 0 && b <= 0) != e->negated);
    return true;
}

static bool eval_like(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value v = {0}, pattern = {0}, escape = sim_text("");
    struct type text = sim_type(VT_NVARCHAR, -1);

    if (!tsql_eval(ev, e->left, &v) || !tsql_eval(ev, e->args[0], &pattern) ||
        (e->count > 1 && !tsql_eval(ev, e->args[1], &escape)))
        return false;
    *out = truth(-1);
    if (v.is_null || pattern.is_null || escape.is_null)
        return true;
    if (!tsql_cast(ev, &v, text, &v) || !tsql_cast(ev, &pattern, text, &pattern))
        return false;
    const char *p = escape.s;
    *out = truth(sim_text_like(v.s, pattern.s, *p ? sim_utf8_next(&p) : 0) != e->negated);
    return true;
}

static bool eval_case(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value left = {0}, when = {0}, then = sim_null(e->type);
    int branches = e->count - e->has_else, c = 0;

    if (e->left && !tsql_eval(ev, e->left, &left))
        return false;
    for (int i = 0; i < branches; i += 2) {
        if (!tsql_eval(ev, e->args[i], &when))
            return false;
        bool hit = !when.is_null;
        if (e->left && (hit = hit && !left.is_null)) {
            if (!compare(ev, &left, &when, &c))
                return false;
            hit = c == 0;
        } else if (!e->left) {
            hit = hit && when.i;
        }
        if (hit)
            return tsql_eval(ev, e->args[i + 1], &then) && tsql_cast(ev, &then, e->type, out);
    }
    if (e->has_else && !tsql_eval(ev, e->args[e->count - 1], &then))
        return false;
    return tsql_cast(ev, &then, e->type, out);
}

static bool eval_cast(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value v = {0}, style = sim_int(0);

    if (!tsql_eval(ev, e->left, &v) || (e->count && !tsql_eval(ev, e->args[0], &style)))
        return false;
    int error = sim_convert(ev->arena, &v, e->type, (int)style.i, out);
    if (error && e->tried) {
        *out = sim_null(e->type);
        return true;
    }
    return error ? tsql_conversion_error(ev->session, error, &v, e->type) : true;
}

static bool eval_binary(struct eval *ev, const struct expr *e, struct value *out)
{
    struct value a = {0}, b = {0};

    if (!tsql_eval(ev, e->args[0], &a) || !tsql_eval(ev, e->args[1], &b))
        return false;
    int error = sim_arith(ev->arena, e->op, &a, &b, out);
    if (!error)
        return true;
    if (error == 8134)
        return sim_raise(ev->session, 8134, 1, NULL);
    if (error == 8115)
        return sim_raise(ev->session, 8115, 2, "expression", sim_type_name(&e->type), NULL);
    bool a_is_text = sim_type_is_text(&a.type);
    return tsql_conversion_error(ev->session, error, a_is_text ? &a : &b,
                                 a_is_text ? b.type : a.type);
}

static bool eval_sign(struct eval *ev, const struct expr *e, struct value *out)
{
    if (!tsql_eval(ev, e->left, out))
        return false;
    if (e->kind == E_INVERT) {
        out->i = out->type.base == VT_BIT ? !out->i : ~out->i;
        return true;
    }
    out->i = -out->i;
    out->f = -out->f;
    out->dec = -out->dec;
    return true;
}

static bool eval_query(struct eval *ev, const struct expr *e, struct value *out)
{
    struct rowset *rows = NULL;

    if (!tsql_query(ev->frame, e->query, ev->scope, false, &rows))
        return false;
    if (e->kind == E_EXISTS) {
        *out = truth(rows->row_count > 0);
        return true;
    }
    if (rows->row_count > 1)
        return sim_raise(ev->session, 512, 1, NULL);
    *out = rows->row_count ? rows->rows[0][0] : sim_null(e->type);
    return true;
}

static bool eval_function(struct eval *ev, const struct expr *e, struct value *out)
{
    const struct function *fn = e->bound;
    struct value *args = sim_arena_alloc(ev->arena, (size_t)(e->count + 1) * sizeof(*args));

    if (e->slot >= 0) { /* an aggregate or window, computed before */
        *out = ev->scope->slots ? ev->scope->slots[e->slot] : sim_null(e->type);
        return true;
    }
    for (int i = 0; i < e->count; i++)
        if (!tsql_eval(ev, e->args[i], &args[i]))
            return false;
    *out = sim_null(e->type);
    return fn->call(ev, e, args, e->count, out);
}

static bool eval_leaf(struct eval *ev, const struct expr *e, struct value *out)
{
    if (e->kind == E_LITERAL) {
        *out = e->literal;
        return true;
    }
    if (e->kind == E_SYSVAR)
        return tsql_sysvar(ev, e->text, out);
    if (e->kind == E_VAR) {
        const struct variable *v = sim_variable_find(ev->frame, e->text);
        *out = v ? v->value : sim_null(e->type);
        return true;
    }
    const struct scope *scope = ev->scope;
    for (int d = 0; d < e->depth && scope; d++)
        scope = scope->parent;
    const struct value *row = scope ? scope->sources[e->source].row : NULL;
    *out = row ? row[e->column] : sim_null(e->type);
    return true;
}

bool tsql_eval(struct eval *ev, const struct expr *e, struct value *out)
{
    switch (e->kind) {
    case E_LITERAL:
    case E_COLUMN:
    case E_VAR:
    case E_SYSVAR:
        return eval_leaf(ev, e, out);
    case E_NEGATE:
    case E_INVERT:
        return eval_sign(ev, e, out);
    case E_BINARY:
        return eval_binary(ev, e, out);
    case E_AND:
    case E_OR:
    case E_NOT:
        return eval_logic(ev, e, out);
    case E_COMPARE:
        return eval_compare(ev, e, out);
    case E_IN:
        return eval_in(ev, e, out);
    case E_BETWEEN:
        return eval_between(ev, e, out);
    case E_LIKE:
        return eval_like(ev, e, out);
    case E_IS_NULL:
        if (!tsql_eval(ev, e->left, out))
            return false;
        *out = truth(out->is_null != e->negated);
        return true;
    case E_CASE:
        return eval_case(ev, e, out);
    case E_CAST:
        return eval_cast(ev, e, out);
    case E_FUNC:
        return eval_function(ev, e, out);
    case E_EXISTS:
    case E_SUBQUERY:
        return eval_query(ev, e, out);
    case E_STAR:
        break;
    }
    *out = sim_null(sim_type(VT_INT, 0));
    return true;
}

bool tsql_true(struct eval *ev, const struct expr *e, bool *out)
{
    struct value v = {0};
    if (!tsql_eval(ev, e, &v))
        return false;
    *out = !v.is_null && v.i;
    return true;
}

bool tsql_value(struct frame *f, struct expr *e, struct value *out)
{
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    return tsql_bind(&ev, e) && tsql_eval(&ev, e, out);
}

bool tsql_condition_value(struct frame *f, struct expr *e, bool *out)
{
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    return tsql_bind(&ev, e) && tsql_true(&ev, e, out);
}
