#include "jobs/doubt.h"
#include "jobs/measure/production.h"
#include "jobs/send.h"

#define ROLE_PRIMARY 1

/* NULL when the answer cannot be had. */
static struct mssql_rows *ask(struct mssql *session, enum statement statement, int major)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* absent on this version or not permitted: not known */
    if (major < statement_first_major(statement) || mssql_is_dead(session) ||
        send_ask(session, statement, NULL, 0, &rows, &ignored) < 0)
        return NULL;
    return rows;
}

static int64_t count_sessions(struct mssql *session, int major)
{
    struct mssql_rows *rows = ask(session, STATEMENT_USER_SESSIONS, major);
    int64_t count = rows ? mssql_int(rows, 0, 0, -1) : -1;
    mssql_rows_free(rows);
    return count;
}

static int64_t count_primaries(struct mssql *session, int major)
{
    struct mssql_rows *rows = ask(session, STATEMENT_REPLICAS, major);
    int64_t count = rows ? 0 : -1;
    for (size_t i = 0; rows && i < mssql_row_count(rows); i++)
        count += mssql_int(rows, i, 1, -1) == ROLE_PRIMARY;
    mssql_rows_free(rows);
    return count;
}

char *doubt_look(struct mssql *session, const struct instance *instance, const char *name,
                 const struct server_facts *facts)
{
    struct buf text = {0};
    if (instance_is_production(instance))
        return NULL;
    struct production_look look = {.environment = instance->environment,
                                   .name = name,
                                   .host = instance->host,
                                   .host_name = facts->host_name,
                                   .edition = facts->edition,
                                   .engine_edition = facts->engine_edition,
                                   .sessions = count_sessions(session, facts->major),
                                   .primaries = count_primaries(session, facts->major)};
    bool doubts = production_doubt(&look, &text);
    if (doubts)
        return buf_take(&text);
    buf_fini(&text);
    return NULL;
}
