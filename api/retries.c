/* POST /v1/jobs/{id}/retry: an ended job once more, as a new one. */
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/keys.h"
#include "jobs/jobs.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/mem.h"

#include <stdlib.h>

static void submission_cleanup(void *submission)
{
    submission_fini(submission);
}

static void stored(struct req *req, int rc, const struct err *err)
{
    const struct submission *submission = req->then_arg;
    if (rc < 0 && key_refuses(req, err))
        return;
    if (rc < 0 && err->code == ERR_NOT_FOUND) {
        problem_answer(req, PROBLEM_CONFLICT, "its instance is gone");
        return;
    }
    if (rc < 0) {
        problem_err(req, err);
        return;
    }
    jobs_wake(req->parts->jobs);
    key_answer(req, submission, &submission->row);
}

/* What was right when the job was submitted may be wrong now; the caller sent no body to mend. */
static void refuse(struct req *req, const struct json_faults *faults, const struct err *err)
{
    if (err->code == ERR_INPUT && faults->count > 0)
        problem_answer(req, PROBLEM_CONFLICT, "its definition is not accepted any more: %s %s",
                       faults->items[0].pointer, faults->items[0].detail);
    else
        problem_err(req, err);
}

static void submit(struct req *req, const struct job_row *old, struct submission *submission)
{
    struct err err = {.code = ERR_INPUT};
    struct json_faults faults = {0};
    req->json = job_retry_body(old, clock_wall_ms()); /* lives as long as the request */
    if (jobs_check(req->parts->jobs, req->json, submission, &faults, &err) < 0) {
        refuse(req, &faults, &err);
    } else if (problem_may_submit(req, submission->admin_only)) {
        submission->row.retry_of = mem_copy(old->id);
        req->audit_unless = &submission->replayed;
        req_write(req, jobs_insert_work, submission, stored);
    }
    json_faults_fini(&faults);
}

/* The request has no body of its own: what it asks for is its path. No body of a submit reads like
 * this. */
static bool read_key(struct req *req, struct submission *submission)
{
    char *request = mem_format("retry %s", req->params[0]);
    bool is_sound = key_read(req, submission, request);
    free(request);
    return is_sound;
}

void job_retry(struct req *req)
{
    struct job_row old = {0};
    struct submission *submission = req_alloc(req, sizeof *submission);
    req_defer(req, submission_cleanup, submission);
    cJSON_Delete(req_take_json(req)); /* {} at most */
    if (!read_key(req, submission)) {
        /* it has answered */
    } else if (key_is_known(req, submission)) {
        if (submission->replayed)
            key_answer(req, submission, &submission->row);
    } else if (job_view_read(req, req->params[0], &old) < 0) {
        /* it has answered */
    } else if (!job_is_done(&old)) {
        problem_answer(req, PROBLEM_CONFLICT, "the job has not ended: it is %s", old.state);
    } else {
        submit(req, &old, submission);
    }
    job_row_fini(&old);
}
