/* POST /v1/jobs, GET /v1/jobs/{id} and its cancel. */
#include "jobs/jobs.h"
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/keys.h"
#include "api/waiting.h"
#include "server/ids.h"

#include <stdlib.h>
#include <string.h>

/* --- get ----------------------------------------------------------------------------------- */

/* After a hold. */
static void get_waited(struct req *req, enum waiting_end end)
{
    int seconds = 0;
    if (end == WAITING_STOPPED) {
        problem_answer(req, PROBLEM_STOPPING, "ask again in a moment; the job is not lost");
        return;
    }
    job_view_get(req, req->params[0]);
    if (req_prefers_wait(req, &seconds))
        req_answer_header(req, "Preference-Applied", "wait=%d", seconds);
}

void job_get(struct req *req)
{
    int seconds = 0;
    struct job_row row = {0};
    if (!req_prefers_wait(req, &seconds))
        job_view_get(req, req->params[0]);
    else if (job_view_read(req, req->params[0], &row) == 0)
        waiting_hold(req, req->params[0], seconds, get_waited);
    job_row_fini(&row);
}

/* --- post ---------------------------------------------------------------------------------- */

static void submission_cleanup(void *submission)
{
    submission_fini(submission);
}

/* After a hold: the job is durable, so even when the service stops this is a success. */
static void post_waited(struct req *req, enum waiting_end end)
{
    struct submission *submission = req->then_arg;
    struct job_row row = {0};
    int seconds = 0;
    (void)end;
    if (job_view_read(req, submission->row.id, &row) == 0)
        key_answer(req, submission, &row);
    else
        key_answer(req, submission, &submission->row);
    if (req_prefers_wait(req, &seconds))
        req_answer_header(req, "Preference-Applied", "wait=%d", seconds);
    job_row_fini(&row);
}

static void answer_not_stored(struct req *req, const struct err *err)
{
    if (key_refuses(req, err))
        return;
    if (err->code == ERR_NOT_FOUND)
        problem_fault(req, "/instance", "names an instance that is gone");
    else
        problem_err(req, err);
}

static void answer_or_wait(struct req *req, struct submission *submission)
{
    int seconds = 0;
    req->then_arg = submission;
    if (req_prefers_wait(req, &seconds))
        waiting_hold(req, submission->row.id, seconds, post_waited);
    else
        key_answer(req, submission, &submission->row);
}

static void post_stored(struct req *req, int rc, const struct err *err)
{
    struct submission *submission = req->then_arg;
    if (rc < 0) {
        answer_not_stored(req, err);
        return;
    }
    jobs_wake(req->parts->jobs);
    answer_or_wait(req, submission);
}

/* The trail names the job; a key that was known made none. */
static void audit_as_submit(struct req *req, const struct submission *submission)
{
    static const char path[] = "/v1/jobs/";
    char *object = req_alloc(req, sizeof path + strlen(submission->row.id));
    (void)stpcpy(stpcpy(object, path), submission->row.id);
    req->audit_object = object;
    req->audit_unless = &submission->replayed;
}

void job_post(struct req *req)
{
    struct err err = {.code = ERR_INPUT};
    struct json_faults faults = {0};
    struct submission *submission = req_alloc(req, sizeof *submission);
    req_defer(req, submission_cleanup, submission);
    char *body = json_print(req->json); /* the same text for the same body, whatever its blanks */
    bool is_sound = key_read(req, submission, body);
    free(body);
    if (!is_sound)
        return;
    if (key_is_known(req, submission)) {
        if (submission->replayed)
            answer_or_wait(req, submission);
        return;
    }
    if (jobs_check(req->parts->jobs, req->json, submission, &faults, &err) < 0) {
        problem_unfit(req, &faults, &err);
    } else if (problem_may_submit(req, submission->admin_only)) {
        audit_as_submit(req, submission);
        req_write(req, jobs_insert_work, submission, post_stored);
    }
    json_faults_fini(&faults);
}

/* --- cancel -------------------------------------------------------------------------------- */

static void cancel_done(struct req *req, int rc, const struct err *err)
{
    struct cancellation *cancellation = req->then_arg;
    if (rc == 0) {
        jobs_cancelled(req->parts->jobs, cancellation->id);
        job_view_answer(req, 202, &cancellation->row);
    } else if (err->code == ERR_NOT_FOUND) {
        job_view_unknown(req);
    } else {
        problem_err(req, err);
    }
}

void job_cancel(struct req *req)
{
    struct cancellation *cancellation = req_alloc(req, sizeof *cancellation);
    req_defer(req, job_view_cleanup, &cancellation->row);
    cancellation->jobs = req->parts->jobs;
    cancellation->id = req->params[0];
    if (!ids_is_valid(cancellation->id))
        job_view_unknown(req);
    else
        req_write(req, jobs_cancel_work, cancellation, cancel_done);
}
