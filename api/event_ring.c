#include "api/event_ring.h"
#include "api/event_text.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry *entry_new(const struct event_row *row)
{
    struct entry *entry = mem_alloc(1, sizeof *entry);
    entry->id = row->id;
    (void)snprintf(entry->job, sizeof entry->job, "%s", row->job);
    entry->is_first = strcmp(row->what, "created") == 0;
    entry->is_end = event_is_end(row);
    return entry;
}

void entry_free(struct entry *entry)
{
    if (!entry)
        return;
    buf_fini(&entry->text);
    free(entry);
}

struct entry *ring_at(const struct ring *ring, size_t place)
{
    return ring->entries[(ring->first + place) % RING_EVENTS];
}

static void drop_oldest(struct ring *ring)
{
    struct entry *oldest = ring_at(ring, 0);
    ring->floor = oldest->id;
    ring->bytes -= oldest->text.length;
    entry_free(oldest);
    ring->first = (ring->first + 1) % RING_EVENTS;
    ring->count--;
}

void ring_begin(struct ring *ring, int64_t top)
{
    while (ring->count > 0)
        drop_oldest(ring);
    ring->floor = top;
    ring->top = top;
}

void ring_add(struct ring *ring, struct entry *entry)
{
    while (ring->count == RING_EVENTS ||
           (ring->count > 0 && ring->bytes + entry->text.length > RING_BYTES))
        drop_oldest(ring);
    ring->entries[(ring->first + ring->count++) % RING_EVENTS] = entry;
    ring->bytes += entry->text.length;
    ring->top = entry->id;
}

size_t ring_find(const struct ring *ring, int64_t after)
{
    size_t low = 0;
    size_t high = ring->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ring_at(ring, middle)->id > after)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
