/* A job and its report, as people and programs see them (api.md §3). */
#include "jobs/jobs.h"
#include "jobs/measure/message_advice.h"
#include "jobs/measure/report.h"
#include "jobs/member.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

static cJSON *parsed_or_null(const char *text)
{
    cJSON *tree = NULL;
    struct err ignored; /* we wrote it; what cannot be read is shown as unknown */
    if (!text || member_parse_own(text, &tree, &ignored) < 0)
        return cJSON_CreateNull();
    return tree;
}

static cJSON *current_to_json(const struct job_current *current)
{
    char name[ARM_NAME_SIZE];
    if (!current || current->arm < 0)
        return cJSON_CreateNull();
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "arm", arm_name(current->arm, name));
    cJSON_AddStringToObject(tree, "label", current->label);
    cJSON_AddItemToObject(tree, "percent", member_number_or_null(current->percent));
    return tree;
}

/* Percent of all planned trials, counting the share of the running one. */
static cJSON *progress_to_json(const struct job_row *row, const struct job_current *current)
{
    cJSON *tree = cJSON_CreateObject();
    double done = (double)row->trials_done;
    if (current && current->arm >= 0 && current->percent > 0)
        done += current->percent / 100.0;
    double percent = row->trials_planned > 0 ? 100 * done / (double)row->trials_planned : 0;
    if (percent > 100)
        percent = 100;
    cJSON_AddNumberToObject(tree, "trials_done", (double)row->trials_done);
    cJSON_AddNumberToObject(tree, "trials_planned", (double)row->trials_planned);
    cJSON_AddItemToObject(tree, "percent", json_rounded(percent, 4));
    cJSON_AddItemToObject(tree, "current", current_to_json(current));
    return tree;
}

/* The stored error, and what is known of its number beyond the server's text. */
static cJSON *error_to_json(const char *stored)
{
    cJSON *error = parsed_or_null(stored);
    if (cJSON_IsObject(error))
        cJSON_AddItemToObject(error, "advice",
                              json_text(message_advice((int)member_int(error, "number", 0),
                                                       member_text(error, "message"))));
    return error;
}

/* Nothing is tried again of a job that has ended, or that is being tried right now; what the row
 * keeps of its last wait is the scheduler's. */
static cJSON *retry_to_json(const struct job_row *row)
{
    bool waits = job_state_by_name(row->state) == JOB_WAITING;
    return member_time_or_null(waits ? row->retry_at : 0);
}

cJSON *job_to_json(const struct job_row *row, const struct job_current *current)
{
    cJSON *definition = parsed_or_null(row->definition);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "id", json_text(row->id));
    cJSON_AddItemToObject(tree, "kind", json_text(row->kind));
    cJSON_AddItemToObject(tree, "instance", json_text(row->instance));
    cJSON_AddItemToObject(tree, "state", json_text(row->state));
    cJSON_AddItemToObject(tree, "state_reason", json_text(row->state_reason));
    cJSON_AddBoolToObject(tree, "cancel_requested", row->cancel_asked);
    cJSON_AddItemToObject(tree, "phase", json_text(row->phase));
    cJSON_AddItemToObject(tree, "cleanup", json_text(row->cleanup));
    cJSON_AddItemToObject(tree, "progress", progress_to_json(row, current));
    cJSON_AddItemToObject(tree, "created_at", member_time_or_null(row->created_at));
    cJSON_AddItemToObject(tree, "started_at", member_time_or_null(row->started_at));
    cJSON_AddItemToObject(tree, "finished_at", member_time_or_null(row->finished_at));
    cJSON_AddItemToObject(tree, "retry_at", retry_to_json(row));
    cJSON_AddItemToObject(tree, "requested_by", json_text(row->requested_by));
    cJSON_AddItemToObject(tree, "labels",
                          member_copy_or(json_member(definition, "labels"), cJSON_CreateObject()));
    cJSON_AddItemToObject(tree, "retry_of", json_text(row->retry_of));
    cJSON_AddItemToObject(tree, "definition", definition);
    cJSON_AddItemToObject(tree, "summary", json_text(row->summary));
    cJSON_AddItemToObject(tree, "error", error_to_json(row->error));
    return tree;
}

char *job_report_markdown(const char *report)
{
    cJSON *tree = parsed_or_null(report);
    char *text = report_markdown(tree);
    cJSON_Delete(tree);
    return text;
}

char *job_report_html(const char *report)
{
    cJSON *tree = parsed_or_null(report);
    char *text = report_html(tree);
    cJSON_Delete(tree);
    return text;
}

char *job_report_policy(void)
{
    struct buf policy = {0};
    report_page_policy(&policy);
    return buf_take(&policy);
}
