#include "client.h"

#include <glob.h>
#include <sql.h>
#include <sqlext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

struct client {
    SQLHENV env;
    SQLHDBC dbc;
    SQLHSTMT stmt;
    char *last;
};

static SQLWCHAR *wide(const char *text, SQLINTEGER *out_units)
{
    struct bytes b = {0};
    sim_bytes_utf16(&b, text);
    *out_units = (SQLINTEGER)(b.len / 2);
    sim_bytes_u16(&b, 0);
    return (SQLWCHAR *)(void *)b.data;
}

static char *narrow(const SQLWCHAR *text, size_t units)
{
    struct arena arena = {0};
    char *copy = sim_dup(sim_utf8_from_utf16(&arena, (const uint8_t *)text, units));
    sim_arena_fini(&arena);
    return copy;
}

static const char *driver_path(void)
{
    static char path[256];
    glob_t found;
    if (!path[0] && glob("/usr/lib/*/odbc/libtdsodbc.so", 0, NULL, &found) == 0) {
        (void)snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
        globfree(&found);
    }
    return path;
}

static void collect(SQLSMALLINT kind, SQLHANDLE handle, struct client_reply *r)
{
    SQLWCHAR state[6], text[2048];
    SQLINTEGER number = 0;
    SQLSMALLINT units = 0;

    for (SQLSMALLINT i = 1;; i++) {
        SQLRETURN rc = SQLGetDiagRecW(kind, handle, i, state, &number, text, 2048, &units);
        if (!SQL_SUCCEEDED(rc))
            return;
        r->messages =
            sim_realloc(r->messages, (size_t)(r->message_count + 1) * sizeof(*r->messages));
        struct client_message *m = &r->messages[r->message_count++];
        char *five = narrow(state, 5);
        *m = (struct client_message){.number = number, .result = r->steps};
        (void)snprintf(m->state, sizeof(m->state), "%s", five);
        m->text = narrow(text, units < 2047 ? (size_t)units : 2047);
        free(five);
    }
}

struct client *client_open(int port, const char *user, const char *password, const char *extra,
                           int *out_number)
{
    struct client *c = sim_alloc(sizeof(*c));
    struct client_reply r = {0};
    struct bytes text = {0};
    SQLINTEGER units = 0;

    sim_bytes_printf(
        &text,
        "DRIVER=%s;SERVER=127.0.0.1;PORT=%d;UID={%s};PWD={%s};TDS_Version=7.4;APP=sim test;%s",
        driver_path(), port, user, password, extra);
    (void)SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &c->env);
    (void)SQLSetEnvAttr(c->env, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
    (void)SQLAllocHandle(SQL_HANDLE_DBC, c->env, &c->dbc);
    (void)SQLSetConnectAttr(c->dbc, SQL_ATTR_LOGIN_TIMEOUT, (SQLPOINTER)10, 0);
    SQLWCHAR *w = wide(sim_bytes_str(&text), &units);
    SQLRETURN rc = SQLDriverConnectW(c->dbc, NULL, w, SQL_NTS, NULL, 0, NULL, SQL_DRIVER_NOPROMPT);
    free(w);
    sim_bytes_fini(&text);
    if (!SQL_SUCCEEDED(rc)) {
        collect(SQL_HANDLE_DBC, c->dbc, &r);
        *out_number = r.message_count ? r.messages[0].number : -1;
        for (int i = 0; i < r.message_count; i++)
            if (r.messages[i].number == 18456 || r.messages[i].number == 4060)
                *out_number = r.messages[i].number;
        client_reply_free(&r);
        client_close(c);
        return NULL;
    }
    *out_number = 0;
    (void)SQLAllocHandle(SQL_HANDLE_STMT, c->dbc, &c->stmt);
    return c;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    if (c->stmt)
        (void)SQLFreeHandle(SQL_HANDLE_STMT, c->stmt);
    (void)SQLDisconnect(c->dbc);
    (void)SQLFreeHandle(SQL_HANDLE_DBC, c->dbc);
    (void)SQLFreeHandle(SQL_HANDLE_ENV, c->env);
    free(c->last);
    free(c);
}

static void free_rows(struct client_reply *r)
{
    for (int i = 0; i < r->row_count; i++) {
        for (int c = 0; c < r->column_count; c++)
            free(r->rows[i][c]);
        free(r->rows[i]);
    }
    for (int c = 0; c < r->column_count; c++)
        free(r->columns[c]);
    free(r->columns);
    free(r->rows);
    r->rows = NULL;
    r->columns = NULL;
    r->row_count = r->column_count = 0;
}

static char *cell(struct client *c, SQLUSMALLINT column)
{
    static const size_t most = 8000;
    SQLWCHAR *text = sim_alloc((most + 1) * sizeof(*text));
    SQLLEN len = 0;
    char *copy = NULL;
    SQLRETURN rc =
        SQLGetData(c->stmt, column, SQL_C_WCHAR, text, (SQLLEN)((most + 1) * sizeof(*text)), &len);
    if (SQL_SUCCEEDED(rc) && len != SQL_NULL_DATA)
        copy = narrow(text, len < 0 || (size_t)len / 2 > most ? most : (size_t)len / 2);
    free(text);
    return copy;
}

static void fetch(struct client *c, struct client_reply *r)
{
    SQLSMALLINT columns = 0;
    SQLWCHAR name[256];
    SQLSMALLINT units = 0;

    (void)SQLNumResultCols(c->stmt, &columns);
    if (columns <= 0)
        return;
    free_rows(r);
    r->sets++;
    r->column_count = columns;
    r->columns = sim_alloc((size_t)columns * sizeof(char *));
    for (SQLUSMALLINT i = 0; i < columns; i++) {
        (void)SQLDescribeColW(c->stmt, i + 1, name, 256, &units, NULL, NULL, NULL, NULL);
        r->columns[i] = narrow(name, (size_t)units);
    }
    SQLRETURN rc = SQL_SUCCESS;
    while (SQL_SUCCEEDED(rc = SQLFetch(c->stmt))) {
        r->rows = sim_realloc(r->rows, (size_t)(r->row_count + 1) * sizeof(char **));
        r->rows[r->row_count] = sim_alloc((size_t)columns * sizeof(char *));
        for (SQLUSMALLINT i = 0; i < columns; i++)
            r->rows[r->row_count][i] = cell(c, i + 1);
        r->row_count++;
    }
    if (rc == SQL_ERROR) {
        r->failed = true;
        collect(SQL_HANDLE_STMT, c->stmt, r);
    }
}

static void drain(struct client *c, SQLRETURN rc, struct client_reply *r)
{
    for (;;) {
        if (rc == SQL_ERROR || rc == SQL_INVALID_HANDLE)
            r->failed = true;
        if (rc != SQL_NO_DATA || r->steps == 0)
            collect(SQL_HANDLE_STMT, c->stmt, r);
        if (SQL_SUCCEEDED(rc))
            fetch(c, r);
        if (rc == SQL_INVALID_HANDLE || (rc == SQL_NO_DATA && r->steps > 0))
            break;
        r->steps++;
        rc = SQLMoreResults(c->stmt);
        if (rc == SQL_ERROR && r->steps > 2000)
            break;
    }
    (void)SQLFreeStmt(c->stmt, SQL_CLOSE);
    (void)SQLFreeStmt(c->stmt, SQL_RESET_PARAMS);
}

void client_run(struct client *c, const char *sql, struct client_reply *r)
{
    SQLINTEGER units = 0;
    SQLWCHAR *text = wide(sql, &units);

    *r = (struct client_reply){0};
    drain(c, SQLExecDirectW(c->stmt, text, units), r);
    free(text);
}

void client_run_with(struct client *c, const char *sql, const char *const *parameters, int count,
                     struct client_reply *r)
{
    SQLINTEGER units = 0;
    SQLWCHAR *text = wide(sql, &units), *values[8] = {NULL};
    SQLLEN lengths[8] = {0};

    *r = (struct client_reply){0};
    for (int i = 0; i < count && i < 8; i++) {
        SQLINTEGER n = 0;
        values[i] = wide(parameters[i] ? parameters[i] : "", &n);
        lengths[i] = parameters[i] ? n * 2 : SQL_NULL_DATA;
        (void)SQLBindParameter(c->stmt, (SQLUSMALLINT)(i + 1), SQL_PARAM_INPUT, SQL_C_WCHAR,
                               SQL_WVARCHAR, n ? (SQLULEN)n : 1, 0, values[i], n * 2, &lengths[i]);
    }
    drain(c, SQLExecDirectW(c->stmt, text, units), r);
    for (int i = 0; i < 8; i++)
        free(values[i]);
    free(text);
}

void client_prepare_twice(struct client *c, const char *sql, const char *parameter,
                          struct client_reply *r)
{
    SQLINTEGER units = 0, n = 0;
    SQLWCHAR *text = wide(sql, &units), *value = wide(parameter, &n);
    SQLLEN length = n * 2;

    *r = (struct client_reply){0};
    (void)SQLPrepareW(c->stmt, text, units);
    for (int i = 0; i < 2; i++) {
        (void)SQLBindParameter(c->stmt, 1, SQL_PARAM_INPUT, SQL_C_WCHAR, SQL_WVARCHAR,
                               n ? (SQLULEN)n : 1, 0, value, n * 2, &length);
        r->steps = 0;
        drain(c, SQLExecute(c->stmt), r);
    }
    free(value);
    free(text);
}

void client_cancel(struct client *c)
{
    (void)SQLCancel(c->stmt);
}

void client_reply_free(struct client_reply *r)
{
    free_rows(r);
    for (int i = 0; i < r->message_count; i++)
        free(r->messages[i].text);
    free(r->messages);
    *r = (struct client_reply){0};
}

const struct client_message *client_find(const struct client_reply *r, int number)
{
    for (int i = 0; i < r->message_count; i++)
        if (r->messages[i].number == number)
            return &r->messages[i];
    return NULL;
}

const char *client_text(struct client *c, const char *sql)
{
    struct client_reply r = {0};
    client_run(c, sql, &r);
    const char *value = r.row_count ? (r.rows[0][0] ? r.rows[0][0] : "(null)") : "";
    if (r.message_count && r.failed)
        value = r.messages[0].text;
    sim_replace(&c->last, value);
    client_reply_free(&r);
    return c->last;
}
