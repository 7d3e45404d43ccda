#include "api/http.h"
#include "api/access.h"
#include "api/attempts.h"
#include "api/callers.h"
#include "api/gate.h"
#include "api/http_events.h"
#include "api/http_inner.h"
#include "api/kept.h"
#include "api/listen.h"
#include "api/request.h"
#include "api/route.h"
#include "api/sending.h"
#include "api/tls.h"
#include "api/waiting.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/log.h"
#include "server/mem.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define POOL_THREADS 2u         /* measured: more do not help, committing is the limit */
#define CONNECTIONS_MAX 12288u  /* long polls hold one each; an idle one costs 5 KiB */
#define FILES_KEPT 256u         /* open files that connections may not take from store and jobs */
#define CONNECTION_BYTES 32768u /* headers of 32 kB are enough; more is 431 */
#define IDLE_S 300u             /* a backstop only: the deadlines below come first */
#define REQUEST_MS 30000        /* a request that takes longer to arrive is a slow attack */
#define REST_MS 100             /* between two tries to accept when no file is left */
#define STOP_NS (5LL * 1000000000) /* how long http_stop waits for answers to be read */

/* A connection, from accept to close. The deadline runs while the client has the word (a request
 * comes, an answer is read), never while we have it. libmicrohttpd's own time-out counts silence
 * only, and is endless for who sends a byte now and then. */
struct conn {
    struct deadline deadline; /* first, so that its address is that of the conn */
    int fd;                   /* open as long as the deadline may be set */
};

/* --- connections --------------------------------------------------------------------------- */

/* In the deadline thread. libmicrohttpd sees the end of the stream and closes. */
static void on_too_slow(struct deadline *deadline)
{
    const struct conn *conn = (const struct conn *)deadline;
    (void)shutdown(conn->fd, SHUT_RDWR); /* fails when the client has gone: just as well */
}

static struct conn *conn_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

struct deadline *http_deadline(struct MHD_Connection *connection)
{
    return &conn_of(connection)->deadline;
}

static void expect_request(struct http *http, struct conn *conn)
{
    deadline_set(http->deadlines, &conn->deadline, clock_mono_ns() + http->request_ns);
}

/* At its limit libmicrohttpd accepts nobody any more until somebody leaves, so that silent ones
 * could keep all others out. Before it comes to that, the one that has kept us waiting longest is
 * cut. */
static void make_room(struct http *http)
{
    if (atomic_fetch_add(&http->open, 1) >= http->crowd)
        deadlines_hasten(http->deadlines);
}

/* When the service stops nobody new is let in. Not by MHD_quiesce_daemon: in 0.9.75 that and a
 * thread of the pool may both take the listening socket out of its epoll set, and the second one
 * aborts the process (daemon.c: "Failed to remove listen FD from epoll set"). */
static enum MHD_Result on_accept(void *cls, const struct sockaddr *peer, socklen_t length)
{
    struct http *http = cls;
    (void)peer;
    (void)length;
    return atomic_load(&http->stopping) ? MHD_NO : MHD_YES;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        struct conn *conn = mem_alloc(1, sizeof *conn);
        conn->deadline.passed = on_too_slow;
        conn->fd =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *socket_context = conn;
        make_room(http);
        expect_request(http, conn);
    } else {
        struct conn *conn = *socket_context;
        deadline_clear(http->deadlines, &conn->deadline); /* the number may be used anew now */
        free(conn);
        atomic_fetch_sub(&http->open, 1);
        *socket_context = NULL;
    }
}

/* --- counting what http_stop waits for ----------------------------------------------------- */

/* False when the service stops and the handler must not be entered. Counted first, so that
 * http_stop either sees the count or is seen here. */
static bool enter(struct http *http)
{
    (void)atomic_fetch_add(&http->busy, 1);
    return !atomic_load(&http->stopping);
}

/* Each is changed before `stopping` is looked at, as http_stop sets that before it looks at them:
 * no wake is lost. */
static void leave(struct http *http, int busy, int unsent)
{
    (void)atomic_fetch_add(&http->unsent, unsent);
    (void)atomic_fetch_add(&http->busy, busy);
    if (!atomic_load(&http->stopping))
        return;
    lock_take(&http->lock);
    wait_wake_all(&http->idle);
    lock_drop(&http->lock);
}

/* --- requests ------------------------------------------------------------------------------ */

static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    return req_new(cls, connection, target);
}

/* After a handler or a step of it: sends, unless it is held. */
static enum MHD_Result finish_step(struct req *req)
{
    if (req->phase == REQ_HELD)
        return MHD_YES;
    assert(req->answer.status != 0); /* a handler answers or holds */
    leave(req->http, -1, 1);
    return sending_start(req);
}

static bool is_health(const struct req *req)
{
    return strcmp(req->target.raw, "/livez") == 0 || strcmp(req->target.raw, "/readyz") == 0;
}

/* The whole request is here. */
static enum MHD_Result run(struct req *req)
{
    struct http *http = req->http;
    req->phase = REQ_RUNNING;
    deadline_clear(http->deadlines, &conn_of(req->connection)->deadline);
    bool may_enter = enter(http);
    if (req->refused || !gate_check_end(req)) {
        /* the gate has answered */
    } else if (may_enter || is_health(req)) {
        route_dispatch(req);
    } else {
        problem_answer(req, PROBLEM_STOPPING, "try again in a moment");
        req->answer.close = true;
    }
    return finish_step(req);
}

static enum MHD_Result on_head(struct req *req, const char *method, const char *version)
{
    req->method = method;
    req->phase = REQ_READING;
    if (gate_check(req, version))
        return MHD_YES; /* never answered in the first call: libmicrohttpd would close */
    (void)enter(req->http);
    return finish_step(req);
}

static enum MHD_Result on_body(struct req *req, const char *bytes, size_t length)
{
    req->body_bytes += length;
    if (!req->refused && req->body_bytes <= LIMIT_BODY_BYTES) /* a stranger's is only read away */
        buf_add_bytes(&req->body, bytes, length);
    /* chunks without end: libmicrohttpd takes no answer between them, only closes */
    return req->body_bytes <= GATE_DRAIN_BYTES ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_resume(struct req *req)
{
    req->phase = REQ_RUNNING;
    req->resume(req);
    return finish_step(req);
}

static enum MHD_Result on_call(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **ctx)
{
    (void)cls;
    (void)connection;
    (void)url; /* decoded too early: see target.h */
    struct req *req = *ctx;
    enum MHD_Result result = MHD_NO;
    log_context("req", req->id);
    switch (req->phase) {
    case REQ_NEW:
        result = on_head(req, method, version);
        break;
    case REQ_READING:
        if (*upload_size == 0) {
            result = run(req);
        } else {
            result = on_body(req, upload, *upload_size);
            *upload_size = 0;
        }
        break;
    case REQ_HELD:
        result = on_resume(req);
        break;
    case REQ_RUNNING:
    case REQ_ANSWERED:
        break; /* not called in these */
    }
    log_context(NULL, NULL);
    return result;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **ctx,
                         enum MHD_RequestTerminationCode code)
{
    (void)code;
    struct http *http = cls;
    struct req *req = *ctx;
    *ctx = NULL;
    if (!req)
        return;
    if (req->phase == REQ_ANSWERED)
        leave(http, 0, -1);
    if (req->phase == REQ_HELD) /* released, but its client had gone: it was not resumed */
        leave(http, -1, 0);
    req_free(req);
    expect_request(http, conn_of(connection));
}

static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text); /* target.h decodes */
}

/* libmicrohttpd logs each failed accept when files run out; one line a second tells as much. A
 * thread of it that has no connection at all then tries again at once and for ever, and says so:
 * nobody waits for it, so it may rest here. */
static void PRINTF_LIKE(2, 0) on_log(void *cls, const char *format, va_list args)
{
    static _Atomic int64_t last_ns;
    char text[256];
    (void)cls;
    if (strstr(format, "busy waiting"))
        (void)poll(NULL, 0, REST_MS);
    int64_t now_ns = clock_mono_ns();
    if (now_ns - atomic_load(&last_ns) < 1000000000)
        return;
    atomic_store(&last_ns, now_ns);
    (void)vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    log_event(LOG_LEVEL_WARN, "http_library", "says=%s", log_quote(text));
}

/* --- start and stop ------------------------------------------------------------------------ */

static unsigned connections_max(const struct http *http)
{
    struct rlimit files;
    if (http->parts.connections > 0)
        return (unsigned)http->parts.connections;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= CONNECTIONS_MAX + FILES_KEPT)
        return CONNECTIONS_MAX;
    unsigned limit = (unsigned)files.rlim_cur;
    return limit > 2 * FILES_KEPT ? limit - FILES_KEPT : limit / 2;
}

static struct MHD_Daemon *daemon_start(struct http *http)
{
    unsigned most = connections_max(http);
    struct MHD_OptionItem more[TLS_OPTIONS + 1] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    unsigned per_peer = http->on_loopback ? 0 : (unsigned)http->parts.connections_per_peer;
    if (http->tls) {
        flags |= MHD_USE_TLS;
        tls_options(http->tls, more);
    }
    http->crowd = most - most / 8; /* its threads share the limit, and not always evenly */
    return MHD_start_daemon(
        flags, 0, on_accept, http, on_call, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, http->listen_fd, MHD_OPTION_THREAD_POOL_SIZE, POOL_THREADS,
        MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, http, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_peer, MHD_OPTION_ARRAY, more,
        MHD_OPTION_END);
}

static void http_free(struct http *http)
{
    events_free(http->events);
    deadlines_stop(http->deadlines);
    deadlines_stop(http->ends);
    waiting_free(http->waiting);
    attempts_free(http->attempts);
    callers_free(http->callers);
    keeping_free(http->keeping);
    tls_close(http->tls);
    if (http->listen_fd >= 0)
        (void)close(http->listen_fd); /* nothing was written */
    wait_fini(&http->idle);
    lock_fini(&http->lock);
    free(http);
}

static int serve(struct http *http, struct err *err)
{
    struct listen_socket socket;
    if (listen_open(http->parts.listen, &socket, err) < 0)
        return -1;
    http->listen_fd = socket.fd;
    http->port = socket.port;
    http->on_loopback = socket.is_loopback;
    if (access_start(http, err) < 0)
        return -1;
    if (!socket.is_loopback && !atomic_load(&http->has_tokens))
        return err_set(
            err, ERR_REFUSED, 0,
            "listen on %s: without tokens only the loopback may be served; make one with "
            "sweetspotd token create --name N --scope admin",
            log_quote(http->parts.listen));
    if (http->parts.tls_cert_file &&
        tls_open(http->parts.tls_cert_file, http->parts.tls_key_file, &http->tls, err) < 0)
        return -1;
    if (!socket.is_loopback && !http->tls)
        log_event(LOG_LEVEL_WARN, "tokens_in_the_clear",
                  "listen=%s advice=\"set tls_cert_file, or let a proxy on this machine end TLS\"",
                  log_quote(http->parts.listen));
    if (deadlines_start(&http->deadlines, err) < 0 || deadlines_start(&http->ends, err) < 0 ||
        events_start(http, &http->events, err) < 0)
        return -1;
    http->daemon = daemon_start(http);
    if (!http->daemon)
        events_stop(http->events);
    if (!http->daemon)
        return err_set(err, ERR_SYSTEM, 0, "start the HTTP daemon: libmicrohttpd refused");
    return 0;
}

int http_start(const struct http_parts *parts, struct http **out, struct err *err)
{
    struct http *http = mem_alloc(1, sizeof *http);
    http->parts = *parts;
    http->listen_fd = -1;
    http->request_ns = (parts->request_ms > 0 ? parts->request_ms : REQUEST_MS) * 1000000;
    lock_init(&http->lock);
    wait_init(&http->idle);
    http->waiting = waiting_new(http);
    http->attempts = attempts_new();
    http->callers = callers_new(parts->store);
    http->keeping = keeping_new();
    if (serve(http, err) < 0) {
        http_free(http);
        return -1;
    }
    *out = http;
    return 0;
}

int http_port(const struct http *http)
{
    return http->port;
}

int http_reload(struct http *http, struct err *err)
{
    return http->tls ? tls_reload(http->tls, err) : 0;
}

void http_drain(struct http *http)
{
    atomic_store(&http->draining, true);
}

bool http_is_draining(struct http *http)
{
    return atomic_load(&http->draining);
}

/* Handlers and held requests must end: libmicrohttpd may not be stopped while one is suspended.
 * Answers only get a while: a client that does not read must not keep us. */
static void wait_until_idle(struct http *http)
{
    int64_t until_ns = clock_mono_ns() + STOP_NS;
    lock_take(&http->lock);
    while (atomic_load(&http->busy) > 0)
        wait_on(&http->idle, &http->lock);
    while (atomic_load(&http->busy) > 0 ||
           (atomic_load(&http->unsent) > 0 && clock_mono_ns() < until_ns))
        wait_until(&http->idle, &http->lock, until_ns);
    lock_drop(&http->lock);
}

void http_stop(struct http *http)
{
    if (!http)
        return;
    http_drain(http);
    atomic_store(&http->stopping, true);
    waiting_stop(http->waiting);
    events_stop(http->events);
    wait_until_idle(http);
    MHD_stop_daemon(http->daemon);
    http->listen_fd = -1; /* it has closed that */
    http_free(http);
}
