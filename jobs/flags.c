#include "jobs/flags.h"
#include "jobs/measure/action.h"
#include "jobs/member.h"
#include "jobs/send.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_DBCC_DENIED 2571
#define STATEMENT_BYTES 64

/* What DBCC TRACESTATUS shows, by position: the names of its columns changed between versions. */
enum { COLUMN_FLAG, COLUMN_STATUS, COLUMN_GLOBAL };

static int refuse(const struct run *run, struct err *err)
{
    return err_set(err, ERR_REFUSED, MESSAGE_DBCC_DENIED,
                   "DBCC TRACEON and TRACEOFF need the server role sysadmin, which login %s lacks; "
                   "grant it (ALTER SERVER ROLE sysadmin ADD MEMBER [%s]) or register the "
                   "instance with a login that has it",
                   run->instance.login, run->instance.login);
}

int flags_check_rights(struct run *run, struct err *err)
{
    struct mssql_rows *rows = NULL;
    if (send_ask(run_session(run), STATEMENT_IS_SYSADMIN, NULL, 0, &rows, err) < 0)
        return err_wrap(err, "ask for the login's server role");
    bool may = mssql_int(rows, 0, 0, 0) == 1;
    mssql_rows_free(rows);
    return may ? 0 : refuse(run, err);
}

/* "DBCC TRACEON (3042, -1)" from the row of a statement. */
static void write_statement(enum statement statement, int flag, char *out, size_t size)
{
    const char *text = statement_text(statement);
    const char *slot = strchrnul(text, '{');
    (void)snprintf(out, size, "%.*s%d%s", (int)(slot - text), text, flag, strchrnul(slot, '}') + 1);
}

static void add_statement(enum statement statement, int flag, cJSON *out)
{
    char text[STATEMENT_BYTES];
    write_statement(statement, flag, text, sizeof text);
    member_add_text_once(out, text);
}

void flags_templates(int flag, cJSON *statements)
{
    add_statement(STATEMENT_FLAG_ON, flag, statements);
    add_statement(STATEMENT_FLAG_OFF, flag, statements);
}

void flags_probe(int flag, cJSON *probes)
{
    add_statement(STATEMENT_FLAG_STATUS, flag, probes);
}

int flags_is_on(struct run *run, int flag, struct err *err)
{
    char text[STATEMENT_BYTES];
    struct mssql_rows *rows = NULL;
    write_statement(STATEMENT_FLAG_STATUS, flag, text, sizeof text);
    if (send_query(run, STATEMENT_FLAG_STATUS, text, NULL, 0, &rows, err) < 0) {
        err_wrap(err, "look at a trace flag");
        return -1;
    }
    size_t column = mssql_column_count(rows) > COLUMN_GLOBAL ? COLUMN_GLOBAL : COLUMN_STATUS;
    int on = 0; /* no row: it was never set */
    for (size_t i = 0; i < mssql_row_count(rows); i++)
        if (mssql_int(rows, i, COLUMN_FLAG, flag) == flag && mssql_int(rows, i, column, 0) != 0)
            on = 1;
    mssql_rows_free(rows);
    return on;
}

/* When the server started, as text, "" when that cannot be seen. A flag set since lives no longer
 * than the server does. */
static int read_started(struct run *run, char *out, size_t size, struct err *err)
{
    struct mssql_rows *rows = NULL;
    struct err why = {0};
    out[0] = '\0';
    if (send_ask(run_session(run), STATEMENT_STARTED, NULL, 0, &rows, &why) < 0)
        return why.code == ERR_SQL ? 0 : (*err = why, -1); /* 2005 has no such column */
    const char *text = mssql_text(rows, 0, 0);
    (void)snprintf(out, size, "%s", text ? text : "");
    mssql_rows_free(rows);
    return 0;
}

/* As a query, which is given up when the server falls silent: nothing cancels a clean-up. Said once
 * more when it came back without an error and without an effect. */
static int change(struct run *run, int flag, bool on, struct err *err)
{
    enum statement statement = on ? STATEMENT_FLAG_ON : STATEMENT_FLAG_OFF;
    char text[STATEMENT_BYTES];
    int is_on = !on;
    write_statement(statement, flag, text, sizeof text);
    for (int tries = 0; tries < 2 && is_on != on; tries++) {
        if (send_query(run, statement, text, NULL, 0, NULL, err) < 0)
            return err->detail == MESSAGE_DBCC_DENIED ? refuse(run, err) : err_wrap(err, text);
        is_on = flags_is_on(run, flag, err);
        if (is_on < 0)
            return -1;
    }
    if (is_on != on)
        return err_set(err, ERR_REFUSED, 0, "trace flag %d is still %s after %s", flag,
                       is_on ? "on" : "off", text);
    return 0;
}

/* --- putting back -------------------------------------------------------------------------- */

static int read_intent(const struct intent_row *intent, int *out_flag, cJSON **out_prior,
                       struct err *err)
{
    char *end = NULL;
    long flag = strtol(intent->object, &end, 10);
    if (flag <= 0 || flag > INT32_MAX || *end != '\0')
        return err_set(err, ERR_STORE, 0, "\"%s\" is no trace flag's number", intent->object);
    if (!intent->prior || member_parse_own(intent->prior, out_prior, err) < 0)
        return err_set(err, ERR_STORE, 0, "what trace flag %ld was before cannot be read", flag);
    *out_flag = (int)flag;
    return 0;
}

static int put_back(struct run *run, int flag, const cJSON *prior, struct err *err)
{
    char started[40];
    const char *started_then = member_text(prior, "started");
    bool on_then = cJSON_IsTrue(json_member(prior, "on"));
    if (read_started(run, started, sizeof started, err) < 0)
        return -1;
    bool known = started[0] && started_then && started_then[0];
    if (known && strcmp(started, started_then) != 0)
        return 0;
    int on = flags_is_on(run, flag, err);
    if (on < 0)
        return -1;
    return on == on_then ? 0 : change(run, flag, on_then, err);
}

int flags_undo(struct run *run, const struct intent_row *intent, struct err *err)
{
    cJSON *prior = NULL;
    int flag = 0;
    int rc = read_intent(intent, &flag, &prior, err);
    if (rc == 0)
        rc = put_back(run, flag, prior, err);
    cJSON_Delete(prior);
    if (rc < 0 && err->code == ERR_TIMEOUT) /* no answer is no reason to give up a flag */
        err->code = ERR_UNREACHABLE;
    return rc;
}

/* --- setting ------------------------------------------------------------------------------- */

static bool is_of_flag(const struct intent_row *intent, const void *flag)
{
    return strcmp(intent->action, JOURNAL_FLAG) == 0 &&
           strtol(intent->object, NULL, 10) == *(const int *)flag;
}

static bool is_of_other_flag(const struct intent_row *intent, const void *flag)
{
    return strcmp(intent->action, JOURNAL_FLAG) == 0 && !is_of_flag(intent, flag);
}

static int write_down(struct run *run, int flag, bool on, struct err *err)
{
    char object[16];
    char started[40];
    if (read_started(run, started, sizeof started, err) < 0)
        return -1;
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddBoolToObject(tree, "on", on);
    cJSON_AddStringToObject(tree, "started", started);
    char *prior = json_print(tree);
    (void)snprintf(object, sizeof object, "%d", flag);
    int rc = journal_write(run, JOURNAL_FLAG, object, prior, err);
    free(prior);
    cJSON_Delete(tree);
    return rc;
}

/* What we find when our own change could not be undone is ours, and not what was there before us.
 */
static int check_put_back(struct run *run, int flag, struct err *err)
{
    const char *cleanup = NULL;
    cJSON *left = NULL;
    int rc = 0;
    if (journal_state(run, &cleanup, &left, err) < 0)
        return -1;
    const cJSON *item;
    cJSON_ArrayForEach(item, left) {
        if (strcmp(member_text(item, "action"), JOURNAL_FLAG) == 0 &&
            strtol(member_text(item, "object"), NULL, 10) == flag)
            rc = -1;
    }
    cJSON_Delete(left);
    if (rc < 0)
        err_set(err, ERR_REFUSED, 0,
                "trace flag %d could not be put back as it was before this job, so it is not "
                "switched any more",
                flag);
    return rc;
}

/* One open intent a flag at most, so that it always holds what was there before us: what we changed
 * is put back first, and what we find then is the prior state, also when somebody else changed the
 * flag meanwhile. */
int flags_set(struct run *run, int flag, bool on, struct err *err)
{
    if (journal_undo_picked(run, is_of_other_flag, &flag, err) < 0)
        return -1;
    int found = flags_is_on(run, flag, err);
    if (found < 0 || found == on)
        return found < 0 ? -1 : 0;
    if (journal_undo_picked(run, is_of_flag, &flag, err) < 0)
        return -1;
    found = flags_is_on(run, flag, err);
    if (found < 0 || found == on)
        return found < 0 ? -1 : 0;
    if (check_put_back(run, flag, err) < 0 || write_down(run, flag, found, err) < 0)
        return -1;
    return change(run, flag, on, err);
}

/* --- what others left ---------------------------------------------------------------------- */

struct left_work {
    const char *instance;
    int flag;
    char *text; /* who left it, and why; NULL: nobody did */
};

static int left_work(struct db *db, void *arg, struct err *err)
{
    struct left_work *work = arg;
    struct intent_row *rows = NULL;
    size_t count = 0;
    if (store_intent_list_left(db, work->instance, &rows, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!work->text && is_of_flag(&rows[i], &work->flag))
            work->text = mem_format("job %s left it so (%s)", rows[i].job,
                                    rows[i].detail ? rows[i].detail : "not tried yet");
        intent_row_fini(&rows[i]);
    }
    free(rows);
    return 0;
}

int flags_check_left(struct run *run, int flag, struct err *err)
{
    struct left_work work = {.instance = run->row.instance, .flag = flag};
    if (store_read(run->parts->store, left_work, &work, err) < 0)
        return -1;
    if (!work.text)
        return 0;
    err_set(err, ERR_REFUSED, 0,
            "trace flag %d is not as it was before us and could not be put back, so it is not "
            "measured: %s",
            flag, work.text);
    free(work.text);
    return -1;
}
