/* parse_admin.c: BACKUP, RESTORE, DBCC, CREATE, DROP, ALTER DATABASE. */
#include "ast.h"

#include <string.h>

/* A text, number or variable as a text; variables go to *var. */
static const char *plain_value(struct parser *p, const char **var, bool *is_number)
{
    bool minus = tsql_accept(p, "-");
    const struct token *t = tsql_next(p);

    if (t->kind == T_END || t->kind == T_OP) {
        p->pos -= t->kind == T_OP;
        tsql_fail_here(p);
        return "";
    }
    if (t->kind == T_VAR)
        *var = t->text;
    *is_number = t->kind == T_NUMBER;
    return minus ? sim_arena_printf(p->arena, "-%s", t->text) : t->text;
}

/* ( ALGORITHM = x [, LEVEL = y] ) of COMPRESSION, and what ENCRYPTION has in its brackets. */
static void sub_options(struct parser *p, struct option *o)
{
    do {
        const char *name = tsql_next(p)->text;
        bool number = false;
        if (sim_text_is(name, "SERVER") || sim_text_is(name, "ASYMMETRIC"))
            tsql_next(p);
        tsql_expect(p, "=");
        const char *value = plain_value(p, &o->var, &number);
        if (sim_text_is(name, "ALGORITHM"))
            o->value = value;
        else if (sim_text_is(name, "LEVEL") || sim_text_is(name, "SERVER") ||
                 sim_text_is(name, "ASYMMETRIC"))
            o->extra = value;
        else
            tsql_fail(p, 155, name);
    } while (tsql_accept(p, ","));
    tsql_expect(p, ")");
}

struct option *tsql_options(struct parser *p, int *out_count)
{
    struct option *list = NULL;
    int n = 0;

    do {
        struct option o = {.line = tsql_peek(p)->line};
        const struct token *t = tsql_next(p);
        if (t->kind != T_NAME) {
            p->pos -= p->pos > 0 && t->kind != T_END;
            tsql_fail_here(p);
            break;
        }
        o.name = sim_text_upper(p->arena, t->text, false);
        if (tsql_accept(p, "="))
            o.value = plain_value(p, &o.var, &o.is_number);
        else if (tsql_accept(p, "("))
            sub_options(p, &o);
        list = sim_arena_grow(p->arena, list, (size_t)n, sizeof(o));
        list[n++] = o;
    } while (tsql_accept(p, ","));
    *out_count = n;
    return list;
}

static void devices(struct parser *p, struct stmt *s, int mirror)
{
    do {
        struct device d = {.mirror = mirror};
        const struct token *t = tsql_next(p);
        if (t->kind == T_NAME && tsql_is(p, "=")) {
            bool number = false;
            d.type = sim_text_upper(p->arena, t->text, false);
            tsql_next(p);
            if (strcmp(d.type, "DISK") && strcmp(d.type, "URL") && strcmp(d.type, "TAPE") &&
                strcmp(d.type, "VIRTUAL_DEVICE") && strcmp(d.type, "DATABASE_SNAPSHOT"))
                tsql_fail(p, 155, t->text);
            d.path = plain_value(p, &d.var, &number);
        } else if (t->kind == T_NAME || t->kind == T_VAR) { /* a logical device */
            d.type = "LOGICAL";
            d.path = t->text;
            d.var = t->kind == T_VAR ? t->text : NULL;
        } else {
            p->pos -= t->kind != T_END;
            tsql_fail_here(p);
        }
        s->devices = sim_arena_grow(p->arena, s->devices, (size_t)s->device_count, sizeof(d));
        s->devices[s->device_count++] = d;
    } while (tsql_accept(p, ","));
}

void tsql_parse_backup(struct parser *p, struct stmt *s)
{
    bool restore = tsql_is(p, "RESTORE");

    tsql_next(p);
    s->kind = restore ? S_RESTORE : S_BACKUP;
    s->verb = sim_text_upper(p->arena, tsql_next(p)->text, false);
    if (!strcmp(s->verb, "TRAN") || !strcmp(s->verb, "TRANSACTION"))
        s->verb = "LOG";
    if (!strcmp(s->verb, "DATABASE") || !strcmp(s->verb, "LOG")) {
        if (tsql_peek(p)->kind == T_VAR)
            s->var = tsql_next(p)->text;
        else
            s->alias = tsql_identifier(p);
    } else if (!restore || (strcmp(s->verb, "HEADERONLY") && strcmp(s->verb, "FILELISTONLY") &&
                            strcmp(s->verb, "LABELONLY") && strcmp(s->verb, "VERIFYONLY"))) {
        p->pos -= 1;
        tsql_fail_here(p);
    }
    if (restore ? tsql_accept(p, "FROM") : tsql_accept(p, "TO"))
        devices(p, s, 0);
    else if (!restore)
        tsql_fail_here(p);
    for (int mirror = 1; !restore && tsql_accept(p, "MIRROR"); mirror++) {
        tsql_expect(p, "TO");
        devices(p, s, mirror);
    }
    if (tsql_accept(p, "WITH"))
        s->options = tsql_options(p, &s->option_count);
}

void tsql_parse_dbcc(struct parser *p, struct stmt *s)
{
    s->kind = S_DBCC;
    s->verb = sim_text_upper(p->arena, tsql_identifier(p), false);
    if (tsql_accept(p, "(")) {
        while (!tsql_is(p, ")") && tsql_peek(p)->kind != T_END) {
            struct expr *e = NULL;
            const struct token *t = tsql_peek(p);
            if (t->kind == T_NAME && (tsql_is_at(p, 1, ",") || tsql_is_at(p, 1, ")"))) {
                e = sim_arena_alloc(p->arena, sizeof(*e));
                e->kind = E_LITERAL;
                e->literal = sim_text(tsql_next(p)->text);
            } else {
                e = tsql_expr(p);
            }
            s->exprs = sim_arena_grow(p->arena, s->exprs, (size_t)s->expr_count, sizeof(e));
            s->exprs[s->expr_count++] = e;
            if (!tsql_accept(p, ","))
                break;
        }
        tsql_expect(p, ")");
    }
    if (tsql_accept(p, "WITH"))
        s->options = tsql_options(p, &s->option_count);
}

static void snapshot_files(struct parser *p, struct stmt *s)
{
    do {
        tsql_expect(p, "(");
        s->names = sim_arena_grow(p->arena, s->names, (size_t)s->name_count, sizeof(char *));
        s->names[s->name_count++] = NULL;
        s->names = sim_arena_grow(p->arena, s->names, (size_t)s->name_count, sizeof(char *));
        s->names[s->name_count++] = NULL;
        do {
            const char *option = tsql_next(p)->text;
            tsql_expect(p, "=");
            const char *value = tsql_next(p)->text;
            if (sim_text_is(option, "NAME"))
                s->names[s->name_count - 2] = value;
            else if (sim_text_is(option, "FILENAME"))
                s->names[s->name_count - 1] = value;
        } while (tsql_accept(p, ","));
        tsql_expect(p, ")");
    } while (tsql_accept(p, ","));
}

/* … SCOPED CREDENTIAL name WITH IDENTITY = 'a', SECRET = 'b' */
static void credential(struct parser *p, struct stmt *s)
{
    s->kind = S_CREATE_CREDENTIAL;
    tsql_expect(p, "CREDENTIAL");
    s->alias = tsql_identifier(p);
    s->names = sim_arena_alloc(p->arena, 2 * sizeof(*s->names));
    s->name_count = 2;
    tsql_expect(p, "WITH");
    tsql_expect(p, "IDENTITY");
    tsql_expect(p, "=");
    s->names[0] = tsql_next(p)->text;
    tsql_expect(p, ",");
    tsql_expect(p, "SECRET");
    tsql_expect(p, "=");
    s->names[1] = tsql_next(p)->text;
}

static void create(struct parser *p, struct stmt *s)
{
    if (tsql_accept(p, "TABLE")) {
        s->kind = S_CREATE_TABLE;
        s->name = tsql_name(p);
        tsql_parse_create(p, s);
        return;
    }
    if (tsql_accept(p, "DATABASE")) {
        if (tsql_accept(p, "SCOPED")) {
            credential(p, s);
            return;
        }
        s->kind = S_CREATE_SNAPSHOT;
        s->alias = tsql_identifier(p);
        if (tsql_accept(p, "ON"))
            snapshot_files(p, s);
        if (tsql_accept(p, "AS")) {
            tsql_expect(p, "SNAPSHOT");
            tsql_expect(p, "OF");
            s->var = tsql_identifier(p);
        }
        return;
    }
    if (tsql_accept(p, "UNIQUE") || tsql_is(p, "INDEX") || tsql_is(p, "CLUSTERED") ||
        tsql_is(p, "NONCLUSTERED")) { /* indexes change nothing here */
        s->kind = S_NOTHING;
        while (tsql_peek(p)->kind != T_END && !tsql_is(p, "("))
            tsql_next(p);
        while (tsql_peek(p)->kind != T_END && !tsql_accept(p, ")"))
            tsql_next(p);
        return;
    }
    tsql_fail_here(p);
}

void tsql_parse_alter(struct parser *p, struct stmt *s)
{
    if (tsql_accept(p, "CREATE")) {
        create(p, s);
        return;
    }
    tsql_expect(p, "ALTER");
    s->kind = S_ALTER_DATABASE;
    tsql_expect(p, "DATABASE");
    if (tsql_accept(p, "CURRENT"))
        s->alias = NULL;
    else
        s->alias = tsql_identifier(p);
    tsql_expect(p, "SET");
    s->verb = sim_text_upper(p->arena, tsql_next(p)->text, false); /* RECOVERY, OFFLINE … */
    tsql_accept(p, "=");
    const struct token *t = tsql_peek(p);
    if (t->kind == T_NAME && !tsql_is(p, "WITH"))
        s->var = sim_text_upper(p->arena, tsql_next(p)->text, false);
    if (tsql_accept(p, "WITH"))
        while (tsql_peek(p)->kind != T_END && !tsql_is(p, ";"))
            tsql_next(p);
}

void tsql_parse_drop(struct parser *p, struct stmt *s)
{
    bool table = tsql_is(p, "TABLE");

    if (!table && !tsql_is(p, "DATABASE")) {
        tsql_fail_here(p);
        return;
    }
    tsql_next(p);
    s->kind = table ? S_DROP_TABLE : S_DROP_DATABASE;
    if (tsql_accept(p, "IF")) {
        tsql_expect(p, "EXISTS");
        s->if_exists = true;
    }
    if (table)
        s->name = tsql_name(p);
    else
        s->alias = tsql_identifier(p);
}
