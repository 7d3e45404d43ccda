/* The kinds as GET /v1/kinds tells them (api.md §4): all of it from the tables that check. */
#include "jobs/check.h"
#include "jobs/jobs.h"
#include "jobs/kind.h"
#include "jobs/member.h"

static cJSON *kind_to_json(const struct job_kind *kind)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *example = NULL;
    struct err ignored; /* ours; a test reads it */
    if (member_parse_own(kind->example, &example, &ignored) < 0)
        example = cJSON_CreateNull();
    cJSON_AddItemToObject(tree, "kind", json_text(kind->name));
    cJSON_AddItemToObject(tree, "summary", json_text(kind->summary));
    cJSON_AddBoolToObject(tree, "exclusive", kind->exclusive);
    cJSON_AddItemToObject(tree, "parameters", json_schema(kind->parameters, kind->parameter_count));
    cJSON_AddItemToObject(tree, "example", example);
    cJSON_AddItemToObject(tree, "permissions", check_permissions(kind->name, -1));
    return tree;
}

cJSON *kinds_list_json(void)
{
    size_t count;
    const struct job_kind *const *kinds = kind_all(&count);
    cJSON *tree = cJSON_CreateObject();
    cJSON *items = cJSON_AddArrayToObject(tree, "items");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(items, kind_to_json(kinds[i]));
    return tree;
}
