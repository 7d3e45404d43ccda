#pragma once
/* A page of stored events, as a stream carries them. Threads: any. */
#include "server/buf.h"
#include "server/store_rows.h"

#define EVENT_PAGE_MAX 32

struct event_page {
    const char *job;  /* NULL: of all jobs */
    size_t bytes_max; /* no further event is begun when *out is as long */
    int64_t scanned;  /* events up to here are in *out already or do not concern it; moved on */
    bool ends;        /* out: nothing follows, the job has ended */
    struct buf *out;
};

/* Appends the next events, at most EVENT_PAGE_MAX. After the last one `scanned` is the newest
 * number there is, and a job that has ended without an event that says so is told as it stands. */
MUST_CHECK int event_page_read(struct db *db, struct event_page *page, struct err *err);
