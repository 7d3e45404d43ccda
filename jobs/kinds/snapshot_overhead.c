/* snapshot_overhead: what 0, 1, 2, n database snapshots cost a workload of writes, by where their
 * files lie (seed 3). Snapshots and tables are made anew for each trial, outside of its clock. */
#include "jobs/journal.h"
#include "jobs/kinds/kinds.h"
#include "jobs/kinds/snapshot.h"

#include <stdlib.h>

static struct snapshot_parameters parameters_of(const struct run *run)
{
    struct snapshot_parameters parameters;
    snapshot_read(run->definition.parameters, &parameters, NULL);
    return parameters;
}

static bool runs_custom_sql(const struct definition *definition)
{
    struct snapshot_parameters parameters;
    snapshot_read(definition->parameters, &parameters, NULL);
    return parameters.sql || parameters.setup || parameters.teardown;
}

static void arms_of_snapshots(struct run *run)
{
    struct snapshot_parameters parameters = parameters_of(run);
    snapshot_add_arms(&parameters, &run->plan);
    plan_add_steps(&run->plan, &run->definition.design, 0, (int)run->plan.arm_count);
}

static int preflight_snapshots(struct run *run, struct err *err)
{
    struct snapshot_parameters parameters = parameters_of(run);
    if (snapshot_preflight(run, &parameters, err) < 0)
        return -1;
    return snapshot_check_plan(run, &parameters, err);
}

static int prepare_snapshots(struct run *run, struct err *err)
{
    struct snapshot_parameters parameters = parameters_of(run);
    run->probe.always = snapshot_waits;
    if (parameters.sql) /* it runs in a session of its own, whose waits ours does not see */
        run->probe.absent[PROBE_WAITS] = true;
    if (snapshot_warn(run, &parameters, err) < 0)
        return -1;
    if (run->trial_count > 0)
        return 0; /* the locations have proved good */
    return snapshot_try_locations(run, &parameters, err);
}

const struct job_kind kind_snapshot_overhead = {
    .name = "snapshot_overhead",
    .summary = "what database snapshots cost a workload of writes, by number and location",
    .exclusive = true,
    .stops_early = true,
    .order = DESIGN_RANDOM_BLOCKS,
    .statements = BY_SNAPSHOT,
    .parameters = snapshot_fields,
    .parameter_count = SNAPSHOT_FIELD_COUNT,
    .example = "{\"database\":\"Sales\",\"snapshots\":[0,1,2],"
               "\"locations\":[{\"name\":\"beside the backups\",\"path\":\"D:\\\\Backup\"}],"
               "\"workload\":{\"select_into\":{\"source\":\"Sales.Big\",\"rows\":1000000}}}",
    .check = snapshot_check,
    .runs_custom_sql = runs_custom_sql,
    .arms = arms_of_snapshots,
    .preflight = preflight_snapshots,
    .templates = snapshot_templates,
    .probes = snapshot_probes,
    .prepare = prepare_snapshots,
    .trial = snapshot_trial,
    .report = snapshot_report,
};
