/* eval.h: expressions and queries over the simulator's tables.
 * Functions return false when an error was raised on the session. */
#pragma once

#include "session.h"

struct source {
    const char *alias, *table; /* alias or NULL; the last part of the name */
    struct rowset *rows;       /* columns known from the start, rows when filled */
    struct value *row;         /* the current one */
};

struct scope {
    struct scope *parent;
    struct select *select;
    struct cte *ctes;
    int cte_count;
    struct source *sources;
    int source_count;
    struct value *slots; /* of aggregates and windows, for the current row */
    struct expr **aggregates;
    int aggregate_count;
    struct expr **windows;
    int window_count;
    int slot_count;
    bool in_aggregate;
    int64_t limit; /* rows that are enough, 0 = all: for cross joins without a condition */
};

struct eval {
    struct session *session;
    struct frame *frame;
    struct arena *arena;
    struct scope *scope;
};

struct function {
    const char *name;
    int least, most;
    int result; /* enum in functions.h */
    bool (*call)(struct eval *ev, const struct expr *e, struct value *args, int n,
                 struct value *out);
    int since; /* version */
};

/* bind.c */
bool tsql_bind(struct eval *ev, struct expr *e);
bool tsql_is_aggregate(const struct expr *e);
bool tsql_same(const struct expr *a, const struct expr *b);
/* eval.c */
bool tsql_eval(struct eval *ev, const struct expr *e, struct value *out);
bool tsql_true(struct eval *ev, const struct expr *e, bool *out);
bool tsql_cast(struct eval *ev, const struct value *in, struct type to, struct value *out);
bool tsql_conversion_error(struct session *s, int number, const struct value *v, struct type to);
/* Binds and evaluates an expression without tables. */
bool tsql_value(struct frame *f, struct expr *e, struct value *out);
bool tsql_condition_value(struct frame *f, struct expr *e, bool *out);
/* query.c; outer may be NULL */
bool tsql_query(struct frame *f, struct select *s, struct scope *outer, bool describe,
                struct rowset **out);
/* join.c */
struct tuple {
    struct value **rows;
    struct value *slots;
    struct value *out, *keys;
};
struct tuples {
    struct tuple *list;
    int count;
};
bool tsql_collect_sources(struct eval *ev, struct from *f);
bool tsql_bind_from(struct eval *ev, struct from *f);
bool tsql_join(struct eval *ev, struct from *f, struct tuples *in, struct tuples *out);
void tsql_set_current(struct scope *scope, const struct tuple *t);
/* group.c */
bool tsql_group(struct eval *ev, struct select *s, struct tuples *t);
bool tsql_windows(struct eval *ev, struct tuples *t);
/* functions*.c: NULL when unknown in this version */
const struct function *tsql_function(const struct sim *sim, const char *name);
struct type tsql_function_type(const struct function *fn, const struct expr *e);
bool tsql_sysvar(struct eval *ev, const char *name, struct value *out);
/* catalog.c: the table of a name: columns, and rows unless describe. args are a function's. */
bool tsql_table(struct eval *ev, const struct from *f, bool describe, struct value *args,
                struct rowset **out);
