/* POST /v1/instances/{name}/reconcile: what jobs left on an instance, undone or (dry_run) only
 * shown. The request is held while a thread of jobs/ connects. */
#include "api/asking.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "jobs/instance.h"
#include "server/limits.h"
#include "server/store_rows.h"

#include <stdio.h>

/* Lives in the request's memory. */
struct reconcile {
    bool dry_run;
};

static const struct json_field fields[] = {
    {"dry_run", JSON_BOOL, offsetof(struct reconcile, dry_run),
     .help = "true: nothing is undone, only shown"},
};

/* What is just undone is cancelled and stays open: all that is open then is shown. */
static void answer_late(struct req *req)
{
    char why[120];
    (void)snprintf(why, sizeof why,
                   "the instance did not answer within %g s; it is tried again once a minute",
                   (double)asking_limit_ms(req) / 1000);
    req_answer_json(req, 200, jobs_reconcile_unasked(req->parts->jobs, req->params[0], why));
}

static void answered(struct req *req, enum asking_end end, cJSON *answer)
{
    switch (end) {
    case ASKING_DONE:
        jobs_wake(req->parts->jobs); /* jobs that waited for it may run */
        req_answer_json(req, 200, answer);
        break;
    case ASKING_LATE:
        answer_late(req);
        break;
    case ASKING_FULL:
        problem_answer(req, PROBLEM_UNAVAILABLE, "too many instances are being asked just now");
        break;
    case ASKING_STOPPING:
        problem_answer(req, PROBLEM_STOPPING, "ask again in a moment");
        break;
    }
}

static struct jobs_checking *begin(struct req *req, jobs_on_check *on_check, void *ctx)
{
    const struct reconcile *reconcile = req->then_arg;
    return jobs_reconcile_begin(req->parts->jobs, req->params[0], reconcile->dry_run, on_check,
                                ctx);
}

static int look_work(struct db *db, void *arg, struct err *err)
{
    struct instance_row row = {0};
    int rc = store_instance_get(db, arg, &row, err);
    instance_row_fini(&row);
    return rc;
}

static void find_and_hold(struct req *req)
{
    struct err err;
    char name[LIMIT_NAME_CHARS + 1];
    (void)snprintf(name, sizeof name, "%s", req->params[0]);
    if (!instance_name_is_valid(req->params[0]))
        problem_answer(req, PROBLEM_NOT_FOUND, "no instance has this name");
    else if (store_read(req->parts->store, look_work, name, &err) == 0)
        asking_hold(req, begin, answered);
    else if (err.code == ERR_NOT_FOUND)
        problem_answer(req, PROBLEM_NOT_FOUND, "no instance has this name");
    else
        problem_err(req, &err);
}

void instance_reconcile(struct req *req)
{
    struct json_faults faults = {0};
    struct reconcile *reconcile = req_alloc(req, sizeof *reconcile);
    req->then_arg = reconcile;
    if (req->json)
        json_read(req->json, fields, JSON_COUNT(fields), "", reconcile, &faults);
    if (faults.count > 0)
        problem_faults(req, &faults);
    else
        find_and_hold(req);
    json_faults_fini(&faults);
}
