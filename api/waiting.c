#include "api/waiting.h"
#include "api/access.h"
#include "api/deadline.h"
#include "api/holding.h"
#include "api/http_inner.h"
#include "jobs/jobs.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One held request; lives in its memory. */
struct poll {
    struct deadline deadline; /* first, so that its address is that of the poll */
    struct req *req;
    const char *id;
    waiting_then *then;
    struct jobs_watch *watch;
    atomic_bool released;  /* whoever sets it releases the request */
    bool held;             /* others may know it */
    struct poll *next;     /* guarded by waiting.lock */
    struct poll *previous; /* guarded by waiting.lock */
};

struct waiting {
    struct http *http;
    struct lock lock;   /* guards what follows and the links of the polls */
    struct poll *first; /* all that are held */
    bool stopping;
};

struct waiting *waiting_new(struct http *http)
{
    struct waiting *waiting = mem_alloc(1, sizeof *waiting);
    waiting->http = http;
    lock_init(&waiting->lock);
    return waiting;
}

void waiting_free(struct waiting *waiting)
{
    if (!waiting)
        return;
    lock_fini(&waiting->lock);
    free(waiting);
}

/* Time, end and stop may come together; the first one releases, the others do nothing. */
static void release_once(struct poll *poll)
{
    if (!atomic_exchange(&poll->released, true))
        req_release(poll->req);
}

static void on_deadline(struct deadline *deadline)
{
    release_once((struct poll *)deadline);
}

static void on_end(void *ctx, const char *id)
{
    (void)id;
    release_once(ctx);
}

static bool link_poll(struct waiting *waiting, struct poll *poll)
{
    lock_take(&waiting->lock);
    poll->next = waiting->first;
    if (poll->next)
        poll->next->previous = poll;
    waiting->first = poll;
    bool stopping = waiting->stopping;
    lock_drop(&waiting->lock);
    return !stopping;
}

/* Returns true when the service stops. */
static bool unlink_poll(struct waiting *waiting, struct poll *poll)
{
    lock_take(&waiting->lock);
    if (poll->previous)
        poll->previous->next = poll->next;
    else
        waiting->first = poll->next;
    if (poll->next)
        poll->next->previous = poll->previous;
    bool stopping = waiting->stopping;
    lock_drop(&waiting->lock);
    return stopping;
}

void waiting_stop(struct waiting *waiting)
{
    lock_take(&waiting->lock);
    waiting->stopping = true;
    for (struct poll *poll = waiting->first; poll; poll = poll->next)
        release_once(poll);
    lock_drop(&waiting->lock);
}

/* From here on nobody reaches the poll any more. Returns true when the service stops. */
static bool let_go(struct poll *poll)
{
    struct req *req = poll->req;
    poll->held = false;
    holding_drop(req->http);
    jobs_watch_remove(req->parts->jobs, poll->watch);
    deadline_clear(req->http->ends, &poll->deadline);
    return unlink_poll(req->http->waiting, poll);
}

/* Back on the HTTP thread. */
static void resumed(struct req *req)
{
    struct poll *poll = req->held_by;
    enum waiting_end end = let_go(poll) ? WAITING_STOPPED : WAITING_OVER;
    /* what a submit stored is its caller's to know all the same */
    bool reads = strcmp(req->method, "POST") != 0;
    if (reads && !access_still(req->http, req->digest, access_scope(req->parts, req->route)))
        access_refuse_late(req);
    else
        poll->then(req, end);
}

/* The client has gone: the request ends without having been resumed. */
static void cleanup(void *what)
{
    struct poll *poll = what;
    if (poll->held)
        (void)let_go(poll); /* nobody is told */
}

struct look {
    const char *id;
    bool done;
};

static int look_work(struct db *db, void *arg, struct err *err)
{
    struct look *look = arg;
    struct job_row row = {0};
    int rc = store_job_get(db, look->id, &row, err);
    look->done = rc < 0 || job_is_done(&row); /* gone: whoever asked is told so */
    job_row_fini(&row);
    return rc;
}

void waiting_hold(struct req *req, const char *id, int seconds, waiting_then *then)
{
    struct http *http = req->http;
    struct err err;
    struct look look = {.id = id, .done = true};
    if (!holding_take(http)) {
        req->is_not_held = true;
        then(req, WAITING_OVER);
        return;
    }
    struct poll *poll = req_alloc(req, sizeof *poll);
    poll->deadline.passed = on_deadline;
    poll->req = req;
    poll->id = id;
    poll->then = then;
    poll->held = true;
    req->held_by = poll;
    req_defer(req, cleanup, poll);
    req_hold(req, resumed);
    int64_t ends_ns = clock_mono_ns() + (int64_t)seconds * 1000000000; /* before anybody sees us */
    poll->watch = jobs_watch_add(req->parts->jobs, id, on_end, poll);
    deadline_set(http->ends, &poll->deadline, ends_ns);
    bool go_on = link_poll(http->waiting, poll);
    /* It may have ended before the watch was set; then nobody would call. */
    if (store_read(req->parts->store, look_work, &look, &err) < 0 || look.done || !go_on)
        release_once(poll);
}
