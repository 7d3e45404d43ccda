/* What holds for every route of the table alike: methods, HEAD, calls without a body, tags,
 * problems; and never a redirect. */
#include "api/route.h"
#include "server/buf.h"
#include "server/json.h"
#include "server/mem.h"
#include "tests/http_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOOK "{\"url\":\"http://10.1.0.1/x\",\"format\":\"json\"}"

/* A job that ended with a report, an instance sql01 and a webhook chat: what the paths name. */
static char *furnish(struct http_kit *kit)
{
    static const struct line lines[] = {{"PUT", "/v1/webhooks/chat", NULL, HOOK, 201, NULL}};
    SPEAK(kit->port, lines);
    char *id = http_kit_submit(kit);
    fake_jobs_finish(kit->jobs, id, "{\"kind\":\"backup_sweep\"}");
    return id;
}

/* The path with what there is in place of its parameter; the caller frees it. */
static char *target_of(const char *path, const char *job)
{
    const char *brace = strchr(path, '{');
    if (!brace)
        return mem_copy(path);
    const char *what = strncmp(brace, "{id}", 4) == 0           ? job
                       : strncmp(path, "/v1/webhooks", 12) == 0 ? "chat"
                                                                : "sql01";
    return mem_format("%.*s%s%s", (int)(brace - path), path, what, strchr(brace, '}') + 1);
}

static bool is_stream(const struct route *route)
{
    return route->sends == MEDIA_BIT(MEDIA_EVENTS);
}

static bool has_method(const char *path, const char *method)
{
    for (size_t i = 0; i < route_count; i++)
        if (strcmp(routes[i].path, path) == 0 && strcmp(routes[i].method, method) == 0)
            return true;
    return false;
}

/* True when the list "GET, HEAD, PUT" has this method. */
static bool lists(const char *allow, const char *method)
{
    size_t length = strlen(method);
    for (const char *at = allow; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        at += strspn(at, " ");
        if (strncmp(at, method, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* --- methods ------------------------------------------------------------------------------- */

static void expect_allow(const struct reply *reply, const char *path, const char *tried)
{
    static const char *const methods[] = {"GET", "PUT", "POST", "DELETE", "PATCH", "TRACE"};
    const char *allow = reply_header(reply, "Allow");
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (lists(allow, methods[i]) != has_method(path, methods[i]))
            fail_msg("%s %s: Allow: %s", tried, path, allow);
    if (lists(allow, "HEAD") != has_method(path, "GET") || !lists(allow, "OPTIONS"))
        fail_msg("%s %s: Allow: %s", tried, path, allow);
}

static void every_path_names_its_methods(void **state)
{
    static const char *const methods[] = {"GET",   "HEAD",  "PUT",     "POST", "DELETE",
                                          "PATCH", "TRACE", "OPTIONS", "BREW"};
    struct http_kit *kit = *state;
    char *job = furnish(kit);
    for (size_t i = 0; i < route_count; i++) {
        char *target = target_of(routes[i].path, job);
        for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
            const char *verb = strcmp(methods[m], "HEAD") == 0 ? "GET" : methods[m];
            bool asks = strcmp(verb, "OPTIONS") == 0;
            if (!asks && has_method(routes[i].path, verb))
                continue;
            struct reply reply = call(kit->port, methods[m], target, NULL, NULL);
            if (reply.status != (asks ? 204 : 405))
                fail_msg("%s %s: %d", methods[m], target, reply.status);
            expect_allow(&reply, routes[i].path, methods[m]);
            reply_fini(&reply);
        }
        free(target);
    }
    free(job);
}

static void every_get_has_its_head(void **state)
{
    struct http_kit *kit = *state;
    char *job = furnish(kit);
    struct client client = client_open(kit->port);
    for (size_t i = 0; i < route_count; i++) {
        if (strcmp(routes[i].method, "GET") != 0 || is_stream(&routes[i]))
            continue;
        char *target = target_of(routes[i].path, job);
        struct reply head = client_call(&client, "HEAD", target, NULL, NULL);
        struct reply get = client_call(&client, "GET", target, NULL, NULL);
        bool same = head.status == get.status && strcmp(reply_header(&head, "Content-Type"),
                                                        reply_header(&get, "Content-Type")) == 0;
        if (!same)
            fail_msg("%s: %s\n%s", target, head.head, get.head);
        if (strcmp(target, "/metrics") != 0) /* it counts our calls */
            assert_int_equal(strtoul(reply_header(&head, "Content-Length"), NULL, 10),
                             get.body_length);
        reply_fini(&head);
        reply_fini(&get);
        free(target);
    }
    client_close(&client);
    free(job);
}

/* --- bodies -------------------------------------------------------------------------------- */

static int status_of(struct http_kit *kit, const struct route *route, const char *job,
                     const char *body)
{
    char *target = target_of(route->path, job);
    struct reply reply = call(kit->port, route->method, target, NULL, body);
    int status = reply.status;
    reply_fini(&reply);
    free(target);
    return status;
}

static void a_call_without_a_body_takes_none_or_an_empty_object(void **state)
{
    struct http_kit *kit = *state;
    char *job = furnish(kit);
    int looked_at = 0;
    for (size_t i = 0; i < route_count; i++) {
        if (routes[i].body != BODY_NONE || is_stream(&routes[i]) ||
            strcmp(routes[i].method, "DELETE") == 0) /* each would take the next one's away */
            continue;
        int none = status_of(kit, &routes[i], job, NULL);
        int empty = status_of(kit, &routes[i], job, "{}");
        if (none != empty)
            fail_msg("%s %s: %d with {}, %d without", routes[i].method, routes[i].path, empty,
                     none);
        assert_int_equal(status_of(kit, &routes[i], job, "{\"a\":1}"), 400);
        assert_int_equal(status_of(kit, &routes[i], job, "[]"), 400);
        looked_at++;
    }
    assert_true(looked_at > 20);
    assert_int_equal(
        status_of(kit, &(struct route){.method = "DELETE", .path = "/v1/webhooks/{n}"}, job, "{}"),
        204);
    free(job);
}

static void a_body_has_at_most_1_mib_and_32_levels(void **state)
{
    static const struct {
        size_t bytes; /* of a body with one unknown member, filled up with blanks; 0: none */
        int levels;
        int status;
        const char *told;
    } cases[] = {
        {1048576, 0, 400, "\"pointer\":\"/x\""},
        {1048577, 0, 413, "at most 1048576 bytes"},
        {0, 32, 400, "\"pointer\":\"/x\""},
        {0, 33, 400, "nested more than 32 levels deep"},
    };
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf body = {0};
        buf_add(&body, "{\"x\":");
        for (int level = 1; level < cases[i].levels; level++)
            buf_add_char(&body, '[');
        buf_add(&body, cases[i].levels ? "" : "1");
        for (int level = 1; level < cases[i].levels; level++)
            buf_add_char(&body, ']');
        while (body.length + 1 < cases[i].bytes)
            buf_add_char(&body, ' ');
        buf_add_char(&body, '}');
        struct reply reply = call(kit->port, "POST", "/v1/jobs", NULL, buf_text(&body));
        if (reply.status != cases[i].status || !strstr(reply.body, cases[i].told))
            fail_msg("%zu: %d %s", i, reply.status, reply.body);
        reply_fini(&reply);
        buf_fini(&body);
    }
}

/* --- redirects ----------------------------------------------------------------------------- */

static void nothing_is_a_redirect(void **state)
{
    static const char *const behind[] = {"", "/", "?", "/index.html", "/.", "//"};
    struct http_kit *kit = *state;
    char *job = furnish(kit);
    for (size_t i = 0; i < route_count; i++) {
        if (is_stream(&routes[i]))
            continue;
        for (size_t b = 0; b < sizeof behind / sizeof behind[0]; b++) {
            char *path = target_of(routes[i].path, job);
            char *target = mem_format("%s%s", path, behind[b]);
            struct reply reply = call(kit->port, "GET", target, NULL, NULL);
            if (reply.status / 100 == 3 || strcmp(reply_header(&reply, "Location"), "") != 0)
                fail_msg("GET %s: %s", target, reply.head);
            reply_fini(&reply);
            free(target);
            free(path);
        }
    }
    free(job);
}

/* --- tags ---------------------------------------------------------------------------------- */

static void every_single_resource_has_a_tag(void **state)
{
    struct http_kit *kit = *state;
    char *job = furnish(kit);
    char *job_path = mem_format("/v1/jobs/%s", job);
    char *report = mem_format("%s/report", job_path);
    const char *const targets[] = {"/v1/instances/sql01", "/v1/webhooks/chat", job_path, report};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct reply first = call(kit->port, "GET", targets[i], NULL, NULL);
        const char *tag = reply_header(&first, "ETag");
        assert_int_equal(first.status, 200);
        assert_true(tag[0] == '"' && tag[strlen(tag) - 1] == '"' && strlen(tag) > 2);
        char *same = mem_format("If-None-Match: %s\r\n", tag);
        struct reply again = call(kit->port, "GET", targets[i], same, NULL);
        if (again.status != 304 || again.body_length != 0)
            fail_msg("%s: %d %s", targets[i], again.status, again.body);
        assert_string_equal(reply_header(&again, "ETag"), tag);
        struct reply other = call(kit->port, "GET", targets[i], "If-None-Match: \"x\"\r\n", NULL);
        assert_int_equal(other.status, 200);
        assert_string_equal(other.body, first.body);
        reply_fini(&first);
        reply_fini(&again);
        reply_fini(&other);
        free(same);
    }
    free(report);
    free(job_path);
    free(job);
}

static void a_put_or_delete_of_another_version_is_not_done(void **state)
{
    static const struct {
        const char *target, *body;
    } named[] = {{"/v1/instances/n", http_kit_instance}, {"/v1/webhooks/n", HOOK}};
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < 2; i++) {
        const char *target = named[i].target;
        struct reply made = call(kit->port, "PUT", target, NULL, named[i].body);
        assert_int_equal(made.status, 201);
        char *first = mem_format("If-Match: %s\r\n", reply_header(&made, "ETag"));
        struct reply replaced = call(kit->port, "PUT", target, first, named[i].body);
        assert_int_equal(replaced.status, 200);
        char *second = mem_format("If-Match: %s\r\n", reply_header(&replaced, "ETag"));
        const struct line lines[] = {
            {"PUT", target, first, named[i].body, 412, "precondition-failed"},
            {"DELETE", target, first, NULL, 412, "precondition-failed"},
            {"DELETE", target, second, NULL, 204, NULL},
            {"PUT", target, second, named[i].body, 412, "precondition-failed"},
            {"GET", target, NULL, NULL, 404, NULL},
        };
        SPEAK(kit->port, lines);
        reply_fini(&made);
        reply_fini(&replaced);
        free(first);
        free(second);
    }
}

/* --- problems ------------------------------------------------------------------------------ */

static void every_problem_is_of_rfc_9457(void **state)
{
    static const struct {
        const char *method, *target, *headers, *body;
        int status;
        const char *place; /* of its first error; NULL: it has no errors */
    } cases[] = {
        {"GET", "/nothing", NULL, NULL, 404, NULL},
        {"GET", "/v1/instances/none", NULL, NULL, 404, NULL},
        {"GET", "/v1/webhooks/none", NULL, NULL, 404, NULL},
        {"PATCH", "/v1/jobs", NULL, NULL, 405, NULL},
        {"GET", "/v1/jobs", "Accept: text/html\r\n", NULL, 406, NULL},
        {"DELETE", "/v1/instances/sql01", "If-Match: \"x\"\r\n", NULL, 412, NULL},
        {"POST", "/v1/jobs", "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", NULL, 415,
         NULL},
        {"POST", "/v1/jobs", NULL, "{", 400, ""},
        {"POST", "/v1/jobs", NULL, "{\"kind\":\"x\",\"instance\":\"none\",\"parameters\":{}}", 400,
         "/instance"},
        {"PUT", "/v1/instances/n", NULL, "{\"windows\":[{\"days\":[7]}]}", 400, "/host"},
        {"PUT", "/v1/webhooks/n", NULL, "{\"format\":\"pigeon\"}", 400, "/url"},
        {"POST", "/v1/mode", NULL, "{\"mode\":\"asleep\"}", 400, "/mode"},
        {"PUT", "/v1/webhooks/N", NULL, HOOK, 400, NULL},
    };
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply =
            call(kit->port, cases[i].method, cases[i].target, cases[i].headers, cases[i].body);
        if (reply.status != cases[i].status)
            fail_msg("%s %s: %d", cases[i].method, cases[i].target, reply.status);
        assert_string_equal(reply_header(&reply, "Content-Type"), "application/problem+json");
        cJSON *problem = cJSON_Parse(reply.body);
        assert_int_equal(
            strncmp(json_member(problem, "type")->valuestring, "urn:sweetspot:problem:", 22), 0);
        assert_true(strlen(json_member(problem, "title")->valuestring) > 0);
        assert_true(strlen(json_member(problem, "detail")->valuestring) > 0);
        assert_true(json_member(problem, "status")->valuedouble == cases[i].status);
        const cJSON *errors = json_member(problem, "errors");
        assert_int_equal(errors != NULL, cases[i].place != NULL);
        const cJSON *first = cJSON_GetArrayItem(errors, 0);
        if (first) {
            assert_string_equal(json_member(first, "pointer")->valuestring, cases[i].place);
            assert_true(strlen(json_member(first, "detail")->valuestring) > 0);
        }
        cJSON_Delete(problem);
        reply_fini(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(every_path_names_its_methods),
        HTTP_TEST(every_get_has_its_head),
        HTTP_TEST(a_call_without_a_body_takes_none_or_an_empty_object),
        HTTP_TEST(a_body_has_at_most_1_mib_and_32_levels),
        HTTP_TEST(nothing_is_a_redirect),
        HTTP_TEST(every_single_resource_has_a_tag),
        HTTP_TEST(a_put_or_delete_of_another_version_is_not_done),
        HTTP_TEST(every_problem_is_of_rfc_9457),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
