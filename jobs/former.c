#include "jobs/former.h"
#include "jobs/send.h"
#include "jobs/session.h"
#include "server/clock.h"
#include "server/limits.h"

#define PAUSE_FIRST_MS 50
#define PAUSE_LONGEST_MS 2000

/* How many statements are still at work; 0 also when the server does not tell. */
static int look(struct run *run, const char *program, int64_t *out_count, struct err *err)
{
    struct mssql_value value = {.text = program};
    struct mssql_rows *rows = NULL;
    *out_count = 0;
    if (send_ask(run_session(run), STATEMENT_FORMER_WORK, &value, 1, &rows, err) == 0)
        *out_count = mssql_int(rows, 0, 0, 0);
    else if (err->code != ERR_SQL || mssql_is_dead(run_session(run)))
        return err_wrap(err, "look for an earlier session");
    mssql_rows_free(rows);
    return 0;
}

int former_wait(struct run *run, const char *job, struct err *err)
{
    char program[SESSION_PROGRAM_SIZE];
    int64_t until = clock_mono_ns() + LIMIT_CANCEL_S * INT64_C(1000000000);
    int64_t pause_ms = PAUSE_FIRST_MS;
    int64_t count;
    session_program(job, program);
    for (;;) {
        if (look(run, program, &count, err) < 0)
            return -1;
        if (count == 0)
            return 0;
        if (clock_mono_ns() >= until || run_rest(run, pause_ms))
            return err_set(err, ERR_TIMEOUT, 0,
                           "the server is still at a statement of an earlier session of job %s",
                           job);
        pause_ms = pause_ms < PAUSE_LONGEST_MS / 2 ? 2 * pause_ms : PAUSE_LONGEST_MS;
    }
}
