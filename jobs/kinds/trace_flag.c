/* trace_flag: what a global trace flag costs or saves, off and on in turn over the same database
 * (seed 2: 3042, no pre-allocation of compressed backup files). Every BACKUP is COPY_ONLY. */
#include "jobs/backup.h"
#include "jobs/files.h"
#include "jobs/flags.h"
#include "jobs/kinds/flag.h"
#include "jobs/kinds/kinds.h"
#include "jobs/member.h"
#include "jobs/preflight.h"
#include "jobs/send.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)

static struct flag_parameters parameters_of(const struct run *run)
{
    struct flag_parameters parameters;
    flag_read(run->definition.parameters, &parameters, NULL);
    return parameters;
}

static bool any_about_compressed_files(const struct flag_parameters *parameters)
{
    const cJSON *flag;
    cJSON_ArrayForEach(flag, parameters->flags) {
        if (flag_is_about_compressed_files((int64_t)flag->valuedouble))
            return true;
    }
    return false;
}

/* --- what this server allows ---------------------------------------------------------------- */

/* "default" leaves it to the server whether backups are compressed: then the server is asked. */
static int check_server_default(struct run *run, struct err *err)
{
    struct mssql_rows *rows = NULL;
    if (send_ask(run_session(run), STATEMENT_COMPRESSION_DEFAULT, NULL, 0, &rows, err) < 0)
        return err_wrap(err, "read the option \"backup compression default\"");
    bool compresses = mssql_int(rows, 0, 0, 0) != 0;
    mssql_rows_free(rows);
    if (compresses)
        return 0;
    return err_set(err, ERR_REFUSED, 0,
                   "the server's \"backup compression default\" is 0, so compression \"default\" "
                   "compresses nothing and the flag cannot matter; use \"on\"");
}

static int check_compression(struct run *run, const struct flag_parameters *parameters,
                             struct err *err)
{
    const char *word = parameters->compression;
    const char *rule = guard_compression(word, &run->plan.facts);
    if (rule)
        return err_set(err, ERR_REFUSED, 0, "compression %s: %s", word, rule);
    if (strcmp(word, "default") == 0 && any_about_compressed_files(parameters))
        return check_server_default(run, err);
    return 0;
}

/* What pre-allocation asks for at once: about a third of the database, whatever the backup comes to
 * in the end; -1 when the size of the database is not known. */
static int64_t preallocated_mib(const struct run *run, const char *database)
{
    int64_t bytes = preflight_data_bytes(run, database);
    return bytes < 0 ? -1 : bytes / 3 / MIB;
}

/* Without the flag the server takes this much room before it has written anything. */
static int check_preallocation(struct run *run, const struct backup_settings *settings,
                               struct err *err)
{
    int64_t whole_mib = preallocated_mib(run, settings->database);
    int64_t folders = (int64_t)settings->folder_count;
    int64_t stripes = (settings->files + folders - 1) / folders; /* in the folder with most */
    int64_t needed_mib = whole_mib * stripes / settings->files;
    for (size_t i = 0; i < settings->folder_count; i++) {
        int64_t free_bytes = files_free_bytes(run, settings->folders[i], NULL);
        int64_t left_mib = free_bytes / MIB - run->limits.min_free_disk_mib;
        if (free_bytes < 0 || needed_mib <= left_mib)
            continue; /* unknown room is judged with that for the whole backup */
        return err_set(err, ERR_REFUSED, 0,
                       "without trace flag 3042 the server pre-allocates about a third of database "
                       "%s at once, here %" PRId64 " MiB; %s has %" PRId64
                       " MiB free, of which min_free_disk_mib keeps %" PRId64,
                       settings->database, needed_mib, settings->folders[i], free_bytes / MIB,
                       run->limits.min_free_disk_mib);
    }
    return 0;
}

static int settings_of(const struct flag_parameters *parameters, const struct arm *arm,
                       struct backup_settings *out, struct err *err)
{
    if (backup_settings_read(arm->settings, NULL, parameters->target, out))
        return 0;
    return err_set(err, ERR_STORE, 0, "an arm of the stored plan names no known target");
}

static int check_room(struct run *run, const struct flag_parameters *parameters, struct err *err)
{
    for (size_t i = 0; i < run->plan.arm_count; i++) {
        const struct arm *arm = &run->plan.arms[i];
        struct backup_settings settings;
        if (!arm->baseline || !flag_is_about_compressed_files(flag_of_arm(arm)))
            continue;
        if (settings_of(parameters, arm, &settings, err) < 0 ||
            check_preallocation(run, &settings, err) < 0)
            return -1;
    }
    cJSON *targets = cJSON_CreateArray();
    cJSON_AddItemToArray(targets, cJSON_Duplicate(parameters->target, true));
    int rc = preflight_backups(run, targets, NULL, err);
    cJSON_Delete(targets);
    return rc;
}

static void arms_of_flags(struct run *run)
{
    struct flag_parameters parameters = parameters_of(run);
    flag_add_arms(&parameters, &run->plan);
    plan_add_steps(&run->plan, &run->definition.design, 0, (int)run->plan.arm_count);
}

static int preflight_flags(struct run *run, struct err *err)
{
    struct flag_parameters parameters = parameters_of(run);
    const cJSON *database;
    if (flags_check_rights(run, err) < 0 || check_compression(run, &parameters, err) < 0)
        return -1;
    cJSON_ArrayForEach(database, parameters.databases) {
        if (preflight_database(run, database->valuestring, NULL, err) < 0)
            return -1;
    }
    return check_room(run, &parameters, err);
}

/* The flag goes on and off within the job, and back to what it was at its end. */
static void templates_of_flags(struct run *run, const struct arm *arm, cJSON *statements)
{
    struct flag_parameters parameters = parameters_of(run);
    struct backup_settings settings;
    flags_templates(flag_of_arm(arm), statements);
    if (backup_settings_read(arm->settings, NULL, parameters.target, &settings))
        backup_templates(run, &settings, statements);
}

static void probes_of_flags(struct run *run, cJSON *probes)
{
    struct flag_parameters parameters = parameters_of(run);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, parameters.flags) {
        flags_probe((int)flag->valuedouble, probes);
    }
}

/* --- trials --------------------------------------------------------------------------------- */

/* Whether the try before this one waited for a service that had the lock on the server. */
static bool came_after_another(const struct run *run)
{
    cJSON *error = NULL;
    struct err unreadable; /* then it is not known */
    if (!run->row.error || member_parse_own(run->row.error, &error, &unreadable) < 0)
        return false;
    const char *step = member_text(error, "step");
    bool waited = step && strcmp(step, "lock") == 0;
    cJSON_Delete(error);
    return waited;
}

/* What somebody left on must not be taken for what was there before; of another service that
 * cannot be known, and is said. */
static int check_found(struct run *run, int flag, struct err *err)
{
    if (flags_check_left(run, flag, err) < 0)
        return -1;
    int on = came_after_another(run) ? flags_is_on(run, flag, err) : 0;
    if (on > 0)
        run_warn(run,
                 "Trace flag %d was on when this began, shortly after another Sweetspot measured "
                 "here; if that one was interrupted it was left by it.",
                 flag);
    return on < 0 ? -1 : 0;
}

/* Read again at each start of the job, so that a resumed one says it too. */
static int prepare_flags(struct run *run, struct err *err)
{
    struct flag_parameters parameters = parameters_of(run);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, parameters.flags) {
        if (check_found(run, (int)flag->valuedouble, err) < 0)
            return -1;
    }
    const cJSON *database;
    cJSON_ArrayForEach(database, parameters.databases) {
        int64_t mib = preallocated_mib(run, database->valuestring);
        if (mib >= 0 && any_about_compressed_files(&parameters))
            run_warn(run,
                     "Without trace flag 3042 a compressed backup of %s asks for about a third of "
                     "the database, %" PRId64 " MiB, at once, whatever it comes to in the end.",
                     database->valuestring, mib);
    }
    return 0;
}

/* A flag that somebody else changed while the trial ran makes its figure worthless. */
static int judge_flag(struct run *run, int flag, bool on, struct trial *trial, struct err *err)
{
    char note[96];
    if (trial->status != TRIAL_OK)
        return 0;
    bool undisturbed = run_keep_undisturbed(run, true); /* one short look, then the trial counts */
    int found = flags_is_on(run, flag, err);
    (void)run_keep_undisturbed(run, undisturbed);
    if (found == on)
        return 0;
    trial->status = TRIAL_CONTAMINATED;
    if (found < 0)
        return -1;
    (void)snprintf(note, sizeof note, "somebody else turned trace flag %d %s during this trial",
                   flag, found ? "on" : "off");
    trial_note(trial, note);
    return 0;
}

static int trial_of_flag(struct run *run, const struct design_step *step, struct trial *trial,
                         struct err *err)
{
    struct flag_parameters parameters = parameters_of(run);
    const struct arm *arm = &run->plan.arms[step->arm];
    int flag = flag_of_arm(arm);
    bool on = flag_arm_is_on(arm);
    struct backup_settings settings;
    if (settings_of(&parameters, arm, &settings, err) < 0 || flags_set(run, flag, on, err) < 0)
        return -1;
    settings.tell_peak = step->warmup; /* BACKUP waits for those looks: never in what counts */
    if (backup_trial(run, &settings, trial, err) < 0)
        return -1;
    return judge_flag(run, flag, on, trial, err);
}

const struct job_kind kind_trace_flag = {
    .name = "trace_flag",
    .summary = "A global trace flag (3042 and others) off and on: what it costs or saves",
    .exclusive = true,
    .stops_early = true,
    .order = DESIGN_ABBA,
    .statements = BY_FLAG,
    .parameters = flag_fields,
    .parameter_count = FLAG_FIELD_COUNT,
    .example = "{\"flags\":[3042],\"databases\":[\"Sales\"],"
               "\"target\":{\"name\":\"backup folder\",\"paths\":[\"D:\\\\Backup\"]}}",
    .check = flag_check,
    .arms = arms_of_flags,
    .preflight = preflight_flags,
    .templates = templates_of_flags,
    .probes = probes_of_flags,
    .prepare = prepare_flags,
    .trial = trial_of_flag,
    .report = flag_report,
};
