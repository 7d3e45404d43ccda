/* exec.c: batches and the flow of statements. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "catalog.h"

static enum flow run_one(struct frame *f, struct stmt *st);

struct variable *sim_variable_find(struct frame *f, const char *name)
{
    for (int i = 0; i < f->variable_count; i++)
        if (sim_text_is(f->variables[i].name, name))
            return &f->variables[i];
    return NULL;
}

struct variable *sim_variable_add(struct frame *f, const char *name, struct type type)
{
    f->variables = sim_arena_grow(f->arena, f->variables, (size_t)f->variable_count,
                                  sizeof(*f->variables));
    struct variable *v = &f->variables[f->variable_count++];
    *v = (struct variable){.name = name, .value = sim_null(type)};
    return v;
}

void sim_frame_fini(struct frame *f)
{
    for (int i = 0; i < f->variable_count; i++)
        sim_table_free(f->variables[i].table);
}

void sim_done(struct frame *f, unsigned status, unsigned command, int64_t count)
{
    struct session *s = f->session;
    if (count >= 0 && !s->no_count)
        status |= DONE_COUNT;
    sim_reply_done(s, f->in_procedure ? DONE_IN_PROC : DONE_TOKEN, status, command,
                   status & DONE_COUNT ? count : 0);
}

void sim_drop_connection(struct session *s)
{
    s->closing = true;
    s->wire.broken = true;
    (void)shutdown(s->wire.fd, SHUT_RDWR);
}

/* Errors after which SQL Server does not go on with the batch. */
static bool ends_batch(int number)
{
    static const int numbers[] = {102, 137, 155, 156, 174, 195, 207, 208, 209, 241, 242, 245, 248,
                                  1087, 4104, 4121, 8114, 8120};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (numbers[i] == number)
            return true;
    return false;
}

enum flow sim_after(struct frame *f, bool good, unsigned command, int64_t count)
{
    struct session *s = f->session;

    if (s->wire.broken)
        return FLOW_END;
    if (good) {
        s->error = 0;
        if (count >= 0)
            s->row_count = count;
        sim_done(f, 0, command, count);
        return s->closing ? FLOW_END : FLOW_NEXT;
    }
    if (s->caught)
        return FLOW_CATCH;
    sim_done(f, DONE_ERROR, command, -1);
    s->row_count = 0;
    if (s->xact_abort && s->transactions) {
        sim_transaction(s, "ROLLBACK", NULL);
        return FLOW_END;
    }
    return s->closing || s->attention || ends_batch(s->error) ? FLOW_END : FLOW_NEXT;
}

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
            all->rows = sim_arena_grow(f->arena, all->rows, (size_t)all->row_count, sizeof(*all->rows));
            all->rows[all->row_count++] = rows->rows[r];
        }
        return;
    }
    sim_reply_rows(s, rows);
}

static void start_implicit(struct session *s)
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
        st.columns[c] = (struct column_def){.name = rows->columns[c].name, .type = rows->columns[c].type};
    return sim_create_table(f, &st) && sim_insert_rows(f, &st, rows, &count);
}

static enum flow run_select(struct frame *f, struct stmt *st)
{
    struct select *q = st->select;
    struct rowset *rows = NULL;
    bool good = true, assigns = is_assignment(f, q, &good);

    if (good && q->from)
        start_implicit(f->session);
    good = good && tsql_query(f, q, NULL, false, &rows);
    if (good && assigns)
        good = assign_rows(f, q, rows);
    else if (good && q->into.count)
        good = select_into(f, q, rows);
    else if (good)
        sim_send_rows(f, rows);
    return sim_after(f, good, 0xC1, good ? rows->row_count : -1);
}

static enum flow run_assign(struct frame *f, struct stmt *st)
{
    struct argument *a = &st->args[0];
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    struct variable *v = sim_variable_find(f, a->name);
    struct value value = {0};
    bool good = v ? tsql_value(f, a->value, &value) : sim_raise(f->session, 137, 1, a->name, NULL);

    if (good && a->op) {
        int error = sim_arith(f->arena, a->op, &v->value, &value, &value);
        if (error)
            good = tsql_conversion_error(f->session, error, &value, v->value.type);
    }
    if (good)
        good = tsql_cast(&ev, &value, v->value.type, &v->value);
    return good ? FLOW_NEXT : sim_after(f, false, 0, -1);
}

static enum flow run_declare(struct frame *f, struct stmt *st)
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
        struct variable *v = sim_variable_find(f, c->name);
        if (!v)
            v = sim_variable_add(f, c->name, c->type);
        if (!c->default_value)
            continue;
        if (!tsql_value(f, c->default_value, &value))
            return sim_after(f, false, 0, -1);
        v = sim_variable_find(f, c->name);
        if (!tsql_cast(&ev, &value, c->type, &v->value))
            return sim_after(f, false, 0, -1);
    }
    return FLOW_NEXT;
}

static enum flow run_if(struct frame *f, struct stmt *st)
{
    bool yes = false;
    if (!tsql_condition_value(f, st->expr, &yes))
        return sim_after(f, false, 0, -1);
    if (yes)
        return run_one(f, st->body);
    return st->other ? run_one(f, st->other) : FLOW_NEXT;
}

static enum flow run_while(struct frame *f, struct stmt *st)
{
    for (;;) {
        bool yes = false;
        if (sim_session_should_stop(f->session))
            return FLOW_END;
        if (!tsql_condition_value(f, st->expr, &yes))
            return sim_after(f, false, 0, -1);
        if (!yes)
            return FLOW_NEXT;
        enum flow flow = run_one(f, st->body);
        if (flow == FLOW_BREAK)
            return FLOW_NEXT;
        if (flow != FLOW_NEXT && flow != FLOW_CONTINUE)
            return flow;
    }
}

static enum flow run_try(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;

    s->try_depth++;
    enum flow flow = sim_run_list(f, st->body);
    s->try_depth--;
    if (flow != FLOW_CATCH && !s->caught)
        return flow;
    if (s->closing || s->attention)
        return FLOW_END;
    int depth = s->try_depth;
    s->caught = false;
    flow = sim_run_list(f, st->other);
    s->try_depth = depth;
    if (flow == FLOW_NEXT)
        s->caught_number = 0;
    return flow;
}

static enum flow run_change(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    struct rowset *rows = NULL;
    int64_t count = 0;
    bool good = true;

    start_implicit(s);
    if (st->kind == S_UPDATE)
        return sim_after(f, sim_update(f, st, &count), 0xC5, count);
    if (st->kind == S_DELETE)
        return sim_after(f, sim_delete(f, st, &count), 0xC4, count);
    if (st->body) {
        struct rowset *outer = s->capture;
        s->capture = rows = sim_rowset_new(f->arena);
        good = run_one(f, st->body) == FLOW_NEXT;
        s->capture = outer;
    } else if (st->select) {
        good = tsql_query(f, st->select, NULL, false, &rows);
    } else { /* DEFAULT VALUES */
        rows = sim_rowset_new(f->arena);
        (void)sim_rowset_row(f->arena, rows);
    }
    if (good && rows->column_count + rows->row_count > 0)
        good = sim_insert_rows(f, st, rows, &count);
    return sim_after(f, good, 0xC3, count);
}

static enum flow run_exec(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    struct name name = st->name;
    int n = st->arg_count, status = 0;
    struct parameter *params = sim_arena_alloc(f->arena, (size_t)(n + 1) * sizeof(*params));

    if (st->var) { /* EXEC @name */
        const struct variable *v = sim_variable_find(f, st->var);
        if (!v)
            return sim_after(f, sim_raise(s, 137, 2, st->var, NULL), 0xE0, -1);
        name = (struct name){.part = {v->value.is_null ? "" : v->value.s}, .count = 1};
    }
    for (int i = 0; i < n; i++) {
        params[i].name = st->args[i].name ? st->args[i].name : "";
        params[i].output = st->args[i].output;
        if (st->args[i].value->kind == E_STAR)
            params[i].value = sim_null(sim_type(VT_NULL, 0));
        else if (!tsql_value(f, st->args[i].value, &params[i].value))
            return sim_after(f, false, 0xE0, -1);
    }
    bool was = f->in_procedure;
    f->in_procedure = true;
    bool good = sim_call(f, &name, params, n, &status);
    f->in_procedure = was;
    struct eval ev = {.session = s, .frame = f, .arena = f->arena};
    for (int i = 0; i < n && good; i++) {
        struct variable *v = params[i].output && st->args[i].value->kind == E_VAR
                                 ? sim_variable_find(f, st->args[i].value->text) : NULL;
        if (v)
            good = tsql_cast(&ev, &params[i].value, v->value.type, &v->value);
    }
    struct variable *result = st->alias ? sim_variable_find(f, st->alias) : NULL;
    if (result)
        result->value = sim_int(status);
    if (s->caught)
        return FLOW_CATCH;
    if (s->wire.broken)
        return FLOW_END;
    if (!s->capture) {
        sim_reply_return_status(s, status);
        sim_reply_done(s, DONE_PROC, good ? 0 : DONE_ERROR, 0xE0, 0);
    }
    return s->closing || s->attention ? FLOW_END : FLOW_NEXT;
}

static enum flow run_exec_text(struct frame *f, struct stmt *st)
{
    struct value v = {0};
    if (!tsql_value(f, st->expr, &v))
        return sim_after(f, false, 0xE0, -1);
    struct frame child = {.session = f->session, .parent = f, .arena = f->arena,
                          .in_procedure = f->in_procedure};
    enum flow flow = sim_run_text(&child, v.is_null ? "" : v.s);
    sim_frame_fini(&child);
    return flow == FLOW_RETURN ? FLOW_NEXT : flow;
}

/* The faults that hit when a statement begins. True when it is not to be run. */
static bool fault_before(struct frame *f, enum flow *flow)
{
    struct session *s = f->session;
    struct sim_fault fault;

    if (sim_text_begins(s->statement, "EXEC sweetspot_sim"))
        return false;
    if (sim_fault_hit(s->sim, SIM_HOLD_STATEMENT, s->statement, f->arena, &fault) && !sim_hold(s)) {
        *flow = FLOW_END;
        return true;
    }
    if (sim_fault_hit(s->sim, SIM_DROP_BEFORE, s->statement, f->arena, &fault)) {
        sim_drop_connection(s);
        *flow = FLOW_END;
        return true;
    }
    if (sim_fault_hit(s->sim, SIM_ERROR, s->statement, f->arena, &fault)) {
        if (fault.text)
            sim_raise_text(s, fault.number, fault.severity, fault.state, fault.text);
        else
            sim_raise_text(s, fault.number, fault.severity, fault.state,
                           sim_message_text(f->arena, fault.number, s->language, NULL, 0));
        *flow = sim_after(f, fault.severity <= 10, 0, -1);
        return true;
    }
    return false;
}

static enum flow dispatch(struct frame *f, struct stmt *st)
{
    switch (st->kind) {
    case S_SELECT:
        return run_select(f, st);
    case S_ASSIGN:
        return run_assign(f, st);
    case S_DECLARE:
        return run_declare(f, st);
    case S_IF:
        return run_if(f, st);
    case S_WHILE:
        return run_while(f, st);
    case S_BLOCK:
        return sim_run_list(f, st->body);
    case S_TRY:
        return run_try(f, st);
    case S_EXEC:
        return run_exec(f, st);
    case S_EXEC_TEXT:
        return run_exec_text(f, st);
    case S_INSERT:
    case S_UPDATE:
    case S_DELETE:
        return run_change(f, st);
    case S_RETURN: {
        struct value v = sim_int(0);
        if (st->expr && !tsql_value(f, st->expr, &v))
            return sim_after(f, false, 0, -1);
        f->return_status = (int)v.i;
        return FLOW_RETURN;
    }
    case S_BREAK:
        return FLOW_BREAK;
    case S_CONTINUE:
        return FLOW_CONTINUE;
    case S_OPTION:
    case S_PRINT:
    case S_RAISERROR:
    case S_THROW:
    case S_WAITFOR:
    case S_USE:
    case S_TRAN:
    case S_BACKUP:
    case S_RESTORE:
    case S_DBCC:
    case S_CREATE_TABLE:
    case S_CREATE_SNAPSHOT:
    case S_DROP_TABLE:
    case S_DROP_DATABASE:
    case S_ALTER_DATABASE:
    case S_KILL:
    case S_NOTHING:
        return sim_run_admin(f, st);
    }
    return FLOW_NEXT;
}

static enum flow run_one(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    struct sim_fault fault;
    enum flow flow = FLOW_NEXT;

    if (sim_session_should_stop(s))
        return FLOW_END;
    s->line = st->line;
    s->statement = f->batch + st->at;
    if (fault_before(f, &flow))
        return flow;
    const char *text = s->statement;
    flow = dispatch(f, st);
    if (sim_fault_hit(s->sim, SIM_DROP_AFTER, text, f->arena, &fault)) {
        sim_drop_connection(s);
        return FLOW_END;
    }
    return flow;
}

enum flow sim_run_list(struct frame *f, struct stmt *list)
{
    for (struct stmt *st = list; st; st = st->next) {
        enum flow flow = run_one(f, st);
        if (flow != FLOW_NEXT)
            return flow;
    }
    return FLOW_NEXT;
}

enum flow sim_run_text(struct frame *f, const char *text)
{
    struct session *s = f->session;
    struct parser p = {.arena = f->arena, .batch = text};
    struct stmt *list = tsql_parse(&p);

    f->batch = text;
    if (p.error) {
        s->line = p.error_line;
        const char *extra = p.error == 155 ? "BACKUP" : NULL;
        sim_raise(s, p.error, 1, p.error_text, extra, NULL);
        enum flow flow = sim_after(f, false, 0, -1);
        return flow == FLOW_NEXT ? FLOW_END : flow;
    }
    if (++s->nesting > 32) {
        s->nesting--;
        return sim_after(f, sim_raise_text(s, 217, 16, 1,
                                           "Maximum stored procedure, function, trigger, or view nesting "
                                           "level exceeded (limit 32)."), 0, -1);
    }
    enum flow flow = sim_run_list(f, list);
    s->nesting--;
    return flow;
}

void sim_run_batch(struct session *s, const char *text)
{
    struct frame f = {.session = s, .arena = &s->arena, .batch = text};

    sim_session_log(s, text);
    pthread_mutex_lock(&s->sim->lock);
    sim_replace(&s->sql_text, text);
    pthread_mutex_unlock(&s->sim->lock);
    s->nesting = 0;
    s->try_depth = 0;
    s->caught = false;
    s->caught_number = 0;
    s->line = 1;
    s->statement = text;
    (void)sim_run_text(&f, text);
    sim_frame_fini(&f);
    if (!s->wire.broken)
        sim_reply_finish(s);
}
