#pragma once
/* Who calls, and whether they may: tokens, scopes, and what holds without tokens. The scope that a
 * call needs stands in the table of routes. Tokens are looked up in the store with each request, so
 * that one that was revoked is out at once. Threads: the HTTP thread of the connection. */
#include "api/route.h"

/* Finds req->route, fills req->scope and req->who, and returns true; or answers and returns false:
 * 401 without a token or with a wrong one, 429 after many wrong ones, 403 with too small a scope or
 * for a foreign Host, 503 when the store does not answer. host: what the request calls us.
 *
 *   tokens   listening on    who may
 *   none     the loopback    everybody whose Host names the loopback, as admin, "loopback"
 *   none     elsewhere       nobody (the daemon refuses to start so; the last one was revoked)
 *   some     anywhere        who shows one
 *
 * Open routes (health) answer in all cases, but for the Host. */
bool access_admit(struct req *req, const char *host);

/* Whether who was admitted so still may: for what goes on after its request was let in. digest: as
 * of struct req. False also when the store does not answer. */
bool access_still(struct http *http, const char *digest, enum scope needed);

/* Answers who was admitted, and is not any more: 401. */
void access_refuse_late(struct req *req);

/* The scope that a call of route needs; /metrics may be opened by a setting. */
enum scope access_scope(const struct http_parts *parts, const struct route *route);

/* Reads from the store whether there are tokens. */
MUST_CHECK int access_start(struct http *http, struct err *err);
