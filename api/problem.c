#include "api/problem.h"
#include "api/request.h"
#include "server/buf.h"
#include "server/log.h"
#include "server/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct problem_row {
    int status;
    int retry_after_s; /* 0: no Retry-After */
    const char *name;  /* last part of the type, fixed for ever */
    const char *title; /* fixed too */
};

/* clang-format off */
static const struct problem_row rows[PROBLEM_COUNT] = {
    [PROBLEM_MALFORMED]      = {400, 0, "malformed-request",   "The request is malformed"},
    [PROBLEM_BODY]           = {400, 0, "invalid-body",        "The body breaks the contract"},
    [PROBLEM_HTTP_VERSION]   = {400, 0, "http-version",        "Only HTTP/1.0 and HTTP/1.1"},
    [PROBLEM_UNAUTHORIZED]   = {401, 0, "unauthorized",        "A token is needed"},
    [PROBLEM_FOREIGN_HOST]   = {403, 0, "foreign-host",        "The Host is not ours"},
    [PROBLEM_FOREIGN_ORIGIN] = {403, 0, "foreign-origin",      "The Origin is not ours"},
    [PROBLEM_SCOPE]          = {403, 0, "scope-too-small",     "The caller may not do this"},
    [PROBLEM_NOT_FOUND]      = {404, 0, "not-found",           "There is no such thing"},
    [PROBLEM_METHOD]         = {405, 0, "method-not-allowed",  "The method is not allowed here"},
    [PROBLEM_NOT_ACCEPTABLE] = {406, 0, "not-acceptable",      "No acceptable representation"},
    [PROBLEM_NOT_ENDED]      = {408, 0, "not-ended",           "The job has not ended yet"},
    [PROBLEM_CONFLICT]       = {409, 0, "conflict",            "The state of things forbids it"},
    [PROBLEM_BAD_VERDICT]    = {409, 0, "verdict",             "The job did not end well"},
    [PROBLEM_PRECONDITION]   = {412, 0, "precondition-failed", "It was changed meanwhile"},
    [PROBLEM_TOO_LARGE]      = {413, 0, "body-too-large",      "The body is too large"},
    [PROBLEM_MEDIA_TYPE]     = {415, 0, "media-type",          "The media type is not supported"},
    [PROBLEM_REFUSED]        = {422, 0, "refused",             "A guard, a limit or a right says no"},
    [PROBLEM_KEY_REUSED]     = {422, 0, "idempotency-key",     "The key was used with another request"},
    [PROBLEM_TARGET_TOO_LONG]= {414, 0, "target-too-long",     "The target is too long"},
    [PROBLEM_TOO_MANY]       = {429, 0, "too-many",            "Too many calls were wrong"},
    [PROBLEM_HEAD_TOO_LARGE] = {431, 0, "head-too-large",      "The headers are too large"},
    [PROBLEM_INTERNAL]       = {500, 0, "internal",            "Something broke here"},
    [PROBLEM_UPSTREAM]       = {502, 0, "upstream",            "The other side failed"},
    [PROBLEM_UNAVAILABLE]    = {503, 5, "unavailable",         "Not possible now"},
    [PROBLEM_STOPPING]       = {503, 5, "stopping",            "The service is stopping"},
    [PROBLEM_TIMEOUT]        = {504, 0, "timeout",             "A deadline passed"},
};
/* clang-format on */

int problem_status(enum problem kind)
{
    return rows[kind].status;
}

enum problem problem_of(enum err_code code)
{
    switch (code) {
    case ERR_INPUT:
        return PROBLEM_MALFORMED;
    case ERR_NOT_FOUND:
        return PROBLEM_NOT_FOUND;
    case ERR_CONFLICT:
        return PROBLEM_CONFLICT;
    case ERR_REFUSED:
        return PROBLEM_REFUSED;
    case ERR_UNREACHABLE:
    case ERR_SQL:
        return PROBLEM_UPSTREAM;
    case ERR_CANCELLED:
    case ERR_STORE:
        return PROBLEM_UNAVAILABLE;
    case ERR_TIMEOUT:
        return PROBLEM_TIMEOUT;
    case ERR_NONE:
    case ERR_SYSTEM:
        return PROBLEM_INTERNAL;
    }
    return PROBLEM_INTERNAL;
}

static cJSON *tree_of(enum problem kind, const char *detail, const char *request_id)
{
    const struct problem_row *row = &rows[kind];
    char *type = mem_format("urn:sweetspot:problem:%s", row->name);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "type", json_text(type));
    cJSON_AddItemToObject(tree, "title", json_text(row->title));
    cJSON_AddItemToObject(tree, "status", json_number(row->status));
    cJSON_AddItemToObject(tree, "detail", json_text(detail));
    cJSON_AddItemToObject(tree, "request_id", json_text(request_id));
    free(type);
    return tree;
}

char *problem_text(enum problem kind, const char *detail, const char *request_id)
{
    cJSON *tree = tree_of(kind, detail, request_id);
    char *text = json_print(tree);
    cJSON_Delete(tree);
    return text;
}

/* errors may be NULL; it is taken over. */
static void answer(struct req *req, enum problem kind, const char *detail, cJSON *errors)
{
    const struct problem_row *row = &rows[kind];
    cJSON *tree = tree_of(kind, detail, req->id);
    if (errors)
        cJSON_AddItemToObject(tree, "errors", errors);
    req_answer_problem(req, row->status, tree);
    if (row->retry_after_s > 0)
        req_answer_header(req, "Retry-After", "%d", row->retry_after_s);
}

/* The text of a printf-like call; the caller frees it. */
static char *PRINTF_LIKE(1, 0) text_of(const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        abort(); /* out of memory, as in mem.h */
    return text;
}

void problem_answer(struct req *req, enum problem kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *detail = text_of(format, args);
    va_end(args);
    answer(req, kind, detail, NULL);
    free(detail);
}

void problem_err(struct req *req, const struct err *err)
{
    enum problem kind = problem_of(err->code);
    if (rows[kind].status != 500 && err->code != ERR_STORE) {
        answer(req, kind, err->msg, NULL);
        return;
    }
    log_event(LOG_LEVEL_ERROR, "request_failed", "detail=%d error=%s", err->detail,
              log_quote(err->msg));
    answer(req, kind,
           err->code == ERR_STORE ? "the results database does not answer as it should; the log "
                                    "has the reason under this request id"
                                  : "the log has the reason under this request id",
           NULL);
}

static cJSON *error_new(const char *key, const char *where, const char *detail)
{
    cJSON *error = cJSON_CreateObject();
    cJSON_AddItemToObject(error, key, json_text(where));
    cJSON_AddItemToObject(error, "detail", json_text(detail));
    return error;
}

void problem_faults(struct req *req, const struct json_faults *faults)
{
    cJSON *errors = cJSON_CreateArray();
    struct buf detail = {0};
    for (size_t i = 0; i < faults->count; i++) {
        const struct json_fault *fault = &faults->items[i];
        cJSON_AddItemToArray(errors, error_new("pointer", fault->pointer, fault->detail));
    }
    if (faults->count > 0)
        buf_format(&detail, "%s %s", faults->items[0].pointer[0] ? faults->items[0].pointer : "it",
                   faults->items[0].detail);
    if (faults->count > 1)
        buf_format(&detail, " (and %zu more, see errors)", faults->count - 1);
    answer(req, PROBLEM_BODY, buf_text(&detail), errors);
    buf_fini(&detail);
}

/* One error that names its place by `key`. */
static void answer_one(struct req *req, enum problem kind, const char *key, const char *where,
                       const char *detail)
{
    cJSON *errors = cJSON_CreateArray();
    char *whole = mem_format("%s %s", where[0] ? where : "it", detail);
    cJSON_AddItemToArray(errors, error_new(key, where, detail));
    answer(req, kind, whole, errors);
    free(whole);
}

void problem_fault(struct req *req, const char *pointer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *detail = text_of(format, args);
    va_end(args);
    answer_one(req, PROBLEM_BODY, "pointer", pointer, detail);
    free(detail);
}

void problem_parameter(struct req *req, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *detail = text_of(format, args);
    va_end(args);
    answer_one(req, PROBLEM_MALFORMED, "parameter", name, detail);
    free(detail);
}

void problem_unfit(struct req *req, const struct json_faults *faults, const struct err *err)
{
    if (err->code == ERR_INPUT && faults->count > 0)
        problem_faults(req, faults);
    else
        problem_err(req, err);
}

bool problem_may_submit(struct req *req, const char *admin_only)
{
    if (!admin_only || req->scope >= SCOPE_ADMIN)
        return true;
    problem_answer(req, PROBLEM_SCOPE, "%s needs the scope admin", admin_only);
    return false;
}
