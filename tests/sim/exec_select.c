/* exec_select.c: SELECT as a statement, and variables. */
#include "catalog.h"
#include "exec.h"

void sim_send_rows(struct frame *f, const struct rowset *rows)
{
    struct session *s = f->session;
    if (s->capture) { /* INSERT … EXEC keeps them */
        struct rowset *all = s->capture;
        if (!all->column_count) {
            all->columns = rows->columns;
            all->column_count = rows->column_count;
        }
        for (int r = 0; r < rows->row_count && rows->column_count == all->column_count; r++) {
            all->rows =
                sim_arena_grow(f->arena, all->rows, (size_t)all->row_count, sizeof(*all->rows));
            all->rows[all->row_count++] = rows->rows[r];
        }
        return;
    }
    sim_reply_rows(s, rows);
}

void sim_start_implicit(struct session *s)
{
    if (s->implicit && !s->transactions)
        sim_transaction(s, "BEGIN", NULL);
}

static bool is_assignment(struct frame *f, const struct select *q, bool *good)
{
    int targets = 0;
    for (int i = 0; i < q->item_count && !q->values; i++)
        targets += q->items[i].target != NULL;
    *good = !targets || targets == q->item_count;
    if (!*good)
        sim_raise(f->session, 141, 1, NULL);
    return targets > 0;
}

static bool assign_rows(struct frame *f, const struct select *q, const struct rowset *rows)
{
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    for (int i = 0; i < q->item_count; i++) {
        struct variable *v = sim_variable_find(f, q->items[i].target);
        if (!v)
            return sim_raise(f->session, 137, 1, q->items[i].target, NULL);
        if (rows->row_count &&
            !tsql_cast(&ev, &rows->rows[rows->row_count - 1][i], v->value.type, &v->value))
            return false;
    }
    return true;
}

static bool select_into(struct frame *f, const struct select *q, const struct rowset *rows)
{
    struct stmt st = {.name = q->into, .column_count = rows->column_count};
    int64_t count = 0;
    st.columns = sim_arena_alloc(f->arena, (size_t)(rows->column_count + 1) * sizeof(*st.columns));
    for (int c = 0; c < rows->column_count; c++)
        st.columns[c] =
            (struct column_def){.name = rows->columns[c].name, .type = rows->columns[c].type};
    bool good = sim_create_table(f, &st) && sim_insert_rows(f, &st, rows, &count);
    sim_workload(f, &st.name, count);
    return good;
}

enum flow sim_run_select(struct frame *f, struct stmt *st)
{
    struct select *q = st->select;
    struct rowset *rows = sim_rowset_new(f->arena);
    bool good = true, assigns = is_assignment(f, q, &good);

    if (good && q->from)
        sim_start_implicit(f->session);
    good = good && tsql_query(f, q, NULL, false, &rows);
    if (good && assigns)
        good = assign_rows(f, q, rows);
    else if (good && q->into.count)
        good = select_into(f, q, rows);
    else if (good)
        sim_send_rows(f, rows);
    return sim_after(f, good, 0xC1, good ? rows->row_count : -1);
}

enum flow sim_run_assign(struct frame *f, struct stmt *st)
{
    struct argument *a = &st->args[0];
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    struct variable *v = sim_variable_find(f, a->name);
    struct value value = {0};
    if (!v)
        return sim_after(f, sim_raise(f->session, 137, 1, a->name, NULL), 0, -1);
    bool good = tsql_value(f, a->value, &value);

    if (good && a->op) {
        int error = sim_arith(f->arena, a->op, &v->value, &value, &value);
        if (error)
            good = tsql_conversion_error(f->session, error, &value, v->value.type);
    }
    if (good)
        good = tsql_cast(&ev, &value, v->value.type, &v->value);
    return good ? FLOW_NEXT : sim_after(f, false, 0, -1);
}

enum flow sim_run_declare(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    struct eval ev = {.session = s, .frame = f, .arena = f->arena};

    if (st->var) {
        struct variable *v = sim_variable_add(f, st->var, sim_type(VT_INT, 0));
        v->table = sim_table_new(f, st->columns, st->column_count, st->var);
        return FLOW_NEXT;
    }
    for (int i = 0; i < st->column_count; i++) {
        const struct column_def *c = &st->columns[i];
        struct value value = {0};
        if (!sim_variable_find(f, c->name))
            (void)sim_variable_add(f, c->name, c->type);
        if (!c->default_value)
            continue;
        if (!tsql_value(f, c->default_value, &value))
            return sim_after(f, false, 0, -1);
        struct variable *v = sim_variable_find(f, c->name); /* the array may have moved */
        if (!v || !tsql_cast(&ev, &value, c->type, &v->value))
            return sim_after(f, false, 0, -1);
    }
    return FLOW_NEXT;
}
