/* exec.c: batches and the flow of statements. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "catalog.h"
#include "exec.h"

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
    f->variables =
        sim_arena_grow(f->arena, f->variables, (size_t)f->variable_count, sizeof(*f->variables));
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
    static const int numbers[] = {102, 137, 155, 156, 174,  195,  207,  208,  209,
                                  241, 242, 245, 248, 1087, 4104, 4121, 8114, 8120};
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

    sim_start_implicit(s);
    if (st->kind == S_UPDATE)
        good = sim_update(f, st, &count);
    if (st->kind == S_DELETE)
        good = sim_delete(f, st, &count);
    if (st->kind != S_INSERT) {
        sim_workload(f, &st->name, count);
        return sim_after(f, good, st->kind == S_UPDATE ? 0xC5 : 0xC4, count);
    }
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
    sim_workload(f, &st->name, count);
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
                                 ? sim_variable_find(f, st->args[i].value->text)
                                 : NULL;
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
    struct frame child = {
        .session = f->session, .parent = f, .arena = f->arena, .in_procedure = f->in_procedure};
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
    if (sim_fault_hit(s->sim, SIM_SKIP, s->statement, f->arena, &fault)) {
        *flow = sim_after(f, true, 0, -1);
        return true;
    }
    if (sim_fault_hit(s->sim, SIM_ERROR, s->statement, f->arena, &fault)) {
        if (fault.text)
            sim_raise_text(s, fault.number, fault.severity, fault.state, fault.text);
        else
            sim_raise_text(s, fault.number, fault.severity, fault.state,
                           sim_message_text(f->arena, fault.number, s->language, NULL, 0));
        if (fault.severity <= 10) /* a message, no error: the statement runs all the same */
            return false;
        *flow = sim_after(f, false, 0, -1);
        return true;
    }
    return false;
}

static enum flow dispatch(struct frame *f, struct stmt *st)
{
    switch (st->kind) {
    case S_SELECT:
        return sim_run_select(f, st);
    case S_ASSIGN:
        return sim_run_assign(f, st);
    case S_DECLARE:
        return sim_run_declare(f, st);
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
    case S_CREATE_CREDENTIAL:
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
        return sim_after(
            f,
            sim_raise_text(s, 217, 16, 1,
                           "Maximum stored procedure, function, trigger, or view nesting "
                           "level exceeded (limit 32)."),
            0, -1);
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
