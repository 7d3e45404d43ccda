#pragma once
/* Who may run now: one job that measures per instance and per lane, inside the instance's
 * windows, the highest priority first, then the oldest. */
#include "server/store.h"
#include "server/store_rows.h"

#include <stdbool.h>

struct cleaners;

struct claim {
    int64_t now_ms;
    struct cleaners *cleaners; /* which instances are being cleaned up; may be NULL */
    bool found;                /* out */
    bool needs_cleanup;        /* out: a job waits for a clean-up from now on */
    struct job_row row;        /* out: the job, running now; the caller frees it */
    int64_t closes_at;         /* out: when its window closes, 0 never */
};

/* Moves the best runnable job to running, and marks those that have to wait with their reason.
 * Judging (all instances, their windows and zones) happens in a read; the write looks only whether
 * what was judged still stands, and judges anew when it does not. found is false when nothing may
 * run, or when others were quicker each time. */
MUST_CHECK int scheduler_claim(struct store *store, struct claim *claim, struct err *err);
