#include "jobs/guarding.h"
#include "jobs/kind.h"
#include "jobs/member.h"
#include "jobs/moment.h"
#include "jobs/preflight.h"
#include "jobs/send.h"
#include "jobs/window.h"
#include "server/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN_LOOK_MS 1000 /* while somebody else's work is waited for */

/* --- time ---------------------------------------------------------------------------------- */

/* What the run knows of its time without asking anybody. */
static void fill_time(const struct run *run, int64_t now_ms, int64_t mono_ns,
                      struct guards_input *input)
{
    input->now_ms = now_ms;
    input->deadline_at = run->deadline_at;
    input->used_ms = run_used_ms(run, mono_ns);
    input->limit_ms = run->limits.job_minutes * 60000;
    input->closes_at = atomic_load(&run->closes_at);
    input->ignores_windows = run->definition.ignore_windows;
}

static enum run_stop stop_of(const struct guards_answer *answer)
{
    if (answer->verdict == GUARDS_TIME_OUT)
        return RUN_OVERTIME;
    return answer->verdict == GUARDS_WAIT && strcmp(answer->reason, "window") == 0 ? RUN_WINDOW
                                                                                   : RUN_GO;
}

enum run_stop guarding_over(const struct run *run, int64_t now_ms, int64_t mono_ns)
{
    struct guards_input input = GUARDS_INPUT;
    input.moment = GUARDS_RUNNING;
    fill_time(run, now_ms, mono_ns, &input);
    struct guards_answer answer = guards_judge(&input);
    return stop_of(&answer);
}

/* The instance's windows now: somebody may have changed them since the job was claimed. */
static int look_at_windows(struct run *run, struct guards_input *input, struct err *err)
{
    struct instance instance;
    struct err no_zone;
    if (run_read_instance(run, &instance, err) < 0)
        return -1;
    int64_t change = 0;
    if (window_state(instance.windows, input->now_ms, &input->window_open, &change, &no_zone) < 0)
        input->window_open = false;
    instance_fini(&instance);
    input->closes_at = input->window_open ? change : 0;
    atomic_store(&run->closes_at, input->closes_at);
    return 0;
}

/* The longest trial of the arm so far, or of all arms while it has none; -1: there is none. */
static int64_t longest_ms(const struct run *run, int arm)
{
    double own = -1;
    double any = -1;
    for (size_t i = 0; i < run->trial_count; i++) {
        const struct trial *trial = &run->trials[i];
        if (trial->status != TRIAL_OK || !(trial->elapsed_s > any || trial->arm == arm))
            continue;
        any = trial->elapsed_s > any ? trial->elapsed_s : any;
        if (trial->arm == arm && trial->elapsed_s > own)
            own = trial->elapsed_s;
    }
    double longest = own >= 0 ? own : any;
    return longest < 0 ? -1 : (int64_t)(longest * 1000);
}

static int read_time(struct run *run, int arm, struct guards_input *input, struct err *err)
{
    input->moment = GUARDS_TRIAL;
    fill_time(run, clock_wall_ms(), clock_mono_ns(), input);
    input->longest_ms = longest_ms(run, arm);
    return input->ignores_windows ? 0 : look_at_windows(run, input, err);
}

/* Stops the run when its time says so. */
static int heed(struct run *run, const struct guards_input *input,
                const struct guards_answer *answer, struct err *err)
{
    enum run_stop why = stop_of(answer);
    if (why == RUN_WINDOW && input->closes_at > input->now_ms)
        run->row.retry_at = input->closes_at; /* open still, but too short: not before the next */
    if (why != RUN_GO)
        run_stop(run, why);
    return run_go_on(run, err);
}

int guarding_time(struct run *run, int arm, struct err *err)
{
    struct guards_input input = GUARDS_INPUT;
    if (read_time(run, arm, &input, err) < 0)
        return -1;
    struct guards_answer answer = guards_judge(&input);
    return heed(run, &input, &answer, err);
}

/* Nothing but this trial, the last one, began in this try. */
static bool is_first(const struct run *run)
{
    return run->trial_count < 2 || run->trials[run->trial_count - 2].started_at < run->began_at;
}

/* It was under way for most of the time that the window left it: nobody set the clock on. */
static bool ran_to_the_end(const struct trial *trial, const struct window_span *span)
{
    double left_s = (double)(span->closes_at - trial->started_at) / 1000;
    return isnan(trial->elapsed_s) || trial->elapsed_s >= 0.9 * left_s;
}

int guarding_outlasts(const struct run *run, struct err *err)
{
    const struct trial *trial = run->trial_count > 0 ? &run->trials[run->trial_count - 1] : NULL;
    struct instance instance;
    struct window_span span;
    struct err no_zone;
    bool found = false;
    if (!trial || trial->status != TRIAL_CANCELLED || trial->started_at < run->began_at)
        return 0; /* the window closed between two trials */
    if (run_read_instance(run, &instance, err) < 0)
        return -1;
    if (window_around(instance.windows, trial->started_at, &found, &span, &no_zone) < 0)
        found = false;
    instance_fini(&instance);
    if (!found || clock_wall_ms() < span.closes_at || !ran_to_the_end(trial, &span) ||
        !window_was_whole(&span, trial->started_at, is_first(run), run->began_at))
        return 0;
    char from[CLOCK_TEXT_SIZE];
    char to[CLOCK_TEXT_SIZE];
    return err_set(err, ERR_REFUSED, 0,
                   "one trial of %.60s takes longer than the window (%s to %s): it had all of it "
                   "and was cancelled at its end",
                   run->plan.arms[trial->arm].label, clock_format(span.opens_at, from),
                   clock_format(span.closes_at, to));
}

/* --- memory -------------------------------------------------------------------------------- */

/* What is available now; -1 unknown. */
static int64_t free_memory_mib(struct run *run)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* absent on this version or not permitted: not known */
    int64_t mib = -1;
    if (run->plan.facts.major >= statement_first_major(STATEMENT_FREE_MEMORY) &&
        send_ask(run_session(run), STATEMENT_FREE_MEMORY, NULL, 0, &rows, &ignored) == 0)
        mib = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    return mib;
}

static void fill_buffers(const struct run *run, const struct arm *arm, struct guards_input *input)
{
    input->buffercount = member_int(arm->settings, "buffercount", 0);
    input->maxtransfersize = member_int(arm->settings, "maxtransfersize", 0);
    input->compression = member_text(arm->settings, "compression");
    if (!input->compression)
        input->compression = "off"; /* as backup_settings_read has it */
    input->memory_limit_mib = run->limits.buffer_memory_mib;
}

int guarding_memory(struct run *run, struct err *err)
{
    struct guards_input input = GUARDS_INPUT;
    bool asked = false;
    input.moment = GUARDS_PREFLIGHT;
    for (size_t i = 0; i < run->plan.arm_count; i++) {
        fill_buffers(run, &run->plan.arms[i], &input);
        if (input.buffercount > 0 && !asked) {
            input.free_memory_mib = free_memory_mib(run);
            asked = true;
        }
        struct guards_answer answer = guards_judge(&input);
        if (answer.verdict == GUARDS_REFUSE)
            return err_set(err, ERR_REFUSED, 0, "%s: %s", run->plan.arms[i].label, answer.text);
        if (answer.verdict == GUARDS_WARN)
            run_warn(run, "%s", answer.text);
    }
    return 0;
}

/* --- before a trial ------------------------------------------------------------------------- */

/* One look at everything. */
static int judge_trial(struct run *run, int arm, int64_t since_ns, struct guards_answer *out,
                       struct err *err)
{
    struct guards_input input = GUARDS_INPUT;
    struct moment moment;
    const char *database = member_text(run->plan.arms[arm].settings, "database");
    const struct plan_database *before = database ? plan_database(&run->plan, database) : NULL;
    if (read_time(run, arm, &input, err) < 0)
        return -1;
    fill_buffers(run, &run->plan.arms[arm], &input);
    if (input.buffercount > 0)
        input.free_memory_mib = free_memory_mib(run);
    moment_look(run, database, &moment);
    input.name = database;
    input.role = moment.role;
    input.role_before = before ? (enum guards_role)before->role : GUARDS_ROLE_NONE;
    input.workload_writes = run->definition.kind->statements == BY_SNAPSHOT;
    input.foreign = moment.foreign[0] ? moment.foreign : NULL;
    input.waited_ms = (clock_mono_ns() - since_ns) / 1000000;
    *out = guards_judge(&input);
    if (out->verdict != GUARDS_REFUSE && moment.state > 0 &&
        preflight_state(run, database, moment.state, err) < 0)
        return -1;
    return heed(run, &input, out, err);
}

int guarding_trial(struct run *run, int arm, struct guards_answer *out_answer, struct err *err)
{
    int64_t since_ns = clock_mono_ns();
    for (;;) {
        if (judge_trial(run, arm, since_ns, out_answer, err) < 0)
            return -1;
        switch (out_answer->verdict) {
        case GUARDS_WAIT:
            if (run_pause(run, FOREIGN_LOOK_MS, err) < 0)
                return -1;
            break;
        case GUARDS_REFUSE:
        case GUARDS_TIME_OUT: /* heeded already */
            return err_set(err, ERR_REFUSED, out_answer->number, "%s", out_answer->text);
        case GUARDS_WARN:
            run_warn(run, "%s", out_answer->text);
            out_answer->verdict = GUARDS_GO;
            return 0;
        case GUARDS_GO:
        case GUARDS_REPEAT:
        case GUARDS_FAIL:
            return 0;
        }
    }
}
