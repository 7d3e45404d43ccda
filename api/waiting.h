#pragma once
/* Long polls: requests held until a job ends or their time is up. They cost no thread: each is
 * suspended, watched through jobs_watch_add and timed by a deadline.
 *
 *   waiting_hold ──► held ──► job ended | time is up | http_stop ──► then() on the HTTP thread
 *
 * Threads: waiting_hold on the HTTP thread; releases come from any. */
#include "api/request.h"

struct waiting;

enum waiting_end {
    WAITING_OVER,    /* the job ended or the time is up: look at it */
    WAITING_STOPPED, /* the service stops */
};

typedef void waiting_then(struct req *req, enum waiting_end end);

struct waiting *waiting_new(struct http *http);
void waiting_free(struct waiting *waiting);

/* Holds the request until the job `id` ends, at most `seconds`, then calls then. `id` must live
 * as long as the request. Return at once afterwards. When too many are held (holding.h) it calls
 * then at once: a wait is a wish (RFC 7240), and req->is_not_held says that it was not heeded. */
void waiting_hold(struct req *req, const char *id, int seconds, waiting_then *then);

/* Releases all that are held; later ones are released at once. */
void waiting_stop(struct waiting *waiting);
