#pragma once
/* Who wants to know when a job ends. Threads: any. */
#include "jobs/jobs.h"

struct watchers;

struct watchers *watchers_new(void);
void watchers_free(struct watchers *watchers);
struct jobs_watch *watchers_add(struct watchers *watchers, const char *id, jobs_on_end *on_end,
                                void *ctx);
void watchers_remove(struct watchers *watchers, struct jobs_watch *watch);

/* Calls every watcher of this job once. */
void watchers_tell(struct watchers *watchers, const char *id);
