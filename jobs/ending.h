#pragma once
/* How a run ends: clean-up, analysis, report, and the one transaction that carries state, report
 * and events; or its way back into the queue. Called by the worker. */
#include "jobs/measure/report.h"
#include "jobs/run.h"

/* What reports are made from; borrows from run. */
struct bundle ending_bundle(const struct run *run);

/* For tests: the pause before the first new try of an instance that was not reached, 5 s else. */
void ending_set_first_retry(int64_t ms);

/* rc and err: how the trials went. Stores the job's end, or that it waits, or that it is queued
 * again. What the run changed on the server is undone first, also when the store cannot be written.
 * As long as that fails this tries again, at most 5 s apart, until it succeeds or the daemon ends;
 * then the job stays running in the store and is taken up at the next start. */
void ending_settle(struct run *run, int rc, struct err *err);
