#pragma once
/* The HTTP daemon (libmicrohttpd: epoll, a small pool, suspended long polls). Everything that
 * comes passes gate.h first, then route.h finds its handler. Threads: libmicrohttpd's pool and
 * one named "deadline". Signals must be blocked before http_start. */
#include "jobs/jobs.h"
#include "server/egress.h"
#include "server/err.h"
#include "server/secrets.h"
#include "server/store.h"

#include <stdbool.h>
#include <stdint.h>

struct http;

/* What the API stands on; borrowed until http_stop returns. */
struct http_parts {
    const char *listen; /* HOST:PORT or [HOST]:PORT; port 0 takes a free one */
    struct store *store;
    struct jobs *jobs;
    struct secrets *secrets;
    const struct egress *egress;  /* what webhooks may reach */
    bool metrics_open;            /* /metrics needs no token */
    int64_t connections;          /* at most; 0: 12288, or what open files allow */
    int64_t connections_per_peer; /* at most, of one address beyond the loopback; 0: any number */
    const char *tls_cert_file;    /* PEM; NULL: plain HTTP */
    const char *tls_key_file;     /* PEM; as the one before */
    int64_t request_ms;           /* within which a whole request must have come; 0: 30 s */
    int64_t comment_ms;           /* a stream that is silent so long gets a comment; 0: 15 s */
    int64_t progress_ms;          /* how often streams tell how far running trials are; 0: 1 s */
    int64_t stall_ms; /* a stream whose client reads nothing so long is closed; 0: 30 s */
    int64_t check_ms; /* within which the check of an instance is answered; 0: LIMIT_CHECK_S */
};

/* Binds, then serves. ERR_INPUT: listen is no address, or the certificate is none; ERR_REFUSED: not
 * the loopback, which needs tokens; ERR_SYSTEM: the address is taken and the like. */
MUST_CHECK int http_start(const struct http_parts *parts, struct http **out, struct err *err);

/* The port that is really bound. */
int http_port(const struct http *http);

/* Reads certificate and key anew; connections from now on get them. On failure those before stay.
 * Does nothing without TLS. */
MUST_CHECK int http_reload(struct http *http, struct err *err);

/* From now on readyz says 503, so that balancers look elsewhere; all else goes on. */
void http_drain(struct http *http);
bool http_is_draining(struct http *http);

/* Answers held long polls (a GET with 503, a submit with its job), lets writes end, closes.
 * The store and the jobs must still run. Accepts NULL. */
void http_stop(struct http *http);
