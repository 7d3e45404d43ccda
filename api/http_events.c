#include "api/http_events.h"
#include "api/access.h"
#include "api/event_page.h"
#include "api/event_ring.h"
#include "api/event_text.h"
#include "api/holding.h"
#include "api/http_inner.h"
#include "api/live.h"
#include "jobs/jobs.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/log.h"
#include "server/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64 << 10) /* what a stream takes at a time, and one event more */
#define PROGRESS_MS 1000
#define STALL_MS 30000 /* an answer that nobody reads */
#define NS_PER_MS INT64_C(1000000)

struct stream {
    struct events *events;
    struct MHD_Connection *connection;
    char job[40];               /* "": all */
    char digest[HASH_HEX_SIZE]; /* of the token it was opened with; "": none */
    struct buf out;             /* what is being sent: head, one chunk or one comment */
    size_t sent;                /* of it */
    bool ends;                  /* after `out` */
    int64_t live;    /* the progress of running trials up to here is sent. Its HTTP thread's */
    int64_t scanned; /* events up to here are sent or do not concern it. Its HTTP thread's; while it
                        is parked guarded by events.lock */

    /* guarded by events.lock */
    bool parked;      /* suspended; whoever clears it resumes */
    bool comment_due; /* it was quiet for long */
    int64_t quiet_ns; /* since when it is parked */
    struct stream *next, *previous;
    struct stream *next_woken;
};

struct events {
    struct http *http;
    int64_t comment_ns, progress_ns, stall_ns;
    int64_t look_ns; /* when running trials are looked at next; the thread's */
    pthread_t thread;
    bool has_thread;
    struct lock lock; /* guards the rest; held over MHD_suspend_connection, so that no resume comes
                         before it */
    struct wait wake;
    bool dirty; /* a commit came */
    bool stopping;
    struct stream *streams;
    int stream_count;
    bool is_followed; /* false while no stream is open: then the ring stands still */
    struct ring ring;
    struct live *live;
};

/* --- the thread ---------------------------------------------------------------------------- */

static bool concerns(const struct stream *stream, const struct entry *entry)
{
    if (stream->job[0] == '\0')
        return true;
    return !entry->is_first && strcmp(stream->job, entry->job) == 0;
}

static void wake_locked(struct stream *stream, struct stream **woken)
{
    stream->parked = false;
    stream->next_woken = *woken;
    *woken = stream;
}

/* Outside of the lock. A stream may be gone as soon as it is resumed. */
static void resume_all(struct stream *woken)
{
    while (woken) {
        struct MHD_Connection *connection = woken->connection;
        woken = woken->next_woken;
        MHD_resume_connection(connection);
    }
}

struct batch {
    int64_t after;
    struct entry *entries[EVENT_PAGE_MAX];
    size_t count;
};

static int batch_work(struct db *db, void *arg, struct err *err)
{
    struct batch *batch = arg;
    struct event_row *rows = NULL;
    size_t count = 0;
    int rc = store_event_list(db, NULL, batch->after, EVENT_PAGE_MAX, &rows, &count, err);
    for (size_t i = 0; i < count; i++) {
        if (rc == 0) {
            struct entry *entry = entry_new(&rows[i]);
            batch->entries[batch->count++] = entry;
            rc = event_text_add(db, &rows[i], &entry->text, err);
        }
        event_row_fini(&rows[i]);
    }
    free(rows);
    return rc;
}

static struct stream *take_batch_locked(struct events *events, struct batch *batch)
    NEEDS(events->lock)
{
    struct stream *woken = NULL;
    struct ring *ring = &events->ring;
    for (size_t i = 0; i < batch->count; i++) {
        struct entry *entry = batch->entries[i];
        if (!events->is_followed || entry->id <= ring->top) {
            entry_free(entry); /* the last stream closed, and another one opened, meanwhile */
            continue;
        }
        ring_add(ring, entry);
        live_forget(events->live, entry->job);
        for (struct stream *stream = events->streams; stream; stream = stream->next)
            if (stream->parked && entry->id > stream->scanned && concerns(stream, entry))
                wake_locked(stream, &woken);
    }
    for (struct stream *stream = events->streams; stream; stream = stream->next)
        if (stream->parked && stream->scanned < ring->top)
            stream->scanned = ring->top; /* nothing of it was its own */
    return woken;
}

/* Takes up what was committed since. False when the store cannot be read now. */
static bool follow(struct events *events, int64_t after)
{
    struct batch batch = {.after = after};
    struct err err;
    do {
        batch.count = 0;
        bool was_read = store_read(events->http->parts.store, batch_work, &batch, &err) == 0;
        for (size_t i = 0; !was_read && i < batch.count; i++)
            entry_free(batch.entries[i]);
        if (!was_read) {
            log_event(LOG_LEVEL_ERROR, "events_failed", "error=%s", log_quote(err.msg));
            return false;
        }
        if (batch.count > 0)
            batch.after = batch.entries[batch.count - 1]->id;
        lock_take(&events->lock);
        struct stream *woken = take_batch_locked(events, &batch);
        lock_drop(&events->lock);
        resume_all(woken);
    } while (batch.count == EVENT_PAGE_MAX);
    return true;
}

static struct stream *show_live_locked(struct events *events) NEEDS(events->lock)
{
    struct stream *woken = NULL;
    if (!events->is_followed || !live_publish(events->live))
        return NULL;
    for (struct stream *stream = events->streams; stream; stream = stream->next)
        if (stream->parked && live_has(events->live, stream->job, stream->live))
            wake_locked(stream, &woken);
    return woken;
}

/* How far running trials are, from memory, once a while as long as a stream is open and a job runs
 * here. What a job did first was stored, so the thread is awake when it begins. */
static void look_at_trials(struct events *events)
{
    events->look_ns = clock_mono_ns() + events->progress_ns;
    live_look(events->live);
    lock_take(&events->lock);
    struct stream *woken = show_live_locked(events);
    lock_drop(&events->lock);
    resume_all(woken);
}

/* A comment for those that were quiet for long; out_due: when the next one is. */
static struct stream *comment_locked(struct events *events, int64_t now_ns, int64_t *out_due_ns)
    NEEDS(events->lock)
{
    struct stream *woken = NULL;
    *out_due_ns = now_ns + events->comment_ns;
    for (struct stream *stream = events->streams; stream; stream = stream->next) {
        int64_t due_ns = stream->quiet_ns + events->comment_ns;
        if (!stream->parked)
            continue;
        if (due_ns <= now_ns) {
            stream->comment_due = true;
            wake_locked(stream, &woken);
        } else if (due_ns < *out_due_ns) {
            *out_due_ns = due_ns;
        }
    }
    return woken;
}

static void *run(void *arg)
{
    struct events *events = arg;
    struct jobs *jobs = events->http->parts.jobs;
    int64_t due_ns = 0;
    bool runs = false; /* a job runs here, as of the last commit or look */
    lock_take(&events->lock);
    while (!events->stopping) {
        struct stream *woken = comment_locked(events, clock_mono_ns(), &due_ns);
        bool dirty = events->dirty && events->is_followed;
        bool looks = runs && events->is_followed;
        bool is_time = looks && clock_mono_ns() >= events->look_ns;
        int64_t top = events->ring.top;
        events->dirty = false;
        if (!dirty && !woken && !is_time) {
            bool is_sooner = looks && events->look_ns < due_ns;
            wait_until(&events->wake, &events->lock, is_sooner ? events->look_ns : due_ns);
            continue;
        }
        lock_drop(&events->lock);
        resume_all(woken);
        bool is_late = dirty && !follow(events, top);
        if (is_time)
            look_at_trials(events);
        runs = jobs_busy(jobs) > 0;
        lock_take(&events->lock);
        events->dirty |= is_late;
        if (is_late) /* not at once: the disk needs a moment */
            wait_until(&events->wake, &events->lock, clock_mono_ns() + 1000 * NS_PER_MS);
    }
    lock_drop(&events->lock);
    return NULL;
}

/* In the store's writer thread. */
static void on_commit(void *ctx)
{
    struct events *events = ctx;
    lock_take(&events->lock);
    if (events->is_followed && !events->dirty) {
        events->dirty = true;
        wait_wake_one(&events->wake);
    }
    lock_drop(&events->lock);
}

/* --- one stream, on its HTTP thread -------------------------------------------------------- */

static void take_from_ring_locked(struct stream *stream, const struct ring *ring)
{
    for (size_t i = ring_find(ring, stream->scanned); i < ring->count && !stream->ends; i++) {
        const struct entry *entry = ring_at(ring, i);
        if (stream->out.length >= CHUNK_BYTES)
            return;
        stream->scanned = entry->id;
        if (!concerns(stream, entry))
            continue;
        buf_add_bytes(&stream->out, buf_text(&entry->text), entry->text.length);
        stream->ends = stream->job[0] != '\0' && entry->is_end;
    }
}

enum next { NEXT_SEND, NEXT_READ, NEXT_PARKED, NEXT_END };

static enum next find_next(struct stream *stream)
{
    struct events *events = stream->events;
    enum next next = NEXT_SEND;
    lock_take(&events->lock);
    if (stream->comment_due)
        buf_add(&stream->out, ":\n\n");
    stream->comment_due = false;
    bool is_behind = stream->scanned < events->ring.floor;
    if (!is_behind)
        take_from_ring_locked(stream, &events->ring);
    if (!is_behind && !stream->ends && stream->scanned == events->ring.top)
        live_take(events->live, stream->job, &stream->live, &stream->out);
    if (events->stopping) {
        next = NEXT_END;
    } else if (stream->out.length == 0 && is_behind) {
        next = NEXT_READ;
    } else if (stream->out.length == 0) {
        next = NEXT_PARKED;
        stream->parked = true;
        stream->quiet_ns = clock_mono_ns();
        MHD_suspend_connection(stream->connection);
    }
    lock_drop(&events->lock);
    return next;
}

static int page_work(struct db *db, void *arg, struct err *err)
{
    struct stream *stream = arg;
    struct event_page page = {.job = stream->job[0] ? stream->job : NULL,
                              .bytes_max = CHUNK_BYTES,
                              .scanned = stream->scanned,
                              .out = &stream->out};
    int rc = event_page_read(db, &page, err);
    stream->scanned = page.scanned;
    stream->ends = page.ends;
    return rc;
}

static ssize_t send_some(struct stream *stream, char *out, size_t max)
{
    struct http *http = stream->events->http;
    size_t length = stream->out.length - stream->sent;
    if (length > max)
        length = max;
    memcpy(out, stream->out.data + stream->sent, length);
    stream->sent += length;
    deadline_set(http->deadlines, http_deadline(stream->connection),
                 clock_mono_ns() + stream->events->stall_ns);
    return (ssize_t)length;
}

/* libmicrohttpd asks for more as soon as what it had is on its way. */
static ssize_t on_read(void *cls, uint64_t position, char *out, size_t max)
{
    struct stream *stream = cls;
    struct http *http = stream->events->http;
    struct err err;
    (void)position;
    for (;;) {
        if (stream->sent < stream->out.length)
            return send_some(stream, out, max);
        if (stream->ends || !access_still(http, stream->digest, SCOPE_READ))
            return MHD_CONTENT_READER_END_OF_STREAM;
        buf_fini(&stream->out); /* one that waits holds no memory */
        stream->sent = 0;
        deadline_clear(http->deadlines, http_deadline(stream->connection));
        switch (find_next(stream)) {
        case NEXT_SEND:
            break;
        case NEXT_READ:
            if (store_read(http->parts.store, page_work, stream, &err) < 0)
                return MHD_CONTENT_READER_END_WITH_ERROR; /* it resumes where it was */
            break;
        case NEXT_PARKED:
            return 0;
        case NEXT_END:
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
    }
}

static void on_free(void *cls)
{
    stream_free(cls);
}

struct MHD_Response *stream_response(struct stream *stream, struct MHD_Connection *connection)
{
    stream->connection = connection;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, on_read, stream, on_free);
    if (!response)
        stream_free(stream);
    return response;
}

struct stream *stream_open(struct events *events, const struct stream_place *place,
                           struct buf *head)
{
    struct stream *stream = mem_alloc(1, sizeof *stream);
    stream->events = events;
    (void)snprintf(stream->job, sizeof stream->job, "%s", place->job ? place->job : "");
    (void)snprintf(stream->digest, sizeof stream->digest, "%s", place->digest);
    stream->scanned = place->after;
    lock_take(&events->lock);
    bool is_taken =
        !events->stopping && events->stream_count < LIMIT_STREAMS && holding_take(events->http);
    if (is_taken) {
        stream->next = events->streams;
        if (stream->next)
            stream->next->previous = stream;
        events->streams = stream;
        events->stream_count++;
    }
    if (is_taken && !events->is_followed) {
        events->is_followed = true;
        ring_begin(&events->ring, place->last);
        events->dirty = true; /* commits since then told nobody */
        wait_wake_one(&events->wake);
    }
    lock_drop(&events->lock);
    if (!is_taken) {
        free(stream);
        return NULL;
    }
    stream->out = *head;
    *head = (struct buf){0};
    return stream;
}

void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    struct events *events = stream->events;
    lock_take(&events->lock);
    if (stream->previous)
        stream->previous->next = stream->next;
    else
        events->streams = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    holding_drop(events->http);
    if (--events->stream_count == 0) {
        events->is_followed = false;
        ring_begin(&events->ring, events->ring.top); /* it holds no memory */
        live_clear(events->live);
    }
    lock_drop(&events->lock);
    buf_fini(&stream->out);
    free(stream);
}

/* --- start and stop ------------------------------------------------------------------------ */

int events_count(struct events *events)
{
    lock_take(&events->lock);
    int count = events->stream_count;
    lock_drop(&events->lock);
    return count;
}

int events_idle_count(struct events *events)
{
    int count = 0;
    lock_take(&events->lock);
    for (const struct stream *stream = events->streams; stream; stream = stream->next)
        count += stream->parked;
    lock_drop(&events->lock);
    return count;
}

int events_start(struct http *http, struct events **out, struct err *err)
{
    struct events *events = mem_alloc(1, sizeof *events);
    const struct http_parts *parts = &http->parts;
    events->http = http;
    events->comment_ns =
        (parts->comment_ms > 0 ? parts->comment_ms : EVENTS_COMMENT_MS) * NS_PER_MS;
    events->progress_ns = (parts->progress_ms > 0 ? parts->progress_ms : PROGRESS_MS) * NS_PER_MS;
    events->live = live_new(parts->jobs, parts->store);
    events->stall_ns = (parts->stall_ms > 0 ? parts->stall_ms : STALL_MS) * NS_PER_MS;
    lock_init(&events->lock);
    wait_init(&events->wake);
    int failed = pthread_create(&events->thread, NULL, run, events);
    if (failed) {
        events_free(events);
        return err_set(err, ERR_SYSTEM, failed, "start the thread of events: %s", strerror(failed));
    }
    (void)pthread_setname_np(events->thread, "events"); /* only for people */
    events->has_thread = true;
    store_listen(parts->store, on_commit, events);
    *out = events;
    return 0;
}

void events_stop(struct events *events)
{
    struct stream *woken = NULL;
    if (!events)
        return;
    store_listen(events->http->parts.store, NULL, NULL);
    lock_take(&events->lock);
    events->stopping = true;
    for (struct stream *stream = events->streams; stream; stream = stream->next)
        if (stream->parked)
            wake_locked(stream, &woken);
    wait_wake_one(&events->wake);
    lock_drop(&events->lock);
    resume_all(woken);
    if (events->has_thread)
        (void)pthread_join(events->thread, NULL); /* fails only for a thread that is not ours */
    events->has_thread = false;
}

void events_free(struct events *events)
{
    if (!events)
        return;
    assert(!events->streams);
    ring_begin(&events->ring, 0);
    live_free(events->live);
    wait_fini(&events->wake);
    lock_fini(&events->lock);
    free(events);
}
