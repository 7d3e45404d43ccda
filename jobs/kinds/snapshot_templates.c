/* What snapshot_overhead sends, for plans. */
#include "jobs/kinds/snapshot.h"
#include "jobs/member.h"
#include "jobs/tables.h"
#include "server/mem.h"

#include <stdlib.h>

#define JOB "{job}"
#define SEQ "{seq}"

/* The source's data files; a placeholder while the server is not reached. */
static void read_files(struct run *run, const char *database, struct snapshot_files *out)
{
    struct err ignored; /* not reached, or not permitted: the plan says so elsewhere */
    if (run_session(run) && snapshot_files_read(run, database, out, &ignored) == 0)
        return;
    *out = (struct snapshot_files){.items = mem_alloc(1, sizeof *out->items), .count = 1};
    out->items[0] = (struct snapshot_file){.name = mem_copy("<each data file>"), .id = 1};
}

static void add_snapshot(const struct snapshot_parameters *parameters,
                         const struct snapshot_files *files, const char *folder, int number,
                         cJSON *statements)
{
    struct snapshot_order order = {.database = parameters->database,
                                   .files = files,
                                   .folder = folder,
                                   .job = JOB,
                                   .seq = SEQ,
                                   .number = number};
    struct buf text = {0};
    struct buf drop = {0};
    struct err ignored; /* the definition was checked */
    char *name = snapshot_name(JOB, SEQ, number);
    if (snapshot_statement(&order, &text, &ignored) == 0)
        member_add_text_once(statements, buf_text(&text));
    if (snapshot_drop_statement(name, &drop))
        member_add_text_once(statements, buf_text(&drop));
    free(name);
    buf_fini(&drop);
    buf_fini(&text);
}

/* One snapshot at each location is tried before the first trial: told with the baseline. */
static void add_trials_of_locations(const struct snapshot_parameters *parameters,
                                    const struct snapshot_files *files, cJSON *statements)
{
    int number = 0;
    const cJSON *location;
    cJSON_ArrayForEach(location, parameters->locations) {
        add_snapshot(parameters, files, member_text(location, "path"), ++number, statements);
    }
}

static void add_workload(const struct snapshot_parameters *parameters, cJSON *statements)
{
    const char *const own[] = {parameters->setup, parameters->sql, parameters->teardown};
    struct buf text = {0};
    struct buf drop = {0};
    struct err ignored; /* the definition was checked */
    for (size_t i = 0; i < JSON_COUNT(own); i++)
        if (own[i])
            member_add_text_once(statements, own[i]);
    if (parameters->sql)
        return;
    char *table = table_name(JOB, SEQ);
    if (snapshot_workload(parameters, JOB, SEQ, &text, &ignored) == 0)
        member_add_text_once(statements, buf_text(&text));
    if (table_drop_statement(parameters->database, table, &drop))
        member_add_text_once(statements, buf_text(&drop));
    free(table);
    buf_fini(&drop);
    buf_fini(&text);
}

void snapshot_templates(struct run *run, const struct arm *arm, cJSON *statements)
{
    struct snapshot_parameters parameters;
    struct snapshot_files files;
    const char *location = member_text(arm->settings, "location");
    int count = (int)member_int(arm->settings, "snapshots", 0);
    snapshot_read(run->definition.parameters, &parameters, NULL);
    read_files(run, parameters.database, &files);
    for (int number = 1; number <= count && location; number++)
        add_snapshot(&parameters, &files, snapshot_path(&parameters, location), number, statements);
    add_workload(&parameters, statements);
    if (arm->baseline)
        add_trials_of_locations(&parameters, &files, statements);
    snapshot_files_fini(&files);
}

void snapshot_probes(struct run *run, cJSON *probes)
{
    static const enum statement in_database[] = {STATEMENT_FILEGROUPS, STATEMENT_TABLE_SIZE,
                                                 STATEMENT_TABLE_SIZE_OLD,
                                                 STATEMENT_CUSTOM_DATABASE};
    struct snapshot_parameters parameters;
    snapshot_read(run->definition.parameters, &parameters, NULL);
    for (size_t i = 0; i < JSON_COUNT(in_database); i++) {
        char *text = statement_in(in_database[i], parameters.database);
        member_add_text_once(probes, text);
        free(text);
    }
}
