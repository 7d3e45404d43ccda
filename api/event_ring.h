#pragma once
/* The last events, each rendered once for all streams: all with floor < id <= top. Pure; whoever
 * owns it guards it. */
#include "server/buf.h"
#include "server/store_rows.h"

#define RING_EVENTS 1024 /* enough for who is a second late */
#define RING_BYTES (8 << 20)

struct entry {
    int64_t id;
    char job[40];
    bool is_first; /* a job's creation: its own stream began with that already */
    bool is_end;   /* of its job */
    struct buf text;
};

struct ring {
    struct entry *entries[RING_EVENTS];
    size_t first, count;
    size_t bytes;
    int64_t floor, top;
};

/* Without its text. */
struct entry *entry_new(const struct event_row *row);
void entry_free(struct entry *entry); /* accepts NULL */

/* Empties it: what follows has ids above top. */
void ring_begin(struct ring *ring, int64_t top);

/* Adds the next event, which is taken over; the oldest make room. */
void ring_add(struct ring *ring, struct entry *entry);

/* The entry at a place, 0 the oldest. */
struct entry *ring_at(const struct ring *ring, size_t place);

/* The place of the first entry after an id; ring->count when there is none. */
size_t ring_find(const struct ring *ring, int64_t after);
