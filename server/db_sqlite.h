#pragma once
/* The SQLite driver's own seams (private to it and its tests): a connection, and the files around
 * the database. Threads: see db_driver.h. */
#include "server/db_driver.h"

#include <stdbool.h>

/* Opens the file, which must exist, and sets the pragmas that do not write. */
MUST_CHECK int db_sqlite_connect(const char *path, struct db **out_db, struct err *err);

/* Runs a text of several statements (a migration). */
MUST_CHECK int db_sqlite_run_script(struct db *db, const char *text, struct err *err);

/* Whether closing the last connection may move the log into the file: not before the file is
 * known to be ours. */
void db_sqlite_set_checkpoint_on_close(struct db *db, bool allowed);

/* Makes the folder of path (0700) when absent and refuses one on a network file system. */
MUST_CHECK int db_sqlite_prepare_folder(const char *path, struct err *err);

/* Takes the lock file PATH.lock and writes our pid there; the descriptor holds the lock. */
MUST_CHECK int db_sqlite_take_lock(const char *path, int *out_fd, struct err *err);

/* Makes an empty file (0600) when there is none. */
MUST_CHECK int db_sqlite_prepare_file(const char *path, struct err *err);

/* PATH.visits: eight bytes, other ones after each visit of another process, so that the one that
 * has the database open knows at no cost whether somebody wrote into it. Mapped for reading; NULL
 * when it cannot be (a full disk): then nothing is known of visits. */
uint64_t *db_sqlite_visits_map(const char *path);
void db_sqlite_visits_forget(uint64_t *visits); /* accepts NULL */
/* Writes other ones: random, so that two at once need no lock. */
MUST_CHECK int db_sqlite_visits_tell(const char *path, struct err *err);

/* The name of a file system (statfs f_type) on which locks or flushes cannot be trusted, or NULL.
 */
const char *db_sqlite_unfit_file_system(unsigned long type);
