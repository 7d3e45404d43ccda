/* Arms of snapshot_overhead and the text of its built-in workload. Pure. */
#include "jobs/kinds/snapshot.h"
#include "jobs/measure/tsql_text.h"
#include "jobs/member.h"
#include "jobs/tables.h"
#include "server/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- arms ----------------------------------------------------------------------------------- */

static bool is_asked_for(const cJSON *snapshots, int count)
{
    const cJSON *item;
    if (!snapshots)
        return count <= 2;
    cJSON_ArrayForEach(item, snapshots) {
        if (cJSON_IsNumber(item) && (int)item->valuedouble == count)
            return true;
    }
    return false;
}

size_t snapshot_counts(const struct snapshot_parameters *parameters, int *counts)
{
    size_t found = 0;
    for (int count = 1; count <= SNAPSHOT_MOST; count++)
        if (is_asked_for(parameters->snapshots, count))
            counts[found++] = count;
    return found;
}

/* location NULL: the baseline. */
static void add_arm(const struct snapshot_parameters *parameters, const char *location, int count,
                    struct plan *plan)
{
    struct arm *arm = plan_add_arm(plan);
    arm->settings = cJSON_CreateObject();
    cJSON_AddItemToObject(arm->settings, "location", json_text(location));
    cJSON_AddNumberToObject(arm->settings, "snapshots", count);
    cJSON_AddItemToObject(arm->settings, "database", json_text(parameters->database));
    arm->label = location
                     ? mem_format("%d snapshot%s at %s", count, count == 1 ? "" : "s", location)
                     : mem_copy("no snapshot");
    arm->baseline = !location;
    arm->against = 0;
    arm->buffer_memory_mib = NAN;
}

void snapshot_add_arms(const struct snapshot_parameters *parameters, struct plan *plan)
{
    int counts[SNAPSHOT_MOST];
    size_t count = snapshot_counts(parameters, counts);
    const cJSON *location;
    add_arm(parameters, NULL, 0, plan);
    cJSON_ArrayForEach(location, parameters->locations) {
        for (size_t i = 0; i < count; i++)
            add_arm(parameters, member_text(location, "name"), counts[i], plan);
    }
}

const char *snapshot_path(const struct snapshot_parameters *parameters, const char *location)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, parameters->locations) {
        const char *name = member_text(item, "name");
        if (name && strcmp(name, location) == 0)
            return member_text(item, "path");
    }
    return NULL;
}

/* --- the source ----------------------------------------------------------------------------- */

/* One part at *at, plain or in brackets with ]] for ]; NULL when it is empty or not closed. */
static char *read_part(const char **at)
{
    struct buf part = {0};
    const char *c = *at;
    bool bracketed = *c == '[';
    bool closed = !bracketed;
    for (c += bracketed; *c; c++) {
        if (bracketed && c[0] == ']' && c[1] != ']') {
            closed = true;
            c++;
            break;
        }
        if (!bracketed && strchr(".[]", *c))
            break;
        buf_add_char(&part, *c);
        c += bracketed && *c == ']'; /* the second of two */
    }
    *at = c;
    if (closed && part.length > 0)
        return buf_take(&part);
    buf_fini(&part);
    return NULL;
}

static bool is_name(const char *part)
{
    struct buf scratch = {0};
    bool good = tsql_add_name(&scratch, part);
    buf_fini(&scratch);
    return good;
}

bool snapshot_source_parts(const char *source, char **out_schema, char **out_table)
{
    const char *at = source;
    char *schema = read_part(&at);
    bool dot = schema && *at == '.';
    at += dot;
    char *table = dot ? read_part(&at) : NULL;
    if (table && *at == '\0' && is_name(schema) && is_name(table)) {
        *out_schema = schema;
        *out_table = table;
        return true;
    }
    free(schema);
    free(table);
    return false;
}

int snapshot_workload(const struct snapshot_parameters *parameters, const char *job,
                      const char *seq, struct buf *out, struct err *err)
{
    struct buf text = {0};
    char *schema = NULL;
    char *table = NULL;
    char *target = table_name(job, seq);
    bool good = snapshot_source_parts(parameters->source, &schema, &table);
    buf_format(&text, "SELECT TOP (%" PRId64 ") * INTO ", parameters->rows);
    good = good && table_add_full_name(&text, parameters->database, "dbo", target);
    buf_add(&text, " FROM ");
    good = good && table_add_full_name(&text, parameters->database, schema, table);
    free(schema);
    free(table);
    free(target);
    if (good)
        return tsql_finish(&text, out, err);
    buf_fini(&text);
    return err_set(err, ERR_INPUT, 0, "the workload on %s cannot be written down",
                   parameters->source);
}
