#include "jobs/event.h"
#include "jobs/effects.h"
#include "jobs/jobs.h"
#include "jobs/member.h"
#include "jobs/state.h"
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

static cJSON *payload_new(const char *event, int64_t now_ms)
{
    char when[CLOCK_TEXT_SIZE];
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "type", event);
    cJSON_AddStringToObject(tree, "timestamp", clock_format(now_ms, when));
    return tree;
}

/* What a message says of a report: a few of its members, and its effects in few numbers. */
static void add_report(cJSON *data, const char *report)
{
    static const char *const members[] = {"recommendation", "no_recommendation", "baseline",
                                          "warnings", "left_behind"};
    struct err err;
    cJSON *parsed = NULL;
    if (!report || member_parse_own(report, &parsed, &err) < 0)
        return;
    effects_add(data, parsed);
    for (size_t i = 0; i < JSON_COUNT(members); i++)
        cJSON_AddItemToObject(data, members[i],
                              member_copy_or(json_member(parsed, members[i]), cJSON_CreateNull()));
    cJSON_AddBoolToObject(data, "simulated",
                          cJSON_IsTrue(json_member(json_member(parsed, "instance"), "simulated")));
    cJSON_Delete(parsed);
}

/* The job and, where there is one, what its report says: enough for every renderer. */
static char *payload_text(const char *event, const struct job_row *job, const char *report,
                          int64_t now_ms)
{
    cJSON *tree = payload_new(event, now_ms);
    cJSON *data = cJSON_AddObjectToObject(tree, "data");
    cJSON_AddItemToObject(data, "job", job_to_json(job, NULL));
    add_report(data, report);
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

static struct delivery_row new_row(const char *webhook, const char *event, const char *job,
                                   const char *payload, int64_t now_ms)
{
    char id[IDS_TEXT_SIZE];
    return (struct delivery_row){.id = mem_copy(ids_new(id)),
                                 .webhook = mem_copy(webhook),
                                 .event = mem_copy(event),
                                 .job = job ? mem_copy(job) : NULL,
                                 .payload = mem_copy(payload),
                                 .state = mem_copy("pending"),
                                 .next_at = now_ms,
                                 .created_at = now_ms};
}

static int write_row(struct db *db, const char *webhook, const char *event, const char *job,
                     const char *payload, int64_t now_ms, struct err *err)
{
    struct delivery_row row = new_row(webhook, event, job, payload, now_ms);
    int rc = store_delivery_insert(db, &row, err);
    delivery_row_fini(&row);
    return rc;
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
    bool is_said_again; /* another event says the same and more */
};

/* A webhook that cannot be read must not keep a job from ending: it is passed over. */
static bool row_wants(const struct webhook_row *row, const struct telling *telling)
{
    struct webhook webhook;
    struct err err;
    if (row->disabled || webhook_load(row->definition, &webhook, &err) < 0)
        return false;
    bool wants = webhook_wants(&webhook, row->name, telling->event, telling->notify) &&
                 (!telling->is_said_again || webhook_lists(&webhook, telling->event));
    webhook_fini(&webhook);
    return wants;
}

/* Writes the row, unless this webhook has heard of this outage. */
static int tell_one(struct telling *telling, const char *webhook, struct err *err)
{
    bool first = true;
    if (strcmp(telling->event, EVENT_INSTANCE_UNREACHABLE) == 0 &&
        store_outage_tell(telling->db, telling->job->instance, webhook, telling->now_ms, &first,
                          err) < 0)
        return -1;
    if (!first)
        return 0;
    if (!telling->payload)
        telling->payload =
            payload_text(telling->event, telling->job, telling->report, telling->now_ms);
    return write_row(telling->db, webhook, telling->event, telling->job->id, telling->payload,
                     telling->now_ms, err);
}

/* The webhooks after a place; *out_last (heap) is that of the last one, NULL when there are no
 * more. */
static int tell_page(struct telling *telling, const char *after, char **out_last, struct err *err)
{
    struct store_list page = {.limit = LIMIT_PAGE, .after = after};
    struct webhook_row *rows = NULL;
    size_t count = 0;
    int rc = store_webhook_list(telling->db, &page, &rows, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (row_wants(&rows[i], telling))
            rc = tell_one(telling, rows[i].name, err);
    }
    *out_last =
        count == LIMIT_PAGE ? store_place(rows[count - 1].created_at, rows[count - 1].name) : NULL;
    for (size_t i = 0; i < count; i++)
        webhook_row_fini(&rows[i]);
    free(rows);
    return rc;
}

static int write_event(struct telling *telling, struct err *err)
{
    cJSON *definition = NULL;
    char *after = NULL;
    int rc = 0;
    telling->notify = notify_list(telling->job, &definition);
    do {
        char *last = NULL;
        rc = tell_page(telling, after, &last, err);
        free(after);
        after = last;
    } while (rc == 0 && after);
    free(after);
    free(telling->payload);
    cJSON_Delete(definition);
    return rc;
}

int event_write(struct db *db, const char *event, const struct job_row *job, const char *report,
                int64_t now_ms, struct err *err)
{
    struct telling telling = {
        .db = db, .event = event, .job = job, .report = report, .now_ms = now_ms};
    return write_event(&telling, err);
}

int event_write_end(struct db *db, const struct job_row *job, const char *report, bool regressed,
                    int64_t now_ms, struct err *err)
{
    bool failed = job_state_by_name(job->state) == JOB_FAILED;
    struct telling telling = {.db = db,
                              .event = EVENT_JOB_FINISHED,
                              .job = job,
                              .report = report,
                              .now_ms = now_ms,
                              .is_said_again = failed || regressed};
    if (write_event(&telling, err) < 0 ||
        (failed && event_write(db, EVENT_JOB_FAILED, job, report, now_ms, err) < 0))
        return -1;
    return regressed ? event_write(db, EVENT_JOB_REGRESSED, job, report, now_ms, err) : 0;
}

int event_write_test(struct db *db, const char *webhook, int64_t now_ms, struct delivery_row *out,
                     struct err *err)
{
    cJSON *tree = payload_new(EVENT_WEBHOOK_TEST, now_ms);
    cJSON *data = cJSON_AddObjectToObject(tree, "data");
    cJSON_AddStringToObject(data, "webhook", webhook);
    cJSON_AddStringToObject(data, "message",
                            "Sweetspot reaches this place. Somebody asked for this test message; "
                            "nothing was measured.");
    char *payload = json_print(tree);
    cJSON_Delete(tree);
    struct delivery_row row = new_row(webhook, EVENT_WEBHOOK_TEST, NULL, payload, now_ms);
    free(payload);
    if (store_delivery_insert(db, &row, err) < 0) {
        delivery_row_fini(&row);
        return -1;
    }
    *out = row;
    return 0;
}
