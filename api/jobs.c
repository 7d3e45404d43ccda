/* POST /v1/jobs, GET /v1/jobs/{id} and its cancel. */
#include "jobs/jobs.h"
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/waiting.h"
#include "server/clock.h"
#include "server/hash.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define KEY_MAX 200 /* api.md: 1..200 visible ASCII characters */
#define KEY_LIFE_MS ((int64_t)LIMIT_IDEMPOTENCY_DAYS * 86400000)

/* --- get ----------------------------------------------------------------------------------- */

static void get_answer(struct req *req)
{
    struct job_row row = {0};
    if (job_view_read(req, req->params[0], &row) == 0)
        job_view_answer(req, 200, &row);
    job_row_fini(&row);
}

/* After a hold. */
static void get_waited(struct req *req, enum waiting_end end)
{
    int seconds = 0;
    if (end == WAITING_STOPPED) {
        problem_answer(req, PROBLEM_STOPPING, "ask again in a moment; the job is not lost");
        return;
    }
    get_answer(req);
    if (req_prefers_wait(req, &seconds))
        req_answer_header(req, "Preference-Applied", "wait=%d", seconds);
}

void job_get(struct req *req)
{
    int seconds = 0;
    struct job_row row = {0};
    if (!req_prefers_wait(req, &seconds))
        get_answer(req);
    else if (job_view_read(req, req->params[0], &row) == 0)
        waiting_hold(req, req->params[0], seconds, get_waited);
    job_row_fini(&row);
}

/* --- post ---------------------------------------------------------------------------------- */

static bool key_is_valid(const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++)
        if (key[i] <= ' ' || key[i] > '~')
            return false;
    return length >= 1 && length <= KEY_MAX;
}

/* The same body gives the same text, whatever its blanks. The caller frees it. */
static char *fingerprint_of(const cJSON *body)
{
    char hex[HASH_HEX_SIZE];
    char *text = json_print(body);
    hash_hex(text, hex);
    free(text);
    return mem_copy(hex);
}

static void submission_cleanup(void *submission)
{
    submission_fini(submission);
}

static void answer_submission(struct req *req, const struct submission *submission,
                              const struct job_row *row)
{
    job_view_answer(req, submission->replayed ? 200 : 202, row);
    req_answer_header(req, "Location", "/v1/jobs/%s", row->id);
    if (submission->replayed)
        req_answer_header(req, "Idempotency-Replayed", "true");
}

/* After a hold: the job is durable, so even when the service stops this is a success. */
static void post_waited(struct req *req, enum waiting_end end)
{
    struct submission *submission = req->then_arg;
    struct job_row row = {0};
    int seconds = 0;
    (void)end;
    if (job_view_read(req, submission->row.id, &row) == 0)
        answer_submission(req, submission, &row);
    else
        answer_submission(req, submission, &submission->row);
    if (req_prefers_wait(req, &seconds))
        req_answer_header(req, "Preference-Applied", "wait=%d", seconds);
    job_row_fini(&row);
}

static void answer_not_stored(struct req *req, const struct err *err)
{
    if (err->code == ERR_REFUSED)
        problem_answer(req, PROBLEM_KEY_REUSED, "%s", err->msg);
    else if (err->code == ERR_NOT_FOUND)
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
        answer_submission(req, submission, &submission->row);
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

/* What an earlier call with the same key left. */
struct key_look {
    const char *key;
    char *fingerprint;
    struct job_row row;
    bool known;
};

static int look_work(struct db *db, void *arg, struct err *err)
{
    struct key_look *look = arg;
    char *job = NULL;
    int found = store_key_find(db, look->key, &job, &look->fingerprint, err);
    if (found == 1 && store_job_get(db, job, &look->row, err) < 0)
        found = -1;
    free(job);
    /* one that has lived its days is forgotten by the next write, which then takes it anew */
    look->known =
        found == 1 && look->fingerprint && clock_wall_ms() - look->row.created_at < KEY_LIFE_MS;
    return found < 0 ? -1 : 0;
}

/* Answers and returns true when the key is known. This comes before the body is checked: what was
 * accepted once is answered alike however its instance has changed since. */
static bool post_replayed(struct req *req, struct submission *submission)
{
    struct err err;
    struct key_look look = {.key = submission->key};
    bool answered = true;
    if (!submission->key || !submission->fingerprint)
        return false;
    if (store_read(req->parts->store, look_work, &look, &err) < 0) {
        problem_err(req, &err);
    } else if (!look.known) {
        answered = false;
    } else if (strcmp(look.fingerprint, submission->fingerprint) != 0) {
        problem_answer(req, PROBLEM_KEY_REUSED,
                       "this Idempotency-Key was used with another body for job %s", look.row.id);
    } else {
        submission->row = look.row;
        look.row = (struct job_row){0};
        submission->replayed = true;
        answer_or_wait(req, submission);
    }
    job_row_fini(&look.row);
    free(look.fingerprint);
    return answered;
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
    const char *key = req_header(req, "Idempotency-Key");
    struct submission *submission = req_alloc(req, sizeof *submission);
    req_defer(req, submission_cleanup, submission);
    if (key && !key_is_valid(key)) {
        problem_answer(req, PROBLEM_MALFORMED,
                       "an Idempotency-Key is 1 to %d visible ASCII characters", KEY_MAX);
        return;
    }
    submission->key = mem_copy(key);
    submission->fingerprint = key ? fingerprint_of(req->json) : NULL;
    if (post_replayed(req, submission))
        return;
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
