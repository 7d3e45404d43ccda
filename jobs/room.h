#pragma once
/* Looks on while a BACKUP to disk runs, in a thread and a session of its own: when the free space
 * of a volume falls below limits.min_free_disk_mib the backup is cancelled, before the server or
 * its users run out of it. Also how much the files took at their most. */
#include "jobs/backup.h"
#include "jobs/measure/guards.h"

struct room;

/* Begins to look, at once and then every second. NULL where nothing is written or nothing can be
 * seen (the run is warned then): the trial goes on unwatched. room_end ends it. */
struct room *room_watch(struct run *run, const struct backup_settings *settings);

/* BACKUP told how far it is: looks now. Where the peak is wanted it returns when that is done, but
 * after half a second at the latest. Called by the batch's thread. Accepts NULL. */
void room_progress(struct room *room);

struct room_outcome {
    bool cancelled;              /* room got short, and the backup was asked to stop */
    int64_t taken_most;          /* bytes that all volumes together gave away at most; -1 unknown */
    char text[GUARDS_TEXT_SIZE]; /* why it was cancelled */
};

/* Ends the thread, which cancels nothing any more. Accepts NULL. */
struct room_outcome room_end(struct room *room);
