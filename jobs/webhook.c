#include "jobs/webhook.h"
#include "jobs/event.h"
#include "jobs/member.h"
#include "jobs/render.h"
#include "server/egress.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct webhook, member)

/* The url is a text or a reference, so it is read as any value into url_reference first. */
/* clang-format off */
static const struct json_field fields[] = {
    {"url",      JSON_ANY,   AT(url_reference), .required = true, .help = "where to POST: a URL or a reference to one"},
    {"format",   JSON_TEXT,  AT(format),        .required = true, .max = 32, .choices = render_formats, .help = "what the receiver understands"},
    {"events",   JSON_ARRAY, AT(events),        .min = 1, .max = 16, .help = "which events"},
    {"secret",   JSON_ANY,   AT(secret),        .nullable = true, .help = "a reference to the signing secret (format json)"},
    {"all_jobs", JSON_BOOL,  AT(all_jobs),      .help = "also jobs whose notify does not name it"},
};
/* clang-format on */

static void check_events(const cJSON *events, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, events) {
        const char *at = json_pointer_index("/events", index++);
        if (!cJSON_IsString(event) || !event_is_known(event->valuestring))
            json_fault_add(faults, at, "must be one of %s or *", event_names());
    }
}

/* Splits the two forms of url. */
static void read_url(struct webhook *webhook)
{
    if (cJSON_IsString(webhook->url_reference)) {
        webhook->url = webhook->url_reference->valuestring;
        webhook->url_reference = NULL;
    }
}

int webhook_read(cJSON *tree, const struct secrets *secrets, struct webhook *out,
                 struct json_faults *faults)
{
    size_t before = faults->count;
    struct err err;
    *out = (struct webhook){.tree = tree};
    json_read(tree, fields, JSON_COUNT(fields), "", out, faults);
    read_url(out);
    if (out->url && egress_check_url(out->url, &err) < 0)
        json_fault_add(faults, "/url", "%s", err.msg);
    if (out->url_reference && !cJSON_IsObject(out->url_reference))
        json_fault_add(faults, "/url",
                       "must be a URL or a reference {\"env\": NAME} or {\"file\": NAME}");
    else if (out->url_reference)
        secrets_check(secrets, out->url_reference, "/url", faults);
    if (out->secret)
        secrets_check(secrets, out->secret, "/secret", faults);
    check_events(out->events, faults);
    return faults->count == before ? 0 : -1;
}

void webhook_fini(struct webhook *webhook)
{
    if (!webhook)
        return;
    cJSON_Delete(webhook->tree);
    *webhook = (struct webhook){0};
}

static char *shown_definition(const struct webhook *webhook)
{
    static const char *const default_events[] = {EVENT_JOB_FINISHED};
    cJSON *tree = cJSON_CreateObject();
    if (webhook->url) {
        char *shown = egress_redact(webhook->url);
        cJSON_AddStringToObject(tree, "url", shown);
        free(shown);
    } else {
        cJSON_AddItemToObject(tree, "url", cJSON_Duplicate(webhook->url_reference, true));
    }
    cJSON_AddStringToObject(tree, "format", webhook->format);
    cJSON_AddItemToObject(tree, "events",
                          webhook->events ? cJSON_Duplicate(webhook->events, true)
                                          : cJSON_CreateStringArray(default_events, 1));
    cJSON_AddItemToObject(tree, "secret",
                          webhook->secret ? cJSON_Duplicate(webhook->secret, true)
                                          : cJSON_CreateNull());
    cJSON_AddBoolToObject(tree, "all_jobs", webhook->all_jobs);
    char *text = json_print(tree);
    cJSON_Delete(tree);
    return text;
}

int webhook_to_row(const struct webhook *webhook, const char *name, const struct secrets *secrets,
                   struct webhook_row *out, struct err *err)
{
    char *sealed = NULL;
    if (webhook->url && secrets_seal(secrets, webhook->url, name, &sealed, err) < 0)
        return -1;
    *out = (struct webhook_row){
        .name = mem_copy(name), .definition = shown_definition(webhook), .url_sealed = sealed};
    return 0;
}

int webhook_load(const char *definition, struct webhook *out, struct err *err)
{
    struct json_faults faults = {0};
    cJSON *tree = NULL;
    if (member_parse_own(definition, &tree, err) < 0)
        return err_wrap(err, "a stored webhook cannot be read");
    *out = (struct webhook){.tree = tree};
    json_read(tree, fields, JSON_COUNT(fields), "", out, &faults);
    read_url(out);
    int rc = 0;
    if (faults.count > 0) {
        rc = err_set(err, ERR_STORE, 0, "a stored webhook cannot be read: %s %s",
                     faults.items[0].pointer, faults.items[0].detail);
        webhook_fini(out);
    }
    json_faults_fini(&faults);
    return rc;
}

static bool array_has(const cJSON *array, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
            return true;
    }
    return false;
}

bool webhook_lists(const struct webhook *webhook, const char *event)
{
    return array_has(webhook->events, event);
}

bool webhook_wants(const struct webhook *webhook, const char *name, const char *event,
                   const cJSON *notify)
{
    bool event_wanted = array_has(webhook->events, "*") || array_has(webhook->events, event);
    return event_wanted && (webhook->all_jobs || array_has(notify, name));
}
