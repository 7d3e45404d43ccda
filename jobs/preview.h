#pragma once
/* A plan shown before anything is stored (api.md §3, POST /v1/plans): what a job would do, send,
 * take and be refused for. Looks at the instance, changes nothing. One of check_pool's threads. */
#include "jobs/check.h"

/* Logs in and looks; takes as long as that takes. row: a job as jobs_check filled it, taken over;
 * refusal: what already stands against it, or NULL. The answer as api.md §3 gives it; the caller
 * frees it. What an unfinished one says means nothing. */
cJSON *preview_make(const struct jobs_parts *parts, struct job_row *row, const char *refusal,
                    const struct check_control *control);

/* The same without asking the instance: `why` stands in the refusals. */
cJSON *preview_unasked(const struct jobs_parts *parts, struct job_row *row, const char *refusal,
                       const char *why);
