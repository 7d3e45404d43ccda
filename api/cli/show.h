#pragma once
/* What the client shows, made as text: pure, so that tests can look at it. Control characters in
 * texts of the server are shown as '?': nothing it says may move our terminal's cursor. */
#include "server/buf.h"
#include "server/json.h"

#include <stdbool.h>

#define SHOW_LABEL 80   /* bytes kept of a label, with the NUL */
#define SHOW_REASON 400 /* the same of an error's message */

/* What a job resource (api.md §3) says about how far it is. */
struct show_job {
    char state[24];
    char state_reason[40];
    char phase[24];
    char reason[SHOW_REASON]; /* why it waits, in the words of its error; or "" */
    char label[SHOW_LABEL];   /* of the arm that runs now: its label, else its name */
    double percent;           /* of the whole job */
    double label_percent;     /* of the trial that runs now; negative when unknown */
    long trials_done, trials_planned;
};

/* Reads the members it knows; what is absent or odd stays empty. */
void show_job_read(const cJSON *job, struct show_job *out);

/* succeeded, inconclusive, failed, cancelled, timed_out */
bool show_job_has_ended(const struct show_job *job);

/* The exit status that tells the job's end (enum cli_exit). */
int show_job_exit(const struct show_job *job);

/* "trial 7 of 60  [=======>      ]  12 %   BUFFERCOUNT=100: 45 %": one line, narrower than
 * `columns` characters. */
void show_progress(const struct show_job *job, int columns, struct buf *out);

/* The same without what changes all the time: "trial 7 of 60: BUFFERCOUNT=100". Who prints it only
 * when it differs from the last one gets one line per change. */
void show_step(const struct show_job *job, struct buf *out);

/* An answer that is an error, as sentences: its title and detail, then a line per fault:
 * "  /parameters/buffercount/3: must be …". body may be anything. Ends with a newline. */
void show_problem(long status, const char *body, size_t body_bytes, struct buf *out);

/* The exit status for such an answer (enum cli_exit). */
int show_problem_exit(long status);

/* GET /v1/jobs, as aligned columns: id, state, instance, and the summary or the reason. */
void show_jobs(const cJSON *answer, struct buf *out);

/* GET /v1/instances, as aligned columns: name, address, environment, what holds it. */
void show_instances(const cJSON *answer, struct buf *out);

/* The answer of a check as lines: the server, then each kind with what to grant for it. True when
 * the instance was reached. */
bool show_check(const cJSON *answer, struct buf *out);

/* The answer of a reconcile as lines: each change with what became of it, then why something is
 * still open. True when nothing is, and nothing failed. */
bool show_reconciled(const cJSON *answer, struct buf *out);
/* POST /v1/plans: arms with their statements, trials, the estimate, what is needed, warned of and
 * refused. True when nothing is refused. */
bool show_plan(const cJSON *plan, struct buf *out);

/* GET /v1/kinds: each with its parameters, the required ones marked, and its permissions. */
void show_kinds(const cJSON *answer, struct buf *out);

/* Appends text from the server with its control characters shown as '?'. */
void show_text(const char *text, struct buf *out);
