/* parse_stmt.c: statements but for BACKUP, DBCC and the DDL, which are in parse_admin.c. */
#include "ast.h"

#include <stdlib.h>
#include <string.h>

static const char *upper(struct parser *p, const char *text)
{
    return sim_text_upper(p->arena, text, false);
}

static void add_arg(struct parser *p, struct stmt *s, struct argument arg)
{
    s->args = sim_arena_grow(p->arena, s->args, (size_t)s->arg_count, sizeof(*s->args));
    s->args[s->arg_count++] = arg;
}

static void add_expr(struct parser *p, struct stmt *s, struct expr *e)
{
    s->exprs = sim_arena_grow(p->arena, s->exprs, (size_t)s->expr_count, sizeof(struct expr *));
    s->exprs[s->expr_count++] = e;
}

static struct expr *exec_value(struct parser *p)
{
    const struct token *t = tsql_peek(p);
    if (t->kind == T_NAME && !tsql_is(p, "NULL")) { /* a bare word is a text; DEFAULT is none */
        struct expr *e = sim_arena_alloc(p->arena, sizeof(*e));
        e->kind = tsql_is(p, "DEFAULT") ? E_STAR : E_LITERAL;
        e->literal = sim_text(tsql_next(p)->text);
        return e;
    }
    return tsql_expr(p);
}

void tsql_parse_exec(struct parser *p, struct stmt *s, bool has_word)
{
    s->kind = S_EXEC;
    if (has_word && tsql_accept(p, "(")) {
        s->kind = S_EXEC_TEXT;
        s->expr = tsql_expr(p);
        tsql_expect(p, ")");
        return;
    }
    if (tsql_peek(p)->kind == T_VAR && tsql_is_at(p, 1, "=")) {
        s->alias = tsql_next(p)->text; /* takes the return status */
        tsql_next(p);
    }
    if (tsql_peek(p)->kind == T_VAR)
        s->var = tsql_next(p)->text;
    else
        s->name = tsql_name(p);
    const struct token *t = tsql_peek(p);
    if (t->kind == T_END || tsql_is(p, ";") ||
        (t->kind == T_NAME && !t->quoted && tsql_is_reserved(t->text) && !tsql_is(p, "NULL") &&
         !tsql_is(p, "DEFAULT")) ||
        (t->kind == T_OP && !tsql_is(p, "-") && !tsql_is(p, "+")))
        return;
    do {
        struct argument a = {0};
        if (tsql_peek(p)->kind == T_VAR && tsql_is_at(p, 1, "=")) {
            a.name = tsql_next(p)->text;
            tsql_next(p);
        }
        a.value = exec_value(p);
        a.output = tsql_accept(p, "OUTPUT") || tsql_accept(p, "OUT");
        add_arg(p, s, a);
    } while (tsql_accept(p, ","));
}

static struct stmt *block(struct parser *p, const char *end)
{
    struct stmt *first = NULL, **last = &first;
    while (!tsql_is(p, end) && tsql_peek(p)->kind != T_END) {
        struct stmt *s = tsql_statement(p);
        if (s) {
            *last = s;
            last = &s->next;
        }
    }
    tsql_expect(p, end);
    return first;
}

static void parse_begin(struct parser *p, struct stmt *s)
{
    if (tsql_is(p, "TRAN") || tsql_is(p, "TRANSACTION")) {
        tsql_next(p);
        s->kind = S_TRAN;
        s->verb = "BEGIN";
        if (tsql_peek(p)->kind == T_NAME && !tsql_is_reserved(tsql_peek(p)->text))
            tsql_next(p);
        return;
    }
    if (tsql_accept(p, "TRY")) {
        s->kind = S_TRY;
        s->body = block(p, "END");
        tsql_expect(p, "TRY");
        tsql_accept(p, ";");
        tsql_expect(p, "BEGIN");
        tsql_expect(p, "CATCH");
        s->other = block(p, "END");
        tsql_expect(p, "CATCH");
        return;
    }
    s->kind = S_BLOCK;
    s->body = block(p, "END");
    if (!s->body)
        tsql_fail_here(p);
}

static void parse_tran(struct parser *p, struct stmt *s, const char *verb)
{
    s->kind = S_TRAN;
    s->verb = verb;
    if (!tsql_accept(p, "TRAN") && !tsql_accept(p, "TRANSACTION"))
        tsql_accept(p, "WORK");
    const struct token *t = tsql_peek(p);
    if (t->kind == T_VAR || (t->kind == T_NAME && !tsql_is_reserved(t->text)))
        s->alias = tsql_next(p)->text;
}

static void parse_if(struct parser *p, struct stmt *s)
{
    s->kind = S_IF;
    s->expr = tsql_condition(p);
    s->body = tsql_statement(p);
    if (!s->body)
        tsql_fail_here(p);
    int mark = p->pos;
    tsql_accept(p, ";");
    if (tsql_accept(p, "ELSE"))
        s->other = tsql_statement(p);
    else
        p->pos = p->error ? p->count - 1 : mark;
}

static void parse_raiserror(struct parser *p, struct stmt *s)
{
    s->kind = S_RAISERROR;
    tsql_expect(p, "(");
    do
        add_expr(p, s, tsql_expr(p));
    while (tsql_accept(p, ","));
    tsql_expect(p, ")");
    if (tsql_accept(p, "WITH")) {
        do
            s->verb = upper(p, tsql_identifier(p));
        while (tsql_accept(p, ","));
    }
}

static void parse_waitfor(struct parser *p, struct stmt *s)
{
    s->kind = S_WAITFOR;
    s->verb = tsql_is(p, "TIME") ? "TIME" : "DELAY";
    if (!tsql_accept(p, "DELAY"))
        tsql_expect(p, "TIME");
    s->expr = tsql_expr(p);
}

static void parse_throw(struct parser *p, struct stmt *s)
{
    s->kind = S_THROW;
    const struct token *t = tsql_peek(p);
    if (t->kind != T_NUMBER && t->kind != T_VAR)
        return;
    do
        add_expr(p, s, tsql_expr(p));
    while (tsql_accept(p, ","));
}

static bool simple_statement(struct parser *p, struct stmt *s)
{
    if (tsql_accept(p, "PRINT")) {
        s->kind = S_PRINT;
        s->expr = tsql_expr(p);
    } else if (tsql_accept(p, "USE")) {
        s->kind = S_USE;
        s->alias = tsql_identifier(p);
    } else if (tsql_accept(p, "COMMIT")) {
        parse_tran(p, s, "COMMIT");
    } else if (tsql_accept(p, "ROLLBACK")) {
        parse_tran(p, s, "ROLLBACK");
    } else if (tsql_accept(p, "SAVE")) {
        parse_tran(p, s, "SAVE");
    } else if (tsql_accept(p, "WHILE")) {
        s->kind = S_WHILE;
        s->expr = tsql_condition(p);
        s->body = tsql_statement(p);
    } else if (tsql_accept(p, "RETURN")) {
        s->kind = S_RETURN;
        if (tsql_peek(p)->kind == T_NUMBER || tsql_is(p, "-") || tsql_peek(p)->kind == T_VAR)
            s->expr = tsql_expr(p);
    } else if (tsql_accept(p, "BREAK")) {
        s->kind = S_BREAK;
    } else if (tsql_accept(p, "CONTINUE")) {
        s->kind = S_CONTINUE;
    } else if (tsql_accept(p, "CHECKPOINT") || tsql_accept(p, "RECONFIGURE")) {
        s->kind = S_NOTHING;
        if (tsql_accept(p, "WITH"))
            (void)tsql_identifier(p);
    } else if (tsql_accept(p, "KILL")) {
        s->kind = S_KILL;
        s->expr = tsql_expr(p);
    } else {
        return false;
    }
    return true;
}

static bool admin_statement(struct parser *p, struct stmt *s)
{
    if (tsql_is(p, "BACKUP") || tsql_is(p, "RESTORE"))
        tsql_parse_backup(p, s);
    else if (tsql_accept(p, "DBCC"))
        tsql_parse_dbcc(p, s);
    else if (tsql_is(p, "CREATE") || tsql_is(p, "ALTER"))
        tsql_parse_alter(p, s);
    else if (tsql_accept(p, "DROP"))
        tsql_parse_drop(p, s);
    else
        return false;
    return true;
}

static bool data_statement(struct parser *p, struct stmt *s)
{
    if (tsql_is(p, "SELECT") || tsql_is(p, "(") || tsql_is(p, "WITH")) {
        s->kind = S_SELECT;
        s->select = tsql_select(p);
    } else if (tsql_accept(p, "INSERT")) {
        tsql_parse_insert(p, s);
    } else if (tsql_accept(p, "UPDATE")) {
        tsql_parse_update(p, s);
    } else if (tsql_accept(p, "DELETE")) {
        tsql_parse_delete(p, s);
    } else if (tsql_accept(p, "SET")) {
        tsql_parse_set(p, s);
    } else if (tsql_accept(p, "DECLARE")) {
        tsql_parse_declare(p, s);
    } else if (tsql_accept(p, "EXEC") || tsql_accept(p, "EXECUTE")) {
        tsql_parse_exec(p, s, true);
    } else {
        return false;
    }
    return true;
}

struct stmt *tsql_statement(struct parser *p)
{
    while (tsql_accept(p, ";"))
        ;
    if (tsql_peek(p)->kind == T_END)
        return NULL;
    struct stmt *s = sim_arena_alloc(p->arena, sizeof(*s));
    tsql_enter(p);
    int start = p->pos;
    s->line = tsql_peek(p)->line;
    s->at = tsql_peek(p)->at;
    s->verb = "";
    if (data_statement(p, s) || simple_statement(p, s) || admin_statement(p, s)) {
        /* done */
    } else if (tsql_accept(p, "BEGIN")) {
        parse_begin(p, s);
    } else if (tsql_accept(p, "IF")) {
        parse_if(p, s);
    } else if (tsql_accept(p, "RAISERROR")) {
        parse_raiserror(p, s);
    } else if (tsql_accept(p, "WAITFOR")) {
        parse_waitfor(p, s);
    } else if (tsql_accept(p, "THROW")) {
        parse_throw(p, s);
    } else if (start == 0 && tsql_peek(p)->kind == T_NAME &&
               !tsql_is_reserved(tsql_peek(p)->text)) {
        tsql_parse_exec(p, s, false); /* the first statement may leave EXEC out */
    } else {
        tsql_fail_here(p);
    }
    while (tsql_accept(p, ";"))
        ;
    p->depth--;
    return s;
}

struct stmt *tsql_parse(struct parser *p)
{
    struct stmt *first = NULL, **last = &first;

    if (!tsql_lex(p))
        return NULL;
    while (tsql_peek(p)->kind != T_END) {
        struct stmt *s = tsql_statement(p);
        if (s) {
            *last = s;
            last = &s->next;
        }
    }
    return p->error ? NULL : first;
}

struct column_def *tsql_parse_parameters(struct parser *p, int *out_count)
{
    struct column_def *defs = NULL;
    int n = 0;

    if (!tsql_lex(p))
        return NULL;
    while (tsql_peek(p)->kind != T_END) {
        struct column_def c = {.name = tsql_peek(p)->text};
        if (tsql_next(p)->kind != T_VAR) {
            p->pos -= p->pos > 0;
            tsql_fail_here(p);
        }
        tsql_accept(p, "AS");
        if (!tsql_type(p, &c))
            tsql_fail(p, 2715, c.type_name);
        if (tsql_accept(p, "="))
            c.default_value = tsql_expr(p);
        c.identity = tsql_accept(p, "OUTPUT") || tsql_accept(p, "OUT"); /* here: output */
        defs = sim_arena_grow(p->arena, defs, (size_t)n, sizeof(c));
        defs[n++] = c;
        if (tsql_peek(p)->kind != T_END)
            tsql_expect(p, ",");
    }
    *out_count = n;
    return p->error ? NULL : defs;
}
