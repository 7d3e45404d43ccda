/* GET /v1/jobs: newest first, by state, kind, instance, label and time. */
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/page.h"
#include "jobs/kind.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/ids.h"

#include <stdlib.h>
#include <string.h>

struct job_page {
    struct page page;
    struct job_filter filter;
    struct job_row *rows;
    size_t count;
};

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct job_page *found = arg;
    return store_job_list(db, &found->filter, &found->page.list, &found->rows, &found->count, err);
}

static void page_cleanup(void *what)
{
    struct job_page *found = what;
    job_rows_free(found->rows, found->count);
}

/* label=KEY:VALUE; the value may hold colons. */
static int read_label(struct req *req, const char *label, struct job_filter *filter)
{
    const char *colon = strchr(label, ':');
    if (!colon || colon == label) {
        problem_parameter(req, "label", "must be KEY:VALUE");
        return -1;
    }
    filter->label_key = req_copy(req, label, (size_t)(colon - label));
    filter->label_value = colon + 1;
    return 0;
}

/* A time; the + of its offset comes as a blank when a client does not encode it. */
static int read_since(struct req *req, const char *since, struct job_filter *filter)
{
    char *text = req_copy(req, since, strlen(since));
    char *blank = strchr(text, ' ');
    if (blank)
        *blank = '+';
    if (clock_parse(text, &filter->since))
        return 0;
    problem_parameter(req, "since", "must be a time such as 2026-12-01T00:00:00Z");
    return -1;
}

static int read_filter(struct req *req, struct job_filter *filter)
{
    const char *label = req_query(req, "label");
    const char *since = req_query(req, "since");
    filter->state = req_query(req, "state");
    filter->kind = req_query(req, "kind");
    filter->instance = req_query(req, "instance");
    if (filter->state && job_state_by_name(filter->state) == JOB_STATE_COUNT) {
        problem_parameter(req, "state", "must be the name of a state, such as queued or running");
        return -1;
    }
    if (filter->kind && !kind_by_name(filter->kind)) {
        problem_parameter(req, "kind", "must be the name of a kind; GET /v1/kinds lists them");
        return -1;
    }
    if (label && read_label(req, label, filter) < 0)
        return -1;
    return since ? read_since(req, since, filter) : 0;
}

void job_list(struct req *req)
{
    struct err err;
    struct job_page *found = req_alloc(req, sizeof *found);
    req_defer(req, page_cleanup, found);
    if (page_read(req, ids_is_valid, &found->page) < 0 || read_filter(req, &found->filter) < 0)
        return;
    if (store_read(req->parts->store, list_work, found, &err) < 0) {
        problem_err(req, &err);
        return;
    }
    cJSON *items = cJSON_CreateArray();
    size_t shown = page_shown(&found->page, found->count);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(items, job_view_json(req, &found->rows[i]));
    page_answer(req, items,
                page_has_more(&found->page, found->count) ? found->rows[shown - 1].id : NULL);
}
