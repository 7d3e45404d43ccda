#include "jobs/runner.h"
#include "jobs/applock.h"
#include "jobs/doubt.h"
#include "jobs/ending.h"
#include "jobs/former.h"
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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PASSING_PAUSE_MS 1000 /* after a deadlock or lock time-out, before the repeat; doubled */
#define PASSING_PAUSE_LONGEST_MS 30000
#define GUARD_STEP "guard" /* it was not started: the server's memory is short */

static _Atomic int64_t first_pause_ms = PASSING_PAUSE_MS;

void runner_set_first_pause(int64_t ms)
{
    atomic_store(&first_pause_ms, ms);
}

/* --- preparing ----------------------------------------------------------------------------- */

/* What was not answered is not absent: nothing that was found over a connection that was lost
 * counts.
 */
static int judge_answers(struct run *run, int rc, struct err *err)
{
    if (!mssql_is_dead(run_session(run)) || (rc < 0 && err->code == ERR_UNREACHABLE))
        return rc;
    return err_set(err, ERR_UNREACHABLE, 0,
                   "the connection to SQL Server was lost while the job was prepared");
}

static int make_plan(struct run *run, struct err *err)
{
    const struct job_kind *kind = run->definition.kind;
    if (kind->arms)
        kind->arms(run);
    if (judge_answers(run, kind->preflight(run, err), err) < 0)
        return -1;
    run->row.trials_planned = (int64_t)(run->plan.step_count + run->plan.reserved);
    return progress_store_plan(run, err);
}

/* The instance may have changed since the submit: other folders, smaller limits. What holds is what
 * it allows when something is about to be done to it. */
static int check_again(const struct run *run, struct err *err)
{
    int rc = 0;
    struct json_faults faults = {0};
    run->definition.kind->check(&run->definition, &run->instance, &faults);
    if (faults.count > 0)
        rc = err_set(err, ERR_REFUSED, 0, "the instance does not allow this any more: %s %s",
                     faults.items[0].pointer, faults.items[0].detail);
    json_faults_fini(&faults);
    return rc;
}

/* An instance that is registered as a test is believed, and its report says what speaks against it.
 */
static void doubt(struct run *run)
{
    if (!run->row.exclusive)
        return;
    char *text = doubt_look(run_session(run), &run->instance, run->row.instance, &run->plan.facts);
    if (text)
        run_warn(run, "%s", text);
    free(text);
}

static int prepare(struct run *run, struct err *err)
{
    const struct job_kind *kind = run->definition.kind;
    /* What is stored first: where the instance is not reached the job still knows its trials. */
    if (run_go_on(run, err) < 0 || progress_load(run, err) < 0 || guarding_time(run, -1, err) < 0 ||
        run_connect(run, err) < 0 || progress_phase(run, "preparing", err) < 0)
        return -1;
    bool planned = run->plan.arm_count > 0;
    if (!planned && run_read_facts(run, err) < 0) /* they also say how files are deleted here */
        return -1;
    doubt(run);
    if (run->row.exclusive && former_wait(run, run->row.id, 0, err) < 0)
        return -1;
    /* The lock first: without it no trace flag is put back. What needs none is undone by the ending
     * when the run goes back for want of it. */
    if (applock_take(run, err) < 0 || journal_undo(run, err) < 0 ||
        journal_undo_others(run, true, err) < 0 || check_again(run, err) < 0 ||
        (!planned && make_plan(run, err) < 0))
        return -1;
    run->dropped = mem_alloc(LIMIT_ARMS + 2, sizeof *run->dropped);
    looks_init(&run->looks, LIMIT_ARMS + 2);
    int64_t seq;
    if (journal_last_seq(run, &seq, err) < 0)
        return -1;
    run->next_seq = seq + 1;
    for (size_t i = 0; i < run->trial_count; i++)
        if (run->trials[i].seq >= run->next_seq)
            run->next_seq = run->trials[i].seq + 1;
    return kind->prepare ? judge_answers(run, kind->prepare(run, err), err) : 0;
}

/* --- which step is next -------------------------------------------------------------------- */

static bool settles(const struct trial *trial)
{
    return trial->status == TRIAL_OK || trial->status == TRIAL_FAILED;
}

static bool was_kept_back(const struct trial *trial)
{
    return trial->error_step && strcmp(trial->error_step, GUARD_STEP) == 0;
}

/* A connection that is lost in a trial says nothing about its arm: the network, a restart. Lost
 * twice in the same arm, the arm may be what brings the server down, and is not tried again. */
static void judge_loss(const struct run *run, struct trial *trial, const struct err *err)
{
    trial->status = TRIAL_CONTAMINATED;
    for (size_t i = 0; i < run->trial_count; i++)
        if (run->trials[i].arm == trial->arm && trial_was_lost(&run->trials[i]))
            trial->status = TRIAL_FAILED;
    mem_replace(&trial->error_text, err->msg);
    mem_replace(&trial->error_step, TRIAL_LOST_STEP);
}

/* A failed arm's further trials are left out, and so is everything that needs as much memory as
 * what ran out, or as what was running when the connection was lost again. */
static void learn_from(struct run *run, const struct trial *trial)
{
    if (trial->status != TRIAL_FAILED)
        return;
    run->dropped[trial->arm] = true;
    double memory = run->plan.arms[trial->arm].buffer_memory_mib;
    bool heavy = message_is_memory((int)trial->error_number) || trial_was_lost(trial) ||
                 was_kept_back(trial);
    if (heavy && memory < run->failed_memory)
        run->failed_memory = memory;
}

static bool is_left_out(const struct run *run, const struct design_step *step)
{
    double memory = run->plan.arms[step->arm].buffer_memory_mib;
    return run->dropped[step->arm] || (isfinite(memory) && memory >= run->failed_memory) ||
           looks_leave_out(run, step);
}

/* Repeats so far of an arm: contaminated trials. */
static int64_t repeats_of(const struct run *run, int arm)
{
    int64_t count = 0;
    for (size_t i = 0; i < run->trial_count; i++)
        count += run->trials[i].arm == arm && run->trials[i].status == TRIAL_CONTAMINATED;
    return count;
}

static bool is_same_step(const struct trial *trial, int arm, int block, bool warmup)
{
    return trial->arm == arm && trial->block == block && trial->warmup == warmup;
}

/* Marks the first step not settled yet that this trial was a try of. */
static void settle_step(const struct run *run, const struct trial *trial, bool *settled)
{
    for (size_t i = 0; i < run->plan.step_count; i++) {
        const struct design_step *step = &run->plan.steps[i];
        if (settled[i] || !is_same_step(trial, step->arm, step->block, step->warmup))
            continue;
        settled[i] = true;
        return;
    }
}

/* True when no further try of its step followed, because its arm's repeats were used up. */
static bool was_given_up(const struct run *run, size_t index)
{
    const struct trial *trial = &run->trials[index];
    const struct trial *next = index + 1 < run->trial_count ? trial + 1 : NULL;
    return trial->status == TRIAL_CONTAMINATED &&
           !(next && is_same_step(next, trial->arm, trial->block, trial->warmup)) &&
           repeats_of(run, trial->arm) > run->definition.design.max_repetitions;
}

/* Marks the steps that stored trials have settled already (after a resume, or before further steps
 * of the kind): those with a result, then those that were given up. */
static bool *settled_steps(struct run *run)
{
    bool *settled = mem_alloc(run->plan.step_count, sizeof *settled);
    for (size_t i = 0; i < run->trial_count; i++) {
        if (settles(&run->trials[i]))
            settle_step(run, &run->trials[i], settled);
        learn_from(run, &run->trials[i]);
    }
    for (size_t i = 0; i < run->trial_count; i++)
        if (was_given_up(run, i))
            settle_step(run, &run->trials[i], settled);
    return settled;
}

/* --- trials -------------------------------------------------------------------------------- */

static int check_budget(struct run *run, struct err *err)
{
    const int64_t mib = (int64_t)1 << 20;
    if (run->bytes_read / mib >= run->limits.read_mib)
        return err_set(err, ERR_REFUSED, 0, "the limit read_mib of %" PRId64 " is used up",
                       run->limits.read_mib);
    if (run->bytes_written > 0 && run->bytes_written / mib >= run->limits.written_mib)
        return err_set(err, ERR_REFUSED, 0, "the limit written_mib of %" PRId64 " is used up",
                       run->limits.written_mib);
    return run_go_on(run, err);
}

/* Runs it, or says why it must not be started now. */
static int try_trial(struct run *run, const struct design_step *step, struct trial *trial,
                     struct err *err)
{
    struct guards_answer answer;
    if (guarding_trial(run, step->arm, &answer, err) < 0)
        return -1;
    if (answer.verdict == GUARDS_GO)
        return run->definition.kind->trial(run, step, trial, err);
    trial->started_at = clock_wall_ms();
    trial->status = answer.verdict == GUARDS_REPEAT ? TRIAL_CONTAMINATED : TRIAL_FAILED;
    trial_note(trial, answer.text);
    if (trial->status == TRIAL_FAILED) {
        mem_replace(&trial->error_text, answer.text);
        mem_replace(&trial->error_step, GUARD_STEP);
    }
    return 0;
}

/* One execution of a step: stored when it tells something, its files removed. */
static int run_trial(struct run *run, const struct design_step *step, enum trial_status *out_status,
                     struct err *err)
{
    struct trial trial = trial_new(run->next_seq++, step->block, step->arm, step->warmup);
    struct err undo_err = {0};
    struct err store_err = {0};
    run_set_current(run, step->arm);
    int rc = try_trial(run, step, &trial, err);
    atomic_store(&run->trial_until_ns, 0); /* what follows undoes it */
    if (rc < 0 && err->code == ERR_REFUSED && mssql_is_dead(run_session(run)))
        err->code = ERR_UNREACHABLE; /* a refusal for want of an answer is none */
    bool lost =
        rc < 0 && err->code == ERR_UNREACHABLE && (enum run_stop)atomic_load(&run->stop) == RUN_GO;
    bool tells = trial.started_at != 0 &&
                 (rc == 0 || lost || err->code == ERR_SQL || err->code == ERR_CANCELLED);
    if (lost)
        judge_loss(run, &trial, err);
    *out_status = trial.status;
    if (rc == 0 && trial.status == TRIAL_FAILED)
        learn_from(run, &trial);
    int stored = tells ? progress_store_trial(run, &trial, &store_err) : 0;
    trial_fini(&trial);
    run_set_current(run, -1);
    if (rc < 0)
        return -1; /* the ending cleans up; what stopped the trial weighs more than its record */
    if (stored < 0)
        return *err = store_err, -1;
    return journal_undo_trial(run, &undo_err) < 0 ? (*err = undo_err, -1) : 0;
}

/* A step until it is settled: contaminated trials are repeated, up to the limit. */
static int run_step(struct run *run, const struct design_step *step, struct err *err)
{
    enum trial_status status = TRIAL_OK;
    for (int64_t pause_ms = atomic_load(&first_pause_ms); !looks_budget_is_used(run);
         pause_ms *= 2) {
        if (check_budget(run, err) < 0 || run_connect(run, err) < 0 ||
            former_wait_own(run, err) < 0 || applock_take(run, err) < 0 ||
            run_trial(run, step, &status, err) < 0)
            return -1;
        if (status != TRIAL_CONTAMINATED)
            return 0;
        if (repeats_of(run, step->arm) > run->definition.design.max_repetitions) {
            run_warn(run,
                     "%s: a contaminated trial was not repeated any more (max_repetitions %" PRId64
                     ")",
                     run->plan.arms[step->arm].label, run->definition.design.max_repetitions);
            return 0;
        }
        if (pause_ms > PASSING_PAUSE_LONGEST_MS)
            pause_ms = PASSING_PAUSE_LONGEST_MS;
        if (run_pause(run, pause_ms, err) < 0)
            return -1;
    }
    return 0;
}

/* What progress shows: everything done, to come, or kept for a confirmation. A step that was given
 * up, or left out, is none of these. */
static int64_t planned_trials(const struct run *run, const bool *settled)
{
    int64_t count = run->row.trials_done + (int64_t)run->plan.reserved;
    for (size_t i = 0; i < run->plan.step_count; i++)
        count += !settled[i] && !is_left_out(run, &run->plan.steps[i]);
    return count;
}

static int run_steps(struct run *run, struct err *err)
{
    bool *settled = settled_steps(run);
    int rc = progress_phase(run, "measuring", err);
    for (size_t i = 0; i < run->plan.step_count && rc == 0; i++) {
        const struct design_step *step = &run->plan.steps[i];
        looks_take(run, step->block);
        run->row.trials_planned = planned_trials(run, settled);
        if (settled[i] || is_left_out(run, step))
            continue;
        rc = run_step(run, step, err);
        settled[i] = rc == 0;
    }
    free(settled);
    return rc;
}

/* Runs what the kind adds after looking at the results, until it adds nothing more. */
static int run_all(struct run *run, struct err *err)
{
    const struct job_kind *kind = run->definition.kind;
    int added = 0;
    do {
        if (run_steps(run, err) < 0)
            return -1;
        struct bundle bundle = ending_bundle(run);
        struct analysis analysis;
        analysis_make(&bundle, &analysis);
        added = kind->extend ? kind->extend(run, &bundle, &analysis, err) : 0;
        analysis_fini(&analysis);
        bool *settled = settled_steps(run);
        run->row.trials_planned = planned_trials(run, settled);
        free(settled);
        if (added < 0 || progress_store_plan(run, err) < 0)
            return -1;
    } while (added > 0);
    return 0;
}

/* A kind without trials: all it does, in one go. */
static int gather(struct run *run, struct err *err)
{
    if (progress_phase(run, "measuring", err) < 0 || run_go_on(run, err) < 0)
        return -1;
    return run->definition.kind->gather(run, err);
}

void runner_execute(struct run *run)
{
    struct err err = {0};
    log_context("job", run->row.id);
    log_event(LOG_LEVEL_INFO, "job_started", "kind=%s instance=%s", run->row.kind,
              run->row.instance);
    int rc = prepare(run, &err);
    if (rc == 0)
        rc = run->definition.kind->gather ? gather(run, &err) : run_all(run, &err);
    ending_settle(run, rc, &err);
    log_context(NULL, NULL);
}
