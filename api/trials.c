/* GET /v1/jobs/{id}/trials: JSON in pages, oldest first, or CSV. */
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/page.h"
#include "api/trial_csv.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

struct trial_page {
    struct page page;
    const char *job;
    bool all; /* CSV without limit and cursor: a file, not a page */
    char **documents;
    size_t count;
};

static void answer_csv(struct req *req, const struct trial_page *found, size_t shown)
{
    struct buf csv = {0};
    trial_csv_head(&csv);
    for (size_t i = 0; i < shown; i++)
        trial_csv_row(&csv, found->documents[i]);
    if (buf_ok(&csv))
        req_answer_text(req, 200, MEDIA_CSV, buf_take(&csv));
    else
        problem_answer(req, PROBLEM_REFUSED, "the file is too large; ask for pages with limit");
    buf_fini(&csv);
}

/* --- the list ------------------------------------------------------------------------------ */

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct trial_page *found = arg;
    struct job_row row = {0};
    int rc = store_job_get(db, found->job, &row, err); /* no trials of an unknown job is 404 */
    job_row_fini(&row);
    if (rc < 0)
        return -1;
    if (found->all)
        return store_trial_all(db, found->job, &found->documents, &found->count, err);
    return store_trial_list(db, found->job, &found->page.list, &found->documents, &found->count,
                            err);
}

static void page_cleanup(void *what)
{
    struct trial_page *found = what;
    for (size_t i = 0; i < found->count; i++)
        free(found->documents[i]);
    free(found->documents);
}

static bool seq_is_valid(const char *cursor)
{
    size_t digits = strspn(cursor, "0123456789");
    return digits >= 1 && digits <= 9 && cursor[digits] == '\0';
}

/* The cursor after a page: the seq of its last trial. The caller frees it. */
static char *seq_of(const char *document)
{
    cJSON *trial = cJSON_Parse(document);
    const cJSON *seq = json_member(trial, "seq");
    char *text = seq ? json_print(seq) : NULL;
    cJSON_Delete(trial);
    return text;
}

static void answer_found(struct req *req, const struct trial_page *found)
{
    size_t shown = found->all ? found->count : page_shown(&found->page, found->count);
    bool more = !found->all && page_has_more(&found->page, found->count);
    char *next = more ? seq_of(found->documents[shown - 1]) : NULL;
    if (req->media == MEDIA_CSV) {
        answer_csv(req, found, shown);
        page_link(req, next);
    } else {
        cJSON *items = cJSON_CreateArray();
        for (size_t i = 0; i < shown; i++)
            cJSON_AddItemToArray(items, cJSON_CreateRaw(found->documents[i]));
        page_answer(req, items, next);
    }
    req_answer_header(req, "Vary", "Accept");
    free(next);
}

void trial_list(struct req *req)
{
    struct err err;
    struct trial_page *found = req_alloc(req, sizeof *found);
    req_defer(req, page_cleanup, found);
    if (page_read(req, seq_is_valid, &found->page) < 0)
        return;
    found->job = req->params[0];
    found->all = req->media == MEDIA_CSV && req->target.query_count == 0;
    if (store_read(req->parts->store, list_work, found, &err) == 0)
        answer_found(req, found);
    else if (err.code == ERR_NOT_FOUND)
        job_view_unknown(req);
    else
        problem_err(req, &err);
}
