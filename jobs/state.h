#pragma once
/* The states of a job and the one table of moves between them (api.md §3). Pure. */
#include "server/store_rows.h"

#include <stdbool.h>

enum job_state {
    JOB_QUEUED,
    JOB_WAITING,
    JOB_RUNNING,
    JOB_SUCCEEDED,
    JOB_INCONCLUSIVE,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_TIMED_OUT,
};
#define JOB_STATE_COUNT 8

const char *job_state_name(enum job_state state);
/* JOB_STATE_COUNT when the name is none of them. */
enum job_state job_state_by_name(const char *name);
bool job_state_is_end(enum job_state state);

/* True when a waiting job may have this reason. */
bool job_reason_is_known(const char *reason);

bool job_is_done(const struct job_row *row);

/* Moves a row (in memory) to a state and reason (NULL: none) and stamps started_at or finished_at
 * with now_ms. A move that the table does not allow is a bug and asserts. */
void job_move(struct job_row *row, enum job_state to, const char *reason, int64_t now_ms);
