#pragma once
/* The session that a job had before it was interrupted: a server may still be at its last BACKUP
 * when the job comes back. The worker's thread. */
#include "jobs/run.h"

/* Waits until no earlier session of this job works on the server any more, over the run's session.
 * A server that does not tell (no right to see others' sessions, an old version) is not waited for.
 * ERR_TIMEOUT: it still works after LIMIT_CANCEL_S. */
MUST_CHECK int former_wait(struct run *run, const char *job, struct err *err);
