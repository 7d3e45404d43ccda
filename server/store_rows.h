#pragma once
/* The rows of the results database and the operations on them. One implementation for every
 * dialect: only schema/DIALECT/store.sql differs. All run inside a store_work.
 * Texts of rows are heap copies owned by the row; X_row_fini frees them and accepts zeroed rows.
 * JSON members are stored as text exactly as given. Times are wall milliseconds, 0 for none. */
#include "server/db.h"

#include <stdbool.h>
#include <stdint.h>

struct store_list {    /* one page of a keyset-paged list */
    int64_t limit;     /* 1..500 */
    const char *after; /* the last key of the page before, or NULL */
};

/* A place in a list that is newest first, behind this row: what page->after holds there. A place is
 * of digits, a point and a name; the caller frees it. */
char *store_place(int64_t created_at, const char *name);
bool store_place_is_valid(const char *place);
/* What a place holds; of NULL or no place: the beginning of the list. *out_name is borrowed. */
void store_place_read(const char *place, int64_t *out_created_at, const char **out_name);

/* --- instances ---------------------------------------------------------------------------- */
struct instance_row {
    char *name;
    char *definition; /* JSON as of api.md §2, without secrets */
    int64_t version;  /* counts up by one with each PUT: the ETag */
    int64_t created_at;
    int64_t updated_at;
    char *held; /* why its jobs wait (a refused login); NULL: they do not */
};
void instance_row_fini(struct instance_row *row);
/* if_version: -1 none, else the version it must have (ERR_CONFLICT). Clears `held`.
 * out_created tells whether it was new. row->version, created_at, updated_at are filled. */
MUST_CHECK int store_instance_put(struct db *db, struct instance_row *row, int64_t if_version,
                                  bool *out_created, struct err *err);
MUST_CHECK int store_instance_get(struct db *db, const char *name, struct instance_row *out,
                                  struct err *err); /* ERR_NOT_FOUND */
/* Newest first; page->after is a store_place. The caller frees rows and array. */
MUST_CHECK int store_instance_list(struct db *db, const struct store_list *page,
                                   struct instance_row **out_rows, size_t *out_count,
                                   struct err *err);
/* Whether a job has begun there and not ended, or something there is not undone yet. */
MUST_CHECK int store_instance_is_used(struct db *db, const char *name, bool *out_used,
                                      struct err *err);
/* ERR_CONFLICT while jobs are not ended or intents are open or failed; ERR_NOT_FOUND. */
MUST_CHECK int store_instance_delete(struct db *db, const char *name, int64_t if_version,
                                     struct err *err);
MUST_CHECK int store_instance_hold(struct db *db, const char *name, const char *reason,
                                   struct err *err); /* NULL ends it */

/* --- jobs --------------------------------------------------------------------------------- */
struct job_row {
    char *id; /* UUIDv7 */
    char *kind;
    char *instance;
    char *state;        /* jobs/state.h */
    char *state_reason; /* or NULL */
    char *phase;        /* or NULL */
    char *cleanup;      /* none, pending, done, failed */
    int64_t priority;
    int64_t not_before;
    int64_t deadline;
    int64_t retry_at;          /* earliest next try of an unreachable instance */
    int64_t unreachable_since; /* when it was first not reached in this row of tries */
    int64_t attempts;          /* tries in that row, for the backoff */
    bool exclusive;            /* a kind that measures: alone on its instance */
    bool cancel_asked;
    int64_t created_at;
    int64_t started_at;
    int64_t finished_at;
    char *requested_by; /* or NULL */
    char *retry_of;     /* or NULL */
    char *definition;   /* JSON, normalised */
    char *plan;         /* JSON: arms, order, facts of the instance; NULL before it is made */
    char *summary;      /* or NULL */
    char *error;        /* JSON {number, message, step}, or NULL */
    int64_t trials_done;
    int64_t trials_planned;
    int64_t version;      /* counts up with each change: the ETag */
    int64_t run_ms;       /* how long it ran, over all its tries: against limits.minutes */
    bool ignores_windows; /* as its definition says */
};
void job_row_fini(struct job_row *row);
/* The rows and their array, as lists give them; NULL and 0 for none. */
void job_rows_free(struct job_row *rows, size_t count);
/* Also stores the labels found in the definition. ERR_NOT_FOUND when its instance is not there
 * (any more); ERR_CONFLICT when the id is. */
MUST_CHECK int store_job_insert(struct db *db, const struct job_row *row, struct err *err);
MUST_CHECK int store_job_get(struct db *db, const char *id, struct job_row *out, struct err *err);
struct job_filter { /* every member may be NULL or 0: no condition */
    const char *state, *kind, *instance;
    const char *label_key, *label_value;
    int64_t since; /* created at or after */
};
/* Newest first. page->after is a job id. Rows come without plan. */
MUST_CHECK int store_job_list(struct db *db, const struct job_filter *filter,
                              const struct store_list *page, struct job_row **out_rows,
                              size_t *out_count, struct err *err);
/* Stores every changeable member of row (state .. version except id, kind, instance,
 * definition, created_at) when the stored version is still row->version; then row->version is
 * one more. A plan of NULL leaves the stored one. ERR_CONFLICT when somebody changed it
 * meanwhile. When the write fails after all, read the row again: its version did not count up. */
MUST_CHECK int store_job_update(struct db *db, struct job_row *row, struct err *err);
/* Notes whose moment (not_before, retry_at) has passed, without a new version. Until it is noted
 * such a job costs store_job_heads a little each time. In a write. */
MUST_CHECK int store_job_wake(struct db *db, int64_t now_ms, struct err *err);
/* Moves the retries of jobs that wait for an instance that is away, as the clock was set. */
MUST_CHECK int store_job_shift_retries(struct db *db, int64_t by_ms, struct err *err);
/* The same jobs are tried at longest_ms from now at the latest. */
MUST_CHECK int store_job_bound_retries(struct db *db, int64_t now_ms, int64_t longest_ms,
                                       struct err *err);
/* The heads of each instance's queues: for every instance, the job in state queued or waiting, not
 * before now_ms (not_before and retry_at), with the highest priority, then the oldest, exclusive
 * and not exclusive apart; and beside them the first of those that ignore windows, when it is
 * another. Costs per instance, not per queued job. */
MUST_CHECK int store_job_heads(struct db *db, int64_t now_ms, struct job_row **out_rows,
                               size_t *out_count, struct err *err);
/* All jobs in state running (after a start: what was interrupted). */
MUST_CHECK int store_job_running(struct db *db, struct job_row **out_rows, size_t *out_count,
                                 struct err *err);
/* Marks at most `limit` jobs of an instance that are queued, or waiting for another reason (but
 * not those that wait for a moment of their own, not_before or the next try of an instance that
 * was not reached), as waiting with this reason; "window" passes over jobs that ignore windows.
 * Those marked so already are not counted and cost nothing: calling it again goes on with the
 * rest. */
MUST_CHECK int store_job_mark_waiting(struct db *db, const char *instance, const char *reason,
                                      int64_t limit, struct err *err);
/* True when store_job_mark_waiting would find something to mark. On any connection. */
MUST_CHECK int store_job_unmarked(struct db *db, const char *instance, const char *reason,
                                  bool *out_found, struct err *err);
/* True when a job of the instance found its server busy by another service and is not tried again
 * before a moment after now_ms: the others need not try before either. On any connection. */
MUST_CHECK int store_job_kept_back(struct db *db, const char *instance, int64_t now_ms,
                                   bool *out_found, struct err *err);
/* The next moment after now_ms at which the later of not_before and retry_at, or the deadline, of
 * a job that has not started or ended passes; 0 for none. */
MUST_CHECK int store_job_next_moment(struct db *db, int64_t now_ms, int64_t *out_ms,
                                     struct err *err);
/* Jobs in queued or waiting whose deadline passed (is at or before now_ms), at most 100. */
MUST_CHECK int store_job_overdue(struct db *db, int64_t now_ms, struct job_row **out_rows,
                                 size_t *out_count, struct err *err);

/* --- idempotency keys --------------------------------------------------------------------- */
/* 1: the key is new and stored now; 0: known, out_job and out_fingerprint (heap) are filled. */
MUST_CHECK int store_key_claim(struct db *db, const char *key, const char *fingerprint,
                               const char *job, int64_t now_ms, char **out_job,
                               char **out_fingerprint, struct err *err);
/* 1: the key is known, out_job and out_fingerprint (heap) are filled; 0: it is not. */
MUST_CHECK int store_key_find(struct db *db, const char *key, char **out_job,
                              char **out_fingerprint, struct err *err);
/* Forgets at most 10,000 keys made before this moment: a call must not hold the writer for long. */
MUST_CHECK int store_key_expire(struct db *db, int64_t before_ms, struct err *err);

/* --- trials and reports ------------------------------------------------------------------- */
/* document: the trial as of api.md §3. The same (job, seq) twice, or no such job: ERR_CONFLICT. */
MUST_CHECK int store_trial_insert(struct db *db, const char *job, int64_t seq, const char *document,
                                  struct err *err);
/* Oldest first; page->after is the last seq as text. out_documents: heap array of heap texts. */
MUST_CHECK int store_trial_list(struct db *db, const char *job, const struct store_list *page,
                                char ***out_documents, size_t *out_count, struct err *err);
MUST_CHECK int store_trial_all(struct db *db, const char *job, char ***out_documents,
                               size_t *out_count, struct err *err);
MUST_CHECK int store_report_put(struct db *db, const char *job, const char *document,
                                struct err *err);
MUST_CHECK int store_report_get(struct db *db, const char *job, char **out_document,
                                struct err *err); /* ERR_NOT_FOUND */

/* What the report was made from (jobs/evidence.h); ERR_NOT_FOUND. */
MUST_CHECK int store_evidence_put(struct db *db, const char *job, const char *document,
                                  struct err *err);
MUST_CHECK int store_evidence_get(struct db *db, const char *job, char **out_document,
                                  struct err *err);

/* --- events: what happened to jobs, noted by the database itself --------------------------- */
struct event_row {
    int64_t id; /* grows; the same for ever */
    char *job;
    char *what;         /* created, state, progress, trial, report */
    int64_t seq;        /* of a trial */
    char *state;        /* how the job stood then; NULL for trial and report, as are the next two */
    char *state_reason; /* or NULL */
    char *phase;        /* or NULL */
    int64_t trials_done;
    int64_t trials_planned;
};
void event_row_fini(struct event_row *row);
/* Those after an id, oldest first; of one job (without its first, "created") when job is not
 * NULL. */
MUST_CHECK int store_event_list(struct db *db, const char *job, int64_t after, int64_t limit,
                                struct event_row **out_rows, size_t *out_count, struct err *err);
MUST_CHECK int store_event_last(struct db *db, int64_t *out_id, struct err *err);
/* Forgets at most 10,000 that are older than this moment, never the newest. */
MUST_CHECK int store_event_expire(struct db *db, int64_t before_ms, struct err *err);
MUST_CHECK int store_trial_get(struct db *db, const char *job, int64_t seq, char **out_document,
                               struct err *err); /* ERR_NOT_FOUND */

/* --- counts, for metrics ------------------------------------------------------------------- */
enum store_count {
    COUNT_JOBS,       /* state; how many that have not ended */
    COUNT_OLDEST,     /* when the oldest that waits was made, wall ms; 0: none waits */
    COUNT_ENDED,      /* kind, state; how many ever ended so */
    COUNT_DURATIONS,  /* upper end in seconds; how many ended jobs, their seconds in all */
    COUNT_INTENTS,    /* how many are open */
    COUNT_UNDONE,     /* action; how many were ever undone */
    COUNT_INSTANCES,  /* name; 1: its jobs may run, 0: it is held or not reached */
    COUNT_RATES,      /* instance; MiB/s of its last report */
    COUNT_DELIVERIES, /* webhook's format, state; how many ever got there */
};
#define STORE_COUNTS (COUNT_DELIVERIES + 1)
struct store_count_row {
    const char *texts[2]; /* until see returns */
    double numbers[3];
};
typedef void store_count_see(void *ctx, const struct store_count_row *row);
/* Calls see for each row, in a fixed order. Costs per instance and per queued job at most. */
MUST_CHECK int store_count(struct db *db, enum store_count what, store_count_see *see, void *ctx,
                           struct err *err);

/* --- the service as a whole ---------------------------------------------------------------- */
/* Paused: no job starts. Kept over restarts. */
MUST_CHECK int store_paused_get(struct db *db, bool *out_paused, struct err *err);
MUST_CHECK int store_paused_put(struct db *db, bool paused, struct err *err);

/* --- intents: what was changed on an instance and must be undone --------------------------- */
struct intent_row {
    char *id;
    char *job;
    char *instance;
    char *action; /* "file" */
    char *object; /* full path */
    char *prior;  /* JSON or NULL */
    char *
        state; /* open, undone, failed, abandoned: failed, and forgotten because somebody said so */
    char *detail; /* why it failed, or NULL */
    int64_t created_at;
    int64_t given_up_at; /* since when its session is given up, and may still be at it; 0: it is not
                          */
};
void intent_row_fini(struct intent_row *row);
MUST_CHECK int store_intent_insert(struct db *db, const struct intent_row *row, struct err *err);
/* For each instance on which no job measures and whose jobs are not held: its first open intent. */
MUST_CHECK int store_intent_leftovers(struct db *db, struct intent_row **out_rows,
                                      size_t *out_count, struct err *err);
/* Whether a job other than this one, which does not run, left an open intent on the instance. */
MUST_CHECK int store_intent_pending(struct db *db, const char *instance, const char *job,
                                    bool *out_pending, struct err *err);
MUST_CHECK int store_intent_close(struct db *db, const char *id, const char *state,
                                  const char *detail, struct err *err);
/* All open ones of this job. */
MUST_CHECK int store_intent_give_up(struct db *db, const char *job, int64_t at_ms, struct err *err);
/* Of one job (job not NULL) or instance; only those in `state` when it is not NULL. */
MUST_CHECK int store_intent_list(struct db *db, const char *job, const char *instance,
                                 const char *state, struct intent_row **out_rows, size_t *out_count,
                                 struct err *err);

/* Those of an instance that are not undone: open or failed, in the order they were made. */
MUST_CHECK int store_intent_list_left(struct db *db, const char *instance,
                                      struct intent_row **out_rows, size_t *out_count,
                                      struct err *err);
/* The caller says that its failed ones are not tried any more. */
MUST_CHECK int store_intent_abandon(struct db *db, const char *instance, struct err *err);

/* --- webhooks and the outbox --------------------------------------------------------------- */
struct webhook_row {
    char *name;
    char *definition; /* JSON as shown: url redacted or a reference */
    char *url_sealed; /* a literal URL, sealed (server/secrets.h); NULL: a reference */
    bool disabled;    /* answered 410 */
    int64_t version;
    int64_t created_at;
    int64_t updated_at;
};
void webhook_row_fini(struct webhook_row *row);
MUST_CHECK int store_webhook_put(struct db *db, struct webhook_row *row, int64_t if_version,
                                 bool *out_created, struct err *err);
MUST_CHECK int store_webhook_get(struct db *db, const char *name, struct webhook_row *out,
                                 struct err *err);
/* Newest first; page->after is a store_place. */
MUST_CHECK int store_webhook_list(struct db *db, const struct store_list *page,
                                  struct webhook_row **out_rows, size_t *out_count,
                                  struct err *err);
/* Its deliveries go with it. */
MUST_CHECK int store_webhook_delete(struct db *db, const char *name, int64_t if_version,
                                    struct err *err);
MUST_CHECK int store_webhook_disable(struct db *db, const char *name, struct err *err);

/* A value that is sealed (server/secrets.h), with what it is bound to: today only webhooks have
 * one.
 */
struct sealed_row {
    char *name; /* of the webhook */
    char *sealed;
};
void sealed_row_fini(struct sealed_row *row);
/* By name after `after` ("" for all), at most `limit`; without those that begin with `except`
 * (NULL: none is left out). The caller frees rows and array. */
MUST_CHECK int store_sealed_list(struct db *db, const char *after, const char *except,
                                 int64_t limit, struct sealed_row **out_rows, size_t *out_count,
                                 struct err *err);
/* The same secret, sealed with another key: the webhook keeps its version. */
MUST_CHECK int store_sealed_put(struct db *db, const struct sealed_row *row, struct err *err);
/* The id of the key that the daemon seals with, written by it; *out is NULL when none was. The
 * caller frees it. */
MUST_CHECK int store_sealing_key_get(struct db *db, char **out_id, struct err *err);
MUST_CHECK int store_sealing_key_put(struct db *db, const char *id, struct err *err);

struct delivery_row {
    char *id; /* also the webhook-id that all tries carry */
    char *webhook;
    char *event;   /* job.finished, … */
    char *job;     /* or NULL */
    char *payload; /* JSON: the event, before it is rendered for the receiver */
    char *state;   /* pending, delivered, dead */
    int64_t attempts;
    int64_t last_status; /* HTTP, 0 none */
    char *last_error;    /* or NULL */
    int64_t next_at;
    int64_t created_at;
};
void delivery_row_fini(struct delivery_row *row);
/* ERR_CONFLICT when the webhook is not there (any more). */
MUST_CHECK int store_delivery_insert(struct db *db, const struct delivery_row *row,
                                     struct err *err);
/* How a try went; row->attempts counts it. ERR_NOT_FOUND when it is gone, or was made due anew
 * meanwhile (store_delivery_again). */
MUST_CHECK int store_delivery_update(struct db *db, const struct delivery_row *row,
                                     struct err *err);
/* Pending and due at now_ms, as if it had never been tried. ERR_NOT_FOUND. */
MUST_CHECK int store_delivery_again(struct db *db, const char *id, int64_t now_ms, struct err *err);
MUST_CHECK int store_delivery_get(struct db *db, const char *id, struct delivery_row *out,
                                  struct err *err); /* ERR_NOT_FOUND */
/* Pending ones whose next_at is at or before now_ms (INT64_MAX: also those to come), earliest
 * first, at most `limit`, one per webhook; none of disabled webhooks. */
MUST_CHECK int store_delivery_due(struct db *db, int64_t now_ms, int64_t limit,
                                  struct delivery_row **out_rows, size_t *out_count,
                                  struct err *err);
/* Newest first. */
MUST_CHECK int store_delivery_list(struct db *db, const char *webhook,
                                   const struct store_list *page, struct delivery_row **out_rows,
                                   size_t *out_count, struct err *err);
/* Whether this webhook hears of this outage of the instance for the first time; then it is noted.
 * ERR_CONFLICT when one of the two is gone. */
MUST_CHECK int store_outage_tell(struct db *db, const char *instance, const char *webhook,
                                 int64_t now_ms, bool *out_first, struct err *err);
/* The instance answered: the next outage is a new one. */
MUST_CHECK int store_outage_end(struct db *db, const char *instance, struct err *err);
