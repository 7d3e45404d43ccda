/* The preflight of kinds whose every arm is a backup. */
#include "jobs/member.h"
#include "jobs/preflight.h"

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

/* Files are only written where they can be deleted again, or where all of them have room. */
static int check_load(struct run *run, const struct load *load, struct err *err)
{
    if (load->trials == 0 || backup_is_nul(&load->settings))
        return 0;
    for (size_t i = 0; i < load->settings.folder_count; i++)
        if (preflight_deletion(run, load->settings.folders[i], err) < 0)
            return -1;
    return preflight_space(run, &load->settings, run->plan.deletes ? 1 : load->trials, err);
}

int preflight_backups(struct run *run, const cJSON *targets, const cJSON *extra, struct err *err)
{
    struct load more = load_of_extra(run, extra);
    int64_t read_bytes = more.read_bytes;
    int64_t written_bytes = more.written_bytes;
    const cJSON *target;
    cJSON_ArrayForEach(target, targets)
    {
        struct load load = load_of(run, targets, target);
        read_bytes += load.read_bytes;
        written_bytes += load.written_bytes;
    }
    if (preflight_budget(run, read_bytes, written_bytes, err) < 0)
        return -1;
    cJSON_ArrayForEach(target, targets)
    {
        struct load load = load_of(run, targets, target);
        if (check_load(run, &load, err) < 0)
            return -1;
    }
    return check_load(run, &more, err);
}
