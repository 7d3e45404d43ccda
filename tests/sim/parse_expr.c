/* parse_expr.c: expressions and conditions, by precedence. */
#include "ast.h"

#include <stdlib.h>
#include <string.h>

static struct expr *unary(struct parser *p);

static struct expr *node(struct parser *p, enum expr_kind kind)
{
    struct expr *e = sim_arena_alloc(p->arena, sizeof(*e));
    e->kind = kind;
    e->line = tsql_peek(p)->line;
    e->slot = -1;
    e->text = "";
    return e;
}

static void push(struct parser *p, struct expr *e, struct expr *arg)
{
    e->args = sim_arena_grow(p->arena, e->args, (size_t)e->count, sizeof(*e->args));
    e->args[e->count++] = arg;
}

static struct expr *pair(struct parser *p, enum expr_kind kind, char op, struct expr *a,
                         struct expr *b)
{
    struct expr *e = node(p, kind);
    e->op = op;
    e->level = (a->level > b->level ? a->level : b->level) + 1;
    if (e->level > 1000)
        tsql_fail(p, 191, "");
    push(p, e, a);
    push(p, e, b);
    return e;
}

static struct value number_value(struct parser *p, const char *text)
{
    struct value in = sim_text(text), out = sim_null(sim_type(VT_INT, 0));
    struct type t = sim_type(VT_FLOAT, 0);

    if (!strpbrk(text, "eE")) {
        const char *dot = strchr(text, '.');
        int digits = (int)strlen(text) - (dot != NULL);
        int scale = dot ? (int)strlen(dot + 1) : 0;
        t = sim_type_decimal(digits > 38 ? 38 : digits < 1 ? 1 : digits, scale);
        if (!dot && digits <= 10 && strtoll(text, NULL, 10) <= INT32_MAX)
            t = sim_type(VT_INT, 0);
    }
    if (sim_convert(p->arena, &in, t, 0, &out))
        tsql_fail(p, 1007, text);
    return out;
}

static struct value binary_value(struct parser *p, const char *text)
{
    const char *hex = text + 2;
    if (strlen(hex) % 2)
        hex = sim_arena_printf(p->arena, "0%s", hex);
    struct value in = sim_text(hex), out = sim_null(sim_type(VT_VARBINARY, 1));
    size_t bytes = strlen(hex) / 2;
    (void)sim_convert(p->arena, &in, sim_type(VT_VARBINARY, bytes ? (int)bytes : 1), 2, &out);
    return out;
}

static struct expr *literal(struct parser *p)
{
    struct expr *e = node(p, E_LITERAL);
    const struct token *t = tsql_next(p);

    if (t->kind == T_NUMBER) {
        e->literal = number_value(p, t->text);
    } else if (t->kind == T_BINARY) {
        e->literal = binary_value(p, t->text);
    } else {
        e->literal = sim_text(t->text);
        if (!t->national)
            e->literal.type.base = VT_VARCHAR;
    }
    return e;
}

static void arguments(struct parser *p, struct expr *e)
{
    if (tsql_accept(p, ")"))
        return;
    e->distinct = tsql_accept(p, "DISTINCT");
    if (sim_text_is(e->text, "IIF")) {
        push(p, e, tsql_condition(p));
        tsql_expect(p, ",");
    }
    do {
        if (tsql_is(p, "*")) {
            push(p, e, node(p, E_STAR));
            tsql_next(p);
        } else {
            push(p, e, tsql_expr(p));
        }
    } while (tsql_accept(p, ","));
    tsql_expect(p, ")");
}

static struct order *order_list(struct parser *p, int *count)
{
    struct order *list = NULL;
    *count = 0;
    do {
        list = sim_arena_grow(p->arena, list, (size_t)*count, sizeof(*list));
        list[*count].expr = tsql_expr(p);
        list[*count].descending = tsql_accept(p, "DESC");
        if (!list[*count].descending)
            tsql_accept(p, "ASC");
        ++*count;
    } while (tsql_accept(p, ","));
    return list;
}

static void over(struct parser *p, struct expr *e)
{
    e->has_over = true;
    tsql_expect(p, "(");
    if (tsql_accept(p, "PARTITION")) {
        tsql_expect(p, "BY");
        do {
            e->partition = sim_arena_grow(p->arena, e->partition, (size_t)e->partition_count,
                                          sizeof(*e->partition));
            e->partition[e->partition_count++] = tsql_expr(p);
        } while (tsql_accept(p, ","));
    }
    if (tsql_accept(p, "ORDER")) {
        tsql_expect(p, "BY");
        e->over_order = order_list(p, &e->over_order_count);
    }
    tsql_expect(p, ")");
}

static struct expr *call(struct parser *p, struct name name)
{
    struct expr *e = node(p, E_FUNC);

    e->name = name;
    e->text = name.part[name.count - 1];
    tsql_expect(p, "(");
    arguments(p, e);
    if (tsql_accept(p, "WITHIN")) { /* STRING_AGG (…) WITHIN GROUP (ORDER BY …) */
        tsql_expect(p, "GROUP");
        tsql_expect(p, "(");
        tsql_expect(p, "ORDER");
        tsql_expect(p, "BY");
        e->over_order = order_list(p, &e->over_order_count);
        tsql_expect(p, ")");
    }
    if (tsql_accept(p, "OVER"))
        over(p, e);
    if (sim_text_is(e->text, "IIF") && e->count == 3) {
        e->kind = E_CASE;
        e->has_else = true;
    }
    return e;
}

static struct expr *cast(struct parser *p, bool convert)
{
    struct expr *e = node(p, E_CAST);
    struct column_def def = {0};

    e->tried = sim_text_begins(tsql_next(p)->text, "TRY_");
    tsql_expect(p, "(");
    if (convert) {
        if (!tsql_type(p, &def))
            tsql_fail(p, 243, def.type_name);
        tsql_expect(p, ",");
        e->left = tsql_expr(p);
        if (tsql_accept(p, ","))
            push(p, e, tsql_expr(p));
    } else {
        e->left = tsql_expr(p);
        tsql_expect(p, "AS");
        if (!tsql_type(p, &def))
            tsql_fail(p, 243, def.type_name);
    }
    tsql_expect(p, ")");
    e->type = def.type;
    e->text = def.type_name;
    return e;
}

static struct expr *case_when(struct parser *p)
{
    struct expr *e = node(p, E_CASE);

    tsql_next(p);
    if (!tsql_is(p, "WHEN"))
        e->left = tsql_expr(p);
    while (tsql_accept(p, "WHEN")) {
        push(p, e, e->left ? tsql_expr(p) : tsql_condition(p));
        tsql_expect(p, "THEN");
        push(p, e, tsql_expr(p));
    }
    if (!e->count)
        tsql_fail_here(p);
    if (tsql_accept(p, "ELSE")) {
        push(p, e, tsql_expr(p));
        e->has_else = true;
    }
    tsql_expect(p, "END");
    return e;
}

static struct expr *bare_call(struct parser *p, const char *function)
{
    struct expr *e = node(p, E_FUNC);
    tsql_next(p);
    e->text = function;
    e->name = (struct name){.part = {function}, .count = 1, .line = e->line};
    return e;
}

static struct expr *named(struct parser *p)
{
    static const char *const bare[] = {"CURRENT_TIMESTAMP", "CURRENT_USER", "SYSTEM_USER",
                                       "SESSION_USER", "USER"};
    static const char *const calls[] = {"LEFT", "RIGHT", "COALESCE", "NULLIF", "CONVERT"};
    const struct token *t = tsql_peek(p);

    if (!t->quoted && tsql_is(p, "CASE"))
        return case_when(p);
    if (!t->quoted && tsql_is(p, "NULL")) {
        struct expr *e = node(p, E_LITERAL);
        tsql_next(p);
        e->literal = sim_null(sim_type(VT_NULL, 0));
        return e;
    }
    if (tsql_is_at(p, 1, "(")) {
        if (tsql_is(p, "CAST") || tsql_is(p, "TRY_CAST"))
            return cast(p, false);
        if (tsql_is(p, "CONVERT") || tsql_is(p, "TRY_CONVERT"))
            return cast(p, true);
        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
            if (tsql_is(p, calls[i])) {
                tsql_next(p);
                return call(p, (struct name){.part = {calls[i]}, .count = 1, .line = t->line});
            }
    }
    for (size_t i = 0; i < sizeof(bare) / sizeof(*bare); i++)
        if (tsql_is(p, bare[i]))
            return bare_call(p, bare[i]);
    struct expr *e = node(p, E_COLUMN);
    e->name = (struct name){.line = t->line};
    for (;;) { /* like tsql_name, but a star may end it */
        if (tsql_is(p, "*") && e->name.count) {
            tsql_next(p);
            e->kind = E_STAR;
            return e;
        }
        if (e->name.count == 4) {
            tsql_fail(p, 117, "");
            return e;
        }
        e->name.part[e->name.count++] = tsql_is(p, ".") ? NULL : tsql_identifier(p);
        if (!tsql_accept(p, "."))
            break;
    }
    if (tsql_is(p, "("))
        return call(p, e->name);
    e->text = e->name.part[e->name.count - 1];
    return e;
}

static struct expr *primary(struct parser *p)
{
    const struct token *t = tsql_peek(p);

    if (t->kind == T_NUMBER || t->kind == T_TEXT || t->kind == T_BINARY)
        return literal(p);
    if (t->kind == T_VAR) {
        struct expr *e = node(p, t->text[1] == '@' ? E_SYSVAR : E_VAR);
        e->text = tsql_next(p)->text;
        return e;
    }
    if (tsql_accept(p, "(")) {
        struct expr *e = NULL;
        if (tsql_is(p, "SELECT") || tsql_is(p, "WITH")) {
            e = node(p, E_SUBQUERY);
            e->query = tsql_select(p);
        } else {
            e = tsql_expr(p);
        }
        tsql_expect(p, ")");
        return e;
    }
    if (t->kind == T_NAME)
        return named(p);
    tsql_fail_here(p);
    return node(p, E_LITERAL);
}

static struct expr *unary(struct parser *p)
{
    while (tsql_accept(p, "+"))
        ;
    bool minus = tsql_is(p, "-");
    if (minus || tsql_is(p, "~")) {
        struct expr *e = node(p, minus ? E_NEGATE : E_INVERT);
        tsql_next(p);
        tsql_enter(p);
        e->left = unary(p);
        p->depth--;
        return e;
    }
    struct expr *e = primary(p);
    if (tsql_accept(p, "COLLATE"))
        (void)tsql_identifier(p);
    return e;
}

static struct expr *product(struct parser *p)
{
    struct expr *e = unary(p);
    while (tsql_is(p, "*") || tsql_is(p, "/") || tsql_is(p, "%")) {
        char op = tsql_next(p)->text[0];
        e = pair(p, E_BINARY, op, e, unary(p));
    }
    return e;
}

struct expr *tsql_expr(struct parser *p)
{
    tsql_enter(p);
    struct expr *e = product(p);
    while (tsql_is(p, "+") || tsql_is(p, "-") || tsql_is(p, "&") || tsql_is(p, "|") ||
           tsql_is(p, "^")) {
        char op = tsql_next(p)->text[0];
        e = pair(p, E_BINARY, op, e, product(p));
    }
    p->depth--;
    return e;
}

static struct expr *in_list(struct parser *p, struct expr *left)
{
    struct expr *e = node(p, E_IN);
    e->left = left;
    tsql_expect(p, "(");
    if (tsql_is(p, "SELECT")) {
        e->query = tsql_select(p);
    } else {
        do
            push(p, e, tsql_expr(p));
        while (tsql_accept(p, ","));
    }
    tsql_expect(p, ")");
    return e;
}

static struct expr *comparison(struct parser *p, struct expr *left)
{
    static const struct {
        const char *text;
        char op;
    } ops[] = {{"=", '='},  {"<>", '#'}, {"!=", '#'}, {"<=", 'l'}, {">=", 'g'},
               {"!>", 'l'}, {"!<", 'g'}, {"<", '<'},  {">", '>'}};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (tsql_accept(p, ops[i].text))
            return pair(p, E_COMPARE, ops[i].op, left, tsql_expr(p));
    bool negated = tsql_accept(p, "NOT");
    struct expr *e = NULL;
    if (tsql_is(p, "IN")) {
        tsql_next(p);
        e = in_list(p, left);
    } else if (tsql_accept(p, "BETWEEN")) {
        e = node(p, E_BETWEEN);
        e->left = left;
        push(p, e, tsql_expr(p));
        tsql_expect(p, "AND");
        push(p, e, tsql_expr(p));
    } else if (tsql_accept(p, "LIKE")) {
        e = node(p, E_LIKE);
        e->left = left;
        push(p, e, tsql_expr(p));
        if (tsql_accept(p, "ESCAPE"))
            push(p, e, tsql_expr(p));
    } else if (!negated && tsql_accept(p, "IS")) {
        e = node(p, E_IS_NULL);
        e->left = left;
        negated = tsql_accept(p, "NOT");
        tsql_expect(p, "NULL");
    } else {
        if (tsql_peek(p)->kind == T_END || tsql_is(p, ")") || tsql_is(p, "THEN"))
            tsql_fail(p, 4145, tsql_peek(p)->text);
        tsql_fail_here(p);
        return left;
    }
    e->negated = negated;
    return e;
}

/* Whether the parenthesis at the cursor holds a condition and not a value. */
static bool is_condition_paren(const struct parser *p, int level)
{
    int depth = 0;
    for (int i = 0;; i++) {
        const struct token *t = tsql_peek_at(p, i);
        if (t->kind == T_END)
            return false;
        if (tsql_is_at(p, i, "("))
            depth++;
        else if (tsql_is_at(p, i, ")") && --depth == 0)
            return false;
        else if (depth == 1 && (tsql_is_at(p, i, "SELECT") || tsql_is_at(p, i, "CASE")))
            return false; /* what follows inside belongs to it */
        else if (depth == 1 && t->kind == T_OP && strchr("=<>!", t->text[0]))
            return true;
        else if (depth == 1 &&
                 (tsql_is_at(p, i, "AND") || tsql_is_at(p, i, "OR") || tsql_is_at(p, i, "NOT") ||
                  tsql_is_at(p, i, "IS") || tsql_is_at(p, i, "IN") || tsql_is_at(p, i, "LIKE") ||
                  tsql_is_at(p, i, "EXISTS") || tsql_is_at(p, i, "BETWEEN")))
            return true;
        else if (depth == 2 && i == 1 && level < 200) {
            const struct parser inner = {.tokens = p->tokens, .count = p->count, .pos = p->pos + 1};
            if (is_condition_paren(&inner, level + 1))
                return true;
        }
    }
}

static struct expr *predicate(struct parser *p)
{
    if (tsql_accept(p, "NOT")) {
        struct expr *e = node(p, E_NOT);
        tsql_enter(p);
        e->left = predicate(p);
        p->depth--;
        return e;
    }
    if (tsql_accept(p, "EXISTS")) {
        struct expr *e = node(p, E_EXISTS);
        tsql_expect(p, "(");
        e->query = tsql_select(p);
        tsql_expect(p, ")");
        return e;
    }
    if (tsql_is(p, "(") && is_condition_paren(p, 0)) {
        tsql_next(p);
        struct expr *e = tsql_condition(p);
        tsql_expect(p, ")");
        return e;
    }
    return comparison(p, tsql_expr(p));
}

static struct expr *conjunction(struct parser *p)
{
    struct expr *e = predicate(p);
    while (tsql_accept(p, "AND"))
        e = pair(p, E_AND, 0, e, predicate(p));
    return e;
}

struct expr *tsql_condition(struct parser *p)
{
    tsql_enter(p);
    struct expr *e = conjunction(p);
    while (tsql_accept(p, "OR"))
        e = pair(p, E_OR, 0, e, conjunction(p));
    p->depth--;
    return e;
}

bool tsql_type(struct parser *p, struct column_def *def)
{
    const struct token *t = tsql_next(p);
    int a = -2, b = -2;

    def->type_name = t->text;
    if (t->kind == T_NAME && tsql_is(p, ".")) { /* sys.nvarchar */
        tsql_next(p);
        def->type_name = tsql_next(p)->text;
    }
    if (t->kind != T_NAME) {
        p->pos--;
        tsql_fail_here(p);
        return true;
    }
    if (sim_text_is(def->type_name, "table")) {
        def->is_table = true;
        return true;
    }
    if (tsql_accept(p, "(")) {
        const struct token *n = tsql_next(p);
        a = sim_text_is(n->text, "max") ? -1 : (int)strtol(n->text, NULL, 10);
        if (tsql_accept(p, ","))
            b = (int)strtol(tsql_next(p)->text, NULL, 10);
        tsql_expect(p, ")");
    }
    return sim_type_parse(def->type_name, a, b, &def->type);
}
