#include "api/job_view.h"
#include "api/etag.h"
#include "api/http_inner.h"
#include "api/kept.h"
#include "jobs/jobs.h"
#include "jobs/state.h"
#include "server/ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct job_get {
    const char *id;
    struct job_row *row;
};

static int get_work(struct db *db, void *arg, struct err *err)
{
    struct job_get *get = arg;
    return store_job_get(db, get->id, get->row, err);
}

void job_view_unknown(struct req *req)
{
    problem_answer(req, PROBLEM_NOT_FOUND, "no job has this id");
}

void job_view_cleanup(void *row)
{
    job_row_fini(row);
}

int job_view_read(struct req *req, const char *id, struct job_row *out)
{
    struct err err = {.code = ERR_NOT_FOUND};
    struct job_get get = {.id = id, .row = out};
    if (ids_is_valid(get.id) && store_read(req->parts->store, get_work, &get, &err) == 0)
        return 0;
    if (err.code == ERR_NOT_FOUND)
        job_view_unknown(req);
    else
        problem_err(req, &err);
    return -1;
}

/* True and *out filled when a trial of the job runs here and now. */
static bool current_of(struct req *req, const struct job_row *row, struct job_current *out)
{
    return job_state_by_name(row->state) == JOB_RUNNING &&
           jobs_current(req->parts->jobs, row->id, out);
}

cJSON *job_view_json(struct req *req, const struct job_row *row)
{
    struct job_current current;
    bool runs = current_of(req, row, &current);
    return job_to_json(row, runs ? &current : NULL);
}

/* The progress of the running trial is not stored, so the version alone would hide it. */
static void etag_of(const struct job_row *row, const struct job_current *current,
                    char out[ETAG_SIZE])
{
    if (current)
        (void)snprintf(out, ETAG_SIZE, "\"%" PRId64 ".%d.%d\"", row->version, current->arm,
                       current->percent);
    else
        etag_of_version(row->version, out);
}

void job_view_answer(struct req *req, int status, const struct job_row *row)
{
    char etag[ETAG_SIZE];
    struct job_current current;
    bool runs = current_of(req, row, &current);
    req_answer_json(req, status, job_to_json(row, runs ? &current : NULL));
    etag_of(row, runs ? &current : NULL, etag);
    (void)req_answer_etag(req, etag); /* 304 is answered by it */
}

/* Reads and makes what can be kept. NULL when there is none, and 404 or 503 is answered. */
static struct kept *make_kept(struct req *req, const char *id)
{
    struct kept *kept = NULL;
    struct job_row row = {0};
    struct store_mark mark = store_mark(req->parts->store); /* before what it stands for */
    if (job_view_read(req, id, &row) == 0) {
        struct job_current current;
        bool runs = current_of(req, &row, &current);
        cJSON *tree = job_to_json(&row, runs ? &current : NULL);
        kept = kept_new(row.id, json_print(tree));
        kept->mark = mark;
        kept->may_run = job_state_by_name(row.state) == JOB_RUNNING;
        kept->runs = runs;
        if (runs)
            kept->now = current;
        etag_of(&row, runs ? &current : NULL, kept->etag);
        cJSON_Delete(tree);
        keeping_put(req->http->keeping, kept);
    }
    job_row_fini(&row);
    return kept;
}

/* What runs is not stored. */
static bool runs_as_kept(struct req *req, const struct kept *kept)
{
    struct job_current now;
    if (!kept->may_run)
        return true;
    bool runs = jobs_current(req->parts->jobs, kept->id, &now);
    return runs == kept->runs &&
           (!runs || (now.arm == kept->now.arm && now.percent == kept->now.percent &&
                      strcmp(now.label, kept->now.label) == 0));
}

void job_view_get(struct req *req, const char *id)
{
    struct kept *kept = keeping_find(req->http->keeping, req->parts->store, id);
    if (kept && !runs_as_kept(req, kept)) {
        kept_drop(kept);
        kept = NULL;
    }
    if (!kept)
        kept = make_kept(req, id);
    if (!kept)
        return;
    req_answer_kept(req, kept);
    (void)req_answer_etag(req, kept->etag); /* 304 is answered by it */
    kept_drop(kept);
}
