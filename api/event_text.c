#include "api/event_text.h"
#include "jobs/jobs.h"
#include "jobs/state.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* id < 0: without a number. data is one line: JSON as we print it. */
static void add_block(int64_t id, const char *what, const char *data, struct buf *out)
{
    if (id >= 0)
        buf_format(out, "id: %" PRId64 "\n", id);
    buf_format(out, "event: %s\ndata: ", what);
    buf_add(out, data);
    buf_add(out, "\n\n");
}

/* current: NULL where the event is not of now. */
static void add_job(int64_t id, const char *what, const struct job_row *job,
                    const struct job_current *current, struct buf *out)
{
    cJSON *tree = job_to_json(job, current);
    char *text = json_print(tree);
    add_block(id, what, text, out);
    free(text);
    cJSON_Delete(tree);
}

/* What a state that is left knows nothing of. */
static void forget_end(struct job_row *job)
{
    job->finished_at = 0;
    mem_replace(&job->summary, NULL);
    mem_replace(&job->error, NULL);
}

/* The job as it stood at the event. */
static void turn_back(struct job_row *job, const struct event_row *event)
{
    if (strcmp(job->state, event->state) != 0)
        forget_end(job);
    mem_replace(&job->state, event->state);
    mem_replace(&job->state_reason, event->state_reason);
    mem_replace(&job->phase, event->phase);
    job->trials_done = event->trials_done;
    job->trials_planned = event->trials_planned;
}

static int add_of_job(struct db *db, const struct event_row *event, struct buf *out,
                      struct err *err)
{
    struct job_row job = {0};
    if (store_job_get(db, event->job, &job, err) < 0)
        return -1;
    turn_back(&job, event);
    add_job(event->id, strcmp(event->what, "progress") == 0 ? "progress" : "state", &job, NULL,
            out);
    job_row_fini(&job);
    return 0;
}

/* {"job": id, …}: a stream of all jobs must say whose trial it is. */
static void add_trial_text(const struct event_row *event, const char *document, struct buf *out)
{
    buf_format(out, "id: %" PRId64 "\nevent: trial\ndata: {\"job\":\"%s\",", event->id, event->job);
    buf_add(out, document + 1); /* an object, never an empty one */
    buf_add(out, "\n\n");
}

static int add_of_document(struct db *db, const struct event_row *event, struct buf *out,
                           struct err *err)
{
    char *document = NULL;
    bool is_trial = strcmp(event->what, "trial") == 0;
    int rc = is_trial ? store_trial_get(db, event->job, event->seq, &document, err)
                      : store_report_get(db, event->job, &document, err);
    if (rc == 0 && is_trial)
        add_trial_text(event, document, out);
    else if (rc == 0)
        add_block(event->id, "report", document, out);
    free(document);
    return rc;
}

int event_text_add(struct db *db, const struct event_row *event, struct buf *out, struct err *err)
{
    struct err why;
    int rc =
        event->state ? add_of_job(db, event, out, &why) : add_of_document(db, event, out, &why);
    if (rc == 0 || why.code == ERR_NOT_FOUND)
        return 0;
    *err = why;
    return -1;
}

void event_text_add_first(const struct job_row *job, struct buf *out)
{
    struct job_row first = *job;
    static char queued[] = "queued";
    static char waiting[] = "waiting";
    static char not_before[] = "not_before";
    static char none[] = "none";
    bool later = job->not_before > job->created_at;
    first.state = later ? waiting : queued;
    first.state_reason = later ? not_before : NULL;
    first.phase = NULL;
    first.cleanup = none;
    first.started_at = 0;
    first.finished_at = 0;
    first.retry_at = 0;
    first.summary = NULL;
    first.error = NULL;
    first.trials_done = 0;
    first.trials_planned = 0;
    add_job(EVENT_FIRST_ID, "state", &first, NULL, out);
}

void event_text_add_live(const struct job_row *job, const struct job_current *current,
                         struct buf *out)
{
    add_job(-1, "progress", job, current, out);
}

void event_text_add_end(const struct job_row *job, struct buf *out)
{
    add_job(-1, "state", job, NULL, out);
}

bool event_is_end(const struct event_row *event)
{
    return event->state && job_state_is_end(job_state_by_name(event->state));
}
