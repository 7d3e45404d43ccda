#pragma once
/* The daemon as a whole: what is opened in which order, and closed in reverse. The file to read
 * first. Used by main.c and, in-process, by tests. */
#include "server/config.h"
#include "server/err.h"

#include <stdbool.h>

struct daemon;

/* Starts everything; config is borrowed until daemon_stop returns. Signals that the caller wants
 * to handle must be blocked before, so that every thread inherits that. */
MUST_CHECK int daemon_start(const struct config *config, struct daemon **out, struct err *err);

/* The TCP port that is really bound. */
int daemon_port(const struct daemon *daemon);

/* What SIGHUP asks for: certificate and key of TLS are read again, and the key file, after which
 * all that is sealed is sealed with its newest key. On failure those before stay, of the one that
 * failed; err tells of both. One at a time. */
MUST_CHECK int daemon_reload(struct daemon *daemon, struct err *err);

/* readyz turns 503, no new job is claimed, running trials are cancelled, undone and recorded,
 * waiting requests are answered. False when a run did not end, for its server answers nothing, not
 * even a cancel: what it uses stays open, the job is taken up at the next start, and the caller
 * must end the process at once. out_owing (may be NULL): something could not be undone or stored,
 * and waits for the next start. Accepts NULL. */
bool daemon_stop(struct daemon *daemon, bool *out_owing);
