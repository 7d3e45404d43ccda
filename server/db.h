#pragma once
/* The driver seam of the store: named statements of one dialect, prepared once a connection.
 * The texts stand in schema/DIALECT/store.sql; enum sql_id is made from the names there.
 * A struct db is one connection and is used by one thread at a time. */
#include "server/err.h"
#include "sql_ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

/* One statement in use. Get it by db_use, bind from 1, step, read columns from 0, then db_done.
 * The same statement cannot be in use twice at a time on one connection. Binding the text NULL
 * binds NULL; texts are not copied. */
struct db_use;

struct db_use *db_use(struct db *db, enum sql_id id);
void db_bind_text(struct db_use *use, int index, const char *text); /* lives until db_done */
void db_bind_int(struct db_use *use, int index, int64_t value);
void db_bind_real(struct db_use *use, int index, double value); /* not finite binds NULL */
void db_bind_null(struct db_use *use, int index);

/* 1: a row is there; 0: done; -1: failed (err filled: ERR_CONFLICT for a unique or foreign key,
 * else ERR_STORE). */
int db_step(struct db_use *use, struct err *err);

bool db_is_null(const struct db_use *use, int column);
int64_t db_int(const struct db_use *use, int column);
double db_real(const struct db_use *use, int column);      /* NaN for NULL */
const char *db_text(const struct db_use *use, int column); /* NULL for NULL; until next step */
char *db_take_text(const struct db_use *use, int column);  /* a copy; NULL for NULL */

/* Ends the use: resets and unbinds. Accepts NULL. */
void db_done(struct db_use *use);

/* Steps a statement that gives no rows, ends its use; out_changed (may be NULL) gets the number
 * of rows changed. */
MUST_CHECK int db_run(struct db_use *use, int64_t *out_changed, struct err *err);
