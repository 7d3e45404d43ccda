#pragma once
/* How much room a backup takes on disk at its worst: without trace flag 3042 the server takes about
 * a third of the database at first and gives back at the end what was too much. Seen as what the
 * volumes had less of while it ran, over a second session. The looking costs a little, so only
 * warm-ups are watched. The worker's. */
#include "jobs/backup.h"

/* backup_trial, watched: fills trial->peak_bytes where it can be had (the free space of every
 * folder's volume is visible). */
MUST_CHECK int peak_trial(struct run *run, const struct backup_settings *settings,
                          struct trial *trial, struct err *err);
