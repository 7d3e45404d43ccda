#include "jobs/send.h"
#include "server/limits.h"
#include "server/log.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES 120 /* of a refused text in its error */

/* --- what the journal holds ---------------------------------------------------------------- */

/* One look at what is not undone on the instance: open, or refused before and tried again. */
struct lookup {
    const char *instance;
    const char *const *actions;
    char *const *objects;
    size_t count;
    size_t missing; /* index of the first that is not there; count when all are */
};

static bool is_written(const struct intent_row *rows, size_t count, const char *action,
                       const char *object)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].action, action) == 0 && strcmp(rows[i].object, object) == 0)
            return true;
    return false;
}

static int lookup_work(struct db *db, void *arg, struct err *err)
{
    struct lookup *lookup = arg;
    struct intent_row *rows = NULL;
    size_t count = 0;
    if (store_intent_list_left(db, lookup->instance, &rows, &count, err) < 0)
        return -1;
    for (lookup->missing = 0; lookup->missing < lookup->count; lookup->missing++)
        if (!is_written(rows, count, lookup->actions[lookup->missing],
                        lookup->objects[lookup->missing]))
            break;
    for (size_t i = 0; i < count; i++)
        intent_row_fini(&rows[i]);
    free(rows);
    return 0;
}

/* The objects that one text names. */
struct objects {
    const char *actions[LIMIT_STRIPES];
    char *names[LIMIT_STRIPES];
    size_t count;
    bool too_many;
};

static void on_object(void *ctx, const char *action, const char *object)
{
    struct objects *objects = ctx;
    if (objects->count == LIMIT_STRIPES) {
        objects->too_many = true;
        return;
    }
    objects->actions[objects->count] = action;
    objects->names[objects->count++] = mem_copy(object);
}

static void objects_fini(struct objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        free(objects->names[i]);
}

static int check_journal(const struct run *run, const struct objects *objects, struct err *err)
{
    struct lookup lookup = {.instance = run->row.instance,
                            .actions = objects->actions,
                            .objects = objects->names,
                            .count = objects->count};
    if (objects->count == 0)
        return 0;
    if (store_read(run->parts->store, lookup_work, &lookup, err) < 0)
        return -1;
    if (lookup.missing == objects->count)
        return 0;
    return err_set(err, ERR_REFUSED, 0, "%s %s is not written down in the journal",
                   objects->actions[lookup.missing], objects->names[lookup.missing]);
}

/* --- what may be sent ---------------------------------------------------------------------- */

static int check_text(const struct run *run, enum statement statement, const char *text,
                      struct objects *objects, struct err *err)
{
    const char *paths[LIMIT_PATHS];
    struct statement_rules rules = {.paths = paths};
    const cJSON *path;
    cJSON_ArrayForEach(path, run->instance.paths) {
        if (cJSON_IsString(path) && rules.path_count < LIMIT_PATHS)
            paths[rules.path_count++] = path->valuestring;
    }
    if (statement_matches(statement, text, &rules, on_object, objects) && !objects->too_many)
        return 0;
    return err_set(err, ERR_REFUSED, 0, "it is no instance of \"%.80s\"",
                   statement_text(statement));
}

static int check(const struct run *run, enum statement statement, const char *text, struct err *err)
{
    struct objects objects = {.count = 0};
    int rc = check_text(run, statement, text, &objects, err);
    if (rc == 0 && !statement_only_reads(statement))
        rc = check_journal(run, &objects, err);
    objects_fini(&objects);
    if (rc < 0 && err->code == ERR_REFUSED) {
        struct err why = *err;
        log_event(LOG_LEVEL_ERROR, "statement_refused", "why=%s", log_quote(why.msg));
        return err_set(err, ERR_REFUSED, 0, "not sent: %s: %.*s", why.msg, SHOWN_BYTES, text);
    }
    return rc;
}

/* --- sending ------------------------------------------------------------------------------- */

int send_ask(struct mssql *session, enum statement statement, const struct mssql_value *values,
             size_t value_count, struct mssql_rows **out_rows, struct err *err)
{
    if (statement_has_slots(statement) || !statement_only_reads(statement))
        return err_set(err, ERR_REFUSED, 0, "\"%.80s\" cannot be sent as it stands",
                       statement_text(statement));
    return mssql_query(session, statement_text(statement), values, value_count, out_rows, err);
}

int send_query(struct run *run, enum statement statement, const char *text,
               const struct mssql_value *values, size_t value_count, struct mssql_rows **out_rows,
               struct err *err)
{
    if (check(run, statement, text, err) < 0)
        return -1;
    return mssql_query(run_session(run), text, values, value_count, out_rows, err);
}

int send_batch(struct run *run, enum statement statement, const char *text,
               mssql_on_message *on_message, void *ctx, struct err *err)
{
    if (statement == STATEMENT_CUSTOM) /* never as our own login */
        return err_set(err, ERR_REFUSED, 0, "T-SQL of the job's own runs in a session of its own");
    if (check(run, statement, text, err) < 0)
        return -1;
    return mssql_execute(run_session(run), text, on_message, ctx, err);
}

int send_second(struct run *run, enum statement statement, const char *text, struct err *err)
{
    if (!run->second || !run->instance.custom_sql)
        return err_set(err, ERR_REFUSED, 0, "the instance does not allow T-SQL of a job's own");
    if (check(run, statement, text, err) < 0)
        return -1;
    return mssql_execute(run->second, text, NULL, NULL, err);
}

int send_stream(struct run *run, enum statement statement, const char *text,
                const struct mssql_value *values, size_t value_count, mssql_on_row *on_row,
                void *ctx, struct err *err)
{
    if (check(run, statement, text, err) < 0)
        return -1;
    return mssql_stream(run_session(run), text, values, value_count, on_row, ctx, err);
}
