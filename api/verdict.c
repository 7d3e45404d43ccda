/* GET /v1/jobs/{id}/verdict?wait=S: an exit status for scripts. 200 it is well, 409 it is not, 408
 * it has not ended yet, which curl --retry takes as a reason to ask again.
 * GET /v1/verdict?key=K&wait=S: the same of the job that was submitted with this Idempotency-Key,
 * for callers that cannot read an id out of an answer, such as a step of SQL Server Agent. */
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/waiting.h"
#include "jobs/state.h"
#include "server/ids.h"
#include "server/limits.h"

#include <stdlib.h>
#include <string.h>

#define NOT_HELD_S 5 /* when to ask again where a wait could not be held */

struct verdict {
    const char *id;
    struct job_row row;
    char *report; /* NULL: there is none */
};

static void verdict_cleanup(void *what)
{
    struct verdict *verdict = what;
    job_row_fini(&verdict->row);
    free(verdict->report);
}

static int read_work(struct db *db, void *arg, struct err *err)
{
    struct verdict *verdict = arg;
    if (store_job_get(db, verdict->id, &verdict->row, err) < 0)
        return -1;
    if (!job_is_done(&verdict->row) ||
        store_report_get(db, verdict->id, &verdict->report, err) == 0 || err->code == ERR_NOT_FOUND)
        return 0;
    return -1;
}

/* The report's comparison with its baseline; NULL when there is none. */
static cJSON *take_baseline(const struct verdict *verdict)
{
    cJSON *report = verdict->report ? cJSON_Parse(verdict->report) : NULL; /* written by us */
    cJSON *baseline = cJSON_DetachItemFromObjectCaseSensitive(report, "baseline");
    cJSON_Delete(report);
    if (cJSON_IsObject(baseline))
        return baseline;
    cJSON_Delete(baseline);
    return NULL;
}

static void answer_bad_end(struct req *req, const struct job_row *row)
{
    cJSON *error = row->error ? cJSON_Parse(row->error) : NULL; /* written by us */
    const cJSON *message = json_member(error, "message");
    bool says = cJSON_IsString(message);
    problem_answer(req, PROBLEM_BAD_VERDICT, "the job ended as %s%s%s", row->state,
                   says ? ": " : "", says ? message->valuestring : "");
    cJSON_Delete(error);
}

static void answer_regressed(struct req *req, const struct job_row *row, const cJSON *baseline)
{
    const cJSON *job = json_member(baseline, "job");
    const cJSON *ratio = json_member(baseline, "ratio");
    problem_answer(req, PROBLEM_BAD_VERDICT,
                   "regressed: %.3g times the speed of its baseline%s%s%s%s",
                   cJSON_IsNumber(ratio) ? ratio->valuedouble : 0.0,
                   cJSON_IsString(job) ? ", job " : "", cJSON_IsString(job) ? job->valuestring : "",
                   row->summary ? "; " : "", row->summary ? row->summary : "");
}

static void answer_good_end(struct req *req, const struct job_row *row, const cJSON *baseline)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "job", json_text(row->id));
    cJSON_AddItemToObject(tree, "state", json_text(row->state));
    cJSON_AddItemToObject(tree, "summary", json_text(row->summary));
    cJSON_AddFalseToObject(tree, "regressed");
    cJSON_AddItemToObject(tree, "baseline",
                          baseline ? cJSON_Duplicate(baseline, true) : cJSON_CreateNull());
    req_answer_json(req, 200, tree);
}

static void answer_end(struct req *req, const struct verdict *verdict)
{
    const struct job_row *row = &verdict->row;
    enum job_state state = job_state_by_name(row->state);
    cJSON *baseline = take_baseline(verdict);
    if (state != JOB_SUCCEEDED && state != JOB_INCONCLUSIVE)
        answer_bad_end(req, row);
    else if (cJSON_IsTrue(json_member(baseline, "regressed")))
        answer_regressed(req, row, baseline);
    else
        answer_good_end(req, row, baseline);
    cJSON_Delete(baseline);
}

/* Reads and answers; *out_ended is false when it answered 408. -1: it answered an error. */
static int answer_now(struct req *req, bool *out_ended)
{
    struct err err = {.code = ERR_NOT_FOUND};
    struct verdict *verdict = req_alloc(req, sizeof *verdict);
    verdict->id = req->params[0];
    req_defer(req, verdict_cleanup, verdict);
    if (!ids_is_valid(verdict->id) || store_read(req->parts->store, read_work, verdict, &err) < 0) {
        if (err.code == ERR_NOT_FOUND)
            job_view_unknown(req);
        else
            problem_err(req, &err);
        return -1;
    }
    *out_ended = job_is_done(&verdict->row);
    if (*out_ended)
        answer_end(req, verdict);
    else
        problem_answer(req, PROBLEM_NOT_ENDED, "the job has not ended: it is %s%s%s%s; ask again",
                       verdict->row.state, verdict->row.state_reason ? " (" : "",
                       verdict->row.state_reason ? verdict->row.state_reason : "",
                       verdict->row.state_reason ? ")" : "");
    return 0;
}

static void waited(struct req *req, enum waiting_end end)
{
    bool ended = false;
    if (answer_now(req, &ended) < 0 || ended)
        return;
    if (end == WAITING_STOPPED)
        problem_answer(req, PROBLEM_STOPPING, "ask again in a moment; the job is not lost");
    else if (req->is_not_held) /* else who repeats after a second would soon give up */
        req_answer_header(req, "Retry-After", "%d", NOT_HELD_S);
}

/* False: it answered what is wrong. */
static bool read_wait(struct req *req, int *out_seconds)
{
    const char *text = req_query(req, "wait");
    if (!text)
        return true;
    size_t digits = strspn(text, "0123456789");
    long seconds = digits >= 1 && digits <= 4 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;
    if (seconds < 0 || seconds > LIMIT_WAIT_S) {
        problem_parameter(req, "wait", "must be whole seconds, 0 to %d", LIMIT_WAIT_S);
        return false;
    }
    *out_seconds = (int)seconds;
    return true;
}

/* Of the job in req->params[0]. */
static void answer_or_hold(struct req *req, int seconds)
{
    bool ended = false;
    if (answer_now(req, &ended) == 0 && !ended && seconds > 0)
        waiting_hold(req, req->params[0], seconds, waited);
}

void verdict_get(struct req *req)
{
    int seconds = 0;
    if (read_wait(req, &seconds))
        answer_or_hold(req, seconds);
}

/* --- by key -------------------------------------------------------------------------------- */

struct key_owner {
    const char *key;
    char *job; /* NULL: the key is not known */
};

static void key_owner_cleanup(void *what)
{
    struct key_owner *owner = what;
    free(owner->job);
}

static int find_owner_work(struct db *db, void *arg, struct err *err)
{
    struct key_owner *owner = arg;
    char *fingerprint = NULL;
    int rc = store_key_find(db, owner->key, &owner->job, &fingerprint, err);
    free(fingerprint);
    return rc < 0 ? -1 : 0;
}

void verdict_by_key_get(struct req *req)
{
    struct err err = {0};
    int seconds = 0;
    struct key_owner *owner = req_alloc(req, sizeof *owner);
    req_defer(req, key_owner_cleanup, owner);
    if (!read_wait(req, &seconds))
        return;
    owner->key = req_query(req, "key");
    if (!owner->key || !*owner->key) {
        problem_parameter(req, "key", "is needed: the Idempotency-Key that the job was sent with");
        return;
    }
    if (store_read(req->parts->store, find_owner_work, owner, &err) < 0) {
        problem_err(req, &err);
    } else if (!owner->job) {
        problem_answer(req, PROBLEM_NOT_FOUND, "no job was sent with this key in the last %d days",
                       LIMIT_IDEMPOTENCY_DAYS);
    } else {
        req->params[0] = owner->job; /* lives as long as the request */
        answer_or_hold(req, seconds);
    }
}
