/* GET /v1/audit, and what is written there. */
#include "api/audit.h"
#include "api/handlers.h"
#include "api/page.h"
#include "api/resource.h"
#include "api/route.h"
#include "server/clock.h"
#include "server/mem.h"
#include "server/store_access.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
    const char *method;
    const char *path;
    const char *action; /* fixed for ever: scripts look for it. NULL: it changes nothing */
};

/* clang-format off */
static const struct call calls[] = {
    {"PUT",    "/v1/instances/{name}",            "instance.put"},
    {"DELETE", "/v1/instances/{name}",            "instance.delete"},
    {"POST",   "/v1/instances/{name}/check",      NULL},
    {"POST",   "/v1/instances/{name}/reconcile",  "instance.reconcile"},
    {"POST",   "/v1/jobs",                        "job.submit"},
    {"POST",   "/v1/jobs/{id}/cancel",            "job.cancel"},
    {"POST",   "/v1/jobs/{id}/retry",             "job.retry"},
    {"POST",   "/v1/plans",                       NULL},
    {"PUT",    "/v1/webhooks/{name}",             "webhook.put"},
    {"DELETE", "/v1/webhooks/{name}",             "webhook.delete"},
    {"POST",   "/v1/webhooks/{name}/test",        "webhook.test"},
    {"POST",   "/v1/deliveries/{id}/redeliver",   "delivery.redeliver"},
    {"POST",   "/v1/mode",                        "mode.set"},
};
/* clang-format on */

static const struct call *call_of(const char *method, const char *path)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(calls[i].method, method) == 0 && strcmp(calls[i].path, path) == 0)
            return &calls[i];
    return NULL;
}

const char *audit_action(const char *method, const char *path)
{
    const struct call *call = call_of(method, path);
    return call ? call->action : NULL;
}

bool audit_is_exempt(const char *method, const char *path)
{
    const struct call *call = call_of(method, path);
    return call && !call->action;
}

/* --- in ------------------------------------------------------------------------------------ */

/* The path of the call with its parameters as they were understood, not as they were written. The
 * caller frees it. */
static char *path_of(const struct req *req)
{
    struct buf path = {0};
    size_t param = 0;
    for (const char *at = req->route->path; *at; at++) {
        if (*at != '{') {
            buf_add_char(&path, *at);
            continue;
        }
        buf_add(&path, req->params[param++]);
        at += strcspn(at, "}");
    }
    if (req_query(req, "forget")) /* what is lost by it must be found again */
        buf_add(&path, "?forget=true");
    return buf_take(&path);
}

int audit_note(struct db *db, const struct req *req, struct err *err)
{
    const char *action = req->route ? audit_action(req->route->method, req->route->path) : NULL;
    if (!action || (req->audit_unless && *req->audit_unless))
        return 0;
    struct audit_row row = {.at = clock_wall_ms(),
                            .who = mem_copy(req->who ? req->who : "nobody"),
                            .action = mem_copy(action),
                            .object =
                                req->audit_object ? mem_copy(req->audit_object) : path_of(req),
                            .request_id = mem_copy(req->id)};
    int rc = store_audit_insert(db, &row, err);
    audit_row_fini(&row);
    return rc;
}

/* --- out ----------------------------------------------------------------------------------- */

struct audit_page {
    struct page page;
    struct audit_row *rows;
    size_t count;
};

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct audit_page *found = arg;
    return store_audit_list(db, &found->page.list, &found->rows, &found->count, err);
}

static void page_cleanup(void *what)
{
    struct audit_page *found = what;
    for (size_t i = 0; i < found->count; i++)
        audit_row_fini(&found->rows[i]);
    free(found->rows);
}

/* A number of the trail: at most 18 digits, so that it fits. */
static bool is_seq(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits >= 1 && digits <= 18 && text[digits] == '\0';
}

static cJSON *audit_json(const struct audit_row *row)
{
    cJSON *tree = cJSON_CreateObject();
    resource_add_time(tree, "at", row->at);
    cJSON_AddItemToObject(tree, "who", json_text(row->who));
    cJSON_AddItemToObject(tree, "action", json_text(row->action));
    cJSON_AddItemToObject(tree, "object", json_text(row->object));
    cJSON_AddItemToObject(tree, "request_id", json_text(row->request_id));
    return tree;
}

void audit_list(struct req *req)
{
    char next[24];
    struct err err;
    struct audit_page *found = req_alloc(req, sizeof *found);
    req_defer(req, page_cleanup, found);
    if (page_read(req, is_seq, &found->page) < 0)
        return;
    if (store_read(req->parts->store, list_work, found, &err) < 0) {
        problem_err(req, &err);
        return;
    }
    cJSON *items = cJSON_CreateArray();
    size_t shown = page_shown(&found->page, found->count);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(items, audit_json(&found->rows[i]));
    bool more = page_has_more(&found->page, found->count);
    if (more)
        (void)snprintf(next, sizeof next, "%" PRId64, found->rows[shown - 1].seq);
    page_answer(req, items, more ? next : NULL);
}
