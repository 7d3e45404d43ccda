#include "jobs/tables.h"
#include "jobs/measure/own_name.h"
#include "jobs/measure/tsql.h"
#include "jobs/member.h"
#include "jobs/send.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

char *table_name(const char *job, const char *seq)
{
    return mem_format(OWN_NAME_PREFIX "%s_%s", job, seq);
}

bool table_is_own(const char *name)
{
    return own_name_matches(name, OWN_TABLE_NUMBERS);
}

bool table_add_full_name(struct buf *out, const char *database, const char *schema,
                         const char *table)
{
    bool good = tsql_add_name(out, database);
    buf_add_char(out, '.');
    good = good && tsql_add_name(out, schema);
    buf_add_char(out, '.');
    return good && tsql_add_name(out, table);
}

int table_reserve(struct run *run, const char *database, const char *name, struct err *err)
{
    cJSON *prior = cJSON_CreateObject();
    cJSON_AddItemToObject(prior, "database", json_text(database));
    char *text = json_print(prior);
    int rc = journal_write(run, JOURNAL_TABLE, name, text, err);
    free(text);
    cJSON_Delete(prior);
    return rc;
}

/* What the server counts, the plain view first; each gives (rows, bytes). */
static const enum statement size_queries[] = {STATEMENT_TABLE_SIZE, STATEMENT_TABLE_SIZE_OLD};

void table_size(struct run *run, const char *database, const char *schema, const char *table,
                int64_t *out_rows, int64_t *out_bytes)
{
    struct buf name = {0};
    *out_rows = -1;
    *out_bytes = -1;
    bool named = table_add_full_name(&name, database, schema, table);
    for (size_t i = 0; i < JSON_COUNT(size_queries) && named && *out_rows < 0; i++) {
        char *sql = statement_in(size_queries[i], database);
        struct mssql_value value = {.text = buf_text(&name)};
        struct mssql_rows *rows = NULL;
        struct err ignored; /* absent on this version or not permitted: ask the next one */
        if (!mssql_is_dead(run_session(run)) &&
            send_query(run, size_queries[i], sql, &value, 1, &rows, &ignored) == 0) {
            *out_rows = mssql_int(rows, 0, 0, -1);
            *out_bytes = mssql_int(rows, 0, 1, -1);
        }
        mssql_rows_free(rows);
        free(sql);
    }
    buf_fini(&name);
}

/* OBJECT_ID is null also where the database cannot be entered: that is no answer. */
int table_exists(struct run *run, const char *database, const char *schema, const char *table,
                 struct err *err)
{
    struct buf name = {0};
    struct mssql_rows *rows = NULL;
    if (!table_add_full_name(&name, database, schema, table)) {
        buf_fini(&name);
        return err_set(err, ERR_INPUT, 0, "%s.%s is no name of a table", schema, table);
    }
    struct mssql_value values[] = {{.text = buf_text(&name)}, {.text = database}};
    int rc = send_ask(run_session(run), STATEMENT_TABLE, values, 2, &rows, err);
    if (rc == 0 && mssql_text(rows, 0, 0))
        rc = 1;
    else if (rc == 0 && mssql_int(rows, 0, 1, 1) == 0) /* null: there is no such database */
        rc = err_set(err, ERR_REFUSED, 0, "database %s cannot be entered now", database);
    mssql_rows_free(rows);
    buf_fini(&name);
    return rc;
}

bool table_drop_statement(const char *database, const char *name, struct buf *out)
{
    buf_add(out, "DROP TABLE ");
    return table_add_full_name(out, database, "dbo", name);
}

static int drop(struct run *run, const char *database, const char *name, struct err *err)
{
    struct buf batch = {0};
    struct err why = {0};
    bool named = table_drop_statement(database, name, &batch);
    int there = table_exists(run, database, "dbo", name, err);
    if (there > 0 && named &&
        send_query(run, STATEMENT_DROP_TABLE, buf_text(&batch), NULL, 0, NULL, &why) < 0 &&
        mssql_is_dead(run_session(run)))
        there = err_set(err, why.code, why.detail, "%s", why.msg);
    else if (there > 0)
        there = table_exists(run, database, "dbo", name, err);
    buf_fini(&batch);
    bool unanswered = why.code == ERR_TIMEOUT || why.code == ERR_CANCELLED;
    if (there > 0) /* silence is no answer: it is tried again later */
        return err_set(err, unanswered ? ERR_UNREACHABLE : ERR_REFUSED, why.detail,
                       "table %s is still in %s%s%s", name, database, why.msg[0] ? ": " : "",
                       why.msg);
    if (there < 0 && err->code == ERR_TIMEOUT)
        err->code = ERR_UNREACHABLE;
    return there;
}

int table_undo(struct run *run, const struct intent_row *intent, struct err *err)
{
    cJSON *prior = NULL;
    if (!table_is_own(intent->object))
        return err_set(err, ERR_REFUSED, 0, "%s is not named as a table of ours", intent->object);
    if (!intent->prior || member_parse_own(intent->prior, &prior, err) < 0)
        return err_set(err, ERR_REFUSED, 0, "it is not known which database %s is in",
                       intent->object);
    const char *database = member_text(prior, "database");
    int rc = database ? drop(run, database, intent->object, err)
                      : err_set(err, ERR_REFUSED, 0, "it is not known which database %s is in",
                                intent->object);
    cJSON_Delete(prior);
    return rc;
}
