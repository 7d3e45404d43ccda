/* Doubles of jobs/instance.h and jobs/webhook.h: a definition is an object with a few texts. */
#include "jobs/instance.h"
#include "jobs/webhook.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct instance, member)
static const struct json_field instance_fields[] = {
    {.name = "host", .type = JSON_TEXT, .offset = AT(host), .required = true, .max = 255},
    {.name = "login", .type = JSON_TEXT, .offset = AT(login), .required = true, .max = 128},
    {.name = "password", .type = JSON_OBJECT, .offset = AT(password), .required = true},
    {.name = "port", .type = JSON_INT, .offset = AT(port), .min = 1, .max = 65535},
};
#undef AT

bool instance_name_is_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-");
    return length >= 1 && length <= 64 && name[length] == '\0';
}

int instance_read(cJSON *tree, const struct secrets *secrets, struct instance *out,
                  struct json_faults *faults)
{
    (void)secrets;
    *out = (struct instance){.port = 1433, .tree = tree};
    json_read(tree, instance_fields, JSON_COUNT(instance_fields), "", out, faults);
    return faults->count == 0 ? 0 : -1;
}

void instance_fini(struct instance *instance)
{
    cJSON_Delete(instance->tree);
}

cJSON *instance_to_json(const struct instance *instance)
{
    return cJSON_Duplicate(instance->tree, true);
}

static const struct json_field webhook_fields[] = {
    {.name = "url",
     .type = JSON_TEXT,
     .offset = offsetof(struct webhook, url),
     .required = true,
     .max = 999},
};

int webhook_read(cJSON *tree, const struct secrets *secrets, struct webhook *out,
                 struct json_faults *faults)
{
    (void)secrets;
    *out = (struct webhook){.tree = tree};
    json_read(tree, webhook_fields, JSON_COUNT(webhook_fields), "", out, faults);
    return faults->count == 0 ? 0 : -1;
}

void webhook_fini(struct webhook *webhook)
{
    cJSON_Delete(webhook->tree);
}

int webhook_to_row(const struct webhook *webhook, const char *name, const struct secrets *secrets,
                   struct webhook_row *out, struct err *err)
{
    (void)secrets;
    (void)err;
    out->name = mem_copy(name);
    out->definition = json_print(webhook->tree);
    return 0;
}
