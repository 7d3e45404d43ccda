#include "jobs/probe.h"
#include "server/json.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waits that tell something about a backup (domain.md 4.2: lists of "benign" waits are a trap). */
#define WAITS_SHOWN 12

/* clang-format off */
static const char *const texts[PROBE_QUERY_COUNT] = {
    /* 2008 R2 and newer */
    [PROBE_CPU] = "SELECT process_kernel_time_ms + process_user_time_ms, cpu_count FROM sys.dm_os_sys_info",
    [PROBE_STARTED] = "SELECT CONVERT(nvarchar(40), sqlserver_start_time, 126) FROM sys.dm_os_sys_info",
    /* 2016 and newer; a session may always see its own */
    [PROBE_WAITS] = "SELECT wait_type, wait_time_ms, waiting_tasks_count FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID",
    [PROBE_FOREIGN] = "SELECT TOP (1) command FROM sys.dm_exec_requests WHERE session_id <> @@SPID AND (command LIKE 'BACKUP%' OR command LIKE 'RESTORE%' OR command LIKE 'DBCC%')",
};
/* clang-format on */

void probe_fini(struct probe *probe)
{
    *probe = (struct probe){0};
}

const char *probe_text(enum probe_query query)
{
    return texts[query];
}

/* NULL when it cannot be had; a refusal is remembered, a broken connection is not. */
static struct mssql_rows *ask(struct probe *probe, struct mssql *session, enum probe_query query)
{
    struct mssql_rows *rows = NULL;
    struct err err;
    if (probe->absent[query] || mssql_is_dead(session))
        return NULL;
    if (mssql_query(session, texts[query], NULL, 0, &rows, &err) < 0) {
        probe->absent[query] = err.code == ERR_SQL;
        return NULL;
    }
    return rows;
}

static void copy_text(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "%s", text ? text : "");
}

/* The first value of a query's answer, "" when there is none. */
static void take_text(struct probe *probe, struct mssql *session, enum probe_query query, char *out,
                      size_t size)
{
    struct mssql_rows *rows = ask(probe, session, query);
    copy_text(out, size, rows ? mssql_text(rows, 0, 0) : NULL);
    mssql_rows_free(rows);
}

static void take_waits(struct probe_sample *out, const struct mssql_rows *rows)
{
    size_t count = rows ? mssql_row_count(rows) : 0;
    out->waits = mem_alloc(count, sizeof *out->waits);
    for (size_t i = 0; i < count; i++) {
        struct probe_wait *wait = &out->waits[out->wait_count++];
        copy_text(wait->type, sizeof wait->type, mssql_text(rows, i, 0));
        wait->ms = mssql_int(rows, i, 1, 0);
        wait->count = mssql_int(rows, i, 2, 0);
    }
}

void probe_take(struct probe *probe, struct mssql *session, struct probe_sample *out)
{
    *out = (struct probe_sample){.cpu_ms = -1, .cpu_count = -1};
    struct mssql_rows *cpu = ask(probe, session, PROBE_CPU);
    if (cpu) {
        out->cpu_ms = mssql_int(cpu, 0, 0, -1);
        out->cpu_count = mssql_int(cpu, 0, 1, -1);
    }
    mssql_rows_free(cpu);
    take_text(probe, session, PROBE_STARTED, out->started, sizeof out->started);
    take_text(probe, session, PROBE_FOREIGN, out->foreign, sizeof out->foreign);
    struct mssql_rows *waits = ask(probe, session, PROBE_WAITS);
    take_waits(out, waits);
    mssql_rows_free(waits);
}

void probe_sample_fini(struct probe_sample *sample)
{
    free(sample->waits);
    *sample = (struct probe_sample){0};
}

static const struct probe_wait *find_wait(const struct probe_sample *sample, const char *type)
{
    for (size_t i = 0; i < sample->wait_count; i++)
        if (strcmp(sample->waits[i].type, type) == 0)
            return &sample->waits[i];
    return NULL;
}

static int by_ms_down(const void *left, const void *right)
{
    int64_t a = ((const struct probe_wait *)left)->ms;
    int64_t b = ((const struct probe_wait *)right)->ms;
    return (a < b) - (a > b);
}

/* The longest differences first; none when a counter went backwards (the session was reset). */
static cJSON *wait_differences(const struct probe_sample *before, const struct probe_sample *after)
{
    struct probe_wait *deltas = mem_alloc(after->wait_count, sizeof *deltas);
    size_t count = 0;
    bool backwards = false;
    for (size_t i = 0; i < after->wait_count; i++) {
        struct probe_wait delta = after->waits[i];
        const struct probe_wait *old = find_wait(before, delta.type);
        delta.ms -= old ? old->ms : 0;
        delta.count -= old ? old->count : 0;
        backwards |= delta.ms < 0 || delta.count < 0;
        if (delta.ms > 0)
            deltas[count++] = delta;
    }
    qsort(deltas, count, sizeof *deltas, by_ms_down);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < count && i < WAITS_SHOWN && !backwards; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "type", deltas[i].type);
        cJSON_AddNumberToObject(item, "ms", (double)deltas[i].ms);
        cJSON_AddNumberToObject(item, "count", (double)deltas[i].count);
        cJSON_AddItemToArray(list, item);
    }
    free(deltas);
    return list;
}

static void contaminate(struct trial *trial, const char *note)
{
    if (trial->status == TRIAL_OK)
        trial->status = TRIAL_CONTAMINATED;
    trial_note(trial, note);
}

void probe_judge(const struct probe_sample *before, const struct probe_sample *after,
                 struct trial *trial)
{
    if (before->cpu_ms >= 0 && after->cpu_ms >= before->cpu_ms)
        trial->cpu_s = (double)(after->cpu_ms - before->cpu_ms) / 1000;
    trial->cpu_count = after->cpu_count;
    trial->waits = wait_differences(before, after);
    if (before->started[0] && after->started[0] && strcmp(before->started, after->started) != 0)
        contaminate(trial, "the server was restarted during this trial");
    if (before->foreign[0] || after->foreign[0]) {
        char note[128];
        (void)snprintf(note, sizeof note, "somebody else ran %.60s during this trial",
                       before->foreign[0] ? before->foreign : after->foreign);
        contaminate(trial, note);
    }
}

/* Adds the first column as text (null for NULL) when the query can be answered with a row. */
static void add_lsn(struct mssql *session, const char *sql, const char *database, const char *name,
                    cJSON *chain)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: stays unknown */
    if (mssql_query(session, sql, &value, 1, &rows, &ignored) < 0)
        return;
    if (mssql_row_count(rows) > 0)
        cJSON_AddItemToObject(chain, name, json_text(mssql_text(rows, 0, 0)));
    mssql_rows_free(rows);
}

cJSON *probe_chain(struct mssql *session, const char *database)
{
    cJSON *chain = cJSON_CreateObject();
    add_lsn(session,
            "SELECT CONVERT(nvarchar(40), MAX(f.differential_base_lsn)) FROM sys.master_files AS f "
            "JOIN sys.databases AS d ON d.database_id = f.database_id "
            "WHERE d.name = ? AND f.type = 0 GROUP BY f.database_id",
            database, "differential_base_lsn", chain);
    add_lsn(session,
            "SELECT CONVERT(nvarchar(40), r.last_log_backup_lsn) "
            "FROM sys.database_recovery_status AS r "
            "JOIN sys.databases AS d ON d.database_id = r.database_id WHERE d.name = ?",
            database, "last_log_backup_lsn", chain);
    return chain;
}

static cJSON *unchanged(const cJSON *before, const cJSON *after, const char *name)
{
    const cJSON *old = json_member(before, name);
    const cJSON *new = json_member(after, name);
    if (!old || !new)
        return cJSON_CreateNull();
    return cJSON_CreateBool(cJSON_Compare(old, new, true));
}

cJSON *probe_chain_compare(const cJSON *before, const cJSON *after)
{
    cJSON *chain = cJSON_CreateObject();
    cJSON_AddItemToObject(chain, "differential_base_unchanged",
                          unchanged(before, after, "differential_base_lsn"));
    cJSON_AddItemToObject(chain, "log_chain_unchanged",
                          unchanged(before, after, "last_log_backup_lsn"));
    return chain;
}
