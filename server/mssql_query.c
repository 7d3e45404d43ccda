/* Short queries: values in, rows out, all as text. */
#include "server/buf.h"
#include "server/limits.h"
#include "server/mem.h"
#include "server/mssql_inner.h"
#include "server/utf16.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 100000     /* what is kept of an answer; more is a wrong question */
#define TEXT_MAX (64 << 20) /* bytes of all its texts */
/* How much of a long text is fetched at once: odd, for a piece of binary ends after a whole byte,
 * two units, and before the terminator. */
#define PIECE_UNITS 4097
#define PARAMETER_UNITS 4000 /* declared as nvarchar(4000): one plan for all lengths */
#define NO_TEXT ((size_t)-1) /* NULL */
#define VALUES_MAX 2000      /* SQL Server takes 2100 parameters */
#define ROW_MAX (1 << 20)    /* bytes of all texts of one streamed row */

struct mssql_rows {
    struct buf text;  /* all texts, each with its NUL */
    size_t *offsets;  /* of each cell in text, row by row; NO_TEXT for NULL */
    size_t capacity;  /* of offsets */
    size_t row_count; /* whole rows */
    size_t column_count;
    bool too_much; /* rows or text beyond the limits were thrown away */
    bool taken;    /* the first result set has been seen */
};

/* --- values in ------------------------------------------------------------------------------- */

struct parameter { /* must stay in place until the request was executed */
    uint16_t *text;
    SQLLEN length; /* in bytes */
    SQLBIGINT number;
};

static int bind_text(struct mssql_run *run, SQLUSMALLINT index, const char *text,
                     struct parameter *parameter, struct err *err)
{
    size_t units = 0;
    parameter->text = utf16_from_text(text, &units);
    if (!parameter->text)
        return err_set(err, ERR_INPUT, 0, "value %d is not valid UTF-8", index);
    parameter->length = (SQLLEN)(units * sizeof *parameter->text);
    bool is_long = units > PARAMETER_UNITS; /* sent as nvarchar(max); WVARCHAR would be cut */
    SQLRETURN rc = SQLBindParameter(run->statement, index, SQL_PARAM_INPUT, SQL_C_WCHAR,
                                    is_long ? SQL_WLONGVARCHAR : SQL_WVARCHAR,
                                    is_long ? units : PARAMETER_UNITS, 0, parameter->text,
                                    parameter->length, &parameter->length);
    return SQL_SUCCEEDED(rc) ? 0 : err_set(err, ERR_SYSTEM, 0, "value %d was not bound", index);
}

static int bind_number(struct mssql_run *run, SQLUSMALLINT index, int64_t number,
                       struct parameter *parameter, struct err *err)
{
    parameter->number = number;
    SQLRETURN rc = SQLBindParameter(run->statement, index, SQL_PARAM_INPUT, SQL_C_SBIGINT,
                                    SQL_BIGINT, 0, 0, &parameter->number, 0, &parameter->length);
    return SQL_SUCCEEDED(rc) ? 0 : err_set(err, ERR_SYSTEM, 0, "value %d was not bound", index);
}

static int bind_values(struct mssql_run *run, const struct mssql_value *values, size_t count,
                       struct parameter *parameters, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        SQLUSMALLINT index = (SQLUSMALLINT)(i + 1);
        int rc = values[i].text ? bind_text(run, index, values[i].text, &parameters[i], err)
                                : bind_number(run, index, values[i].number, &parameters[i], err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* --- rows out -------------------------------------------------------------------------------- */

/* One value, piece by piece. Units are gathered first: a pair of surrogates may be cut in two. */
static bool fetch_units(struct mssql_run *run, SQLUSMALLINT column, struct buf *units)
{
    SQLWCHAR piece[PIECE_UNITS];
    for (;;) {
        SQLLEN length = 0;
        SQLRETURN rc =
            SQLGetData(run->statement, column, SQL_C_WCHAR, piece, sizeof piece, &length);
        if (rc == SQL_NO_DATA)
            return true;
        if (!SQL_SUCCEEDED(rc)) {
            (void)mssql_run_leave(run, rc);
            return true;
        }
        if (length == SQL_NULL_DATA)
            return false;
        size_t most = sizeof piece - sizeof piece[0]; /* the last unit is the terminator */
        bool all = length >= 0 && (size_t)length <= most;
        buf_add_bytes(units, piece, all ? (size_t)length : most);
        if (all && rc == SQL_SUCCESS)
            return true;
    }
}

static void keep_cell(struct mssql_rows *rows, struct mssql_run *run, SQLUSMALLINT column,
                      struct buf *units)
{
    size_t cell = rows->row_count * rows->column_count + column - 1u;
    buf_clear(units);
    bool present = fetch_units(run, column, units);
    rows->offsets = mem_grow(rows->offsets, &rows->capacity, cell + 1, sizeof *rows->offsets);
    rows->offsets[cell] = present ? rows->text.length : NO_TEXT;
    if (!present)
        return;
    /* the buffer's memory comes from malloc and is aligned for any type */
    utf16_append_to(&rows->text, (const uint16_t *)(const void *)buf_text(units),
                    units->length / sizeof(uint16_t));
    buf_add_char(&rows->text, '\0');
    if (!buf_ok(units) || !buf_ok(&rows->text))
        rows->too_much = true;
}

static void keep_rows(struct mssql_rows *rows, struct mssql_run *run, SQLSMALLINT columns)
{
    struct buf units = BUF_WITH_MAX(TEXT_MAX);
    rows->column_count = (size_t)columns;
    while (!rows->too_much && mssql_run_fetch(run)) {
        if (rows->row_count == ROWS_MAX) {
            rows->too_much = true;
            break;
        }
        for (SQLSMALLINT column = 1; column <= columns; column++)
            keep_cell(rows, run, (SQLUSMALLINT)column, &units);
        rows->row_count++;
    }
    if (rows->too_much)
        mssql_run_skip_rows(run);
    buf_fini(&units);
}

static void take_result(void *ctx, struct mssql_run *run, SQLSMALLINT columns)
{
    struct mssql_rows *rows = ctx;
    if (rows->taken) {
        mssql_run_skip_rows(run);
        return;
    }
    rows->taken = true;
    keep_rows(rows, run, columns);
}

/* --- the query ------------------------------------------------------------------------------- */

/* A query, what takes its results (NULL: they are thrown away), and with what. */
struct question {
    const char *sql;
    const struct mssql_value *values;
    size_t value_count;
    mssql_on_result *on_result;
    void *ctx;
};

static int run_query(struct mssql_run *run, uint16_t *text, const struct question *question,
                     struct err *err)
{
    size_t value_count = question->value_count;
    struct parameter *parameters = mem_alloc(value_count, sizeof *parameters);
    int rc = bind_values(run, question->values, value_count, parameters, err);
    if (rc == 0) {
        mssql_run_enter(run);
        SQLRETURN result = mssql_run_leave(run, SQLExecDirectW(run->statement, text, SQL_NTS));
        mssql_run_drain(run, result, question->on_result, question->ctx);
        rc = mssql_run_end(run, err);
    } else {
        struct err ignored; /* nothing was sent; the binding's failure is the one to report */
        int ended = mssql_run_end(run, &ignored);
        (void)ended;
    }
    for (size_t i = 0; i < value_count; i++)
        free(parameters[i].text);
    free(parameters);
    return rc;
}

static int ask(struct mssql *session, const struct question *question, int timeout_s,
               struct err *err)
{
    struct mssql_run run;
    if (question->value_count > VALUES_MAX)
        return err_set(err, ERR_INPUT, 0, "more than %d values", VALUES_MAX);
    uint16_t *text = utf16_from_text(question->sql, NULL);
    if (!text)
        return err_set(err, ERR_INPUT, 0, "the query is not valid UTF-8");
    int rc = mssql_run_begin(&run, session, timeout_s, err);
    if (rc == 0)
        rc = run_query(&run, text, question, err);
    free(text);
    return rc;
}

int mssql_query(struct mssql *session, const char *sql, const struct mssql_value *values,
                size_t value_count, struct mssql_rows **out_rows, struct err *err)
{
    struct mssql_rows *rows = NULL;
    struct question question = {.sql = sql, .values = values, .value_count = value_count};
    if (out_rows) {
        rows = mem_alloc(1, sizeof *rows);
        rows->text.max = TEXT_MAX;
        question.on_result = take_result;
        question.ctx = rows;
    }
    int rc = ask(session, &question, session->query_s, err);
    if (rc == 0 && rows && rows->too_much)
        rc = err_set(err, ERR_REFUSED, 0, "the answer has more than %d rows or %d MiB", ROWS_MAX,
                     TEXT_MAX >> 20);
    if (rc == 0 && out_rows) {
        *out_rows = rows;
        rows = NULL;
    }
    mssql_rows_free(rows);
    return rc;
}

/* --- streamed -------------------------------------------------------------------------------- */

struct stream {
    struct mssql_rows row; /* the one row that is there */
    mssql_on_row *on_row;
    void *ctx;
    bool ended; /* by on_row or a row that is too long, as err says */
    struct err err;
};

/* Fetches one row into stream->row; false when there is none. */
static bool fetch_row(struct stream *stream, struct mssql_run *run, struct buf *units)
{
    struct mssql_rows *row = &stream->row;
    if (!mssql_run_fetch(run))
        return false;
    buf_clear(&row->text);
    row->row_count = 0; /* where keep_cell puts what it reads */
    for (size_t column = 1; column <= row->column_count; column++)
        keep_cell(row, run, (SQLUSMALLINT)column, units);
    row->row_count = 1;
    return true;
}

static void stream_result(void *ctx, struct mssql_run *run, SQLSMALLINT columns)
{
    struct stream *stream = ctx;
    struct buf units = BUF_WITH_MAX(ROW_MAX);
    if (stream->row.taken) {
        mssql_run_skip_rows(run);
        return;
    }
    stream->row.taken = true;
    stream->row.column_count = (size_t)columns;
    while (!stream->ended && fetch_row(stream, run, &units)) {
        if (stream->row.too_much)
            (void)err_set(&stream->err, ERR_REFUSED, 0, "a row has more than %d bytes", ROW_MAX);
        else if (stream->on_row(stream->ctx, &stream->row, &stream->err) == 0)
            continue;
        stream->ended = true;
    }
    if (stream->ended)
        mssql_run_close(run); /* the server need not send the rest */
    buf_fini(&units);
}

int mssql_stream(struct mssql *session, const char *sql, const struct mssql_value *values,
                 size_t value_count, mssql_on_row *on_row, void *ctx, struct err *err)
{
    struct stream stream = {.row = {.text = BUF_WITH_MAX(ROW_MAX)}, .on_row = on_row, .ctx = ctx};
    struct question question = {.sql = sql,
                                .values = values,
                                .value_count = value_count,
                                .on_result = stream_result,
                                .ctx = &stream};
    int rc = ask(session, &question, session->stream_s, err);
    if (stream.ended) { /* what giving the rest up came to is of no interest */
        rc = -1;
        if (err)
            *err = stream.err;
    }
    buf_fini(&stream.row.text);
    free(stream.row.offsets);
    return rc;
}

size_t mssql_row_count(const struct mssql_rows *rows)
{
    return rows->row_count;
}

size_t mssql_column_count(const struct mssql_rows *rows)
{
    return rows->column_count;
}

const char *mssql_text(const struct mssql_rows *rows, size_t row, size_t column)
{
    if (row >= rows->row_count || column >= rows->column_count)
        return NULL;
    size_t offset = rows->offsets[row * rows->column_count + column];
    return offset == NO_TEXT ? NULL : buf_text(&rows->text) + offset;
}

int64_t mssql_int(const struct mssql_rows *rows, size_t row, size_t column, int64_t missing)
{
    const char *text = mssql_text(rows, row, column);
    if (!text || *text == '\0')
        return missing;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || errno != 0)
        return missing;
    if (*end == '.') /* numeric(20,2): what stands before the point counts */
        end += 1 + strspn(end + 1, "0123456789");
    return *end == '\0' ? value : missing;
}

double mssql_real(const struct mssql_rows *rows, size_t row, size_t column)
{
    const char *text = mssql_text(rows, row, column);
    if (!text || *text == '\0')
        return NAN;
    char *end;
    double value = strtod(text, &end);
    return *end == '\0' ? value : NAN;
}

void mssql_rows_free(struct mssql_rows *rows)
{
    if (!rows)
        return;
    buf_fini(&rows->text);
    free(rows->offsets);
    free(rows);
}
