/* One trial of snapshot_overhead:
 *
 *   setup ─► snapshots, each written down first ─► table written down ─► the workload, timed ─►
 *   what became of the snapshots ─► teardown; the runner then drops table and snapshots
 *
 * From the first step to the last but the teardown the volumes are looked at (jobs/room.h). */
#include "jobs/journal.h"
#include "jobs/kinds/snapshot.h"
#include "jobs/measure/messages.h"
#include "jobs/member.h"
#include "jobs/send.h"
#include "jobs/tables.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_SNAPSHOT_FULL 5128

static _Atomic int64_t longest_ms = LIMIT_SNAPSHOT_S * INT64_C(1000);

void snapshot_set_longest(int64_t ms)
{
    atomic_store(&longest_ms, ms);
}

/* What one trial is made of. Texts are borrowed but for seq. */
struct attempt {
    struct run *run;
    struct trial *trial;
    struct snapshot_parameters parameters;
    const char *path; /* NULL: the baseline */
    int snapshots;
    char *seq;
};

static void fail(struct trial *trial, enum trial_status status, int number, const char *text,
                 const char *step)
{
    trial->status = status;
    trial->error_number = number;
    mem_replace(&trial->error_text, text);
    mem_replace(&trial->error_step, step);
}

/* Decides what an error means: for this arm, for this trial, or for the whole run. What a workload
 * of the job's own lacks says nothing about our login. */
static int judge(struct attempt *attempt, const struct err *why, const char *step, struct err *err)
{
    struct trial *trial = attempt->trial;
    bool is_custom = attempt->parameters.sql && strcmp(step, "snapshot") != 0;
    *err = *why;
    if (why->code == ERR_CANCELLED && run_trial_is_over(attempt->run)) {
        char *text = mem_format("the trial was cancelled: its snapshots would have been older than "
                                "%" PRId64 " min, and slow every write meanwhile",
                                atomic_load(&longest_ms) / 60000);
        fail(trial, TRIAL_FAILED, 0, text, step);
        free(text);
        return 0;
    }
    if (why->code == ERR_TIMEOUT && is_custom) {
        fail(trial, TRIAL_FAILED, 0, why->msg, step);
        return 0;
    }
    if (why->code == ERR_CANCELLED)
        fail(trial, TRIAL_CANCELLED, why->detail, why->msg, step);
    if (why->code != ERR_SQL)
        return -1;
    if (message_is_passing(why->detail)) {
        fail(trial, TRIAL_CONTAMINATED, why->detail, why->msg, step);
        return 0;
    }
    fail(trial, TRIAL_FAILED, why->detail, why->msg, step);
    bool ends_run = message_is_refusal(why->detail) || message_is_hopeless(why->detail);
    return ends_run && !is_custom ? -1 : 0;
}

/* Runs setup or teardown of the job's own; 0 also when the trial is judged. */
static int run_custom(struct attempt *attempt, const char *sql, const char *step, struct err *err)
{
    struct err why = {0};
    if (!sql || send_second(attempt->run, STATEMENT_CUSTOM, sql, &why) == 0)
        return 0;
    return judge(attempt, &why, step, err);
}

static int make_snapshots(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    struct snapshot_files files;
    struct err why = {0};
    if (snapshot_check_space(run, &attempt->parameters, attempt->path, attempt->snapshots, err) <
            0 ||
        snapshot_files_read(run, attempt->parameters.database, &files, err) < 0)
        return -1;
    int rc = 0;
    double all = 0;
    atomic_store(&run->trial_until_ns, clock_mono_ns() + atomic_load(&longest_ms) * 1000000);
    for (int number = 1; number <= attempt->snapshots && rc == 0; number++) {
        struct snapshot_order order = {.database = attempt->parameters.database,
                                       .files = &files,
                                       .folder = attempt->path,
                                       .job = run->row.id,
                                       .seq = attempt->seq,
                                       .number = number};
        double seconds = 0;
        rc = snapshot_create(run, &order, &seconds, &why);
        all += seconds;
    }
    if (rc == 0)
        attempt->trial->create_s = all;
    else
        rc = judge(attempt, &why, "snapshot", err);
    snapshot_files_fini(&files);
    return rc;
}

/* A table of ours is written down first. */
static int ready_workload(struct attempt *attempt, struct buf *statement, struct err *err)
{
    struct run *run = attempt->run;
    const struct snapshot_parameters *parameters = &attempt->parameters;
    if (parameters->sql) {
        buf_add(statement, parameters->sql);
        return 0;
    }
    char *table = table_name(run->row.id, attempt->seq);
    int rc = snapshot_workload(parameters, run->row.id, attempt->seq, statement, err);
    if (rc == 0)
        rc = table_reserve(run, parameters->database, table, err);
    free(table);
    return rc;
}

static int measure(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    struct trial *trial = attempt->trial;
    struct buf statement = {0};
    struct probe_sample before;
    struct probe_sample after;
    struct err why = {0};
    if (ready_workload(attempt, &statement, err) < 0) {
        buf_fini(&statement);
        return -1;
    }
    probe_take(&run->probe, run_session(run), attempt->parameters.database, &before);
    int rc = run_go_on(run, err);
    if (rc == 0) {
        trial->started_at = clock_wall_ms();
        int64_t start_ns = clock_mono_ns();
        rc = attempt->parameters.sql
                 ? send_second(run, STATEMENT_CUSTOM, buf_text(&statement), &why)
                 : send_batch(run, STATEMENT_SELECT_INTO, buf_text(&statement), NULL, NULL, &why);
        trial->elapsed_s = (double)(clock_mono_ns() - start_ns) / 1e9;
        if (rc < 0)
            rc = judge(attempt, &why, "workload", err);
        probe_take(&run->probe, run_session(run), attempt->parameters.database, &after);
        probe_judge(&run->probe, &before, &after, trial);
        probe_sample_fini(&after);
    }
    probe_sample_fini(&before);
    buf_fini(&statement);
    return rc;
}

/* A volume that is full leaves the source alone: its snapshot is suspect, and the run looks fast.
 */
static void judge_snapshots(struct attempt *attempt, const struct snapshot_state *state)
{
    struct trial *trial = attempt->trial;
    if (state->suspect) {
        char *text = mem_format("snapshot %s is suspect: its volume was full (5128). The source is "
                                "not affected; this trial does not count",
                                state->suspect);
        fail(trial, TRIAL_FAILED, MESSAGE_SNAPSHOT_FULL, text, "workload");
        free(text);
    } else if (state->online < attempt->snapshots && trial->status == TRIAL_OK) {
        trial->status = TRIAL_CONTAMINATED;
        trial_note(trial, "somebody else dropped a snapshot of this trial");
    }
}

static int look_at_snapshots(struct attempt *attempt, struct err *err)
{
    struct snapshot_state state = {0};
    if (attempt->snapshots == 0)
        return 0;
    if (snapshot_look(attempt->run, attempt->seq, &state, err) < 0)
        return -1;
    judge_snapshots(attempt, &state);
    attempt->trial->file_bytes = state.bytes;
    snapshot_state_fini(&state);
    return 0;
}

/* What the trial wrote, for the job's limits: the table, the same as log where it is logged, and
 * what the snapshots took. */
static void count_bytes(struct attempt *attempt)
{
    struct run *run = attempt->run;
    int64_t rows = -1;
    int64_t bytes = -1;
    char *table = table_name(run->row.id, attempt->seq);
    if (attempt->parameters.select_into)
        table_size(run, attempt->parameters.database, "dbo", table, &rows, &bytes);
    free(table);
    if (bytes > 0) {
        run->bytes_read += bytes;
        run->bytes_written += attempt->parameters.confirm_log_growth ? 2 * bytes : bytes;
    }
    run->bytes_written += attempt->trial->file_bytes > 0 ? attempt->trial->file_bytes : 0;
}

static bool is_good(const struct attempt *attempt)
{
    return attempt->trial->status == TRIAL_OK;
}

/* From the first statement to the last; each step only while the trial is good. */
static int run_steps(struct attempt *attempt, struct err *err)
{
    int rc = run_custom(attempt, attempt->parameters.setup, "setup", err);
    if (rc == 0 && is_good(attempt) && attempt->snapshots > 0)
        rc = make_snapshots(attempt, err);
    if (rc == 0 && is_good(attempt))
        rc = measure(attempt, err);
    if (rc == 0 && is_good(attempt))
        rc = look_at_snapshots(attempt, err);
    if (rc == 0 && is_good(attempt))
        count_bytes(attempt);
    return rc;
}

static atomic_int teardown_s = LIMIT_TEARDOWN_S;

void snapshot_set_teardown_seconds(int seconds)
{
    atomic_store(&teardown_s, seconds);
}

/* Runs whatever became of the workload, as long as there is a session, and undisturbed: no cancel
 * and no window's end reaches it, so that it has a time limit of its own. An earlier error stays
 * the trial's. */
static int tear_down(struct attempt *attempt, int rc, struct err *err)
{
    struct run *run = attempt->run;
    const char *sql = attempt->parameters.teardown;
    struct err ignored; /* the trial has failed already */
    if (!run->second || mssql_is_dead(run->second))
        return rc;
    bool undisturbed = run_keep_undisturbed(run, true);
    mssql_set_batch_seconds(run->second, atomic_load(&teardown_s));
    if (rc == 0 && is_good(attempt))
        rc = run_custom(attempt, sql, "teardown", err);
    else if (sql)
        (void)(send_second(run, STATEMENT_CUSTOM, sql, &ignored) < 0);
    mssql_set_batch_seconds(run->second, 0);
    (void)run_keep_undisturbed(run, undisturbed);
    return rc;
}

/* What was cancelled for want of room failed, as jobs/backup.c has it; not when the server ignored
 * the cancel: what it still runs must not be touched yet. */
static int judge_room(struct attempt *attempt, const struct room_outcome *room, int rc,
                      const struct err *err)
{
    struct run *run = attempt->run;
    struct trial *trial = attempt->trial;
    bool gave_up = mssql_gave_up(run_session(run)) || (run->second && mssql_gave_up(run->second));
    bool ended = err->code == ERR_CANCELLED || (err->code == ERR_UNREACHABLE && !gave_up);
    if (rc == 0 || !room->cancelled || !ended || run_trial_is_over(run) ||
        (enum run_stop)atomic_load(&run->stop) != RUN_GO)
        return rc;
    char *step = mem_copy(trial->error_step ? trial->error_step : "snapshot");
    fail(trial, TRIAL_FAILED, 0, room->text, step);
    free(step);
    return 0;
}

/* The steps, while somebody looks on. */
static int run_watched(struct attempt *attempt, struct err *err)
{
    struct snapshot_watch watch;
    if (snapshot_watch_begin(attempt->run, attempt->parameters.database, attempt->path, &watch,
                             err) < 0)
        return -1;
    int rc = run_steps(attempt, err);
    struct room_outcome room = snapshot_watch_end(&watch);
    return judge_room(attempt, &room, rc, err);
}

static int run_attempt(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    if (attempt->parameters.sql && snapshot_open_custom(run, &attempt->parameters, err) < 0) {
        run_close_second(run);
        return -1;
    }
    attempt->trial->started_at = clock_wall_ms(); /* until the workload starts */
    int rc = tear_down(attempt, run_watched(attempt, err), err);
    run_close_second(run);
    struct err why = *err;
    if (rc < 0 && err->code == ERR_CANCELLED && run_trial_is_over(run))
        return judge(attempt, &why, "snapshot", err);
    if (rc < 0 && err->code == ERR_CANCELLED)
        attempt->trial->status = TRIAL_CANCELLED;
    return rc;
}

int snapshot_trial(struct run *run, const struct design_step *step, struct trial *trial,
                   struct err *err)
{
    const struct arm *arm = &run->plan.arms[step->arm];
    const char *location = member_text(arm->settings, "location");
    struct attempt attempt = {
        .run = run, .trial = trial, .snapshots = (int)member_int(arm->settings, "snapshots", 0)};
    snapshot_read(run->definition.parameters, &attempt.parameters, NULL);
    attempt.path = location ? snapshot_path(&attempt.parameters, location) : NULL;
    if (attempt.snapshots > 0 && !attempt.path)
        return err_set(err, ERR_STORE, 0, "an arm of the stored plan names no known location");
    attempt.seq = mem_format("%" PRId64, trial->seq);
    int rc = run_attempt(&attempt, err);
    free(attempt.seq);
    return rc;
}
