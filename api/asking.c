#include "api/asking.h"
#include "api/deadline.h"
#include "api/http_inner.h"
#include "server/clock.h"
#include "server/limits.h"

#include <stdatomic.h>

/* Lives in the request's memory. */
struct asking {
    struct deadline deadline; /* first, so that its address is that of the asking */
    struct req *req;
    bool held;                      /* others may know it */
    struct jobs_checking *checking; /* NULL: none could be begun */
    atomic_bool released;           /* whoever sets it releases the request */
    asking_answered *answered;
};

/* From here on nobody reaches it any more. The answer is the caller's, NULL for none. */
static cJSON *let_go(struct asking *asking)
{
    if (!asking->held)
        return NULL;
    asking->held = false;
    cJSON *answer = jobs_check_end(asking->req->parts->jobs, asking->checking);
    deadline_clear(asking->req->http->ends, &asking->deadline);
    return answer;
}

static void cleanup(void *what)
{
    cJSON_Delete(let_go(what)); /* still held when the client has gone */
}

static void release_once(struct asking *asking)
{
    if (!atomic_exchange(&asking->released, true))
        req_release(asking->req);
}

static void on_deadline(struct deadline *deadline)
{
    release_once((struct asking *)deadline);
}

static void on_check(void *ctx)
{
    release_once(ctx);
}

int64_t asking_limit_ms(const struct req *req)
{
    return req->parts->check_ms > 0 ? req->parts->check_ms : LIMIT_CHECK_S * INT64_C(1000);
}

/* Back on the HTTP thread. */
static void resumed(struct req *req)
{
    struct asking *asking = req->held_by;
    bool was_taken = asking->checking != NULL;
    cJSON *answer = let_go(asking);
    if (answer)
        asking->answered(req, ASKING_DONE, answer);
    else if (http_is_draining(req->http))
        asking->answered(req, ASKING_STOPPING, NULL);
    else
        asking->answered(req, was_taken ? ASKING_LATE : ASKING_FULL, NULL);
}

void asking_hold(struct req *req, asking_begin *begin, asking_answered *answered)
{
    struct asking *asking = req_alloc(req, sizeof *asking);
    asking->req = req;
    asking->answered = answered;
    asking->deadline.passed = on_deadline;
    asking->held = true;
    req_defer(req, cleanup, asking);
    req->held_by = asking;
    req_hold(req, resumed);
    int64_t ends_ns = clock_mono_ns() + asking_limit_ms(req) * 1000000; /* before anybody sees it */
    asking->checking = begin(req, on_check, asking);
    deadline_set(req->http->ends, &asking->deadline, ends_ns);
    if (!asking->checking)
        release_once(asking);
}
