/* POST /v1/instances/{name}/check: the request is held while a thread of jobs/ connects.
 *
 *   look ─► asked ─► a good check ends `held` ─► answer
 */
#include "api/asking.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "jobs/instance.h"
#include "server/store_rows.h"

#include <stdio.h>

/* Lives in the request's memory. */
struct check {
    struct instance_row row;
    cJSON *answer;
};

static void cleanup(void *what)
{
    struct check *check = what;
    instance_row_fini(&check->row);
    cJSON_Delete(check->answer);
}

static void answer_tree(struct req *req, struct check *check)
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
    struct check *check = arg;
    return store_instance_hold(db, check->row.name, NULL, err);
}

static void hold_ended(struct req *req, int rc, const struct err *err)
{
    struct check *check = req->then_arg;
    if (rc < 0 && err->code == ERR_NOT_FOUND) { /* deleted meanwhile */
        answer_unknown(req);
    } else if (rc < 0) {
        problem_err(req, err);
    } else {
        jobs_wake(req->parts->jobs); /* jobs that were held back by a refused login may run */
        answer_tree(req, check);
    }
}

static cJSON *too_late(const struct req *req)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *error = cJSON_CreateObject();
    char text[64];
    (void)snprintf(text, sizeof text, "the instance did not answer within %g s",
                   (double)asking_limit_ms(req) / 1000);
    cJSON_AddBoolToObject(tree, "reachable", false);
    cJSON_AddNullToObject(error, "number");
    cJSON_AddStringToObject(error, "message", text);
    cJSON_AddStringToObject(error, "cause", "network");
    cJSON_AddItemToObject(tree, "error", error);
    return tree;
}

static void answered(struct req *req, enum asking_end end, cJSON *answer)
{
    struct check *check = req->then_arg;
    check->answer = end == ASKING_LATE ? too_late(req) : answer;
    if (end == ASKING_STOPPING)
        problem_answer(req, PROBLEM_STOPPING, "ask again in a moment");
    else if (end == ASKING_FULL)
        problem_answer(req, PROBLEM_UNAVAILABLE, "too many instances are being checked just now");
    else if (end == ASKING_DONE && cJSON_IsTrue(json_member(answer, "reachable")))
        req_write(req, end_hold_work, check, hold_ended);
    else
        answer_tree(req, check);
}

static struct jobs_checking *begin(struct req *req, jobs_on_check *on_check, void *ctx)
{
    struct check *check = req->then_arg;
    return jobs_check_begin(req->parts->jobs, &check->row, on_check, ctx);
}

struct look {
    const char *name;
    struct instance_row *row;
};

static int look_work(struct db *db, void *arg, struct err *err)
{
    struct look *look = arg;
    return store_instance_get(db, look->name, look->row, err);
}

void instance_check(struct req *req)
{
    struct err err;
    struct check *check = req_alloc(req, sizeof *check);
    struct look look = {req->params[0], &check->row};
    req->then_arg = check;
    req_defer(req, cleanup, check);
    if (!instance_name_is_valid(look.name))
        answer_unknown(req);
    else if (store_read(req->parts->store, look_work, &look, &err) == 0)
        asking_hold(req, begin, answered);
    else if (err.code == ERR_NOT_FOUND)
        answer_unknown(req);
    else
        problem_err(req, &err);
}
