#pragma once
/* A double of jobs.h for tests of the HTTP layer alone: jobs are stored and never run; a test
 * ends them itself. kind "forbidden" is refused as a production instance would be. */
#include "jobs/jobs.h"

struct jobs *fake_jobs_new(struct store *store);
void fake_jobs_free(struct jobs *jobs);

/* Ends a job as succeeded, with its report, and tells who watches. */
void fake_jobs_finish(struct jobs *jobs, const char *id, const char *report);

/* From now on this job's trial runs here, and is so far; NULL: none runs. */
void fake_jobs_run(struct jobs *jobs, const char *id, int arm, int percent);

/* How often jobs_wake was called. */
int fake_jobs_wakes(struct jobs *jobs);

/* How many watch a job now. */
int fake_jobs_watchers(struct jobs *jobs);
