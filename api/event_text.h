#pragma once
/* Events as a stream carries them (text/event-stream): what the store noted, with the job, trial or
 * report it is about. Threads: any. */
#include "server/buf.h"
#include "server/store_rows.h"

struct job_current;

/* The first event of a job's own stream: its creation, which the store numbers only among all
 * jobs. */
#define EVENT_FIRST_ID 0

/* Appends one event; nothing when what it is about is not there any more. */
MUST_CHECK int event_text_add(struct db *db, const struct event_row *event, struct buf *out,
                              struct err *err);

/* Appends the first event of a job. */
void event_text_add_first(const struct job_row *job, struct buf *out);

/* Appends how far a running trial is, without a number: it is nowhere noted. */
void event_text_add_live(const struct job_row *job, const struct job_current *current,
                         struct buf *out);

/* Appends how an ended job stands, without a number: for one whose events are forgotten. */
void event_text_add_end(const struct job_row *job, struct buf *out);

/* True when nothing follows in the stream of this job: it has ended. */
bool event_is_end(const struct event_row *event);
