/* catalog.h: the descriptors of system views, and how their rows are filled.
 * columns: "name:type[@version][<version]" joined by commas: there since, gone with; a version is
 * 13, 13.4001 (with a build) or 1050 (2008 R2); a type is one letter with its length: i int, b
 * bigint, s smallint, t tinyint, B bit, n nvarchar, c nchar, v varchar, d datetime, e datetime2, g
 * uniqueidentifier, N numeric, x varbinary, V sql_variant, f float. */
#pragma once

#include "eval.h"

struct filler {
    struct eval *ev;
    struct session *session;
    struct sim *sim;
    struct rowset *rows;
    struct value *row; /* the one being filled */
    const struct value *args;
    int arg_count;
    const char *database; /* whose view it is */
};

struct view {
    const char *schema, *name;
    int since;         /* version, as a column's; 0 = all */
    const char *right; /* server permission, NULL = public */
    int args;          /* of a function, -1 = a view */
    const char *columns;
    bool (*fill)(struct filler *f);
};

extern const struct view tsql_sys_views[], tsql_dmv_views[], tsql_msdb_views[], tsql_db_views[],
    tsql_hadr_views[], tsql_os_views[], tsql_trace_views[];

void tsql_row(struct filler *f);                                     /* a new row of nulls */
void tsql_put(struct filler *f, const char *column, struct value v); /* left out if not there */
void tsql_put_text(struct filler *f, const char *column, const char *text); /* copied */
void tsql_put_int(struct filler *f, const char *column, int64_t v);
void tsql_put_guid(struct filler *f, const char *column, const uint8_t guid[16]); /* copied */

int64_t tsql_up_ms_locked(const struct sim *sim); /* since the server's start */

/* procs_agent.c: msdb's rows about jobs */
bool sim_fill_jobs(struct filler *f);
bool sim_fill_jobsteps(struct filler *f);
bool sim_fill_jobservers(struct filler *f);

/* tables.c: the user's tables */
struct sim_table *sim_table_find_locked(struct session *s, const struct name *name,
                                        struct sim_db **out_db);
struct rowset *tsql_table_rows_locked(struct arena *arena, const struct sim_table *t,
                                      bool describe);
struct sim_table *sim_table_new(struct frame *f, const struct column_def *defs, int count,
                                const char *name);
bool sim_create_table(struct frame *f, const struct stmt *st);
bool sim_drop_table(struct frame *f, const struct stmt *st);
bool sim_insert_rows(struct frame *f, const struct stmt *st, const struct rowset *rows,
                     int64_t *out_count);
bool sim_update(struct frame *f, const struct stmt *st, int64_t *out_count);
bool sim_delete(struct frame *f, const struct stmt *st, int64_t *out_count);
