#include "api/resource.h"
#include "server/clock.h"

cJSON *resource_new(const char *name, const char *definition)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *stored = cJSON_Parse(definition); /* written by us, so it can be read */
    cJSON_AddItemToObject(tree, "name", json_text(name));
    while (stored && stored->child) {
        cJSON *member = cJSON_DetachItemViaPointer(stored, stored->child);
        cJSON_AddItemToObject(tree, member->string, member);
    }
    cJSON_Delete(stored);
    return tree;
}

void resource_add_time(cJSON *tree, const char *name, int64_t wall_ms)
{
    char text[CLOCK_TEXT_SIZE];
    cJSON_AddItemToObject(tree, name, json_text(wall_ms ? clock_format(wall_ms, text) : NULL));
}

struct precondition resource_precondition(struct req *req)
{
    return (struct precondition){.if_match = req_header(req, "If-Match"),
                                 .if_none_match = req_header(req, "If-None-Match")};
}

int resource_check(struct resource_change *change, const char *etag, struct err *err)
{
    if (precondition_holds(&change->wanted, etag))
        return 0;
    change->stale = true;
    return err_set(err, ERR_CONFLICT, 0, "If-Match or If-None-Match names another version");
}

void resource_failed(struct req *req, const struct resource_change *change, const struct err *err)
{
    if (change->stale)
        problem_answer(req, PROBLEM_PRECONDITION, "%s", err->msg);
    else
        problem_err(req, err);
}
