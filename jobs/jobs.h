#pragma once
/* How a benchmark lives: the face of this folder towards api/ and main. A request never talks to
 * a measured instance and a worker never talks HTTP to its client: they meet in the store.
 * Threads started here: workers ("worker-N"), the clock ("clock": deadlines, retries), the
 * notifier ("notify"), those that check instances ("check-N"), and beside a worker whose BACKUP
 * goes to disk one that looks at the volumes ("room"). Functions may be called from any thread. */
#include "server/config.h"
#include "server/egress.h"
#include "server/json.h"
#include "server/secrets.h"
#include "server/store.h"
#include "server/store_rows.h"

#include <stdatomic.h>
#include <stdbool.h>

struct jobs;
struct cleaners;

/* What jobs stand on; borrowed until jobs_stop returns. */
struct jobs_parts {
    struct store *store;
    struct secrets *secrets;
    struct egress *egress;
    const struct config *config;
    struct cleaners *cleaners; /* made by jobs_start; NULL before */
    /* what an earlier process left running still stands so in the store, for that could not be
     * written since the start: no job runs. jobs_start's */
    atomic_bool unrecovered;
};

/* Takes up what an earlier process left running, then starts the threads. A disk that is full is no
 * reason not to start: until there is room no job runs, and what is left on servers is undone. */
MUST_CHECK int jobs_start(const struct jobs_parts *parts, struct jobs **out, struct err *err);

/* No new job is claimed; running trials are cancelled, undone and recorded; their jobs go on
 * after the next start. Joins the threads; every other function may still be called. False when a
 * run did not end within 80 s (see pool_drain): then jobs_stop must not be called, and the process
 * can only exit. Accepts NULL. */
bool jobs_drain(struct jobs *jobs);

/* True when something could not be undone or stored for the shutdown. After jobs_drain. */
bool jobs_owing(const struct jobs *jobs);

/* Drains, which must not fail, then frees. Accepts NULL. */
void jobs_stop(struct jobs *jobs);

/* Something may have become runnable (a job, an instance that is no longer held) or deliverable (an
 * event, a webhook with a better URL). Call it after the commit. Cheap. */
void jobs_wake(struct jobs *jobs);

/* --- submitting ---------------------------------------------------------------------------- */

/* One submit between its check and its commit. */
struct submission {
    struct job_row row;
    char *key;              /* Idempotency-Key, or NULL */
    char *fingerprint;      /* of the request, when there is a key */
    const char *admin_only; /* out: the member that only an admin may use, or NULL */
    bool replayed;          /* out: the key was known, row is the job of the first call */
};
void submission_fini(struct submission *submission);

/* Checks a job's body against the contract, its kind, its instance and its webhooks, and fills
 * *out with a row ready to be stored. ERR_INPUT: faults tell all; ERR_CONFLICT: a production
 * instance without confirmation or windows (api.md §2, 409), *out is filled then, too; ERR_STORE.
 * Reads the store. */
MUST_CHECK int jobs_check(struct jobs *jobs, const cJSON *body, struct submission *out,
                          struct json_faults *faults, struct err *err);

/* A store_work with arg struct submission *: stores the job, or finds the first one of its key.
 * ERR_REFUSED: the same key with another request (422). ERR_NOT_FOUND: the instance is gone. */
int jobs_insert_work(struct db *db, void *arg, struct err *err);

/* The body that submits an ended job once more: its definition, without the seed when that was
 * drawn, and without a not_before or deadline that has passed. Pure. The caller frees it. */
cJSON *job_retry_body(const struct job_row *row, int64_t now_ms);

/* --- kinds --------------------------------------------------------------------------------- */

/* The answer of GET /v1/kinds (api.md §4): every kind with the JSON Schema of its parameters, an
 * example and the permissions it needs. The caller frees it. */
cJSON *kinds_list_json(void);

/* --- cancelling ---------------------------------------------------------------------------- */

struct cancellation {
    struct jobs *jobs;
    const char *id;
    struct job_row row; /* out: the job afterwards */
};
/* A store_work with arg struct cancellation *: a job that has not started ends as cancelled; of a
 * running one cancel_asked is stored. ERR_NOT_FOUND; ERR_CONFLICT when it has ended. After the
 * commit call jobs_cancelled(jobs, id). */
int jobs_cancel_work(struct db *db, void *arg, struct err *err);
void jobs_cancelled(struct jobs *jobs, const char *id);

/* --- watching ------------------------------------------------------------------------------ */

/* Where a running job stands now, from memory. */
struct job_current {
    int arm;         /* index; -1: no trial runs */
    int percent;     /* of the running trial, 0..100; -1 unknown */
    char label[160]; /* of the arm, for people */
};
/* False when the job does not run here. */
bool jobs_current(struct jobs *jobs, const char *id, struct job_current *out);

#define JOB_ID_SIZE 40
#define JOBS_RUNNING_MAX 256 /* as many workers may be set */
struct job_running {
    char id[JOB_ID_SIZE];
    struct job_current current;
};
/* The jobs that run here, at most max; how many they are. */
size_t jobs_running(struct jobs *jobs, struct job_running *out, size_t max);

/* Called after the commit that ended a job, from a thread of ours; it must only hand on. */
typedef void jobs_on_end(void *ctx, const char *id);
struct jobs_watch;
/* The caller checks the job's state after adding (it may have ended just before). */
struct jobs_watch *jobs_watch_add(struct jobs *jobs, const char *id, jobs_on_end *on_end,
                                  void *ctx);
/* After it returns on_end is not and will not be called. Accepts NULL. */
void jobs_watch_remove(struct jobs *jobs, struct jobs_watch *watch);

/* --- checking an instance ------------------------------------------------------------------ */

/* Called once, from a thread of ours, when a check is done or given up; it must only hand on. */
typedef void jobs_on_check(void *ctx);
struct jobs_checking;
/* Connects to the instance of this stored row (borrowed), in a thread of ours; on_check may be
 * called before this returns. NULL: too many wait, or the service stops; on_check is not called
 * then. */
struct jobs_checking *jobs_check_begin(struct jobs *jobs, const struct instance_row *row,
                                       jobs_on_check *on_check, void *ctx);
/* The same for a plan (api.md §3, POST /v1/plans): row as jobs_check filled it, taken over;
 * refusal: what already stands against the job, or NULL. */
struct jobs_checking *jobs_plan_begin(struct jobs *jobs, struct job_row *row, const char *refusal,
                                      jobs_on_check *on_check, void *ctx);
/* The plan of an instance that is not asked: `why` stands in its refusals. On the caller's thread;
 * reads the store. The caller frees it. */
cJSON *jobs_plan_unasked(struct jobs *jobs, struct job_row *row, const char *refusal,
                         const char *why);
/* The same for a clean-up of an instance (api.md §2, reconcile). */
struct jobs_checking *jobs_reconcile_begin(struct jobs *jobs, const char *instance, bool dry_run,
                                           jobs_on_check *on_check, void *ctx);
/* What is open on it, from the store alone; why: what goes on meanwhile. The caller frees it. */
cJSON *jobs_reconcile_unasked(struct jobs *jobs, const char *instance, const char *why);
/* After it returns on_check is not and will not be called. The answer of api.md §2 or §3, the
 * caller's; NULL when there is none yet: the check is given up. Accepts NULL. */
cJSON *jobs_check_end(struct jobs *jobs, struct jobs_checking *checking);

/* --- JSON ---------------------------------------------------------------------------------- */

/* The job as api.md §3 gives it; current may be NULL. The caller frees it. */
cJSON *job_to_json(const struct job_row *row, const struct job_current *current);

/* The report for people from a stored report, as Markdown or as a page. The caller frees it. */
char *job_report_markdown(const char *report);
char *job_report_html(const char *report);
/* The Content-Security-Policy such a page is shown under. The caller frees it. */
char *job_report_policy(void);

/* How many workers are busy, and how many are free, for readyz and metrics. */
int jobs_busy(struct jobs *jobs);

/* How many clean-ups have failed since the process began, for /metrics. */
int64_t jobs_cleanup_failures(const struct jobs *jobs);
int jobs_free(struct jobs *jobs);
