#include "jobs/run.h"
#include "jobs/kind.h"
#include "jobs/member.h"
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

static int load_instance(struct run *run, struct err *err)
{
    struct instance_row row = {.name = mem_copy(run->row.instance)};
    int rc = store_read(run->parts->store, read_instance_work, &row, err);
    if (rc == 0)
        rc = instance_load(row.definition, &run->instance, err);
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

int run_new(const struct jobs_parts *parts, struct job_row *row, struct run **out_run,
            struct err *err)
{
    struct run *run = mem_alloc(1, sizeof *run);
    run->parts = parts;
    run->row = *row;
    *row = (struct job_row){0};
    run->deadline_at = run->row.deadline;
    run->next_seq = 1;
    run->failed_memory = INFINITY;
    run->warnings = BUF_WITH_MAX(64 << 10);
    atomic_init(&run->stop, RUN_GO);
    atomic_init(&run->draining, false);
    run->current.arm = -1;
    atomic_init(&run->current_percent, -1);
    lock_init(&run->lock);
    wait_init(&run->stopped);
    *out_run = run;
    if (load_definition(run, err) < 0 || load_instance(run, err) < 0)
        return -1;
    run->limits = definition_limits(&run->definition, &run->instance);
    run->stop_at_ns = clock_mono_ns() + run->limits.job_minutes * 60 * 1000000000;
    return 0;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    run_close_second(run);
    run_disconnect(run);
    wait_fini(&run->stopped);
    lock_fini(&run->lock);
    trials_free(run->trials, run->trial_count);
    plan_fini(&run->plan);
    free(run->dropped);
    probe_fini(&run->probe);
    buf_fini(&run->warnings);
    instance_fini(&run->instance);
    cJSON_Delete(run->tree);
    job_row_fini(&run->row);
    free(run);
}

void run_stop(struct run *run, enum run_stop why)
{
    int expected = RUN_GO;
    (void)atomic_compare_exchange_strong(&run->stop, &expected, (int)why); /* the first stays */
    if (why == RUN_SHUTDOWN)
        atomic_store(&run->draining, true);
    lock_take(&run->lock);
    if (run->session && !run->undisturbed)
        mssql_cancel(run->session);
    if (run->second && !run->undisturbed)
        mssql_cancel(run->second);
    wait_wake_all(&run->stopped);
    lock_drop(&run->lock);
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
        [RUN_OVERTIME] = "the job's time is over",
        [RUN_WINDOW] = "the maintenance window closed",
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

static void set_session(struct run *run, struct mssql *session)
{
    lock_take(&run->lock);
    struct mssql *old = run->session;
    run->session = session;
    lock_drop(&run->lock);
    mssql_close(old);
}

void run_disconnect(struct run *run)
{
    set_session(run, NULL);
}

/* Options in batches of their own: an error in the first statement would hide the rest. A server
 * without one of them is still measured. As queries, which are given up when a server that let us
 * in falls silent: a clean-up logs in, too, and nothing cancels that. */
static void set_options(struct mssql *session)
{
    static const char *const options[] = {
        "SET LANGUAGE us_english",
        "SET IMPLICIT_TRANSACTIONS OFF",
    };
    for (size_t i = 0; i < JSON_COUNT(options); i++) {
        struct err ignored; /* messages are read by number; autocommit is the driver's default */
        (void)(mssql_query(session, options[i], NULL, 0, NULL, &ignored) < 0);
    }
}

/* Logs in at the instance. */
static int open_session(struct run *run, const char *login, const cJSON *reference,
                        struct mssql **out_session, struct err *err)
{
    const struct instance *instance = &run->instance;
    char *password = NULL;
    if (secrets_resolve(run->parts->secrets, reference, &password, err) < 0)
        return err_wrap(err, "the instance's password");
    char app_name[64];
    memcpy(app_name, "sweetspot ", sizeof "sweetspot ");
    memcpy(app_name + strlen("sweetspot "), run->row.id, strlen(run->row.id) + 1);
    const char *driver = run->parts->config->odbc_driver;
    if (!*driver)
        driver = mssql_default_driver();
    struct mssql_target target = {.host = instance->host,
                                  .port = (int)instance->port,
                                  .login = login,
                                  .password = password,
                                  .encryption = instance->encryption,
                                  .ca_file = instance->ca_file,
                                  .verify_host = instance->verify_host,
                                  .app_name = app_name,
                                  .driver = driver};
    int rc = mssql_open(&target, out_session, err);
    secrets_free(password);
    return rc;
}

int run_open_session(struct run *run, struct mssql **out_session, struct err *err)
{
    return open_session(run, run->instance.login, run->instance.password, out_session, err);
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
    set_options(session);
    return 0;
}

static void set_second(struct run *run, struct mssql *session)
{
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
    if (open_session(run, login, password, &session, err) < 0)
        return -1;
    set_second(run, session);
    set_options(session);
    return 0;
}

/* NULL when the answer cannot be had: optional views and columns may be absent. */
static struct mssql_rows *ask(struct run *run, const char *sql)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* absent on this version or not permitted: unknown */
    if (mssql_query(run_session(run), sql, NULL, 0, &rows, &ignored) < 0)
        return NULL;
    return rows;
}

static int read_version(struct run *run, struct err *err)
{
    struct server_facts *facts = &run->plan.facts;
    struct mssql_rows *rows = NULL;
    if (mssql_query(run_session(run),
                    "SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), "
                    "CONVERT(int, SERVERPROPERTY('EngineEdition')), "
                    "CONVERT(nvarchar(128), SERVERPROPERTY('Edition')), "
                    "CONVERT(bigint, SERVERPROPERTY('EditionID')), "
                    "CONVERT(nvarchar(128), SERVERPROPERTY('MachineName')), "
                    "CONVERT(nvarchar(4000), @@VERSION)",
                    NULL, 0, &rows, err) < 0)
        return err_wrap(err, "read the server's version");
    facts->version = mem_copy(mssql_text(rows, 0, 0));
    facts->engine_edition = (int)mssql_int(rows, 0, 1, -1);
    facts->edition = mem_copy(mssql_text(rows, 0, 2));
    facts->edition_id = mssql_int(rows, 0, 3, 0);
    facts->host_name = mem_copy(mssql_text(rows, 0, 4));
    facts->major = facts->version ? (int)strtol(facts->version, NULL, 10) : -1;
    const char *banner = mssql_text(rows, 0, 5);
    facts->simulated = banner && strcasestr(banner, "simulator") != NULL;
    facts->windows = !banner || !strcasestr(banner, " on linux");
    mssql_rows_free(rows);
    return 0;
}

static void read_hardware(struct run *run)
{
    static const char *const queries[] = {
        /* 2012 and newer, then 2005 to 2008 R2 */
        "SELECT cpu_count, physical_memory_kb / 1024 FROM sys.dm_os_sys_info",
        "SELECT cpu_count, physical_memory_in_bytes / 1048576 FROM sys.dm_os_sys_info",
    };
    struct server_facts *facts = &run->plan.facts;
    facts->cpu_count = -1;
    facts->memory_mib = -1;
    for (size_t i = 0; i < JSON_COUNT(queries) && facts->cpu_count < 0; i++) {
        struct mssql_rows *rows = ask(run, queries[i]);
        if (!rows)
            continue;
        facts->cpu_count = mssql_int(rows, 0, 0, -1);
        facts->memory_mib = mssql_int(rows, 0, 1, -1);
        mssql_rows_free(rows);
    }
    if (facts->major < 14) /* only Windows before 2017 */
        return;
    struct mssql_rows *rows = ask(run, "SELECT host_platform FROM sys.dm_os_host_info");
    const char *platform = rows ? mssql_text(rows, 0, 0) : NULL;
    if (platform)
        facts->windows = strcasecmp(platform, "Windows") == 0;
    mssql_rows_free(rows);
}

int run_read_facts(struct run *run, struct err *err)
{
    server_facts_fini(&run->plan.facts);
    run->plan.facts = (struct server_facts){.engine_edition = -1};
    if (read_version(run, err) < 0)
        return -1;
    read_hardware(run);
    mem_replace(&run->plan.facts.platform, run->plan.facts.windows ? "Windows" : "Linux");
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
