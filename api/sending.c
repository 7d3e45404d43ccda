#include "api/sending.h"
#include "api/deadline.h"
#include "api/http_events.h"
#include "api/http_inner.h"
#include "api/http_own_answers.h"
#include "api/kept.h"
#include "api/trace.h"
#include "server/clock.h"
#include "server/log.h"

#include <inttypes.h>

#define SEND_NS (120LL * 1000000000) /* an answer that nobody reads */
/* A year without plain HTTP, as RFC 6797 has it. No word of subdomains: they are not ours. */
#define ONLY_TLS "max-age=31536000"

static void log_request(struct req *req)
{
    int64_t took_ns = clock_mono_ns() - req->began_ns;
    char trace[TRACE_ID_SIZE] = "";
    enum log_level level = req->answer.status >= 500 ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG;
    histogram_add(&req->http->times, took_ns);
    if (!log_is_on(level))
        return;
    bool is_traced = trace_id_of(req_header(req, "traceparent"), trace);
    log_event(level, "request", "method=%s target=%s who=%s status=%d took_us=%" PRId64 "%s%s",
              log_quote(req->method), log_quote(req->target.raw),
              log_quote(req->who ? req->who : ""), req->answer.status, took_ns / 1000,
              is_traced ? " trace=" : "", trace);
}

static void add_headers(struct req *req, struct MHD_Response *response)
{
    const struct answer *answer = &req->answer;
    (void)MHD_add_response_header(response, "X-Request-Id", req->id);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Cache-Control",
                                  answer->has_etag ? "no-cache" : "no-store");
    if (req->http->tls) /* RFC 6797 7.2: never without */
        (void)MHD_add_response_header(response, "Strict-Transport-Security", ONLY_TLS);
    if (answer->has_content)
        (void)MHD_add_response_header(response, "Content-Type", media_type(answer->media));
    for (size_t i = 0; i < answer->header_count; i++)
        (void)MHD_add_response_header(response, answer->headers[i].name, answer->headers[i].value);
    if (answer->close)
        (void)MHD_add_response_header(response, "Connection", "close");
}

static struct MHD_Response *kept_response(struct kept *kept)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        kept->length, kept->body, kept_drop, kept);
    if (!response)
        kept_drop(kept);
    return response;
}

/* Takes the body, or the stream, out of the answer. NULL: out of memory. */
static struct MHD_Response *make_response(struct req *req)
{
    struct answer *answer = &req->answer;
    struct stream *stream = answer->stream;
    struct kept *kept = answer->kept;
    char *body = answer->body;
    answer->has_content = body || kept || stream;
    answer->stream = NULL;
    answer->kept = NULL;
    answer->body = NULL;
    if (stream)
        return stream_response(stream, req->connection);
    if (kept)
        return kept_response(kept);
    return MHD_create_response_from_buffer(answer->length, body,
                                           body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result sending_start(struct req *req)
{
    struct answer *answer = &req->answer;
    req->phase = REQ_ANSWERED;
    log_request(req);
    struct MHD_Response *response = make_response(req);
    if (!response)
        return MHD_NO; /* out of memory: libmicrohttpd closes */
    add_headers(req, response);
    deadline_set(req->http->deadlines, http_deadline(req->connection), clock_mono_ns() + SEND_NS);
    enum MHD_Result queued = own_answers_queue(req->connection, (unsigned)answer->status, response);
    MHD_destroy_response(response); /* our reference; the connection has its own */
    return queued;
}
