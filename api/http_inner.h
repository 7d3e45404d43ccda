#pragma once
/* What http.c, gate.c, request.c and waiting.c share. Handlers do not include this. */
#include "api/deadline.h"
#include "api/http.h"
#include "server/histogram.h"
#include "server/lock.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>

struct attempts;
struct callers;
struct events;
struct keeping;
struct req;
struct tls;
struct waiting;

struct http {
    struct http_parts parts;
    struct MHD_Daemon *daemon;
    int listen_fd;
    int port;
    bool on_loopback;       /* only this machine reaches us */
    atomic_bool has_tokens; /* as of the last look; decides nothing but the Host of open routes */
    struct attempts *attempts;
    struct callers *callers;
    struct keeping *keeping;
    struct tls *tls;             /* NULL: plain HTTP */
    int64_t request_ns;          /* within which a whole request must have come */
    struct deadlines *deadlines; /* of connections only */
    struct deadlines *ends;      /* of held requests */
    atomic_uint open;            /* connections */
    unsigned crowd;              /* with more of them open, who waits longest makes room: 7/8 */
    atomic_uint held;            /* of holding.c */
    struct waiting *waiting;
    struct events *events;
    atomic_bool draining;
    struct histogram times; /* from a request's head to its answer */

    atomic_int busy;      /* requests in a handler or held */
    atomic_int unsent;    /* answers that are not on their way as a whole yet */
    atomic_bool stopping; /* no handler is entered any more; from then on who leaves wakes `idle` */
    struct wait idle;     /* busy or unsent fell */
    struct lock lock;     /* of idle */
};

/* The deadline of a connection: set while the client has the word. */
struct deadline *http_deadline(struct MHD_Connection *connection);
