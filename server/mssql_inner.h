#pragma once
/* What the files of the mssql module share; nobody else includes this. A session runs one request
 * at a time:
 *
 *   mssql_run_begin ── mssql_run_enter, an ODBC call, mssql_run_leave (reads the messages) ──┐
 *                            └─────────────── until the last result ─────────────────────────┤
 *   mssql_run_end (joins a canceller, frees the statement, decides what the request came to) ┘
 *
 * A batch's calls run in a thread of their own (mssql_batch.c). SQLCancel is called by a thread of
 * its own, started by mssql_cancel and joined by the session's thread: the driver may answer it
 * only when the server does, and that wait must not be the caller's. */
#include "server/lock.h"
#include "server/mssql.h"

#include <pthread.h>
#include <sql.h>
#include <sqlext.h>
#include <sqlucode.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Two ODBC drivers are known; they differ in words and in little habits. */
struct mssql_family {
    const char *mark;             /* in the driver's path or name, without case */
    const char *server_before;    /* keyword before the host */
    const char *port_before;      /* between host and port */
    const char *encryption[3];    /* off, request, require (without a certificate check) */
    const char *encryption_check; /* require with a check; NULL: our freetds.conf says it */
    const char *further;          /* constant keywords */
    bool doubles_braces;          /* a } in a value is written }} */
    SQLSMALLINT severity_field;   /* for SQLGetDiagField */
    int own_first, own_last;      /* native numbers of the driver's own errors, ... */
    int own_severity;             /* ... which have at most this severity */
};

/* Disconnects and frees; nobody uses the session any more. */
void mssql_free(struct mssql *session);

/* Finds out which socket a login opens: begin before it, end after it. */
struct mssql_login {
    int port;
    bool alone;
    uint64_t turn;
    int *before;
    size_t count;
};
void mssql_login_begin(struct mssql_login *login, int port);
int mssql_login_end(struct mssql_login *login); /* -1: not known */

/* Ends the connection, from any thread, when fd still leads to this port. */
void mssql_socket_drop(int fd, int port);

/* Bytes of a connection's input. */
struct mssql_input {
    uint64_t received; /* ever */
    int unread;        /* of these: not yet taken by the driver */
};

/* From any thread; false when fd (-1: not known) does not lead to this port. */
bool mssql_socket_input(int fd, int port, struct mssql_input *out);

/* Starts a thread that no signal of the process reaches; 0 or an errno. */
MUST_CHECK int mssql_start_thread(pthread_t *out_thread, void *(*run)(void *), void *argument);

/* The one ODBC environment, from mssql_init to mssql_fini. */
SQLHENV mssql_environment(void);

/* The family of a driver by its path or name; FreeTDS when neither fits. */
const struct mssql_family *mssql_family_of(const char *driver);

struct mssql {
    SQLHDBC connection;
    const struct mssql_family *family;
    atomic_bool dead;
    int query_s;  /* silence after which a query is given up */
    int stream_s; /* the same for mssql_stream */
    int batch_s;  /* the same for batches; 0: they take their time */
    int cancel_s; /* a batch is abandoned so long after its cancel */
    int socket;   /* below the connection; -1: not known. The driver's own */
    int port;

    struct lock lock;      /* guards all below */
    struct wait changed;   /* running, in_call or cancel_wanted changed, or a batch is done */
    SQLHSTMT statement;    /* of the running request */
    bool running;          /* a request has begun and not ended */
    bool in_call;          /* the session's thread is inside ODBC; SQLCancel is only then allowed */
    bool cancel_wanted;    /* mssql_cancel was called during this request */
    int64_t cancelled_ns;  /* when; of the monotonic clock */
    bool has_canceller;    /* canceller is to be joined */
    int64_t cancel_at_ns;  /* not before this moment of the monotonic clock */
    int unread_looks;      /* how often in a row the canceller saw input that nobody reads */
    int64_t give_up_at_ns; /* when the cancel counts as unanswered */
    bool abandoned;        /* the thread of an abandoned batch uses the session */
    bool gave_up;          /* a cancel stayed unanswered: what it was for may still run there */
    bool closed;           /* by its owner: that thread frees it */
    pthread_t canceller;
};

/* One record of what ODBC has to say. */
struct mssql_record {
    char state[6]; /* SQLSTATE */
    bool own;      /* the driver's or the driver manager's, not the server's */
    int number;    /* the server's, or the driver's own */
    int severity;  /* 0 for information; 16 for the driver's own errors */
    const char *text;
};

typedef void mssql_on_record(void *ctx, const struct mssql_record *record);

/* Reads every record of a handle, in its order. */
void mssql_records(SQLSMALLINT type, SQLHANDLE handle, const struct mssql_family *family,
                   mssql_on_record *on_record, void *ctx);

/* A request under way; lives on the stack of the session's thread. */
struct mssql_run {
    struct mssql *session;
    SQLHSTMT statement;
    mssql_on_message *on_message; /* or NULL */
    void *ctx;
    long timeout_s;      /* silence after which it is given up; 0: never */
    struct err first;    /* the server's first error; ERR_NONE when there is none */
    struct err own;      /* the driver's first error */
    bool timed_out;      /* our query time-out struck */
    bool broken;         /* the connection is gone */
    bool closed;         /* its further results were given up */
    bool server_error;   /* in the last call the server reported an error */
    bool expected_error; /* in the last call the driver reported our cancel or time-out */
};

/* 0, or -1 when the session is dead. timeout_s 0: none. */
MUST_CHECK int mssql_run_begin(struct mssql_run *run, struct mssql *session, long timeout_s,
                               struct err *err);
void mssql_run_enter(struct mssql_run *run);
/* Returns rc; the messages of the call have been read and passed on. */
SQLRETURN mssql_run_leave(struct mssql_run *run, SQLRETURN rc);
/* 0 when the request went well; what names it in an error. */
MUST_CHECK int mssql_run_end(struct mssql_run *run, struct err *err);

/* Called for each result set that has columns; fetches all its rows. */
typedef void mssql_on_result(void *ctx, struct mssql_run *run, SQLSMALLINT columns);

/* Takes every result after the first call gave rc; on_result NULL throws the rows away. */
void mssql_run_drain(struct mssql_run *run, SQLRETURN rc, mssql_on_result *on_result, void *ctx);

/* Fetches the next row; false when there is none, or a cancel has been wanted for a while: then the
 * further results are given up. */
bool mssql_run_fetch(struct mssql_run *run);

/* Fetches the rest of the current result set and throws it away. */
void mssql_run_skip_rows(struct mssql_run *run);

/* Gives all further results up: the server is asked to stop. */
void mssql_run_close(struct mssql_run *run);
