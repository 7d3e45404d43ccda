#pragma once
/* How far running trials are, for streams of events: from memory, never stored, and so without a
 * number. Of each job only the newest is kept, and only until the store notes something newer of
 * it: then that speaks. Whoever owns it guards it, but for live_look. */
#include "server/buf.h"
#include "server/store.h"

#include <stdbool.h>
#include <stdint.h>

struct jobs;
struct live;

struct live *live_new(struct jobs *jobs, struct store *store);
void live_free(struct live *live); /* accepts NULL */

/* Looks at what runs here, reading the jobs that came further since the last look. Touches nothing
 * that needs the guard; one thread only. */
void live_look(struct live *live);

/* Takes over what was seen by live_look. True when anything is new. */
bool live_publish(struct live *live);

/* Something newer of this job is noted in the store. */
void live_forget(struct live *live, const char *job);
void live_clear(struct live *live);

/* True when a stream of this job ("": all) that has seen up to `seen` has something to send. */
bool live_has(const struct live *live, const char *job, int64_t seen);
/* Appends that as events, and moves *seen. */
void live_take(const struct live *live, const char *job, int64_t *seen, struct buf *out);
