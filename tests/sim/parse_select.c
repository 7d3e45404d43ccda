/* parse_select.c: SELECT with FROM, GROUP BY, ORDER BY, UNION, WITH, and VALUES lists. */
#include "ast.h"

static bool ends_item(const struct parser *p)
{
    const struct token *t = tsql_peek(p);
    return t->kind != T_NAME || (!t->quoted && tsql_is_reserved(t->text)) ||
           (!t->quoted && (sim_text_is(t->text, "go") || sim_text_is(t->text, "offset") ||
                           sim_text_is(t->text, "throw")));
}

static struct item select_item(struct parser *p)
{
    struct item item = {0};

    if (tsql_is(p, "*")) {
        item.expr = sim_arena_alloc(p->arena, sizeof(*item.expr));
        item.expr->kind = E_STAR;
        item.expr->line = tsql_next(p)->line;
        return item;
    }
    if (tsql_peek(p)->kind == T_VAR && tsql_is_at(p, 1, "=")) {
        item.target = tsql_next(p)->text;
        tsql_next(p);
        item.expr = tsql_expr(p);
        return item;
    }
    if (tsql_peek(p)->kind == T_NAME && tsql_is_at(p, 1, "=")) {
        item.alias = tsql_next(p)->text;
        tsql_next(p);
        item.expr = tsql_expr(p);
        return item;
    }
    item.expr = tsql_expr(p);
    if (tsql_accept(p, "AS")) {
        if (tsql_peek(p)->kind == T_TEXT)
            item.alias = tsql_next(p)->text;
        else
            item.alias = tsql_identifier(p);
    } else if (tsql_peek(p)->kind == T_TEXT || !ends_item(p)) {
        item.alias = tsql_next(p)->text;
    }
    return item;
}

static const char **column_names(struct parser *p, int *count)
{
    const char **names = NULL;
    *count = 0;
    do {
        names = sim_arena_grow(p->arena, names, (size_t)*count, sizeof(*names));
        names[(*count)++] = tsql_identifier(p);
    } while (tsql_accept(p, ","));
    tsql_expect(p, ")");
    return names;
}

static void hints(struct parser *p)
{
    if (!tsql_accept(p, "WITH") && !(tsql_is(p, "(") && tsql_is_at(p, 1, "NOLOCK")))
        return;
    tsql_expect(p, "(");
    while (!tsql_is(p, ")") && tsql_peek(p)->kind != T_END)
        tsql_next(p);
    tsql_expect(p, ")");
}

static void alias(struct parser *p, struct from *f)
{
    if (tsql_accept(p, "AS"))
        f->alias = tsql_identifier(p);
    else if (!ends_item(p))
        f->alias = tsql_next(p)->text;
    if (f->alias && tsql_is(p, "(") && !tsql_is_at(p, 1, "NOLOCK")) {
        tsql_next(p);
        f->columns = column_names(p, &f->column_count);
    }
}

static struct select *values_list(struct parser *p)
{
    struct select *s = sim_arena_alloc(p->arena, sizeof(*s));

    s->line = tsql_peek(p)->line;
    tsql_expect(p, "VALUES");
    do {
        struct expr **row = NULL;
        int n = 0;
        tsql_expect(p, "(");
        do {
            row = sim_arena_grow(p->arena, row, (size_t)n, sizeof(struct expr *));
            if (tsql_is(p, "DEFAULT")) {
                row[n] = sim_arena_alloc(p->arena, sizeof(struct expr));
                row[n++]->kind = E_STAR;
                tsql_next(p);
            } else {
                row[n++] = tsql_expr(p);
            }
        } while (tsql_accept(p, ","));
        tsql_expect(p, ")");
        if (s->value_count && n != s->item_count)
            tsql_fail(p, 10709, "");
        s->item_count = n;
        s->values = sim_arena_grow(p->arena, s->values, (size_t)s->value_count, sizeof(*s->values));
        s->values[s->value_count++] = row;
    } while (tsql_accept(p, ","));
    return s;
}

static struct from *table_source(struct parser *p)
{
    struct from *f = sim_arena_alloc(p->arena, sizeof(*f));

    if (tsql_accept(p, "(")) {
        if (tsql_is(p, "SELECT") || tsql_is(p, "VALUES") || tsql_is(p, "WITH")) {
            f->kind = F_QUERY;
            f->query = tsql_select(p);
            tsql_expect(p, ")");
            alias(p, f);
            if (!f->alias)
                tsql_fail_here(p);
            return f;
        }
        f = tsql_from(p);
        tsql_expect(p, ")");
        return f;
    }
    f->kind = F_TABLE;
    if (tsql_peek(p)->kind == T_VAR) {
        f->name =
            (struct name){.part = {tsql_peek(p)->text}, .count = 1, .line = tsql_peek(p)->line};
        tsql_next(p);
    } else {
        tsql_accept(p, "::");
        f->name = tsql_name(p);
    }
    if (tsql_is(p, "(") && !tsql_is_at(p, 1, "NOLOCK")) {
        tsql_next(p);
        f->is_call = true;
        while (!tsql_is(p, ")") && tsql_peek(p)->kind != T_END) {
            f->args = sim_arena_grow(p->arena, f->args, (size_t)f->arg_count, sizeof(*f->args));
            if (tsql_is(p, "DEFAULT")) {
                struct expr *e = sim_arena_alloc(p->arena, sizeof(*e));
                e->kind = E_LITERAL;
                e->literal = sim_null(sim_type(VT_NULL, 0));
                f->args[f->arg_count++] = e;
                tsql_next(p);
            } else {
                f->args[f->arg_count++] = tsql_expr(p);
            }
            if (!tsql_accept(p, ","))
                break;
        }
        tsql_expect(p, ")");
    }
    alias(p, f);
    hints(p);
    if (!f->alias)
        alias(p, f);
    return f;
}

static bool join_kind(struct parser *p, enum join_kind *kind)
{
    bool apply = tsql_is_at(p, 1, "APPLY");

    if (tsql_is(p, "CROSS") || (tsql_is(p, "OUTER") && apply)) {
        *kind = !apply ? J_CROSS : tsql_is(p, "CROSS") ? J_CROSS_APPLY : J_OUTER_APPLY;
        tsql_next(p);
        if (!tsql_accept(p, "APPLY"))
            tsql_expect(p, "JOIN");
        return true;
    }
    if (tsql_accept(p, ",")) {
        *kind = J_CROSS;
        return true;
    }
    *kind = J_INNER;
    if (tsql_accept(p, "JOIN"))
        return true;
    if (tsql_is(p, "INNER") || tsql_is(p, "LEFT") || tsql_is(p, "RIGHT") || tsql_is(p, "FULL")) {
        *kind = tsql_is(p, "LEFT")    ? J_LEFT
                : tsql_is(p, "RIGHT") ? J_RIGHT
                : tsql_is(p, "FULL")  ? J_FULL
                                      : J_INNER;
        tsql_next(p);
        tsql_accept(p, "OUTER");
        tsql_expect(p, "JOIN");
        return true;
    }
    return false;
}

struct from *tsql_from(struct parser *p)
{
    tsql_enter(p);
    struct from *left = table_source(p);
    enum join_kind kind = J_CROSS;

    while (!p->error && join_kind(p, &kind)) {
        struct from *f = sim_arena_alloc(p->arena, sizeof(*f));
        f->kind = F_JOIN;
        f->join = kind;
        f->left = left;
        f->right = table_source(p);
        if (kind != J_CROSS && kind != J_CROSS_APPLY && kind != J_OUTER_APPLY) {
            tsql_expect(p, "ON");
            f->on = tsql_condition(p);
        }
        left = f;
    }
    p->depth--;
    return left;
}

static void group_by(struct parser *p, struct select *s)
{
    tsql_expect(p, "BY");
    do {
        s->group = sim_arena_grow(p->arena, s->group, (size_t)s->group_count, sizeof(*s->group));
        s->group[s->group_count++] = tsql_expr(p);
    } while (tsql_accept(p, ","));
}

static struct select *select_core(struct parser *p)
{
    if (tsql_is(p, "VALUES"))
        return values_list(p);
    if (tsql_accept(p, "(")) {
        struct select *inner = tsql_select(p);
        tsql_expect(p, ")");
        return inner;
    }
    struct select *s = sim_arena_alloc(p->arena, sizeof(*s));
    s->line = tsql_peek(p)->line;
    tsql_expect(p, "SELECT");
    s->distinct = tsql_accept(p, "DISTINCT");
    if (!s->distinct)
        tsql_accept(p, "ALL");
    if (tsql_accept(p, "TOP")) {
        bool paren = tsql_accept(p, "(");
        s->top = paren ? tsql_expr(p) : NULL;
        if (paren) {
            tsql_expect(p, ")");
        } else { /* a bare number; an expression would swallow the select list's star */
            s->top = sim_arena_alloc(p->arena, sizeof(*s->top));
            s->top->kind = E_LITERAL;
            struct value n = sim_text(tsql_next(p)->text);
            if (sim_convert(p->arena, &n, sim_type(VT_BIGINT, 0), 0, &s->top->literal))
                tsql_fail_here(p);
        }
        s->top_percent = tsql_accept(p, "PERCENT");
        if (tsql_accept(p, "WITH"))
            tsql_expect(p, "TIES");
    }
    do {
        s->items = sim_arena_grow(p->arena, s->items, (size_t)s->item_count, sizeof(*s->items));
        s->items[s->item_count++] = select_item(p);
    } while (tsql_accept(p, ","));
    if (tsql_accept(p, "INTO"))
        s->into = tsql_name(p);
    if (tsql_accept(p, "FROM"))
        s->from = tsql_from(p);
    if (tsql_accept(p, "WHERE"))
        s->where = tsql_condition(p);
    if (tsql_accept(p, "GROUP"))
        group_by(p, s);
    if (tsql_accept(p, "HAVING"))
        s->having = tsql_condition(p);
    return s;
}

static void common_tables(struct parser *p, struct cte **ctes, int *count)
{
    do {
        *ctes = sim_arena_grow(p->arena, *ctes, (size_t)*count, sizeof(**ctes));
        struct cte *c = &(*ctes)[(*count)++];
        c->name = tsql_identifier(p);
        if (tsql_accept(p, "("))
            c->columns = column_names(p, &c->column_count);
        tsql_expect(p, "AS");
        tsql_expect(p, "(");
        c->query = tsql_select(p);
        tsql_expect(p, ")");
    } while (tsql_accept(p, ","));
}

static void order_by(struct parser *p, struct select *s)
{
    tsql_expect(p, "BY");
    do {
        s->order = sim_arena_grow(p->arena, s->order, (size_t)s->order_count, sizeof(*s->order));
        struct order *o = &s->order[s->order_count++];
        o->expr = tsql_expr(p);
        o->descending = tsql_accept(p, "DESC");
        if (!o->descending)
            tsql_accept(p, "ASC");
    } while (tsql_accept(p, ","));
    if (tsql_accept(p, "OFFSET")) {
        s->offset = tsql_expr(p);
        if (!tsql_accept(p, "ROWS"))
            tsql_expect(p, "ROW");
        if (tsql_accept(p, "FETCH")) {
            if (!tsql_accept(p, "NEXT"))
                tsql_expect(p, "FIRST");
            s->fetch = tsql_expr(p);
            if (!tsql_accept(p, "ROWS"))
                tsql_expect(p, "ROW");
            tsql_expect(p, "ONLY");
        }
    }
}

struct select *tsql_select(struct parser *p)
{
    struct cte *ctes = NULL;
    int cte_count = 0;

    tsql_enter(p);
    if (tsql_accept(p, "WITH"))
        common_tables(p, &ctes, &cte_count);
    struct select *first = select_core(p), *last = first;
    while (last->next)
        last = last->next;
    while (tsql_is(p, "UNION") || tsql_is(p, "EXCEPT") || tsql_is(p, "INTERSECT")) {
        char op = tsql_is(p, "EXCEPT") ? 'e' : tsql_is(p, "INTERSECT") ? 'i' : 'u';
        tsql_next(p);
        if (op == 'u' && tsql_accept(p, "ALL"))
            op = 'a';
        last->set_op = op;
        last->next = select_core(p);
        last = last->next;
    }
    first->ctes = ctes;
    first->cte_count = cte_count;
    if (tsql_accept(p, "ORDER"))
        order_by(p, first);
    if (tsql_accept(p, "OPTION")) {
        tsql_expect(p, "(");
        while (!tsql_is(p, ")") && tsql_peek(p)->kind != T_END)
            tsql_next(p);
        tsql_expect(p, ")");
    }
    p->depth--;
    return first;
}
