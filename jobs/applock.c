#include "jobs/applock.h"
#include "jobs/measure/messages.h"
#include "jobs/send.h"
#include "server/clock.h"
#include "server/log.h"

#define RETRY_MS 15000 /* a measurement takes minutes: no hurry, and a login costs something */

/* Between two looks of one try, doubled each time: a session that was just closed, or whose daemon
 * was just killed, takes the server a moment to notice. */
#define LOOK_FIRST_MS 20
#define LOOKS 6

static _Atomic int64_t retry_ms = RETRY_MS;

void applock_set_pause(int64_t ms)
{
    atomic_store(&retry_ms, ms);
}

/* What sp_getapplock answers; from -1 to -3 it was not granted. */
enum { CALL_FAILED = -999 };

static void go_without(struct run *run, const char *why)
{
    run->applock = RUN_LOCK_ABSENT;
    run_warn(run,
             "no lock on the server: another Sweetspot could measure at the same time (%.200s)",
             why);
}

/* One question: sets run->applock, or leaves it as it is when somebody else has the lock. */
static int ask(struct run *run, struct err *err)
{
    struct mssql_rows *rows = NULL;
    int rc = send_ask(run_session(run), STATEMENT_TAKE_LOCK, NULL, 0, &rows, err);
    int64_t answer = rc == 0 ? mssql_int(rows, 0, 0, CALL_FAILED) : CALL_FAILED;
    mssql_rows_free(rows);
    if (rc < 0 && (err->code != ERR_SQL || mssql_is_dead(run_session(run)) ||
                   message_is_passing(err->detail)))
        return err_wrap(err, "lock the server for measuring");
    if (rc < 0)
        go_without(run, err->msg);
    else if (answer >= 0)
        run->applock = RUN_LOCK_HELD;
    else if (answer == CALL_FAILED)
        go_without(run, "sp_getapplock failed");
    return 0;
}

/* Comes back later; a stop for another reason stays what it is. */
static int give_back(struct run *run, struct err *err)
{
    run_stop(run, RUN_BUSY);
    if (atomic_load(&run->stop) == RUN_BUSY)
        run->row.retry_at = clock_wall_ms() + atomic_load(&retry_ms);
    return run_go_on(run, err);
}

int applock_take(struct run *run, struct err *err)
{
    int64_t pause_ms = LOOK_FIRST_MS;
    if (!run->row.exclusive || run->applock != RUN_LOCK_UNASKED)
        return 0;
    for (int looks = 1;; looks++) {
        if (ask(run, err) < 0)
            return -1;
        if (run->applock != RUN_LOCK_UNASKED)
            return 0;
        if (looks == LOOKS)
            return give_back(run, err);
        if (run_pause(run, pause_ms, err) < 0)
            return -1;
        pause_ms *= 2;
    }
}

int applock_take_to_undo(struct run *run, struct err *err)
{
    int64_t pause_ms = LOOK_FIRST_MS;
    for (int looks = 1; run->applock == RUN_LOCK_UNASKED; looks++) {
        if (ask(run, err) < 0)
            return -1;
        if (run->applock != RUN_LOCK_UNASKED)
            break;
        if (looks == LOOKS || atomic_load(&run->stop) == RUN_BUSY) /* else: looked a moment ago */
            return err_set(err, ERR_TIMEOUT, 0,
                           "another Sweetspot measures there now; the flag is put back after it");
        (void)run_rest(run, pause_ms); /* also while the daemon ends: the looks are few */
        pause_ms *= 2;
    }
    return 0;
}

void applock_drop(struct run *run)
{
    struct err err = {0};
    bool held = run->applock == RUN_LOCK_HELD;
    run->applock = RUN_LOCK_UNASKED;
    if (held && run_session(run) && !mssql_is_dead(run_session(run)) &&
        send_ask(run_session(run), STATEMENT_DROP_LOCK, NULL, 0, NULL, &err) < 0)
        log_event(LOG_LEVEL_DEBUG, "lock_not_dropped", "error=%s", /* it ends with the session */
                  log_quote(err.msg));
}
