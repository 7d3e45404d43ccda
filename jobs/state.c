#include "jobs/state.h"
#include "server/mem.h"

#include <assert.h>
#include <string.h>

/*
 *             ┌────────────► WAITING ◄───────────┐
 *          QUEUED ◄────────────┘ │               │ (unreachable, window, busy, shutdown)
 *             └──────────────────┴─► RUNNING ────┘
 *                                       │
 *            every one ─► SUCCEEDED INCONCLUSIVE FAILED CANCELLED TIMED_OUT
 */
static const char *const state_names[JOB_STATE_COUNT] = {
    [JOB_QUEUED] = "queued",       [JOB_WAITING] = "waiting",           [JOB_RUNNING] = "running",
    [JOB_SUCCEEDED] = "succeeded", [JOB_INCONCLUSIVE] = "inconclusive", [JOB_FAILED] = "failed",
    [JOB_CANCELLED] = "cancelled", [JOB_TIMED_OUT] = "timed_out",
};

static const char *const reason_names[] = {
    "window",      "instance_busy",   "lane_busy", "not_before",
    "unreachable", "cleanup_pending", "paused",
};

/* clang-format off */
/* from (row) may go to (column): */
static const bool moves[JOB_STATE_COUNT][JOB_STATE_COUNT] = {
    /*                     queued waiting running succeeded inconclusive failed cancelled timed_out */
    [JOB_QUEUED]       = { false, true,   true,   false,    false,       true,  true,     true },
    [JOB_WAITING]      = { true,  true,   true,   false,    false,       true,  true,     true },
    [JOB_RUNNING]      = { true,  true,   false,  true,     true,        true,  true,     true },
};
/* clang-format on */

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

enum job_state job_state_by_name(const char *name)
{
    int state = 0;
    while (state < JOB_STATE_COUNT && strcmp(name, state_names[state]) != 0)
        state++;
    return (enum job_state)state;
}

bool job_state_is_end(enum job_state state)
{
    return state >= JOB_SUCCEEDED && state < JOB_STATE_COUNT;
}

bool job_reason_is_known(const char *reason)
{
    for (size_t i = 0; i < sizeof reason_names / sizeof reason_names[0]; i++)
        if (strcmp(reason, reason_names[i]) == 0)
            return true;
    return false;
}

bool job_is_done(const struct job_row *row)
{
    return job_state_is_end(job_state_by_name(row->state));
}

void job_move(struct job_row *row, enum job_state to, const char *reason, int64_t now_ms)
{
    enum job_state from = job_state_by_name(row->state);
    assert(from < JOB_STATE_COUNT && moves[from][to]);
    assert((to == JOB_WAITING) == (reason != NULL));
    assert(!reason || job_reason_is_known(reason));
    mem_replace(&row->state, state_names[to]);
    mem_replace(&row->state_reason, reason);
    if (to == JOB_RUNNING && row->started_at == 0)
        row->started_at = now_ms;
    if (to != JOB_RUNNING)
        mem_replace(&row->phase, NULL);
    if (job_state_is_end(to))
        row->finished_at = now_ms;
}
