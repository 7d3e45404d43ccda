/* ast.h: T-SQL as a tree, and the parser that makes it.
 * All of a tree lives in the arena given to the parser; names and texts are borrowed from it. */
#pragma once

#include "value.h"

enum tok { T_END, T_NAME, T_TEXT, T_NUMBER, T_BINARY, T_VAR, T_OP };

struct token {
    enum tok kind;
    const char *text; /* unquoted */
    bool quoted;      /* [name] or "name": no keyword */
    bool national;    /* N'…' */
    int line;
    size_t at, end; /* bytes of the batch */
};

struct name {
    const char *part[4]; /* the last one used is the object; NULL = left out (master..x) */
    int count;
    int line;
};

enum expr_kind {
    E_LITERAL,
    E_COLUMN,
    E_STAR, /* in a select list or COUNT(*) */
    E_VAR,
    E_SYSVAR,
    E_NEGATE,
    E_INVERT,
    E_BINARY, /* op */
    E_AND,
    E_OR,
    E_NOT,
    E_COMPARE, /* op: = # (<>) < > l (<=) g (>=) */
    E_IN,
    E_BETWEEN,
    E_LIKE,
    E_IS_NULL,
    E_EXISTS,
    E_CASE,
    E_CAST,
    E_FUNC,
    E_SUBQUERY,
};

struct order {
    struct expr *expr;
    bool descending;
};

struct expr {
    enum expr_kind kind;
    char op;
    bool negated;
    bool distinct;
    bool tried; /* TRY_CAST */
    int line;
    int level;        /* of the tree below, so that chains stay short enough to walk */
    const char *text; /* name of variable, function; for CAST the type as written */
    struct name name;
    struct expr **args; /* CASE: when, then, …; else last if has_else; operand in left */
    int count;
    bool has_else;
    struct expr *left;
    struct value literal;
    struct select *query;
    bool has_over;
    struct expr **partition;
    int partition_count;
    struct order *over_order;
    int over_order_count;
    /* filled by the binder */
    struct type type;
    int depth, source, column;
    int slot;          /* aggregate or window result, -1 none */
    const void *bound; /* function descriptor */
};

struct item {
    struct expr *expr;
    const char *alias;
    const char *target; /* SELECT @x = */
};

enum from_kind { F_TABLE, F_QUERY, F_JOIN };
enum join_kind { J_INNER, J_LEFT, J_RIGHT, J_FULL, J_CROSS, J_CROSS_APPLY, J_OUTER_APPLY };

struct from {
    enum from_kind kind;
    enum join_kind join;
    struct name name;
    const char *alias;
    const char **columns;
    int column_count;
    bool is_call;
    struct expr **args;
    int arg_count;
    struct select *query;
    struct from *left, *right;
    struct expr *on;
    int source; /* filled by the binder */
};

struct cte {
    const char *name;
    const char **columns;
    int column_count;
    struct select *query;
};

struct select {
    bool distinct, top_percent;
    struct expr *top;
    struct item *items;
    int item_count;
    struct name into;
    struct from *from;
    struct expr *where;
    struct expr **group;
    int group_count;
    struct expr *having;
    struct order *order;
    int order_count;
    struct expr *offset, *fetch;
    struct expr ***values; /* VALUES (…), (…): rows of item_count expressions */
    int value_count;
    struct select *next; /* UNION */
    char set_op;         /* 'a' union all, 'u' union, 'e' except, 'i' intersect */
    struct cte *ctes;
    int cte_count;
    int line;
};

enum stmt_kind {
    S_SELECT,
    S_ASSIGN, /* SET @x = */
    S_OPTION, /* SET NOCOUNT ON … */
    S_DECLARE,
    S_IF,
    S_WHILE,
    S_BLOCK,
    S_TRY,
    S_PRINT,
    S_RAISERROR,
    S_THROW,
    S_WAITFOR,
    S_USE,
    S_EXEC,
    S_EXEC_TEXT,
    S_TRAN,
    S_BACKUP,
    S_RESTORE,
    S_DBCC,
    S_CREATE_TABLE,
    S_CREATE_SNAPSHOT,
    S_CREATE_CREDENTIAL, /* alias: its name; names: identity, secret */
    S_DROP_TABLE,
    S_DROP_DATABASE,
    S_ALTER_DATABASE,
    S_INSERT,
    S_UPDATE,
    S_DELETE,
    S_RETURN,
    S_BREAK,
    S_CONTINUE,
    S_KILL,
    S_NOTHING,
};

struct column_def {
    const char *name;
    const char *type_name;
    struct type type;
    struct expr *default_value;
    bool not_null, identity, primary_key, is_table;
};

struct argument { /* of EXEC, of SET/DECLARE/UPDATE (name = value), of options */
    const char *name;
    struct expr *value;
    bool output;
    char op; /* += and so on, else 0 */
};

struct option { /* WITH name = value */
    const char *name;
    const char *value; /* text of the value, NULL if none */
    bool is_number;
    const char *var;   /* or the name of a variable */
    const char *extra; /* COMPRESSION (ALGORITHM = value, LEVEL = extra) */
    int line;
};

struct device {
    const char *type; /* DISK, URL, TAPE, VIRTUAL_DEVICE */
    const char *path;
    const char *var;
    int mirror; /* 0 = TO, n = MIRROR TO */
};

struct stmt {
    enum stmt_kind kind;
    int line;
    size_t at;        /* where its text begins in the batch */
    const char *verb; /* which transaction, DBCC command, SET option … in capitals */
    struct stmt *next;
    struct stmt *body, *other;
    struct expr *expr;
    struct expr **exprs;
    int expr_count;
    struct select *select;
    struct name name;
    const char *var; /* of the return status, of a name given by variable */
    const char *alias;
    struct argument *args;
    int arg_count;
    struct column_def *columns;
    int column_count;
    struct option *options;
    int option_count;
    struct device *devices;
    int device_count;
    struct from *from;
    struct expr *where;
    const char **names; /* column list of INSERT; names of files of a snapshot: name, path, … */
    int name_count;
    bool if_exists, flag;
};

struct parser {
    struct arena *arena;
    const char *batch;
    struct token *tokens;
    int count, pos;
    int depth; /* of nested expressions, queries and statements */
    int error; /* SQL Server's number, 0 = good */
    const char *error_text;
    int error_line;
};

/* lex.c: false with error set when a quote or comment is not closed. */
bool tsql_lex(struct parser *p);
/* parse_stmt.c: the whole batch; NULL with p->error when it is wrong (or empty with error 0). */
struct stmt *tsql_parse(struct parser *p);
/* A declaration list as sp_executesql has it: N'@a int, @b nvarchar(10) OUTPUT'. */
struct column_def *tsql_parse_parameters(struct parser *p, int *out_count);

/* for the parser's own files */
const struct token *tsql_peek(const struct parser *p);
const struct token *tsql_peek_at(const struct parser *p, int ahead);
const struct token *tsql_next(struct parser *p);
bool tsql_is(const struct parser *p, const char *word); /* keyword or operator */
bool tsql_is_at(const struct parser *p, int ahead, const char *word);
bool tsql_accept(struct parser *p, const char *word);
void tsql_expect(struct parser *p, const char *word);
void tsql_fail_here(struct parser *p);
void tsql_fail(struct parser *p, int number, const char *text);
bool tsql_is_reserved(const char *word);
void tsql_enter(struct parser *p); /* one level deeper; the caller takes p->depth back */
const char *tsql_identifier(struct parser *p);
struct name tsql_name(struct parser *p);
struct expr *tsql_expr(struct parser *p);
struct expr *tsql_condition(struct parser *p);
struct select *tsql_select(struct parser *p);
struct from *tsql_from(struct parser *p);
bool tsql_type(struct parser *p, struct column_def *def);
struct stmt *tsql_statement(struct parser *p);
/* parse_data.c */
void tsql_parse_set(struct parser *p, struct stmt *s);
void tsql_parse_declare(struct parser *p, struct stmt *s);
void tsql_parse_insert(struct parser *p, struct stmt *s);
void tsql_parse_update(struct parser *p, struct stmt *s);
void tsql_parse_delete(struct parser *p, struct stmt *s);
void tsql_parse_create(struct parser *p, struct stmt *s); /* ( column, … ) */
void tsql_parse_exec(struct parser *p, struct stmt *s, bool has_word);
/* parse_admin.c */
void tsql_parse_backup(struct parser *p, struct stmt *s);
void tsql_parse_dbcc(struct parser *p, struct stmt *s);
void tsql_parse_drop(struct parser *p, struct stmt *s);
void tsql_parse_alter(struct parser *p, struct stmt *s);
struct option *tsql_options(struct parser *p, int *out_count);
