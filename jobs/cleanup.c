#include "jobs/cleanup.h"
#include "jobs/applock.h"
#include "jobs/cleaners.h"
#include "jobs/former.h"
#include "jobs/journal.h"
#include "jobs/measure/messages.h"
#include "jobs/member.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

/* --- what the store knows ------------------------------------------------------------------ */

static int hold_work(struct db *db, void *arg, struct err *err)
{
    const char *const *name_and_reason = arg;
    return store_instance_hold(db, name_and_reason[0], name_and_reason[1], err);
}

struct busy_work {
    const char *instance;
    bool busy;
};

static int busy_work(struct db *db, void *arg, struct err *err)
{
    struct busy_work *work = arg;
    struct job_row *rows = NULL;
    size_t count = 0;
    if (store_job_running(db, &rows, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        work->busy |= rows[i].exclusive && strcmp(rows[i].instance, work->instance) == 0;
    job_rows_free(rows, count);
    return 0;
}

/* Whether a job measures there, or that cannot be known: out_why says so. Asked for by a write,
 * after taking the instance, so that a claim comes either before and is seen, or after and sees
 * that it is taken. */
static bool is_busy(const struct jobs_parts *parts, const char *instance, struct err *out_why)
{
    if (atomic_load(&parts->unrecovered))
        return false; /* those who are stored as running do not run */
    struct busy_work work = {.instance = instance};
    struct err err = {0};
    if (store_write(parts->store, busy_work, &work, &err) < 0) {
        log_event(LOG_LEVEL_ERROR, "cleanup_failed", "error=%s", log_quote(err.msg));
        (void)err_set(
            out_why, ERR_STORE, err.detail,
            "the results database cannot be written (is its disk full?), so whether a job "
            "measures there cannot be told, and nothing was touched: %s",
            err.msg);
        return true;
    }
    if (work.busy && store_is_healthy(parts->store))
        (void)err_set(out_why, ERR_CONFLICT, 0,
                      "a job measures there now and undoes its own changes");
    else if (work.busy)
        (void)err_set(
            out_why, ERR_STORE, 0,
            "the results database cannot be written (is its disk full?): the job there "
            "undoes its own changes as soon as it has to store something, and what it has "
            "undone is shown as open until there is room to store it");
    return work.busy;
}

/* --- in a worker --------------------------------------------------------------------------- */

static int clean(struct run *run, struct err *err)
{
    if (run_connect(run, err) < 0 ||
        run_read_facts(run, err) < 0) /* they say how files are deleted here */
        return -1;
    int rc = journal_undo_others(run, false, err);
    applock_drop(run); /* a trace flag's */
    return rc < 0 ? -1 : journal_tell(run, err);
}

/* A refused login is not tried again and again: that would lock it out (api.md §2). */
static void hold(struct run *run, const struct err *why)
{
    struct err err = {0};
    const char *name_and_reason[] = {run->row.instance, why->msg};
    if (store_write(run->parts->store, hold_work, name_and_reason, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "hold_failed", "error=%s", log_quote(err.msg));
}

static void judge_failure(struct run *run, const struct err *why)
{
    struct err err = {0};
    const struct job_row *row = &run->row;
    int64_t limit_ms = run->parts->config->unreachable_minutes * 60000;
    int64_t since = row->unreachable_since > 0 ? row->unreachable_since : row->finished_at;
    log_event(LOG_LEVEL_WARN, "cleanup_pending", "instance=%s error=%s", row->instance,
              log_quote(why->msg));
    if (why->code == ERR_SQL && message_is_refusal(why->detail) && !run->connected)
        hold(run, why);
    if (job_is_done(row) && clock_wall_ms() - since >= limit_ms && journal_give_up(run, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "cleanup_not_told", "error=%s", log_quote(err.msg));
}

void cleanup_run(struct run *run)
{
    struct err err = {0};
    struct cleaners *cleaners = run->parts->cleaners;
    if (!cleaners_take(cleaners, run->row.instance))
        return;
    log_context("job", run->row.id);
    (void)run_keep_undisturbed(run, true); /* a deadline that has passed does not stop this */
    if (is_busy(run->parts, run->row.instance, &err))
        log_event(LOG_LEVEL_DEBUG, "cleanup_left_to_the_job", NULL);
    else if (clean(run, &err) == 0)
        log_event(LOG_LEVEL_INFO, "cleaned_up", NULL);
    else
        judge_failure(run, &err);
    log_context(NULL, NULL);
    cleaners_drop(cleaners, run->row.instance);
}

/* --- when somebody asks -------------------------------------------------------------------- */

struct intents {
    const char *instance;
    struct intent_row *rows; /* what was open, or had failed */
    size_t count;
    struct job_row job; /* of the first of them; its id is NULL when there is none */
};

static int left_work(struct db *db, void *arg, struct err *err)
{
    struct intents *intents = arg;
    if (store_intent_list_left(db, intents->instance, &intents->rows, &intents->count, err) < 0)
        return -1;
    return intents->count > 0 ? store_job_get(db, intents->rows[0].job, &intents->job, err) : 0;
}

/* Puts the state that an intent has come to in its place. */
static int look_again(struct db *db, struct intent_row *intent, struct err *err)
{
    struct intent_row *rows = NULL;
    size_t count = 0;
    if (store_intent_list(db, intent->job, NULL, NULL, &rows, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].id, intent->id) == 0) {
            mem_replace(&intent->state, rows[i].state);
            mem_replace(&intent->detail, rows[i].detail);
        }
        intent_row_fini(&rows[i]);
    }
    free(rows);
    return 0;
}

static int look_again_work(struct db *db, void *arg, struct err *err)
{
    struct intents *intents = arg;
    for (size_t i = 0; i < intents->count; i++)
        if (look_again(db, &intents->rows[i], err) < 0)
            return -1;
    return 0;
}

static void intents_fini(struct intents *intents)
{
    for (size_t i = 0; i < intents->count; i++)
        intent_row_fini(&intents->rows[i]);
    free(intents->rows);
    job_row_fini(&intents->job);
}

static cJSON *intent_to_json(const struct intent_row *row)
{
    cJSON *item = cJSON_CreateObject();
    cJSON *prior = NULL;
    struct err unreadable; /* then it is not shown */
    if (row->prior && member_parse_own(row->prior, &prior, &unreadable) < 0)
        prior = NULL;
    cJSON_AddItemToObject(item, "job", json_text(row->job));
    cJSON_AddItemToObject(item, "action", json_text(row->action));
    cJSON_AddItemToObject(item, "object", json_text(row->object));
    cJSON_AddItemToObject(item, "prior", prior ? prior : cJSON_CreateNull());
    cJSON_AddItemToObject(item, "state", json_text(row->state));
    cJSON_AddItemToObject(item, "detail", json_text(row->detail));
    return item;
}

static cJSON *answer_of(const struct intents *intents, const char *why)
{
    cJSON *answer = cJSON_CreateObject();
    cJSON *array = cJSON_AddArrayToObject(answer, "intents");
    for (size_t i = 0; i < intents->count; i++)
        cJSON_AddItemToArray(array, intent_to_json(&intents->rows[i]));
    cJSON_AddItemToObject(answer, "pending", json_text(why));
    return answer;
}

/* Undoes what is open, and tries what failed again; why_not (may stay empty): why something still
 * is. */
static void undo(const struct jobs_parts *parts, struct intents *intents,
                 const struct check_control *control, struct err *why_not)
{
    struct run *run = NULL;
    int rc = run_new(parts, &intents->job, &run, why_not);
    if (rc == 0 && run_connect(run, why_not) == 0) {
        control->set_session(control->ctx, run_session(run));
        if (run_read_facts(run, why_not) == 0 && journal_undo_others(run, true, why_not) == 0)
            err_clear(why_not);
        applock_drop(run); /* a trace flag's */
        control->set_session(control->ctx, NULL);
    }
    run_free(run);
}

static void undo_alone(const struct jobs_parts *parts, struct intents *intents,
                       const struct check_control *control, struct err *why_not)
{
    if (!cleaners_take(parts->cleaners, intents->instance)) {
        err_set(why_not, ERR_CONFLICT, 0, "it is being cleaned up just now");
        return;
    }
    if (!is_busy(parts, intents->instance, why_not))
        undo(parts, intents, control, why_not);
    cleaners_drop(parts->cleaners, intents->instance);
}

cJSON *cleanup_reconcile(const struct jobs_parts *parts, const char *instance, bool dry_run,
                         const struct check_control *control)
{
    struct intents intents = {.instance = instance};
    struct err why = {0};
    int rc = store_read(parts->store, left_work, &intents, &why);
    if (rc == 0 && !dry_run && intents.count > 0) {
        struct err ignored; /* then they are shown as they were */
        undo_alone(parts, &intents, control, &why);
        (void)(store_read(parts->store, look_again_work, &intents, &ignored) < 0);
    }
    cJSON *answer = answer_of(&intents, why.code == ERR_NONE ? NULL : why.msg);
    intents_fini(&intents);
    return answer;
}

cJSON *cleanup_list(const struct jobs_parts *parts, const char *instance, const char *why)
{
    struct intents intents = {.instance = instance};
    struct err err = {0};
    if (store_read(parts->store, left_work, &intents, &err) < 0)
        why = err.msg;
    cJSON *answer = answer_of(&intents, why);
    intents_fini(&intents);
    return answer;
}
