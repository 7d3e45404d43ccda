/* The audit trail: each change leaves one line, and nothing else does. */
#include "api/audit.h"
#include "api/route.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WEBHOOK                                                                                    \
    "{\"url\":\"http://10.1.0.1/x\",\"format\":\"json\",\"events\":[\"*\"],"                       \
    "\"secret\":{\"env\":\"SWEETSPOT_SECRET_A\"}}"

/* A page of the trail. */
static cJSON *trail(struct http_kit *kit, const char *token, const char *query)
{
    char *target = mem_format("/v1/audit%s", query);
    struct reply reply = http_kit_call_as(kit, token, "GET", target, NULL, NULL);
    if (reply.status != 200)
        fail_msg("GET %s: %d %s", target, reply.status, reply.body);
    cJSON *page = cJSON_Parse(reply.body);
    assert_non_null(page);
    reply_fini(&reply);
    free(target);
    return page;
}

/* "who action object" of each line, newest first. The caller frees it. */
static char *lines_of(const cJSON *page)
{
    struct buf out = {0};
    const cJSON *line;
    cJSON_ArrayForEach(line, json_member(page, "items")) {
        const cJSON *id = json_member(line, "request_id");
        assert_int_equal(strlen(json_member(line, "at")->valuestring),
                         strlen("2026-12-01T02:53:08.123Z"));
        buf_format(&out, "%s %s %s%s\n", json_member(line, "who")->valuestring,
                   json_member(line, "action")->valuestring,
                   json_member(line, "object")->valuestring, cJSON_IsNull(id) ? " -" : "");
    }
    return buf_take(&out);
}

static void each_change_leaves_one_line(void **state)
{
    struct http_kit *kit = *state;
    struct line changes[] = {
        {"PUT", "/v1/instances/b", NULL, http_kit_instance, 201, NULL},
        {"PUT", "/v1/instances/%62", NULL, http_kit_instance, 200, NULL},
        {"PUT", "/v1/webhooks/chat", NULL, WEBHOOK, 201, NULL},
        {"DELETE", "/v1/instances/b", NULL, NULL, 204, NULL},
        {"DELETE", "/v1/webhooks/chat", NULL, NULL, 204, NULL},
        /* what was refused, came to nothing or changes nothing leaves none */
        {"DELETE", "/v1/instances/b", NULL, NULL, 404, NULL},
        {"PUT", "/v1/instances/b", "If-Match: \"9\"\r\n", http_kit_instance, 412, NULL},
        {"PUT", "/v1/instances/b", NULL, "{}", 400, NULL},
        {"POST", "/v1/jobs/0193a1b2-0000-7000-8000-000000000000/cancel", NULL, NULL, 404, NULL},
        {"POST", "/v1/instances/sql01/check", NULL, NULL, 200, NULL},
        {"GET", "/v1/instances", NULL, NULL, 200, NULL},
    };
    SPEAK(kit->port, changes);
    cJSON *page = trail(kit, NULL, "");
    char *lines = lines_of(page);
    assert_string_equal(lines, "loopback webhook.delete /v1/webhooks/chat\n"
                               "loopback instance.delete /v1/instances/b\n"
                               "loopback webhook.put /v1/webhooks/chat\n"
                               "loopback instance.put /v1/instances/b\n"
                               "loopback instance.put /v1/instances/b\n"
                               "loopback instance.put /v1/instances/sql01\n");
    assert_true(cJSON_IsNull(json_member(page, "next_cursor")));
    cJSON_Delete(page);
    free(lines);
}

static void a_submit_names_its_job_and_a_replay_is_none(void **state)
{
    struct http_kit *kit = *state;
    char *token = http_kit_token(kit, "agent", SCOPE_ADMIN);
    char *id = NULL;
    for (int i = 0; i < 3; i++) {
        struct reply reply =
            http_kit_call_as(kit, token, "POST", "/v1/jobs",
                             "Idempotency-Key: k\r\nX-Request-Id: night-1\r\n", http_kit_job);
        assert_int_equal(reply.status, i == 0 ? 202 : 200);
        free(id);
        id = json_text_of(reply.body, "id");
        reply_fini(&reply);
    }
    char *cancel = mem_format("/v1/jobs/%s/cancel", id);
    struct reply reply = http_kit_call_as(kit, token, "POST", cancel, NULL, NULL);
    assert_int_equal(reply.status, 202);
    reply_fini(&reply);
    cJSON *page = trail(kit, token, "?limit=3");
    char *lines = lines_of(page);
    char *expected = mem_format("agent job.cancel %s\nagent job.submit /v1/jobs/%s\n"
                                "command line token.create token/agent -\n",
                                cancel, id);
    assert_string_equal(lines, expected);
    const cJSON *submit = cJSON_GetArrayItem(json_member(page, "items"), 1);
    assert_string_equal(json_member(submit, "request_id")->valuestring, "night-1");
    cJSON_Delete(page);
    free(lines);
    free(expected);
    free(cancel);
    free(id);
    free(token);
}

/* Newest first, and what comes meanwhile moves nothing. */
static void the_trail_is_read_in_pages(void **state)
{
    struct http_kit *kit = *state;
    char cursor[64] = "";
    int seen = 0;
    for (int i = 0; i < 6; i++)
        free(http_kit_submit(kit));
    do {
        char *query = mem_format("?limit=3%s%s", *cursor ? "&cursor=" : "", cursor);
        cJSON *page = trail(kit, NULL, query);
        const cJSON *next = json_member(page, "next_cursor");
        seen += cJSON_GetArraySize(json_member(page, "items"));
        (void)snprintf(cursor, sizeof cursor, "%s", cJSON_IsNull(next) ? "" : next->valuestring);
        free(http_kit_submit(kit));
        cJSON_Delete(page);
        free(query);
    } while (*cursor && seen < 100);
    assert_int_equal(seen, 7); /* with the PUT of the set-up */
    struct line wrong[] = {
        {"GET", "/v1/audit?cursor=x", NULL, NULL, 400, "cursor"},
        {"GET", "/v1/audit?cursor=-1", NULL, NULL, 400, "cursor"},
        {"GET", "/v1/audit?cursor=9999999999999999999", NULL, NULL, 400, "cursor"},
        {"GET", "/v1/audit?who=x", NULL, NULL, 400, "who"},
    };
    SPEAK(kit->port, wrong);
}

static void no_call_that_changes_something_is_forgotten(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        bool changes = strcmp(route->method, "GET") != 0;
        bool leaves = audit_action(route->method, route->path) != NULL;
        if (changes != (leaves || audit_is_exempt(route->method, route->path)))
            fail_msg("api/audit.c does not know %s %s", route->method, route->path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(each_change_leaves_one_line),
        HTTP_TEST(a_submit_names_its_job_and_a_replay_is_none),
        HTTP_TEST(the_trail_is_read_in_pages),
        cmocka_unit_test(no_call_that_changes_something_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
