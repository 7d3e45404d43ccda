/* One request on a session: its messages, its results, its end, and how it is cancelled. */
#include "server/clock.h"
#include "server/mssql_inner.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* While the driver writes a request, an attention of another thread would be written into the
 * same buffer, and before that SQLCancel releases a mutex that is not its own. Both take
 * microseconds at the start of a request; a cancel can wait longer than that. */
#define CANCEL_GRACE_NS (20 * 1000000LL)

/* A first attempt can come to nothing when the driver is between two calls. */
#define CANCEL_REPEAT_NS (250 * 1000000LL)

/* Rows that come without a pause leave the canceller no moment to begin, so whoever fetches them
 * looks himself. An answer that is at its end by then is taken as it is: an attention for it would
 * only cost the server a turn. */
#define ROWS_AFTER_CANCEL_NS (250 * 1000000LL)

/* FreeTDS with MARS (packet.c of 1.3: tds_connection_put_packet, tds_read_packet): a cancel that
 * meets the reading thread between two packets sends the attention itself. When the reader comes
 * back meanwhile it waits for the canceller's turn on the network to end, of which nobody tells it:
 * the server's answer stays unread for ever. So
 * - where the session's own thread comes out of the driver, it cancels (mssql_run_drain);
 * - the canceller waits until nothing came for a while, for then the reader waits for input;
 * - when input lies unread all the same, the connection is given up soon and not after cancel_s. */
#define QUIET_NS (20 * 1000000LL)
#define QUIET_TRIES 25 /* a server that talks without end is cancelled all the same */
#define UNREAD_LOOKS 8 /* two seconds of CANCEL_REPEAT_NS */

#define FAILURES_MAX 100 /* a driver that only ever reports errors must not keep us for ever */

/* --- cancelling ---------------------------------------------------------------------------- */

/* What the canceller should do next: false when the request is over. */
static bool await_cancel_locked(struct mssql *session) NEEDS(session->lock)
{
    while (session->running) {
        bool early = clock_mono_ns() < session->cancel_at_ns;
        if (session->in_call && !early)
            return true;
        if (session->in_call)
            wait_until(&session->changed, &session->lock, session->cancel_at_ns);
        else
            wait_on(&session->changed, &session->lock);
    }
    return false;
}

/* Returns when nothing came from the server for a while, or the request is over. */
static void await_quiet_locked(struct mssql *session) NEEDS(session->lock)
{
    struct mssql_input before;
    struct mssql_input now;
    if (!mssql_socket_input(session->socket, session->port, &before))
        return;
    for (int i = 0; i < QUIET_TRIES && session->running; i++) {
        int64_t until_ns = clock_mono_ns() + QUIET_NS;
        while (session->running && clock_mono_ns() < until_ns) /* it changes with every message */
            wait_until(&session->changed, &session->lock, until_ns);
        if (!mssql_socket_input(session->socket, session->port, &now))
            return;
        if (now.unread == 0 && now.received == before.received)
            return;
        before = now;
    }
}

/* Gives up when the server answered and the driver does not read it, or when it answers too late.
 * A batch is left alone then (mssql_batch.c), unless it comes back before its sender sees that; a
 * query ends with its connection. */
static void give_up_locked(struct mssql *session) NEEDS(session->lock)
{
    struct mssql_input input;
    bool unread = session->in_call && mssql_socket_input(session->socket, session->port, &input) &&
                  input.unread > 0;
    session->unread_looks = unread ? session->unread_looks + 1 : 0;
    if (session->unread_looks >= UNREAD_LOOKS)
        session->give_up_at_ns = clock_mono_ns();
    if (clock_mono_ns() < session->give_up_at_ns)
        return;
    session->gave_up |= session->unread_looks < UNREAD_LOOKS;
    atomic_store(&session->dead, true);
    mssql_socket_drop(session->socket, session->port);
    wait_wake_all(&session->changed);
}

static void *cancel_until_over(void *argument)
{
    struct mssql *session = argument;
    (void)pthread_setname_np(pthread_self(), "mssql-cancel"); /* only for people who look */
    lock_take(&session->lock);
    session->unread_looks = 0;
    while (await_cancel_locked(session)) {
        give_up_locked(session);
        await_quiet_locked(session);
        if (!session->running || !session->in_call)
            continue;
        SQLHSTMT statement = session->statement; /* freed only after this thread was joined */
        session->cancel_at_ns = clock_mono_ns() + CANCEL_REPEAT_NS;
        lock_drop(&session->lock);
        (void)SQLCancel(statement); /* its result says nothing that the request's end does not */
        lock_take(&session->lock);
    }
    lock_drop(&session->lock);
    return NULL;
}

int mssql_start_thread(pthread_t *out_thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all;
    (void)sigfillset(&all);
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    failed = pthread_attr_setsigmask_np(&attributes, &all);
    if (!failed)
        failed = pthread_create(out_thread, &attributes, run, argument);
    (void)pthread_attr_destroy(&attributes);
    return failed;
}

void mssql_cancel(struct mssql *session)
{
    lock_take(&session->lock);
    if (session->running && !session->cancel_wanted) {
        session->cancel_wanted = true;
        session->cancelled_ns = clock_mono_ns();
        session->give_up_at_ns = session->cancelled_ns + session->cancel_s * INT64_C(1000000000);
        wait_wake_all(&session->changed);
    }
    if (session->running && !session->has_canceller) /* when it fails the next call tries again */
        session->has_canceller =
            mssql_start_thread(&session->canceller, cancel_until_over, session) == 0;
    lock_drop(&session->lock);
}

/* --- a request ------------------------------------------------------------------------------ */

int mssql_run_begin(struct mssql_run *run, struct mssql *session, long timeout_s, struct err *err)
{
    *run = (struct mssql_run){.session = session, .timeout_s = timeout_s};
    if (mssql_is_dead(session))
        return err_set(err, ERR_UNREACHABLE, 0, "the connection to SQL Server was lost before");
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, session->connection, &run->statement))) {
        atomic_store(&session->dead, true);
        return err_set(err, ERR_UNREACHABLE, 0, "the ODBC driver gives no further statement");
    }
    /* set always: the driver's own default comes from its configuration */
    (void)SQLSetStmtAttrW(run->statement, SQL_ATTR_QUERY_TIMEOUT, (SQLPOINTER)timeout_s, 0);
    lock_take(&session->lock);
    session->statement = run->statement;
    session->running = true;
    session->cancel_wanted = false;
    session->cancel_at_ns = clock_mono_ns() + CANCEL_GRACE_NS;
    lock_drop(&session->lock);
    return 0;
}

void mssql_run_enter(struct mssql_run *run)
{
    struct mssql *session = run->session;
    lock_take(&session->lock);
    session->in_call = true;
    wait_wake_all(&session->changed);
    lock_drop(&session->lock);
    run->server_error = false;
    run->expected_error = false;
}

/* The driver's own errors: a time-out and a cancel leave the connection usable. */
static void take_own_record(struct mssql_run *run, const struct mssql_record *record)
{
    bool timed_out = strcmp(record->state, "HYT00") == 0;
    bool cancelled = strcmp(record->state, "HY008") == 0;
    if (timed_out)
        run->timed_out = true;
    if (timed_out || cancelled)
        run->expected_error = true;
    if (strncmp(record->state, "08", 2) == 0)
        run->broken = true;
    /* "Unknown error", without a number, is what it adds when it has nothing to say */
    if (record->number != 0 && run->own.code == ERR_NONE)
        (void)err_set(&run->own, ERR_UNREACHABLE, record->number, "%s", record->text);
}

static void take_record(void *ctx, const struct mssql_record *record)
{
    struct mssql_run *run = ctx;
    struct mssql_message message = {record->own ? 0 : record->number, record->severity,
                                    record->text};
    if (record->own) {
        take_own_record(run, record);
    } else if (record->severity > 10) {
        run->server_error = true;
        if (run->first.code == ERR_NONE)
            (void)err_set(&run->first, ERR_SQL, record->number, "%s", record->text);
    }
    if (record->severity >= 20) /* the server ends the session with such an error */
        atomic_store(&run->session->dead, true);
    if (run->on_message)
        run->on_message(run->ctx, &message);
}

SQLRETURN mssql_run_leave(struct mssql_run *run, SQLRETURN rc)
{
    struct mssql *session = run->session;
    lock_take(&session->lock);
    session->in_call = false;
    bool cancel_wanted = session->cancel_wanted;
    lock_drop(&session->lock);
    if (rc == SQL_SUCCESS)
        return rc;
    mssql_records(SQL_HANDLE_STMT, run->statement, session->family, take_record, run);
    /* A reset comes without any useful text: the return code alone tells. */
    if (!SQL_SUCCEEDED(rc) && rc != SQL_NO_DATA && !run->server_error && !run->expected_error &&
        !cancel_wanted)
        run->broken = true;
    return rc;
}

/* In the session's own thread, between two calls: no SQLCancel begins then. One that has begun may
 * still be under way; the driver's own locks let one of both wait. */
void mssql_run_close(struct mssql_run *run)
{
    run->closed = true;
    (void)SQLFreeStmt(run->statement, SQL_CLOSE); /* whether it went well is seen at the end */
}

static bool cancel_is_wanted(struct mssql *session)
{
    lock_take(&session->lock);
    bool wanted = session->cancel_wanted;
    lock_drop(&session->lock);
    return wanted;
}

static bool rows_are_given_up(struct mssql *session)
{
    lock_take(&session->lock);
    bool wanted = session->cancel_wanted;
    int64_t cancelled_ns = session->cancelled_ns;
    lock_drop(&session->lock);
    return wanted && clock_mono_ns() - cancelled_ns >= ROWS_AFTER_CANCEL_NS;
}

bool mssql_run_fetch(struct mssql_run *run)
{
    if (rows_are_given_up(run->session)) {
        mssql_run_close(run);
        return false;
    }
    mssql_run_enter(run);
    return SQL_SUCCEEDED(mssql_run_leave(run, SQLFetch(run->statement)));
}

void mssql_run_skip_rows(struct mssql_run *run)
{
    while (mssql_run_fetch(run)) {
        /* thrown away */
    }
}

void mssql_run_drain(struct mssql_run *run, SQLRETURN rc, mssql_on_result *on_result, void *ctx)
{
    int failures = 0;
    for (;;) {
        SQLSMALLINT columns = 0;
        if (SQL_SUCCEEDED(rc))
            (void)SQLNumResultCols(run->statement, &columns); /* stays 0: nothing to fetch */
        else if (rc != SQL_NO_DATA && ++failures > FAILURES_MAX)
            run->broken = true;
        if (columns > 0 && on_result)
            on_result(ctx, run, columns);
        else if (columns > 0)
            mssql_run_skip_rows(run);
        if (run->broken || run->closed)
            return;
        if (cancel_is_wanted(run->session)) {
            mssql_run_close(run);
            return;
        }
        mssql_run_enter(run);
        rc = mssql_run_leave(run, SQLMoreResults(run->statement));
        if (rc == SQL_NO_DATA)
            return;
    }
}

static bool connection_is_dead(const struct mssql *session)
{
    SQLUINTEGER dead = SQL_CD_FALSE;
    SQLRETURN rc =
        SQLGetConnectAttrW(session->connection, SQL_ATTR_CONNECTION_DEAD, &dead, 0, NULL);
    return SQL_SUCCEEDED(rc) && dead == SQL_CD_TRUE;
}

/* Ends the request for mssql_cancel; true when it was called. */
static bool stop_running(struct mssql *session)
{
    lock_take(&session->lock);
    session->running = false;
    wait_wake_all(&session->changed);
    bool joins = session->has_canceller;
    bool cancelled = session->cancel_wanted;
    pthread_t canceller = session->canceller;
    session->has_canceller = false;
    session->statement = SQL_NULL_HSTMT;
    lock_drop(&session->lock);
    if (joins)
        (void)pthread_join(canceller, NULL);
    return cancelled;
}

int mssql_run_end(struct mssql_run *run, struct err *err)
{
    struct mssql *session = run->session;
    bool cancelled = stop_running(session);
    if ((cancelled || run->timed_out || run->closed) && connection_is_dead(session))
        run->broken = true;
    if (run->broken)
        atomic_store(&session->dead, true);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, run->statement);

    if (cancelled && !run->broken)
        return err_set(err, ERR_CANCELLED, 0, "the request was cancelled");
    if (run->first.code != ERR_NONE)
        return err_set(err, ERR_SQL, run->first.detail, "%s", run->first.msg);
    if (run->broken && run->timed_out)
        return err_set(err, ERR_UNREACHABLE, 0,
                       "SQL Server answered neither the query nor its cancel within %ld s each",
                       run->timeout_s);
    if (run->broken)
        return err_set(err, ERR_UNREACHABLE, 0, "the connection to SQL Server broke%s%s",
                       run->own.code ? ": " : "", run->own.msg);
    if (run->timed_out)
        return err_set(err, ERR_TIMEOUT, 0, "SQL Server did not answer within %ld s",
                       run->timeout_s);
    return 0;
}
