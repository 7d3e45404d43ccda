/* backup_history: how fast backups were, from what msdb remembers of them. Nothing is measured and
 * nothing changed: it runs beside a job that measures. */
#include "jobs/kind.h"
#include "jobs/kinds/history_report.h"
#include "jobs/kinds/kinds.h"
#include "jobs/measure/history.h"
#include "jobs/measure/tsql_text.h"
#include "jobs/run.h"
#include "jobs/send.h"
#include "jobs/target.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DATABASES_MAX 256 /* names bound to one query */
#define ENGINE_AZURE_DATABASE 5

struct history_parameters {
    const cJSON *databases; /* NULL: all */
    const char *since;      /* NULL: always */
    const cJSON *types;     /* NULL: all */
    bool copy_only;
};

#define AT(member) offsetof(struct history_parameters, member)

/* clang-format off */
static const char *const type_names[] = {"full", "diff", "log", NULL};
static const struct json_field type_shape = {.type = JSON_TEXT, .choices = type_names};
static const struct json_field fields[] = {
    {"databases",         JSON_ARRAY, AT(databases), .nullable = true, .min = 1, .max = DATABASES_MAX, .help = "names; null: all", .shape = &database_shape},
    {"since",             JSON_TEXT,  AT(since),     .nullable = true, .min = 1, .max = 40, .help = "RFC 3339: only backups that began at or after; null: all"},
    {"types",             JSON_ARRAY, AT(types),     .nullable = true, .min = 1, .max = HISTORY_TYPES, .help = "\"full\", \"diff\", \"log\"; all when absent", .shape = &type_shape},
    {"include_copy_only", JSON_BOOL,  AT(copy_only), .help = "COPY_ONLY backups, too"},
};
/* clang-format on */

static void read_parameters(const cJSON *parameters, struct history_parameters *out,
                            struct json_faults *faults)
{
    struct json_faults ignored = {0};
    *out = (struct history_parameters){0};
    json_read(parameters, fields, JSON_COUNT(fields), "/parameters", out,
              faults ? faults : &ignored);
    json_faults_fini(&ignored);
}

/* --- check --------------------------------------------------------------------------------- */

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
    const cJSON *item;
    cJSON_ArrayForEach(item, databases) {
        const char *at = json_pointer_index("/parameters/databases", index++);
        size_t units = 0;
        if (!cJSON_IsString(item) || !tsql_text_is_clean(item->valuestring, &units) || units == 0 ||
            units > LIMIT_SQL_NAME_UTF16)
            json_fault_add(faults, at,
                           "must be a database's name of 1 to %d UTF-16 units without control "
                           "characters",
                           LIMIT_SQL_NAME_UTF16);
        else if (stands_before(databases, item))
            json_fault_add(faults, at, "stands in the list twice");
    }
}

static void check_types(const cJSON *types, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, types) {
        const char *at = json_pointer_index("/parameters/types", index++);
        if (!cJSON_IsString(item) || history_type_by_name(item->valuestring) == HISTORY_TYPES)
            json_fault_add(faults, at, "must be \"full\", \"diff\" or \"log\"");
        else if (stands_before(types, item))
            json_fault_add(faults, at, "stands in the list twice");
    }
}

static void check(const struct definition *definition, const struct instance *instance,
                  struct json_faults *faults)
{
    struct history_parameters parameters;
    int64_t since_ms;
    (void)instance; /* reading is always allowed */
    read_parameters(definition->parameters, &parameters, faults);
    check_databases(parameters.databases, faults);
    check_types(parameters.types, faults);
    if (parameters.since && !clock_parse(parameters.since, &since_ms))
        json_fault_add(faults, "/parameters/since",
                       "must be a time such as 2026-01-31T00:00:00Z, or null");
}

static int preflight(struct run *run, struct err *err)
{
    if (run->plan.facts.engine_edition == ENGINE_AZURE_DATABASE)
        return err_set(err, ERR_REFUSED, 0,
                       "Azure SQL Database (EngineEdition 5) keeps no history in msdb");
    return 0;
}

/* --- the query ----------------------------------------------------------------------------- */

/* clang-format off */
/* What STATEMENT_HISTORY selects, in its order. One row a backup: media families, of which there is
 * one for each stripe and mirror, are only asked whether there is such a one. */
enum column { DATABASE, TYPE, NAME, START, FINISH, ZONE, SIZE, COMPRESSED, COPY_ONLY, SNAPSHOT, ELSEWHERE, MEDIA };
/* clang-format on */
#define MEDIA_VIRTUAL 2
#define MEDIA_NUL 1

/* A query and the values bound to it. */
struct query {
    enum statement statement;
    struct buf sql;
    struct mssql_value values[DATABASES_MAX + 1];
    size_t count;
    char since[CLOCK_TEXT_SIZE];
};

static void add_databases(struct query *query, const cJSON *databases)
{
    const cJSON *name;
    if (!databases)
        return;
    buf_add(&query->sql, " AND s.database_name IN (");
    cJSON_ArrayForEach(name, databases) {
        buf_add(&query->sql, name == databases->child ? "?" : ", ?");
        query->values[query->count++].text = name->valuestring;
    }
    buf_add(&query->sql, ")");
}

/* Rows that cannot be asked for need not be sent; the rest is judged here. Local times lie within a
 * day of UTC. */
static void add_since(struct query *query, int64_t since_s)
{
    if (since_s == INT64_MIN)
        return;
    buf_add(&query->sql, " AND (s.backup_start_date IS NULL OR s.backup_start_date >= "
                         "CONVERT(datetime, LEFT(?, 19), 126))");
    query->values[query->count++].text = clock_format((since_s - 86400) * 1000, query->since);
}

static void build(const struct history_parameters *parameters, const struct history_filter *filter,
                  int major, struct query *out)
{
    bool is_old = !statement_is_for(STATEMENT_HISTORY, BY_HISTORY, major);
    *out = (struct query){.statement = is_old ? STATEMENT_HISTORY_OLD : STATEMENT_HISTORY};
    const char *text = statement_text(out->statement);
    const char *slot = strchrnul(text, '{');
    buf_add_bytes(&out->sql, text, (size_t)(slot - text));
    for (size_t i = 0; i < HISTORY_TYPES; i++)
        if (!filter->types[i])
            buf_format(&out->sql, " AND s.type <> '%c'", history_type_letter((enum history_type)i));
    add_databases(out, parameters->databases);
    add_since(out, filter->since_s);
    buf_add(&out->sql, strchrnul(slot, '}') + 1);
}

/* --- gathering ----------------------------------------------------------------------------- */

struct gathering {
    struct run *run;
    struct history *history;
};

static int take_row(void *ctx, const struct mssql_rows *rows, struct err *err)
{
    struct gathering *gathering = ctx;
    int64_t media = mssql_int(rows, 0, MEDIA, 0);
    struct history_row row = {.database = mssql_text(rows, 0, DATABASE),
                              .type = mssql_text(rows, 0, TYPE),
                              .name = mssql_text(rows, 0, NAME),
                              .start = mssql_text(rows, 0, START),
                              .finish = mssql_text(rows, 0, FINISH),
                              .zone = mssql_int(rows, 0, ZONE, HISTORY_ZONE_UNKNOWN),
                              .size = mssql_real(rows, 0, SIZE),
                              .compressed = mssql_real(rows, 0, COMPRESSED),
                              .copy_only = mssql_int(rows, 0, COPY_ONLY, 0) != 0,
                              .snapshot = mssql_int(rows, 0, SNAPSHOT, 0) != 0,
                              .virtual_device = media == MEDIA_VIRTUAL,
                              .nul = media == MEDIA_NUL,
                              .elsewhere = mssql_int(rows, 0, ELSEWHERE, 0) != 0};
    history_add(gathering->history, &row);
    return run_go_on(gathering->run, err);
}

/* Quarters of an hour that the server's clock is ahead of UTC now. */
static int64_t zone_of(struct run *run)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* UTC then: only rows that do not know their own zone ask for it */
    int64_t minutes = 0;
    if (send_ask(run_session(run), STATEMENT_ZONE, NULL, 0, &rows, &ignored) == 0)
        minutes = mssql_int(rows, 0, 0, 0);
    mssql_rows_free(rows);
    return (int64_t)lround((double)minutes / 15);
}

static struct history_filter filter_by(const struct run *run,
                                       const struct history_parameters *parameters, int64_t zone)
{
    int64_t since_ms;
    struct history_filter filter = {.copy_only = parameters->copy_only,
                                    .since_s = INT64_MIN,
                                    .here_zone = zone,
                                    .confidence = run->definition.design.confidence};
    const cJSON *name;
    cJSON_ArrayForEach(name, parameters->types) {
        enum history_type type = history_type_by_name(name->valuestring);
        if (type < HISTORY_TYPES)
            filter.types[type] = true;
    }
    for (size_t i = 0; i < HISTORY_TYPES && !parameters->types; i++)
        filter.types[i] = true;
    if (parameters->since && clock_parse(parameters->since, &since_ms))
        filter.since_s = since_ms / 1000;
    return filter;
}

static void probes(struct run *run, cJSON *probes)
{
    struct history_parameters parameters;
    struct query query;
    read_parameters(run->definition.parameters, &parameters, NULL);
    struct history_filter filter = filter_by(run, &parameters, 0);
    build(&parameters, &filter, run->plan.facts.version ? run->plan.facts.major : -1, &query);
    cJSON_AddItemToArray(probes, json_text(buf_text(&query.sql)));
    buf_fini(&query.sql);
}

static int gather(struct run *run, struct err *err)
{
    struct history_parameters parameters;
    struct query query;
    read_parameters(run->definition.parameters, &parameters, NULL);
    struct history_filter filter = filter_by(run, &parameters, zone_of(run));
    struct gathering gathering = {.run = run, .history = history_new(&filter)};
    build(&parameters, &filter, run->plan.facts.major, &query);
    int rc = send_stream(run, query.statement, buf_text(&query.sql), query.values, query.count,
                         take_row, &gathering, err);
    if (rc < 0)
        (void)err_wrap(err, "read the backup history (db_datareader on msdb is needed)");
    else
        run->gathered = history_finish(gathering.history);
    history_free(gathering.history);
    buf_fini(&query.sql);
    return rc;
}

const struct job_kind kind_backup_history = {
    .name = "backup_history",
    .summary = "how fast backups were, from what msdb remembers of them",
    .exclusive = false,
    .order = DESIGN_RANDOM_BLOCKS,
    .statements = BY_HISTORY,
    .parameters = fields,
    .parameter_count = JSON_COUNT(fields),
    .example =
        "{\"databases\":[\"Sales\"],\"types\":[\"full\"],\"since\":\"2026-01-01T00:00:00Z\"}",
    .check = check,
    .preflight = preflight,
    .probes = probes,
    .gather = gather,
    .report = history_report,
};
