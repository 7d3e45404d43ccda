#include "jobs/ending.h"
#include "jobs/applock.h"
#include "jobs/event.h"
#include "jobs/findings.h"
#include "jobs/guarding.h"
#include "jobs/journal.h"
#include "jobs/kind.h"
#include "jobs/measure/messages.h"
#include "jobs/progress.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/log.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_FIRST_MS 5000 /* api.md §2: 5 s up to 5 min apart */

static _Atomic int64_t retry_first_ms = RETRY_FIRST_MS;

void ending_set_first_retry(int64_t ms)
{
    atomic_store(&retry_first_ms, ms);
}

#define RETRY_LONGEST_MS (LIMIT_RETRY_S * INT64_C(1000))
#define STORE_PAUSE_MS 1000 /* after the first write that failed; doubled up to the longest */
#define STORE_PAUSE_LONGEST_MS 5000

/* What is about to be stored. */
struct ending {
    struct run *run;
    enum job_state state;
    const char *reason;              /* of JOB_WAITING */
    const struct findings *findings; /* or NULL: there are none */
    const char *hold;                /* why the instance's other jobs wait, or NULL */
    bool unreachable;                /* tell that the instance is not reached (first time only) */
    int64_t now_ms;
};

struct bundle ending_bundle(const struct run *run)
{
    return (struct bundle){.job = run->row.id,
                           .kind = run->row.kind,
                           .instance = run->row.instance,
                           .facts = &run->plan.facts,
                           .authenticated = run->plan.authenticated,
                           .design = &run->definition.design,
                           .arms = run->plan.arms,
                           .arm_count = run->plan.arm_count,
                           .trials = run->trials,
                           .trial_count = run->trial_count,
                           .parameters = run->definition.parameters,
                           .gathered = run->gathered};
}

/* True when there is something to report on. */
static bool has_data(const struct run *run)
{
    if (run->definition.kind->gather)
        return run->gathered != NULL;
    for (size_t i = 0; i < run->trial_count; i++)
        if (trial_counts(&run->trials[i]))
            return true;
    return false;
}

/* --- the stored end ------------------------------------------------------------------------ */

static int write_events(struct db *db, const struct ending *ending, struct err *err)
{
    const struct job_row *row = &ending->run->row;
    const char *report = ending->findings ? ending->findings->report : NULL;
    bool is_end = job_state_is_end(ending->state);
    bool regressed = ending->findings && ending->findings->regressed;
    if (is_end && event_write_end(db, row, report, regressed, ending->now_ms, err) < 0)
        return -1;
    if (is_end && strcmp(row->cleanup, "failed") == 0 &&
        event_write(db, EVENT_CLEANUP_FAILED, row, report, ending->now_ms, err) < 0)
        return -1;
    return ending->unreachable
               ? event_write(db, EVENT_INSTANCE_UNREACHABLE, row, report, ending->now_ms, err)
               : 0;
}

static int write_findings(struct db *db, const char *job, const struct findings *findings,
                          struct err *err)
{
    if (!findings->report)
        return 0;
    if (store_report_put(db, job, findings->report, err) < 0)
        return -1;
    return store_evidence_put(db, job, findings->evidence, err);
}

static int ending_work(struct db *db, void *arg, struct err *err)
{
    struct ending *ending = arg;
    struct run *run = ending->run;
    if (journal_mark_work(db, run, err) < 0)
        return -1;
    /* The report first: who follows the job stops at its end. */
    if (ending->findings && write_findings(db, run->row.id, ending->findings, err) < 0)
        return -1;
    if (progress_row_work(db, run, err) < 0)
        return -1;
    /* A cancel that was stored while the run went back: else it would be heeded when the job's
     * turn comes again, which may be next week's window. */
    if (run->row.cancel_asked && !job_is_done(&run->row)) {
        ending->state = JOB_CANCELLED;
        job_move(&run->row, JOB_CANCELLED, NULL, ending->now_ms);
        if (progress_row_work(db, run, err) < 0)
            return -1;
    }
    if (job_state_is_end(ending->state) && run_session_was_open(run) &&
        store_outage_end(db, run->row.instance, err) < 0)
        return -1;
    if (ending->hold && store_instance_hold(db, run->row.instance, ending->hold, err) < 0)
        return -1;
    return write_events(db, ending, err);
}

static void set_error(struct run *run, const struct err *err, const char *step)
{
    cJSON *tree = cJSON_CreateObject();
    bool has_number = err->detail != 0 && (err->code == ERR_SQL || err->code == ERR_REFUSED);
    cJSON_AddItemToObject(tree, "number",
                          has_number ? cJSON_CreateNumber(err->detail) : cJSON_CreateNull());
    cJSON_AddStringToObject(tree, "message", err->msg);
    cJSON_AddStringToObject(tree, "step", step);
    free(run->row.error);
    run->row.error = json_print(tree);
    cJSON_Delete(tree);
}

/* Which part of the run an error comes from, for people. */
static const char *step_of(const struct run *run)
{
    if (!run_session_was_open(run))
        return "connect";
    if (run->definition.kind->gather)
        return "gather";
    return run->plan.arm_count == 0 || run->trial_count == 0 ? "preflight" : "trial";
}

/* What is not cleaned up, as stored; cJSON array or NULL. */
static cJSON *look_behind(struct run *run)
{
    struct err err = {0};
    const char *cleanup = "pending";
    cJSON *left = NULL;
    if (journal_state(run, &cleanup, &left, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "journal_unreadable", "error=%s", log_quote(err.msg));
    mem_replace(&run->row.cleanup, cleanup);
    return left;
}

/* A connection that is lost on the way is made anew, once: a server that answered a moment ago is
 * not away. */
static int undo(struct run *run, struct err *err)
{
    bool was_there = run_session(run) && !mssql_is_dead(run_session(run));
    int rc = journal_undo(run, err);
    return rc < 0 && was_there && err->code == ERR_UNREACHABLE ? journal_undo(run, err) : rc;
}

/* Removes what is still there and says what could not be; cJSON array or NULL. What a batch still
 * writes, whose cancel the server ignores, stays in the journal until the next look. */
static cJSON *clean_up(struct run *run)
{
    struct err err = {0};
    if (run_gave_up(run)) {
        log_event(LOG_LEVEL_WARN, "cleanup_pending", "error=\"the server ignored a cancel\"");
        return look_behind(run);
    }
    if (strcmp(run->row.cleanup, "none") != 0)
        (void)(progress_phase(run, "restoring", &err) < 0); /* only for show */
    if (undo(run, &err) < 0)
        log_event(LOG_LEVEL_WARN, "cleanup_pending", "error=%s", log_quote(err.msg));
    return look_behind(run);
}

/* What was not undone before the store failed is tried again, too: the server must not wait for our
 * disk. */
static void undo_again(struct run *run)
{
    struct err err = {0};
    if (strcmp(run->row.cleanup, "pending") != 0 || run_gave_up(run))
        return;
    if (undo(run, &err) < 0)
        log_event(LOG_LEVEL_WARN, "cleanup_pending", "error=%s", log_quote(err.msg));
    applock_drop(run); /* which undoing may have taken */
    cJSON_Delete(look_behind(run));
}

/* A store that fails, say for a full disk, must not turn a finished job into an unfinished one:
 * as long as it is stored as running nothing else measures on its instance, so the worker may as
 * well wait until somebody has made room. */
static void store_ending(struct ending *ending)
{
    struct run *run = ending->run;
    struct err err = {0};
    int64_t pause_ms = STORE_PAUSE_MS;
    while (store_write(run->parts->store, ending_work, ending, &err) < 0) {
        log_event(LOG_LEVEL_ERROR, "job_not_stored", "error=%s cleanup=%s", log_quote(err.msg),
                  run->row.cleanup);
        bool draining = run_rest(run, pause_ms);
        undo_again(run);
        if (draining)
            return; /* taken up at the next start */
        pause_ms = pause_ms < STORE_PAUSE_LONGEST_MS / 2 ? 2 * pause_ms : STORE_PAUSE_LONGEST_MS;
    }
    run->settled = true;
    if (job_state_is_end(ending->state) && strcmp(run->row.cleanup, "failed") == 0)
        journal_count_failure();
    log_event(LOG_LEVEL_INFO, "job_stored", "state=%s", run->row.state);
}

/* findings: borrowed, or NULL. */
static void finish(struct run *run, enum job_state state, const struct findings *findings,
                   const char *hold)
{
    struct ending ending = {
        .run = run, .state = state, .findings = findings, .hold = hold, .now_ms = clock_wall_ms()};
    job_move(&run->row, state, NULL, ending.now_ms);
    applock_drop(run);
    store_ending(&ending);
}

/* --- the ways to end ----------------------------------------------------------------------- */

static void end_well(struct run *run)
{
    struct err err = {0};
    cJSON *left = clean_up(run);
    (void)(progress_phase(run, "analysing", &err) < 0); /* only for show */
    struct findings findings = findings_make(run, true, left);
    mem_replace(&run->row.summary, findings.outcome.summary);
    finish(run, findings.outcome.state, &findings, NULL);
    findings_fini(&findings);
    cJSON_Delete(left);
}

/* Every trial failed: the first one's error is the job's. */
static void end_without_data(struct run *run)
{
    struct err err = {0};
    err_set(&err, ERR_REFUSED, 0, "no trial gave a figure");
    for (size_t i = run->trial_count; i-- > 0;)
        if (run->trials[i].error_text)
            err_set(&err, ERR_SQL, (int)run->trials[i].error_number, "%s",
                    run->trials[i].error_text);
    set_error(run, &err, "backup");
    cJSON *left = clean_up(run);
    struct findings findings = findings_make(run, false, left);
    finish(run, JOB_FAILED, &findings, NULL);
    findings_fini(&findings);
    cJSON_Delete(left);
}

static void end_early(struct run *run, enum job_state state, const struct err *err,
                      const char *hold)
{
    set_error(run, err, step_of(run));
    cJSON *left = clean_up(run);
    struct findings findings = {0};
    if (has_data(run) || cJSON_GetArraySize(left) > 0)
        findings = findings_make(run, false, left);
    finish(run, state, &findings, hold);
    findings_fini(&findings);
    cJSON_Delete(left);
}

static void go_back(struct run *run, enum job_state state, const char *reason, bool unreachable)
{
    struct ending ending = {.run = run,
                            .state = state,
                            .reason = reason,
                            .unreachable = unreachable,
                            .now_ms = clock_wall_ms()};
    bool is_away = reason && strcmp(reason, "unreachable") == 0;
    bool is_busy = reason && strcmp(reason, "instance_busy") == 0;
    cJSON *left = is_away ? look_behind(run) : clean_up(run);
    cJSON_Delete(left);
    if (!is_away && !is_busy) /* an earlier failure to connect is over */
        mem_replace(&run->row.error, NULL);
    job_move(&run->row, state, reason, ending.now_ms);
    applock_drop(run);
    store_ending(&ending);
}

/* For how long the instance is away, by the steady clock; -1: it was there before this try. Up to
 * this try the stored moments move with the wall clock when that is set (jobs/scheduler.h), and so
 * they are moments of its begin. */
static int64_t away_ms(const struct run *run, int64_t limit_ms)
{
    const struct job_row *row = &run->row;
    int64_t tried_ms = (clock_mono_ns() - run->began_ns) / 1000000;
    int64_t before_ms = run->began_at - row->unreachable_since;
    /* A try that comes long after it was due was kept back by something else (a window, a daemon
     * that was down): the time since then says nothing about the instance. */
    if (row->unreachable_since == 0 || run->began_at - row->retry_at > limit_ms)
        return -1;
    return (before_ms > 0 ? before_ms : 0) + tried_ms;
}

/* Waits and tries again, 5 s up to 5 min apart, at most unreachable_minutes in all. */
static void wait_for_instance(struct run *run, const struct err *err)
{
    int64_t now = clock_wall_ms();
    int64_t limit_ms = run->parts->config->unreachable_minutes * 60000;
    int64_t away = away_ms(run, limit_ms);
    if (away < 0) { /* since this try */
        run->row.attempts = 0;
        away = 0;
    }
    run->row.unreachable_since = now - away;
    if (away >= limit_ms) {
        end_early(run, JOB_FAILED, err, NULL);
        return;
    }
    int64_t pause = atomic_load(&retry_first_ms);
    for (int64_t i = 0; i < run->row.attempts && pause < RETRY_LONGEST_MS; i++)
        pause *= 2;
    run->row.retry_at = now + (pause < RETRY_LONGEST_MS ? pause : RETRY_LONGEST_MS);
    set_error(run, err, step_of(run));
    go_back(run, JOB_WAITING, "unreachable", run->row.attempts++ == 0);
}

/* Into the next window, unless what the end of this one cut would be cut there, too. */
static void leave_window(struct run *run)
{
    struct err err = {0};
    if (guarding_outlasts(run, &err) < 0 && err.code == ERR_REFUSED)
        end_early(run, JOB_FAILED, &err, NULL);
    else /* a store that failed decides nothing */
        go_back(run, JOB_WAITING, "window", false);
}

static void settle_stopped(struct run *run, enum run_stop why, const struct err *err)
{
    switch (why) {
    case RUN_CANCEL:
        end_early(run, JOB_CANCELLED, err, NULL);
        break;
    case RUN_OVERTIME:
        end_early(run, JOB_TIMED_OUT, err, NULL);
        break;
    case RUN_WINDOW:
        leave_window(run);
        break;
    case RUN_BUSY:
        set_error(run, err, "lock"); /* says who: for people it is not one of their own jobs */
        go_back(run, JOB_WAITING, "instance_busy", false);
        break;
    case RUN_SHUTDOWN:
        go_back(run, JOB_QUEUED, NULL, false);
        break;
    case RUN_GO:
        break;
    }
}

/* What may do in a moment: the network, a server that starts, stops or upgrades (it then refuses
 * logins by number), a deadlock. */
static bool is_passing(const struct err *err)
{
    return err->code == ERR_UNREACHABLE || err->code == ERR_TIMEOUT ||
           (err->code == ERR_SQL && message_is_passing(err->detail));
}

/* For the next look, which may be another process's. */
static void note_given_up(struct run *run)
{
    struct err err = {0};
    if (run_gave_up(run) && journal_note_given_up(run, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "given_up_not_noted", "error=%s", log_quote(err.msg));
}

void ending_settle(struct run *run, int rc, struct err *err)
{
    note_given_up(run);
    (void)run_keep_undisturbed(run, true); /* nothing measures any more */
    enum run_stop why = (enum run_stop)atomic_load(&run->stop);
    if (rc == 0) {
        mem_replace(&run->row.error, NULL);
        if (has_data(run))
            end_well(run);
        else
            end_without_data(run);
        return;
    }
    log_event(why == RUN_BUSY ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "job_interrupted",
              "code=%d number=%d error=%s", (int)err->code, err->detail, log_quote(err->msg));
    if (why != RUN_GO) {
        struct err stopped = {0};
        (void)(run_go_on(run, &stopped) < 0);
        settle_stopped(run, why, &stopped);
    } else if (is_passing(err)) {
        wait_for_instance(run, err);
    } else if (err->code == ERR_STORE && err->detail != 0) {
        go_back(run, JOB_QUEUED, NULL, false); /* our own disk: the job goes on when it is back */
    } else if (err->code == ERR_SQL && message_is_refusal(err->detail)) {
        end_early(run, JOB_FAILED, err, err->msg);
    } else {
        end_early(run, JOB_FAILED, err, NULL);
    }
}
