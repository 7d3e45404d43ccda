#pragma once
/* What is looked at before anything is measured; each refusal names the number and what to do. */
#include "jobs/backup.h"
#include "jobs/run.h"

/* The server can be measured at all, and the database can be backed up: it exists, is online, is
 * no snapshot. Fills run->plan.database_bytes and chain. ERR_REFUSED or ERR_SQL. */
MUST_CHECK int preflight_database(struct run *run, const char *database, struct err *err);

/* Room for `trials` backups at once on every volume of the settings' folders, with
 * limits.min_free_disk_mib left over. NUL needs none. ERR_REFUSED names volume and sizes. */
MUST_CHECK int preflight_space(struct run *run, const struct backup_settings *settings,
                               int64_t trials, struct err *err);

/* Tries on one small file in a folder whether the server deletes our files there. Fails only when
 * the run cannot go on. */
MUST_CHECK int preflight_deletion(struct run *run, const char *folder, bool *out_deletes,
                                  struct err *err);

/* The plan's steps against limits.read_mib and written_mib, when the size is known. */
MUST_CHECK int preflight_budget(struct run *run, int64_t reading_trials, int64_t writing_trials,
                                struct err *err);
