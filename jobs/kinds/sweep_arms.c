#include "jobs/kinds/sweep.h"
#include "jobs/measure/guard.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static cJSON *default_targets;

static void make_default_targets(void)
{
    default_targets = cJSON_Parse("[{\"name\":\"NUL\",\"paths\":[\"NUL\"]}]");
}

const cJSON *sweep_default_targets(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_default_targets);
    return default_targets;
}

/* What is fixed inside one group: its baseline and every arm compared with it. */
struct group {
    const cJSON *target;
    const cJSON *files;       /* number, or NULL: not given */
    const cJSON *compression; /* text, or NULL: not given */
};

static int list_size(const cJSON *list)
{
    return list ? cJSON_GetArraySize(list) : 1;
}

static bool is_default(const cJSON *value)
{
    return !value || (cJSON_IsString(value) && strcmp(value->valuestring, "default") == 0);
}

/* Whether some combination of the option lists is all "default". */
static bool lists_hold_default(const struct sweep *sweep)
{
    for (int option = 0; option < SWEEP_OPTIONS; option++) {
        bool found = !sweep->options[option];
        const cJSON *item;
        cJSON_ArrayForEach(item, sweep->options[option]) {
            found |= is_default(item);
        }
        if (!found)
            return false;
    }
    return true;
}

static size_t combinations(const struct sweep *sweep)
{
    size_t count = 1;
    for (int option = 0; option < SWEEP_OPTIONS; option++)
        count *= (size_t)list_size(sweep->options[option]);
    return count;
}

size_t sweep_arm_count(const struct sweep *sweep)
{
    size_t groups = (size_t)list_size(sweep->targets) * (size_t)list_size(sweep->files) *
                    (size_t)list_size(sweep->compression);
    return groups * (combinations(sweep) + !lists_hold_default(sweep));
}

/* The values of one combination, counted through the lists like an odometer. */
static void pick(const struct sweep *sweep, size_t combination, const cJSON **out_values)
{
    for (int option = SWEEP_OPTIONS - 1; option >= 0; option--) {
        size_t size = (size_t)list_size(sweep->options[option]);
        out_values[option] = cJSON_GetArrayItem(sweep->options[option], (int)(combination % size));
        combination /= size;
    }
}

static cJSON *settings_of(const struct sweep *sweep, const struct group *group,
                          const cJSON *const *values)
{
    cJSON *settings = cJSON_CreateObject();
    for (int option = 0; option < SWEEP_OPTIONS; option++)
        if (sweep->options[option])
            cJSON_AddItemToObject(settings, sweep_option_names[option],
                                  is_default(values[option])
                                      ? cJSON_CreateString("default")
                                      : cJSON_Duplicate(values[option], false));
    if (group->files)
        cJSON_AddItemToObject(settings, "files", cJSON_Duplicate(group->files, false));
    else if (json_member(group->target, "files"))
        cJSON_AddItemToObject(settings, "files",
                              cJSON_Duplicate(json_member(group->target, "files"), false));
    if (group->compression)
        cJSON_AddItemToObject(settings, "compression", cJSON_Duplicate(group->compression, false));
    cJSON_AddStringToObject(settings, "target", member_text(group->target, "name"));
    cJSON_AddStringToObject(settings, "database", sweep->database);
    return settings;
}

static void add_files(const cJSON *settings, struct buf *label)
{
    int64_t files = member_int(settings, "files", 1);
    buf_format(label, ", %" PRId64 " file%s", files, files == 1 ? "" : "s");
}

/* "BUFFERCOUNT=50, MAXTRANSFERSIZE=1048576 (compression on, 4 files, to local SSD)": what differs
 * between the arms of this job. */
static char *label_of(const struct sweep *sweep, const cJSON *settings, bool name_target)
{
    static const char *const words[SWEEP_OPTIONS] = {"BUFFERCOUNT", "MAXTRANSFERSIZE", "BLOCKSIZE"};
    struct buf label = {0};
    for (int option = 0; option < SWEEP_OPTIONS; option++) {
        const cJSON *value = json_member(settings, sweep_option_names[option]);
        if (cJSON_IsNumber(value))
            buf_format(&label, "%s%s=%.0f", label.length ? ", " : "", words[option],
                       value->valuedouble);
    }
    if (label.length == 0)
        buf_add(&label, "default");
    const char *compression = member_text(settings, "compression");
    if (compression && list_size(sweep->compression) > 1)
        buf_format(&label, ", compression %s", compression);
    if (list_size(sweep->files) > 1)
        add_files(settings, &label);
    if (name_target)
        buf_format(&label, ", to %s", member_text(settings, "target"));
    return buf_take(&label);
}

static int add_arm(const struct sweep *sweep, struct plan *plan, cJSON *settings, int against,
                   bool name_target)
{
    const char *compression = member_text(settings, "compression");
    struct arm *arm = plan_add_arm(plan);
    arm->settings = settings;
    arm->label = label_of(sweep, settings, name_target);
    arm->baseline = true;
    for (int option = 0; option < SWEEP_OPTIONS; option++)
        arm->baseline &= is_default(json_member(settings, sweep_option_names[option]));
    arm->against = against < 0 ? arm->index : against;
    arm->buffer_memory_mib = guard_buffer_memory_mib(member_int(settings, "buffercount", 0),
                                                     member_int(settings, "maxtransfersize", 0),
                                                     compression ? compression : "off");
    return arm->index;
}

static void add_group(const struct sweep *sweep, struct plan *plan, const struct group *group)
{
    bool name_target = list_size(sweep->targets) > 1;
    const cJSON *values[SWEEP_OPTIONS] = {0};
    int baseline = add_arm(sweep, plan, settings_of(sweep, group, values), -1, name_target);
    size_t count = combinations(sweep);
    for (size_t i = 0; i < count; i++) {
        pick(sweep, i, values);
        if (is_default(values[0]) && is_default(values[1]) && is_default(values[2]))
            continue; /* the baseline stands already */
        add_arm(sweep, plan, settings_of(sweep, group, values), baseline, name_target);
    }
}

void sweep_add_arms(const struct sweep *sweep, struct plan *plan)
{
    const cJSON *target;
    int files = list_size(sweep->files);
    int words = list_size(sweep->compression);
    cJSON_ArrayForEach(target, sweep->targets) {
        for (int i = 0; i < files * words; i++) {
            struct group group = {.target = target,
                                  .files = cJSON_GetArrayItem(sweep->files, i / words),
                                  .compression = cJSON_GetArrayItem(sweep->compression, i % words)};
            add_group(sweep, plan, &group);
        }
    }
}

int sweep_add_confirmation(const struct sweep *sweep, struct plan *plan, int like, int against)
{
    cJSON *settings = cJSON_Duplicate(plan->arms[like].settings, true);
    cJSON_ReplaceItemInObject(settings, "target",
                              json_text(member_text(sweep->confirm_on, "name")));
    if (!sweep->files) {
        cJSON_DeleteItemFromObject(settings, "files");
        const cJSON *files = json_member(sweep->confirm_on, "files");
        if (files)
            cJSON_AddItemToObject(settings, "files", cJSON_Duplicate(files, false));
    }
    return add_arm(sweep, plan, settings, against, true);
}
