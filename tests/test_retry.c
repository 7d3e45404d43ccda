/* POST /v1/jobs/{id}/retry. */
#include "jobs/jobs.h"
#include "server/mem.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SWEEP(members)                                                                             \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"                  \
    "'buffercount':[50]},'labels':{'change':'CHG-7'}" members "}"

static cJSON *retry(struct harness *house, const char *id, int status)
{
    char *target = mem_format("/v1/jobs/%s/retry", id);
    cJSON *answer = harness_call(house, "POST", target, NULL, status);
    free(target);
    return answer;
}

/* Submits, waits for the end, retries; the old job and the new one. */
static void run_twice(struct harness *house, const char *body, cJSON **out_old, cJSON **out_new)
{
    char *id = harness_submit(house, body);
    *out_old = harness_wait(house, id);
    *out_new = retry(house, id, 202);
    assert_string_equal(text_at(*out_new, "retry_of"), id);
    assert_string_not_equal(text_at(*out_new, "id"), id);
    free(id);
}

static void an_ended_job_runs_once_more(void **state)
{
    struct harness *house = *state;
    cJSON *old;
    cJSON *new;
    run_twice(house, SWEEP(",'design':{'repetitions':3,'seed':7},'requested_by':'a test'"), &old,
              &new);
    assert_true(cJSON_Compare(at(old, "definition"), at(new, "definition"), true));
    assert_string_equal(text_at(new, "labels/change"), "CHG-7");
    cJSON *ended = harness_wait(house, text_at(new, "id"));
    assert_string_equal(text_at(ended, "state"), text_at(old, "state"));
    assert_string_equal(text_at(ended, "retry_of"), text_at(old, "id"));
    cJSON_Delete(ended);
    cJSON_Delete(old);
    cJSON_Delete(new);
}

static void a_seed_that_was_drawn_is_drawn_anew(void **state)
{
    cJSON *old;
    cJSON *new;
    run_twice(*state, SWEEP(",'design':{'repetitions':3}"), &old, &new);
    assert_true(cJSON_IsTrue(at(old, "definition/design/seed_drawn")));
    assert_true(cJSON_IsTrue(at(new, "definition/design/seed_drawn")));
    assert_true(number_at(old, "definition/design/seed") !=
                number_at(new, "definition/design/seed")); /* one in 10^15 is the same */
    cJSON_Delete(old);
    cJSON_Delete(new);
}

static void only_an_ended_job_can_be_retried(void **state)
{
    struct harness *house = *state;
    char *id = harness_submit(house, SWEEP(",'not_before':'2999-01-01T00:00:00Z'"));
    cJSON *answer = retry(house, id, 409);
    assert_string_equal(text_at(answer, "detail"), "the job has not ended: it is waiting");
    cJSON_Delete(answer);
    cJSON_Delete(retry(house, "01981c5e-7a10-7000-8000-000000000001", 404));
    cJSON_Delete(harness_call(house, "POST", "/v1/jobs/7/retry", NULL, 404));
    free(id);
}

static void the_instance_is_checked_as_at_a_submit(void **state)
{
    struct harness *house = *state;
    char *id = harness_submit(house, SWEEP(",'design':{'repetitions':3}"));
    cJSON_Delete(harness_wait(house, id));
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql01", NULL, 204));
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01",
                              "{'host':'127.0.0.1','login':'sa',"
                              "'password':{'env':'SWEETSPOT_SECRET_SIM'}}",
                              201));
    cJSON *answer = retry(house, id, 409);
    assert_non_null(strstr(text_at(answer, "detail"), "confirm_production"));
    cJSON_Delete(answer);
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql01", NULL, 204));
    answer = retry(house, id, 409);
    assert_non_null(strstr(text_at(answer, "detail"), "/instance there is no instance"));
    cJSON_Delete(answer);
    free(id);
}

/* With a key; the caller frees the id. */
static struct reply retry_with(struct harness *house, const char *id, const char *key,
                               char **out_id)
{
    char *target = mem_format("/v1/jobs/%s/retry", id);
    char *header = mem_format("Idempotency-Key: %s\r\n", key);
    struct reply reply = call(harness_port(house), "POST", target, header, NULL);
    cJSON *job = cJSON_Parse(reply.body);
    *out_id = mem_copy(cJSON_GetStringValue(json_member(job, "id")));
    cJSON_Delete(job);
    free(header);
    free(target);
    return reply;
}

static void expect_refused(struct harness *house, const char *id, const char *key, int status,
                           const char *words)
{
    char *made = NULL;
    struct reply reply = retry_with(house, id, key, &made);
    assert_int_equal(reply.status, status);
    assert_non_null(strstr(reply.body, words));
    assert_null(made);
    reply_fini(&reply);
}

static void a_key_makes_one_job_of_many_retries(void **state)
{
    struct harness *house = *state;
    char *ids[3] = {0};
    char *id = harness_submit(house, SWEEP(",'design':{'repetitions':3}"));
    cJSON_Delete(harness_wait(house, id));
    for (size_t i = 0; i < 3; i++) {
        struct reply reply = retry_with(house, id, "change-7", &ids[i]);
        assert_int_equal(reply.status, i == 0 ? 202 : 200);
        assert_string_equal(reply_header(&reply, "Idempotency-Replayed"), i == 0 ? "" : "true");
        assert_non_null(strstr(reply_header(&reply, "Location"), ids[0]));
        assert_string_equal(ids[i], ids[0]);
        reply_fini(&reply);
        cJSON_Delete(harness_wait(house, ids[0])); /* also when the new job has ended itself */
    }
    cJSON *jobs = harness_call(house, "GET", "/v1/jobs", NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(jobs, "items")), 2);
    cJSON_Delete(jobs);

    expect_refused(house, ids[0], "change-7", 422, "used with another request for job");
    expect_refused(house, "01981c5e-7a10-7000-8000-000000000001", "change-8", 404, "no job");
    expect_refused(house, id, "change 8", 400, "visible ASCII");
    struct reply submit = call(harness_port(house), "POST", "/v1/jobs",
                               "Idempotency-Key: change-7\r\n", "{\"kind\":\"backup_sweep\"}");
    assert_int_equal(submit.status, 422);
    reply_fini(&submit);
    for (size_t i = 0; i < 3; i++)
        free(ids[i]);
    free(id);
}

static void moments_that_have_passed_are_left_out(void **state)
{
    static char definition[] = "{\"not_before\":\"a\",\"deadline\":\"b\",\"design\":{\"seed\":1}}";
    struct job_row row = {.definition = definition, .not_before = 10, .deadline = 30};
    cJSON *body = job_retry_body(&row, 20);
    (void)state;
    assert_null(json_member(body, "not_before"));
    assert_string_equal(text_at(body, "deadline"), "b");
    assert_int_equal(number_at(body, "design/seed"), 1);
    cJSON_Delete(body);
    body = job_retry_body(&row, 30);
    assert_null(json_member(body, "deadline"));
    cJSON_Delete(body);
}

static int set_up(void **state)
{
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    *state = house;
    return 0;
}

static int tear_down(void **state)
{
    harness_stop(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ended_job_runs_once_more),
        TEST(a_seed_that_was_drawn_is_drawn_anew),
        TEST(only_an_ended_job_can_be_retried),
        TEST(the_instance_is_checked_as_at_a_submit),
        TEST(a_key_makes_one_job_of_many_retries),
        cmocka_unit_test(moments_that_have_passed_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
