#pragma once
/* Jobs as they are shown: read, made into JSON with what runs now, answered with their ETag. */
#include "api/request.h"
#include "server/store_rows.h"

/* Reads a job into *out, which the caller ends with job_row_fini. Answers 404 or 503 and returns
 * -1 when there is none. */
MUST_CHECK int job_view_read(struct req *req, const char *id, struct job_row *out);

/* Answers GET with the job, from what is kept when that still holds. */
void job_view_get(struct req *req, const char *id);

/* Answers with the job; a GET whose If-None-Match names its state gets 304. */
void job_view_answer(struct req *req, int status, const struct job_row *row);

/* The job as JSON, with the trial that runs now. The caller frees it. */
cJSON *job_view_json(struct req *req, const struct job_row *row);

/* 404 for an id that names no job. */
void job_view_unknown(struct req *req);

/* req_cleanup for a struct job_row. */
void job_view_cleanup(void *row);
