#include "jobs/preflight.h"
#include "jobs/files.h"
#include "jobs/journal.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)
#define ENGINE_AZURE_DATABASE 5 /* SERVERPROPERTY('EngineEdition'): no BACKUP there */

/* sys.databases.state, with the message BACKUP would give (domain.md 2.2). */
static const struct {
    int state;
    int number;
    const char *what;
} states[] = {
    {1, 927, "is being restored"},     {2, 922, "is recovering"},
    {3, 921, "waits for recovery"},    {4, 926, "is suspect"},
    {5, 3033, "is in emergency mode"}, {6, 942, "is offline"},
};

static int check_state(const char *database, const struct mssql_rows *rows, struct err *err)
{
    if (mssql_row_count(rows) == 0)
        return err_set(err, ERR_REFUSED, 911,
                       "database %s is not there, or the login may not see it", database);
    int64_t state = mssql_int(rows, 0, 0, 0);
    for (size_t i = 0; i < JSON_COUNT(states); i++)
        if (states[i].state == state)
            return err_set(err, ERR_REFUSED, states[i].number,
                           "database %s %s and cannot be backed up now", database, states[i].what);
    if (mssql_text(rows, 0, 1))
        return err_set(err, ERR_REFUSED, 3002,
                       "database %s is a snapshot, and snapshots cannot be backed up", database);
    return 0;
}

/* Upper bound of what one full backup reads: its data files' sizes; -1 unknown. */
static int64_t size_of(struct run *run, const char *database)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: the size stays unknown */
    int64_t bytes = -1;
    if (mssql_query(run_session(run),
                    "SELECT SUM(CONVERT(bigint, f.size)) * 8192 FROM sys.master_files AS f "
                    "JOIN sys.databases AS d ON d.database_id = f.database_id "
                    "WHERE d.name = ? AND f.type = 0",
                    &value, 1, &rows, &ignored) == 0)
        bytes = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    return bytes;
}

int preflight_database(struct run *run, const char *database, struct err *err)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    if (run->plan.facts.engine_edition == ENGINE_AZURE_DATABASE)
        return err_set(err, ERR_REFUSED, 0,
                       "Azure SQL Database (EngineEdition 5) has no BACKUP statement");
    if (mssql_query(run_session(run),
                    "SELECT state, source_database_id FROM sys.databases WHERE name = ?", &value, 1,
                    &rows, err) < 0)
        return err_wrap(err, "look for the database");
    int rc = check_state(database, rows, err);
    mssql_rows_free(rows);
    if (rc < 0)
        return -1;
    struct plan_database *known = plan_add_database(&run->plan, database);
    known->bytes = size_of(run, database);
    cJSON_Delete(known->chain);
    known->chain = probe_chain(run_session(run), database);
    return 0;
}

/* Bytes that `trials` backups put into one folder: stripes are spread evenly. */
static int64_t needed_in(const struct backup_settings *settings, int64_t bytes, size_t folder,
                         int64_t trials)
{
    size_t files = (size_t)settings->files;
    size_t here = files / settings->folder_count + (folder < files % settings->folder_count);
    return bytes / settings->files * (int64_t)here * trials;
}

static int check_folder(struct run *run, const struct backup_settings *settings, size_t folder,
                        int64_t trials, struct err *err)
{
    const char *path = settings->folders[folder];
    int64_t bytes = preflight_bytes(run, settings->database);
    int64_t free_bytes = files_free_bytes(run, path);
    if (free_bytes < 0 && run->definition.assume_free_mib >= 0)
        free_bytes = run->definition.assume_free_mib * MIB;
    if (free_bytes < 0)
        return err_set(err, ERR_REFUSED, 0,
                       "no view of the server shows the free space of %s; say it in "
                       "assume_free_mib",
                       path);
    if (bytes < 0)
        return err_set(err, ERR_REFUSED, 0,
                       "the size of the database is not visible, so a backup to %s may fill the "
                       "volume; grant VIEW ANY DEFINITION",
                       path);
    int64_t needed = needed_in(settings, bytes, folder, trials);
    if (needed / MIB + run->limits.min_free_disk_mib <= free_bytes / MIB)
        return 0;
    return err_set(err, ERR_REFUSED, 0,
                   "%s has %" PRId64 " MiB free; %" PRId64 " backup(s) may take %" PRId64
                   " MiB, and min_free_disk_mib keeps %" PRId64 " MiB%s",
                   path, free_bytes / MIB, trials, needed / MIB, run->limits.min_free_disk_mib,
                   trials > 1 ? " (the server does not delete our files)" : "");
}

int preflight_space(struct run *run, const struct backup_settings *settings, int64_t trials,
                    struct err *err)
{
    if (backup_is_nul(settings))
        return 0;
    for (size_t i = 0; i < settings->folder_count && i < (size_t)settings->files; i++)
        if (check_folder(run, settings, i, trials, err) < 0)
            return -1;
    return 0;
}

int preflight_deletion(struct run *run, const char *folder, struct err *err)
{
    char *path = tsql_backup_path(folder, run->row.id, "0", 1);
    struct err why = {0};
    int rc = journal_files(run, (const char *const *)&path, 1, err);
    if (rc == 0 && files_write_small(run, path, &why) < 0) {
        run_warn(run, "a small test file could not be written to %s: %s", folder, why.msg);
        run->plan.deletes = false;
    } else if (rc == 0 && files_remove(run, path, &why) < 0) {
        run_warn(run, "the server does not delete our files: %s", why.msg);
        run->plan.deletes = false;
    }
    if (rc == 0)
        rc = journal_undo(run, err);
    free(path);
    return rc;
}

int preflight_budget(struct run *run, int64_t read_bytes, int64_t written_bytes, struct err *err)
{
    const struct {
        const char *name;
        int64_t limit_mib, bytes;
    } budgets[] = {{"read_mib", run->limits.read_mib, read_bytes},
                   {"written_mib", run->limits.written_mib, written_bytes}};
    for (size_t i = 0; i < JSON_COUNT(budgets); i++)
        if (budgets[i].bytes / MIB > budgets[i].limit_mib)
            return err_set(err, ERR_REFUSED, 0,
                           "all trials together may need %" PRId64
                           " MiB, and the limit %s is %" PRId64,
                           budgets[i].bytes / MIB, budgets[i].name, budgets[i].limit_mib);
    return 0;
}
