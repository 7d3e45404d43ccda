/* POST /v1/plans: what a job would do, send and be refused for; nothing is stored. The request is
 * held while a thread of jobs/ looks at the instance. */
#include "api/asking.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>

/* Lives in the request's memory. */
struct planning {
    struct submission submission;
    char *refusal; /* what stands against it before the instance is asked, or NULL */
};

static void cleanup(void *what)
{
    struct planning *planning = what;
    submission_fini(&planning->submission);
    free(planning->refusal);
}

/* Checks the body; ERR_CONFLICT, which a plan shows, goes into planning->refusal. */
static int check(struct req *req, struct planning *planning, struct json_faults *faults,
                 struct err *err)
{
    int rc = jobs_check(req->parts->jobs, req->json, &planning->submission, faults, err);
    if (rc == 0 || err->code != ERR_CONFLICT)
        return rc;
    free(planning->refusal);
    planning->refusal = mem_copy(err->msg);
    return 0;
}

/* What can be said without the instance. The first row went to who asked it. */
static void answer_late(struct req *req, struct planning *planning)
{
    struct err err = {.code = ERR_INPUT};
    struct json_faults faults = {0};
    char why[64];
    (void)snprintf(why, sizeof why, "the instance did not answer within %g s",
                   (double)asking_limit_ms(req) / 1000);
    if (check(req, planning, &faults, &err) < 0)
        problem_unfit(req, &faults, &err);
    else
        req_answer_json(
            req, 200,
            jobs_plan_unasked(req->parts->jobs, &planning->submission.row, planning->refusal, why));
    json_faults_fini(&faults);
}

static void answered(struct req *req, enum asking_end end, cJSON *answer)
{
    switch (end) {
    case ASKING_DONE:
        req_answer_json(req, 200, answer);
        break;
    case ASKING_LATE:
        answer_late(req, req->then_arg);
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
    struct planning *planning = req->then_arg;
    return jobs_plan_begin(req->parts->jobs, &planning->submission.row, planning->refusal, on_check,
                           ctx);
}

void plan_post(struct req *req)
{
    struct err err = {.code = ERR_INPUT};
    struct json_faults faults = {0};
    struct planning *planning = req_alloc(req, sizeof *planning);
    req->then_arg = planning;
    req_defer(req, cleanup, planning);
    int rc = check(req, planning, &faults, &err);
    if (rc == 0 && problem_may_submit(req, planning->submission.admin_only))
        asking_hold(req, begin, answered);
    else if (rc < 0)
        problem_unfit(req, &faults, &err);
    json_faults_fini(&faults);
}
