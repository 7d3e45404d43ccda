/* PUT, GET and DELETE of /v1/webhooks/{name}, and their list. */
#include "api/handlers.h"
#include "api/page.h"
#include "api/resource.h"
#include "jobs/instance.h"
#include "jobs/webhook.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

/* --- out ----------------------------------------------------------------------------------- */

static cJSON *webhook_json(const struct webhook_row *row)
{
    cJSON *tree = resource_new(row->name, row->definition);
    cJSON_AddItemToObject(tree, "disabled", cJSON_CreateBool(row->disabled));
    resource_add_time(tree, "created_at", row->created_at);
    resource_add_time(tree, "updated_at", row->updated_at);
    return tree;
}

static void answer_row(struct req *req, int status, const struct webhook_row *row)
{
    char etag[ETAG_SIZE];
    req_answer_json(req, status, webhook_json(row));
    (void)req_answer_etag(
        req, etag_of_named(row->version, row->created_at, etag)); /* 304 is answered by it */
}

static void row_cleanup(void *row)
{
    webhook_row_fini(row);
}

static int stored_etag(struct db *db, const char *name, char out[ETAG_SIZE], struct err *err)
{
    struct webhook_row row = {0};
    if (store_webhook_get(db, name, &row, err) < 0)
        return -1;
    etag_of_named(row.version, row.created_at, out);
    webhook_row_fini(&row);
    return 0;
}

static const char *const shown_members[] = {"disabled", "created_at", "updated_at", NULL};
static const struct resource_kind kind = {
    .word = "webhook", .etag = stored_etag, .delete = store_webhook_delete, .shown = shown_members};

/* --- one ----------------------------------------------------------------------------------- */

struct webhook_get {
    const char *name;
    struct webhook_row row;
};

static int get_work(struct db *db, void *arg, struct err *err)
{
    struct webhook_get *get = arg;
    return store_webhook_get(db, get->name, &get->row, err);
}

void webhook_get(struct req *req)
{
    struct err err;
    struct webhook_get *get = req_alloc(req, sizeof *get);
    get->name = req->params[0];
    req_defer(req, row_cleanup, &get->row);
    if (!instance_name_is_valid(get->name))
        resource_unknown(req, &kind);
    else if (store_read(req->parts->store, get_work, get, &err) == 0)
        answer_row(req, 200, &get->row);
    else if (err.code == ERR_NOT_FOUND)
        resource_unknown(req, &kind);
    else
        problem_err(req, &err);
}

/* --- put ----------------------------------------------------------------------------------- */

struct webhook_put {
    struct webhook_row row;
    const struct secrets *secrets;
    bool keeps_url; /* the URL came as GET shows it: the stored one stays */
    bool has_none;  /* out: none is stored that is shown so */
    struct resource_change change;
};

static bool shows_same_url(const char *definition, const char *other)
{
    cJSON *a = cJSON_Parse(definition); /* both are ours */
    cJSON *b = cJSON_Parse(other);
    bool same = cJSON_Compare(json_member(a, "url"), json_member(b, "url"), true);
    cJSON_Delete(a);
    cJSON_Delete(b);
    return same;
}

/* Takes over the URL that is stored under this name, sealed as it is. */
static int keep_url(struct db *db, struct webhook_put *put, struct err *err)
{
    struct err found = {0};
    struct webhook_row stored = {0};
    int rc = store_webhook_get(db, put->row.name, &stored, &found);
    if (rc < 0 && found.code != ERR_NOT_FOUND) {
        *err = found;
        return -1;
    }
    put->has_none =
        rc < 0 || !stored.url_sealed || !shows_same_url(stored.definition, put->row.definition);
    if (!put->has_none)
        mem_replace(&put->row.url_sealed, stored.url_sealed);
    webhook_row_fini(&stored);
    return put->has_none ? err_set(err, ERR_INPUT, 0, "no URL is shown so") : 0;
}

static int put_work(struct db *db, void *arg, struct err *err)
{
    struct webhook_put *put = arg;
    if (resource_check(db, &kind, put->row.name, &put->change, err) < 0 ||
        (put->keeps_url && keep_url(db, put, err) < 0))
        return -1;
    /* there may be a newer key since it was sealed: see server/sealed.h */
    if (put->row.url_sealed &&
        secrets_renew(put->secrets, put->row.name, &put->row.url_sealed, err) < 0)
        return -1;
    return store_webhook_put(db, &put->row, -1, &put->change.created, err);
}

static void put_done(struct req *req, int rc, const struct err *err)
{
    struct webhook_put *put = req->then_arg;
    if (rc < 0 && put->has_none) {
        problem_fault(req, "/url",
                      "is cut as GET shows it, and no such URL is stored under this name; "
                      "give the whole URL");
        return;
    }
    if (rc < 0) {
        resource_failed(req, &put->change, err);
        return;
    }
    jobs_wake(req->parts->jobs); /* deliveries that waited for a better URL may go */
    answer_row(req, put->change.created ? 201 : 200, &put->row);
    if (put->change.created)
        req_answer_header(req, "Location", "/v1/webhooks/%s", put->row.name);
}

/* Fills the row from the body; answers and returns -1 when it cannot. */
static int read_row(struct req *req, struct webhook_put *put)
{
    int rc = -1;
    struct err err;
    struct webhook webhook;
    struct json_faults faults = {0};
    const struct secrets *secrets = req->parts->secrets;
    resource_drop_shown(req->json, &kind, req->params[0], &faults);
    (void)(webhook_read(req_take_json(req), secrets, &webhook, &faults) < 0); /* counted below */
    if (webhook.url && egress_check_target(req->parts->egress, webhook.url, &err) < 0 &&
        err.code == ERR_REFUSED)
        json_fault_add(&faults, "/url", "%s", err.msg);
    if (faults.count > 0)
        problem_faults(req, &faults);
    else if (webhook_to_row(&webhook, req->params[0], secrets, &put->row, &err) < 0)
        problem_err(req, &err);
    else
        rc = 0;
    put->keeps_url = rc == 0 && webhook.url && egress_is_redacted(webhook.url);
    webhook_fini(&webhook);
    json_faults_fini(&faults);
    return rc;
}

void webhook_put(struct req *req)
{
    struct webhook_put *put = req_alloc(req, sizeof *put);
    req_defer(req, row_cleanup, &put->row);
    if (!instance_name_is_valid(req->params[0])) {
        problem_answer(req, PROBLEM_MALFORMED, "a name is 1 to 64 characters of a-z 0-9 . _ -");
        return;
    }
    if (read_row(req, put) < 0)
        return;
    put->secrets = req->parts->secrets;
    put->change.wanted = resource_precondition(req);
    req_write(req, put_work, put, put_done);
}

void webhook_delete(struct req *req)
{
    resource_delete(req, &kind);
}

/* --- list ---------------------------------------------------------------------------------- */

struct webhook_page {
    struct page page;
    struct webhook_row *rows;
    size_t count;
};

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct webhook_page *found = arg;
    return store_webhook_list(db, &found->page.list, &found->rows, &found->count, err);
}

static void page_cleanup(void *what)
{
    struct webhook_page *found = what;
    for (size_t i = 0; i < found->count; i++)
        webhook_row_fini(&found->rows[i]);
    free(found->rows);
}

void webhook_list(struct req *req)
{
    struct err err;
    struct webhook_page *found = req_alloc(req, sizeof *found);
    req_defer(req, page_cleanup, found);
    if (page_read(req, store_place_is_valid, &found->page) < 0)
        return;
    if (store_read(req->parts->store, list_work, found, &err) < 0) {
        problem_err(req, &err);
        return;
    }
    cJSON *items = cJSON_CreateArray();
    size_t shown = page_shown(&found->page, found->count);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(items, webhook_json(&found->rows[i]));
    bool more = page_has_more(&found->page, found->count);
    char *next =
        more ? store_place(found->rows[shown - 1].created_at, found->rows[shown - 1].name) : NULL;
    page_answer(req, items, next);
    free(next);
}
