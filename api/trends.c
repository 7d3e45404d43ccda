/* GET /v1/trends: an instance's speeds over many jobs. GET /v1/compare: one job against another. */
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/page.h"
#include "jobs/compare.h"
#include "jobs/kind.h"
#include "jobs/series.h"
#include "jobs/state.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define JOBS_DEFAULT 200 /* newest ones that a trend is made of, when no limit= is given */

/* --- trends --------------------------------------------------------------------------------- */

struct trend_get {
    struct page page;
    struct job_filter filter;
    struct job_row *rows; /* newest first, as the store lists them */
    size_t count;
    char **reports; /* one a row; NULL: it has none */
};

static int trend_work(struct db *db, void *arg, struct err *err)
{
    struct trend_get *get = arg;
    if (store_job_list(db, &get->filter, &get->page.list, &get->rows, &get->count, err) < 0)
        return -1;
    get->reports = mem_alloc(get->count + 1, sizeof *get->reports);
    for (size_t i = 0; i < get->count; i++)
        if (store_report_get(db, get->rows[i].id, &get->reports[i], err) < 0 &&
            err->code != ERR_NOT_FOUND)
            return -1;
    return 0;
}

static void trend_cleanup(void *what)
{
    struct trend_get *get = what;
    for (size_t i = 0; i < get->count && get->reports; i++)
        free(get->reports[i]);
    free(get->reports);
    job_rows_free(get->rows, get->count);
}

static int by_time(const void *left, const void *right)
{
    const struct series_job *a = left;
    const struct series_job *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return strcmp(a->id, b->id);
}

static cJSON *series_of(struct req *req, const struct trend_get *get)
{
    struct series_job *jobs = mem_alloc(get->count + 1, sizeof *jobs);
    size_t count = 0;
    for (size_t i = 0; i < get->count; i++) {
        cJSON *report = get->reports[i] ? cJSON_Parse(get->reports[i]) : NULL; /* written by us */
        if (report)
            jobs[count++] = (struct series_job){get->rows[i].id, get->rows[i].finished_at, report};
    }
    qsort(jobs, count, sizeof *jobs, by_time);
    cJSON *tree = series_make(jobs, count, req_query(req, "database"), req_query(req, "target"));
    for (size_t i = 0; i < count; i++)
        cJSON_Delete((cJSON *)(uintptr_t)jobs[i].report);
    free(jobs);
    return tree;
}

void trend_get(struct req *req)
{
    struct err err;
    struct trend_get *get = req_alloc(req, sizeof *get);
    req_defer(req, trend_cleanup, get);
    if (page_read(req, ids_is_valid, &get->page) < 0)
        return;
    if (!req_query(req, "limit"))
        get->page.limit = JOBS_DEFAULT;
    get->page.list.limit = (int64_t)get->page.limit;
    get->filter = (struct job_filter){.state = job_state_name(JOB_SUCCEEDED),
                                      .instance = req_query(req, "instance"),
                                      .kind = req_query(req, "kind")};
    if (!get->filter.instance || !get->filter.kind) {
        problem_parameter(req, get->filter.instance ? "kind" : "instance",
                          "is needed: a trend is of one instance and one kind");
        return;
    }
    if (!kind_by_name(get->filter.kind)) {
        problem_parameter(req, "kind", "must be the name of a kind; GET /v1/kinds lists them");
        return;
    }
    if (store_read(req->parts->store, trend_work, get, &err) < 0)
        problem_err(req, &err);
    else
        req_answer_json(req, 200, series_of(req, get));
}

/* --- compare -------------------------------------------------------------------------------- */

enum { BASE, CANDIDATE, SIDES };

struct compare_get {
    const char *ids[SIDES];
    struct job_row rows[SIDES];
    char *documents[SIDES]; /* NULL: it has no evidence */
    struct evidence evidence[SIDES];
};

static int compare_work(struct db *db, void *arg, struct err *err)
{
    struct compare_get *get = arg;
    for (int side = 0; side < SIDES; side++) {
        if (store_job_get(db, get->ids[side], &get->rows[side], err) < 0)
            return -1;
        if (store_evidence_get(db, get->ids[side], &get->documents[side], err) < 0 &&
            err->code != ERR_NOT_FOUND)
            return -1;
    }
    return 0;
}

static void compare_cleanup(void *what)
{
    struct compare_get *get = what;
    for (int side = 0; side < SIDES; side++) {
        job_row_fini(&get->rows[side]);
        free(get->documents[side]);
        evidence_fini(&get->evidence[side]);
    }
}

/* NULL when both were read; else why they cannot be compared. */
static cJSON *read_both(struct compare_get *get)
{
    static const char *const words[SIDES] = {"base", "candidate"};
    cJSON *reasons = cJSON_CreateArray();
    for (int side = 0; side < SIDES; side++) {
        struct err err = {0};
        char *text = NULL;
        if (!get->documents[side])
            text = mem_format("the %s job has no figures: it is %s", words[side],
                              get->rows[side].state);
        else if (evidence_read(get->documents[side], strlen(get->documents[side]), true,
                               &get->evidence[side], &err) < 0)
            text =
                mem_format("the evidence of the %s job cannot be read: %s", words[side], err.msg);
        if (text)
            cJSON_AddItemToArray(reasons, json_text(text));
        free(text);
    }
    if (cJSON_GetArraySize(reasons) == 0) {
        cJSON_Delete(reasons);
        return NULL;
    }
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddBoolToObject(tree, "comparable", false);
    cJSON_AddItemToObject(tree, "reasons", reasons);
    cJSON_AddItemToObject(tree, "arms", cJSON_CreateArray());
    return tree;
}

static int read_ids(struct req *req, struct compare_get *get)
{
    static const char *const names[SIDES] = {"base", "candidate"};
    for (int side = 0; side < SIDES; side++) {
        const char *given = req_query(req, names[side]);
        char *id = req_copy(req, given ? given : "", given ? strlen(given) : 0);
        for (char *byte = id; *byte; byte++) /* RFC 9562: capitals mean the same */
            if (*byte >= 'A' && *byte <= 'F')
                *byte = (char)(*byte | 0x20);
        get->ids[side] = id;
        if (!ids_is_valid(id)) {
            problem_parameter(req, names[side], "must be the id of a job");
            return -1;
        }
    }
    return 0;
}

void compare_get(struct req *req)
{
    static const char *const members[] = {"comparable", "reasons", "arms"};
    struct err err = {0};
    struct compare_get *get = req_alloc(req, sizeof *get);
    req_defer(req, compare_cleanup, get);
    if (read_ids(req, get) < 0)
        return;
    if (store_read(req->parts->store, compare_work, get, &err) < 0) {
        if (err.code != ERR_NOT_FOUND)
            problem_err(req, &err);
        else
            problem_answer(req, PROBLEM_NOT_FOUND,
                           "no job has the id of %s=", get->rows[BASE].id ? "candidate" : "base");
        return;
    }
    cJSON *found = read_both(get);
    if (!found)
        found = compare_jobs(&get->evidence[BASE], &get->evidence[CANDIDATE]);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "base", json_text(get->ids[BASE]));
    cJSON_AddItemToObject(tree, "candidate", json_text(get->ids[CANDIDATE]));
    for (size_t i = 0; i < JSON_COUNT(members); i++)
        cJSON_AddItemToObject(tree, members[i],
                              cJSON_DetachItemFromObjectCaseSensitive(found, members[i]));
    cJSON_Delete(found);
    req_answer_json(req, 200, tree);
}
