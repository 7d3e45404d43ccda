#pragma once
/* Idempotency-Key (api.md §1): a call that makes a job makes it once, however often it is sent.
 * Threads: the request's. */
#include "api/request.h"
#include "jobs/jobs.h"

/* Takes the header into the submission, with the fingerprint of `request`: equal for the same
 * request whenever it comes, different for any other. Without the header nothing is done. False:
 * it is no key, and 400 was answered. */
bool key_read(struct req *req, struct submission *submission, const char *request);

/* Looks for an earlier call with the key. True: it is known; then either the submission's row is
 * the first call's job and `replayed` is set, or an error was answered and it is not. This comes
 * before the request is checked: what was accepted once is answered alike however its instance has
 * changed since. */
bool key_is_known(struct req *req, struct submission *submission);

/* 202, or 200 for a replay, with the job and where it is. */
void key_answer(struct req *req, const struct submission *submission, const struct job_row *row);

/* Answers a store_write of jobs_insert_work that failed because the key stands for another
 * request. False: it failed for something else, and nothing was answered. */
bool key_refuses(struct req *req, const struct err *err);
