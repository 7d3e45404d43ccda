#include "api/request.h"
#include "api/audit.h"
#include "api/etag.h"
#include "api/http_events.h"
#include "api/http_inner.h"
#include "api/kept.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/log.h"
#include "server/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct req_memory {
    req_cleanup *cleanup;
    void *what;
    struct req_memory *next;
};

struct req *req_new(struct http *http, struct MHD_Connection *connection, const char *target)
{
    struct req *req = mem_alloc(1, sizeof *req);
    req->http = http;
    req->parts = &http->parts;
    req->connection = connection;
    req->began_ns = clock_mono_ns();
    req->target_fault = target_read(target ? target : "", &req->target);
    req->body = BUF_WITH_MAX(LIMIT_BODY_BYTES);
    ids_new(req->id);
    return req;
}

static void answer_fini(struct answer *answer)
{
    for (size_t i = 0; i < answer->header_count; i++)
        free(answer->headers[i].value);
    free(answer->body);
    kept_drop(answer->kept);
    stream_free(answer->stream);
    *answer = (struct answer){.close = answer->close};
}

void req_free(struct req *req)
{
    if (!req)
        return;
    while (req->memory) {
        struct req_memory *first = req->memory;
        req->memory = first->next;
        first->cleanup(first->what);
        free(first);
    }
    answer_fini(&req->answer);
    buf_fini(&req->body);
    cJSON_Delete(req->json);
    target_fini(&req->target);
    free(req);
}

/* --- memory -------------------------------------------------------------------------------- */

void req_defer(struct req *req, req_cleanup *cleanup, void *what)
{
    struct req_memory *memory = mem_alloc(1, sizeof *memory);
    *memory = (struct req_memory){.cleanup = cleanup, .what = what, .next = req->memory};
    req->memory = memory;
}

void *req_alloc(struct req *req, size_t size)
{
    void *fresh = mem_alloc(1, size);
    req_defer(req, free, fresh);
    return fresh;
}

char *req_copy(struct req *req, const char *text, size_t length)
{
    char *copy = req_alloc(req, length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* --- what came ----------------------------------------------------------------------------- */

const char *req_header(struct req *req, const char *name)
{
    const char *value = MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, name);
    if (!value)
        return NULL;
    size_t length = strlen(value); /* blanks before it are gone, those behind it are not */
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    if (value[length] == '\0')
        return value;
    return req_copy(req, value, length);
}

const char *req_query(const struct req *req, const char *name)
{
    for (size_t i = 0; i < req->target.query_count; i++)
        if (strcmp(req->target.queries[i].name, name) == 0)
            return req->target.queries[i].value;
    return NULL;
}

static bool is_listed(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

int req_query_only(struct req *req, const char *const *names)
{
    for (size_t i = 0; names && i < req->target.query_count; i++) {
        const struct target_query *pair = &req->target.queries[i];
        if (!is_listed(pair->name, names)) {
            problem_parameter(req, pair->name, "is not a parameter of this call");
            return -1;
        }
        if (req_query(req, pair->name) != pair->value) {
            problem_parameter(req, pair->name, "stands there twice");
            return -1;
        }
    }
    return 0;
}

bool req_prefers_wait(struct req *req, int *out_seconds)
{
    const char *at = req_header(req, "Prefer");
    int seconds = 0;
    while (at && *at) {
        at += strspn(at, " \t,");
        if (strncasecmp(at, "wait=", 5) == 0)
            break;
        at += strcspn(at, ",");
    }
    if (!at || !*at || req->is_not_held)
        return false;
    at += 5;
    if (*at == '"')
        at++;
    if (*at < '0' || *at > '9')
        return false; /* RFC 7240: what is not understood is ignored */
    for (; *at >= '0' && *at <= '9'; at++)
        seconds = seconds < LIMIT_WAIT_S ? seconds * 10 + (*at - '0') : LIMIT_WAIT_S;
    *out_seconds = seconds < LIMIT_WAIT_S ? seconds : LIMIT_WAIT_S;
    return true;
}

cJSON *req_take_json(struct req *req)
{
    cJSON *tree = req->json;
    req->json = NULL;
    return tree;
}

/* --- what is answered ---------------------------------------------------------------------- */

static void answer_text(struct req *req, int status, enum media media, char *text)
{
    answer_fini(&req->answer);
    req->answer.status = status;
    req->answer.media = media;
    req->answer.length = strlen(text);
    req->answer.body = text;
}

void req_answer_text(struct req *req, int status, enum media media, char *text)
{
    answer_text(req, status, media, text);
}

void req_answer_json(struct req *req, int status, cJSON *tree)
{
    answer_text(req, status, MEDIA_JSON, json_print(tree));
    cJSON_Delete(tree);
}

void req_answer_problem(struct req *req, int status, cJSON *tree)
{
    answer_text(req, status, MEDIA_PROBLEM, json_print(tree));
    cJSON_Delete(tree);
}

void req_answer_kept(struct req *req, struct kept *kept)
{
    answer_fini(&req->answer);
    req->answer.status = 200;
    req->answer.media = MEDIA_JSON;
    req->answer.length = kept->length;
    req->answer.kept = kept_hold(kept);
}

void req_answer_stream(struct req *req, struct stream *stream)
{
    answer_fini(&req->answer);
    req->answer.status = 200;
    req->answer.media = MEDIA_EVENTS;
    req->answer.stream = stream;
    req_answer_header(req, "X-Accel-Buffering", "no"); /* else proxies keep events back */
}

void req_answer_empty(struct req *req, int status)
{
    free(req->answer.body);
    kept_drop(req->answer.kept);
    req->answer.body = NULL;
    req->answer.kept = NULL;
    req->answer.length = 0;
    req->answer.status = status;
}

void req_answer_header(struct req *req, const char *name, const char *format, ...)
{
    va_list args;
    struct answer *answer = &req->answer;
    assert(answer->header_count < REQ_HEADERS);
    struct req_header_out *header = &answer->headers[answer->header_count++];
    header->name = name;
    va_start(args, format);
    int length = vasprintf(&header->value, format, args);
    va_end(args);
    if (length < 0)
        abort(); /* out of memory, as in mem.h */
    assert(!strpbrk(header->value, "\r\n"));
}

bool req_answer_etag(struct req *req, const char *etag)
{
    bool reads = strcmp(req->method, "GET") == 0 || strcmp(req->method, "HEAD") == 0;
    const char *known = reads ? req_header(req, "If-None-Match") : NULL;
    req_answer_header(req, "ETag", "%s", etag);
    req->answer.has_etag = true;
    if (!known || !etag_in(known, etag, true))
        return false;
    req->answer.status = 304; /* the body stays, for its length: libmicrohttpd does not send it */
    return true;
}

/* --- holding ------------------------------------------------------------------------------- */

void req_hold(struct req *req, req_step *resume)
{
    /* Suspended before anybody can release it: a resume that comes first would be undefined. */
    req->resume = resume;
    req->phase = REQ_HELD;
    MHD_suspend_connection(req->connection);
}

void req_release(struct req *req)
{
    MHD_resume_connection(req->connection);
}

static void write_resumed(struct req *req)
{
    req->then(req, req->write_rc, &req->write_err);
}

/* In the writer's thread: only hands on. */
static void write_done(void *ctx, int rc, const struct err *err)
{
    struct req *req = ctx;
    req->write_rc = rc;
    if (rc < 0)
        req->write_err = *err;
    req_release(req);
}

/* In the writer's transaction. */
static int audited_work(struct db *db, void *arg, struct err *err)
{
    const struct req *req = arg;
    if (req->work(db, req->work_arg, err) < 0)
        return -1;
    return audit_note(db, req, err);
}

void req_write(struct req *req, store_work *work, void *arg, req_then *then)
{
    req->work = work;
    req->work_arg = arg;
    req->then = then;
    req->then_arg = arg;
    req_hold(req, write_resumed);
    store_write_later(req->parts->store, audited_work, req, write_done, req);
}
