/* backup_throughput: what each database gives when it is only read (NUL) and what each target
 * takes of it, and which side is the slower one (seed 0). Every BACKUP is COPY_ONLY. */
#include "jobs/backup.h"
#include "jobs/kinds/kinds.h"
#include "jobs/kinds/throughput.h"
#include "jobs/kinds/throughput_report.h"
#include "jobs/member.h"
#include "jobs/preflight.h"
#include "jobs/send.h"

/* The waits a verdict needs, 0 included (domain.md 4.2). */
static const char *const waits_shown[] = {"BACKUPIO", "BACKUPBUFFER", "ASYNC_IO_COMPLETION", NULL};

static int check_databases(struct run *run, const struct throughput *throughput, struct err *err)
{
    const char *rule = guard_compression(throughput->compression, &run->plan.facts);
    if (rule)
        return err_set(err, ERR_REFUSED, 0, "compression %s: %s", throughput->compression, rule);
    const cJSON *database;
    cJSON_ArrayForEach(database, throughput->databases) {
        if (preflight_database(run, database->valuestring, NULL, err) < 0)
            return -1;
    }
    return 0;
}

static void arms_of_throughput(struct run *run)
{
    struct throughput throughput;
    throughput_read(run->definition.parameters, &throughput, NULL);
    throughput_add_arms(&throughput, &run->plan);
    plan_add_steps(&run->plan, &run->definition.design, 0, (int)run->plan.arm_count);
    throughput_fini(&throughput);
}

static int preflight_throughput(struct run *run, struct err *err)
{
    struct throughput throughput;
    throughput_read(run->definition.parameters, &throughput, NULL);
    int rc = check_databases(run, &throughput, err);
    if (rc == 0)
        rc = preflight_backups(run, throughput.targets, NULL, err);
    throughput_fini(&throughput);
    return rc;
}

static void templates_of_throughput(struct run *run, const struct arm *arm, cJSON *statements)
{
    struct throughput throughput;
    struct backup_settings settings;
    throughput_read(run->definition.parameters, &throughput, NULL);
    if (backup_settings_read(arm->settings, throughput.targets, NULL, &settings))
        backup_templates(run, &settings, statements);
    throughput_fini(&throughput);
}

/* How often the data files grew, as far as the default trace tells; null where it does not (it is
 * off, or the login lacks ALTER TRACE). */
static cJSON *growth_of(struct run *run, const char *database)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not known */
    cJSON *item = cJSON_CreateObject();
    bool told = send_ask(run_session(run), STATEMENT_GROWTH, &value, 1, &rows, &ignored) == 0;
    cJSON_AddStringToObject(item, "database", database);
    cJSON_AddItemToObject(item, "events",
                          member_number_or_null(told ? mssql_int(rows, 0, 0, -1) : -1));
    cJSON_AddItemToObject(item, "since", json_text(told ? mssql_text(rows, 0, 1) : NULL));
    mssql_rows_free(rows);
    return item;
}

static int prepare_throughput(struct run *run, struct err *err)
{
    (void)err; /* nothing here can fail */
    struct throughput throughput;
    throughput_read(run->definition.parameters, &throughput, NULL);
    cJSON_Delete(run->gathered);
    run->gathered = cJSON_CreateObject();
    cJSON *growth = cJSON_AddArrayToObject(run->gathered, "growth");
    const cJSON *database;
    cJSON_ArrayForEach(database, throughput.databases) {
        cJSON_AddItemToArray(growth, growth_of(run, database->valuestring));
    }
    throughput_fini(&throughput);
    run->probe.always = waits_shown;
    return 0;
}

static int trial_of_throughput(struct run *run, const struct design_step *step, struct trial *trial,
                               struct err *err)
{
    struct throughput throughput;
    struct backup_settings settings;
    int rc = -1;
    throughput_read(run->definition.parameters, &throughput, NULL);
    if (backup_settings_read(run->plan.arms[step->arm].settings, throughput.targets, NULL,
                             &settings))
        rc = backup_trial(run, &settings, trial, err);
    else
        (void)err_set(err, ERR_STORE, 0, "an arm of the stored plan names no known target");
    throughput_fini(&throughput);
    return rc;
}

const struct job_kind kind_backup_throughput = {
    .name = "backup_throughput",
    .summary = "what reading gives (NUL) and each target takes, and which side is the slower one",
    .exclusive = true,
    .order = DESIGN_RANDOM_BLOCKS,
    .statements = BY_THROUGHPUT,
    .parameters = throughput_fields,
    .parameter_count = THROUGHPUT_FIELD_COUNT,
    .example = "{\"databases\":[\"Sales\"],"
               "\"targets\":[{\"name\":\"backup share\",\"paths\":[\"D:\\\\Backup\"],\"files\":4}],"
               "\"compression\":\"on\"}",
    .check = throughput_check,
    .arms = arms_of_throughput,
    .preflight = preflight_throughput,
    .templates = templates_of_throughput,
    .prepare = prepare_throughput,
    .trial = trial_of_throughput,
    .report = throughput_report,
};
