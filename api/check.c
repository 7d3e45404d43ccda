/* POST /v1/instances/{name}/check: the request is held while a thread of jobs/ connects.
 *
 *   look ─► held ─► done │ 15 s passed │ the service stops ─► a good check ends `held` ─► answer
 */
#include "api/deadline.h"
#include "api/handlers.h"
#include "api/http_inner.h"
#include "api/problem.h"
#include "api/request.h"
#include "jobs/instance.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/store_rows.h"

#include <stdatomic.h>
#include <stdio.h>

/* Lives in the request's memory. */
struct held_check {
    struct deadline deadline; /* first, so that its address is that of the check */
    struct req *req;
    bool held;                      /* others may know it */
    struct jobs_checking *checking; /* NULL: none could be begun */
    atomic_bool released;           /* whoever sets it releases the request */
    struct instance_row row;
    cJSON *answer;
};

/* From here on nobody reaches the check any more. The answer is the caller's, NULL for none. */
static cJSON *let_go(struct held_check *check)
{
    if (!check->held)
        return NULL;
    check->held = false;
    cJSON *answer = jobs_check_end(check->req->parts->jobs, check->checking);
    deadline_clear(check->req->http->deadlines, &check->deadline);
    return answer;
}

static void cleanup(void *what)
{
    struct held_check *check = what;
    cJSON_Delete(let_go(check)); /* still held when the client has gone */
    instance_row_fini(&check->row);
    cJSON_Delete(check->answer);
}

static void release_once(struct held_check *check)
{
    if (!atomic_exchange(&check->released, true))
        req_release(check->req);
}

static void on_deadline(struct deadline *deadline)
{
    release_once((struct held_check *)deadline);
}

static void on_check(void *ctx)
{
    release_once(ctx);
}

/* --- the answer ---------------------------------------------------------------------------- */

static void answer_tree(struct req *req, struct held_check *check)
{
    req_answer_json(req, 200, check->answer);
    check->answer = NULL;
}

static void answer_unknown(struct req *req)
{
    problem_answer(req, PROBLEM_NOT_FOUND, "no instance has this name");
}

static int end_hold_work(struct db *db, void *arg, struct err *err)
{
    struct held_check *check = arg;
    return store_instance_hold(db, check->row.name, NULL, err);
}

static void hold_ended(struct req *req, int rc, const struct err *err)
{
    struct held_check *check = req->then_arg;
    if (rc < 0 && err->code == ERR_NOT_FOUND) { /* deleted meanwhile */
        answer_unknown(req);
    } else if (rc < 0) {
        problem_err(req, err);
    } else {
        jobs_wake(req->parts->jobs); /* jobs that were held back by a refused login may run */
        answer_tree(req, check);
    }
}

static int64_t limit_ms(const struct req *req)
{
    return req->parts->check_ms > 0 ? req->parts->check_ms : LIMIT_CHECK_S * INT64_C(1000);
}

static cJSON *too_late(const struct req *req)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *error = cJSON_CreateObject();
    char text[64];
    (void)snprintf(text, sizeof text, "the instance did not answer within %g s",
                   (double)limit_ms(req) / 1000);
    cJSON_AddBoolToObject(tree, "reachable", false);
    cJSON_AddNullToObject(error, "number");
    cJSON_AddStringToObject(error, "message", text);
    cJSON_AddItemToObject(tree, "error", error);
    return tree;
}

/* Back on the HTTP thread. */
static void resumed(struct req *req)
{
    struct held_check *check = req->held_by;
    bool was_taken = check->checking != NULL;
    check->answer = let_go(check);
    if (check->answer && cJSON_IsTrue(json_member(check->answer, "reachable"))) {
        req_write(req, end_hold_work, check, hold_ended);
    } else if (check->answer) {
        answer_tree(req, check);
    } else if (http_is_draining(req->http)) {
        problem_answer(req, PROBLEM_STOPPING, "ask again in a moment");
    } else if (was_taken) {
        check->answer = too_late(req);
        answer_tree(req, check);
    } else {
        problem_answer(req, PROBLEM_UNAVAILABLE, "too many instances are being checked just now");
    }
}

/* --- the call ------------------------------------------------------------------------------ */

static int look_work(struct db *db, void *arg, struct err *err)
{
    struct held_check *check = arg;
    return store_instance_get(db, check->req->params[0], &check->row, err);
}

static void hold(struct req *req, struct held_check *check)
{
    check->deadline.passed = on_deadline;
    req->held_by = check;
    check->held = true;
    req_hold(req, resumed);
    check->checking = jobs_check_begin(req->parts->jobs, check->row.definition, on_check, check);
    deadline_set(req->http->deadlines, &check->deadline, clock_mono_ns() + limit_ms(req) * 1000000);
    if (!check->checking)
        release_once(check);
}

void instance_check(struct req *req)
{
    struct err err;
    struct held_check *check = req_alloc(req, sizeof *check);
    check->req = req;
    req_defer(req, cleanup, check);
    if (!instance_name_is_valid(req->params[0]))
        answer_unknown(req);
    else if (store_read(req->parts->store, look_work, check, &err) == 0)
        hold(req, check);
    else if (err.code == ERR_NOT_FOUND)
        answer_unknown(req);
    else
        problem_err(req, &err);
}
