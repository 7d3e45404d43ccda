/* A batch runs in a thread of its own: after a cancel the driver waits for the server's answer
 * without end, and no call of another thread gets it out of there. Who sent the batch waits for
 * that thread, but only so long after a cancel:
 *
 *   sender  mssql_execute ─┬─ done: joins, takes the result
 *                          └─ abandons: the session is dead ── mssql_close leaves it to the thread
 *   thread  ODBC, messages ─── done ──────────────────────┬─ not abandoned: the sender frees all
 *           (it comes back when the connection ends:      └─ abandoned: frees what was left to it
 *            dropped here, where its socket is known)
 */
#include "server/clock.h"
#include "server/mem.h"
#include "server/mssql_inner.h"
#include "server/utf16.h"

#include <stdlib.h>
#include <string.h>

struct batch {
    struct mssql *session;
    uint16_t *text;
    mssql_on_message *on_message; /* the sender's, or NULL: not called once it has gone */
    void *ctx;
    /* guarded by session->lock */
    bool done;
    bool abandoned;
    bool telling; /* on_message is being called: it is not abandoned now */
    /* the thread's until done */
    int rc;
    struct err err;
};

static void batch_free(struct batch *batch)
{
    free(batch->text);
    free(batch);
}

/* Without the lock, which whoever cancels needs: what is told may have to wait for just him. */
static void pass_on(void *ctx, const struct mssql_message *message)
{
    struct batch *batch = ctx;
    struct mssql *session = batch->session;
    lock_take(&session->lock);
    bool tells = !batch->abandoned && batch->on_message;
    batch->telling = tells;
    lock_drop(&session->lock);
    if (!tells)
        return;
    batch->on_message(batch->ctx, message);
    lock_take(&session->lock);
    batch->telling = false;
    wait_wake_all(&session->changed);
    lock_drop(&session->lock);
}

static void finish(struct batch *batch)
{
    struct mssql *session = batch->session;
    lock_take(&session->lock);
    batch->done = true;
    bool abandoned = batch->abandoned;
    bool frees_session = abandoned && session->closed;
    if (abandoned)
        session->abandoned = false;
    wait_wake_all(&session->changed);
    lock_drop(&session->lock); /* the sender may free everything from here on */
    if (frees_session)
        mssql_free(session);
    if (abandoned)
        batch_free(batch);
}

static void *run_batch(void *argument)
{
    struct batch *batch = argument;
    struct mssql_run run;
    (void)pthread_setname_np(pthread_self(), "mssql-batch"); /* only for people who look */
    batch->rc = mssql_run_begin(&run, batch->session, batch->session->batch_s, &batch->err);
    if (batch->rc == 0) {
        run.on_message = pass_on;
        run.ctx = batch;
        mssql_run_enter(&run);
        SQLRETURN rc = mssql_run_leave(&run, SQLExecDirectW(run.statement, batch->text, SQL_NTS));
        mssql_run_drain(&run, rc, NULL, NULL);
        batch->rc = mssql_run_end(&run, &batch->err);
    }
    finish(batch);
    return NULL;
}

/* False when a cancel stayed unanswered, or its answer unread: the batch is abandoned then. */
static bool await(struct batch *batch, bool *out_answered)
{
    struct mssql *session = batch->session;
    lock_take(&session->lock);
    while (!batch->done && !batch->abandoned) {
        if (!session->cancel_wanted)
            wait_on(&session->changed, &session->lock);
        else if (clock_mono_ns() < session->give_up_at_ns)
            wait_until(&session->changed, &session->lock, session->give_up_at_ns);
        else if (batch->telling) /* what it is told to is the sender's */
            wait_on(&session->changed, &session->lock);
        else
            batch->abandoned = true;
    }
    bool done = batch->done;
    session->abandoned = !done;
    if (!done) {
        session->gave_up = true;
        atomic_store(&session->dead, true);
        *out_answered = session->unread_looks > 0;
        mssql_socket_drop(session->socket, session->port);
    }
    lock_drop(&session->lock);
    return done;
}

static int fail_given_up(const struct mssql *session, bool answered, struct err *err)
{
    if (answered)
        return err_set(err, ERR_UNREACHABLE, 0,
                       "the ODBC driver does not take SQL Server's answer to the cancel");
    return err_set(err, ERR_UNREACHABLE, 0,
                   "SQL Server did not answer within %d s that the batch be cancelled",
                   session->cancel_s);
}

int mssql_execute(struct mssql *session, const char *text, mssql_on_message *on_message, void *ctx,
                  struct err *err)
{
    pthread_t thread;
    uint16_t *units = utf16_from_text(text, NULL);
    if (!units)
        return err_set(err, ERR_INPUT, 0, "the statement is not valid UTF-8");
    struct batch *batch = mem_alloc(1, sizeof *batch);
    *batch =
        (struct batch){.session = session, .text = units, .on_message = on_message, .ctx = ctx};
    lock_take(&session->lock);
    session->cancel_wanted = false; /* of the request before */
    session->unread_looks = 0;
    lock_drop(&session->lock);
    int failed = mssql_start_thread(&thread, run_batch, batch);
    if (failed) {
        batch_free(batch);
        return err_set(err, ERR_SYSTEM, failed, "start a thread for a batch: %s",
                       strerrordesc_np(failed));
    }
    bool answered = false;
    if (!await(batch, &answered)) {
        (void)pthread_detach(thread);
        return fail_given_up(session, answered, err);
    }
    (void)pthread_join(thread, NULL);
    int rc = batch->rc;
    if (rc < 0 && batch->err.code == ERR_UNREACHABLE && mssql_gave_up(session))
        rc = fail_given_up(session, false, err);
    else if (rc < 0 && err)
        *err = batch->err;
    batch_free(batch);
    return rc;
}
