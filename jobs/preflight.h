#pragma once
/* What is looked at before anything is measured; each refusal names the number and what to do. */
#include "jobs/backup.h"
#include "jobs/run.h"

/* What a kind asks of STATEMENT_DATABASE's answer beside that; -1 with ERR_REFUSED. */
typedef int preflight_judge(const char *database, const struct mssql_rows *rows, struct err *err);

/* The server can be measured at all, and the database can be backed up: it exists, is online, is
 * no snapshot. judge (may be NULL) comes first. Adds it to run->plan.databases. ERR_REFUSED or
 * ERR_SQL. */
MUST_CHECK int preflight_database(struct run *run, const char *database, preflight_judge *judge,
                                  struct err *err);

/* sys.databases.state: ERR_REFUSED with the number that BACKUP would give, unless it is online. */
MUST_CHECK int preflight_state(struct run *run, const char *database, int64_t state,
                               struct err *err);

/* Upper bound of what one full backup of the database reads; -1 unknown. */
int64_t preflight_bytes(const struct run *run, const char *database);

/* What a snapshot of it may grow to: the size of its data files; -1 unknown. */
int64_t preflight_data_bytes(const struct run *run, const char *database);

/* Room for `trials` backups at once on every volume of the settings' folders, with
 * limits.min_free_disk_mib left over. NUL needs none. ERR_REFUSED names volume and sizes. */
MUST_CHECK int preflight_space(struct run *run, const struct backup_settings *settings,
                               int64_t trials, struct err *err);

/* Tries on one small file in a folder whether the server deletes our files; clears
 * run->plan.deletes when it does not. Fails only when the run cannot go on. */
MUST_CHECK int preflight_deletion(struct run *run, const char *folder, struct err *err);

/* What all trials together may read and write, against limits.read_mib and written_mib. */
MUST_CHECK int preflight_budget(struct run *run, int64_t read_bytes, int64_t written_bytes,
                                struct err *err);

/* For kinds whose every arm is a backup (backup_settings_read), when all arms, steps and databases
 * stand in run->plan: the budget, whether files can be deleted again in each folder, and room for
 * them: for one trial where they can, for all of a target's trials where not. targets: the array
 * arms name; extra: one more target for the reserved trials, or NULL. */
MUST_CHECK int preflight_backups(struct run *run, const cJSON *targets, const cJSON *extra,
                                 struct err *err);
