/* backup_sweep: which BUFFERCOUNT, MAXTRANSFERSIZE, BLOCKSIZE, stripes and compression back a
 * database up fastest for the least memory (seed 1). Every BACKUP is COPY_ONLY. */
#include "jobs/backup.h"
#include "jobs/kinds/kinds.h"
#include "jobs/kinds/sweep.h"
#include "jobs/kinds/sweep_report.h"
#include "jobs/member.h"
#include "jobs/preflight.h"

#include <string.h>

static struct sweep parameters_of(const struct run *run)
{
    struct sweep sweep;
    sweep_read(run->definition.parameters, &sweep, NULL);
    return sweep;
}

static bool settings_of(const struct sweep *sweep, const struct arm *arm,
                        struct backup_settings *out)
{
    return backup_settings_read(arm->settings, sweep->targets, sweep->confirm_on, out);
}

static int check_word(const struct run *run, const char *word, struct err *err)
{
    const char *rule = guard_compression(word, &run->plan.facts);
    return rule ? err_set(err, ERR_REFUSED, 0, "compression %s: %s", word, rule) : 0;
}

/* What this version and edition cannot do is refused before anything runs. */
static int check_server(struct run *run, const struct sweep *sweep, struct err *err)
{
    const cJSON *word;
    if (!sweep->compression)
        return check_word(run, "off", err); /* what is sent when nothing is asked for */
    cJSON_ArrayForEach(word, sweep->compression)
        if (check_word(run, word->valuestring, err) < 0)
            return -1;
    return 0;
}

static int64_t rounds_of(const struct run *run)
{
    return run->definition.design.repetitions + run->definition.design.warmups;
}

static void arms_of_sweep(struct run *run)
{
    struct sweep sweep = parameters_of(run);
    sweep_add_arms(&sweep, &run->plan);
    plan_add_steps(&run->plan, &run->definition.design, 0, (int)run->plan.arm_count);
    if (sweep.confirm_on)
        run->plan.reserved = (size_t)(2 * rounds_of(run));
}

static int preflight_sweep(struct run *run, struct err *err)
{
    struct sweep sweep = parameters_of(run);
    if (check_server(run, &sweep, err) < 0 ||
        preflight_database(run, sweep.database, NULL, err) < 0)
        return -1;
    return preflight_backups(run, sweep.targets, sweep.confirm_on, err);
}

static int trial_of_sweep(struct run *run, const struct design_step *step, struct trial *trial,
                          struct err *err)
{
    struct sweep sweep = parameters_of(run);
    struct backup_settings settings;
    if (!settings_of(&sweep, &run->plan.arms[step->arm], &settings))
        return err_set(err, ERR_STORE, 0, "an arm of the stored plan names no known target");
    return backup_trial(run, &settings, trial, err);
}

/* The default and the winner once more where the backups really go. */
static int extend_sweep(struct run *run, const struct bundle *bundle,
                        const struct analysis *analysis, struct err *err)
{
    (void)err; /* nothing here can fail */
    struct sweep sweep = parameters_of(run);
    if (!sweep.confirm_on || run->plan.reserved == 0)
        return 0;
    run->plan.reserved = 0;
    int winner = sweep_winner(bundle, analysis);
    if (winner < 0 || run->plan.arms[winner].baseline)
        return 0;
    int baseline = run->plan.arms[winner].against;
    int first = sweep_add_confirmation(&sweep, &run->plan, baseline, -1);
    (void)sweep_add_confirmation(&sweep, &run->plan, winner, first);
    plan_add_steps(&run->plan, &run->definition.design, first, 2);
    return 1;
}

/* The arm may also be the one that is run again at confirm_on. */
static void templates_of_sweep(struct run *run, const struct arm *arm, cJSON *statements)
{
    struct sweep sweep = parameters_of(run);
    struct backup_settings settings;
    if (settings_of(&sweep, arm, &settings))
        backup_templates(run, &settings, statements);
    if (!sweep.confirm_on)
        return;
    cJSON *there = cJSON_Duplicate(arm->settings, true);
    cJSON_ReplaceItemInObjectCaseSensitive(there, "target",
                                           json_text(member_text(sweep.confirm_on, "name")));
    if (backup_settings_read(there, NULL, sweep.confirm_on, &settings))
        backup_templates(run, &settings, statements);
    cJSON_Delete(there);
}

const struct job_kind kind_backup_sweep = {
    .name = "backup_sweep",
    .summary = "BUFFERCOUNT, MAXTRANSFERSIZE, BLOCKSIZE, stripes and compression: the sweet spot",
    .exclusive = true,
    .races = true,
    .stops_early = true,
    .order = DESIGN_RANDOM_BLOCKS,
    .statements = BY_SWEEP,
    .parameters = sweep_fields,
    .parameter_count = SWEEP_FIELD_COUNT,
    .example = "{\"database\":\"Sales\",\"buffercount\":[\"default\",50,100,200],"
               "\"targets\":[{\"name\":\"NUL\",\"paths\":[\"NUL\"]}]}",
    .check = sweep_check,
    .arms = arms_of_sweep,
    .preflight = preflight_sweep,
    .templates = templates_of_sweep,
    .trial = trial_of_sweep,
    .extend = extend_sweep,
    .is_answered = sweep_is_answered,
    .report = sweep_report,
};
