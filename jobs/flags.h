#pragma once
/* Global trace flags of the measured server: looked at, set and put back. A change is written down
 * (journal.h) with what was there before, so that whatever happens somebody can put it back. Always
 * -1: without it a global flag is not changed at all, and one would compare a setting with itself.
 * The worker's. */
#include "jobs/journal.h"

/* An intent of JOURNAL_FLAG has as object the flag's number, as prior {"on": bool, "started": when
 * the server started, as text, "" when it cannot be had}. */

/* 1: on for all sessions, 0: off, -1: it cannot be known (err tells why). */
MUST_CHECK int flags_is_on(struct run *run, int flag, struct err *err);

/* Makes the flag so, looks whether it is, and puts every other flag that this job has changed back.
 * Changes nothing that is right already. ERR_REFUSED with 2571 when the login may not. */
MUST_CHECK int flags_set(struct run *run, int flag, bool on, struct err *err);

/* Puts back what one intent changed (journal_undo_one). Nothing is done when the flag is as it was,
 * or when the server has been restarted since: our change ended with that, and what is set now is
 * somebody's will. */
MUST_CHECK int flags_undo(struct run *run, const struct intent_row *intent, struct err *err);

/* ERR_REFUSED, naming the job, when one has left the flag changed on this instance: what would be
 * found is not what was there before. */
MUST_CHECK int flags_check_left(struct run *run, int flag, struct err *err);

/* For plans, appended to the array: what may be sent to change the flag, and to look at it. */
void flags_templates(int flag, cJSON *statements);
void flags_probe(int flag, cJSON *probes);

/* ERR_REFUSED with 2571, naming what to grant, when the login may not change trace flags. */
MUST_CHECK int flags_check_rights(struct run *run, struct err *err);
