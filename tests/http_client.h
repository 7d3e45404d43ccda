#pragma once
/* A tiny HTTP/1.1 client over a raw socket, so that tests can send what no decent client would.
 * Every wait ends after 10 s and fails the test. Not for use from several threads at once on one
 * connection. */
#include <stdbool.h>
#include <stddef.h>

#define CLIENT_HEADERS 24

struct client {
    int fd;
    char *bytes; /* what came and was not read yet */
    size_t length;
    size_t capacity;
};

struct reply {
    int status; /* 0: the connection was closed without an answer */
    char *head; /* status line and headers, as they came */
    char *body; /* with a NUL behind it */
    size_t body_length;
};

/* Connects to a port of the loopback. */
struct client client_open(int port);
void client_close(struct client *client);

/* Sends bytes; quietly stops when the other side has closed. */
void client_send_bytes(struct client *client, const char *bytes, size_t length);
void client_send(struct client *client, const char *text);

/* Ends our sending side. */
void client_finish_sending(struct client *client);

/* Reads one answer; with_body false for an answer to HEAD. reply_fini frees it. */
struct reply client_read(struct client *client, bool with_body);
void reply_fini(struct reply *reply);

/* True when the other side closes (within 10 s) without sending anything more. */
bool client_is_closed(struct client *client);

/* All that comes until the other side closes; valid until the next call. */
const char *client_read_rest(struct client *client);

/* The value of a header of the answer, "" when it is not there; valid until the fourth later
 * call. */
const char *reply_header(const struct reply *reply, const char *name);

/* One whole exchange on an open connection: METHOD, target, further header lines ("Name: v\r\n"
 * each, or NULL) and a JSON body (or NULL). */
struct reply client_call(struct client *client, const char *method, const char *target,
                         const char *headers, const char *body);

/* The same on a connection of its own. */
struct reply call(int port, const char *method, const char *target, const char *headers,
                  const char *body);
