/* GET /v1/jobs/{id}/report: JSON, or Markdown or a page for people. */
#include "api/etag.h"
#include "api/handlers.h"
#include "api/job_view.h"
#include "jobs/jobs.h"
#include "jobs/state.h"
#include "server/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report_get {
    const char *job;
    struct job_row row; /* its id is NULL when there is no such job */
    char *document;
};

static int get_work(struct db *db, void *arg, struct err *err)
{
    struct report_get *get = arg;
    if (store_job_get(db, get->job, &get->row, err) < 0)
        return -1;
    return store_report_get(db, get->job, &get->document, err);
}

/* A report has no version of its own: the first half of its text's SHA-256 stands for it. */
static const char *etag_of_text(const char *text, char out[ETAG_SIZE])
{
    char hex[HASH_HEX_SIZE];
    (void)snprintf(out, ETAG_SIZE, "\"%.32s\"", hash_hex(text, hex));
    return out;
}

/* What names of databases say is text already; this is the second lock on that door. Who may frame
 * the page only a header can say. */
static void add_policy(struct req *req)
{
    char *policy = job_report_policy();
    req_answer_header(req, "Content-Security-Policy", "%s; frame-ancestors 'none'", policy);
    req_answer_header(req, "Referrer-Policy", "no-referrer");
    free(policy);
}

/* Takes document over. */
static void answer_document(struct req *req, char *document)
{
    char etag[ETAG_SIZE];
    char *text = document;
    if (req->media == MEDIA_MARKDOWN)
        text = job_report_markdown(document);
    else if (req->media == MEDIA_HTML)
        text = job_report_html(document);
    if (text != document)
        free(document);
    etag_of_text(text, etag);
    req_answer_text(req, 200, req->media, text);
    req_answer_header(req, "Vary", "Accept");
    if (req->media == MEDIA_HTML)
        add_policy(req);
    (void)req_answer_etag(req, etag); /* 304 is answered by it */
}

/* A job that ended without a report will never have one. */
static void answer_none(struct req *req, const struct job_row *row)
{
    cJSON *error = cJSON_Parse(row->error ? row->error : "null"); /* written by us */
    const cJSON *message = json_member(error, "message");
    if (!job_is_done(row))
        problem_answer(req, PROBLEM_NOT_FOUND, "this job has no report yet: it is %s", row->state);
    else
        problem_answer(req, PROBLEM_NOT_FOUND, "this job ended without a report: %s%s%s",
                       row->state, cJSON_IsString(message) ? ", " : "",
                       cJSON_IsString(message) ? message->valuestring : "");
    cJSON_Delete(error);
}

void report_get(struct req *req)
{
    struct err err;
    struct report_get get = {.job = req->params[0]};
    if (store_read(req->parts->store, get_work, &get, &err) == 0)
        answer_document(req, get.document);
    else if (err.code != ERR_NOT_FOUND)
        problem_err(req, &err);
    else if (get.row.id)
        answer_none(req, &get.row);
    else
        job_view_unknown(req);
    job_row_fini(&get.row);
}
