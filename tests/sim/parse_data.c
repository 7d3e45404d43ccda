/* parse_data.c: SET, DECLARE, INSERT, UPDATE, DELETE and lists of columns. */
#include <string.h>

#include "ast.h"

static const char *upper(struct parser *p, const char *text)
{
    return sim_text_upper(p->arena, text, false);
}

static void add_arg(struct parser *p, struct stmt *s, struct argument arg)
{
    s->args = sim_arena_grow(p->arena, s->args, (size_t)s->arg_count, sizeof(*s->args));
    s->args[s->arg_count++] = arg;
}

/* name [op]= value */
static struct argument assignment(struct parser *p)
{
    struct argument a = {.name = tsql_peek(p)->text};
    tsql_next(p);
    const char *op = tsql_peek(p)->text;
    if (strlen(op) == 2 && op[1] == '=' && strchr("+-*/", op[0])) {
        a.op = op[0];
        tsql_next(p);
    } else {
        tsql_expect(p, "=");
    }
    a.value = tsql_expr(p);
    return a;
}

void tsql_parse_set(struct parser *p, struct stmt *s)
{
    if (tsql_peek(p)->kind == T_VAR) {
        s->kind = S_ASSIGN;
        add_arg(p, s, assignment(p));
        return;
    }
    s->kind = S_OPTION;
    if (tsql_accept(p, "TRANSACTION")) {
        s->verb = "TRANSACTION ISOLATION LEVEL";
        tsql_expect(p, "ISOLATION");
        tsql_expect(p, "LEVEL");
        tsql_next(p);
        if (tsql_peek(p)->kind == T_NAME &&
            (tsql_is(p, "UNCOMMITTED") || tsql_is(p, "COMMITTED") || tsql_is(p, "READ")))
            tsql_next(p);
        return;
    }
    s->verb = upper(p, tsql_identifier(p));
    while (tsql_accept(p, ",")) /* SET ANSI_NULLS, QUOTED_IDENTIFIER ON */
        (void)tsql_identifier(p);
    if (sim_text_is(s->verb, "STATISTICS"))
        (void)tsql_identifier(p);
    if (sim_text_is(s->verb, "IDENTITY_INSERT"))
        (void)tsql_name(p);
    const struct token *t = tsql_peek(p);
    if (t->kind == T_END || (t->kind == T_OP && !tsql_is(p, "-"))) {
        tsql_fail_here(p);
        return;
    }
    if (t->kind == T_NAME) { /* ON, OFF, us_english, LOW, dmy … */
        s->expr = sim_arena_alloc(p->arena, sizeof(*s->expr));
        s->expr->kind = E_LITERAL;
        s->expr->literal = sim_text(tsql_next(p)->text);
    } else {
        s->expr = tsql_expr(p);
    }
}

static void column_options(struct parser *p, struct column_def *c)
{
    for (;;) {
        if (tsql_accept(p, "NOT")) {
            tsql_expect(p, "NULL");
            c->not_null = true;
        } else if (tsql_accept(p, "NULL")) {
            c->not_null = false;
        } else if (tsql_accept(p, "IDENTITY")) {
            c->identity = true;
            if (tsql_accept(p, "(")) {
                while (!tsql_accept(p, ")") && tsql_peek(p)->kind != T_END)
                    tsql_next(p);
            }
        } else if (tsql_accept(p, "PRIMARY")) {
            tsql_expect(p, "KEY");
            c->primary_key = c->not_null = true;
            if (!tsql_accept(p, "CLUSTERED"))
                tsql_accept(p, "NONCLUSTERED");
        } else if (tsql_accept(p, "UNIQUE")) {
            continue;
        } else if (tsql_accept(p, "CONSTRAINT") || tsql_accept(p, "COLLATE")) {
            (void)tsql_identifier(p);
        } else if (tsql_accept(p, "DEFAULT")) {
            c->default_value = tsql_expr(p);
        } else if (tsql_accept(p, "CHECK")) {
            tsql_expect(p, "(");
            (void)tsql_condition(p);
            tsql_expect(p, ")");
        } else {
            return;
        }
    }
}

static void skip_constraint(struct parser *p)
{
    int depth = 0;
    while (tsql_peek(p)->kind != T_END) {
        if (depth == 0 && (tsql_is(p, ",") || tsql_is(p, ")")))
            return;
        depth += tsql_is(p, "(") ? 1 : tsql_is(p, ")") ? -1 : 0;
        tsql_next(p);
    }
}

/* The list in parentheses of CREATE TABLE and DECLARE @t TABLE. */
void tsql_parse_create(struct parser *p, struct stmt *s)
{
    tsql_expect(p, "(");
    do {
        if (tsql_is(p, "CONSTRAINT") || tsql_is(p, "PRIMARY") || tsql_is(p, "UNIQUE") ||
            tsql_is(p, "FOREIGN") || tsql_is(p, "CHECK") || tsql_is(p, "INDEX")) {
            skip_constraint(p);
            continue;
        }
        if (tsql_is(p, ")"))
            break;
        struct column_def c = {.name = tsql_identifier(p)};
        if (!tsql_type(p, &c))
            tsql_fail(p, 2715, c.type_name);
        column_options(p, &c);
        s->columns = sim_arena_grow(p->arena, s->columns, (size_t)s->column_count, sizeof(c));
        s->columns[s->column_count++] = c;
    } while (tsql_accept(p, ","));
    tsql_expect(p, ")");
}

void tsql_parse_declare(struct parser *p, struct stmt *s)
{
    s->kind = S_DECLARE;
    do {
        struct column_def c = {.name = tsql_peek(p)->text};
        if (tsql_peek(p)->kind != T_VAR) {
            tsql_fail_here(p);
            return;
        }
        tsql_next(p);
        tsql_accept(p, "AS");
        if (!tsql_type(p, &c))
            tsql_fail(p, 2715, c.type_name);
        if (c.is_table) {
            s->var = c.name;
            tsql_parse_create(p, s);
            return;
        }
        if (tsql_accept(p, "="))
            c.default_value = tsql_expr(p);
        s->columns = sim_arena_grow(p->arena, s->columns, (size_t)s->column_count, sizeof(c));
        s->columns[s->column_count++] = c;
    } while (tsql_accept(p, ","));
}

void tsql_parse_insert(struct parser *p, struct stmt *s)
{
    s->kind = S_INSERT;
    tsql_accept(p, "INTO");
    if (tsql_peek(p)->kind == T_VAR)
        s->name = (struct name){.part = {tsql_next(p)->text}, .count = 1};
    else
        s->name = tsql_name(p);
    if (tsql_accept(p, "(")) {
        do {
            s->names = sim_arena_grow(p->arena, s->names, (size_t)s->name_count, sizeof(char *));
            s->names[s->name_count++] = tsql_identifier(p);
        } while (tsql_accept(p, ","));
        tsql_expect(p, ")");
    }
    if (tsql_accept(p, "DEFAULT")) {
        tsql_expect(p, "VALUES");
    } else if (tsql_is(p, "EXEC") || tsql_is(p, "EXECUTE")) {
        tsql_next(p);
        s->body = sim_arena_alloc(p->arena, sizeof(*s->body));
        s->body->line = s->line;
        tsql_parse_exec(p, s->body, true);
    } else {
        s->select = tsql_select(p);
    }
}

void tsql_parse_update(struct parser *p, struct stmt *s)
{
    s->kind = S_UPDATE;
    if (tsql_accept(p, "TOP")) {
        tsql_expect(p, "(");
        (void)tsql_expr(p);
        tsql_expect(p, ")");
    }
    s->name = tsql_name(p);
    tsql_expect(p, "SET");
    do {
        if (tsql_peek(p)->kind == T_NAME && tsql_is_at(p, 1, ".")) {
            tsql_next(p);
            tsql_next(p);
        }
        add_arg(p, s, assignment(p));
    } while (tsql_accept(p, ","));
    if (tsql_accept(p, "WHERE"))
        s->where = tsql_condition(p);
}

void tsql_parse_delete(struct parser *p, struct stmt *s)
{
    s->kind = S_DELETE;
    tsql_accept(p, "FROM");
    if (tsql_peek(p)->kind == T_VAR)
        s->name = (struct name){.part = {tsql_next(p)->text}, .count = 1};
    else
        s->name = tsql_name(p);
    if (tsql_accept(p, "WHERE"))
        s->where = tsql_condition(p);
}
