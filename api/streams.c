/* GET /v1/events and /v1/jobs/{id}/events: what happens, as it happens. */
#include "api/event_text.h"
#include "api/handlers.h"
#include "api/http_events.h"
#include "api/http_inner.h"
#include "api/job_view.h"
#include "jobs/state.h"
#include "server/ids.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_MS 3000 /* when a browser connects again */
#define ID_DIGITS 18

struct opening {
    const char *job; /* NULL: all */
    bool is_resumed;
    bool is_over; /* out: the job has ended and all of it was seen */
    int64_t after;
    int64_t last;
    struct job_row row;
};

/* False: it answered what is wrong. */
static bool read_place(struct req *req, struct opening *opening)
{
    const char *text = req_header(req, "Last-Event-ID");
    if (!text || *text == '\0')
        return true;
    size_t digits = strspn(text, "0123456789");
    if (text[digits] != '\0' || digits > ID_DIGITS) {
        problem_answer(req, PROBLEM_MALFORMED, "Last-Event-ID must be the id of an event");
        return false;
    }
    opening->is_resumed = true;
    opening->after = strtoll(text, NULL, 10);
    return true;
}

static int has_more(struct db *db, const struct opening *opening, bool *out, struct err *err)
{
    struct event_row *rows = NULL;
    size_t count = 0;
    int rc = store_event_list(db, opening->job, opening->after, 1, &rows, &count, err);
    *out = count > 0;
    for (size_t i = 0; i < count; i++)
        event_row_fini(&rows[i]);
    free(rows);
    return rc;
}

static int open_work(struct db *db, void *arg, struct err *err)
{
    struct opening *opening = arg;
    bool more = true;
    if (store_event_last(db, &opening->last, err) < 0)
        return -1;
    if (!opening->job)
        return 0;
    if (store_job_get(db, opening->job, &opening->row, err) < 0)
        return -1;
    if (opening->is_resumed && job_is_done(&opening->row) && has_more(db, opening, &more, err) < 0)
        return -1;
    opening->is_over = !more;
    return 0;
}

static void answer_stream(struct req *req, const struct opening *opening)
{
    struct buf head = {0};
    struct stream_place place = {opening->job, opening->after, opening->last, req->digest};
    if (!opening->job && !opening->is_resumed)
        place.after = opening->last; /* from now on */
    buf_format(&head, "retry: %d\n\n", RETRY_MS);
    if (opening->job && !opening->is_resumed)
        event_text_add_first(&opening->row, &head);
    struct stream *stream = stream_open(req->http->events, &place, &head);
    buf_fini(&head);
    if (stream)
        req_answer_stream(req, stream);
    else
        problem_answer(req, PROBLEM_UNAVAILABLE, "too many streams are open");
}

static void open_stream(struct req *req, const char *job)
{
    struct err err = {.code = ERR_NOT_FOUND};
    struct opening opening = {.job = job};
    if (!read_place(req, &opening))
        return;
    if ((job && !ids_is_valid(job)) ||
        store_read(req->parts->store, open_work, &opening, &err) < 0) {
        if (err.code == ERR_NOT_FOUND)
            job_view_unknown(req);
        else
            problem_err(req, &err);
    } else if (opening.is_over) {
        req_answer_empty(req, 204); /* which tells a browser not to come again */
    } else {
        answer_stream(req, &opening);
    }
    job_row_fini(&opening.row);
}

void event_stream(struct req *req)
{
    open_stream(req, NULL);
}

void job_event_stream(struct req *req)
{
    open_stream(req, req->params[0]);
}
