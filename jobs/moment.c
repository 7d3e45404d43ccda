#include "jobs/moment.h"
#include "jobs/measure/messages.h"
#include "jobs/send.h"

#include <stdio.h>

/* STATEMENT_MOMENT, by position; the first is STATEMENT_FOREIGN_WORK's, too. */
enum { COMMAND, STATE, ROLE };

enum guards_role moment_role(int64_t number)
{
    switch (number) {
    case 0:
        return GUARDS_RESOLVING;
    case 1:
        return GUARDS_PRIMARY;
    case 2:
        return GUARDS_SECONDARY;
    default:
        return GUARDS_ROLE_NONE;
    }
}

static void read_command(const struct mssql_rows *rows, struct moment *out)
{
    const char *command = mssql_text(rows, 0, COMMAND);
    if (command)
        (void)snprintf(out->foreign, sizeof out->foreign, "%s", command);
}

/* True when the server answered with the database's row. */
static bool look_at_all(struct run *run, const char *database, struct moment *out)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err why = {0};
    if (!database || run->no_roles ||
        run->plan.facts.major < statement_first_major(STATEMENT_MOMENT))
        return false;
    bool seen = send_ask(run_session(run), STATEMENT_MOMENT, &value, 1, &rows, &why) == 0;
    if (!seen && why.code == ERR_SQL && message_is_absence(why.detail))
        run->no_roles = true; /* it will not come */
    seen = seen && mssql_row_count(rows) > 0;
    if (seen) {
        read_command(rows, out);
        out->state = mssql_int(rows, 0, STATE, -1);
        out->role = moment_role(mssql_int(rows, 0, ROLE, -1));
    }
    mssql_rows_free(rows);
    return seen;
}

void moment_look(struct run *run, const char *database, struct moment *out)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: not known */
    *out = (struct moment){.role = GUARDS_ROLE_NONE, .state = -1};
    if (look_at_all(run, database, out))
        return;
    if (send_ask(run_session(run), STATEMENT_FOREIGN_WORK, NULL, 0, &rows, &ignored) == 0)
        read_command(rows, out);
    mssql_rows_free(rows);
}
