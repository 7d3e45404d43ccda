/* join.c: FROM: sources, joins and applies, row by row. */
#include <string.h>

#include "eval.h"

static bool is_apply(const struct from *f)
{
    return f->join == J_CROSS_APPLY || f->join == J_OUTER_APPLY;
}

static void rename_columns(struct eval *ev, struct rowset **rows, const char **names, int count)
{
    if (!count)
        return;
    struct rowset *copy = sim_rowset_new(ev->arena);
    *copy = **rows;
    copy->columns =
        sim_arena_alloc(ev->arena, (size_t)(*rows)->column_count * sizeof(*copy->columns));
    for (int i = 0; i < copy->column_count; i++)
        copy->columns[i] = (struct column){.name = i < count ? names[i] : (*rows)->columns[i].name,
                                           .type = (*rows)->columns[i].type};
    *rows = copy;
}

static const struct cte *find_cte(const struct eval *ev, const struct from *f)
{
    if (f->kind != F_TABLE || f->name.count != 1 || f->is_call)
        return NULL;
    for (const struct scope *s = ev->scope; s; s = s->parent)
        for (int i = 0; i < s->cte_count; i++)
            if (sim_text_is(s->ctes[i].name, f->name.part[0]) &&
                s->ctes[i].query != s->select) /* recursion is not simulated */
                return &s->ctes[i];
    return NULL;
}

/* The rows (or only the columns) of one leaf for the current outer row. */
static bool leaf_rows(struct eval *ev, struct from *f, bool describe, struct rowset **out)
{
    const struct cte *cte = find_cte(ev, f);

    if (cte) {
        if (!tsql_query(ev->frame, cte->query, ev->scope, describe, out))
            return false;
        rename_columns(ev, out, cte->columns, cte->column_count);
    } else if (f->kind == F_QUERY) {
        if (!tsql_query(ev->frame, f->query, ev->scope, describe, out))
            return false;
    } else {
        struct value *args = sim_arena_alloc(ev->arena, (size_t)(f->arg_count + 1) * sizeof(*args));
        for (int i = 0; i < f->arg_count && !describe; i++)
            if (!tsql_bind(ev, f->args[i]) || !tsql_eval(ev, f->args[i], &args[i]))
                return false;
        if (!tsql_table(ev, f, describe, args, out))
            return false;
    }
    rename_columns(ev, out, f->columns, f->column_count);
    return true;
}

bool tsql_collect_sources(struct eval *ev, struct from *f)
{
    struct scope *scope = ev->scope;

    if (f->kind == F_JOIN)
        return tsql_collect_sources(ev, f->left) && tsql_collect_sources(ev, f->right);
    struct rowset *rows = NULL;
    if (!leaf_rows(ev, f, true, &rows))
        return false;
    scope->sources = sim_arena_grow(ev->arena, scope->sources, (size_t)scope->source_count,
                                    sizeof(*scope->sources));
    f->source = scope->source_count++;
    scope->sources[f->source] =
        (struct source){.alias = f->alias,
                        .rows = rows,
                        .table = f->kind == F_TABLE ? f->name.part[f->name.count - 1] : ""};
    return true;
}

bool tsql_bind_from(struct eval *ev, struct from *f)
{
    if (f->kind != F_JOIN)
        return true;
    return tsql_bind_from(ev, f->left) && tsql_bind_from(ev, f->right) &&
           (!f->on || tsql_bind(ev, f->on));
}

void tsql_set_current(struct scope *scope, const struct tuple *t)
{
    for (int i = 0; i < scope->source_count; i++)
        scope->sources[i].row = t->rows[i];
    scope->slots = t->slots;
}

static void add_tuple(struct eval *ev, struct tuples *out, struct value **rows)
{
    out->list = sim_arena_grow(ev->arena, out->list, (size_t)out->count, sizeof(*out->list));
    out->list[out->count++] = (struct tuple){.rows = rows};
}

static struct value **copy_rows(struct eval *ev, const struct tuple *t)
{
    size_t n = (size_t)ev->scope->source_count;
    struct value **rows = sim_arena_alloc(ev->arena, (n + 1) * sizeof(*rows));
    memcpy(rows, t->rows, n * sizeof(*rows));
    return rows;
}

static bool join_leaf(struct eval *ev, struct from *f, struct tuples *in, struct tuples *out)
{
    struct rowset *rows = NULL;
    bool depends = f->arg_count > 0 || f->kind == F_QUERY;

    for (int i = 0; i < in->count; i++) {
        if (depends || !rows) {
            tsql_set_current(ev->scope, &in->list[i]);
            if (!leaf_rows(ev, f, false, &rows))
                return false;
        }
        for (int r = 0; r < rows->row_count; r++) {
            if (ev->scope->limit && out->count >= ev->scope->limit)
                return true;
            struct value **tuple = copy_rows(ev, &in->list[i]);
            tuple[f->source] = rows->rows[r];
            add_tuple(ev, out, tuple);
        }
    }
    return true;
}

static bool keep_matching(struct eval *ev, struct expr *on, const struct tuples *all,
                          struct tuples *out)
{
    for (int i = 0; i < all->count; i++) {
        bool good = true;
        tsql_set_current(ev->scope, &all->list[i]);
        if (on && !tsql_true(ev, on, &good))
            return false;
        if (good)
            add_tuple(ev, out, all->list[i].rows);
    }
    return true;
}

/* One side kept whole: for each of its tuples the matches of the other, or one with nulls. */
static bool join_outer(struct eval *ev, struct from *f, struct from *kept, struct from *other,
                       struct tuples *in, struct tuples *out)
{
    struct tuples all = {0};

    if (!tsql_join(ev, kept, in, &all))
        return false;
    for (int i = 0; i < all.count; i++) {
        struct tuples one = {.list = &all.list[i], .count = 1}, found = {0};
        int before = out->count;
        if (!tsql_join(ev, other, &one, &found) || !keep_matching(ev, f->on, &found, out))
            return false;
        if (out->count == before)
            add_tuple(ev, out, all.list[i].rows);
    }
    return true;
}

static bool full_rest(struct eval *ev, struct from *f, struct tuples *in, struct tuples *out)
{
    struct tuples right = {0};

    if (!tsql_join(ev, f->right, in, &right))
        return false;
    for (int i = 0; i < right.count; i++) {
        struct tuples one = {.list = &right.list[i], .count = 1}, left = {0}, found = {0};
        if (!tsql_join(ev, f->left, &one, &left) || !keep_matching(ev, f->on, &left, &found))
            return false;
        if (!found.count)
            add_tuple(ev, out, right.list[i].rows);
    }
    return true;
}

bool tsql_join(struct eval *ev, struct from *f, struct tuples *in, struct tuples *out)
{
    if (f->kind != F_JOIN)
        return join_leaf(ev, f, in, out);
    if (f->join == J_LEFT || f->join == J_OUTER_APPLY || f->join == J_FULL) {
        if (!join_outer(ev, f, f->left, f->right, in, out))
            return false;
        return f->join != J_FULL || full_rest(ev, f, in, out);
    }
    if (f->join == J_RIGHT)
        return join_outer(ev, f, f->right, f->left, in, out);
    struct tuples left = {0}, both = {0};
    if (!tsql_join(ev, f->left, in, &left))
        return false;
    if (is_apply(f) || !f->on)
        return tsql_join(ev, f->right, &left, out);
    return tsql_join(ev, f->right, &left, &both) && keep_matching(ev, f->on, &both, out);
}
