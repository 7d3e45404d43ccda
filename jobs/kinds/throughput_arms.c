#include "jobs/kinds/throughput.h"
#include "jobs/member.h"
#include "jobs/target.h"
#include "server/buf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct throughput, member)
#define DATABASES_MAX 32 /* domain.md 8, report 35: limit databases per run */
#define TARGETS_MAX 16

static const char *const compressions[] = {"default", "off", "on", NULL};

/* clang-format off */
const struct json_field throughput_fields[THROUGHPUT_FIELD_COUNT] = {
    {"databases",   JSON_ARRAY, AT(databases),   .required = true, .min = 1, .max = DATABASES_MAX, .help = "the databases that are backed up, each to every target", .shape = &database_shape},
    {"targets",     JSON_ARRAY, AT(given),       .max = TARGETS_MAX, .help = "where to: [{\"name\", \"paths\", \"files\"}]; NUL is always measured as well", .shape = &target_shape},
    {"compression", JSON_TEXT,  AT(compression), .choices = compressions, .help = "of every backup, to NUL too; off when absent"},
};
/* clang-format on */

static bool is_named_nul(const cJSON *target)
{
    const char *name = member_text(target, "name");
    return name && strcmp(name, THROUGHPUT_NUL) == 0;
}

static const cJSON *find_nul(const cJSON *targets)
{
    const cJSON *target;
    cJSON_ArrayForEach(target, targets) {
        if (is_named_nul(target))
            return target;
    }
    return NULL;
}

/* NUL as it was given, else the plain one; then the others. The items are borrowed. */
static cJSON *all_targets(const cJSON *given)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *nul = find_nul(given);
    const cJSON *target;
    if (nul)
        cJSON_AddItemToArray(list, cJSON_Duplicate(nul, true));
    else
        cJSON_AddItemToArray(list,
                             cJSON_Parse("{\"name\":\"" THROUGHPUT_NUL "\",\"paths\":[\"NUL\"]}"));
    cJSON_ArrayForEach(target, given) {
        if (target != nul)
            cJSON_AddItemToArray(list, cJSON_Duplicate(target, true));
    }
    return list;
}

void throughput_read(const cJSON *parameters, struct throughput *out, struct json_faults *faults)
{
    struct json_faults ignored = {0};
    *out = (struct throughput){.compression = "off"};
    json_read(parameters, throughput_fields, THROUGHPUT_FIELD_COUNT, "/parameters", out,
              faults ? faults : &ignored);
    json_faults_fini(&ignored);
    out->targets = all_targets(out->given);
}

void throughput_fini(struct throughput *throughput)
{
    cJSON_Delete(throughput->targets);
    *throughput = (struct throughput){0};
}

size_t throughput_arm_count(const struct throughput *throughput)
{
    return (size_t)cJSON_GetArraySize(throughput->databases) *
           (size_t)cJSON_GetArraySize(throughput->targets);
}

static cJSON *settings_of(const struct throughput *throughput, const char *database,
                          const cJSON *target)
{
    const cJSON *files = json_member(target, "files");
    cJSON *settings = cJSON_CreateObject();
    if (files)
        cJSON_AddItemToObject(settings, "files", cJSON_Duplicate(files, false));
    cJSON_AddStringToObject(settings, "compression", throughput->compression);
    cJSON_AddStringToObject(settings, "target", member_text(target, "name"));
    cJSON_AddStringToObject(settings, "database", database);
    return settings;
}

/* "Sales to local SSD (4 files)"; without the database where there is but one. */
static char *label_of(const struct throughput *throughput, const char *database,
                      const cJSON *target)
{
    struct buf label = {0};
    int64_t files = member_int(target, "files", 1);
    if (cJSON_GetArraySize(throughput->databases) > 1)
        buf_format(&label, "%s ", database);
    buf_format(&label, "to %s", member_text(target, "name"));
    if (files > 1)
        buf_format(&label, " (%" PRId64 " files)", files);
    return buf_take(&label);
}

static int add_arm(const struct throughput *throughput, struct plan *plan, const char *database,
                   const cJSON *target, int against)
{
    struct arm *arm = plan_add_arm(plan);
    arm->settings = settings_of(throughput, database, target);
    arm->label = label_of(throughput, database, target);
    arm->baseline = against < 0;
    arm->against = against < 0 ? arm->index : against;
    arm->buffer_memory_mib = NAN; /* BUFFERCOUNT is the server's choice */
    return arm->index;
}

void throughput_add_arms(const struct throughput *throughput, struct plan *plan)
{
    const cJSON *database;
    cJSON_ArrayForEach(database, throughput->databases) {
        const cJSON *target;
        int baseline = -1;
        cJSON_ArrayForEach(target, throughput->targets) {
            int index = add_arm(throughput, plan, database->valuestring, target, baseline);
            baseline = baseline < 0 ? index : baseline;
        }
    }
}
