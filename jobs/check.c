#include "jobs/check_parts.h"
#include "jobs/doubt.h"
#include "jobs/kind.h"
#include "jobs/member.h"
#include "jobs/send.h"
#include "jobs/session.h"
#include "server/clock.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is needed for what --------------------------------------------------------------- */

enum need {
    NEED_BACKUP,
    NEED_DELETE,
    NEED_STATE,
    NEED_MSDB,
    NEED_SYSADMIN,
    NEED_SNAPSHOT,
    NEED_TRACE,
};

/* clang-format off */
/* How a need is asked for, 1 when it is met, and what to grant when it is not (domain.md 1.8, 4.1);
 * the statement's row says for which versions. */
static const struct {
    enum need need;
    enum statement query;
    const char *grant;
} needs[] = {
    {NEED_BACKUP,   STATEMENT_MAY_BACKUP,          "db_backupoperator in the database, or BACKUP DATABASE"},
    {NEED_DELETE,   STATEMENT_MAY_DELETE_FILE,     "EXECUTE on master.dbo.xp_delete_file"},
    {NEED_DELETE,   STATEMENT_MAY_DELETE_FILES,    "EXECUTE on master.sys.xp_delete_files"},
    {NEED_STATE,    STATEMENT_MAY_SEE_STATE,       "VIEW SERVER STATE"},
    {NEED_STATE,    STATEMENT_MAY_SEE_PERFORMANCE, "VIEW SERVER PERFORMANCE STATE"},
    {NEED_MSDB,     STATEMENT_MAY_READ_MSDB,       "db_datareader in msdb"},
    {NEED_SYSADMIN, STATEMENT_IS_SYSADMIN,         "sysadmin"},
    {NEED_TRACE,    STATEMENT_MAY_TRACE,           "ALTER TRACE"},
    {NEED_SNAPSHOT, STATEMENT_MAY_CREATE,          "CREATE ANY DATABASE"},
};

/* Which kind needs what, and what for; an optional one only costs what stands there. */
static const struct {
    const char *kind;
    enum need need;
    bool optional;
    const char *purpose;
} uses[] = {
    {"backup_sweep",      NEED_BACKUP,   false, "the backups"},
    {"backup_sweep",      NEED_DELETE,   true,  "else backup files stay on the server"},
    {"backup_sweep",      NEED_STATE,    true,  "else CPU, waits and foreign work stay unknown"},
    {"backup_sweep",      NEED_MSDB,     true,  "else file sizes stay unknown"},
    {"backup_throughput", NEED_BACKUP,   false, "the backups"},
    {"backup_throughput", NEED_DELETE,   true,  "else backup files stay on the server"},
    {"backup_throughput", NEED_STATE,    true,  "else there is less evidence of what limits"},
    {"backup_throughput", NEED_MSDB,     true,  "else file sizes stay unknown"},
    {"backup_throughput", NEED_TRACE,    true,  "else growth of data files stays unknown"},
    {"trace_flag",        NEED_SYSADMIN, false, "DBCC TRACEON"},
    {"trace_flag",        NEED_BACKUP,   false, "the backups"},
    {"trace_flag",        NEED_DELETE,   true,  "else backup files stay on the server"},
    {"trace_flag",        NEED_STATE,    true,  "else CPU, waits and foreign work stay unknown"},
    {"trace_flag",        NEED_MSDB,     true,  "else file sizes stay unknown"},
    {"snapshot_overhead", NEED_SNAPSHOT, false, "CREATE DATABASE ... AS SNAPSHOT"},
    {"snapshot_overhead", NEED_STATE,    true,  "else waits and foreign work stay unknown"},
    {"backup_history",    NEED_MSDB,     false, "the backup history"},
};
/* clang-format on */

/* --- asking -------------------------------------------------------------------------------- */

struct mssql_rows *check_ask(const struct check *check, enum statement statement)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted, or absent on this version: not met, or unknown */
    if (check->control->given_up(check->control->ctx) || mssql_is_dead(check->session) ||
        send_ask(check->session, statement, NULL, 0, &rows, &ignored) < 0)
        return NULL;
    return rows;
}

/* The row of a need for this version; JSON_COUNT(needs) when there is none. */
static size_t row_of(enum need need, int major)
{
    size_t row = JSON_COUNT(needs);
    for (size_t i = 0; i < JSON_COUNT(needs); i++)
        if (needs[i].need == need && statement_is_for(needs[i].query, BY_CHECK, major))
            row = i;
    return row;
}

/* NULL when the need is met, else what to grant. */
static const char *grant_for(const struct check *check, enum need need)
{
    size_t row = row_of(need, check->facts->major);
    if (row == JSON_COUNT(needs))
        return NULL;
    struct mssql_rows *rows = check_ask(check, needs[row].query);
    bool met = rows && mssql_int(rows, 0, 0, 0) == 1;
    mssql_rows_free(rows);
    return met ? NULL : needs[row].grant;
}

static char *need_text(const char *grant, size_t use)
{
    return mem_format("%s%s (%s)", uses[use].optional ? "optional: " : "", grant,
                      uses[use].purpose);
}

static cJSON *kind_to_json(const struct check *check, const char *kind)
{
    bool ready = true;
    cJSON *missing = cJSON_CreateArray();
    for (size_t i = 0; i < JSON_COUNT(uses); i++) {
        const char *grant = strcmp(uses[i].kind, kind) == 0 ? grant_for(check, uses[i].need) : NULL;
        if (!grant)
            continue;
        ready = ready && uses[i].optional;
        char *text = need_text(grant, i);
        cJSON_AddItemToArray(missing, json_text(text));
        free(text);
    }
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddBoolToObject(tree, "ready", ready);
    cJSON_AddItemToObject(tree, "missing", missing);
    return tree;
}

void check_add_missing(struct mssql *session, const struct check_control *control,
                       const struct server_facts *facts, const char *kind, cJSON *refusals,
                       struct buf *warnings)
{
    struct check check = {session, control, facts};
    for (size_t i = 0; i < JSON_COUNT(uses); i++) {
        const char *grant =
            strcmp(uses[i].kind, kind) == 0 ? grant_for(&check, uses[i].need) : NULL;
        char *text = grant ? mem_format("the login lacks %s: %s", grant, uses[i].purpose) : NULL;
        if (text && uses[i].optional)
            buf_format(warnings, "%s\n", text);
        else if (text)
            cJSON_AddItemToArray(refusals, json_text(text));
        free(text);
    }
}

cJSON *check_permissions(const char *kind, int major)
{
    cJSON *permissions = cJSON_CreateArray();
    for (size_t i = 0; i < JSON_COUNT(uses); i++) {
        size_t row =
            strcmp(uses[i].kind, kind) == 0 ? row_of(uses[i].need, major) : JSON_COUNT(needs);
        char *text = row < JSON_COUNT(needs) ? need_text(needs[row].grant, i) : NULL;
        if (text)
            cJSON_AddItemToArray(permissions, json_text(text));
        free(text);
    }
    return permissions;
}

static cJSON *kinds_to_json(const struct check *check)
{
    size_t count;
    const struct job_kind *const *all = kind_all(&count);
    cJSON *tree = cJSON_CreateObject();
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToObject(tree, all[i]->name, kind_to_json(check, all[i]->name));
    return tree;
}

/* Seconds that the server's clock is ahead of ours; NaN unknown. */
static double clock_offset(const struct check *check)
{
    int64_t before_ms = clock_wall_ms();
    int64_t server_ms;
    double offset = NAN;
    struct mssql_rows *rows = check_ask(check, STATEMENT_UTC);
    int64_t after_ms = clock_wall_ms();
    const char *text = rows ? mssql_text(rows, 0, 0) : NULL;
    char *utc = mem_format("%sZ", text ? text : "");
    if (clock_parse(utc, &server_ms))
        offset = ((double)(server_ms - before_ms) + (double)(server_ms - after_ms)) / 2000;
    free(utc);
    mssql_rows_free(rows);
    return offset;
}

/* --- the answer ---------------------------------------------------------------------------- */

/* cause: "password" (it is not at hand, and nothing was sent), "server" (it answered with a number)
 * or "network". */
static cJSON *unreachable(const struct err *err, const char *cause)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *error = cJSON_CreateObject();
    bool has_number = err->code == ERR_SQL && err->detail != 0;
    cJSON_AddBoolToObject(tree, "reachable", false);
    cJSON_AddItemToObject(error, "number",
                          has_number ? cJSON_CreateNumber(err->detail) : cJSON_CreateNull());
    cJSON_AddItemToObject(error, "message", json_text(err->msg));
    cJSON_AddStringToObject(error, "cause", cause ? cause : has_number ? "server" : "network");
    cJSON_AddItemToObject(tree, "error", error);
    return tree;
}

static cJSON *warnings_to_json(const struct check *check, const struct instance *instance,
                               const char *name)
{
    cJSON *warnings = cJSON_CreateArray();
    char *text = doubt_look(check->session, instance, name, check->facts);
    if (text)
        cJSON_AddItemToArray(warnings, json_text(text));
    free(text);
    return warnings;
}

static cJSON *reachable(const struct check *check, const struct instance *instance,
                        const char *name)
{
    const struct server_facts *facts = check->facts;
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddBoolToObject(tree, "reachable", true);
    cJSON_AddBoolToObject(tree, "authenticated", instance->ca_file != NULL);
    cJSON_AddItemToObject(tree, "version", json_text(facts->version));
    cJSON_AddItemToObject(tree, "major", member_number_or_null(facts->major));
    cJSON_AddItemToObject(tree, "edition", json_text(facts->edition));
    cJSON_AddItemToObject(tree, "engine_edition", member_number_or_null(facts->engine_edition));
    cJSON_AddItemToObject(tree, "platform", json_text(facts->platform));
    cJSON_AddItemToObject(tree, "host_name", json_text(facts->host_name));
    cJSON_AddItemToObject(tree, "cpu_count", member_number_or_null(facts->cpu_count));
    cJSON_AddItemToObject(tree, "memory_mib", member_number_or_null(facts->memory_mib));
    cJSON_AddBoolToObject(tree, "simulated", facts->simulated);
    cJSON_AddItemToObject(tree, "clock_offset_s", json_rounded(clock_offset(check), 6));
    check_add_server(check, tree);
    cJSON_AddItemToObject(tree, "kinds", kinds_to_json(check));
    cJSON_AddItemToObject(tree, "warnings", warnings_to_json(check, instance, name));
    return tree;
}

cJSON *check_instance(const struct jobs_parts *parts, const struct instance *instance,
                      const char *name, const struct check_control *control)
{
    struct err err = {0};
    struct server_facts facts = {0};
    struct check check = {.control = control, .facts = &facts};
    cJSON *answer = NULL;
    if (session_password(parts, instance->password, &err) < 0)
        return unreachable(&err, "password");
    if (session_open(parts, instance, "check", &check.session, &err) < 0)
        return unreachable(&err, NULL);
    control->set_session(control->ctx, check.session);
    if (session_facts(check.session, &facts, &err) == 0)
        answer = reachable(&check, instance, name);
    if (!answer || mssql_is_dead(check.session)) { /* it broke on the way: half an answer is none */
        if (err.code == ERR_NONE)
            (void)err_set(&err, ERR_UNREACHABLE, 0, "the connection to SQL Server broke");
        cJSON_Delete(answer);
        answer = unreachable(&err, NULL);
    }
    control->set_session(control->ctx, NULL);
    mssql_close(check.session);
    server_facts_fini(&facts);
    return answer;
}
