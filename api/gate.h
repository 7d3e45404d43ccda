#pragma once
/* What stands between libmicrohttpd 0.9.75 and us: its parser is lenient (Content-Length beside
 * Transfer-Encoding, two Content-Length, folded lines, NUL bytes …), and each leniency lets a
 * proxy in front see other requests than we do. The head is checked in the first call of the
 * access handler, before any body is read. Threads: the HTTP thread of the connection. */
#include "api/request.h"
#include "server/limits.h"

/* A body that is too long is read away up to this size so that its sender comes to read the
 * answer; beyond it we close. */
#define GATE_DRAIN_BYTES ((uint64_t)16 * LIMIT_BODY_BYTES)

/* Checks the head and takes the caller's X-Request-Id. Returns false when the framing cannot be
 * trusted: the answer is filled, and the connection must be closed with it. Otherwise true;
 * req->refused tells whether an answer is filled already (a foreign Host, a body that is too
 * long …), to be sent when the body has been read away. */
bool gate_check(struct req *req, const char *version);

/* Called when the whole request has come. False when something came behind the body that cannot be
 * trusted; the answer is filled, and the connection must be closed with it. */
bool gate_check_end(struct req *req);

/* True when Host (NAME or NAME:PORT) is a name of the loopback: localhost, 127.0.0.0/8, [::1]. */
bool gate_is_loopback_host(const char *host);

/* True when Origin is http:// or https:// and this Host. */
bool gate_is_own_origin(const char *origin, const char *host);

/* True for 1..64 of A-Z a-z 0-9 . _ - */
bool gate_is_request_id(const char *text);
