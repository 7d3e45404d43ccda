#pragma once
/* What the files that build statements (tsql.c, tsql_tools.c, tsql_path.c) share. Pure. */
#include "jobs/measure/tsql.h"
#include "server/json_scan.h"

#define TSQL_NUL "NUL" /* exactly: with blanks around it, it would be a file */

/* True for UTF-8 without control characters; *out_utf16 (may be NULL) is its length as SQL Server
 * counts it. */
bool tsql_text_is_clean(const char *text, size_t *out_utf16);

void tsql_add_doubling(struct buf *out, const char *text, char doubled);

/* True for D:\…, \\server\… and /…: a path that means the same whatever the current folder is. */
bool tsql_path_is_full(const char *path);

/* Length of the folder part of a full path, without the separator at its end (but "/" and "D:\"
 * keep theirs). */
size_t tsql_folder_length(const char *path);

/* How a word of `compression` is said in T-SQL and to DatabaseBackup; NULL: not said at all. */
struct tsql_compression {
    const char *word;
    const char *tsql;
    const char *compress;  /* Y, N */
    const char *algorithm; /* when one is named */
};
const struct tsql_compression *tsql_compression_find(const char *word);

/* ERR_INPUT unless every part of the backup can be written down. */
MUST_CHECK int tsql_backup_check(const struct tsql_backup *backup, struct err *err);

/* Device i as a recommendation names it: its folder with a placeholder for the file's name; all
 * placeholder for NUL. "<" and ">" are illegal in file names of Windows: unfilled, it fails. */
void tsql_add_production_path(struct buf *out, const struct tsql_backup *backup, size_t i);

/* Appends a finished text to out and frees it; nothing is appended when it is too long. */
MUST_CHECK int tsql_finish(struct buf *text, struct buf *out, struct err *err);
