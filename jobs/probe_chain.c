/* The LSNs that must not move while we back up. */
#include "jobs/probe.h"
#include "jobs/send.h"
#include "server/json.h"

/* Adds the first column as text (null for NULL) when the query can be answered with a row. */
static void add_lsn(struct mssql *session, enum statement statement, const char *database,
                    const char *name, cJSON *chain)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: stays unknown */
    if (send_ask(session, statement, &value, 1, &rows, &ignored) < 0)
        return;
    if (mssql_row_count(rows) > 0)
        cJSON_AddItemToObject(chain, name, json_text(mssql_text(rows, 0, 0)));
    mssql_rows_free(rows);
}

cJSON *probe_chain(struct mssql *session, const char *database)
{
    cJSON *chain = cJSON_CreateObject();
    add_lsn(session, STATEMENT_DIFFERENTIAL_BASE, database, "differential_base_lsn", chain);
    add_lsn(session, STATEMENT_LAST_LOG_BACKUP, database, "last_log_backup_lsn", chain);
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
