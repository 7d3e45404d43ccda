#pragma once
/* Asks the table of jobs/measure/guards.h about a run: gathers what its rows need to know. */
#include "jobs/measure/guards.h"
#include "jobs/run.h"

/* Whether the run may go on by its time, deadline and window; any thread. RUN_GO: it may. */
enum run_stop guarding_over(const struct run *run, int64_t now_ms, int64_t mono_ns);

/* Before a run connects (arm -1) or begins a trial of this arm: its time, its deadline, and the
 * windows of its instance as they are defined now; a window in which the arm's trial (by those it
 * has measured) cannot end any more is as good as closed, and the job then comes back after it.
 * ERR_CANCELLED when it may not go on; the run is stopped then. ERR_STORE. */
MUST_CHECK int guarding_time(struct run *run, int arm, struct err *err);

/* When a window's end has stopped the run: ERR_REFUSED with from and to when the trial that it cut
 * had the whole window, and so would be cut in every other one. ERR_STORE. */
MUST_CHECK int guarding_outlasts(const struct run *run, struct err *err);

/* As guarding_time, then waits for other people's work on the instance to end, and looks at the
 * server's memory and at what the database is by now. out_answer: GUARDS_GO, or GUARDS_FAIL or
 * GUARDS_REPEAT with the reason why the trial must not be started. -1: the run cannot go on;
 * ERR_REFUSED with a message's number where the database was failed over or cannot be used. */
MUST_CHECK int guarding_trial(struct run *run, int arm, struct guards_answer *out_answer,
                              struct err *err);

/* Before the first trial: every arm's buffers against the limits and the server's memory.
 * ERR_REFUSED with the arithmetic. */
MUST_CHECK int guarding_memory(struct run *run, struct err *err);
