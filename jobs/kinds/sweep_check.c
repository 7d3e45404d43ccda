#include "jobs/kinds/sweep.h"
#include "jobs/measure/guard.h"
#include "jobs/measure/tsql.h"
#include "jobs/member.h"
#include "jobs/target.h"
#include "server/limits.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LARGEST_WHOLE 9007199254740992.0 /* 2^53: beyond it JSON cannot carry every number */

/* "default" or a whole number; out gets 0 or the number. */
static bool read_value(const cJSON *item, int64_t *out)
{
    *out = 0;
    if (cJSON_IsString(item))
        return strcmp(item->valuestring, "default") == 0;
    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= LARGEST_WHOLE))
        return false;
    *out = (int64_t)item->valuedouble;
    return item->valuedouble == (double)*out && *out != 0;
}

static const char *rule_of(enum sweep_option option, int64_t value, enum device_kind device)
{
    switch (option) {
    case SWEEP_BUFFERCOUNT:
        return guard_buffercount(value);
    case SWEEP_MAXTRANSFERSIZE:
        return guard_maxtransfersize(value, device);
    case SWEEP_BLOCKSIZE:
        return guard_blocksize(value);
    case SWEEP_OPTIONS:
        break;
    }
    return NULL;
}

static bool is_repeated(const cJSON *array, const cJSON *item)
{
    const cJSON *other;
    cJSON_ArrayForEach(other, array) {
        if (other == item)
            return false;
        if (cJSON_Compare(other, item, true))
            return true;
    }
    return false;
}

static void check_option(const struct sweep *sweep, enum sweep_option option,
                         struct json_faults *faults)
{
    char base[64]; /* json_pointer's buffers turn over inside the loop */
    (void)snprintf(base, sizeof base, "/parameters/%s", sweep_option_names[option]);
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, sweep->options[option]) {
        const char *at = json_pointer_index(base, index++);
        int64_t value;
        const char *rule = NULL;
        if (!read_value(item, &value))
            rule = rule_of(option, -1, DEVICE_DISK);
        else if (value != 0)
            rule = rule_of(option, value, DEVICE_DISK);
        if (rule)
            json_fault_add(faults, at, "%s, or \"default\"", rule);
        else if (is_repeated(sweep->options[option], item))
            json_fault_add(faults, at, "stands in the list twice");
    }
}

static void check_files(const struct sweep *sweep, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, sweep->files) {
        const char *at = json_pointer_index("/parameters/files", index++);
        int64_t value;
        if (!cJSON_IsNumber(item) || !read_value(item, &value) || value < 1 ||
            value > LIMIT_STRIPES)
            json_fault_add(faults, at, "must be a number of files, 1 to %d", LIMIT_STRIPES);
        else if (is_repeated(sweep->files, item))
            json_fault_add(faults, at, "stands in the list twice");
    }
}

static void check_compression(const struct sweep *sweep, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, sweep->compression) {
        const char *at = json_pointer_index("/parameters/compression", index++);
        bool known = cJSON_IsString(item) && compression_is_known(item->valuestring);
        if (!known)
            json_fault_add(faults, at, "must be one of %s", compression_names());
        else if (is_repeated(sweep->compression, item))
            json_fault_add(faults, at, "stands in the list twice");
    }
}

static void check_confirm_on(const struct sweep *sweep, const struct instance *instance,
                             struct json_faults *faults)
{
    if (!sweep->confirm_on)
        return;
    target_check(sweep->confirm_on, instance, "/parameters/confirm_on", !sweep->files, faults);
    const cJSON *target;
    const cJSON *name = json_member(sweep->confirm_on, "name");
    cJSON_ArrayForEach(target, sweep->targets) {
        if (cJSON_Compare(json_member(target, "name"), name, true))
            json_fault_add(faults, "/parameters/confirm_on/name",
                           "is the name of a swept target; nothing would be confirmed");
    }
}

/* The largest memory any combination with this buffer count asks for. */
static double worst_memory(const struct sweep *sweep, int64_t buffers)
{
    double worst = 0;
    const cJSON *sizes = sweep->options[SWEEP_MAXTRANSFERSIZE];
    int compression_count = sweep->compression ? cJSON_GetArraySize(sweep->compression) : 1;
    int size_count = sizes ? cJSON_GetArraySize(sizes) : 1;
    for (int c = 0; c < compression_count; c++) {
        const cJSON *item = cJSON_GetArrayItem(sweep->compression, c);
        const char *word = cJSON_IsString(item) ? item->valuestring : "off";
        for (int s = 0; s < size_count; s++) {
            int64_t size = 0; /* no list: always the default */
            if (!sizes || read_value(cJSON_GetArrayItem(sizes, s), &size))
                worst = fmax(worst, guard_buffer_memory_mib(buffers, size, word));
        }
    }
    return worst;
}

static void check_memory(const struct sweep *sweep, int64_t limit_mib, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, sweep->options[SWEEP_BUFFERCOUNT]) {
        const char *at = json_pointer_index("/parameters/buffercount", index++);
        int64_t buffers;
        if (!read_value(item, &buffers) || buffers <= 0)
            continue;
        double memory = worst_memory(sweep, buffers);
        if (memory > (double)limit_mib)
            json_fault_add(faults, at,
                           "needs up to %.0f MiB of buffers (BUFFERCOUNT x MAXTRANSFERSIZE x "
                           "sets, 3 when compressed); the limit buffer_memory_mib is %" PRId64,
                           memory, limit_mib);
    }
}

static void check_size(const struct sweep *sweep, const struct definition *definition,
                       struct json_faults *faults)
{
    size_t arms = sweep_arm_count(sweep);
    int64_t rounds = definition->design.repetitions + definition->design.warmups;
    if (arms == 1)
        json_fault_add(faults, "/parameters",
                       "makes one setting only, so there is nothing to compare; give a list, such "
                       "as \"buffercount\": [\"default\", 50, 100, 200]");
    else if (arms > LIMIT_ARMS)
        json_fault_add(faults, "/parameters", "makes %zu arms; the limit is %d", arms, LIMIT_ARMS);
    else if ((int64_t)arms * rounds > LIMIT_TRIALS)
        json_fault_add(faults, "/design/repetitions", "makes %" PRId64 " trials; the limit is %d",
                       (int64_t)arms * rounds, LIMIT_TRIALS);
}

void sweep_check(const struct definition *definition, const struct instance *instance,
                 struct json_faults *faults)
{
    struct sweep sweep;
    size_t before = faults->count;
    sweep_read(definition->parameters, &sweep, faults);
    if (sweep.database) {
        struct buf name = {0};
        if (!tsql_add_name(&name, sweep.database))
            json_fault_add(faults, "/parameters/database",
                           "must be a name of at most %d UTF-16 units without control characters",
                           LIMIT_SQL_NAME_UTF16);
        else if (strcasecmp(sweep.database, "tempdb") == 0)
            json_fault_add(faults, "/parameters/database", "tempdb cannot be backed up");
        buf_fini(&name);
    }
    for (int option = 0; option < SWEEP_OPTIONS; option++)
        check_option(&sweep, (enum sweep_option)option, faults);
    check_files(&sweep, faults);
    check_compression(&sweep, faults);
    target_check_list(sweep.targets, instance, "/parameters/targets", !sweep.files, faults);
    check_confirm_on(&sweep, instance, faults);
    if (faults->count > before)
        return;
    struct limits limits = definition_limits(definition, instance);
    check_memory(&sweep, limits.buffer_memory_mib, faults);
    check_size(&sweep, definition, faults);
}
