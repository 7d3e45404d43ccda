#include "jobs/kinds/snapshot.h"
#include "server/limits.h"

#define SQL_CHARS 65536

/* PREEMPTIVE_OS_WRITEFILE stands in common lists of harmless waits, and is what snapshots cost. */
const char *const snapshot_waits[] = {"PREEMPTIVE_OS_WRITEFILE", "WRITE_COMPLETION",
                                      "FCB_REPLICA_WRITE", NULL};

#define AT(member) offsetof(struct snapshot_parameters, member)

/* clang-format off */
static const struct json_field select_into_fields[] = {
    {"source", JSON_TEXT, AT(source), .required = true, .min = 3, .max = 2 * LIMIT_SQL_NAME_UTF16 + 8, .help = "schema and table that rows are copied from: \"Sales.Big\""},
    {"rows",   JSON_INT,  AT(rows),   .required = true, .min = 1, .max = 1e10, .help = "how many rows one run copies"},
};
static const struct json_field workload_fields[] = {
    {"select_into", JSON_OBJECT, AT(select_into), .fields = select_into_fields, .field_count = JSON_COUNT(select_into_fields), .help = "SELECT TOP (rows) * INTO a table of ours"},
    {"sql",         JSON_TEXT,   AT(sql),      .min = 1, .max = SQL_CHARS, .help = "T-SQL of your own instead; needs allow.custom_sql"},
    {"setup",       JSON_TEXT,   AT(setup),    .min = 1, .max = SQL_CHARS, .nullable = true, .help = "T-SQL before each run, outside of its clock"},
    {"teardown",    JSON_TEXT,   AT(teardown), .min = 1, .max = SQL_CHARS, .nullable = true, .help = "T-SQL after each run, outside of its clock"},
};
const struct json_field snapshot_location_fields[SNAPSHOT_LOCATION_FIELD_COUNT] = {
    {"name", JSON_TEXT, offsetof(struct snapshot_location, name), .required = true, .min = 1, .max = LIMIT_NAME_CHARS, .help = "for people"},
    {"path", JSON_TEXT, offsetof(struct snapshot_location, path), .required = true, .min = 1, .max = LIMIT_PATH_UTF16, .help = "a folder as the server sees it"},
};
static const struct json_field location_shape = {.type = JSON_OBJECT, .fields = snapshot_location_fields, .field_count = SNAPSHOT_LOCATION_FIELD_COUNT};
static const struct json_field count_shape = {.type = JSON_INT, .max = SNAPSHOT_MOST};
const struct json_field snapshot_fields[SNAPSHOT_FIELD_COUNT] = {
    {"database",           JSON_TEXT,   AT(database),  .required = true, .min = 1, .max = LIMIT_SQL_NAME_UTF16, .help = "the database that snapshots are made of"},
    {"snapshots",          JSON_ARRAY,  AT(snapshots), .min = 1, .max = SNAPSHOT_MOST + 1, .help = "how many at once: [0, 1, 2]; 0 is always measured", .shape = &count_shape},
    {"locations",          JSON_ARRAY,  AT(locations), .required = true, .min = 1, .max = SNAPSHOT_PLACES, .help = "where their files go: [{\"name\", \"path\"}]", .shape = &location_shape},
    {"workload",           JSON_OBJECT, AT(workload),  .required = true, .fields = workload_fields, .field_count = JSON_COUNT(workload_fields), .help = "what is timed: select_into, or T-SQL of your own"},
    {"confirm_log_growth", JSON_BOOL,   AT(confirm_log_growth), .help = "SELECT INTO may be fully logged (FULL recovery)"},
};
/* clang-format on */

void snapshot_read(const cJSON *parameters, struct snapshot_parameters *out,
                   struct json_faults *faults)
{
    struct json_faults ignored = {0};
    *out = (struct snapshot_parameters){0};
    json_read(parameters, snapshot_fields, SNAPSHOT_FIELD_COUNT, "/parameters", out,
              faults ? faults : &ignored);
    json_faults_fini(&ignored);
}
