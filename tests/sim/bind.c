/* bind.c: finds what names mean, and the types of expressions. */
#include <string.h>

#include "eval.h"

static const char *const aggregates[] = {"COUNT",      "COUNT_BIG", "SUM",    "MIN", "MAX",  "AVG",
                                         "STRING_AGG", "STDEV",     "STDEVP", "VAR", "VARP", NULL};
static const char *const rankings[] = {"ROW_NUMBER", "RANK", "DENSE_RANK", NULL};

static bool listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (sim_text_is(*list, name))
            return true;
    return false;
}

bool tsql_is_aggregate(const struct expr *e)
{
    return e->kind == E_FUNC && e->name.count == 1 && !e->has_over && listed(aggregates, e->text);
}

static const char *full_name(struct arena *arena, const struct name *n)
{
    struct bytes b = {0};
    for (int i = 0; i < n->count; i++)
        sim_bytes_printf(&b, "%s%s", i ? "." : "", n->part[i] ? n->part[i] : "");
    char *text = sim_arena_dup(arena, sim_bytes_str(&b));
    sim_bytes_fini(&b);
    return text;
}

static bool source_fits(const struct source *src, const struct name *n)
{
    if (n->count == 1)
        return true;
    const char *table = n->part[n->count - 2];
    if (!table)
        return false;
    return sim_text_is(src->alias ? src->alias : src->table, table);
}

/* 1 found, 0 not, -1 ambiguous. */
static int find_column(const struct scope *scope, struct expr *e)
{
    int found = 0;
    for (int i = 0; i < scope->source_count; i++) {
        const struct source *src = &scope->sources[i];
        if (!source_fits(src, &e->name) || !src->rows)
            continue;
        for (int c = 0; c < src->rows->column_count; c++)
            if (src->rows->columns[c].name && sim_text_is(src->rows->columns[c].name, e->text)) {
                if (found)
                    return -1;
                found = 1;
                e->source = i;
                e->column = c;
                e->type = src->rows->columns[c].type;
            }
    }
    return found;
}

static bool bind_column(struct eval *ev, struct expr *e)
{
    struct session *s = ev->session;

    e->depth = 0;
    for (const struct scope *scope = ev->scope; scope; scope = scope->parent, e->depth++) {
        int found = find_column(scope, e);
        if (found < 0)
            return sim_raise(s, 209, 1, e->text, NULL);
        if (found)
            return true;
    }
    if (e->name.count > 1)
        return sim_raise(s, 4104, 1, full_name(ev->arena, &e->name), NULL);
    return sim_raise(s, 207, 1, e->text, NULL);
}

static bool bind_list(struct eval *ev, struct expr **list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i]->kind != E_STAR && !tsql_bind(ev, list[i]))
            return false;
    return true;
}

static struct type aggregate_type(const struct expr *e)
{
    struct type t = e->count && e->args[0]->kind != E_STAR ? e->args[0]->type : sim_type(VT_INT, 0);

    if (sim_text_is(e->text, "COUNT"))
        return sim_type(VT_INT, 0);
    if (sim_text_is(e->text, "COUNT_BIG"))
        return sim_type(VT_BIGINT, 0);
    if (sim_text_is(e->text, "MIN") || sim_text_is(e->text, "MAX"))
        return t;
    if (sim_text_is(e->text, "STRING_AGG"))
        return sim_type(VT_NVARCHAR, t.length < 0 ? -1 : 4000);
    if (sim_text_is(e->text, "SUM") || sim_text_is(e->text, "AVG")) {
        if (t.base == VT_DECIMAL)
            return sim_type_decimal(38, sim_text_is(e->text, "AVG") && t.scale < 6 ? 6 : t.scale);
        return t.base < VT_INT && sim_type_is_int(&t) ? sim_type(VT_INT, 0)
               : t.base == VT_REAL                    ? sim_type(VT_FLOAT, 0)
                                                      : t;
    }
    return sim_type(VT_FLOAT, 0);
}

static void remember(struct eval *ev, struct expr ***list, int *count, struct expr *e)
{
    *list = sim_arena_grow(ev->arena, *list, (size_t)*count, sizeof(struct expr *));
    (*list)[(*count)++] = e;
    e->slot = ev->scope->slot_count++;
}

static bool bind_aggregate(struct eval *ev, struct expr *e)
{
    struct scope *scope = ev->scope;
    if (!scope)
        return sim_raise(ev->session, 195, 10, e->text, "function name", NULL);
    bool was = scope->in_aggregate;
    scope->in_aggregate = true;
    bool good = bind_list(ev, e->args, e->count);
    for (int i = 0; good && i < e->over_order_count; i++)
        good = tsql_bind(ev, e->over_order[i].expr);
    scope->in_aggregate = was;
    e->type = aggregate_type(e);
    if (good)
        remember(ev, &scope->aggregates, &scope->aggregate_count, e);
    return good;
}

static bool bind_window(struct eval *ev, struct expr *e)
{
    struct scope *scope = ev->scope;
    bool ranking = listed(rankings, e->text);

    if (!scope || (!ranking && !listed(aggregates, e->text)))
        return sim_raise(ev->session, 195, 10, e->text, "windowed function name", NULL);
    if (!bind_list(ev, e->args, e->count) || !bind_list(ev, e->partition, e->partition_count))
        return false;
    for (int i = 0; i < e->over_order_count; i++)
        if (!tsql_bind(ev, e->over_order[i].expr))
            return false;
    e->type = ranking ? sim_type(VT_BIGINT, 0) : aggregate_type(e);
    remember(ev, &scope->windows, &scope->window_count, e);
    return true;
}

/* DATEADD (day, …): the first argument is a word, not a column. */
static void word_argument(struct expr *e)
{
    static const char *const with_word[] = {"DATEADD",  "DATEDIFF", "DATEDIFF_BIG",
                                            "DATEPART", "DATENAME", NULL};
    if (!listed(with_word, e->text) || !e->count || e->args[0]->kind != E_COLUMN)
        return;
    e->args[0]->kind = E_LITERAL;
    e->args[0]->literal = sim_text(e->args[0]->text);
}

static bool bind_function(struct eval *ev, struct expr *e)
{
    struct session *s = ev->session;

    if (e->has_over)
        return bind_window(ev, e);
    if (tsql_is_aggregate(e))
        return bind_aggregate(ev, e);
    const char *name = e->text;
    bool schema_call = e->name.count > 1; /* sys.fn_x(…) or a user's function */
    const struct function *fn = tsql_function(s->sim, name);
    if (!fn && schema_call)
        return sim_raise(s, 4121, 1, e->name.part[0] ? e->name.part[0] : "",
                         full_name(ev->arena, &e->name), NULL);
    if (!fn)
        return sim_raise(s, 195, 10, name, "built-in function name", NULL);
    word_argument(e);
    if (!bind_list(ev, e->args, e->count))
        return false;
    if (e->count < fn->least || e->count > fn->most)
        return sim_raise(s, 174, 1, name, sim_num(s, fn->least), NULL);
    e->bound = fn;
    e->type = tsql_function_type(fn, e);
    return true;
}

static bool bind_case(struct eval *ev, struct expr *e)
{
    struct type t = sim_type(VT_NULL, 0);

    if ((e->left && !tsql_bind(ev, e->left)) || !bind_list(ev, e->args, e->count))
        return false;
    for (int i = 1; i < e->count; i += 2)
        t = sim_type_merge(t, e->args[i]->type);
    if (e->has_else)
        t = sim_type_merge(t, e->args[e->count - 1]->type);
    e->type = t.base == VT_NULL ? sim_type(VT_INT, 0) : t;
    return true;
}

static bool bind_subquery(struct eval *ev, struct expr *e)
{
    struct rowset *rows = NULL;
    if (!tsql_query(ev->frame, e->query, ev->scope, true, &rows))
        return false;
    e->type = rows->column_count ? rows->columns[0].type : sim_type(VT_INT, 0);
    if (e->kind != E_SUBQUERY)
        e->type = sim_type(VT_BIT, 0);
    return true;
}

static bool bind_leaf(struct eval *ev, struct expr *e)
{
    if (e->kind == E_LITERAL) {
        e->type = e->literal.type;
        return true;
    }
    if (e->kind == E_VAR) {
        const struct variable *v = sim_variable_find(ev->frame, e->text);
        if (!v)
            return sim_raise(ev->session, 137, 2, e->text, NULL);
        e->type = v->value.type;
        return true;
    }
    struct value v = {0};
    if (!tsql_sysvar(ev, e->text, &v))
        return false;
    e->type = v.type;
    return true;
}

bool tsql_bind(struct eval *ev, struct expr *e)
{
    if (e->kind == E_LITERAL || e->kind == E_VAR || e->kind == E_SYSVAR)
        return bind_leaf(ev, e);
    if (e->kind == E_COLUMN)
        return bind_column(ev, e);
    if (e->kind == E_FUNC)
        return bind_function(ev, e);
    if (e->kind == E_CASE)
        return bind_case(ev, e);
    if (e->kind == E_STAR)
        return sim_raise(ev->session, 102, 1, "*", NULL);
    if ((e->left && !tsql_bind(ev, e->left)) || !bind_list(ev, e->args, e->count))
        return false;
    if (e->query)
        return bind_subquery(ev, e);
    if (e->kind == E_CAST)
        return true;
    if ((e->kind == E_NEGATE || e->kind == E_INVERT) && e->left)
        e->type = e->left->type;
    else if (e->kind == E_BINARY)
        e->type = sim_arith_type(e->op, e->args[0]->type, e->args[1]->type);
    else
        e->type = sim_type(VT_BIT, 0);
    return true;
}

bool tsql_same(const struct expr *a, const struct expr *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || a->op != b->op || a->count != b->count || a->query ||
        b->query)
        return false;
    if (a->kind == E_COLUMN)
        return a->depth == b->depth && a->source == b->source && a->column == b->column;
    if (!sim_text_is(a->text ? a->text : "", b->text ? b->text : "") ||
        ((a->left || b->left) && !tsql_same(a->left, b->left)))
        return false;
    if (a->kind == E_LITERAL) {
        struct arena arena = {0};
        bool same =
            !strcmp(sim_value_text(&arena, &a->literal, 0), sim_value_text(&arena, &b->literal, 0));
        sim_arena_fini(&arena);
        return same;
    }
    for (int i = 0; i < a->count; i++)
        if (!tsql_same(a->args[i], b->args[i]))
            return false;
    return true;
}
