/* The HTTP layer as clients meet it: answers, errors, conditions, long polls, shutdown. */
#include "api/route.h"
#include "server/buf.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"
#include "tests/http_kit.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- routing and what is common ------------------------------------------------------------ */

static void each_wrong_call_has_its_own_answer(void **state)
{
    static const struct line lines[] = {
        {"GET", "/livez", NULL, NULL, 200, "\"ok\""},
        {"GET", "/readyz", NULL, NULL, 200, "\"store\":{\"ok\":true"},
        {"GET", "/openapi.yaml", NULL, NULL, 200, "openapi: 3.1"},
        {"GET", "/", NULL, NULL, 404, "urn:sweetspot:problem:not-found"},
        {"GET", "/v1/jobs/", NULL, NULL, 404, "no such path"},
        {"GET", "/v2/jobs", NULL, NULL, 404, NULL},
        {"GET", "/a/b/c/d/e/f/g/h/i/j", NULL, NULL, 404, NULL},
        {"PATCH", "/v1/instances/sql01", NULL, NULL, 405,
         "this path takes GET, HEAD, PUT, DELETE, OPTIONS"},
        {"OPTIONS", "/v1/jobs", NULL, NULL, 204, NULL},
        {"GET", "/v1/jobs", "Accept: text/html\r\n", NULL, 406, "not-acceptable"},
        {"GET", "/v1/jobs", "Accept: text/html, */*;q=0.1\r\n", NULL, 200, NULL},
        {"GET", "/v1/jobs", "Accept: application/json;q=0\r\n", NULL, 406, NULL},
        {"GET", "/v1/jobs", "Host: localhost\r\n", NULL, 400, NULL},
    };
    const struct http_kit *kit = *state;
    SPEAK(kit->port, lines);
}

static void a_bad_body_is_told_where(void **state)
{
    static const struct line lines[] = {
        {"POST", "/v1/jobs", NULL, "{", 400, "\"pointer\":\"\""},
        {"POST", "/v1/jobs", NULL, "[]", 400, "must be an object"},
        {"POST", "/v1/jobs", NULL, "{\"kind\":7,\"instance\":\"nope\",\"x\":1}", 400,
         "\"pointer\":\"/kind\""},
        {"POST", "/v1/jobs", NULL, "{\"kind\":7,\"instance\":\"nope\",\"x\":1}", 400,
         "\"pointer\":\"/instance\""},
        {"POST", "/v1/jobs", NULL, "{\"kind\":7,\"instance\":\"nope\",\"x\":1}", 400,
         "\"pointer\":\"/x\""},
        {"POST", "/v1/jobs", NULL,
         "{\"kind\":\"forbidden\",\"instance\":\"sql01\",\"parameters\":{}}", 409,
         "confirm_production"},
        {"POST", "/v1/jobs", NULL, NULL, 400, "needs a body"},
        {"PUT", "/v1/instances/x", NULL, "not json", 400, NULL},
        {"PUT", "/v1/instances/x", "Content-Length: 0\r\n", NULL, 400, "needs a body"},
        {"PUT", "/v1/instances/X", NULL, http_kit_instance, 400, "a-z 0-9"},
        {"POST", "/v1/jobs", "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", NULL, 415,
         NULL},
        {"POST", "/v1/jobs", "Content-Encoding: gzip\r\n", http_kit_job, 415,
         "without a Content-Encoding"},
        {"POST", "/v1/jobs", "Content-Encoding: identity, gzip\r\n", http_kit_job, 415, NULL},
        {"POST", "/v1/jobs/x/cancel", "Content-Encoding: br\r\n", "{}", 415, NULL},
        {"POST", "/v1/jobs", "Content-Encoding: Identity\r\n", http_kit_job, 202, NULL},
        {"POST", "/v1/jobs/x/cancel", NULL, "{\"a\":1}", 400, "takes no body"},
        {"POST", "/v1/jobs/x/cancel", NULL, "{}", 404, NULL},
    };
    const struct http_kit *kit = *state;
    SPEAK(kit->port, lines);
}

static void strangers_are_refused(void **state)
{
    const struct http_kit *kit = *state;
    struct client client = client_open(kit->port);
    client_send(&client, "GET /v1/jobs HTTP/1.1\r\nHost: evil.example:8484\r\n\r\n");
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 403);
    assert_non_null(strstr(reply.body, "foreign-host"));
    reply_fini(&reply);
    reply = client_call(&client, "POST", "/v1/jobs", "Origin: http://evil.example\r\n", NULL);
    assert_int_equal(reply.status, 403);
    assert_non_null(strstr(reply.body, "foreign-origin"));
    reply_fini(&reply);
    reply = client_call(&client, "GET", "/v1/jobs", "Origin: http://localhost\r\n", NULL);
    assert_int_equal(reply.status, 200);
    reply_fini(&reply);
    client_close(&client);
}

static void a_request_id_comes_back(void **state)
{
    const struct http_kit *kit = *state;
    struct reply reply = call(kit->port, "GET", "/livez", "X-Request-Id: my-id_1.2\r\n", NULL);
    assert_string_equal(reply_header(&reply, "X-Request-Id"), "my-id_1.2");
    reply_fini(&reply);
    reply = call(kit->port, "GET", "/nothing", "X-Request-Id: not sane\r\n", NULL);
    assert_true(ids_is_valid(reply_header(&reply, "X-Request-Id")));
    assert_non_null(strstr(reply.body, reply_header(&reply, "X-Request-Id")));
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/problem+json");
    reply_fini(&reply);
}

static void head_is_get_without_its_body(void **state)
{
    const struct http_kit *kit = *state;
    struct client client = client_open(kit->port);
    struct reply head = client_call(&client, "HEAD", "/v1/instances/sql01", NULL, NULL);
    struct reply get = client_call(&client, "GET", "/v1/instances/sql01", NULL, NULL);
    assert_int_equal(head.status, 200);
    assert_int_equal(get.status, 200);
    assert_int_equal(strtoul(reply_header(&head, "Content-Length"), NULL, 10), get.body_length);
    assert_string_equal(reply_header(&head, "ETag"), reply_header(&get, "ETag"));
    reply_fini(&head);
    reply_fini(&get);
    client_close(&client);
}

static void a_body_that_is_too_long_is_refused(void **state)
{
    const struct http_kit *kit = *state;
    char *body = mem_alloc(LIMIT_BODY_BYTES + 2, 1);
    memset(body, ' ', LIMIT_BODY_BYTES + 1);
    struct client client = client_open(kit->port);
    struct reply reply = client_call(&client, "POST", "/v1/jobs", NULL, body);
    assert_int_equal(reply.status, 413);
    reply_fini(&reply);
    body[LIMIT_BODY_BYTES] = '\0';
    reply = client_call(&client, "POST", "/v1/jobs", NULL, body); /* on the same connection */
    assert_int_equal(reply.status, 400);
    reply_fini(&reply);
    client_close(&client);
    free(body);
    reply = call(kit->port, "POST", "/v1/jobs",
                 "Content-Length: 99999999999\r\nExpect: 100-continue\r\n", NULL);
    assert_int_equal(reply.status, 413);
    assert_string_equal(reply_header(&reply, "Connection"), "close");
    reply_fini(&reply);
}

static void chunks_are_counted_too(void **state)
{
    const struct http_kit *kit = *state;
    char chunk[4096 + 9];
    (void)snprintf(chunk, sizeof chunk, "1000\r\n%4096s\r\n", "");
    struct client client = client_open(kit->port);
    client_send(&client, "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                         "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i <= LIMIT_BODY_BYTES / 4096; i++)
        client_send(&client, chunk);
    client_send(&client, "0\r\n\r\n");
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 413);
    reply_fini(&reply);
    client_close(&client);
}

/* --- instances and webhooks ---------------------------------------------------------------- */

static void an_instance_lives_from_put_to_delete(void **state)
{
    static const struct line lines[] = {
        {"PUT", "/v1/instances/a", NULL, http_kit_instance, 201, "\"name\":\"a\""},
        {"PUT", "/v1/instances/a", NULL, http_kit_instance, 200, "\"held\":null"},
        {"GET", "/v1/instances/a", NULL, NULL, 200, "sql01.example.net"},
        {"GET", "/v1/instances/%61", NULL, NULL, 200, NULL},
        {"PUT", "/v1/instances/a", "If-None-Match: *\r\n", http_kit_instance, 412, "precondition"},
        {"PUT", "/v1/instances/b", "If-Match: *\r\n", http_kit_instance, 412, NULL},
        {"PUT", "/v1/instances/b", "If-None-Match: *\r\n", http_kit_instance, 201, NULL},
        {"DELETE", "/v1/instances/a", NULL, NULL, 204, NULL},
        {"DELETE", "/v1/instances/a", NULL, NULL, 404, "no instance"},
        {"GET", "/v1/instances/a", NULL, NULL, 404, NULL},
        {"GET", "/v1/instances/NO", NULL, NULL, 404, NULL},
        {"PUT", "/v1/instances/b", NULL, "{\"login\":\"l\",\"typo\":1}", 400, "/typo"},
    };
    const struct http_kit *kit = *state;
    SPEAK(kit->port, lines);
    assert_int_equal(fake_jobs_wakes(kit->jobs), 4); /* one per PUT that was stored */
}

/* It may be brought later, so the instance is made; what no driver can be given is refused. */
static void a_ca_file_that_cannot_be_read_is_told_at_once(void **state)
{
#define WITH_CA(file)                                                                              \
    "{\"host\":\"h\",\"login\":\"l\",\"password\":{\"env\":\"SWEETSPOT_SECRET_X\"},\"ca_file\":"   \
    "\"" file "\"}"
    static const struct line lines[] = {
        {"PUT", "/v1/instances/a", NULL, WITH_CA("/nonexistent/ca.pem"), 201,
         "the ca_file /nonexistent/ca.pem cannot be read: No such file or directory"},
        {"PUT", "/v1/instances/a", NULL, WITH_CA("/dev"), 200,
         "the ca_file /dev cannot be read: Is a directory"},
        {"PUT", "/v1/instances/a", NULL, WITH_CA("/tmp/a;b"), 400, "/ca_file"},
    };
    static const char *const good[] = {WITH_CA("/dev/null"), WITH_CA("system")};
    const struct http_kit *kit = *state;
    SPEAK(kit->port, lines);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct reply reply = call(kit->port, "PUT", "/v1/instances/a", NULL, good[i]);
        assert_int_equal(reply.status, 200);
        assert_null(strstr(reply.body, "cannot be read"));
        reply_fini(&reply);
    }
}

/* PUTs and returns If-Match or If-None-Match with the ETag that came; the caller frees it. */
static char *put_and_match(int port, const char *target, const char *body, const char *header)
{
    struct reply reply = call(port, "PUT", target, NULL, body);
    assert_true(reply.status == 200 || reply.status == 201);
    char *line = mem_format("%s: %s\r\n", header, reply_header(&reply, "ETag"));
    reply_fini(&reply);
    return line;
}

static void a_change_is_made_only_to_the_version_that_was_seen(void **state)
{
    const struct http_kit *kit = *state;
    const char *body = http_kit_instance;
    char *first = put_and_match(kit->port, "/v1/instances/a", body, "If-Match");
    char *second = put_and_match(kit->port, "/v1/instances/a", body, "If-Match");
    char *weak = mem_format("If-None-Match: \"1\", W/%s", second + strlen("If-Match: "));
    const struct line lines[] = {
        {"GET", "/v1/instances/a", weak, NULL, 304, ""},
        {"GET", "/v1/instances/a", "If-None-Match: \"1\"\r\n", NULL, 200, NULL},
        {"PUT", "/v1/instances/a", first, body, 412, "precondition"},
        {"DELETE", "/v1/instances/a", first, NULL, 412, NULL},
        {"PUT", "/v1/instances/a", second, body, 200, NULL},
        {"DELETE", "/v1/instances/a", second, NULL, 412, NULL},
        {"DELETE", "/v1/instances/a", "If-Match: *\r\n", NULL, 204, NULL},
    };
    SPEAK(kit->port, lines);
    free(first);
    free(second);
    free(weak);
}

/* The name comes back with version 1; its ETag must not. */
static void what_was_deleted_and_made_anew_has_another_etag(void **state)
{
    static const char hook[] = "{\"url\":\"https://chat.example.net/x/abcd\",\"format\":\"slack\"}";
    static const char *const targets[] = {"/v1/instances/a", "/v1/webhooks/a"};
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < 2; i++) {
        const char *body = i == 0 ? http_kit_instance : hook;
        char *match = put_and_match(kit->port, targets[i], body, "If-Match");
        char *none = put_and_match(kit->port, targets[i], body, "If-None-Match");
        int64_t made_ms = clock_wall_ms();
        const struct line gone[] = {{"DELETE", targets[i], NULL, NULL, 204, NULL}};
        SPEAK(kit->port, gone);
        while (clock_wall_ms() == made_ms)
            (void)sched_yield();
        const struct line anew[] = {
            {"PUT", targets[i], NULL, body, 201, NULL},
            {"DELETE", targets[i], match, NULL, 412, NULL},
            {"PUT", targets[i], NULL, body, 200, NULL},
            {"GET", targets[i], none, NULL, 200, NULL}, /* both are version 2 */
        };
        SPEAK(kit->port, anew);
        free(match);
        free(none);
    }
}

static void an_instance_with_jobs_stays(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    const struct line lines[] = {
        {"DELETE", "/v1/instances/sql01", NULL, NULL, 409, "conflict"},
    };
    SPEAK(kit->port, lines);
    free(id);
}

#define HOOK(url) "{\"url\":\"" url "\",\"format\":\"slack\"}"

static void a_webhook_to_a_refused_address_is_told_at_once(void **state)
{
    static const char both[] = "{\"url\":\"http://127.0.0.1/x\",\"format\":\"pigeon\"}";
    static const struct line lines[] = {
        {"PUT", "/v1/webhooks/w", NULL, HOOK("http://169.254.169.254/x"), 400, "webhooks_allow"},
        {"PUT", "/v1/webhooks/w", NULL, HOOK("https://10.0.0.1/x"), 400, "\"/url\""},
        {"PUT", "/v1/webhooks/w", NULL, HOOK("http://[::1]:80/x"), 400, "loopback"},
        {"PUT", "/v1/webhooks/w", NULL, HOOK("http://2130706433/x"), 400, "loopback"},
        {"PUT", "/v1/webhooks/w", NULL, both, 400, "and 1 more"},
        {"PUT", "/v1/webhooks/w", NULL, HOOK("http://10.1.0.1/x"), 201, NULL},
        {"PUT", "/v1/webhooks/w", NULL, HOOK("http://localhost/x"), 200, NULL}, /* told when sent */
    };
    const struct http_kit *kit = *state;
    SPEAK(kit->port, lines);
}

static void a_webhook_lives_from_put_to_delete(void **state)
{
    static const char hook[] = "{\"url\":\"https://chat.example.net/x/abcd\",\"format\":\"slack\","
                               "\"events\":[\"job.finished\"]}";
    static const struct line lines[] = {
        {"PUT", "/v1/webhooks/chat", NULL, hook, 201, "\"disabled\":false"},
        {"PUT", "/v1/webhooks/chat", NULL, hook, 200, NULL},
        {"PUT", "/v1/webhooks/chat", NULL, "{}", 400, "/url"},
        {"GET", "/v1/webhooks/chat", NULL, NULL, 200, "https://chat.example.net/…abcd"},
        {"GET", "/v1/webhooks", NULL, NULL, 200, "\"next_cursor\":null"},
        {"GET", "/v1/webhooks/chat/deliveries", NULL, NULL, 200, "\"items\":[]"},
        {"GET", "/v1/webhooks/no/deliveries", NULL, NULL, 404, NULL},
        {"POST", "/v1/webhooks/chat/test", NULL, NULL, 202, "\"event\":\"webhook.test\""},
        {"POST", "/v1/webhooks/chat/test", NULL, "{\"to\":\"all\"}", 400, "no body"},
        {"POST", "/v1/webhooks/no/test", NULL, NULL, 404, NULL},
        {"POST", "/v1/deliveries/01930000-0000-7000-8000-000000000000/redeliver", NULL, NULL, 404,
         NULL},
        {"POST", "/v1/deliveries/no/redeliver", NULL, NULL, 404, NULL},
        {"GET", "/v1/webhooks/chat/test", NULL, NULL, 405, NULL},
        {"GET", "/v1/webhooks/chat/deliveries", NULL, NULL, 200, "webhook.test"},
        {"DELETE", "/v1/webhooks/chat", "If-Match: \"7\"\r\n", NULL, 412, NULL},
        {"DELETE", "/v1/webhooks/chat", NULL, NULL, 204, NULL},
        {"DELETE", "/v1/webhooks/chat", NULL, NULL, 404, NULL},
    };
    const struct http_kit *kit = *state;
    SPEAK(kit->port, lines);
}

/* --- deadlines and shutdown ---------------------------------------------------------------- */

static void a_slow_client_is_cut(void **state)
{
    static const char *const beginnings[] = {
        "",
        "GET /livez HTT",
        "GET /livez HTTP/1.1\r\nHost: loc",
        "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    };
    struct http_kit *kit = http_kit_start(300);
    (void)state;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        int64_t began_ns = clock_mono_ns();
        struct client client = client_open(kit->port);
        client_send(&client, beginnings[i]);
        assert_true(client_is_closed(&client));
        assert_true(clock_mono_ns() - began_ns >= 300000000);
        client_close(&client);
    }
    http_kit_stop(kit);
}

static void the_deadline_starts_anew_with_each_request(void **state)
{
    struct http_kit *kit = http_kit_start(2000);
    (void)state;
    struct client client = client_open(kit->port);
    for (int i = 0; i < 100; i++) {
        struct reply reply = client_call(&client, "GET", "/livez", NULL, NULL);
        assert_int_equal(reply.status, 200);
        reply_fini(&reply);
    }
    assert_true(client_is_closed(&client)); /* and holds between them too */
    client_close(&client);
    http_kit_stop(kit);
}

static void a_held_request_has_no_deadline(void **state)
{
    struct http_kit *kit = http_kit_start(200);
    (void)state;
    struct reply reply = call(kit->port, "PUT", "/v1/instances/sql01", NULL, http_kit_instance);
    reply_fini(&reply);
    char *id = http_kit_submit(kit);
    struct client client = http_kit_hold(kit, id, 1);
    reply = client_read(&client, true);
    assert_int_equal(reply.status, 200);
    reply_fini(&reply);
    client_close(&client);
    http_kit_stop(kit);
    free(id);
}

static void who_waits_is_told_that_we_stop(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    struct client clients[8];
    for (int i = 0; i < 8; i++)
        clients[i] = http_kit_hold(kit, id, 300);
    http_drain(kit->http);
    struct reply ready = call(kit->port, "GET", "/readyz", NULL, NULL);
    assert_int_equal(ready.status, 503);
    reply_fini(&ready);
    int64_t began_ns = clock_mono_ns();
    http_kit_stop_http(kit);
    assert_true(clock_mono_ns() - began_ns < 5000000000);
    for (int i = 0; i < 8; i++) {
        struct reply reply = client_read(&clients[i], true);
        assert_int_equal(reply.status, 503);
        assert_string_equal(reply_header(&reply, "Retry-After"), "5");
        reply_fini(&reply);
        client_close(&clients[i]);
    }
    free(id);
}

static void only_the_loopback_is_served_without_tokens(void **state)
{
    static const struct {
        const char *listen;
        enum err_code code;
    } cases[] = {
        {"0.0.0.0:0", ERR_REFUSED},   {"[::]:0", ERR_REFUSED},
        {"127.0.0.1", ERR_INPUT},     {":8484", ERR_INPUT},
        {"example.net:0", ERR_INPUT}, {"::1:0", ERR_INPUT},
        {"127.0.0.1:x", ERR_INPUT},   {"", ERR_INPUT},
    };
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct http *http = NULL;
        struct http_parts parts = kit->parts;
        parts.listen = cases[i].listen;
        assert_int_equal(http_start(&parts, &http, &err), -1);
        if (err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].listen, err.msg);
    }
}

/* "?dry_run=true" behind a submit must not submit. Probes may add what they like. */
static void a_query_that_a_call_does_not_have_is_refused(void **state)
{
    struct http_kit *kit = *state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        struct buf target = {0};
        for (const char *at = route->path; *at; at++) {
            buf_add(&target, *at == '{' ? "x" : "");
            if (*at == '{')
                at += strcspn(at, "}");
            else
                buf_add_char(&target, *at);
        }
        buf_add(&target, "?dry_run=true");
        struct reply reply = call(kit->port, route->method, buf_text(&target), NULL,
                                  route->body == BODY_JSON ? "{}" : NULL);
        bool is_ours = strncmp(route->path, "/v1/", 4) == 0;
        if (reply.status != (is_ours ? 400 : 200) ||
            (is_ours && !strstr(reply.body, "\"parameter\":\"dry_run\"")))
            fail_msg("%s %s: %d %s", route->method, buf_text(&target), reply.status, reply.body);
        reply_fini(&reply);
        buf_fini(&target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(each_wrong_call_has_its_own_answer),
        HTTP_TEST(a_bad_body_is_told_where),
        HTTP_TEST(strangers_are_refused),
        HTTP_TEST(a_request_id_comes_back),
        HTTP_TEST(head_is_get_without_its_body),
        HTTP_TEST(a_body_that_is_too_long_is_refused),
        HTTP_TEST(chunks_are_counted_too),
        HTTP_TEST(an_instance_lives_from_put_to_delete),
        HTTP_TEST(a_change_is_made_only_to_the_version_that_was_seen),
        HTTP_TEST(what_was_deleted_and_made_anew_has_another_etag),
        HTTP_TEST(a_ca_file_that_cannot_be_read_is_told_at_once),
        HTTP_TEST(an_instance_with_jobs_stays),
        HTTP_TEST(a_webhook_to_a_refused_address_is_told_at_once),
        HTTP_TEST(a_webhook_lives_from_put_to_delete),
        cmocka_unit_test(a_slow_client_is_cut),
        cmocka_unit_test(the_deadline_starts_anew_with_each_request),
        cmocka_unit_test(a_held_request_has_no_deadline),
        HTTP_TEST(who_waits_is_told_that_we_stop),
        HTTP_TEST(only_the_loopback_is_served_without_tokens),
        HTTP_TEST(a_query_that_a_call_does_not_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
