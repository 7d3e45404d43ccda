/* lex.c: the batch as tokens, and the parser's small steps over them. */
#include "ast.h"

#include <string.h>

static bool is_name_start(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '#' || c >= 0x80;
}

static bool is_name_part(unsigned char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9') || c == '@' || c == '$';
}

void tsql_fail(struct parser *p, int number, const char *text)
{
    if (p->error)
        return;
    p->error = number;
    p->error_text = text;
    p->error_line = p->count ? p->tokens[p->pos < p->count ? p->pos : p->count - 1].line : 1;
    p->pos = p->count - 1; /* from here on everything is the end */
}

static struct token *add(struct parser *p, enum tok kind, size_t at, int line)
{
    p->tokens = sim_arena_grow(p->arena, p->tokens, (size_t)p->count, sizeof(struct token));
    struct token *t = &p->tokens[p->count++];
    *t = (struct token){.kind = kind, .at = at, .line = line, .text = ""};
    return t;
}

/* Moves over blanks and comments. False when a comment is not closed. */
static bool skip_blank(const char *s, size_t *at, int *line)
{
    for (;;) {
        if (s[*at] == '-' && s[*at + 1] == '-') {
            while (s[*at] && s[*at] != '\n')
                ++*at;
        } else if (s[*at] == '/' && s[*at + 1] == '*') {
            int depth = 0;
            do {
                if (!s[*at])
                    return false;
                bool open = s[*at] == '/' && s[*at + 1] == '*';
                bool shut = s[*at] == '*' && s[*at + 1] == '/';
                depth += open - shut;
                *line += s[*at] == '\n';
                *at += open || shut ? 2 : 1;
            } while (depth);
        } else if (s[*at] && strchr(" \t\r\n\f\v", s[*at])) {
            *line += s[(*at)++] == '\n';
        } else if (strncmp(s + *at, "\xC2\xA0", 2) == 0) {
            *at += 2;
        } else {
            return true;
        }
    }
}

/* 'text', "name" or [name] with the closing mark doubled inside. */
static bool quoted(struct parser *p, size_t *at, int *line, struct token *t)
{
    const char *s = p->batch;
    char close = s[*at] == '[' ? ']' : s[*at];
    struct bytes b = {0};

    for (++*at; s[*at]; ++*at) {
        *line += s[*at] == '\n';
        if (s[*at] == close && s[++*at] != close) {
            t->text = sim_arena_dupn(p->arena, b.data, b.len);
            t->end = *at;
            sim_bytes_fini(&b);
            return true;
        }
        sim_bytes_put(&b, s + *at, 1);
    }
    p->error = 105;
    p->error_text = sim_arena_dupn(p->arena, b.data, b.len);
    p->error_line = t->line;
    sim_bytes_fini(&b);
    return false;
}

static size_t number_end(const char *s, size_t at, enum tok *kind)
{
    if (s[at] == '0' && (s[at + 1] == 'x' || s[at + 1] == 'X')) {
        *kind = T_BINARY;
        return at + 2 + strspn(s + at + 2, "0123456789abcdefABCDEF");
    }
    *kind = T_NUMBER;
    at += strspn(s + at, "0123456789");
    if (s[at] == '.')
        at += 1 + strspn(s + at + 1, "0123456789");
    if (s[at] == 'e' || s[at] == 'E') {
        size_t sign = s[at + 1] == '+' || s[at + 1] == '-';
        size_t n = strspn(s + at + 1 + sign, "0123456789");
        if (n)
            at += 1 + sign + n;
    }
    return at;
}

static size_t operator_length(const char *s)
{
    static const char two[][3] = {"<>", "<=", ">=", "!=", "!<", "!>", "+=", "-=", "*=", "/=", "::"};
    for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++)
        if (s[0] == two[i][0] && s[1] == two[i][1])
            return 2;
    return 1;
}

static bool one(struct parser *p, size_t *at, int *line)
{
    const char *s = p->batch;
    enum tok kind = T_OP;
    size_t start = *at, end = start;
    bool national = (s[start] == 'N' || s[start] == 'n') && s[start + 1] == '\'';

    if (national || s[start] == '\'' || s[start] == '[' || s[start] == '"') {
        bool text = national || s[start] == '\'';
        struct token *t = add(p, text ? T_TEXT : T_NAME, start, *line);
        t->national = national;
        t->quoted = true;
        *at += national;
        return quoted(p, at, line, t);
    }
    if ((s[start] >= '0' && s[start] <= '9') ||
        (s[start] == '.' && s[start + 1] >= '0' && s[start + 1] <= '9')) {
        end = number_end(s, start, &kind);
    } else if (s[start] == '@' || is_name_start((unsigned char)s[start])) {
        kind = s[start] == '@' ? T_VAR : T_NAME;
        while (is_name_part((unsigned char)s[end]))
            end++;
    } else {
        end = start + operator_length(s + start);
    }
    struct token *t = add(p, kind, start, *line);
    t->text = sim_arena_dupn(p->arena, s + start, end - start);
    t->end = *at = end;
    return true;
}

bool tsql_lex(struct parser *p)
{
    size_t at = 0;
    int line = 1;
    bool good = true;

    while (good) {
        int here = line;
        if (!skip_blank(p->batch, &at, &line)) {
            p->error = 113;
            p->error_text = "";
            p->error_line = here;
            good = false;
        } else if (!p->batch[at]) {
            break;
        } else {
            good = one(p, &at, &line);
        }
    }
    struct token *end = add(p, T_END, strlen(p->batch), line);
    end->end = end->at;
    return good;
}

const struct token *tsql_peek_at(const struct parser *p, int ahead)
{
    int i = p->pos + ahead;
    return &p->tokens[i < p->count ? i : p->count - 1];
}

const struct token *tsql_peek(const struct parser *p)
{
    return tsql_peek_at(p, 0);
}

const struct token *tsql_next(struct parser *p)
{
    const struct token *t = tsql_peek(p);
    if (p->pos < p->count - 1)
        p->pos++;
    return t;
}

bool tsql_is_at(const struct parser *p, int ahead, const char *word)
{
    const struct token *t = tsql_peek_at(p, ahead);
    if (t->kind == T_OP)
        return strcmp(t->text, word) == 0;
    return t->kind == T_NAME && !t->quoted && sim_text_is(t->text, word);
}

bool tsql_is(const struct parser *p, const char *word)
{
    return tsql_is_at(p, 0, word);
}

bool tsql_accept(struct parser *p, const char *word)
{
    if (!tsql_is(p, word))
        return false;
    tsql_next(p);
    return true;
}

void tsql_fail_here(struct parser *p)
{
    const struct token *t = tsql_peek(p);
    if (t->kind == T_END) {
        const struct token *last = p->count > 1 ? &p->tokens[p->count - 2] : t;
        tsql_fail(p, 102, last->text);
    } else if (t->kind == T_NAME && !t->quoted && tsql_is_reserved(t->text)) {
        tsql_fail(p, 156, t->text);
    } else {
        tsql_fail(p, 102, t->text);
    }
}

void tsql_enter(struct parser *p)
{
    if (++p->depth > 150)
        tsql_fail(p, 191, "");
}

void tsql_expect(struct parser *p, const char *word)
{
    if (!tsql_accept(p, word))
        tsql_fail_here(p);
}

bool tsql_is_reserved(const char *word)
{
    static const char *const words[] = {
        "add",          "all",         "alter",       "and",          "any",
        "as",           "asc",         "backup",      "begin",        "between",
        "break",        "by",          "case",        "checkpoint",   "close",
        "coalesce",     "collate",     "column",      "commit",       "constraint",
        "continue",     "convert",     "create",      "cross",        "current_timestamp",
        "current_user", "cursor",      "database",    "dbcc",         "deallocate",
        "declare",      "default",     "delete",      "desc",         "distinct",
        "drop",         "else",        "end",         "escape",       "except",
        "exec",         "execute",     "exists",      "fetch",        "for",
        "foreign",      "from",        "full",        "function",     "goto",
        "grant",        "group",       "having",      "identity",     "if",
        "in",           "index",       "inner",       "insert",       "intersect",
        "into",         "is",          "join",        "key",          "kill",
        "left",         "like",        "merge",       "not",          "null",
        "nullif",       "of",          "off",         "on",           "open",
        "option",       "or",          "order",       "outer",        "over",
        "percent",      "primary",     "print",       "proc",         "procedure",
        "raiserror",    "read",        "reconfigure", "references",   "restore",
        "return",       "revert",      "revoke",      "right",        "rollback",
        "save",         "schema",      "select",      "session_user", "set",
        "shutdown",     "some",        "system_user", "table",        "then",
        "to",           "top",         "tran",        "transaction",  "trigger",
        "truncate",     "try_convert", "union",       "unique",       "update",
        "use",          "user",        "values",      "view",         "waitfor",
        "when",         "where",       "while",       "with"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (sim_text_is(words[i], word))
            return true;
    return false;
}

const char *tsql_identifier(struct parser *p)
{
    const struct token *t = tsql_peek(p);
    if (t->kind != T_NAME || (!t->quoted && tsql_is_reserved(t->text))) {
        tsql_fail_here(p);
        return "";
    }
    if (sim_utf16_len(t->text) > 128)
        tsql_fail(p, 103, sim_utf16_cut(p->arena, t->text, 0, 128));
    return tsql_next(p)->text;
}

struct name tsql_name(struct parser *p)
{
    struct name n = {.line = tsql_peek(p)->line};

    for (;;) {
        if (n.count == 4) {
            tsql_fail(p, 117, "");
            return n;
        }
        n.part[n.count++] = tsql_is(p, ".") ? NULL : tsql_identifier(p);
        if (!tsql_accept(p, "."))
            return n;
    }
}
