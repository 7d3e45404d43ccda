#include "jobs/event.h"
#include "jobs/jobs.h"
#include "jobs/member.h"
#include "jobs/webhook.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    EVENT_JOB_FINISHED,   EVENT_JOB_FAILED,           EVENT_JOB_REGRESSED,
    EVENT_CLEANUP_FAILED, EVENT_INSTANCE_UNREACHABLE,
};

bool event_is_known(const char *name)
{
    bool known = strcmp(name, "*") == 0;
    for (size_t i = 0; i < JSON_COUNT(names); i++)
        known |= strcmp(name, names[i]) == 0;
    return known;
}

const char *event_names(void)
{
    return EVENT_JOB_FINISHED ", " EVENT_JOB_FAILED ", " EVENT_JOB_REGRESSED
                              ", " EVENT_CLEANUP_FAILED ", " EVENT_INSTANCE_UNREACHABLE;
}

/* The job and, where there is one, what its report recommends: enough for every renderer. */
static char *payload_text(const char *event, const struct job_row *job, const char *report,
                          int64_t now_ms)
{
    char when[CLOCK_TEXT_SIZE];
    struct err err;
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "type", event);
    cJSON_AddStringToObject(tree, "timestamp", clock_format(now_ms, when));
    cJSON *data = cJSON_AddObjectToObject(tree, "data");
    cJSON_AddItemToObject(data, "job", job_to_json(job, NULL));
    cJSON *parsed = NULL;
    if (report && member_parse_own(report, &parsed, &err) == 0) {
        cJSON_AddItemToObject(data, "recommendation",
                              cJSON_DetachItemFromObject(parsed, "recommendation"));
        cJSON_AddItemToObject(data, "baseline", cJSON_DetachItemFromObject(parsed, "baseline"));
        cJSON_AddItemToObject(data, "warnings", cJSON_DetachItemFromObject(parsed, "warnings"));
        cJSON_AddBoolToObject(
            data, "simulated",
            cJSON_IsTrue(json_member(json_member(parsed, "instance"), "simulated")));
    }
    cJSON_Delete(parsed);
    char *text = json_print(tree);
    cJSON_Delete(tree);
    return text;
}

/* The job's notify list, NULL when it has none; *out_tree owns it. */
static const cJSON *notify_list(const struct job_row *job, cJSON **out_tree)
{
    struct err err;
    *out_tree = NULL;
    if (member_parse_own(job->definition, out_tree, &err) < 0)
        return NULL;
    return json_member(*out_tree, "notify");
}

static int write_row(struct db *db, const char *webhook, const char *event, const char *job,
                     const char *payload, int64_t now_ms, struct err *err)
{
    char id[IDS_TEXT_SIZE];
    struct delivery_row row = {.id = mem_copy(ids_new(id)),
                               .webhook = mem_copy(webhook),
                               .event = mem_copy(event),
                               .job = mem_copy(job),
                               .payload = mem_copy(payload),
                               .state = mem_copy("pending"),
                               .next_at = now_ms,
                               .created_at = now_ms};
    int rc = store_delivery_insert(db, &row, err);
    delivery_row_fini(&row);
    return rc;
}

/* A webhook that cannot be read must not keep a job from ending: it is passed over. */
static bool row_wants(const struct webhook_row *row, const char *event, const cJSON *notify)
{
    struct webhook webhook;
    struct err err;
    if (row->disabled || webhook_load(row->definition, &webhook, &err) < 0)
        return false;
    bool wants = webhook_wants(&webhook, row->name, event, notify);
    webhook_fini(&webhook);
    return wants;
}

/* What is told, to whom it may concern. */
struct telling {
    struct db *db;
    const char *event;
    const struct job_row *job;
    const char *report;  /* or NULL */
    const cJSON *notify; /* or NULL */
    char *payload;       /* made for the first webhook that wants it; owned */
    int64_t now_ms;
};

/* The webhooks after a name; *out_last (heap) is the last one's name, NULL when there are no more.
 */
static int tell_page(struct telling *telling, const char *after, char **out_last, struct err *err)
{
    struct store_list page = {.limit = LIMIT_PAGE, .after = after};
    struct webhook_row *rows = NULL;
    size_t count = 0;
    int rc = store_webhook_list(telling->db, &page, &rows, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (!row_wants(&rows[i], telling->event, telling->notify))
            continue;
        if (!telling->payload)
            telling->payload =
                payload_text(telling->event, telling->job, telling->report, telling->now_ms);
        rc = write_row(telling->db, rows[i].name, telling->event, telling->job->id,
                       telling->payload, telling->now_ms, err);
    }
    *out_last = count == LIMIT_PAGE ? mem_copy(rows[count - 1].name) : NULL;
    for (size_t i = 0; i < count; i++)
        webhook_row_fini(&rows[i]);
    free(rows);
    return rc;
}

int event_write(struct db *db, const char *event, const struct job_row *job, const char *report,
                int64_t now_ms, struct err *err)
{
    cJSON *definition = NULL;
    char *after = NULL;
    struct telling telling = {.db = db,
                              .event = event,
                              .job = job,
                              .report = report,
                              .notify = notify_list(job, &definition),
                              .now_ms = now_ms};
    int rc = 0;
    do {
        char *last = NULL;
        rc = tell_page(&telling, after, &last, err);
        free(after);
        after = last;
    } while (rc == 0 && after);
    free(after);
    free(telling.payload);
    cJSON_Delete(definition);
    return rc;
}
