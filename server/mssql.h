#pragma once
/* A session with SQL Server over ODBC (FreeTDS's driver by default), through wide functions only:
 * UTF-8 in the daemon, UTF-16 at this border. Messages are keyed by number, never by words.
 * Autocommit always; every result is drained to its end. One session, one user at a time; only
 * mssql_cancel may come from another thread. (facts: FreeTDS 1.3.17 as measured) */
#include "server/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mssql_target { /* all texts borrowed during mssql_open */
    const char *host;
    int port;
    const char *login;
    const char *password;
    const char *encryption; /* require, request, off */
    const char *ca_file;    /* a PEM file, "system", or NULL: the server is not authenticated */
    bool verify_host;
    const char *database; /* NULL: master */
    const char *app_name; /* shown as program_name in sys.dm_exec_sessions */
    const char *driver;   /* path or name of the ODBC driver */
};

struct mssql_message {
    int number;       /* SQL Server's message number; 0 for PRINT and the driver's own */
    int severity;     /* 0 for information, 11..25 for errors; 16 for the driver's own errors */
    const char *text; /* UTF-8, valid during the call */
};

/* Called for each message, result by result as they arrive, by a thread of the session while its
 * user waits in mssql_execute; it must be quick and not use the session. It may be cancelled
 * meanwhile (by itself, too), but is not given up before it returns. Inside one result the driver
 * puts errors first and after a cancel even turns their order: search, do not count on places. */
typedef void mssql_on_message(void *ctx, const struct mssql_message *message);

struct mssql; /* a session */

/* Sets up the ODBC environment once, before threads; conf_dir is a folder of ours where the
 * driver's configuration for certificate checks is written (mode 0600). */
MUST_CHECK int mssql_init(const char *conf_dir, struct err *err);
void mssql_fini(void);

/* The path of FreeTDS's driver beside the driver manager, else "FreeTDS", the name it has in
 * odbcinst.ini: the default of the setting. */
const char *mssql_default_driver(void);

/* Whether a target's ca_file can be used, as far as it can be known without a server ("system"
 * always can): ERR_INPUT when it cannot be passed to the driver, ERR_SYSTEM with errno when it is
 * no file that can be read now. */
MUST_CHECK int mssql_check_ca_file(const char *ca_file, struct err *err);

/* Logs in. ERR_UNREACHABLE: network, TLS or time-out (LIMIT_LOGIN_S); ERR_SQL with the server's
 * number (18456, 4060, …) when the server refused; ERR_INPUT for what cannot be passed to the
 * driver (ca_file without encryption "require", a value with } before ; or =); ERR_SYSTEM when the
 * driver or the ca_file cannot be read. The password is in no message. */
MUST_CHECK int mssql_open(const struct mssql_target *target, struct mssql **out_session,
                          struct err *err);
void mssql_close(struct mssql *session);

/* Runs one plain batch without time-out and drains it (an error in its first statement hides the
 * others: put one statement into a batch when that matters); on_message (may be NULL) sees each
 * message as it arrives, errors too. 0: every result came and no error of severity > 10 was seen.
 * -1: ERR_SQL with the number of the first error (in the server's order; the cause comes before
 * 3013), ERR_CANCELLED when mssql_cancel was called meanwhile (the batch may nevertheless have had
 * its effect, if it was at its end), ERR_UNREACHABLE when the connection broke without an error of
 * the server before it, or when a cancel stayed unanswered for LIMIT_CANCEL_S (the session is dead
 * then; in the second case its connection is dropped, and the batch may still run on the server
 * until that notices). ERR_SYSTEM: no thread. */
MUST_CHECK int mssql_execute(struct mssql *session, const char *batch, mssql_on_message *on_message,
                             void *ctx, struct err *err);

/* One bound value of a query: text (nvarchar) when text is not NULL, else number (bigint). */
struct mssql_value {
    const char *text;
    int64_t number;
};

/* All rows of the first result set, as UTF-8 text; binary as hexadecimal digits, dates as
 * "2024-05-06 07:08:09.1234567". */
struct mssql_rows;

/* Runs one query with values bound to its ? marks, gives up after LIMIT_QUERY_S of silence
 * (ERR_TIMEOUT; the session stays usable). Errors as above. out_rows may be NULL when no rows
 * are wanted. At most 100,000 rows are kept; more is ERR_REFUSED. */
MUST_CHECK int mssql_query(struct mssql *session, const char *sql, const struct mssql_value *values,
                           size_t value_count, struct mssql_rows **out_rows, struct err *err);
size_t mssql_row_count(const struct mssql_rows *rows);
size_t mssql_column_count(const struct mssql_rows *rows);
/* NULL for NULL or when there is no such row or column (a server may lack one). */
const char *mssql_text(const struct mssql_rows *rows, size_t row, size_t column);
/* `missing` for NULL or when it is no number; what stands behind a decimal point is cut off. */
int64_t mssql_int(const struct mssql_rows *rows, size_t row, size_t column, int64_t missing);
double mssql_real(const struct mssql_rows *rows, size_t row, size_t column); /* NaN */
void mssql_rows_free(struct mssql_rows *rows);

/* Called for each row of the first result set, in the session's thread; rows holds this one row
 * (index 0) and lives during the call. -1 (err filled) ends the query. */
typedef int mssql_on_row(void *ctx, const struct mssql_rows *rows, struct err *err);

/* As mssql_query for results of any length, in bounded memory. */
MUST_CHECK int mssql_stream(struct mssql *session, const char *sql,
                            const struct mssql_value *values, size_t value_count,
                            mssql_on_row *on_row, void *ctx, struct err *err);

/* From any thread: asks the server to stop the batch that runs now (attention); a batch that
 * starts within the call is stopped too. Returns at once, also when the server does not answer;
 * whether it did is told by the batch. Harmless when nothing runs. The caller keeps the session
 * from being closed meanwhile. */
void mssql_cancel(struct mssql *session);

/* From now on batches are cancelled after so many seconds in which the server says nothing
 * (ERR_TIMEOUT); 0, as at first: never. Not while one runs. */
void mssql_set_batch_seconds(struct mssql *session, int seconds);

/* For tests, which cannot wait: gives queries up after this much silence, and batches when their
 * cancel stays unanswered for so long. */
void mssql_set_query_seconds(struct mssql *session, int seconds);

/* True when a cancel stayed unanswered: what it was for may still run on the server, until that
 * notices that its connection was dropped. */
bool mssql_gave_up(struct mssql *session);

/* True when the session must be closed and opened anew. */
bool mssql_is_dead(const struct mssql *session);
