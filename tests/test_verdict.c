/* GET /v1/jobs/{id}/verdict: what a script is told. */
#include "jobs/state.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/http_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct reply ask(struct http_kit *kit, const char *id, const char *query)
{
    char *target = mem_format("/v1/jobs/%s/verdict%s", id, query);
    struct reply reply = call(kit->port, "GET", target, NULL, NULL);
    free(target);
    return reply;
}

static void assert_reply(struct reply *reply, int status, const char *holds)
{
    if (reply->status != status || !strstr(reply->body, holds))
        fail_msg("%d %s instead of %d with %s", reply->status, reply->body, status, holds);
    reply_fini(reply);
}

static void a_job_that_goes_on_is_a_reason_to_ask_again(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    struct reply reply = ask(kit, id, "");
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/problem+json");
    assert_reply(&reply, 408, "the job has not ended: it is queued; ask again");
    reply = ask(kit, id, "?wait=0");
    assert_reply(&reply, 408, "urn:sweetspot:problem:not-ended");
    free(id);
}

static void a_job_that_ended_well_is_well(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    fake_jobs_finish(kit->jobs, id, "{\"job\":\"x\"}");
    struct reply reply = ask(kit, id, "?wait=60");
    assert_reply(&reply, 200,
                 "\"state\":\"succeeded\",\"summary\":null,\"regressed\":false,"
                 "\"baseline\":null}");
    free(id);
}

static void a_job_no_slower_than_its_baseline_is_well(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    fake_jobs_finish(kit->jobs, id,
                     "{\"baseline\":{\"job\":\"b\",\"ratio\":0.97,\"regressed\":false}}");
    struct reply reply = ask(kit, id, "");
    assert_reply(&reply, 200, "\"baseline\":{\"job\":\"b\",\"ratio\":0.97,\"regressed\":false}");
    free(id);
}

static void a_job_that_regressed_is_not_well(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    fake_jobs_finish(kit->jobs, id,
                     "{\"baseline\":{\"job\":\"b\",\"ratio\":0.8125,\"regressed\":true}}");
    struct reply reply = ask(kit, id, "");
    assert_reply(&reply, 409, "regressed: 0.812 times the speed of its baseline, job b");
    free(id);
}

static void a_job_that_was_cancelled_is_not_well(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    struct reply reply = call(kit->port, "POST", target, NULL, NULL);
    assert_reply(&reply, 202, "cancelled");
    free(target);
    reply = ask(kit, id, "");
    assert_reply(&reply, 409, "the job ended as cancelled");
    free(id);
}

struct end {
    const char *id;
    enum job_state state;
    const char *error;
};

static int end_work(struct db *db, void *arg, struct err *err)
{
    const struct end *end = arg;
    struct job_row row = {0};
    int rc = store_job_get(db, end->id, &row, err);
    if (rc == 0) {
        job_move(&row, JOB_RUNNING, NULL, clock_wall_ms());
        job_move(&row, end->state, NULL, clock_wall_ms());
        mem_replace(&row.error, end->error);
        rc = store_job_update(db, &row, err);
    }
    job_row_fini(&row);
    return rc;
}

static void each_end_has_its_status(void **state)
{
    static const struct {
        enum job_state state;
        const char *error;
        int status;
        const char *told;
    } cases[] = {
        {JOB_SUCCEEDED, NULL, 200, "\"state\":\"succeeded\""},
        {JOB_INCONCLUSIVE, NULL, 200, "\"state\":\"inconclusive\""},
        {JOB_FAILED, "{\"number\":3201,\"message\":\"no such folder\",\"step\":\"backup\"}", 409,
         "the job ended as failed: no such folder"},
        {JOB_CANCELLED, NULL, 409, "the job ended as cancelled"},
        {JOB_TIMED_OUT, NULL, 409, "the job ended as timed_out"},
    };
    struct http_kit *kit = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        char *id = http_kit_submit(kit);
        struct end end = {id, cases[i].state, cases[i].error};
        assert_int_equal(store_write(kit->store, end_work, &end, &err), 0);
        struct reply reply = ask(kit, id, "?wait=300");
        assert_reply(&reply, cases[i].status, cases[i].told);
        free(id);
    }
}

/* Returns once the service holds it. */
static struct client hold(struct http_kit *kit, const char *id)
{
    struct client client = client_open(kit->port);
    char *text =
        mem_format("GET /v1/jobs/%s/verdict?wait=300 HTTP/1.1\r\nHost: localhost\r\n\r\n", id);
    client_send(&client, text);
    while (fake_jobs_watchers(kit->jobs) == 0)
        continue;
    free(text);
    return client;
}

static void who_waits_is_answered_when_the_job_ends(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    struct client client = hold(kit, id);
    fake_jobs_finish(kit->jobs, id, NULL);
    struct reply reply = client_read(&client, true);
    assert_reply(&reply, 200, "\"state\":\"succeeded\"");
    client_close(&client);
    free(id);
}

static void who_waits_is_told_when_the_time_is_up(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    struct client client = hold(kit, id);
    clock_pass_ms(299000);
    assert_int_equal(fake_jobs_watchers(kit->jobs), 1);
    clock_pass_ms(1000);
    struct reply reply = client_read(&client, true);
    assert_reply(&reply, 408, "the job has not ended: it is queued; ask again");
    client_close(&client);
    free(id);
}

static int set_up_time(void **state)
{
    clock_pass_ms(0);
    return http_kit_set_up(state);
}

static int tear_down_time(void **state)
{
    int rc = http_kit_tear_down(state);
    clock_reset();
    return rc;
}

static void who_waits_is_told_when_the_service_stops(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    struct client client = hold(kit, id);
    http_kit_stop_http(kit);
    struct reply reply = client_read(&client, true);
    assert_string_equal(reply_header(&reply, "Retry-After"), "5");
    assert_reply(&reply, 503, "the job is not lost");
    client_close(&client);
    free(id);
}

static void what_is_asked_wrongly_is_told(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    static const char *const queries[] = {"?wait=301", "?wait=-1",
                                          "?wait=",    "?wait=1&wait=2",
                                          "?wait=1s",  "?wait=99999999999999999999"};
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        struct reply reply = ask(kit, id, queries[i]);
        assert_reply(&reply, 400, "\"parameter\":\"wait\"");
    }
    struct reply reply = ask(kit, id, "?waits=1");
    assert_reply(&reply, 400, "\"parameter\":\"waits\"");
    reply = ask(kit, "01981c5e-7a10-7000-8000-000000000001", "?wait=300");
    assert_reply(&reply, 404, "no job has this id");
    reply = ask(kit, "7", "");
    assert_reply(&reply, 404, "no job has this id");
    free(id);
}

/* --- by its key ---------------------------------------------------------------------------- */

static struct reply ask_by_key(struct http_kit *kit, const char *query)
{
    char *target = mem_format("/v1/verdict%s", query);
    struct reply reply = call(kit->port, "GET", target, NULL, NULL);
    free(target);
    return reply;
}

static void a_job_is_found_by_the_key_it_was_sent_with(void **state)
{
    struct http_kit *kit = *state;
    struct reply reply =
        call(kit->port, "POST", "/v1/jobs", "Idempotency-Key: agent/0x1F+2\r\n", http_kit_job);
    assert_int_equal(reply.status, 202);
    char *id = json_text_of(reply.body, "id");
    reply_fini(&reply);
    reply = ask_by_key(kit, "?key=agent/0x1F%2B2");
    assert_reply(&reply, 408, "the job has not ended: it is queued; ask again");
    fake_jobs_finish(kit->jobs, id,
                     "{\"baseline\":{\"job\":\"b\",\"ratio\":0.5,\"regressed\":true}}");
    reply = ask_by_key(kit, "?wait=300&key=agent/0x1F%2B2");
    assert_reply(&reply, 409, "regressed: 0.5 times the speed of its baseline, job b");
    free(id);
}

static void who_waits_by_key_is_answered_when_the_job_ends(void **state)
{
    struct http_kit *kit = *state;
    struct reply reply =
        call(kit->port, "POST", "/v1/jobs", "Idempotency-Key: k1\r\n", http_kit_job);
    char *id = json_text_of(reply.body, "id");
    reply_fini(&reply);
    struct client client = client_open(kit->port);
    client_send(&client, "GET /v1/verdict?key=k1&wait=300 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (fake_jobs_watchers(kit->jobs) == 0)
        continue;
    fake_jobs_finish(kit->jobs, id, NULL);
    reply = client_read(&client, true);
    assert_non_null(strstr(reply.body, id));
    assert_reply(&reply, 200, "\"state\":\"succeeded\"");
    client_close(&client);
    free(id);
}

static void a_key_that_is_not_known_or_not_given_is_told(void **state)
{
    struct http_kit *kit = *state;
    struct reply reply = ask_by_key(kit, "?key=never");
    assert_reply(&reply, 404, "no job was sent with this key in the last 7 days");
    reply = ask_by_key(kit, "");
    assert_reply(&reply, 400, "\"parameter\":\"key\"");
    reply = ask_by_key(kit, "?key=");
    assert_reply(&reply, 400, "\"parameter\":\"key\"");
    reply = ask_by_key(kit, "?key=a&wait=301");
    assert_reply(&reply, 400, "\"parameter\":\"wait\"");
    reply = ask_by_key(kit, "?key=a&job=b");
    assert_reply(&reply, 400, "\"parameter\":\"job\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_job_that_goes_on_is_a_reason_to_ask_again),
        HTTP_TEST(a_job_that_ended_well_is_well),
        HTTP_TEST(a_job_no_slower_than_its_baseline_is_well),
        HTTP_TEST(a_job_that_regressed_is_not_well),
        HTTP_TEST(a_job_that_was_cancelled_is_not_well),
        HTTP_TEST(each_end_has_its_status),
        HTTP_TEST(who_waits_is_answered_when_the_job_ends),
        cmocka_unit_test_setup_teardown(who_waits_is_told_when_the_time_is_up, set_up_time,
                                        tear_down_time),
        HTTP_TEST(who_waits_is_told_when_the_service_stops),
        HTTP_TEST(what_is_asked_wrongly_is_told),
        HTTP_TEST(a_job_is_found_by_the_key_it_was_sent_with),
        HTTP_TEST(who_waits_by_key_is_answered_when_the_job_ends),
        HTTP_TEST(a_key_that_is_not_known_or_not_given_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
