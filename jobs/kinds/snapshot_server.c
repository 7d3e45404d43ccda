/* What this server is and allows, before snapshot_overhead measures anything. */
#include "jobs/files.h"
#include "jobs/kinds/snapshot.h"
#include "jobs/measure/messages.h"
#include "jobs/measure/tsql.h"
#include "jobs/member.h"
#include "jobs/preflight.h"
#include "jobs/send.h"
#include "jobs/tables.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)
#define PAGE_BYTES 8192
#define ROW_BYTES_MOST 8060 /* in-row; what is counted where the server does not tell */
#define ENGINE_ENTERPRISE 3 /* Developer and Evaluation too */
#define SYSTEM_DATABASES 4  /* the highest database_id of them */
#define RECOVERY_FULL 1     /* sys.databases.recovery_model */
#define FIRST_MAJOR 13      /* 2016 SP1 is 13.0.4001: snapshots in every edition */
#define FIRST_BUILD 4001
#define NAMES_SHOWN 5

/* --- editions (domain.md §6) ---------------------------------------------------------------- */

/* SERVERPROPERTY('EngineEdition') of services without database snapshots. */
static const struct {
    int engine_edition;
    const char *name;
} services[] = {
    {5, "Azure SQL Database"},
    {6, "Azure Synapse Analytics"},
    {8, "Azure SQL Managed Instance"},
    {11, "Azure Synapse serverless SQL"},
};

static int check_edition(const struct server_facts *facts, struct err *err)
{
    for (size_t i = 0; i < JSON_COUNT(services); i++)
        if (facts->engine_edition == services[i].engine_edition)
            return err_set(err, ERR_REFUSED, 0, "%s has no database snapshots", services[i].name);
    int64_t build = guard_build(facts);
    bool is_old =
        facts->major >= 0 && (facts->major < FIRST_MAJOR ||
                              (facts->major == FIRST_MAJOR && build >= 0 && build < FIRST_BUILD));
    bool is_known = facts->engine_edition >= 0; /* else the server says 1844 itself */
    if (is_old && is_known && facts->engine_edition != ENGINE_ENTERPRISE)
        return err_set(err, ERR_REFUSED, MESSAGE_NOT_IN_EDITION,
                       "before SQL Server 2016 SP1 database snapshots need Enterprise edition; "
                       "this is %s, %s",
                       facts->edition ? facts->edition : "another", facts->version);
    return 0;
}

/* --- the database --------------------------------------------------------------------------- */

static int judge_database(const char *database, const struct mssql_rows *rows, struct err *err)
{
    if (mssql_row_count(rows) == 0)
        return err_set(err, ERR_REFUSED, 911,
                       "database %s is not there, or the login may not see it", database);
    if (mssql_int(rows, 0, 2, 0) <= SYSTEM_DATABASES)
        return err_set(err, ERR_REFUSED, 0,
                       "%s is a system database; no snapshots are made of those", database);
    if (mssql_int(rows, 0, 3, 0) != 0)
        return err_set(err, ERR_REFUSED, 3906, "%s is read-only; the workload writes", database);
    return 0;
}

/* Snapshots of databases with memory-optimised tables cannot be made. */
static int check_filegroups(struct run *run, const char *database, struct err *err)
{
    char *query = statement_in(STATEMENT_FILEGROUPS, database);
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: CREATE DATABASE will say so itself */
    int64_t count = 0;
    if (send_query(run, STATEMENT_FILEGROUPS, query, NULL, 0, &rows, &ignored) == 0)
        count = mssql_int(rows, 0, 0, 0);
    mssql_rows_free(rows);
    free(query);
    if (count > 0)
        return err_set(err, ERR_REFUSED, 0,
                       "%s has a filegroup for memory-optimized data; no snapshots can be made of "
                       "such a database",
                       database);
    return 0;
}

static int check_source(struct run *run, const struct snapshot_parameters *parameters,
                        struct err *err)
{
    char *schema = NULL;
    char *table = NULL;
    if (!parameters->source || !snapshot_source_parts(parameters->source, &schema, &table))
        return 0;
    int there = table_exists(run, parameters->database, schema, table, err);
    free(schema);
    free(table);
    if (there == 0)
        return err_set(err, ERR_REFUSED, 208, "%s has no table %s, or the login may not see it",
                       parameters->database, parameters->source);
    return there < 0 ? -1 : 0;
}

/* --- what the workload writes --------------------------------------------------------------- */

static bool is_fully_logged(struct run *run, const char *database)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not known: the safer answer */
    int64_t model = RECOVERY_FULL;
    if (send_ask(run_session(run), STATEMENT_RECOVERY, &value, 1, &rows, &ignored) == 0)
        model = mssql_int(rows, 0, 0, RECOVERY_FULL);
    mssql_rows_free(rows);
    return model == RECOVERY_FULL;
}

/* Rows copied times the source's average row, by what the server counts; else the longest row. */
static void estimate_rows(struct run *run, const struct snapshot_parameters *parameters,
                          struct snapshot_estimate *out)
{
    char *schema = NULL;
    char *table = NULL;
    int64_t bytes = -1;
    out->source_rows = -1;
    if (snapshot_source_parts(parameters->source, &schema, &table))
        table_size(run, parameters->database, schema, table, &out->source_rows, &bytes);
    free(schema);
    free(table);
    double rows = (double)parameters->rows;
    if (out->source_rows >= 0 && rows > (double)out->source_rows)
        rows = (double)out->source_rows;
    out->counted = out->source_rows > 0 && bytes > 0;
    double row_bytes = out->counted ? (double)bytes / (double)out->source_rows : ROW_BYTES_MOST;
    out->data_bytes = (int64_t)(rows * row_bytes) + PAGE_BYTES;
}

static struct snapshot_estimate estimate(struct run *run,
                                         const struct snapshot_parameters *parameters)
{
    struct snapshot_estimate out = {.source_rows = -1};
    int64_t size = preflight_data_bytes(run, parameters->database);
    out.full_recovery = is_fully_logged(run, parameters->database);
    if (parameters->select_into)
        estimate_rows(run, parameters, &out);
    else
        out.data_bytes = size > 0 ? size : 0; /* what it changes is not known */
    if (parameters->select_into && out.full_recovery)
        out.log_bytes = out.data_bytes; /* whole pages are logged */
    return out;
}

static int64_t trials_of(const struct run *run, const struct snapshot_parameters *parameters)
{
    int counts[SNAPSHOT_MOST];
    int64_t arms = 1 + (int64_t)snapshot_counts(parameters, counts) *
                           cJSON_GetArraySize(parameters->locations);
    return arms * (run->definition.design.repetitions + run->definition.design.warmups);
}

static const char *basis_of(const struct snapshot_estimate *estimated)
{
    return estimated->counted ? "by the source's average row" : "at most, by the longest row";
}

static int check_log(struct run *run, const struct snapshot_parameters *parameters, struct err *err)
{
    struct snapshot_estimate estimated = estimate(run, parameters);
    int64_t trials = trials_of(run, parameters);
    if (estimated.log_bytes == 0 || parameters->confirm_log_growth)
        return 0;
    return err_set(err, ERR_REFUSED, 0,
                   "%s is in FULL recovery, where SELECT INTO is fully logged: about %" PRId64
                   " MiB of log a trial, %" PRId64 " MiB in %" PRId64
                   " trials (%s); \"confirm_log_growth\": true allows it",
                   parameters->database, estimated.log_bytes / MIB + 1,
                   estimated.log_bytes / MIB * trials + 1, trials, basis_of(&estimated));
}

int snapshot_preflight(struct run *run, const struct snapshot_parameters *parameters,
                       struct err *err)
{
    const char *database = parameters->database;
    if (check_edition(&run->plan.facts, err) < 0 ||
        preflight_database(run, database, judge_database, err) < 0 ||
        check_filegroups(run, database, err) < 0 || check_source(run, parameters, err) < 0 ||
        check_log(run, parameters, err) < 0)
        return -1;
    if (!parameters->sql)
        return 0;
    int rc = snapshot_open_custom(run, parameters, err);
    run_close_second(run);
    return rc;
}

/* --- room and budget ------------------------------------------------------------------------ */

int snapshot_check_space(struct run *run, const struct snapshot_parameters *parameters,
                         const char *path, int count, struct err *err)
{
    int64_t size = preflight_data_bytes(run, parameters->database);
    int64_t free_bytes = files_free_bytes(run, path, NULL);
    if (free_bytes < 0 && run->definition.assume_free_mib >= 0)
        free_bytes = run->definition.assume_free_mib * MIB;
    if (free_bytes < 0)
        return err_set(err, ERR_REFUSED, 0,
                       "no view of the server shows the free space of %s; say it in "
                       "assume_free_mib",
                       path);
    if (size < 0)
        return err_set(err, ERR_REFUSED, 0,
                       "the size of %s is not visible, so its snapshots may fill %s; grant VIEW "
                       "ANY DEFINITION",
                       parameters->database, path);
    int64_t needed_mib = size / MIB * count + 1;
    if (needed_mib + run->limits.min_free_disk_mib <= free_bytes / MIB)
        return 0;
    return err_set(err, ERR_REFUSED, 0,
                   "%s has %" PRId64 " MiB free; %d snapshot(s) may grow to %" PRId64
                   " MiB, and min_free_disk_mib keeps %" PRId64 " MiB",
                   path, free_bytes / MIB, count, needed_mib, run->limits.min_free_disk_mib);
}

static int most_snapshots(const struct snapshot_parameters *parameters)
{
    int counts[SNAPSHOT_MOST];
    size_t count = snapshot_counts(parameters, counts);
    return count > 0 ? counts[count - 1] : 0;
}

/* A trial writes the table and its log once, and each changed page once more into every snapshot;
 * at most the source's size. */
static int check_budget(struct run *run, const struct snapshot_parameters *parameters,
                        struct err *err)
{
    struct snapshot_estimate estimated = estimate(run, parameters);
    int64_t size = preflight_data_bytes(run, parameters->database);
    int64_t copied = size > 0 && size < estimated.data_bytes ? size : estimated.data_bytes;
    double read = 0;
    double written = 0;
    for (size_t i = 0; i < run->plan.step_count; i++) {
        const struct arm *arm = &run->plan.arms[run->plan.steps[i].arm];
        double snapshots = (double)member_int(arm->settings, "snapshots", 0);
        read += (double)estimated.data_bytes;
        written +=
            (double)(estimated.data_bytes + estimated.log_bytes) + snapshots * (double)copied;
    }
    if (read > 9e18 || written > 9e18) /* beyond what an int64_t holds */
        return err_set(err, ERR_REFUSED, 0, "all trials together may write more than any disk has");
    return preflight_budget(run, (int64_t)read, (int64_t)written, err);
}

int snapshot_check_plan(struct run *run, const struct snapshot_parameters *parameters,
                        struct err *err)
{
    const cJSON *location;
    cJSON_ArrayForEach(location, parameters->locations) {
        if (snapshot_check_space(run, parameters, member_text(location, "path"),
                                 most_snapshots(parameters), err) < 0)
            return -1;
    }
    if (snapshot_check_margin(run, parameters->database, err) < 0)
        return -1;
    return check_budget(run, parameters, err);
}

/* --- what a reader must know ---------------------------------------------------------------- */

/* Somebody else's snapshots cost as ours do; they are never touched. */
static void warn_of_foreign(struct run *run, const struct mssql_rows *rows, const char *database)
{
    struct buf names = {0};
    size_t found = mssql_row_count(rows);
    for (size_t i = 0; i < found && i < NAMES_SHOWN; i++)
        buf_format(&names, "%s%s", i > 0 ? ", " : "", mssql_text(rows, i, 0));
    if (found > 0)
        run_warn(run,
                 "%s has %zu snapshot(s) that are not this job's (%s%s): they slow every trial, "
                 "the baseline too, and were not touched",
                 database, found, buf_text(&names), found > NAMES_SHOWN ? ", …" : "");
    buf_fini(&names);
}

static int look_for_foreign(struct run *run, const char *database, struct err *err)
{
    char *own = mem_format("sweetspot_%s_%%", run->row.id);
    struct mssql_value values[] = {{.text = database}, {.text = own}};
    struct mssql_rows *rows = NULL;
    int rc = send_ask(run_session(run), STATEMENT_FOREIGN_SNAPSHOTS, values, 2, &rows, err);
    if (rc == 0)
        warn_of_foreign(run, rows, database);
    else
        err_wrap(err, "look for other snapshots");
    mssql_rows_free(rows);
    free(own);
    return rc;
}

static void warn_of_workload(struct run *run, const struct snapshot_parameters *parameters)
{
    struct snapshot_estimate estimated = estimate(run, parameters);
    const char *database = parameters->database;
    if (estimated.log_bytes > 0)
        run_warn(run,
                 "%s is in FULL recovery: SELECT INTO was fully logged, about %" PRId64
                 " MiB of log a trial (%s)",
                 database, estimated.log_bytes / MIB + 1, basis_of(&estimated));
    if (estimated.source_rows >= 0 && estimated.source_rows < parameters->rows)
        run_warn(run, "%s holds %" PRId64 " rows: each trial copied those and no more",
                 parameters->source, estimated.source_rows);
    if (parameters->sql)
        run_warn(run, "The workload is T-SQL of the job's own: what it leaves behind is not known, "
                      "and waits are those of the whole instance");
}

int snapshot_warn(struct run *run, const struct snapshot_parameters *parameters, struct err *err)
{
    if (check_log(run, parameters, err) < 0) /* the recovery model may be another one by now */
        return -1;
    warn_of_workload(run, parameters);
    run_warn(run,
             "While a snapshot exists %s cannot be restored, dropped or detached; during this job "
             "one did for most of the time",
             parameters->database);
    return look_for_foreign(run, parameters->database, err);
}

/* --- trying --------------------------------------------------------------------------------- */

static int try_location(struct run *run, const struct snapshot_order *order, struct err *err)
{
    struct snapshot_state state = {0};
    double seconds;
    if (snapshot_create(run, order, &seconds, err) < 0)
        return err_wrap(err, "try a snapshot");
    int rc = snapshot_look(run, order->seq, &state, err);
    if (rc == 0 && !state.every_file_sparse)
        rc = err_set(err, ERR_REFUSED, 0,
                     "the volume of %s keeps no sparse files: a snapshot there takes the source's "
                     "whole size",
                     order->folder);
    snapshot_state_fini(&state);
    return rc < 0 ? -1 : journal_undo(run, err);
}

int snapshot_try_locations(struct run *run, const struct snapshot_parameters *parameters,
                           struct err *err)
{
    struct snapshot_files files;
    int number = 0;
    int rc = snapshot_files_read(run, parameters->database, &files, err);
    if (rc < 0)
        return -1;
    const cJSON *location;
    cJSON_ArrayForEach(location, parameters->locations) {
        number++;
        struct snapshot_order order = {.database = parameters->database,
                                       .files = &files,
                                       .folder = member_text(location, "path"),
                                       .job = run->row.id,
                                       .seq = "0",
                                       .number = number};
        if (rc == 0)
            rc = try_location(run, &order, err);
    }
    snapshot_files_fini(&files);
    return rc;
}

/* --- a workload of the job's own ------------------------------------------------------------ */

static int judge_custom_login(const struct mssql_rows *rows, const char *login, struct err *err)
{
    static const char *const roles[] = {"sysadmin", "db_owner", "db_backupoperator"};
    for (size_t i = 0; i < JSON_COUNT(roles); i++)
        if (mssql_int(rows, 0, i, 1) != 0) /* what cannot be seen counts as a member */
            return err_set(err, ERR_REFUSED, 0,
                           "custom_login %s is a member of %s, which a login for T-SQL of a job's "
                           "own must not be",
                           login, roles[i]);
    return 0;
}

int snapshot_open_custom(struct run *run, const struct snapshot_parameters *parameters,
                         struct err *err)
{
    const char *login = run->instance.custom_login;
    struct mssql_rows *rows = NULL;
    if (!run->instance.custom_sql || !login || !run->instance.custom_password)
        return err_set(err, ERR_REFUSED, 0, "the instance does not allow T-SQL of a job's own");
    if (run_open_second(run, login, run->instance.custom_password, err) < 0)
        return err_wrap(err, "log in as custom_login");
    char *enter = statement_in(STATEMENT_CUSTOM_DATABASE, parameters->database);
    int rc = send_second(run, STATEMENT_CUSTOM_DATABASE, enter, err);
    free(enter);
    if (rc == 0)
        rc = send_ask(run->second, STATEMENT_CUSTOM_ROLES, NULL, 0, &rows, err);
    if (rc == 0)
        rc = judge_custom_login(rows, login, err);
    mssql_rows_free(rows);
    return rc;
}
