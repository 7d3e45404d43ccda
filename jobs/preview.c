#include "jobs/preview.h"
#include "jobs/doubt.h"
#include "jobs/kind.h"
#include "jobs/log_lines.h"
#include "jobs/member.h"
#include "jobs/preflight.h"
#include "jobs/run.h"
#include "jobs/send.h"
#include "server/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((double)(1 << 20))

/* --- arms ---------------------------------------------------------------------------------- */

static cJSON *arm_to_plan(struct run *run, const struct arm *arm)
{
    const struct job_kind *kind = run->definition.kind;
    cJSON *item = cJSON_CreateObject();
    char name[16];
    (void)snprintf(name, sizeof name, "a%d", arm->index);
    cJSON_AddStringToObject(item, "arm", name);
    cJSON_AddItemToObject(item, "label", json_text(arm->label));
    cJSON_AddItemToObject(item, "settings", cJSON_Duplicate(arm->settings, true));
    cJSON_AddBoolToObject(item, "baseline", arm->baseline);
    cJSON *statements = cJSON_AddArrayToObject(item, "statements");
    if (kind->templates)
        kind->templates(run, arm, statements);
    cJSON_AddItemToObject(item, "buffer_memory_mib", json_rounded(arm->buffer_memory_mib, 6));
    return item;
}

static cJSON *arms_to_plan(struct run *run)
{
    cJSON *arms = cJSON_CreateArray();
    for (size_t i = 0; i < run->plan.arm_count; i++)
        cJSON_AddItemToArray(arms, arm_to_plan(run, &run->plan.arms[i]));
    return arms;
}

/* --- what is only read ---------------------------------------------------------------------- */

static cJSON *probes_to_plan(struct run *run)
{
    const struct job_kind *kind = run->definition.kind;
    int major = run->plan.facts.version ? run->plan.facts.major : -1;
    cJSON *texts = cJSON_CreateArray();
    cJSON *shown = cJSON_CreateArray();
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        enum statement statement = (enum statement)i;
        if (statement_only_reads(statement) && !statement_has_slots(statement) &&
            statement_is_for(statement, kind->statements, major))
            cJSON_AddItemToArray(texts, json_text(statement_text(statement)));
    }
    for (size_t i = 0; i < run->plan.database_count; i++) {
        char *size = statement_in(STATEMENT_STREAM_SIZE, run->plan.databases[i].name);
        member_add_text_once(texts, size);
        free(size);
    }
    if (kind->probes)
        kind->probes(run, texts);
    const cJSON *text;
    cJSON_ArrayForEach(text, texts) {
        char *as_sent = statement_shown(text->valuestring);
        cJSON_AddItemToArray(shown, json_text(as_sent));
        free(as_sent);
    }
    cJSON_Delete(texts);
    return shown;
}

/* --- how long ------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Median MiB/s of the last full backups that msdb remembers; NaN when it knows of none. */
static double remembered_rate(struct run *run, const char *database)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* not permitted: not known */
    double rates[16];
    size_t count = 0;
    if (!run_session(run) || mssql_is_dead(run_session(run)) ||
        send_ask(run_session(run), STATEMENT_LAST_SPEEDS, &value, 1, &rows, &ignored) < 0)
        return NAN;
    for (size_t i = 0; i < mssql_row_count(rows) && count < JSON_COUNT(rates); i++) {
        double seconds = mssql_real(rows, i, 1);
        double bytes = mssql_real(rows, i, 0);
        if (seconds > 0 && bytes > 0) /* within one second it tells nothing */
            rates[count++] = bytes / MIB / seconds;
    }
    mssql_rows_free(rows);
    qsort(rates, count, sizeof rates[0], by_size);
    return count > 0 ? rates[count / 2] : NAN;
}

/* Every trial reads its database once; NaN as soon as one is not known. */
static double minutes_of(struct run *run)
{
    double seconds = 0;
    double *rates = mem_alloc(run->plan.database_count, sizeof *rates);
    for (size_t i = 0; i < run->plan.database_count; i++)
        rates[i] = remembered_rate(run, run->plan.databases[i].name);
    for (size_t i = 0; i < run->plan.step_count; i++) {
        const cJSON *settings = run->plan.arms[run->plan.steps[i].arm].settings;
        const char *name = member_text(settings, "database");
        const struct plan_database *database = name ? plan_database(&run->plan, name) : NULL;
        seconds += database && database->bytes >= 0
                       ? (double)database->bytes / MIB / rates[database - run->plan.databases]
                       : NAN;
    }
    free(rates);
    double reserved = (double)run->plan.reserved;
    if (run->plan.step_count > 0)
        seconds *= 1 + reserved / (double)run->plan.step_count;
    return seconds / 60;
}

static cJSON *estimate_to_plan(struct run *run)
{
    bool backs_up = (run->definition.kind->statements & BY_BACKUPS) != 0;
    double minutes = backs_up && run->plan.database_count > 0 ? minutes_of(run) : NAN;
    cJSON *estimate = cJSON_CreateObject();
    cJSON_AddItemToObject(estimate, "minutes", json_rounded(minutes, 3));
    cJSON_AddItemToObject(estimate, "read_mib", member_number_or_null(run->estimate.read_mib));
    cJSON_AddItemToObject(estimate, "written_mib",
                          member_number_or_null(run->estimate.written_mib));
    cJSON_AddNumberToObject(estimate, "error_log_lines", (double)log_lines_expected(run));
    cJSON_AddItemToObject(
        estimate, "minutes_from",
        json_text(isnan(minutes) ? NULL : "the speed of the last full backups in msdb"));
    return estimate;
}

/* --- what stands against it ----------------------------------------------------------------- */

static cJSON *lines_to_array(const char *lines)
{
    cJSON *array = cJSON_CreateArray();
    for (const char *end = strchrnul(lines, '\n'); *lines; end = strchrnul(lines, '\n')) {
        char *line = mem_format("%.*s", (int)(end - lines), lines);
        cJSON_AddItemToArray(array, json_text(line));
        free(line);
        lines = *end ? end + 1 : end;
    }
    return array;
}

static void refuse(cJSON *refusals, const struct err *err)
{
    char *text = err->code == ERR_SQL || (err->code == ERR_REFUSED && err->detail)
                     ? mem_format("%s (%d)", err->msg, err->detail)
                     : mem_copy(err->msg);
    member_add_text_once(refusals, text);
    free(text);
}

static void look_closely(struct run *run, cJSON *refusals)
{
    struct err err = {0};
    char *text = run->row.exclusive ? doubt_look(run_session(run), &run->instance,
                                                 run->row.instance, &run->plan.facts)
                                    : NULL;
    if (text)
        run_warn(run, "%s", text);
    free(text);
    if (run->definition.kind->preflight(run, &err) < 0)
        refuse(refusals, &err);
}

static void look(struct run *run, const struct check_control *control, cJSON *refusals)
{
    struct err err = {0};
    if (run_connect(run, &err) < 0) {
        refuse(refusals, &err);
        return;
    }
    control->set_session(control->ctx, run_session(run));
    if (run_read_facts(run, &err) < 0)
        refuse(refusals, &err);
    else
        look_closely(run, refusals);
    check_add_missing(run_session(run), control, &run->plan.facts, run->row.kind, refusals,
                      &run->warnings);
}

static cJSON *answer_of(struct run *run, cJSON *refusals)
{
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddItemToObject(answer, "arms", arms_to_plan(run));
    cJSON_AddNumberToObject(answer, "trials", (double)(run->plan.step_count + run->plan.reserved));
    cJSON_AddItemToObject(answer, "estimate", estimate_to_plan(run));
    cJSON_AddItemToObject(answer, "probes", probes_to_plan(run));
    cJSON_AddItemToObject(
        answer, "permissions",
        check_permissions(run->row.kind, run->plan.facts.version ? run->plan.facts.major : -1));
    cJSON_AddItemToObject(answer, "refusals", refusals);
    cJSON_AddItemToObject(answer, "warnings", lines_to_array(buf_text(&run->warnings)));
    return answer;
}

static struct run *run_of(const struct jobs_parts *parts, struct job_row *row, cJSON *refusals)
{
    struct run *run = NULL;
    struct err err = {0};
    if (run_new(parts, row, &run, &err) < 0) { /* the instance went, or the store fails */
        refuse(refusals, &err);
        run_free(run);
        return NULL;
    }
    run->looks_only = true;
    run->estimate = (struct run_estimate){-1, -1};
    if (run->definition.kind->arms)
        run->definition.kind->arms(run);
    return run;
}

static cJSON *refusals_with(const char *first, const char *second)
{
    cJSON *refusals = cJSON_CreateArray();
    if (first)
        member_add_text_once(refusals, first);
    if (second)
        member_add_text_once(refusals, second);
    return refusals;
}

/* The same members when there is no run to look at: nothing is known of it. */
static cJSON *only_refusals(const char *kind, cJSON *refusals)
{
    static const char *const unknown[] = {"minutes", "read_mib", "written_mib", "error_log_lines",
                                          "minutes_from"};
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddItemToObject(answer, "arms", cJSON_CreateArray());
    cJSON_AddNumberToObject(answer, "trials", 0);
    cJSON *estimate = cJSON_AddObjectToObject(answer, "estimate");
    for (size_t i = 0; i < JSON_COUNT(unknown); i++)
        cJSON_AddNullToObject(estimate, unknown[i]);
    cJSON_AddItemToObject(answer, "probes", cJSON_CreateArray());
    cJSON_AddItemToObject(answer, "permissions", check_permissions(kind, -1));
    cJSON_AddItemToObject(answer, "refusals", refusals);
    cJSON_AddItemToObject(answer, "warnings", cJSON_CreateArray());
    return answer;
}

/* The run takes the row over; its kind is wanted also when there is none. */
static cJSON *answer_for(const struct jobs_parts *parts, struct job_row *row, cJSON *refusals,
                         const struct check_control *control)
{
    char *kind = mem_copy(row->kind);
    struct run *run = run_of(parts, row, refusals);
    if (run && control)
        look(run, control, refusals);
    cJSON *answer = run ? answer_of(run, refusals) : only_refusals(kind, refusals);
    if (run && control)
        control->set_session(control->ctx, NULL);
    run_free(run);
    free(kind);
    return answer;
}

cJSON *preview_make(const struct jobs_parts *parts, struct job_row *row, const char *refusal,
                    const struct check_control *control)
{
    return answer_for(parts, row, refusals_with(refusal, NULL), control);
}

cJSON *preview_unasked(const struct jobs_parts *parts, struct job_row *row, const char *refusal,
                       const char *why)
{
    return answer_for(parts, row, refusals_with(refusal, why), NULL);
}
