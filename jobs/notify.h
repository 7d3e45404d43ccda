#pragma once
/* Delivers the outbox: one thread ("notify") finds what is due, others ("sender-N") render it for
 * its receiver, post it, and store how it went. One delivery of a webhook at a time, so that a
 * receiver that is slow delays its own messages and nobody else's. At least once, with one id for
 * all tries; backoff 5 s, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h; then dead (api.md §5). */
#include "jobs/jobs.h"

struct notify;

MUST_CHECK int notify_start(const struct jobs_parts *parts, struct notify **out, struct err *err);
/* Gives up what is under way: it is due at the next start, and the try does not count. */
void notify_stop(struct notify *notify); /* accepts NULL */

/* How one try went. */
struct notify_try {
    int rc;                      /* of everything up to the receiver's answer */
    struct err err;              /* when rc is -1 */
    struct egress_answer answer; /* when rc is 0 */
    int64_t ended_at;            /* wall ms */
};

/* What becomes of a pending row after a try: delivered, pending until its next_at, or dead. True
 * when the receiver is gone for good (410) and its webhook must be disabled. Pure. */
bool notify_settle(struct delivery_row *row, const struct notify_try *done);

/* Something may be due. Accepts NULL. */
void notify_wake(struct notify *notify);
