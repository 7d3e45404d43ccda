#pragma once
/* Cleaning an instance while no job of it runs: what jobs left there that ended, or that wait, and
 * could not reach it any more (api.md §2, reconcile). Before its next job, once a minute, and when
 * somebody asks. */
#include "jobs/check.h"
#include "jobs/run.h"

/* In a worker: undoes everything that is open on the run's instance. The run stands for a job that
 * does not run. What an instance that cannot be reached keeps for unreachable_minutes after the
 * job's end is told once (job.cleanup_failed), and tried on. */
void cleanup_run(struct run *run);

/* In one of check_pool's threads: {"intents": [...]}, all that was open or could not be undone
 * before, with the state it came to. dry_run, or a job that measures there: nothing is undone. The
 * caller frees it. */
cJSON *cleanup_reconcile(const struct jobs_parts *parts, const char *instance, bool dry_run,
                         const struct check_control *control);

/* The same from the store alone: what is not undone now. `why` (may be NULL): why nothing else is
 * said.
 */
cJSON *cleanup_list(const struct jobs_parts *parts, const char *instance, const char *why);
