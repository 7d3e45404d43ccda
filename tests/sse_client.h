#pragma once
/* Reads a stream of events (text/event-stream, chunked) block by block. A read ends after 10 s and
 * fails the test. One thread. */
#include "tests/http_client.h"

#include <stdint.h>

struct sse {
    struct client client;
    char *text; /* decoded and not read yet */
    size_t length, capacity;
    size_t chunk_left;
    bool is_over; /* the last chunk came, or the connection closed */
    bool broke;   /* it closed before the last chunk */
};

struct sse_event {
    int64_t id;    /* -1: none */
    char what[16]; /* "": none */
    char *data;    /* NULL: none */
    bool is_comment;
};

/* Opens it; last_id: -1 none. The answer must be 200 and text/event-stream. */
struct sse sse_open(int port, const char *target, int64_t last_id);
/* The same with a token, from now on. */
struct sse sse_open_as(int port, const char *token, const char *target);
void sse_close(struct sse *sse);

/* The next block; false at the end. Frees *event's earlier data, which must be NULL at first. */
bool sse_next(struct sse *sse, struct sse_event *event);

/* The same, passing over comments and the first block ("retry:"). */
bool sse_next_event(struct sse *sse, struct sse_event *event);
