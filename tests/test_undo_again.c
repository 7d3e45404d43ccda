/* What the server refused to undo: it is shown, tried again on request and before the next
 * measuring job, and a flag that is still left so is measured by nobody. */
#include "tests/flag_kit.h"
#include "tests/snapshot_kit.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECONCILE "/v1/instances/sql01/reconcile"
#define REFUSE_OFF                                                                                 \
    "{'do':'error','match':'DBCC TRACEOFF','number':2571,'severity':14,'text':'no permission',"    \
    "'times':-1}"
#define REFUSE_DROP                                                                                \
    "{'do':'error','match':'DROP TABLE','number':3701,'severity':11,'text':'Cannot drop',"         \
    "'times':-1}"

static void expect_cleanup(struct harness *house, const char *id, const char *cleanup)
{
    char *target = mem_format("/v1/jobs/%s", id);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    assert_string_equal(text_at(job, "cleanup"), cleanup);
    cJSON_Delete(job);
    free(target);
}

/* One reconcile: one intent, of this action and in this state. */
static void expect_one(struct harness *house, const char *body, const char *action,
                       const char *state, const char *detail)
{
    cJSON *answer = harness_call(house, "POST", RECONCILE, body, 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "intents")), 1);
    assert_string_equal(text_at(answer, "intents/0/action"), action);
    assert_string_equal(text_at(answer, "intents/0/state"), state);
    if (detail)
        assert_non_null(strstr(text_at(answer, "intents/0/detail"), detail));
    else
        assert_true(cJSON_IsNull(at(answer, "intents/0/detail")));
    assert_true(cJSON_IsNull(at(answer, "pending")));
    cJSON_Delete(answer);
}

static void expect_none(struct harness *house)
{
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "intents")), 0);
    cJSON_Delete(answer);
}

/* A job whose flag the server does not let go. Its id. */
static char *leave_flag(struct harness *house)
{
    flag_fault(house, REFUSE_OFF);
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_string_equal(text_at(job, "cleanup"), "failed");
    cJSON_Delete(job);
    cJSON *report = report_of(house, id);
    assert_string_equal(text_at(report, "left_behind/0/action"), "trace_flag");
    assert_string_equal(text_at(report, "left_behind/0/object"), "3042");
    cJSON_Delete(report);
    assert_true(flag_is_on(house, 3042));
    return id;
}

static struct harness *flag_house(void)
{
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    return house;
}

static void a_refused_flag_is_shown_and_undone_on_request(void **state)
{
    (void)state;
    struct harness *house = flag_house();
    char *id = leave_flag(house);
    expect_one(house, "{'dry_run':true}", "trace_flag", "failed", "sysadmin");
    expect_one(house, "{}", "trace_flag", "failed", "sysadmin"); /* tried, and refused again */
    assert_true(flag_is_on(house, 3042));
    sim_fault_clear(house->sim);
    expect_one(house, "{'dry_run':true}", "trace_flag", "failed", "sysadmin");
    assert_true(flag_is_on(house, 3042));
    expect_one(house, "{}", "trace_flag", "undone", NULL);
    assert_false(flag_is_on(house, 3042));
    expect_cleanup(house, id, "done");
    expect_none(house);
    free(id);
    harness_stop(house);
}

static void a_flag_that_is_left_is_not_measured(void **state)
{
    (void)state;
    struct harness *house = flag_house();
    char *first = leave_flag(house);
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_true(sweep_error_says(job, "trace flag 3042 is not as it was before us and could not be "
                                      "put back, so it is not measured"));
    assert_true(sweep_error_says(job, first));
    assert_string_equal(text_at(job, "cleanup"), "done"); /* it left nothing of its own */
    cJSON_Delete(job);
    job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL); /* others are */
    assert_string_equal(text_at(job, "state"), "inconclusive");
    cJSON_Delete(job);
    assert_true(flag_is_on(house, 3042));
    free(id);
    free(first);
    harness_stop(house);
}

static void the_next_job_tries_it_again(void **state)
{
    (void)state;
    struct harness *house = flag_house();
    char *first = leave_flag(house);
    sim_fault_clear(house->sim);
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    cJSON *job = harness_wait(house, id);
    assert_true(cJSON_IsNull(at(job, "error")));
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    assert_false(flag_is_on(house, 3042));
    expect_cleanup(house, first, "done");
    expect_none(house);
    free(id);
    free(first);
    harness_stop(house);
}

/* PUT of the instance with this port; its answer must have this status. */
static cJSON *put_port(struct harness *house, const char *target, int port, int status)
{
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}," FLAG_ALLOW "}",
                            port);
    cJSON *answer = harness_call(house, "PUT", target, body, status);
    free(body);
    return answer;
}

static void expect_refusal(cJSON *problem)
{
    static const char *const words[] = {"not undone there: trace_flag 3042 (refused by the server)",
                                        "`sweetspot reconcile sql01`", "?forget=true"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_non_null(strstr(text_at(problem, "detail"), words[i]));
    cJSON_Delete(problem);
}

static void an_instance_with_something_left_is_only_deleted_on_ones_word(void **state)
{
    (void)state;
    struct harness *house = flag_house();
    char *id = leave_flag(house);
    expect_refusal(harness_call(house, "DELETE", "/v1/instances/sql01", NULL, 409));
    cJSON *problem = harness_call(house, "DELETE", "/v1/instances/sql01?forget=1", NULL, 400);
    assert_string_equal(text_at(problem, "errors/0/parameter"), "forget");
    cJSON_Delete(problem);
    expect_one(house, "{'dry_run':true}", "trace_flag", "failed", "sysadmin"); /* as it was */
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql01?forget=true", NULL, 204));
    cJSON *trail = harness_call(house, "GET", "/v1/audit?limit=1", NULL, 200);
    assert_string_equal(text_at(trail, "items/0/object"), "/v1/instances/sql01?forget=true");
    cJSON_Delete(trail);
    expect_cleanup(house, id, "failed");
    assert_true(flag_is_on(house, 3042));
    free(id);
    harness_stop(house);
}

static void an_instance_whose_left_things_are_undone_is_deleted(void **state)
{
    (void)state;
    struct harness *house = flag_house();
    free(leave_flag(house));
    sim_fault_clear(house->sim);
    expect_one(house, "{}", "trace_flag", "undone", NULL);
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql01", NULL, 204));
    harness_stop(house);
}

/* What is left there is nothing of the server that the name stands for now: the name gets another
 * server only when one says that it is forgotten. */
static void another_server_of_the_name_is_left_alone(void **state)
{
    (void)state;
    struct harness *house = flag_house();
    char *id = leave_flag(house);
    sim_fault_clear(house->sim);
    expect_refusal(put_port(house, "/v1/instances/sql01", 1, 409));
    cJSON_Delete(put_port(house, "/v1/instances/sql01?forget=true", 1, 200));
    cJSON_Delete(put_port(house, "/v1/instances/sql01", sim_port(house->sim), 200));
    expect_none(house);
    expect_cleanup(house, id, "failed");
    assert_true(flag_is_on(house, 3042));
    free(id);
    harness_stop(house);
}

static void a_refused_table_holds_nothing_and_is_dropped_later(void **state)
{
    (void)state;
    static const char body[] = SNAPSHOTS(ON_ADVENTURE ",'snapshots':[0,1]," PLACES, ONCE);
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    inject(house, REFUSE_DROP);
    char *id = harness_submit(house, body);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "cleanup"), "failed");
    cJSON_Delete(job);
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{'dry_run':true}", 200);
    int left = cJSON_GetArraySize(at(answer, "intents"));
    assert_true(left > 0);
    for (int i = 0; i < left; i++) {
        const cJSON *intent = cJSON_GetArrayItem(at(answer, "intents"), i);
        assert_string_equal(text_at(intent, "action"), "table");
        assert_string_equal(text_at(intent, "state"), "failed");
    }
    cJSON_Delete(answer);
    job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL); /* it waits for nothing */
    assert_string_equal(text_at(job, "state"), "inconclusive");
    cJSON_Delete(job);
    expect_cleanup(house, id, "failed");
    sim_fault_clear(house->sim);
    answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "intents")), left);
    for (int i = 0; i < left; i++)
        assert_string_equal(text_at(cJSON_GetArrayItem(at(answer, "intents"), i), "state"),
                            "undone");
    cJSON_Delete(answer);
    expect_cleanup(house, id, "done");
    expect_clean(house, "AdventureWorks");
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_flag_is_shown_and_undone_on_request),
        cmocka_unit_test(a_flag_that_is_left_is_not_measured),
        cmocka_unit_test(the_next_job_tries_it_again),
        cmocka_unit_test(an_instance_with_something_left_is_only_deleted_on_ones_word),
        cmocka_unit_test(an_instance_whose_left_things_are_undone_is_deleted),
        cmocka_unit_test(another_server_of_the_name_is_left_alone),
        cmocka_unit_test(a_refused_table_holds_nothing_and_is_dropped_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
