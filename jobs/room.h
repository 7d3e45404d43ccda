#pragma once
/* Looks on while something that writes to disk runs, in a thread and a session of its own: when the
 * free space of a volume falls below limits.min_free_disk_mib what runs is cancelled, before the
 * server or its users run out of it. Also how much it took at its most. */
#include "jobs/measure/guards.h"
#include "jobs/run.h"

struct room;

/* What is looked at, and for whom. */
struct room_scope {
    const char *const *folders; /* on the volumes; borrowed until room_end */
    size_t count;
    const char *what; /* runs, for people: "backup", "trial" */
    bool tell_peak;   /* room_progress waits for its look */
};

/* ERR_REFUSED with the figures when a volume has less than the margin already; what cannot be seen
 * is let pass. Over the run's session. */
MUST_CHECK int room_check(struct run *run, const struct room_scope *scope, struct err *err);

/* Begins to look, at once and then every second, at the volumes that can be seen; the run is warned
 * of the others. What runs in run->session and run->second (as they are now, and stay until
 * room_end) is cancelled. *out is NULL where nothing can be seen: the trial goes on unwatched. -1:
 * as room_check, and nothing is looked at. */
MUST_CHECK int room_watch(struct run *run, const struct room_scope *scope, struct room **out,
                          struct err *err);

/* BACKUP told how far it is: looks now. Where the peak is wanted it returns when that is done, but
 * after half a second at the latest. Called by the batch's thread. Accepts NULL. */
void room_progress(struct room *room);

struct room_outcome {
    bool cancelled;              /* room got short, and what ran was asked to stop */
    int64_t taken_most;          /* bytes that all volumes together gave away at most; -1 unknown */
    char text[GUARDS_TEXT_SIZE]; /* why it was cancelled */
};

/* Ends the thread, which cancels nothing any more. Accepts NULL. */
struct room_outcome room_end(struct room *room);
