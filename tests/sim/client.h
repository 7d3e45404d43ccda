/* client.h: for tests: a small ODBC client that talks to the simulator through FreeTDS.
 * One thread per client, but client_cancel may come from another one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct client;

struct client_message {
    int number;
    int result; /* after how many results it came */
    char state[6];
    char *text;
};

struct client_reply {
    struct client_message *messages;
    int message_count;
    char ***rows; /* of the last result set with columns; NULL cells are NULL */
    char **columns;
    int row_count, column_count;
    int sets;    /* result sets with columns */
    int steps;   /* answers of SQLMoreResults */
    bool failed; /* some call said SQL_ERROR */
};

/* extra: more keywords for the connection string, "" for none. NULL when it cannot connect;
 * *out_number then has the last native error. */
struct client *client_open(int port, const char *user, const char *password, const char *extra,
                           int *out_number);
void client_close(struct client *client);
/* Runs a batch and drains it. The reply is freed by client_reply_free. */
void client_run(struct client *c, const char *sql, struct client_reply *r);
/* The same with text parameters for its question marks (an RPC). */
void client_run_with(struct client *c, const char *sql, const char *const *parameters, int count,
                     struct client_reply *r);
/* SQLPrepare and SQLExecute, twice. */
void client_prepare_twice(struct client *c, const char *sql, const char *parameter,
                          struct client_reply *r);
void client_cancel(struct client *client);
void client_reply_free(struct client_reply *reply);
/* The first message with the number, NULL if there is none. */
const struct client_message *client_find(const struct client_reply *reply, int number);
/* One cell of one row as text; "" when there is no row, "(null)" for null. The caller's until the
 * next call. */
const char *client_text(struct client *client, const char *sql);
