#include "api/route.h"
#include "api/handlers.h"
#include "server/limits.h"

#include <string.h>
#include <strings.h>

#define JSON_ONLY MEDIA_BIT(MEDIA_JSON)

/* What may stand behind the ?. A name that is not known is refused: whoever asks for less than all,
 * or for a trial of a submit, must not get something else. Probes and scrapers, though, add what
 * they like, so what is not below /v1 has no list. */
static const char *const of_none[] = {NULL};
static const char *const of_pages[] = {"limit", "cursor", NULL};
static const char *const of_jobs[] = {"limit",    "cursor", "state", "kind",
                                      "instance", "label",  "since", NULL};
static const char *const of_change[] = {"forget", NULL};
static const char *const of_verdict[] = {"wait", NULL};
static const char *const of_key[] = {"key", "wait", NULL};
static const char *const of_compare[] = {"base", "candidate", NULL};
static const char *const of_trends[] = {"instance", "kind", "database", "target", "limit", NULL};

/* clang-format off */
const struct route routes[] = {
    {"GET",    "/livez",                          SCOPE_OPEN,   BODY_NONE, JSON_ONLY, livez_get},
    {"GET",    "/readyz",                         SCOPE_OPEN,   BODY_NONE, JSON_ONLY, readyz_get},
    {"GET",    "/metrics",                        SCOPE_READ,   BODY_NONE, MEDIA_BIT(MEDIA_METRICS), metrics_get},
    {"GET",    "/openapi.yaml",                   SCOPE_OPEN,   BODY_NONE, MEDIA_BIT(MEDIA_YAML), openapi_get},
    {"GET",    "/v1/audit",                       SCOPE_ADMIN,  BODY_NONE, JSON_ONLY, audit_list, of_pages},
    {"GET",    "/v1/instances",                   SCOPE_READ,   BODY_NONE, JSON_ONLY, instance_list, of_pages},
    {"GET",    "/v1/instances/{name}",            SCOPE_READ,   BODY_NONE, JSON_ONLY, instance_get, of_none},
    {"PUT",    "/v1/instances/{name}",            SCOPE_ADMIN,  BODY_JSON, JSON_ONLY, instance_put, of_change},
    {"DELETE", "/v1/instances/{name}",            SCOPE_ADMIN,  BODY_NONE, JSON_ONLY, instance_delete, of_change},
    {"POST",   "/v1/instances/{name}/check",      SCOPE_SUBMIT, BODY_NONE, JSON_ONLY, instance_check, of_none},
    {"POST",   "/v1/instances/{name}/reconcile",  SCOPE_ADMIN,  BODY_MAYBE, JSON_ONLY, instance_reconcile, of_none},
    {"GET",    "/v1/jobs",                        SCOPE_READ,   BODY_NONE, JSON_ONLY, job_list, of_jobs},
    {"POST",   "/v1/jobs",                        SCOPE_SUBMIT, BODY_JSON, JSON_ONLY, job_post, of_none},
    {"GET",    "/v1/jobs/{id}",                   SCOPE_READ,   BODY_NONE, JSON_ONLY, job_get, of_none},
    {"POST",   "/v1/jobs/{id}/cancel",            SCOPE_SUBMIT, BODY_NONE, JSON_ONLY, job_cancel, of_none},
    {"GET",    "/v1/jobs/{id}/trials",            SCOPE_READ,   BODY_NONE, JSON_ONLY | MEDIA_BIT(MEDIA_CSV), trial_list, of_pages},
    {"GET",    "/v1/jobs/{id}/report",            SCOPE_READ,   BODY_NONE, JSON_ONLY | MEDIA_BIT(MEDIA_MARKDOWN) | MEDIA_BIT(MEDIA_HTML), report_get, of_none},
    {"GET",    "/v1/jobs/{id}/verdict",           SCOPE_READ,   BODY_NONE, JSON_ONLY, verdict_get, of_verdict},
    {"POST",   "/v1/jobs/{id}/retry",             SCOPE_SUBMIT, BODY_NONE, JSON_ONLY, job_retry, of_none},
    {"GET",    "/v1/jobs/{id}/events",            SCOPE_READ,   BODY_NONE, MEDIA_BIT(MEDIA_EVENTS), job_event_stream, of_none},
    {"GET",    "/v1/events",                      SCOPE_READ,   BODY_NONE, MEDIA_BIT(MEDIA_EVENTS), event_stream, of_none},
    {"GET",    "/v1/kinds",                       SCOPE_READ,   BODY_NONE, JSON_ONLY, kind_list, of_none},
    {"GET",    "/v1/mode",                        SCOPE_ADMIN,  BODY_NONE, JSON_ONLY, mode_get, of_none},
    {"POST",   "/v1/mode",                        SCOPE_ADMIN,  BODY_JSON, JSON_ONLY, mode_post, of_none},
    {"POST",   "/v1/plans",                       SCOPE_SUBMIT, BODY_JSON, JSON_ONLY, plan_post, of_none},
    {"GET",    "/v1/jobs/{id}/evidence",          SCOPE_READ,   BODY_NONE, JSON_ONLY, evidence_get, of_none},
    {"GET",    "/v1/compare",                     SCOPE_READ,   BODY_NONE, JSON_ONLY, compare_get, of_compare},
    {"GET",    "/v1/trends",                      SCOPE_READ,   BODY_NONE, JSON_ONLY, trend_get, of_trends},
    {"GET",    "/v1/verdict",                     SCOPE_READ,   BODY_NONE, JSON_ONLY, verdict_by_key_get, of_key},
    {"GET",    "/v1/webhooks",                    SCOPE_READ,   BODY_NONE, JSON_ONLY, webhook_list, of_pages},
    {"GET",    "/v1/webhooks/{name}",             SCOPE_READ,   BODY_NONE, JSON_ONLY, webhook_get, of_none},
    {"PUT",    "/v1/webhooks/{name}",             SCOPE_ADMIN,  BODY_JSON, JSON_ONLY, webhook_put, of_none},
    {"DELETE", "/v1/webhooks/{name}",             SCOPE_ADMIN,  BODY_NONE, JSON_ONLY, webhook_delete, of_none},
    {"POST",   "/v1/webhooks/{name}/test",        SCOPE_ADMIN,  BODY_NONE, JSON_ONLY, webhook_test, of_none},
    {"GET",    "/v1/webhooks/{name}/deliveries",  SCOPE_READ,   BODY_NONE, JSON_ONLY, delivery_list, of_pages},
    {"POST",   "/v1/deliveries/{id}/redeliver",   SCOPE_ADMIN,  BODY_NONE, JSON_ONLY, delivery_redeliver, of_none},
};
/* clang-format on */
const size_t route_count = sizeof routes / sizeof routes[0];

static bool path_matches(const char *path, const struct target *target,
                         const char *params[REQ_PARAMS])
{
    size_t param = 0;
    size_t segment = 0;
    if (target->segment_count > TARGET_SEGMENTS)
        return false;
    while (*path == '/') {
        path++;
        size_t length = strcspn(path, "/");
        if (segment == target->segment_count)
            return false;
        const char *given = target->segments[segment++];
        if (*path == '{' && *given != '\0')
            params[param++] = given;
        else if (strlen(given) != length || strncmp(path, given, length) != 0)
            return false;
        path += length;
    }
    return segment == target->segment_count;
}

static void allow(struct buf *methods, const char *method)
{
    buf_format(methods, "%s%s", methods->length > 0 ? ", " : "", method);
    if (strcmp(method, "GET") == 0)
        buf_add(methods, ", HEAD");
}

const struct route *route_find(const char *method, const struct target *target,
                               const char *params[REQ_PARAMS], struct buf *out_allow)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (size_t i = 0; i < route_count; i++) {
        const char *found[REQ_PARAMS] = {NULL};
        if (!path_matches(routes[i].path, target, found))
            continue;
        if (strcmp(routes[i].method, wanted) == 0) {
            memcpy(params, found, sizeof found);
            return &routes[i];
        }
        allow(out_allow, routes[i].method);
    }
    return NULL;
}

static void answer_no_route(struct req *req, const char *methods)
{
    if (methods[0] == '\0') {
        problem_answer(req, PROBLEM_NOT_FOUND, "no such path; GET /openapi.yaml lists them");
        return;
    }
    if (strcmp(req->method, "OPTIONS") == 0)
        req_answer_empty(req, 204);
    else
        problem_answer(req, PROBLEM_METHOD, "this path takes %s, OPTIONS", methods);
    req_answer_header(req, "Allow", "%s, OPTIONS", methods);
}

/* A call without a body takes none or {}: SQL Server and some clients always send one. */
static int check_no_body(struct req *req)
{
    if (cJSON_IsObject(req->json) && cJSON_GetArraySize(req->json) == 0)
        return 0;
    problem_fault(req, "", "must be absent or {}: this call takes no body");
    return -1;
}

/* Nothing is decoded: a small body could become a large one. An empty value says nothing. */
static int check_encoding(struct req *req)
{
    const char *encoding = req_header(req, "Content-Encoding");
    if (!encoding || *encoding == '\0' || strcasecmp(encoding, "identity") == 0)
        return 0;
    problem_answer(req, PROBLEM_MEDIA_TYPE, "send the body as it is, without a Content-Encoding");
    req_answer_header(req, "Accept-Encoding", "identity");
    return -1;
}

static int parse_body(struct req *req)
{
    struct err err;
    if (json_parse(buf_text(&req->body), req->body.length, &req->json, &err) == 0)
        return 0;
    problem_fault(req, "", "cannot be read: %s", err.msg);
    return -1;
}

static int check_body(struct req *req, const struct route *route)
{
    if (req->body_bytes > LIMIT_BODY_BYTES) {
        problem_answer(req, PROBLEM_TOO_LARGE, "a body may have at most %d bytes",
                       LIMIT_BODY_BYTES);
        return -1;
    }
    if (req->body_bytes == 0 && route->body != BODY_JSON)
        return 0;
    if (req->body_bytes == 0) {
        problem_fault(req, "", "must be an object: this call needs a body");
        return -1;
    }
    if (check_encoding(req) < 0)
        return -1;
    if (!media_is_json(req_header(req, "Content-Type"))) {
        problem_answer(req, PROBLEM_MEDIA_TYPE, "send the body as application/json in UTF-8");
        return -1;
    }
    if (parse_body(req) < 0)
        return -1;
    if (route->body == BODY_NONE)
        return check_no_body(req);
    if (cJSON_IsObject(req->json))
        return 0;
    problem_fault(req, "", "must be an object");
    return -1;
}

/* RFC 9562: a UUID may come in capitals and means the same. {id} is the first parameter. */
static void lower_id(struct req *req, const struct route *route)
{
    if (!strstr(route->path, "{id}"))
        return;
    char *id = req_copy(req, req->params[0], strlen(req->params[0]));
    for (char *at = id; *at; at++)
        if (*at >= 'A' && *at <= 'F')
            *at = (char)(*at | 0x20);
    req->params[0] = id;
}

void route_dispatch(struct req *req)
{
    struct buf methods = {0};
    const struct route *route = req->route;
    if (!route) {
        (void)route_find(req->method, &req->target, req->params, &methods); /* for the methods */
        answer_no_route(req, buf_text(&methods));
    } else if (!media_choose(req_header(req, "Accept"), route->sends, &req->media)) {
        problem_answer(req, PROBLEM_NOT_ACCEPTABLE, "Accept names nothing that this path sends");
    } else if (check_body(req, route) == 0 && req_query_only(req, route->query) == 0) {
        lower_id(req, route);
        route->handle(req);
    }
    buf_fini(&methods);
}
