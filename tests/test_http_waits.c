/* Long polls: answers held until a job ends, or their time does. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/http_kit.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_wait_ends_with_the_job(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    struct client client = http_kit_hold(kit, id, 300);
    fake_jobs_finish(kit->jobs, id, NULL);
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "succeeded"));
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "wait=300");
    assert_int_equal(fake_jobs_watchers(kit->jobs), 0);
    reply_fini(&reply);
    client_close(&client);
    free(id);
}

static void who_may_not_any_more_is_not_told_what_it_waited_for(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    struct client client = http_kit_hold(kit, id, 300);
    char *token = http_kit_token(kit, "ops", SCOPE_READ); /* nobody gets in without one now */
    fake_jobs_finish(kit->jobs, id, NULL);
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 401);
    assert_null(strstr(reply.body, "succeeded"));
    reply_fini(&reply);
    client_close(&client);
    free(token);
    free(id);
}

static void a_wait_ends_with_its_time(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s", id);
    int64_t began_ns = clock_mono_ns();
    struct reply reply = call(kit->port, "GET", path, "Prefer: wait=1\r\n", NULL);
    assert_int_equal(reply.status, 200);
    assert_true(clock_mono_ns() - began_ns >= 1000000000);
    assert_non_null(strstr(reply.body, "queued"));
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "wait=1");
    reply_fini(&reply);
    free(path);
    free(id);
}

static void waits_that_cannot_be_are_not_held(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s", id);
    fake_jobs_finish(kit->jobs, id, NULL);
    struct reply reply = call(kit->port, "GET", path, "Prefer: wait=\"999\"\r\n", NULL);
    assert_int_equal(reply.status, 200); /* it has ended already */
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "wait=300");
    reply_fini(&reply);
    reply = call(kit->port, "GET", path, "Prefer: wait=soon\r\n", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "");
    reply_fini(&reply);
    reply = call(kit->port, "GET", "/v1/jobs/0193a1b2-0000-7000-8000-000000000000",
                 "Prefer: wait=300\r\n", NULL);
    assert_int_equal(reply.status, 404);
    reply_fini(&reply);
    free(path);
    free(id);
}

static void a_submit_can_wait_for_its_job(void **state)
{
    struct http_kit *kit = *state;
    struct client client = client_open(kit->port);
    client_send(&client, "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=300\r\n"
                         "Content-Type: application/json\r\nContent-Length: 58\r\n\r\n");
    assert_int_equal(strlen(http_kit_job), 58);
    client_send(&client, http_kit_job);
    while (fake_jobs_watchers(kit->jobs) == 0)
        (void)sched_yield();
    struct reply list = call(kit->port, "GET", "/v1/jobs", NULL, NULL);
    const char *at = strstr(list.body, "\"id\":\"");
    char *id = mem_format("%.36s", at + 6);
    reply_fini(&list);
    fake_jobs_finish(kit->jobs, id, NULL);
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 202);
    assert_non_null(strstr(reply.body, "succeeded"));
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "wait=300");
    reply_fini(&reply);
    client_close(&client);
    free(id);
}

/* Waiting must not take every connection: others have to get in, if only to cancel. */
static void too_many_waits_are_answered_at_once(void **state)
{
    enum { CONNECTIONS = 16, HELD = 12 };
    struct http_kit *kit = *state;
    struct client clients[HELD];
    http_kit_stop_http(kit);
    kit->parts.connections = CONNECTIONS;
    http_kit_start_http(kit);
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s", id);
    char *verdict = mem_format("/v1/jobs/%s/verdict?wait=300", id);
    for (int i = 0; i < HELD; i++)
        clients[i] = http_kit_hold(kit, id, 300);
    struct reply reply = call(kit->port, "GET", path, "Prefer: wait=300\r\n", NULL);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "queued"));
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "");
    reply_fini(&reply);
    reply = call(kit->port, "GET", verdict, NULL, NULL);
    assert_int_equal(reply.status, 408);
    assert_string_equal(reply_header(&reply, "Retry-After"), "5");
    reply_fini(&reply);
    reply = call(kit->port, "POST", "/v1/jobs", "Prefer: wait=300\r\n", http_kit_job);
    assert_int_equal(reply.status, 202);
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "");
    reply_fini(&reply);
    reply = call(kit->port, "GET", "/v1/events", NULL, NULL);
    assert_int_equal(reply.status, 503);
    assert_string_equal(reply_header(&reply, "Retry-After"), "5");
    reply_fini(&reply);
    fake_jobs_finish(kit->jobs, id, NULL);
    for (int i = 0; i < HELD; i++) {
        reply = client_read(&clients[i], true);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply_header(&reply, "Preference-Applied"), "wait=300");
        reply_fini(&reply);
        client_close(&clients[i]);
    }
    char *next = http_kit_submit(kit); /* there is room again */
    struct client client = http_kit_hold(kit, next, 300);
    fake_jobs_finish(kit->jobs, next, NULL);
    reply = client_read(&client, true);
    assert_string_equal(reply_header(&reply, "Preference-Applied"), "wait=300");
    reply_fini(&reply);
    client_close(&client);
    free(next);
    free(verdict);
    free(path);
    free(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_wait_ends_with_the_job),
        HTTP_TEST(who_may_not_any_more_is_not_told_what_it_waited_for),
        HTTP_TEST(a_wait_ends_with_its_time),
        HTTP_TEST(waits_that_cannot_be_are_not_held),
        HTTP_TEST(a_submit_can_wait_for_its_job),
        HTTP_TEST(too_many_waits_are_answered_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
