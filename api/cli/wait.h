#pragma once
/* Waiting for a job: polls it, draws its progress on standard error, outlives a restart of the
 * server. One thread. */
#include "api/cli/cli.h"
#include "api/cli/http.h"
#include "api/cli/show.h"

/* Nothing is final about these answers: the server starts, ends or is full. */
bool wait_is_passing(long status);

/* Sleeps; returns early, and false, when a signal asked us to stop. */
bool wait_ms(int64_t ms);

/* Polls until the job has ended. 0: *out_job (whose tree the caller deletes) is its last state.
 * Else the exit status, after it was told why. A server that was never there is told at once,
 * unless args->wait: then it has just taken the job. */
int wait_for_end(struct http *http, const char *id, const struct cli_args *args, cJSON **out_job);

/* The signals that asked us to stop: 0 none. Set by the handler that wait_catch_signals sets. */
extern volatile sig_atomic_t wait_signal;
void wait_catch_signals(void);

/* The exit status when wait_signal is set; tells that the job goes on (but for a server that ends
 * with us: SWEETSPOT_DEMO_ENDS in the environment). id NULL: not known. */
int wait_interrupted(const char *id, const struct cli_args *args);
