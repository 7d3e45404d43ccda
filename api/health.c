/* GET /livez (this process answers) and /readyz (it can do its work), for balancers and people. */
#include "api/handlers.h"
#include "api/http_events.h"
#include "api/http_inner.h"
#include "api/request.h"
#include "jobs/jobs.h"
#include "server/sealed.h"
#include "server/store.h"

void livez_get(struct req *req)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "status", json_text("ok"));
    req_answer_json(req, 200, tree);
}

static cJSON *part_new(bool ok, const char *detail)
{
    cJSON *part = cJSON_CreateObject();
    cJSON_AddItemToObject(part, "ok", cJSON_CreateBool(ok));
    cJSON_AddItemToObject(part, "detail", json_text(detail));
    return part;
}

static int paused_work(struct db *db, void *arg, struct err *err)
{
    return store_paused_get(db, arg, err);
}

/* A pause is asked for: it makes nobody look elsewhere, but people should see it. */
static cJSON *scheduler_part(struct req *req)
{
    bool paused = false;
    struct err err;
    if (store_read(req->parts->store, paused_work, &paused, &err) < 0)
        return part_new(false, "the results database cannot be read; the log has the reason");
    return part_new(true, paused ? "paused: no job starts (POST /v1/mode)" : NULL);
}

static cJSON *events_part(struct req *req)
{
    cJSON *part = part_new(true, NULL);
    cJSON_AddItemToObject(part, "open", json_number(events_count(req->http->events)));
    return part;
}

/* Everything else works without a webhook, so this turns nobody away. No names: it needs no token.
 */
static cJSON *secrets_part(struct req *req)
{
    size_t count = 0;
    struct err err;
    if (sealed_unopened(req->parts->store, req->parts->secrets, &count, &err) < 0)
        return part_new(true, "not known: the results database cannot be read");
    return part_new(true, count == 0 ? NULL
                                     : "a webhook's URL opens with no key of the key file; the log "
                                       "has the names");
}

void readyz_get(struct req *req)
{
    bool stored = store_is_healthy(req->parts->store);
    bool serves = !http_is_draining(req->http);
    cJSON *scheduler = scheduler_part(req);
    bool ready = stored && serves && cJSON_IsTrue(json_member(scheduler, "ok"));
    cJSON *tree = cJSON_CreateObject();
    cJSON *parts = cJSON_CreateObject();
    cJSON *workers = part_new(true, NULL);
    cJSON_AddItemToObject(workers, "busy", json_number(jobs_busy(req->parts->jobs)));
    cJSON_AddItemToObject(parts, "store",
                          part_new(stored, stored ? NULL
                                                  : "the results database cannot be "
                                                    "written; the log has the reason"));
    cJSON_AddItemToObject(parts, "http", part_new(serves, serves ? NULL : "stopping"));
    cJSON_AddItemToObject(parts, "workers", workers);
    cJSON_AddItemToObject(parts, "scheduler", scheduler);
    cJSON_AddItemToObject(parts, "events", events_part(req));
    cJSON_AddItemToObject(parts, "secrets", secrets_part(req));
    cJSON_AddItemToObject(tree, "status", json_text(ready ? "ok" : "unavailable"));
    cJSON_AddItemToObject(tree, "parts", parts);
    req_answer_json(req, ready ? 200 : 503, tree);
}
