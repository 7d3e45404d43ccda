/* query.c: SELECT from its sources to its rows. */
#include <string.h>

#include "eval.h"

static const char *implied_name(const struct item *item)
{
    if (item->alias)
        return item->alias;
    return item->expr->kind == E_COLUMN ? item->expr->text : "";
}

static struct expr *column_expr(struct eval *ev, int source, int column)
{
    struct expr *e = sim_arena_alloc(ev->arena, sizeof(*e));
    const struct column *c = &ev->scope->sources[source].rows->columns[column];
    e->kind = E_COLUMN;
    e->slot = -1;
    e->text = c->name ? c->name : "";
    e->source = source;
    e->column = column;
    e->type = c->type;
    return e;
}

struct items {
    struct item *list;
    int count;
};

static void add_item(struct eval *ev, struct items *items, struct item item)
{
    items->list = sim_arena_grow(ev->arena, items->list, (size_t)items->count, sizeof(item));
    items->list[items->count++] = item;
}

static bool expand_star(struct eval *ev, const struct expr *star, struct items *items)
{
    const char *table = star->name.count ? star->name.part[star->name.count - 1] : NULL;
    bool found = false;

    for (int i = 0; i < ev->scope->source_count; i++) {
        const struct source *src = &ev->scope->sources[i];
        if (table && !sim_text_is(src->alias ? src->alias : src->table, table))
            continue;
        found = true;
        for (int c = 0; c < src->rows->column_count; c++)
            add_item(ev, items, (struct item){.expr = column_expr(ev, i, c)});
    }
    if (found)
        return true;
    if (table)
        return sim_raise(ev->session, 4104, 1, table, NULL);
    return sim_raise_text(ev->session, 263, 16, 1, "Must specify table to select from.");
}

static bool bind_items(struct eval *ev, struct select *s, struct items *items)
{
    for (int i = 0; i < s->item_count; i++) {
        struct item *item = &s->items[i];
        if (item->expr->kind == E_STAR) {
            if (!expand_star(ev, item->expr, items))
                return false;
            continue;
        }
        if (!tsql_bind(ev, item->expr))
            return false;
        add_item(ev, items, *item);
    }
    return true;
}

/* An ORDER BY entry that names an item: its index, else -1 (and -2 after an error). */
static int order_item(struct eval *ev, const struct expr *e, const struct items *items)
{
    if (e->kind == E_LITERAL && e->literal.type.base == VT_INT) {
        if (e->literal.i < 1 || e->literal.i > items->count) {
            sim_raise_text(ev->session, 108, 15, 1,
                           "The ORDER BY position number is out of range of the number of items in "
                           "the select list.");
            return -2;
        }
        return (int)e->literal.i - 1;
    }
    if (e->kind == E_COLUMN && e->name.count == 1)
        for (int i = 0; i < items->count; i++)
            if (items->list[i].alias && sim_text_is(items->list[i].alias, e->text))
                return i;
    return -1;
}

static bool bind_order(struct eval *ev, const struct select *s, const struct items *items)
{
    for (int i = 0; i < s->order_count; i++) {
        int item = order_item(ev, s->order[i].expr, items);
        if (item == -2 || (item == -1 && !tsql_bind(ev, s->order[i].expr)))
            return false;
    }
    return true;
}

static bool filter(struct eval *ev, const struct expr *where, struct tuples *t)
{
    int n = 0;
    for (int i = 0; i < t->count; i++) {
        bool good = false;
        tsql_set_current(ev->scope, &t->list[i]);
        if (!tsql_true(ev, where, &good))
            return false;
        if (good)
            t->list[n++] = t->list[i];
    }
    t->count = n;
    return true;
}

static bool project(struct eval *ev, const struct select *s, const struct items *items,
                    struct tuples *t, const struct rowset *out)
{
    for (int i = 0; i < t->count; i++) {
        struct tuple *one = &t->list[i];
        one->out = sim_arena_alloc(ev->arena, (size_t)(items->count + 1) * sizeof(struct value));
        one->keys = sim_arena_alloc(ev->arena, (size_t)(s->order_count + 1) * sizeof(struct value));
        tsql_set_current(ev->scope, one);
        for (int c = 0; c < items->count; c++) {
            struct value v = {0};
            if (!tsql_eval(ev, items->list[c].expr, &v) ||
                !tsql_cast(ev, &v, out->columns[c].type, &one->out[c]))
                return false;
        }
        for (int k = 0; k < s->order_count; k++) {
            int item = order_item(ev, s->order[k].expr, items);
            if (item >= 0)
                one->keys[k] = one->out[item];
            else if (!tsql_eval(ev, s->order[k].expr, &one->keys[k]))
                return false;
        }
    }
    return true;
}

static int compare_keys(struct eval *ev, const struct select *s, const struct tuple *a,
                        const struct tuple *b)
{
    for (int k = 0; k < s->order_count; k++) {
        int error = 0, c = 0;
        const struct value *x = &a->keys[k], *y = &b->keys[k];
        if (x->is_null || y->is_null)
            c = y->is_null - x->is_null;
        else
            c = sim_compare(ev->arena, x, y, &error);
        if (c)
            return s->order[k].descending ? -c : c;
    }
    return 0;
}

static void sort(struct eval *ev, const struct select *s, struct tuples *t)
{
    if (t->count < 2 || !s->order_count)
        return;
    struct tuples left = {.list = t->list, .count = t->count / 2};
    struct tuples right = {.list = t->list + left.count, .count = t->count - left.count};
    sort(ev, s, &left);
    sort(ev, s, &right);
    struct tuple *merged = sim_arena_alloc(ev->arena, (size_t)t->count * sizeof(*merged));
    for (int i = 0, l = 0, r = 0; i < t->count; i++) {
        bool take_left = r == right.count || (l < left.count && compare_keys(ev, s, &left.list[l],
                                                                             &right.list[r]) <= 0);
        merged[i] = take_left ? left.list[l++] : right.list[r++];
    }
    memcpy(t->list, merged, (size_t)t->count * sizeof(*merged));
}

static const char *row_key(struct eval *ev, const struct value *row, int count)
{
    struct bytes b = {0};
    for (int i = 0; i < count; i++)
        sim_bytes_printf(&b, "%s%c",
                         row[i].is_null ? "\x01" : sim_value_text(ev->arena, &row[i], 121), 2);
    char *key = sim_text_upper(ev->arena, sim_bytes_str(&b), true);
    sim_bytes_fini(&b);
    return key;
}

static int find_key(const char *const *keys, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(keys[i], key))
            return i;
    return -1;
}

static void distinct(struct eval *ev, struct tuples *t, int columns)
{
    const char **keys = sim_arena_alloc(ev->arena, (size_t)(t->count + 1) * sizeof(*keys));
    int n = 0;
    for (int i = 0; i < t->count; i++) {
        const char *key = row_key(ev, t->list[i].out, columns);
        if (find_key(keys, n, key) >= 0)
            continue;
        keys[n] = key;
        t->list[n++] = t->list[i];
    }
    t->count = n;
}

static bool limit(struct eval *ev, const struct select *s, struct tuples *t)
{
    struct value v = {0};
    int64_t most = t->count, skip = 0;

    if (s->offset) {
        if (!tsql_bind(ev, s->offset) || !tsql_eval(ev, s->offset, &v))
            return false;
        skip = v.i;
    }
    if (s->top || s->fetch) {
        struct expr *e = s->top ? s->top : s->fetch;
        if (!tsql_bind(ev, e) || !tsql_eval(ev, e, &v) ||
            !tsql_cast(ev, &v, sim_type(VT_BIGINT, 0), &v))
            return false;
        most = v.is_null || v.i < 0 ? 0 : v.i;
        if (s->top_percent)
            most = (t->count * most + 99) / 100;
    }
    skip = skip > t->count ? t->count : skip < 0 ? 0 : skip;
    if (skip) {
        t->list += skip;
        t->count -= (int)skip;
    }
    if (most < t->count)
        t->count = (int)most;
    return true;
}

static void emit(struct eval *ev, const struct tuples *t, struct rowset *out)
{
    for (int i = 0; i < t->count; i++) {
        out->rows =
            sim_arena_grow(ev->arena, out->rows, (size_t)out->row_count, sizeof(*out->rows));
        out->rows[out->row_count++] = t->list[i].out;
    }
}

static bool values_rows(struct eval *ev, struct select *s, bool describe, struct rowset *out)
{
    struct type *types = sim_arena_alloc(ev->arena, (size_t)(s->item_count + 1) * sizeof(*types));

    for (int r = 0; r < s->value_count; r++)
        for (int c = 0; c < s->item_count; c++) {
            if (s->values[r][c]->kind == E_STAR)
                continue; /* DEFAULT */
            if (!tsql_bind(ev, s->values[r][c]))
                return false;
            types[c] = sim_type_merge(types[c], s->values[r][c]->type);
        }
    for (int c = 0; c < s->item_count; c++)
        sim_rowset_column(ev->arena, out, "",
                          types[c].base == VT_NULL ? sim_type(VT_INT, 0) : types[c]);
    for (int r = 0; r < s->value_count && !describe; r++) {
        struct value *row = sim_rowset_row(ev->arena, out);
        for (int c = 0; c < s->item_count; c++) {
            struct value v = {0};
            if (s->values[r][c]->kind == E_STAR)
                row[c].type = sim_type(VT_NULL, 1); /* INSERT looks for it */
            else if (!tsql_eval(ev, s->values[r][c], &v) ||
                     !tsql_cast(ev, &v, out->columns[c].type, &row[c]))
                return false;
        }
    }
    return true;
}

static bool bind_select(struct eval *ev, struct select *s, struct items *items, bool in_union)
{
    if (s->from && (!tsql_collect_sources(ev, s->from) || !tsql_bind_from(ev, s->from)))
        return false;
    if (s->where && !tsql_bind(ev, s->where))
        return false;
    for (int i = 0; i < s->group_count; i++)
        if (!tsql_bind(ev, s->group[i]))
            return false;
    if (s->having && !tsql_bind(ev, s->having))
        return false;
    return bind_items(ev, s, items) && (in_union || bind_order(ev, s, items));
}

static bool only_cross_joins(const struct from *f)
{
    return f->kind != F_JOIN ||
           (f->join == J_CROSS && only_cross_joins(f->left) && only_cross_joins(f->right));
}

/* TOP (n) of a bare cross join: it need not be made as a whole. */
static void set_limit(struct eval *ev, const struct select *s)
{
    struct value v = {0};
    if (!s->top || s->top_percent || s->where || s->order_count || s->distinct || s->group_count ||
        ev->scope->aggregate_count || ev->scope->window_count || !s->from ||
        !only_cross_joins(s->from))
        return;
    if (tsql_bind(ev, s->top) && tsql_eval(ev, s->top, &v) && !v.is_null && v.i > 0 &&
        sim_type_is_int(&v.type))
        ev->scope->limit = v.i;
}

static bool run_select(struct eval *ev, struct select *s, const struct items *items, bool in_union,
                       struct rowset *out)
{
    struct scope *scope = ev->scope;
    size_t n = (size_t)scope->source_count + 1;
    struct tuple start = {.rows = sim_arena_alloc(ev->arena, n * sizeof(struct value *))};
    struct tuples one = {.list = &start, .count = 1}, t = {0};

    set_limit(ev, s);
    if (!s->from) {
        t.list = sim_arena_alloc(ev->arena, sizeof(start));
        t.list[t.count++] = start;
    } else if (!tsql_join(ev, s->from, &one, &t)) {
        return false;
    }
    if (s->where && !filter(ev, s->where, &t))
        return false;
    if ((s->group_count || scope->aggregate_count) && !tsql_group(ev, s, &t))
        return false;
    if (s->having && !filter(ev, s->having, &t))
        return false;
    if (scope->window_count && !tsql_windows(ev, &t))
        return false;
    struct select unordered = *s;
    if (in_union)
        unordered.order_count = 0;
    if (!project(ev, &unordered, items, &t, out))
        return false;
    if (s->distinct)
        distinct(ev, &t, items->count);
    sort(ev, &unordered, &t);
    if (!limit(ev, in_union ? &(struct select){.top = s->top, .top_percent = s->top_percent} : s,
               &t))
        return false;
    emit(ev, &t, out);
    return true;
}

static bool one_select(struct frame *f, struct select *s, struct scope *outer, bool describe,
                       bool in_union, struct rowset **out)
{
    struct scope scope = {.parent = outer, .select = s, .ctes = s->ctes, .cte_count = s->cte_count};
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena, .scope = &scope};
    struct items items = {0};

    *out = sim_rowset_new(f->arena);
    if (s->values)
        return values_rows(&ev, s, describe, *out);
    if (!bind_select(&ev, s, &items, in_union))
        return false;
    for (int i = 0; i < items.count; i++) {
        struct type t = items.list[i].expr->type;
        sim_rowset_column(f->arena, *out, implied_name(&items.list[i]),
                          t.base == VT_NULL ? sim_type(VT_INT, 0) : t);
    }
    if (describe)
        return true;
    /* each subquery passes here: a long query, too, hears an attention */
    return !sim_session_should_stop(f->session) && run_select(&ev, s, &items, in_union, *out);
}

static void combine(struct eval *ev, char op, struct rowset *all, const struct rowset *more)
{
    int n = all->column_count;
    const char **left = sim_arena_alloc(ev->arena, (size_t)(all->row_count + 1) * sizeof(*left));
    const char **right = sim_arena_alloc(ev->arena, (size_t)(more->row_count + 1) * sizeof(*right));
    struct rowset result = *all;

    for (int i = 0; i < all->row_count; i++)
        left[i] = row_key(ev, all->rows[i], n);
    for (int i = 0; i < more->row_count; i++)
        right[i] = row_key(ev, more->rows[i], n);
    result.rows = NULL;
    result.row_count = 0;
    for (int i = 0; i < all->row_count + more->row_count; i++) {
        bool first = i < all->row_count;
        int j = first ? i : i - all->row_count;
        bool keep = op == 'a' || op == 'u' ||
                    (first && (find_key(right, more->row_count, left[j]) >= 0) == (op == 'i'));
        if (op != 'a' && keep)
            keep = first ? find_key(left, j, left[j]) < 0
                         : find_key(left, all->row_count, right[j]) < 0 &&
                               find_key(right, j, right[j]) < 0;
        if (!keep || (!first && op != 'a' && op != 'u'))
            continue;
        result.rows =
            sim_arena_grow(ev->arena, result.rows, (size_t)result.row_count, sizeof(*result.rows));
        result.rows[result.row_count++] = first ? all->rows[j] : more->rows[j];
    }
    *all = result;
}

static bool convert_rows(struct eval *ev, struct rowset *rows, const struct column *columns)
{
    for (int r = 0; r < rows->row_count; r++)
        for (int c = 0; c < rows->column_count; c++)
            if (!tsql_cast(ev, &rows->rows[r][c], columns[c].type, &rows->rows[r][c]))
                return false;
    return true;
}

/* ORDER BY behind a UNION: by ordinal or by a column's name. */
static bool order_union(struct eval *ev, const struct select *s, struct rowset *rows)
{
    struct items items = {0};
    struct tuples t = {
        .list = sim_arena_alloc(ev->arena, (size_t)(rows->row_count + 1) * sizeof(struct tuple))};
    for (int c = 0; c < rows->column_count; c++) {
        struct expr *e = sim_arena_alloc(ev->arena, sizeof(*e));
        add_item(ev, &items, (struct item){.expr = e, .alias = rows->columns[c].name});
    }
    for (int r = 0; r < rows->row_count; r++) {
        struct tuple *one = &t.list[t.count++];
        one->out = rows->rows[r];
        one->keys = sim_arena_alloc(ev->arena, (size_t)(s->order_count + 1) * sizeof(struct value));
        for (int k = 0; k < s->order_count; k++) {
            int item = order_item(ev, s->order[k].expr, &items);
            if (item == -2)
                return false;
            if (item == -1)
                return sim_raise(ev->session, 207, 1, s->order[k].expr->text, NULL);
            one->keys[k] = one->out[item];
        }
    }
    sort(ev, s, &t);
    if (!limit(ev, &(struct select){.offset = s->offset, .fetch = s->fetch}, &t))
        return false;
    rows->rows = NULL;
    rows->row_count = 0;
    emit(ev, &t, rows);
    return true;
}

static bool union_all(struct frame *f, struct select *s, struct scope *outer, bool describe,
                      struct rowset **out)
{
    struct scope scope = {.parent = outer, .ctes = s->ctes, .cte_count = s->cte_count};
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena, .scope = &scope};
    struct rowset *all = NULL, *more = NULL;
    char op = s->set_op;

    if (!one_select(f, s, &scope, describe, true, &all))
        return false;
    for (struct select *next = s->next; next; op = next->set_op, next = next->next) {
        if (!one_select(f, next, &scope, describe, true, &more))
            return false;
        if (more->column_count != all->column_count)
            return sim_raise_text(
                ev.session, 205, 16, 1,
                "All queries combined using a UNION, INTERSECT or EXCEPT operator "
                "must have an equal number of expressions in their target lists.");
        for (int c = 0; c < all->column_count; c++)
            all->columns[c].type = sim_type_merge(all->columns[c].type, more->columns[c].type);
        if (!convert_rows(&ev, all, all->columns) || !convert_rows(&ev, more, all->columns))
            return false;
        combine(&ev, op, all, more);
    }
    *out = all;
    return describe || !s->order_count || order_union(&ev, s, all);
}

bool tsql_query(struct frame *f, struct select *s, struct scope *outer, bool describe,
                struct rowset **out)
{
    if (s->next)
        return union_all(f, s, outer, describe, out);
    return one_select(f, s, outer, describe, false, out);
}
