#pragma once
/* Carries one claimed job to its end, or back into the queue. Called in a worker's thread.
 *
 *   connect ─► facts ─► plan (stored) ─► undo what a crash left ─► trials, each stored, its files
 *   removed ─► extend (confirmation) ─► analysis ─► report, state and events in one transaction
 */
#include "jobs/run.h"

/* For tests: milliseconds before the first repeat of a trial that a deadlock or the like spoilt. */
void runner_set_first_pause(int64_t ms);

/* Runs until the job is stored as ended, waiting or queued again. The run stays the caller's. */
void runner_execute(struct run *run);
