#include "api/job_view.h"
#include "api/etag.h"
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

void job_view_answer(struct req *req, int status, const struct job_row *row)
{
    char etag[ETAG_SIZE];
    struct job_current current;
    bool runs = current_of(req, row, &current);
    req_answer_json(req, status, job_to_json(row, runs ? &current : NULL));
    /* The progress of the running trial is not stored, so the version alone would hide it. */
    if (runs)
        (void)snprintf(etag, sizeof etag, "\"%" PRId64 ".%d.%d\"", row->version, current.arm,
                       current.percent);
    else
        etag_of_version(row->version, etag);
    (void)req_answer_etag(req, etag); /* 304 is answered by it */
}
