/* The preflight of kinds whose every arm is a backup. */
#include "jobs/guarding.h"
#include "jobs/member.h"
#include "jobs/preflight.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

/* What one target is asked to hold. */
struct load {
    struct backup_settings settings; /* of its largest database */
    int64_t trials;
    int64_t read_bytes;
    int64_t written_bytes;
};

int64_t preflight_bytes(const struct run *run, const char *database)
{
    const struct plan_database *known = plan_database(&run->plan, database);
    return known ? known->bytes : -1;
}

int64_t preflight_data_bytes(const struct run *run, const char *database)
{
    const struct plan_database *known = plan_database(&run->plan, database);
    return known ? known->data_bytes : -1;
}

static void add_trials(const struct run *run, const struct backup_settings *settings,
                       int64_t trials, struct load *load)
{
    int64_t bytes = preflight_bytes(run, settings->database);
    if (load->trials == 0 || bytes > preflight_bytes(run, load->settings.database) ||
        settings->files > load->settings.files)
        load->settings = *settings;
    load->trials += trials;
    if (bytes > 0) /* unknown sizes are counted while the job runs */
        load->read_bytes += bytes * trials;
    if (bytes > 0 && !backup_is_nul(settings))
        load->written_bytes += bytes * trials;
}

/* All trials of the plan that go to one target. */
static struct load load_of(const struct run *run, const cJSON *targets, const cJSON *target)
{
    struct load load = {0};
    const char *name = member_text(target, "name");
    for (size_t i = 0; i < run->plan.step_count; i++) {
        const cJSON *arm = run->plan.arms[run->plan.steps[i].arm].settings;
        const char *own = member_text(arm, "target");
        struct backup_settings settings;
        if (own && name && strcmp(own, name) == 0 &&
            backup_settings_read(arm, targets, NULL, &settings))
            add_trials(run, &settings, 1, &load);
    }
    return load;
}

/* The reserved trials at one more target: like the first arm, but there. */
static struct load load_of_extra(const struct run *run, const cJSON *extra)
{
    struct load load = {0};
    struct backup_settings settings;
    if (!extra)
        return load;
    cJSON *like = cJSON_Duplicate(run->plan.arms[0].settings, true);
    cJSON_ReplaceItemInObjectCaseSensitive(like, "target", json_text(member_text(extra, "name")));
    if (backup_settings_read(like, NULL, extra, &settings)) {
        add_trials(run, &settings, (int64_t)run->plan.reserved, &load);
        load.settings.database = plan_database(&run->plan, settings.database)->name;
        load.settings.compression = "off"; /* space is counted as if nothing were compressed */
    }
    cJSON_Delete(like);
    return load;
}

static int check_deletion(struct run *run, const struct load *load, struct err *err)
{
    if (load->trials == 0 || backup_is_nul(&load->settings))
        return 0;
    for (size_t i = 0; i < load->settings.folder_count; i++)
        if (preflight_deletion(run, load->settings.folders[i], err) < 0)
            return -1;
    return 0;
}

/* Files are only written where they can be deleted again, or where all of them have room. */
static int check_space(struct run *run, const struct load *load, int64_t writing, struct err *err)
{
    if (load->trials == 0)
        return 0;
    return preflight_space(run, &load->settings, run->plan.deletes ? 1 : writing, err);
}

/* Every target's load, the extra one's last; the caller frees the array. */
static struct load *all_loads(const struct run *run, const cJSON *targets, const cJSON *extra,
                              size_t *out_count)
{
    struct load *loads = mem_alloc((size_t)cJSON_GetArraySize(targets) + 1, sizeof *loads);
    size_t count = 0;
    const cJSON *target;
    cJSON_ArrayForEach(target, targets) {
        loads[count++] = load_of(run, targets, target);
    }
    loads[count++] = load_of_extra(run, extra);
    *out_count = count;
    return loads;
}

/* All folders are tried before any room is judged: one that keeps its files fills its volume for
 * all. */
int preflight_backups(struct run *run, const cJSON *targets, const cJSON *extra, struct err *err)
{
    size_t count;
    struct load *loads = all_loads(run, targets, extra, &count);
    int64_t read_bytes = 0;
    int64_t written_bytes = 0;
    int64_t writing = 0;
    for (size_t i = 0; i < count; i++) {
        read_bytes += loads[i].read_bytes;
        written_bytes += loads[i].written_bytes;
        writing += loads[i].written_bytes > 0 ? loads[i].trials : 0;
    }
    int rc = guarding_memory(run, err);
    if (rc == 0)
        rc = preflight_budget(run, read_bytes, written_bytes, err);
    run->plan.deletes = true;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_deletion(run, &loads[i], err);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_space(run, &loads[i], writing, err);
    free(loads);
    return rc;
}
