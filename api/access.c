#include "api/access.h"
#include "api/attempts.h"
#include "api/callers.h"
#include "api/gate.h"
#include "api/http_inner.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/mem.h"
#include "server/store_access.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define USE_IS_NOTED_MS 60000 /* the last use is kept to the minute, not with every request */
#define REALM "Bearer realm=\"sweetspot\""

/* --- what is noted ------------------------------------------------------------------------- */

int access_start(struct http *http, struct err *err)
{
    struct caller nobody;
    if (callers_look(http->callers, NULL, &nobody, err) < 0)
        return -1;
    atomic_store(&http->has_tokens, nobody.any);
    return 0;
}

struct use {
    char *name;
    int64_t at_ms;
};

static int use_work(struct db *db, void *arg, struct err *err)
{
    const struct use *use = arg;
    return store_token_used(db, use->name, use->at_ms, err);
}

static void use_done(void *ctx, int rc, const struct err *err)
{
    struct use *use = ctx;
    (void)rc; /* the next use tries again */
    (void)err;
    free(use->name);
    free(use);
}

static void note_use(struct req *req, const struct caller *caller)
{
    int64_t now_ms = clock_wall_ms();
    if (now_ms - caller->last_used_at < USE_IS_NOTED_MS)
        return;
    struct use *use = mem_alloc(1, sizeof *use);
    *use = (struct use){.name = mem_copy(caller->name), .at_ms = now_ms};
    callers_used(req->http->callers, req->digest, now_ms);
    store_write_later(req->parts->store, use_work, use, use_done, use);
}

/* --- the answers --------------------------------------------------------------------------- */

static bool refuse_host(struct req *req)
{
    problem_answer(req, PROBLEM_FOREIGN_HOST,
                   "without tokens only a Host that names the loopback is answered");
    return false;
}

static bool refuse_scope(struct req *req, enum scope needed)
{
    problem_answer(req, PROBLEM_SCOPE, "this call needs the scope %s", scope_name(needed));
    req_answer_header(req, "WWW-Authenticate", REALM ", error=\"insufficient_scope\", scope=\"%s\"",
                      scope_name(needed));
    return false;
}

static const char *peer_text(const struct sockaddr *peer, char out[INET6_ADDRSTRLEN])
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    const char *text;
    if (peer->sa_family == AF_INET6) {
        memcpy(&in6, peer, sizeof in6);
        text = inet_ntop(AF_INET6, &in6.sin6_addr, out, INET6_ADDRSTRLEN);
    } else {
        memcpy(&in, peer, sizeof in);
        text = inet_ntop(AF_INET, &in.sin_addr, out, INET6_ADDRSTRLEN);
    }
    return text ? text : "?";
}

static bool refuse_token(struct req *req)
{
    char text[INET6_ADDRSTRLEN];
    const struct sockaddr *peer =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    int seconds = attempts_note(req->http->attempts, peer, clock_mono_ns());
    if (seconds > 0) {
        problem_answer(req, PROBLEM_TOO_MANY,
                       "too many wrong tokens came from this address; a "
                       "right one is taken at any time");
        req_answer_header(req, "Retry-After", "%d", seconds);
        return false;
    }
    log_event(LOG_LEVEL_WARN, "token_refused", "peer=%s", log_quote(peer_text(peer, text)));
    problem_answer(req, PROBLEM_UNAUTHORIZED, "the token is not known here, or was revoked");
    req_answer_header(req, "WWW-Authenticate", REALM ", error=\"invalid_token\"");
    return false;
}

static bool ask_for_token(struct req *req)
{
    problem_answer(req, PROBLEM_UNAUTHORIZED, "send Authorization: Bearer TOKEN");
    req_answer_header(req, "WWW-Authenticate", REALM);
    return false;
}

/* --- the whole ----------------------------------------------------------------------------- */

enum scope access_scope(const struct http_parts *parts, const struct route *route)
{
    if (parts->metrics_open && strcmp(route->path, "/metrics") == 0)
        return SCOPE_OPEN;
    return route->scope;
}

/* What stands behind "Bearer", or "" when it is something else. */
static const char *bearer_of(const char *authorization)
{
    size_t length = strlen("Bearer");
    if (strncasecmp(authorization, "Bearer", length) != 0 || authorization[length] != ' ')
        return "";
    return authorization + length + strspn(authorization + length, " ");
}

static bool admit_token(struct req *req, const struct caller *caller, enum scope needed)
{
    note_use(req, caller);
    req->who = req_copy(req, caller->name, strlen(caller->name));
    if (caller->scope < needed)
        return refuse_scope(req, needed);
    req->scope = caller->scope;
    return true;
}

static bool admit_caller(struct req *req, const char *host, enum scope needed)
{
    struct err err;
    struct caller caller;
    const char *authorization = req_header(req, "Authorization");
    const char *token = authorization ? bearer_of(authorization) : "";
    if (*token)
        (void)hash_hex(token, req->digest);
    if (callers_look(req->http->callers, *token ? req->digest : NULL, &caller, &err) < 0) {
        problem_err(req, &err);
        return false;
    }
    atomic_store(&req->http->has_tokens, caller.any);
    if (caller.found)
        return admit_token(req, &caller, needed);
    /* one that was revoked is no better than none, also when it was the last */
    if (*token || caller.any || !req->http->on_loopback)
        return authorization ? refuse_token(req) : ask_for_token(req);
    if (!gate_is_loopback_host(host))
        return refuse_host(req);
    req->who = "loopback";
    req->scope = SCOPE_ADMIN;
    return true;
}

bool access_still(struct http *http, const char *digest, enum scope needed)
{
    struct caller caller;
    struct err unsaid;
    if (callers_look(http->callers, *digest ? digest : NULL, &caller, &unsaid) < 0)
        return false;
    return *digest ? caller.found && caller.scope >= needed : !caller.any && http->on_loopback;
}

void access_refuse_late(struct req *req)
{
    problem_answer(req, PROBLEM_UNAUTHORIZED, "the token was revoked while the call was held");
    req_answer_header(req, "WWW-Authenticate", REALM ", error=\"invalid_token\"");
}

bool access_admit(struct req *req, const char *host)
{
    struct buf methods = {0};
    req->route = route_find(req->method, &req->target, req->params, &methods);
    buf_fini(&methods);
    /* who may not see anything is not told which paths there are */
    enum scope needed = req->route ? access_scope(req->parts, req->route) : SCOPE_READ;
    if (needed > SCOPE_OPEN)
        return admit_caller(req, host, needed);
    bool names_us = gate_is_loopback_host(host) || !req->http->on_loopback ||
                    atomic_load(&req->http->has_tokens);
    return names_us ? true : refuse_host(req);
}
