#pragma once
/* Delivers the outbox: one thread ("notify") that takes what is due, renders it for its receiver,
 * posts it, and stores how it went. At least once, with one id for all tries; backoff 5 s, 30 s,
 * 2 min, 10 min, 1 h, 6 h, 24 h; then dead (api.md §5). */
#include "jobs/jobs.h"

struct notify;

MUST_CHECK int notify_start(const struct jobs_parts *parts, struct notify **out, struct err *err);
void notify_stop(struct notify *notify); /* accepts NULL */

/* Something may be due. Accepts NULL. */
void notify_wake(struct notify *notify);
