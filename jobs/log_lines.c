#include "jobs/log_lines.h"
#include "jobs/kind.h"
#include "jobs/kinds/flag.h"
#include "jobs/member.h"
#include "jobs/target.h"

/* --- how often ------------------------------------------------------------------------------ */

/* Reserved ones too: a confirmation may follow. */
static int64_t count_trials(struct run *run)
{
    return (int64_t)(run->plan.step_count + run->plan.reserved);
}

static int64_t folders_of(const cJSON *target)
{
    return !target || target_is_nul(target) ? 0 : cJSON_GetArraySize(json_member(target, "paths"));
}

/* A small backup in each tries whether the server deletes our files there. */
static int64_t count_tried_folders(struct run *run)
{
    const cJSON *parameters = run->definition.parameters;
    int64_t count = folders_of(json_member(parameters, "target")) +
                    folders_of(json_member(parameters, "confirm_on"));
    const cJSON *target;
    cJSON_ArrayForEach(target, json_member(parameters, "targets")) {
        count += folders_of(target);
    }
    return count;
}

/* As jobs/flags.h sets them: one flag at a time differs from what it was, and the last is put back.
 */
static int64_t count_switches(struct run *run)
{
    int changed = 0; /* the flag that is on; 0: none */
    int64_t count = 0;
    for (size_t i = 0; i < run->plan.step_count; i++) {
        const struct arm *arm = &run->plan.arms[run->plan.steps[i].arm];
        int wanted = flag_arm_is_on(arm) ? flag_of_arm(arm) : 0;
        if (wanted == changed)
            continue;
        count += changed != 0; /* off */
        count += wanted != 0;  /* on */
        changed = wanted;
    }
    return count + (changed != 0);
}

static int64_t count_snapshots(struct run *run)
{
    int64_t count = 0;
    for (size_t i = 0; i < run->plan.step_count; i++)
        count += member_int(run->plan.arms[run->plan.steps[i].arm].settings, "snapshots", 0);
    return count;
}

/* One snapshot in each tells whether files are sparse there. */
static int64_t count_tried_locations(struct run *run)
{
    return cJSON_GetArraySize(json_member(run->definition.parameters, "locations"));
}

/* --- the tables ------------------------------------------------------------------------------ */

enum cause { BACKUP_DONE, FLAG_SWITCHED, SNAPSHOT_STARTED, CAUSES };

static const int64_t lines_of[CAUSES] = {
    [BACKUP_DONE] = 1,
    [FLAG_SWITCHED] = 1,
    [SNAPSHOT_STARTED] = 1,
};

/* clang-format off */
/* A kind that is not here writes none. */
static const struct {
    unsigned kind; /* enum statement_user */
    enum cause cause;
    int64_t (*count)(struct run *run);
} rows[] = {
    {BY_SWEEP,      BACKUP_DONE,      count_trials},
    {BY_SWEEP,      BACKUP_DONE,      count_tried_folders},
    {BY_THROUGHPUT, BACKUP_DONE,      count_trials},
    {BY_THROUGHPUT, BACKUP_DONE,      count_tried_folders},
    {BY_FLAG,       BACKUP_DONE,      count_trials},
    {BY_FLAG,       BACKUP_DONE,      count_tried_folders},
    {BY_FLAG,       FLAG_SWITCHED,    count_switches},
    {BY_SNAPSHOT,   SNAPSHOT_STARTED, count_snapshots},
    {BY_SNAPSHOT,   SNAPSHOT_STARTED, count_tried_locations},
};
/* clang-format on */

int64_t log_lines_expected(struct run *run)
{
    int64_t lines = 0;
    for (size_t i = 0; i < JSON_COUNT(rows); i++)
        if (rows[i].kind == (unsigned)run->definition.kind->statements)
            lines += lines_of[rows[i].cause] * rows[i].count(run);
    return lines;
}
