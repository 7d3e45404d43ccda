#include "api/keys.h"
#include "api/job_view.h"
#include "api/problem.h"
#include "server/clock.h"
#include "server/hash.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define KEY_MAX 200 /* api.md: 1..200 visible ASCII characters */
#define KEY_LIFE_MS ((int64_t)LIMIT_IDEMPOTENCY_DAYS * 86400000)

static bool key_is_valid(const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++)
        if (key[i] <= ' ' || key[i] > '~')
            return false;
    return length >= 1 && length <= KEY_MAX;
}

bool key_read(struct req *req, struct submission *submission, const char *request)
{
    char hex[HASH_HEX_SIZE];
    const char *key = req_header(req, "Idempotency-Key");
    if (!key)
        return true;
    if (!key_is_valid(key)) {
        problem_answer(req, PROBLEM_MALFORMED,
                       "an Idempotency-Key is 1 to %d visible ASCII characters", KEY_MAX);
        return false;
    }
    submission->key = mem_copy(key);
    submission->fingerprint = mem_copy(hash_hex(request, hex));
    return true;
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

bool key_is_known(struct req *req, struct submission *submission)
{
    struct err err;
    struct key_look look = {.key = submission->key};
    bool is_known = true;
    if (!submission->key)
        return false;
    if (store_read(req->parts->store, look_work, &look, &err) < 0) {
        problem_err(req, &err);
    } else if (!look.known) {
        is_known = false;
    } else if (strcmp(look.fingerprint, submission->fingerprint) != 0) {
        problem_answer(req, PROBLEM_KEY_REUSED,
                       "this Idempotency-Key was used with another request for job %s",
                       look.row.id);
    } else {
        submission->row = look.row;
        look.row = (struct job_row){0};
        submission->replayed = true;
    }
    job_row_fini(&look.row);
    free(look.fingerprint);
    return is_known;
}

void key_answer(struct req *req, const struct submission *submission, const struct job_row *row)
{
    job_view_answer(req, submission->replayed ? 200 : 202, row);
    req_answer_header(req, "Location", "/v1/jobs/%s", row->id);
    if (submission->replayed)
        req_answer_header(req, "Idempotency-Replayed", "true");
}

bool key_refuses(struct req *req, const struct err *err)
{
    if (err->code == ERR_REFUSED)
        problem_answer(req, PROBLEM_KEY_REUSED, "%s", err->msg);
    return err->code == ERR_REFUSED;
}
