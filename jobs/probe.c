#include "jobs/probe.h"
#include "jobs/measure/messages.h"
#include "jobs/send.h"
#include "server/json.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_TYPE_LOG 1 /* sys.master_files.type */

static const enum statement statements[PROBE_QUERY_COUNT] = {
    [PROBE_CPU] = STATEMENT_CPU,
    [PROBE_STARTED] = STATEMENT_STARTED,
    [PROBE_WAITS] = STATEMENT_SESSION_WAITS,
    [PROBE_INSTANCE_WAITS] = STATEMENT_INSTANCE_WAITS,
    [PROBE_READS] = STATEMENT_READS,
    [PROBE_READS_PLAIN] = STATEMENT_READS_PLAIN,
    [PROBE_FOREIGN] = STATEMENT_FOREIGN_WORK,
    [PROBE_FOREIGN_BACKUP] = STATEMENT_FOREIGN_BACKUP,
};

void probe_fini(struct probe *probe)
{
    *probe = (struct probe){0};
}

/* NULL when it cannot be had; that it is absent or not permitted is remembered, a deadlock, a
 * time-out or a broken connection is not. */
static struct mssql_rows *ask_about(struct probe *probe, struct mssql *session,
                                    enum probe_query query, const char *database)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err err;
    if (probe->absent[query] || mssql_is_dead(session))
        return NULL;
    if (send_ask(session, statements[query], &value, database ? 1 : 0, &rows, &err) < 0) {
        probe->absent[query] = err.code == ERR_SQL && message_is_absence(err.detail);
        return NULL;
    }
    return rows;
}

static struct mssql_rows *ask(struct probe *probe, struct mssql *session, enum probe_query query)
{
    return ask_about(probe, session, query, NULL);
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

static void take_files(struct probe_sample *out, const struct mssql_rows *rows)
{
    size_t count = rows ? mssql_row_count(rows) : 0;
    bool with_volume = rows && mssql_column_count(rows) > 4;
    out->files = mem_alloc(count, sizeof *out->files);
    for (size_t i = 0; i < count; i++) {
        struct probe_file *file = &out->files[out->file_count++];
        copy_text(file->name, sizeof file->name, mssql_text(rows, i, 0));
        file->bytes = mssql_int(rows, i, 1, 0);
        file->stall_ms = mssql_int(rows, i, 2, 0);
        file->log = mssql_int(rows, i, 3, 0) == FILE_TYPE_LOG;
        copy_text(file->volume, sizeof file->volume, with_volume ? mssql_text(rows, i, 4) : NULL);
    }
}

/* Our session's waits; without them everybody's. */
static struct mssql_rows *ask_waits(struct probe *probe, struct mssql *session,
                                    struct probe_sample *out)
{
    struct mssql_rows *rows = ask(probe, session, PROBE_WAITS);
    out->instance_waits = !rows;
    return rows ? rows : ask(probe, session, PROBE_INSTANCE_WAITS);
}

static struct mssql_rows *ask_reads(struct probe *probe, struct mssql *session,
                                    const char *database)
{
    if (!database)
        return NULL;
    struct mssql_rows *rows = ask_about(probe, session, PROBE_READS, database);
    return rows ? rows : ask_about(probe, session, PROBE_READS_PLAIN, database);
}

static void take_foreign_backup(struct probe *probe, struct mssql *session,
                                struct probe_sample *out)
{
    struct mssql_rows *rows = ask(probe, session, PROBE_FOREIGN_BACKUP);
    out->foreign_set = rows ? mssql_int(rows, 0, 0, 0) : -1;
    out->foreign_frozen = rows && mssql_int(rows, 0, 1, 0) != 0;
    mssql_rows_free(rows);
}

void probe_take(struct probe *probe, struct mssql *session, const char *database,
                struct probe_sample *out)
{
    *out = (struct probe_sample){.cpu_ms = -1, .cpu_count = -1, .foreign_set = -1};
    struct mssql_rows *cpu = ask(probe, session, PROBE_CPU);
    if (cpu) {
        out->cpu_ms = mssql_int(cpu, 0, 0, -1);
        out->cpu_count = mssql_int(cpu, 0, 1, -1);
    }
    mssql_rows_free(cpu);
    take_text(probe, session, PROBE_STARTED, out->started, sizeof out->started);
    take_text(probe, session, PROBE_FOREIGN, out->foreign, sizeof out->foreign);
    take_foreign_backup(probe, session, out);
    struct mssql_rows *reads = ask_reads(probe, session, database);
    take_files(out, reads);
    mssql_rows_free(reads);
    struct mssql_rows *waits = ask_waits(probe, session, out);
    take_waits(out, waits);
    mssql_rows_free(waits);
}

void probe_sample_fini(struct probe_sample *sample)
{
    free(sample->waits);
    free(sample->files);
    *sample = (struct probe_sample){0};
}
