/* POST /v1/mode: a pause keeps jobs from starting, and nothing else. */
#include "server/mem.h"
#include "tests/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define JOB                                                                                        \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"                  \
    "'buffercount':[50]},'design':{'repetitions':3}}"
#define HISTORY "{'kind':'backup_history','instance':'sql01','parameters':{}}"

static void set_mode(struct harness *house, const char *mode)
{
    char *body = mem_format("{'mode':'%s'}", mode);
    cJSON *answer = harness_call(house, "POST", "/v1/mode", body, 200);
    assert_string_equal(text_at(answer, "mode"), mode);
    cJSON_Delete(answer);
    answer = harness_call(house, "GET", "/v1/mode", NULL, 200);
    assert_string_equal(text_at(answer, "mode"), mode);
    cJSON_Delete(answer);
    free(body);
}

static void jobs_wait_while_it_is_paused(void **state)
{
    struct harness *house = *state;
    set_mode(house, "paused");
    char *sweep = harness_submit(house, JOB);
    char *history = harness_submit(house, HISTORY);
    cJSON_Delete(harness_wait_state(house, sweep, "waiting", "paused"));
    cJSON_Delete(harness_wait_state(house, history, "waiting", "paused"));
    cJSON_Delete(harness_call(house, "GET", "/v1/jobs?state=waiting", NULL, 200));
    cJSON *checked = harness_call(house, "POST", "/v1/instances/sql01/check", NULL, 200);
    assert_true(cJSON_IsTrue(at(checked, "reachable")));
    cJSON_Delete(checked);
    set_mode(house, "active");
    cJSON_Delete(harness_wait(house, sweep));
    cJSON_Delete(harness_wait(house, history));
    free(sweep);
    free(history);
}

static void a_pause_outlives_a_restart(void **state)
{
    struct harness *house = *state;
    set_mode(house, "paused");
    harness_stop_daemon(house);
    harness_start_daemon(house);
    char *id = harness_submit(house, JOB);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "paused"));
    set_mode(house, "active");
    cJSON_Delete(harness_wait(house, id));
    free(id);
}

static void a_pause_is_no_reason_to_miss_a_cancel(void **state)
{
    struct harness *house = *state;
    set_mode(house, "paused");
    char *id = harness_submit(house, JOB);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "paused"));
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    cJSON_Delete(job);
    free(target);
    free(id);
}

static void other_words_are_refused(void **state)
{
    struct harness *house = *state;
    cJSON *answer = harness_call(house, "POST", "/v1/mode", "{'mode':'pause'}", 400);
    assert_string_equal(text_at(answer, "errors/0/pointer"), "/mode");
    cJSON_Delete(answer);
    cJSON_Delete(harness_call(house, "POST", "/v1/mode", "{}", 400));
    cJSON_Delete(harness_call(house, "POST", "/v1/mode", "{'mode':'active','for':3}", 400));
    cJSON_Delete(harness_call(house, "POST", "/v1/mode", NULL, 400));
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
        TEST(jobs_wait_while_it_is_paused),
        TEST(a_pause_outlives_a_restart),
        TEST(a_pause_is_no_reason_to_miss_a_cancel),
        TEST(other_words_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
