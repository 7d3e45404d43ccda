#pragma once
/* Streams of events (SSE). The store numbers and keeps all events; a stream is only a place in
 * them, so a slow or broken one costs nothing and goes on where it was.
 *
 *   commit ─► "events" thread renders it once into the ring ─► wakes the streams it concerns
 *   stream: text left ─► send · behind the ring ─► a page of the store · nothing new ─► suspended
 *
 * What a client does not read within a while ends its connection; it resumes by Last-Event-ID.
 * Threads: one named "events"; streams belong to the HTTP threads. */
#include "server/buf.h"
#include "server/err.h"

#include <microhttpd.h>
#include <stdint.h>

#define EVENTS_COMMENT_MS 15000 /* api.md §3: a quiet stream gets a comment line so often */

struct http;
struct events;
struct stream;

MUST_CHECK int events_start(struct http *http, struct events **out, struct err *err);
/* Ends all streams after what they are sending; later ones are refused. Joins the thread. Accepts
 * NULL. */
void events_stop(struct events *events);
/* All streams must have been freed. Accepts NULL. */
void events_free(struct events *events);

/* How many streams are open. */
int events_count(struct events *events);
/* How many of them have nothing to send. */
int events_idle_count(struct events *events);

struct stream_place {
    const char *job;    /* NULL: the events of all jobs */
    int64_t after;      /* events up to this id are not sent */
    int64_t last;       /* the newest that the store had just now */
    const char *digest; /* of the caller's token, as of struct req: the stream ends with it */
};
/* A stream that first sends head, which is taken over. NULL when LIMIT_STREAMS are open, too
 * many requests are held (holding.h), or the service stops. */
struct stream *stream_open(struct events *events, const struct stream_place *place,
                           struct buf *head);
/* The response that carries it over a connection, and frees it. NULL: out of memory, it is freed.
 */
struct MHD_Response *stream_response(struct stream *stream, struct MHD_Connection *connection);
/* Of a stream that was not handed to stream_response. Accepts NULL. */
void stream_free(struct stream *stream);
