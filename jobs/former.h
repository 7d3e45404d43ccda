#pragma once
/* The session that a job had before it was interrupted: a server may still be at its last BACKUP
 * when the job comes back. The worker's thread. */
#include "jobs/run.h"

/* Waits until no earlier session of this job works on the server any more, over the run's session.
 * given_up_at: since when one is given up (wall ms; 0: none is). A server that does not tell (no
 * right to see others' sessions, an old version) is not waited for, but for LIMIT_GIVEN_UP_S after
 * that nothing may be touched. ERR_TIMEOUT: it still works after LIMIT_CANCEL_S, or may. */
MUST_CHECK int former_wait(struct run *run, const char *job, int64_t given_up_at, struct err *err);

/* The same for the run's own job, when a session of this run broke or was given up since the last
 * time; else 0 at once. */
MUST_CHECK int former_wait_own(struct run *run, struct err *err);
