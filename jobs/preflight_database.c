/* The preflight of one database: its state, role, size and chain. */
#include "jobs/kind.h"
#include "jobs/measure/guards.h"
#include "jobs/moment.h"
#include "jobs/preflight.h"
#include "jobs/probe.h"
#include "jobs/send.h"

#include <stdlib.h>

#define ENGINE_AZURE_DATABASE 5 /* SERVERPROPERTY('EngineEdition'): no BACKUP there */
#define STATE_RESTORING 1       /* sys.databases.state */
#define ACCESS_SINGLE 1         /* sys.databases.user_access */
#define ROLE_MIRROR 2           /* sys.database_mirroring.mirroring_role */

/* STATEMENT_DATABASE, by position. */
enum { STATE, SOURCE, ID, READ_ONLY, USER_ACCESS, IN_STANDBY };

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

/* The first number of an answer; -1 when there is none, also without the right to see it. */
static int64_t ask_number(struct run *run, enum statement statement, const char *database)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* absent on this version or not permitted: not known */
    int64_t number = -1;
    if (send_ask(run_session(run), statement, &value, 1, &rows, &ignored) == 0)
        number = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    return number;
}

int preflight_state(struct run *run, const char *database, int64_t state, struct err *err)
{
    if (state == STATE_RESTORING &&
        ask_number(run, STATEMENT_MIRRORING_ROLE, database) == ROLE_MIRROR)
        return err_set(err, ERR_REFUSED, 954,
                       "database %s is a mirror here and cannot be backed up; use the principal",
                       database);
    for (size_t i = 0; i < JSON_COUNT(states); i++)
        if (states[i].state == state)
            return err_set(err, ERR_REFUSED, states[i].number,
                           "database %s %s and cannot be backed up now", database, states[i].what);
    return 0;
}

/* On a secondary only COPY_ONLY backups work (3059 else), which ours are. */
static int check_replica(struct run *run, const char *database, enum guards_role *out_role,
                         struct err *err)
{
    *out_role = GUARDS_ROLE_NONE;
    if (run->plan.facts.major >= 0 &&
        run->plan.facts.major < statement_first_major(STATEMENT_REPLICA_ROLE))
        return 0;
    struct guards_input input = GUARDS_INPUT;
    input.moment = GUARDS_PREFLIGHT;
    input.name = database;
    input.role = moment_role(ask_number(run, STATEMENT_REPLICA_ROLE, database));
    *out_role = input.role;
    input.workload_writes = run->definition.kind->statements == BY_SNAPSHOT;
    struct guards_answer answer = guards_judge(&input);
    if (answer.verdict == GUARDS_REFUSE)
        return err_set(err, ERR_REFUSED, answer.number, "%s", answer.text);
    if (answer.verdict == GUARDS_WARN)
        run_warn(run, "%s", answer.text);
    return 0;
}

static int check_row(struct run *run, const char *database, const struct mssql_rows *rows,
                     enum guards_role *out_role, struct err *err)
{
    if (mssql_row_count(rows) == 0)
        return err_set(err, ERR_REFUSED, 911,
                       "database %s is not there, or the login may not see it", database);
    if (preflight_state(run, database, mssql_int(rows, 0, STATE, 0), err) < 0)
        return -1;
    if (mssql_text(rows, 0, SOURCE))
        return err_set(
            err, ERR_REFUSED, 3002,
            "database %s is a snapshot: it can be neither backed up nor the source of another",
            database);
    if (mssql_int(rows, 0, IN_STANDBY, 0) != 0)
        return err_set(err, ERR_REFUSED, 3036,
                       "database %s is in standby, between two restores of its log, and cannot be "
                       "backed up",
                       database);
    if (mssql_int(rows, 0, USER_ACCESS, 0) == ACCESS_SINGLE)
        return err_set(err, ERR_REFUSED, 924,
                       "database %s is in single-user mode: a session of ours would keep its one "
                       "user out, or be kept out; ALTER DATABASE ... SET MULTI_USER first",
                       database);
    return check_replica(run, database, out_role, err);
}

/* Of FILESTREAM and memory-optimized data, which only the database itself knows; 0 when it cannot
 * be entered. */
static int64_t stream_bytes(struct run *run, const char *database)
{
    char *text = statement_in(STATEMENT_STREAM_SIZE, database);
    struct mssql_rows *rows = NULL;
    struct err ignored; /* no access to the database */
    int64_t bytes = -1;
    if (send_query(run, STATEMENT_STREAM_SIZE, text, NULL, 0, &rows, &ignored) == 0)
        bytes = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    free(text);
    if (bytes < 0)
        run_warn(run,
                 "%s holds FILESTREAM or memory-optimized data whose size is not visible: it is in "
                 "no estimate of room",
                 database);
    return bytes < 0 ? 0 : bytes;
}

/* What a full backup reads at most: data, FILESTREAM, and as much of the log as is in use (all of
 * it where that is not known). Sizes stay unknown without the right to see them. */
static void read_sizes(struct run *run, struct plan_database *out)
{
    struct mssql_value value = {.text = out->name};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: the sizes stay unknown */
    if (send_ask(run_session(run), STATEMENT_DATABASE_SIZE, &value, 1, &rows, &ignored) == 0)
        out->data_bytes = mssql_int(rows, 0, 0, -1);
    if (out->data_bytes >= 0) {
        int64_t log_bytes = mssql_int(rows, 0, 1, 0);
        int64_t used_kib = ask_number(run, STATEMENT_LOG_USED, out->name);
        if (used_kib >= 0 && used_kib < log_bytes / 1024)
            log_bytes = used_kib * 1024;
        out->bytes = out->data_bytes + log_bytes;
        if (mssql_int(rows, 0, 2, 0) > 0)
            out->bytes += stream_bytes(run, out->name);
    }
    mssql_rows_free(rows);
}

/* What runs now will be over or not when the trials begin; those look themselves. */
static void warn_of_foreign_work(struct run *run)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: not known */
    if (send_ask(run_session(run), STATEMENT_FOREIGN_WORK, NULL, 0, &rows, &ignored) == 0 &&
        mssql_row_count(rows) > 0)
        run_warn(run, "%s %s the instance when this was prepared", mssql_text(rows, 0, 0),
                 run->looks_only ? "of another session (a job of ours, perhaps) ran on"
                                 : "by somebody else ran on");
    mssql_rows_free(rows);
}

/* Compression of an encrypted database depends on version and transfer size (domain.md 1.5). */
static void warn_of_encryption(struct run *run, const char *database)
{
    const struct server_facts *facts = &run->plan.facts;
    if (!statement_is_for(STATEMENT_ENCRYPTED, run->definition.kind->statements, facts->major) ||
        ask_number(run, STATEMENT_ENCRYPTED, database) != 1)
        return;
    const char *advice = guard_tde_advice(facts);
    run_warn(run, "%s is encrypted (TDE): MAXTRANSFERSIZE decides how it is compressed%s%s",
             database, advice ? ". " : "", advice ? advice : "");
}

int preflight_database(struct run *run, const char *database, preflight_judge *judge,
                       struct err *err)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    enum guards_role role = GUARDS_ROLE_NONE;
    if (run->plan.facts.engine_edition == ENGINE_AZURE_DATABASE)
        return err_set(err, ERR_REFUSED, 0,
                       "Azure SQL Database (EngineEdition 5) has no BACKUP statement");
    if (send_ask(run_session(run), STATEMENT_DATABASE, &value, 1, &rows, err) < 0)
        return err_wrap(err, "look for the database");
    warn_of_foreign_work(run);
    int rc = judge ? judge(database, rows, err) : 0;
    if (rc == 0)
        rc = check_row(run, database, rows, &role, err);
    mssql_rows_free(rows);
    if (rc < 0)
        return -1;
    struct plan_database *known = plan_add_database(&run->plan, database);
    known->role = (int)role;
    read_sizes(run, known);
    warn_of_encryption(run, database);
    cJSON_Delete(known->chain);
    known->chain = probe_chain(run_session(run), database);
    return 0;
}
