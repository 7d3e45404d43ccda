#pragma once
/* Every change on an instance is written down before it is made and undone after. A change is an
 * intent row (server/store_rows.h). Undo first looks, then acts, then looks again, and only then
 * the row is closed. What can be undone is one table: actions, in journal.c. A trace flag is only
 * put back by a run that has the lock on the server (jobs/applock.h), which is taken for it; while
 * another service has it the intent stays open. */
#include "jobs/measure/action.h"
#include "jobs/run.h"

/* Writes down, durably, one change that a statement is about to make. prior: what was there
 * before, as JSON text, or NULL. */
MUST_CHECK int journal_write(struct run *run, const char *action, const char *object,
                             const char *prior, struct err *err);

/* The same for the files of one backup, in one commit. */
MUST_CHECK int journal_files(struct run *run, const char *const *paths, size_t count,
                             struct err *err);

/* Undoes one change. 0: undone, or found undone. -1 with ERR_UNREACHABLE: the connection broke,
 * the intent stays open; with anything else: it cannot be undone, err says why. */
typedef int journal_undo_one(struct run *run, const struct intent_row *intent, struct err *err);

/* Undoes every open intent of this job over the run's session, the newest first; what cannot be
 * undone is closed as failed and stays in the report. Fails only when the store or the connection
 * does, or the server is too slow to tell (ERR_TIMEOUT): then the intents stay open. A store that
 * cannot be written keeps nothing from being undone, only from being noted: ERR_STORE, after all
 * was tried. */
MUST_CHECK int journal_undo(struct run *run, struct err *err);

/* The same for what other jobs of the instance left open: they ended, or wait, and could not reach
 * it any more. Those that have ended then say so in their `cleanup`. failed_too: what the server
 * once refused to undo is tried once more, too, and stays failed when it cannot be undone now. The
 * run must be connected; does nothing for one that is not alone on its instance. */
MUST_CHECK int journal_undo_others(struct run *run, bool failed_too, struct err *err);

/* For an ended job: stores what its `cleanup` has come to since its end, and tells (once) that it
 * failed. */
MUST_CHECK int journal_tell(struct run *run, struct err *err);

/* For an ended job whose intents are still open: its clean-up counts as failed, which is told once;
 * they stay open. */
MUST_CHECK int journal_give_up(struct run *run, struct err *err);

/* A session of the run was given up: what this job has open may still be written to, which is noted
 * for whoever undoes it. */
MUST_CHECK int journal_note_given_up(struct run *run, struct err *err);

/* In the transaction of the run's ending: notes what was undone while the store could not be
 * written. May be done again. */
MUST_CHECK int journal_mark_work(struct db *db, const struct run *run, struct err *err);

/* How many clean-ups have failed, for /metrics, since the process began. */
void journal_count_failure(void);
int64_t journal_failures(void);

/* The same after one trial: what lasts from trial to trial (the table says what) is left alone. */
MUST_CHECK int journal_undo_trial(struct run *run, struct err *err);

/* The same for those open intents that pick says yes to. */
typedef bool journal_pick(const struct intent_row *intent, const void *arg);
MUST_CHECK int journal_undo_picked(struct run *run, journal_pick *pick, const void *arg,
                                   struct err *err);

/* The job's `cleanup` from its intents: none, pending, done, failed; what this run has undone
 * counts as done, also when it could not be noted. And left_behind: an array of
 * {"action", "object", "detail"}, which the caller frees; out_left may be NULL. */
MUST_CHECK int journal_state(struct run *run, const char **out_cleanup, cJSON **out_left,
                             struct err *err);

/* The highest seq in the names of this job's files, 0 for none: a repeated trial gets a fresh
 * name even when its old file could not be deleted. */
MUST_CHECK int journal_last_seq(struct run *run, int64_t *out_seq, struct err *err);
