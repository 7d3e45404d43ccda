#include "jobs/former.h"
#include "jobs/send.h"
#include "jobs/session.h"
#include "server/clock.h"
#include "server/limits.h"

#define PAUSE_FIRST_MS 50
#define PAUSE_LONGEST_MS 2000

/* How many statements are still at work; 0 and *out_tells false when the server does not tell. */
static int look(struct run *run, const char *program, int64_t *out_count, bool *out_tells,
                struct err *err)
{
    struct mssql_value value = {.text = program};
    struct mssql_rows *rows = NULL;
    *out_count = 0;
    *out_tells = false;
    if (send_ask(run_session(run), STATEMENT_FORMER_WORK, &value, 1, &rows, err) == 0) {
        *out_count = mssql_int(rows, 0, 0, 0);
        *out_tells = mssql_int(rows, 0, 1, 0) != 0;
    } else if (err->code != ERR_SQL || mssql_is_dead(run_session(run)))
        return err_wrap(err, "look for an earlier session");
    mssql_rows_free(rows);
    return 0;
}

/* A wall clock that was set back ends it, too. */
static int heed_given_up(const struct run *run, int64_t given_up_at, struct err *err)
{
    int64_t since_ms = clock_wall_ms() - given_up_at;
    if (given_up_at == 0 || since_ms < 0 || since_ms >= LIMIT_GIVEN_UP_S * INT64_C(1000))
        return 0;
    return err_set(err, ERR_TIMEOUT, 0,
                   "the server did not answer a cancel, and %s cannot see whether it is still at "
                   "that statement (VIEW SERVER STATE): nothing is touched for %d min",
                   run->instance.login, LIMIT_GIVEN_UP_S / 60);
}

int former_wait(struct run *run, const char *job, int64_t given_up_at, struct err *err)
{
    char program[SESSION_PROGRAM_SIZE];
    int64_t until = clock_mono_ns() + LIMIT_CANCEL_S * INT64_C(1000000000);
    int64_t pause_ms = PAUSE_FIRST_MS;
    int64_t count;
    bool tells;
    session_program(job, program);
    for (;;) {
        if (look(run, program, &count, &tells, err) < 0)
            return -1;
        if (count == 0)
            return tells ? 0 : heed_given_up(run, given_up_at, err);
        if (clock_mono_ns() >= until || run_rest(run, pause_ms))
            return err_set(err, ERR_TIMEOUT, 0,
                           "the server is still at a statement of an earlier session of job %s",
                           job);
        pause_ms = pause_ms < PAUSE_LONGEST_MS / 2 ? 2 * pause_ms : PAUSE_LONGEST_MS;
    }
}

int former_wait_own(struct run *run, struct err *err)
{
    if (!run->left_session)
        return 0;
    if (former_wait(run, run->row.id, 0, err) < 0)
        return -1;
    run->left_session = false;
    return 0;
}
