/* What trace_flag is asked for: read, checked, and made into arms. */
#include "jobs/kinds/flag.h"
#include "jobs/measure/guard.h"
#include "jobs/measure/tsql.h"
#include "jobs/member.h"
#include "jobs/target.h"
#include "server/limits.h"
#include "server/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FLAG_MAX 2147483647.0 /* DBCC TRACEON takes an int */
#define FLAGS_MAX 8
#define DATABASES_MAX 32 /* experience: too many databases at once disturb everybody */

#define AT(member) offsetof(struct flag_parameters, member)

/* clang-format off */
static const struct json_field flag_shape = {.type = JSON_INT, .min = 1, .max = FLAG_MAX};
const struct json_field flag_fields[FLAG_FIELD_COUNT] = {
    {"flags",       JSON_ARRAY,  AT(flags),       .min = 1, .max = FLAGS_MAX, .help = "trace flags, each in the instance's allow.trace_flags; [3042] when absent", .shape = &flag_shape},
    {"databases",   JSON_ARRAY,  AT(databases),   .required = true, .min = 1, .max = DATABASES_MAX, .help = "the databases that are backed up", .shape = &database_shape},
    {"target",      JSON_OBJECT, AT(target),      .required = true, .help = "where to: {\"name\", \"paths\", \"files\"}", .shape = &target_shape},
    {"compression", JSON_TEXT,   AT(compression), .help = "\"on\" (when absent), \"default\", \"off\" or an algorithm", .shape = &compression_shape},
};

/* Flags of which it is known where they cannot matter (domain.md §5). */
static const struct {
    int64_t flag;
    bool compressed_files; /* changes only how the files of compressed backups grow */
} known_flags[] = {
    {3042, true},
};
/* clang-format on */

static cJSON *default_flags;

static void make_default_flags(void)
{
    default_flags = cJSON_Parse("[3042]");
}

bool flag_is_about_compressed_files(int64_t flag)
{
    for (size_t i = 0; i < JSON_COUNT(known_flags); i++)
        if (known_flags[i].flag == flag)
            return known_flags[i].compressed_files;
    return false;
}

void flag_read(const cJSON *parameters, struct flag_parameters *out, struct json_faults *faults)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct json_faults ignored = {0};
    (void)pthread_once(&once, make_default_flags);
    *out = (struct flag_parameters){.compression = "on"};
    json_read(parameters, flag_fields, FLAG_FIELD_COUNT, "/parameters", out,
              faults ? faults : &ignored);
    json_faults_fini(&ignored);
    out->flags_given = out->flags != NULL;
    if (!out->flags)
        out->flags = default_flags;
}

/* --- checks -------------------------------------------------------------------------------- */

static bool is_flag(const cJSON *item)
{
    return cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble <= FLAG_MAX &&
           item->valuedouble == (double)(int64_t)item->valuedouble;
}

/* Whether an equal item stands before this one; names are compared as most servers do. */
static bool is_repeated(const cJSON *array, const cJSON *item)
{
    const cJSON *other;
    cJSON_ArrayForEach(other, array) {
        if (other == item)
            return false;
        bool same_text = cJSON_IsString(other) && cJSON_IsString(item) &&
                         strcasecmp(other->valuestring, item->valuestring) == 0;
        if (same_text || cJSON_Compare(other, item, true))
            return true;
    }
    return false;
}

static bool is_allowed(const struct instance *instance, const cJSON *flag)
{
    const cJSON *allowed;
    cJSON_ArrayForEach(allowed, instance->trace_flags) {
        if (cJSON_Compare(allowed, flag, true))
            return true;
    }
    return false;
}

static void check_flags(const struct flag_parameters *parameters, const struct instance *instance,
                        struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *flag;
    cJSON_ArrayForEach(flag, parameters->flags) {
        const char *at = json_pointer_index("/parameters/flags", index++);
        if (!parameters->flags_given)
            at = "/parameters/flags"; /* the one that is taken when none is named */
        if (!is_flag(flag))
            json_fault_add(faults, at, "must be a trace flag's number");
        else if (!is_allowed(instance, flag))
            json_fault_add(faults, at,
                           "trace flag %.0f is not in the instance's allow.trace_flags; add it "
                           "there to allow it",
                           flag->valuedouble);
        else if (is_repeated(parameters->flags, flag))
            json_fault_add(faults, at, "stands in the list twice");
    }
}

static void check_database(const cJSON *list, const cJSON *item, const char *at,
                           struct json_faults *faults)
{
    struct buf name = {0};
    if (!cJSON_IsString(item) || !item->valuestring[0] || !tsql_add_name(&name, item->valuestring))
        json_fault_add(faults, at,
                       "must be a name of at most %d UTF-16 units without control characters",
                       LIMIT_SQL_NAME_UTF16);
    else if (strcasecmp(item->valuestring, "tempdb") == 0)
        json_fault_add(faults, at, "tempdb cannot be backed up");
    else if (is_repeated(list, item))
        json_fault_add(faults, at, "stands in the list twice");
    buf_fini(&name);
}

static void check_databases(const struct flag_parameters *parameters, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, parameters->databases) {
        check_database(parameters->databases, item,
                       json_pointer_index("/parameters/databases", index++), faults);
    }
}

/* Where the flag cannot matter, off and on would be compared with themselves. */
static void check_effect(const struct flag_parameters *parameters, struct json_faults *faults)
{
    const cJSON *flag;
    cJSON_ArrayForEach(flag, parameters->flags) {
        if (!is_flag(flag) || !flag_is_about_compressed_files((int64_t)flag->valuedouble))
            continue;
        if (target_is_nul(parameters->target))
            json_fault_add(faults, "/parameters/target/paths/0",
                           "trace flag %.0f changes how a backup file grows, and NUL keeps no "
                           "file: no effect can be measured; name a folder",
                           flag->valuedouble);
        if (strcmp(parameters->compression, "off") == 0)
            json_fault_add(faults, "/parameters/compression",
                           "trace flag %.0f matters for compressed backups only, and \"off\" sends "
                           "NO_COMPRESSION: no effect can be measured; use \"on\"",
                           flag->valuedouble);
    }
}

static void check_size(const struct flag_parameters *parameters,
                       const struct definition *definition, struct json_faults *faults)
{
    int64_t arms = 2 * (int64_t)cJSON_GetArraySize(parameters->flags) *
                   cJSON_GetArraySize(parameters->databases);
    int64_t rounds = definition->design.repetitions + definition->design.warmups;
    rounds += definition->design.order == DESIGN_ABBA ? definition->design.repetitions % 2 : 0;
    if (arms > LIMIT_ARMS)
        json_fault_add(faults, "/parameters", "makes %" PRId64 " arms; the limit is %d", arms,
                       LIMIT_ARMS);
    else if (arms * rounds > LIMIT_TRIALS)
        json_fault_add(faults, "/design/repetitions", "makes %" PRId64 " trials; the limit is %d",
                       arms * rounds, LIMIT_TRIALS);
}

void flag_check(const struct definition *definition, const struct instance *instance,
                struct json_faults *faults)
{
    struct flag_parameters parameters;
    size_t before = faults->count;
    flag_read(definition->parameters, &parameters, faults);
    check_flags(&parameters, instance, faults);
    check_databases(&parameters, faults);
    if (parameters.target)
        target_check(parameters.target, instance, "/parameters/target", true, faults);
    if (!compression_is_known(parameters.compression))
        json_fault_add(faults, "/parameters/compression", "must be one of %s", compression_names());
    check_effect(&parameters, faults);
    if (faults->count == before)
        check_size(&parameters, definition, faults);
}

/* --- arms ---------------------------------------------------------------------------------- */

static void add_arm(const struct flag_parameters *parameters, struct plan *plan,
                    const char *database, int64_t flag, bool on)
{
    const cJSON *files = json_member(parameters->target, "files");
    struct arm *arm = plan_add_arm(plan);
    cJSON *settings = cJSON_CreateObject();
    cJSON_AddNumberToObject(settings, "flag", (double)flag);
    cJSON_AddBoolToObject(settings, "on", on);
    if (files)
        cJSON_AddItemToObject(settings, "files", cJSON_Duplicate(files, false));
    cJSON_AddStringToObject(settings, "compression", parameters->compression);
    cJSON_AddStringToObject(settings, "target", member_text(parameters->target, "name"));
    cJSON_AddStringToObject(settings, "database", database);
    arm->settings = settings;
    arm->label = mem_format("%s, trace flag %" PRId64 " %s", database, flag, on ? "on" : "off");
    arm->baseline = !on;
    arm->against = on ? arm->index - 1 : arm->index; /* off stands right before */
    arm->buffer_memory_mib = guard_buffer_memory_mib(0, 0, parameters->compression);
}

void flag_add_arms(const struct flag_parameters *parameters, struct plan *plan)
{
    const cJSON *database;
    const cJSON *flag;
    cJSON_ArrayForEach(database, parameters->databases) {
        cJSON_ArrayForEach(flag, parameters->flags) {
            add_arm(parameters, plan, database->valuestring, (int64_t)flag->valuedouble, false);
            add_arm(parameters, plan, database->valuestring, (int64_t)flag->valuedouble, true);
        }
    }
}

int flag_of_arm(const struct arm *arm)
{
    return (int)member_int(arm->settings, "flag", 0);
}

bool flag_arm_is_on(const struct arm *arm)
{
    return cJSON_IsTrue(json_member(arm->settings, "on"));
}
