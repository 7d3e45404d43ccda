/* POST /v1/jobs/{id}/retry: what is submitted once more. */
#include "jobs/jobs.h"
#include "jobs/member.h"

static void forget_passed(cJSON *body, const char *name, int64_t moment, int64_t now_ms)
{
    if (moment <= now_ms)
        cJSON_DeleteItemFromObject(body, name);
}

cJSON *job_retry_body(const struct job_row *row, int64_t now_ms)
{
    cJSON *body = NULL;
    struct err unreadable; /* we wrote it; an empty body is then refused for what it lacks */
    if (member_parse_own(row->definition, &body, &unreadable) < 0)
        return cJSON_CreateObject();
    cJSON *design = cJSON_GetObjectItemCaseSensitive(body, "design");
    if (cJSON_IsTrue(json_member(design, "seed_drawn")))
        cJSON_DeleteItemFromObject(design, "seed");
    forget_passed(body, "not_before", row->not_before, now_ms);
    forget_passed(body, "deadline", row->deadline, now_ms);
    return body;
}
