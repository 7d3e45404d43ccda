#pragma once
/* A request held while a thread of jobs/ asks an instance (check, plans).
 *
 *   begin ─► held ─► done │ the time is over │ the service stops ─► `answered`
 *
 * Threads: the HTTP thread of the request. */
#include "api/request.h"
#include "jobs/jobs.h"

/* What became of it. */
enum asking_end {
    ASKING_DONE,     /* there is an answer */
    ASKING_LATE,     /* the instance did not answer in time */
    ASKING_FULL,     /* it could not be begun */
    ASKING_STOPPING, /* the service stops */
};

/* Called back on the HTTP thread; answer is taken over, NULL but for ASKING_DONE. */
typedef void asking_answered(struct req *req, enum asking_end end, cJSON *answer);

/* Begins it: calls on_check(ctx) when it is done, as jobs_check_begin. */
typedef struct jobs_checking *asking_begin(struct req *req, jobs_on_check *on_check, void *ctx);

/* Holds the request; the handler returns at once afterwards. */
void asking_hold(struct req *req, asking_begin *begin, asking_answered *answered);

/* Milliseconds after which an instance is given up. */
int64_t asking_limit_ms(const struct req *req);
