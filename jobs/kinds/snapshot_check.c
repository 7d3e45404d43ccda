#include "jobs/kinds/snapshot.h"
#include "jobs/measure/tsql_text.h"
#include "jobs/member.h"
#include "jobs/target.h"
#include "server/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "/sweetspot_<uuid>_<seq>_<n>_<file id>.ss", seq and file id of five digits each */
#define FILE_NAME_CHARS 66

static void check_database(const char *database, struct json_faults *faults)
{
    static const char *const system[] = {"master", "model", "msdb", "tempdb"};
    struct buf name = {0};
    if (!tsql_add_name(&name, database))
        json_fault_add(faults, "/parameters/database",
                       "must be a name of at most %d UTF-16 units without control characters",
                       LIMIT_SQL_NAME_UTF16);
    for (size_t i = 0; i < JSON_COUNT(system); i++)
        if (strcasecmp(database, system[i]) == 0)
            json_fault_add(faults, "/parameters/database",
                           "is a system database; no snapshots are made of those");
    buf_fini(&name);
}

static void check_counts(const cJSON *snapshots, struct json_faults *faults)
{
    bool seen[SNAPSHOT_MOST + 1] = {false};
    bool any = false;
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, snapshots) {
        const char *at = json_pointer_index("/parameters/snapshots", index++);
        double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
        bool legal = value >= 0 && value <= SNAPSHOT_MOST && value == (double)(int)value;
        if (!legal)
            json_fault_add(faults, at, "must be a number of snapshots, 0 to %d", SNAPSHOT_MOST);
        else if (seen[(int)value])
            json_fault_add(faults, at, "stands in the list twice");
        if (legal)
            seen[(int)value] = true;
        any |= legal && value > 0;
    }
    if (snapshots && !any)
        json_fault_add(faults, "/parameters/snapshots",
                       "needs a number above 0: else there is nothing to compare");
}

static void check_path(const char *path, const struct instance *instance, const char *at,
                       struct json_faults *faults)
{
    const char *folders[100];
    size_t count = 0;
    size_t utf16 = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, instance->paths) {
        if (cJSON_IsString(item) && count < JSON_COUNT(folders))
            folders[count++] = item->valuestring;
    }
    if (strcmp(path, TSQL_NUL) == 0)
        json_fault_add(faults, at, "must be a folder: a snapshot keeps pages");
    else if (strstr(path, "..") || !tsql_path_is_allowed(path, folders, count))
        json_fault_add(faults, at, "%s", target_path_advice(path));
    else if (!tsql_text_is_clean(path, &utf16) || utf16 + FILE_NAME_CHARS > LIMIT_PATH_UTF16)
        json_fault_add(faults, at, "is too long: a file's name of %d characters follows",
                       FILE_NAME_CHARS);
}

static void check_locations(const cJSON *locations, const struct instance *instance,
                            struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, locations) {
        struct snapshot_location location = {0};
        char at[64];
        (void)snprintf(at, sizeof at, "/parameters/locations/%zu", index++);
        json_read(item, snapshot_location_fields, SNAPSHOT_LOCATION_FIELD_COUNT, at, &location,
                  faults);
        if (location.path)
            check_path(location.path, instance, json_pointer(at, "path"), faults);
        const cJSON *other;
        cJSON_ArrayForEach(other, locations) {
            if (other == item)
                break;
            if (cJSON_Compare(json_member(other, "name"), json_member(item, "name"), true))
                json_fault_add(faults, json_pointer(at, "name"),
                               "is another location's name already");
        }
    }
}

static void check_custom(const struct instance *instance, struct json_faults *faults)
{
    if (!instance->custom_sql)
        json_fault_add(faults, "/parameters/workload/sql",
                       "T-SQL of your own needs allow.custom_sql on the instance");
    else if (!instance->custom_login || !instance->custom_password)
        json_fault_add(faults, "/parameters/workload/sql",
                       "T-SQL of your own runs under custom_login and custom_password, which the "
                       "instance does not have");
}

static void check_workload(const struct snapshot_parameters *parameters,
                           const struct instance *instance, struct json_faults *faults)
{
    char *schema = NULL;
    char *table = NULL;
    if (!parameters->select_into == !parameters->sql)
        json_fault_add(faults, "/parameters/workload",
                       "must be either select_into or sql (with setup and teardown)");
    if (parameters->select_into && (parameters->setup || parameters->teardown))
        json_fault_add(faults, "/parameters/workload", "setup and teardown go with sql only");
    if (parameters->source && !snapshot_source_parts(parameters->source, &schema, &table))
        json_fault_add(faults, "/parameters/workload/select_into/source",
                       "must be a schema and a table, \"Sales.Big\"; parts with dots in brackets");
    if (parameters->sql || parameters->setup || parameters->teardown)
        check_custom(instance, faults);
    free(schema);
    free(table);
}

static void check_size(const struct snapshot_parameters *parameters,
                       const struct definition *definition, struct json_faults *faults)
{
    int counts[SNAPSHOT_MOST];
    int64_t arms = 1 + (int64_t)snapshot_counts(parameters, counts) *
                           cJSON_GetArraySize(parameters->locations);
    int64_t rounds = definition->design.repetitions + definition->design.warmups;
    if (arms * rounds > LIMIT_TRIALS)
        json_fault_add(faults, "/design/repetitions", "makes %" PRId64 " trials; the limit is %d",
                       arms * rounds, LIMIT_TRIALS);
    if (definition->order_given && definition->design.order == DESIGN_ABBA && arms != 2)
        json_fault_add(faults, "/design/order",
                       "abba compares two arms; these are %" PRId64 " against one baseline",
                       arms - 1);
}

void snapshot_check(const struct definition *definition, const struct instance *instance,
                    struct json_faults *faults)
{
    struct snapshot_parameters parameters;
    size_t before = faults->count;
    snapshot_read(definition->parameters, &parameters, faults);
    if (parameters.database)
        check_database(parameters.database, faults);
    check_counts(parameters.snapshots, faults);
    check_locations(parameters.locations, instance, faults);
    if (parameters.workload)
        check_workload(&parameters, instance, faults);
    if (faults->count == before)
        check_size(&parameters, definition, faults);
}
