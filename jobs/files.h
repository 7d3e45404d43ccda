#pragma once
/* Backup files on the measured server: looking, deleting, free space, all by T-SQL (there is no
 * other way in). Only files named by us are ever deleted, by full path, one at a time. */
#include "jobs/measure/statement.h"
#include "jobs/run.h"
#include "server/buf.h"

/* 1: there, 0: not there, -1: it cannot be known (err tells why). */
MUST_CHECK int files_exists(struct run *run, const char *path, struct err *err);

/* Deletes one of our files and looks whether it is gone: 0 also when it was not there. ERR_REFUSED
 * when the name is not ours, or when it is still there after every procedure we know (they can
 * report success and delete nothing). ERR_TIMEOUT, ERR_CANCELLED: the server was too slow to tell,
 * or was stopped on the way; try again. */
MUST_CHECK int files_remove(struct run *run, const char *path, struct err *err);

/* The text of STATEMENT_DELETE_FILES or _FILE for one path ("{job}" and "{seq}" may stand in it).
 * NULL when the path cannot be written down; the caller frees it. */
char *files_deletion(enum statement statement, const char *path);

/* Free bytes of the volume that holds path, by the first view that knows it; -1 when none does.
 * out_volume: its mount point or drive (heap), untouched when it is not known; may be NULL. */
int64_t files_free_bytes(struct run *run, const char *path, char **out_volume);

/* The same over another session. */
int64_t files_free_bytes_seen(struct mssql *session, const char *path, char **out_volume);

/* The system databases of which a small backup is tried, one after the other. */
#define FILES_SMALL_DATABASES 2
extern const char *const files_small_databases[FILES_SMALL_DATABASES];

/* The statement of such a backup, with job and seq filled in or as templates. */
MUST_CHECK int files_small_statement(const char *database, const char *path, const char *job,
                                     const char *seq, struct buf *out, struct err *err);

/* Writes a small backup of a system database to path (named by us, journaled by the caller), so
 * that deleting can be tried before anything big is written. */
MUST_CHECK int files_write_small(struct run *run, const char *path, struct err *err);
