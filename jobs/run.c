#include "jobs/run.h"
#include "jobs/kind.h"
#include "jobs/member.h"
#include "jobs/session.h"
#include "server/clock.h"
#include "server/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_instance_work(struct db *db, void *arg, struct err *err)
{
    struct instance_row *row = arg;
    char *name = row->name;
    row->name = NULL;
    int rc = store_instance_get(db, name, row, err);
    free(name);
    return rc;
}

int run_read_instance(const struct run *run, struct instance *out, struct err *err)
{
    struct instance_row row = {.name = mem_copy(run->row.instance)};
    int rc = store_read(run->parts->store, read_instance_work, &row, err);
    if (rc == 0)
        rc = instance_load(row.definition, out, err);
    instance_row_fini(&row);
    return rc;
}

static int load_definition(struct run *run, struct err *err)
{
    struct json_faults faults = {0};
    const char *text = run->row.definition;
    if (member_parse_own(text, &run->tree, err) < 0)
        return -1;
    int rc = definition_read(run->tree, &run->definition, &faults);
    if (rc < 0)
        err_set(err, ERR_STORE, 0, "the stored definition cannot be read: %s %s",
                faults.items[0].pointer, faults.items[0].detail);
    json_faults_fini(&faults);
    return rc;
}

static int64_t limit_ms(const struct run *run)
{
    return run->limits.job_minutes * 60000;
}

int run_new(const struct jobs_parts *parts, struct job_row *row, struct run **out_run,
            struct err *err)
{
    struct run *run = mem_alloc(1, sizeof *run);
    run->parts = parts;
    run->row = *row;
    *row = (struct job_row){0};
    run->began_at = clock_wall_ms();
    run->began_ns = clock_mono_ns();
    run->deadline_at = run->row.deadline;
    run->next_seq = 1;
    run->failed_memory = INFINITY;
    run->warnings = BUF_WITH_MAX(64 << 10);
    atomic_init(&run->stop, RUN_GO);
    atomic_init(&run->draining, false);
    run->current.arm = -1;
    atomic_init(&run->current_percent, -1);
    atomic_init(&run->trial_until_ns, 0);
    lock_init(&run->lock);
    wait_init(&run->stopped);
    *out_run = run;
    if (load_definition(run, err) < 0 || run_read_instance(run, &run->instance, err) < 0)
        return -1;
    run->limits = definition_limits(&run->definition, &run->instance);
    run->stop_at_ns = clock_mono_ns() + (limit_ms(run) - run->row.run_ms) * 1000000;
    return 0;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    run_close_second(run);
    mssql_close(run->looker);
    run_disconnect(run);
    wait_fini(&run->stopped);
    lock_fini(&run->lock);
    trials_free(run->trials, run->trial_count);
    plan_fini(&run->plan);
    cJSON_Delete(run->gathered);
    free(run->dropped);
    for (size_t i = 0; i < run->unmarked_count; i++)
        free(run->unmarked[i]);
    free(run->unmarked);
    looks_fini(&run->looks);
    probe_fini(&run->probe);
    buf_fini(&run->warnings);
    instance_fini(&run->instance);
    cJSON_Delete(run->tree);
    job_row_fini(&run->row);
    free(run);
}

static void cancel_sessions_locked(struct run *run) NEEDS(run->lock)
{
    if (run->session && !run->undisturbed)
        mssql_cancel(run->session);
    if (run->second && !run->undisturbed)
        mssql_cancel(run->second);
}

void run_stop(struct run *run, enum run_stop why)
{
    int expected = RUN_GO;
    (void)atomic_compare_exchange_strong(&run->stop, &expected, (int)why); /* the first stays */
    if (why == RUN_SHUTDOWN)
        atomic_store(&run->draining, true);
    lock_take(&run->lock);
    cancel_sessions_locked(run);
    wait_wake_all(&run->stopped);
    lock_drop(&run->lock);
}

static bool is_over(struct run *run, int64_t mono_ns)
{
    int64_t until_ns = atomic_load(&run->trial_until_ns);
    return until_ns != 0 && mono_ns >= until_ns;
}

bool run_trial_is_over(struct run *run)
{
    return atomic_load(&run->stop) == RUN_GO && is_over(run, clock_mono_ns());
}

void run_give_up_trial(struct run *run, int64_t mono_ns)
{
    if (!is_over(run, mono_ns))
        return;
    lock_take(&run->lock);
    cancel_sessions_locked(run);
    lock_drop(&run->lock);
}

int64_t run_used_ms(const struct run *run, int64_t mono_ns)
{
    return limit_ms(run) - (run->stop_at_ns - mono_ns) / 1000000;
}

void run_set_current(struct run *run, int arm)
{
    const char *label = arm >= 0 ? run->plan.arms[arm].label : "";
    lock_take(&run->lock);
    run->current.arm = arm;
    (void)snprintf(run->current.label, sizeof run->current.label, "%s", label);
    lock_drop(&run->lock);
    atomic_store(&run->current_percent, -1);
}

struct job_current run_get_current(struct run *run)
{
    lock_take(&run->lock);
    struct job_current current = run->current;
    lock_drop(&run->lock);
    current.percent = atomic_load(&run->current_percent);
    return current;
}

bool run_keep_undisturbed(struct run *run, bool undisturbed)
{
    lock_take(&run->lock);
    bool before = run->undisturbed;
    run->undisturbed = undisturbed;
    lock_drop(&run->lock);
    return before;
}

bool run_rest(struct run *run, int64_t ms)
{
    int64_t until = clock_mono_ns() + ms * 1000000;
    lock_take(&run->lock);
    while (!atomic_load(&run->draining) && clock_mono_ns() < until)
        wait_until(&run->stopped, &run->lock, until);
    lock_drop(&run->lock);
    return atomic_load(&run->draining);
}

int run_pause(struct run *run, int64_t ms, struct err *err)
{
    int64_t until = clock_mono_ns() + ms * 1000000;
    lock_take(&run->lock);
    while (atomic_load(&run->stop) == RUN_GO && clock_mono_ns() < until)
        wait_until(&run->stopped, &run->lock, until);
    lock_drop(&run->lock);
    return run_go_on(run, err);
}

int run_go_on(struct run *run, struct err *err)
{
    static const char *const reasons[] = {
        [RUN_CANCEL] = "the job was cancelled",
        [RUN_OVERTIME] = "the job's time is over (its deadline, or limits.minutes)",
        [RUN_WINDOW] = "the maintenance window closed",
        [RUN_BUSY] = "another Sweetspot measures on this server",
        [RUN_SHUTDOWN] = "the daemon is shutting down",
    };
    int stop = atomic_load(&run->stop);
    return stop == RUN_GO ? 0 : err_set(err, ERR_CANCELLED, 0, "%s", reasons[stop]);
}

/* Only the worker sets the session, so the worker may look without the lock. */
struct mssql *run_session(struct run *run)
{
    return run->session;
}

bool run_session_was_open(const struct run *run)
{
    return run->connected;
}

bool run_gave_up(const struct run *run)
{
    return run->gave_up || (run->session && mssql_gave_up(run->session)) ||
           (run->second && mssql_gave_up(run->second));
}

/* Before a session is closed: how it ended is asked later. */
static void note_end(struct run *run, struct mssql *session)
{
    if (!session || !mssql_is_dead(session))
        return;
    run->left_session = true;
    run->gave_up |= mssql_gave_up(session);
}

static void set_session(struct run *run, struct mssql *session)
{
    note_end(run, run->session);
    lock_take(&run->lock);
    struct mssql *old = run->session;
    run->session = session;
    lock_drop(&run->lock);
    run->applock = RUN_LOCK_UNASKED;
    mssql_close(old);
}

void run_disconnect(struct run *run)
{
    set_session(run, NULL);
}

int run_open_session(struct run *run, struct mssql **out_session, struct err *err)
{
    return session_open(run->parts, &run->instance, run->row.id, out_session, err);
}

int run_open_looker(struct run *run, struct err *err)
{
    if (run->looker && !mssql_is_dead(run->looker))
        return 0;
    mssql_close(run->looker);
    run->looker = NULL;
    return run_open_session(run, &run->looker, err);
}

int run_connect(struct run *run, struct err *err)
{
    struct mssql *session = NULL;
    if (run_session(run) && !mssql_is_dead(run_session(run)))
        return 0;
    run_disconnect(run);
    if (run_open_session(run, &session, err) < 0)
        return -1;
    set_session(run, session);
    run->connected = true;
    return 0;
}

static void set_second(struct run *run, struct mssql *session)
{
    note_end(run, run->second);
    lock_take(&run->lock);
    struct mssql *old = run->second;
    run->second = session;
    lock_drop(&run->lock);
    mssql_close(old);
}

void run_close_second(struct run *run)
{
    set_second(run, NULL);
}

int run_open_second(struct run *run, const char *login, const cJSON *password, struct err *err)
{
    struct mssql *session = NULL;
    run_close_second(run);
    if (session_open_as(run->parts, &run->instance, login, password, run->row.id, &session, err) <
        0)
        return -1;
    set_second(run, session);
    return 0;
}

int run_read_facts(struct run *run, struct err *err)
{
    struct server_facts facts;
    if (session_facts(run_session(run), &facts, err) < 0)
        return -1;
    server_facts_fini(&run->plan.facts);
    run->plan.facts = facts;
    run->plan.authenticated = run->instance.ca_file != NULL;
    return 0;
}

void run_warn(struct run *run, const char *format, ...)
{
    va_list args;
    char line[512];
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (strstr(buf_text(&run->warnings), line))
        return;
    buf_add(&run->warnings, line);
    buf_add_char(&run->warnings, '\n');
}

void run_add_trial(struct run *run, struct trial *trial)
{
    int64_t read = trial->bytes > 0 ? trial->bytes : 0;
    run->bytes_read += read;
    /* without the right to read msdb the size is unknown: as much as was read, at most */
    run->bytes_written += trial->file_bytes >= 0 ? trial->file_bytes : read;
    run->trials =
        mem_grow(run->trials, &run->trial_capacity, run->trial_count + 1, sizeof *run->trials);
    run->trials[run->trial_count++] = *trial;
    *trial = (struct trial){0};
}
