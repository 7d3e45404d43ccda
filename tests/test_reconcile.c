/* What a job left on an instance that went away: it holds the queue, is told, is shown, and is
 * undone, by request and by itself. */
#include "jobs/journal.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECONCILE "/v1/instances/sql01/reconcile"
#define FLAG_BODY                                                                                  \
    "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':['Sales'],"                 \
    "'target':{'name':'disk','paths':['/var/opt/mssql/backup']}},"                                 \
    "'design':{'repetitions':2,'warmups':0}}"
#define FLAG_ALLOWED                                                                               \
    "'allow':{'paths':['/var/opt/mssql/backup'],'trace_flags':[3042]},"                            \
    "'limits':{'min_free_disk_mib':1}"

/* A job of trace_flag in its second trial, with its flag on and a file half written, whose server
 * went away; cancelled. Its id. */
static char *leave_something(struct harness *house)
{
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    char *id = harness_submit(house, FLAG_BODY);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_fault(house->sim, "{'do':'stop_listening'}");
    sweep_fault(house->sim, "{'do':'drop_all'}");
    cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    free(target);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_string_equal(text_at(job, "cleanup"), "pending");
    cJSON_Delete(job);
    return id;
}

static struct harness *house_of(void)
{
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOWED);
    return house;
}

/* The flag's intent and the file's, in this state. */
static void expect_intents(const cJSON *answer, const char *job, const char *state)
{
    static const char *const actions[] = {"trace_flag", "file"};
    assert_int_equal(cJSON_GetArraySize(at(answer, "intents")), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *intent = cJSON_GetArrayItem(at(answer, "intents"), i);
        assert_string_equal(text_at(intent, "job"), job);
        assert_string_equal(text_at(intent, "action"), actions[i]);
        assert_string_equal(text_at(intent, "state"), state);
    }
    assert_string_equal(text_at(answer, "intents/0/object"), "3042");
    assert_true(cJSON_IsFalse(at(answer, "intents/0/prior/on")));
    assert_non_null(strstr(text_at(answer, "intents/1/object"), job));
}

static void shows_what_is_open_and_then_undoes_it(void **state)
{
    (void)state;
    int flags[4];
    struct harness *house = house_of();
    char *id = leave_something(house);
    assert_int_equal(sim_flags(house->sim, flags, 4), 1);
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{'dry_run':true}", 200);
    expect_intents(answer, id, "open");
    assert_true(cJSON_IsNull(at(answer, "pending")));
    cJSON_Delete(answer);
    answer = harness_call(house, "POST", RECONCILE, "{}", 200); /* it is still away */
    expect_intents(answer, id, "open");
    assert_true(cJSON_IsString(at(answer, "pending")));
    cJSON_Delete(answer);
    sweep_fault(house->sim, "{'do':'listen'}");
    answer = harness_call(house, "POST", RECONCILE, NULL, 200);
    expect_intents(answer, id, "undone");
    assert_true(cJSON_IsNull(at(answer, "pending")));
    cJSON_Delete(answer);
    sweep_nothing_left(house->sim);
    answer = harness_call(house, "POST", RECONCILE, NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "intents")), 0);
    cJSON_Delete(answer);
    free(id);
    harness_stop(house);
}

static void holds_the_queue_and_the_instance_until_it_is_clean(void **state)
{
    (void)state;
    struct harness *house = house_of();
    char *id = leave_something(house);
    char *next = harness_submit(house, FLAG_BODY);
    cJSON_Delete(harness_wait_state(house, next, "waiting", "cleanup_pending"));
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql01", NULL, 409));
    sweep_fault(house->sim, "{'do':'listen'}");
    cJSON_Delete(harness_call(house, "POST", RECONCILE, "{'dry_run':false}", 200));
    cJSON *job = harness_wait(house, next);
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    char *target = mem_format("/v1/jobs/%s", id);
    job = harness_call(house, "GET", target, NULL, 200);
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    sweep_nothing_left(house->sim);
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql01", NULL, 204));
    free(target);
    free(next);
    free(id);
    harness_stop(house);
}

/* Nobody asks: the next job's wait sets it off. */
static void cleans_up_by_itself_before_the_next_job(void **state)
{
    (void)state;
    struct harness *house = house_of();
    char *id = leave_something(house);
    sweep_fault(house->sim, "{'do':'listen'}");
    char *next = harness_submit(house, FLAG_BODY);
    cJSON *job = harness_wait(house, next);
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    sweep_nothing_left(house->sim);
    free(next);
    free(id);
    harness_stop(house);
}

/* What was changed is undone where it was changed, and a job's figures are of one server. */
static void keeps_an_instance_on_its_server_while_something_is_open(void **state)
{
    (void)state;
    struct harness *house = house_of();
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    char *id = harness_submit(house, FLAG_BODY);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_register(house, "sql01", 1, FLAG_ALLOWED, 409); /* another port */
    sweep_register(house, "sql01", sim_port(house->sim), FLAG_ALLOWED ",'labels':{'a':'b'}", 200);
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    sweep_register(house, "sql01", 1, FLAG_ALLOWED, 200);
    free(id);
    harness_stop(house);
}

/* A server that does not tell its version is asked again: what fits it is not known. */
static void asks_again_when_the_version_is_not_told(void **state)
{
    (void)state;
    struct harness *house = house_of();
    sweep_fault(house->sim,
                "{'do':'skip','match':'SELECT CONVERT(nvarchar(128), SERVERPROPERTY','nth':1}");
    cJSON *job = sweep_run(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    assert_string_equal(text_at(job, "cleanup"), "done");
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    harness_stop(house);
}

static void leaves_a_running_job_its_own_changes(void **state)
{
    (void)state;
    int flags[4];
    struct harness *house = house_of();
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    char *id = harness_submit(house, FLAG_BODY);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    expect_intents(answer, id, "open");
    assert_non_null(strstr(text_at(answer, "pending"), "a job measures there"));
    cJSON_Delete(answer);
    assert_int_equal(sim_flags(house->sim, flags, 4), 1);
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    sweep_nothing_left(house->sim);
    free(id);
    harness_stop(house);
}

static void a_refused_file_is_reported_and_holds_nothing(void **state)
{
    (void)state;
    struct harness *house = house_of();
    char *id = leave_something(house);
    sweep_fault(house->sim, "{'do':'delete_nothing'}");
    sweep_fault(house->sim, "{'do':'listen'}");
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    assert_string_equal(text_at(answer, "intents/1/state"), "failed");
    assert_non_null(strstr(text_at(answer, "intents/1/detail"), "is still there"));
    assert_true(cJSON_IsNull(at(answer, "pending")));
    cJSON_Delete(answer);
    sim_fault_clear(house->sim);
    char *target = mem_format("/v1/jobs/%s", id);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    assert_string_equal(text_at(job, "cleanup"), "failed");
    cJSON_Delete(job);
    char *next = harness_submit(house, FLAG_BODY);
    job = harness_wait(house, next);
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    free(next);
    free(target);
    free(id);
    harness_stop(house);
}

/* The answers of one webhook's list with this event. */
static int told(struct harness *house, const char *event)
{
    int count = 0;
    const cJSON *item;
    cJSON *list = harness_call(house, "GET", "/v1/webhooks/hook/deliveries", NULL, 200);
    cJSON_ArrayForEach(item, at(list, "items"))
        count += strcmp(text_at(item, "event"), event) == 0;
    cJSON_Delete(list);
    return count;
}

static void tells_once_that_an_instance_stays_away(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_stop_daemon(house);
    house->config.unreachable_minutes = 0;
    harness_start_daemon(house);
    harness_register(house, FLAG_ALLOWED);
    cJSON_Delete(harness_call(house, "PUT", "/v1/webhooks/hook",
                              "{'url':'https://127.0.0.1:1/hook','format':'json','events':['*'],"
                              "'all_jobs':true}",
                              201));
    int64_t failures = journal_failures();
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    char *id = harness_submit(house, FLAG_BODY);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_fault(house->sim, "{'do':'stop_listening'}");
    sweep_fault(house->sim, "{'do':'drop_all'}");
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    char *next = harness_submit(house, FLAG_BODY); /* sets a try off */
    cJSON_Delete(harness_wait_state(house, next, "waiting", "cleanup_pending"));
    while (told(house, "job.cleanup_failed") == 0)
        cJSON_Delete(harness_wait_state(house, next, "waiting", "cleanup_pending"));
    char *target = mem_format("/v1/jobs/%s", id);
    job = harness_call(house, "GET", target, NULL, 200);
    assert_string_equal(text_at(job, "cleanup"), "failed");
    cJSON_Delete(job);
    sweep_fault(house->sim, "{'do':'listen'}");
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    expect_intents(answer, id, "undone");
    cJSON_Delete(answer);
    job = harness_call(house, "GET", target, NULL, 200);
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    assert_int_equal(told(house, "job.cleanup_failed"), 1);
    assert_int_equal(journal_failures(), failures + 1);
    cJSON_Delete(harness_wait(house, next));
    free(target);
    free(next);
    free(id);
    harness_stop(house);
}

static void says_what_is_wrong_with_the_call(void **state)
{
    (void)state;
    struct harness *house = house_of();
    cJSON_Delete(harness_call(house, "POST", "/v1/instances/none/reconcile", "{}", 404));
    cJSON_Delete(harness_call(house, "POST", RECONCILE, "{'dry_run':1}", 400));
    cJSON_Delete(harness_call(house, "POST", RECONCILE, "{'dryrun':true}", 400));
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "intents")), 0);
    cJSON_Delete(answer);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_is_open_and_then_undoes_it),
        cmocka_unit_test(holds_the_queue_and_the_instance_until_it_is_clean),
        cmocka_unit_test(cleans_up_by_itself_before_the_next_job),
        cmocka_unit_test(keeps_an_instance_on_its_server_while_something_is_open),
        cmocka_unit_test(asks_again_when_the_version_is_not_told),
        cmocka_unit_test(leaves_a_running_job_its_own_changes),
        cmocka_unit_test(a_refused_file_is_reported_and_holds_nothing),
        cmocka_unit_test(tells_once_that_an_instance_stays_away),
        cmocka_unit_test(says_what_is_wrong_with_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
