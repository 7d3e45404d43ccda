#pragma once
/* The lock that keeps services with different results databases from measuring one server at the
 * same time: one name in master, owned by the session that measures, so that the server drops it
 * when we die. Whoever does not get it gives its job back and comes again later. Cleaning up needs
 * no lock, but for trace flags: who measures meanwhile has taken what we left for what was there
 * before, and puts it back at its end. A server that has no such locks is measured all the same,
 * with a warning. Threads: the worker's, but for applock_set_pause. */
#include "jobs/run.h"

/* The run's session holds the lock afterwards; nothing is asked when it does so already, or when
 * the job does not measure. Waits shortly for one that is about to be dropped. ERR_CANCELLED:
 * somebody else has it; the run is stopped then (RUN_BUSY), and not tried before row.retry_at.
 * ERR_UNREACHABLE, ERR_TIMEOUT as of any query. The run must be connected. */
MUST_CHECK int applock_take(struct run *run, struct err *err);

/* For undoing: the run's session holds the lock afterwards, or the server has none. Nothing stops
 * the wait, which is short. ERR_TIMEOUT: somebody else measures there. ERR_UNREACHABLE as of any
 * query. The run must be connected; applock_drop, the end of the job or of the session drops it. */
MUST_CHECK int applock_take_to_undo(struct run *run, struct err *err);

/* Before the job's end is stored: the next one may begin at once. Does nothing when the session
 * holds none or is dead. */
void applock_drop(struct run *run);

/* For tests: the pause before the next try, 15 s else. */
void applock_set_pause(int64_t ms);
