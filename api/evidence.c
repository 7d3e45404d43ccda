/* GET /v1/jobs/{id}/evidence: everything the report was made from, with its checksum. */
#include "jobs/evidence.h"
#include "api/etag.h"
#include "api/handlers.h"
#include "api/job_view.h"
#include "jobs/jobs.h"
#include "jobs/state.h"

#include <stdio.h>
#include <stdlib.h>

struct evidence_get {
    const char *job;
    struct job_row row; /* its id is NULL when there is no such job */
    char *document;
};

static int get_work(struct db *db, void *arg, struct err *err)
{
    struct evidence_get *get = arg;
    if (store_job_get(db, get->job, &get->row, err) < 0)
        return -1;
    return store_evidence_get(db, get->job, &get->document, err);
}

/* Sent as it is stored: a bit that was lost there must not be mended by a new checksum. */
static void answer_document(struct req *req, char *document)
{
    char etag[ETAG_SIZE] = "\"\"";
    const char *sum = evidence_sum(document);
    if (sum)
        (void)snprintf(etag, sizeof etag, "\"%.32s\"", sum);
    req_answer_text(req, 200, MEDIA_JSON, document);
    if (sum)
        (void)req_answer_etag(req, etag); /* 304 is answered by it */
}

void evidence_get(struct req *req)
{
    struct err err;
    struct evidence_get get = {.job = req->params[0]};
    if (store_read(req->parts->store, get_work, &get, &err) == 0)
        answer_document(req, get.document);
    else if (err.code != ERR_NOT_FOUND)
        problem_err(req, &err);
    else if (!get.row.id)
        job_view_unknown(req);
    else if (!job_is_done(&get.row))
        problem_answer(req, PROBLEM_NOT_FOUND, "this job has no evidence yet: it is %s",
                       get.row.state);
    else
        problem_answer(req, PROBLEM_NOT_FOUND, "this job ended without evidence: %s",
                       get.row.state);
    job_row_fini(&get.row);
}
