#pragma once
/* The events that webhooks are told of (api.md §5), and what an event says. The outbox rows are
 * written in the transaction that makes the event true. */
#include "server/json.h"
#include "server/store_rows.h"

#include <stdbool.h>

#define EVENT_JOB_FINISHED "job.finished"
#define EVENT_JOB_FAILED "job.failed"
#define EVENT_JOB_REGRESSED "job.regressed"
#define EVENT_CLEANUP_FAILED "job.cleanup_failed"
#define EVENT_INSTANCE_UNREACHABLE "instance.unreachable"
#define EVENT_WEBHOOK_TEST "webhook.test" /* asked for by POST …/test; no filter names it */

/* True for the names above and "*". */
bool event_is_known(const char *name);

/* All names, comma-separated, for messages. */
const char *event_names(void);

/* Inside a store_work: writes one outbox row for every webhook that wants `event` of this job;
 * instance.unreachable once per outage and webhook. report: the report's text, or NULL. */
MUST_CHECK int event_write(struct db *db, const char *event, const struct job_row *job,
                           const char *report, int64_t now_ms, struct err *err);

/* The same for the end of a job: job.finished, and job.failed or job.regressed where it is one. Who
 * takes "*" gets one message, of the event that says most; who names several gets each. */
MUST_CHECK int event_write_end(struct db *db, const struct job_row *job, const char *report,
                               bool regressed, int64_t now_ms, struct err *err);

/* Inside a store_work: one outbox row with a test message for this webhook; *out is the row. */
MUST_CHECK int event_write_test(struct db *db, const char *webhook, int64_t now_ms,
                                struct delivery_row *out, struct err *err);
