#pragma once
/* Tables of ours in a measured database: named, written down before they are made, dropped. Only a
 * table in dbo named by us is ever dropped. The worker's thread. */
#include "jobs/journal.h"
#include "jobs/run.h"
#include "server/buf.h"

/* "sweetspot_<job>_<seq>"; the caller frees it. */
char *table_name(const char *job, const char *seq);
bool table_is_own(const char *name);

/* [database].[schema].[table]. False when a part cannot be a name. */
bool table_add_full_name(struct buf *out, const char *database, const char *schema,
                         const char *table);

/* DROP TABLE of a table of ours; false when a name cannot be written down. */
bool table_drop_statement(const char *database, const char *name, struct buf *out);

/* Writes down that a statement is about to make it. */
MUST_CHECK int table_reserve(struct run *run, const char *database, const char *name,
                             struct err *err);

/* Rows and bytes of a table by what the server keeps count of; -1 each when it cannot be seen. */
void table_size(struct run *run, const char *database, const char *schema, const char *table,
                int64_t *out_rows, int64_t *out_bytes);

/* 1: it is there, 0: it is not, -1: it cannot be known. */
int table_exists(struct run *run, const char *database, const char *schema, const char *table,
                 struct err *err);

/* Drops one of ours; found gone is good. As journal_undo_one. */
int table_undo(struct run *run, const struct intent_row *intent, struct err *err);
