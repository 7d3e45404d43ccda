/* GET /v1/webhooks/{name}/deliveries: what was sent, is to be sent, was given up; newest first. And
 * what somebody asks to be sent: a test message, a delivery once more. */
#include "api/handlers.h"
#include "api/page.h"
#include "api/resource.h"
#include "jobs/event.h"
#include "jobs/instance.h"
#include "server/clock.h"
#include "server/ids.h"

#include <stdlib.h>
#include <string.h>

struct delivery_page {
    struct page page;
    const char *webhook;
    struct delivery_row *rows;
    size_t count;
};

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct delivery_page *found = arg;
    struct webhook_row row = {0};
    int rc = store_webhook_get(db, found->webhook, &row, err);
    webhook_row_fini(&row);
    if (rc < 0)
        return -1;
    return store_delivery_list(db, found->webhook, &found->page.list, &found->rows, &found->count,
                               err);
}

static void page_cleanup(void *what)
{
    struct delivery_page *found = what;
    for (size_t i = 0; i < found->count; i++)
        delivery_row_fini(&found->rows[i]);
    free(found->rows);
}

static cJSON *delivery_json(const struct delivery_row *row)
{
    cJSON *tree = cJSON_CreateObject();
    bool pending = strcmp(row->state, "pending") == 0;
    cJSON_AddItemToObject(tree, "id", json_text(row->id));
    cJSON_AddItemToObject(tree, "webhook", json_text(row->webhook));
    cJSON_AddItemToObject(tree, "event", json_text(row->event));
    cJSON_AddItemToObject(tree, "job", json_text(row->job));
    cJSON_AddItemToObject(tree, "state", json_text(row->state));
    cJSON_AddItemToObject(tree, "attempts", json_number((double)row->attempts));
    cJSON_AddItemToObject(tree, "last_status",
                          row->last_status ? json_number((double)row->last_status)
                                           : cJSON_CreateNull());
    cJSON_AddItemToObject(tree, "last_error", json_text(row->last_error));
    resource_add_time(tree, "next_at", pending ? row->next_at : 0);
    resource_add_time(tree, "created_at", row->created_at);
    return tree;
}

void delivery_list(struct req *req)
{
    struct err err = {.code = ERR_NOT_FOUND};
    struct delivery_page *found = req_alloc(req, sizeof *found);
    req_defer(req, page_cleanup, found);
    found->webhook = req->params[0];
    if (page_read(req, ids_is_valid, &found->page) < 0)
        return;
    if (!instance_name_is_valid(found->webhook) ||
        store_read(req->parts->store, list_work, found, &err) < 0) {
        if (err.code == ERR_NOT_FOUND)
            problem_answer(req, PROBLEM_NOT_FOUND, "no webhook has this name");
        else
            problem_err(req, &err);
        return;
    }
    cJSON *items = cJSON_CreateArray();
    size_t shown = page_shown(&found->page, found->count);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(items, delivery_json(&found->rows[i]));
    page_answer(req, items,
                page_has_more(&found->page, found->count) ? found->rows[shown - 1].id : NULL);
}

/* --- asked for ------------------------------------------------------------------------------ */

struct asked {
    const char *name;        /* of a webhook, or a delivery's id */
    struct delivery_row row; /* out: as it is due now */
};

static void asked_cleanup(void *what)
{
    struct asked *asked = what;
    delivery_row_fini(&asked->row);
}

/* ERR_CONFLICT when nothing is sent to this webhook. */
static int check_enabled(struct db *db, const char *webhook, struct err *err)
{
    struct webhook_row row = {0};
    if (store_webhook_get(db, webhook, &row, err) < 0)
        return -1;
    bool disabled = row.disabled;
    webhook_row_fini(&row);
    if (!disabled)
        return 0;
    return err_set(err, ERR_CONFLICT, 0,
                   "the webhook is disabled since its receiver answered 410; PUT it again first");
}

static int test_work(struct db *db, void *arg, struct err *err)
{
    struct asked *asked = arg;
    delivery_row_fini(&asked->row); /* of a transaction that is tried again */
    if (check_enabled(db, asked->name, err) < 0)
        return -1;
    return event_write_test(db, asked->name, clock_wall_ms(), &asked->row, err);
}

static int redeliver_work(struct db *db, void *arg, struct err *err)
{
    struct asked *asked = arg;
    delivery_row_fini(&asked->row);
    if (store_delivery_get(db, asked->name, &asked->row, err) < 0 ||
        check_enabled(db, asked->row.webhook, err) < 0 ||
        store_delivery_again(db, asked->name, clock_wall_ms(), err) < 0)
        return -1;
    delivery_row_fini(&asked->row);
    return store_delivery_get(db, asked->name, &asked->row, err);
}

static void answer_asked(struct req *req, int rc, const struct err *err)
{
    struct asked *asked = req->then_arg;
    if (rc < 0 && err->code == ERR_NOT_FOUND) {
        problem_answer(req, PROBLEM_NOT_FOUND, "there is none of this name");
    } else if (rc < 0) {
        problem_err(req, err);
    } else {
        jobs_wake(req->parts->jobs);
        req_answer_json(req, 202, delivery_json(&asked->row));
        req_answer_header(req, "Location", "/v1/webhooks/%s/deliveries", asked->row.webhook);
    }
}

static void ask(struct req *req, bool valid, store_work *work)
{
    struct asked *asked = req_alloc(req, sizeof *asked);
    req_defer(req, asked_cleanup, asked);
    asked->name = req->params[0];
    if (valid)
        req_write(req, work, asked, answer_asked);
    else
        problem_answer(req, PROBLEM_NOT_FOUND, "there is none of this name");
}

void webhook_test(struct req *req)
{
    ask(req, instance_name_is_valid(req->params[0]), test_work);
}

void delivery_redeliver(struct req *req)
{
    ask(req, ids_is_valid(req->params[0]), redeliver_work);
}
