#pragma once
/* Building the few statements we send. Names of databases go as [name] with ] doubled, texts as
 * N'text' with ' doubled; FORMAT, INIT and SKIP are never written; every BACKUP is COPY_ONLY.
 * Pure. */
#include "server/buf.h"
#include "server/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A name as T-SQL identifier. False (nothing appended) when it is empty, longer than 128 UTF-16
 * units, invalid UTF-8, or holds NUL or control characters. */
bool tsql_add_name(struct buf *out, const char *name);
/* A text as N'…'. False on invalid UTF-8, or control characters. */
bool tsql_add_text(struct buf *out, const char *text);

/* One backup. 0 means: the option is not sent. */
struct tsql_backup {
    const char *database;
    const char *const *devices; /* full paths, or "NUL"; 1..64 */
    size_t device_count;
    int64_t buffercount;
    int64_t maxtransfersize; /* bytes */
    int64_t blocksize;       /* bytes */
    const char *compression; /* default, off, on, MS_XPRESS, QAT_DEFLATE, ZSTD */
    const char *name;        /* NAME = …, so that its msdb row can be found; NULL: none */
};

/* BACKUP DATABASE [..] TO DISK = N'..' WITH COPY_ONLY, …, STATS = 5 as one line. */
MUST_CHECK int tsql_backup(const struct tsql_backup *backup, struct buf *out, struct err *err);

/* What a recommendation shows, for production use: no COPY_ONLY and no NAME, the same options, a
 * placeholder for the file's name, and for the whole path where the target is NUL. */
MUST_CHECK int tsql_recommendation(const struct tsql_backup *backup, struct buf *out,
                                   struct err *err);
MUST_CHECK int tsql_recommendation_ola(const struct tsql_backup *backup, struct buf *out,
                                       struct err *err);
MUST_CHECK int tsql_recommendation_dbatools(const struct tsql_backup *backup, struct buf *out,
                                            struct err *err);

/* dir + separator + "sweetspot_<job>_<seq>_<stripe>.bak"; the separator is \ when dir looks like
 * a Windows path (drive letter or \\), else /. seq and job may be templates ("{seq}", "{job}").
 * dir "NUL" gives "NUL". The caller frees it. */
char *tsql_backup_path(const char *dir, const char *job, const char *seq, int stripe);

/* True when the path's last component is exactly sweetspot_<uuid>_<digits>_<digits>.bak (or the
 * deletion trial's sweetspot_<uuid>_probe.bak) and the whole path is full (drive, \\ or /), and
 * holds no wildcard, no "..", no control character: only such a file may be deleted. */
bool tsql_is_own_file(const char *path);

/* True when the path is a full and plain one whose last component is exactly
 * sweetspot_<uuid>_<seq>_<number>_<file id>.ss: the sparse file of a snapshot of ours. */
bool tsql_is_own_snapshot_file(const char *path);

/* True when path (a folder) is one of allowed or below it, compared by whole components, ".."
 * refused, without case for Windows paths. "NUL" (so written) is always allowed. */
bool tsql_path_is_allowed(const char *path, const char *const *allowed, size_t allowed_count);
bool tsql_path_is_windows(const char *path);
