#include "jobs/kinds/throughput.h"
#include "jobs/measure/tsql.h"
#include "jobs/member.h"
#include "jobs/target.h"
#include "server/buf.h"
#include "server/limits.h"

#include <inttypes.h>
#include <string.h>

/* NULL when the server may be asked for it; else the rule. */
static const char *rule_of(const cJSON *database)
{
    struct buf name = {0};
    if (!cJSON_IsString(database))
        return "must be the name of a database";
    bool fits = tsql_add_name(&name, database->valuestring);
    buf_fini(&name);
    if (!fits)
        return "must be a name of at most 128 UTF-16 units without control characters";
    if (strcasecmp(database->valuestring, "tempdb") == 0)
        return "tempdb cannot be backed up";
    return NULL;
}

static bool stands_before(const cJSON *list, const cJSON *item)
{
    const cJSON *other;
    cJSON_ArrayForEach(other, list) {
        if (other == item)
            return false;
        if (cJSON_Compare(other, item, true))
            return true;
    }
    return false;
}

static void check_databases(const cJSON *databases, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *database;
    cJSON_ArrayForEach(database, databases) {
        const char *at = json_pointer_index("/parameters/databases", index++);
        const char *rule = rule_of(database);
        if (rule)
            json_fault_add(faults, at, "%s", rule);
        else if (stands_before(databases, database))
            json_fault_add(faults, at, "stands in the list twice");
    }
}

/* The name belongs to the baseline: what is called so must discard. */
static void check_nul(const cJSON *targets, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *target;
    cJSON_ArrayForEach(target, targets) {
        const char *at = json_pointer_index("/parameters/targets", index++);
        const char *name = member_text(target, "name");
        if (name && strcmp(name, THROUGHPUT_NUL) == 0 && !target_is_nul(target))
            json_fault_add(faults, json_pointer(at, "name"),
                           "is kept for the target that discards, \"paths\": [\"NUL\"]");
    }
}

static void check_size(const struct throughput *throughput, const struct definition *definition,
                       struct json_faults *faults)
{
    size_t arms = throughput_arm_count(throughput);
    int64_t rounds = definition->design.repetitions + definition->design.warmups;
    if (arms > LIMIT_ARMS)
        json_fault_add(faults, "/parameters",
                       "makes %zu arms (databases x targets, NUL among them); the limit is %d",
                       arms, LIMIT_ARMS);
    else if ((int64_t)arms * rounds > LIMIT_TRIALS)
        json_fault_add(faults, "/design/repetitions", "makes %" PRId64 " trials; the limit is %d",
                       (int64_t)arms * rounds, LIMIT_TRIALS);
}

void throughput_check(const struct definition *definition, const struct instance *instance,
                      struct json_faults *faults)
{
    struct throughput throughput;
    size_t before = faults->count;
    throughput_read(definition->parameters, &throughput, faults);
    check_databases(throughput.databases, faults);
    target_check_list(throughput.given, instance, "/parameters/targets", true, faults);
    check_nul(throughput.given, faults);
    if (faults->count == before)
        check_size(&throughput, definition, faults);
    throughput_fini(&throughput);
}
