/* The lock on the server, seen from one service: who measures has it, who does not get it waits. */
#include "jobs/applock.h"
#include "jobs/ending.h"
#include "jobs/inside.h"
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/child_kit.h"
#include "tests/sweep_kit.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TAKE "DECLARE @answer int; EXECUTE @answer = master.sys.sp_getapplock"
#define BODY SWEEP(",'buffercount':[50]", SHORT)
#define BODY_TO_DISK SWEEP(",'buffercount':[50]" TO_DISK, SHORT)
#define NEVER_MS 3600000

static struct harness *house_with(int64_t pause_ms)
{
    applock_set_pause(pause_ms);
    ending_set_first_retry(10);
    jobs_set_tick(5);
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    return house;
}

/* Another service, as far as the server sees it: a session that has the lock, or waits for it. */
struct rival {
    struct mssql *session;
    pthread_t thread;
};

static void *take_lock(void *arg)
{
    struct rival *rival = arg;
    struct err err;
    if (mssql_execute(rival->session,
                      "EXEC master.sys.sp_getapplock N'sweetspot', 'Exclusive', 'Session', -1",
                      NULL, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return NULL;
}

static void rival_start(struct rival *rival, struct sim *sim)
{
    rival->session = harness_session(sim, "another Sweetspot");
    assert_int_equal(pthread_create(&rival->thread, NULL, take_lock, rival), 0);
}

static void rival_has_it(struct rival *rival)
{
    assert_int_equal(pthread_join(rival->thread, NULL), 0);
}

static void rival_ends(struct rival *rival)
{
    mssql_close(rival->session);
}

/* To its last trial: one repetition answers nothing. */
static void expect_ran(struct harness *house, char *id)
{
    cJSON *job = harness_wait(house, id);
    if (strcmp(text_at(job, "state"), "inconclusive") != 0)
        fail_msg("%s", cJSON_PrintUnformatted(job));
    assert_true(cJSON_IsNull(at(job, "error")));
    cJSON_Delete(job);
    free(id);
}

static void waits_while_another_service_measures(void **state)
{
    (void)state;
    struct harness *house = house_with(10);
    struct rival rival;
    rival_start(&rival, house->sim);
    rival_has_it(&rival);
    char *id = harness_submit(house, BODY);
    cJSON *job = harness_wait_state(house, id, "waiting", "instance_busy");
    assert_string_equal(text_at(job, "error/message"), "another Sweetspot measures on this server");
    assert_string_equal(text_at(job, "error/step"), "lock");
    assert_true(cJSON_IsString(at(job, "retry_at")));
    cJSON_Delete(job);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, TAKE, 20, 20000), 0);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    rival_ends(&rival);
    expect_ran(house, id);
    harness_stop(house);
}

/* The instance's other jobs do not try before the pause is over, however many there are. */
static void one_job_tries_for_all(void **state)
{
    (void)state;
    struct harness *house = house_with(NEVER_MS);
    struct rival rival;
    rival_start(&rival, house->sim);
    rival_has_it(&rival);
    char *ids[5];
    for (size_t i = 0; i < 5; i++) {
        ids[i] = harness_submit(house, BODY);
        cJSON_Delete(harness_wait_state(house, ids[i], "waiting", "instance_busy"));
    }
    int tries = sim_count_statements(house->sim, TAKE);
    assert_true(tries > 1 && tries < 10);
    rival_ends(&rival);
    for (size_t i = 0; i < 5; i++)
        free(ids[i]);
    harness_stop(house);
}

static void jobs_one_after_the_other_never_meet_their_own_lock(void **state)
{
    (void)state;
    struct harness *house = house_with(NEVER_MS);
    char *ids[8];
    for (size_t i = 0; i < 8; i++)
        ids[i] = harness_submit(house, BODY);
    for (size_t i = 0; i < 8; i++)
        expect_ran(house, ids[i]);
    assert_int_equal(sim_count_statements(house->sim, TAKE), 8);
    assert_int_equal(sim_count_statements(house->sim, "EXECUTE master.sys.sp_releaseapplock"), 8);
    assert_int_equal(sim_most_backing_up(house->sim), 1);
    harness_stop(house);
}

static void history_is_read_beside_a_measurement(void **state)
{
    (void)state;
    struct harness *house = house_with(NEVER_MS);
    struct rival rival;
    rival_start(&rival, house->sim);
    rival_has_it(&rival);
    char *id = harness_submit(house, "{'kind':'backup_history','instance':'sql01',"
                                     "'parameters':{'include_copy_only':true}}");
    cJSON *job = harness_wait(house, id);
    assert_string_not_equal(text_at(job, "state"), "failed");
    assert_int_equal(sim_count_statements(house->sim, TAKE), 0);
    cJSON_Delete(job);
    free(id);
    rival_ends(&rival);
    harness_stop(house);
}

static void a_server_without_such_locks_is_measured_with_a_warning(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "{'do':'hide','match':'sp_getapplock'}",
        "{'do':'refuse_right','match':'EXECUTE sp_getapplock'}",
        ("{'do':'error','match':'EXECUTE @answer','number':40515,'severity':16,'times':-1,"
         "'text':'not here'}"),
    };
    static const char *const numbers[] = {"sp_getapplock", "EXECUTE", "not here"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct harness *house = house_with(NEVER_MS);
        sweep_fault(house->sim, faults[i]);
        char *id = NULL;
        cJSON_Delete(sweep_run_to(house, BODY, "inconclusive", &id));
        cJSON *report = sweep_report_of(house, id);
        char *warnings = cJSON_PrintUnformatted(at(report, "warnings"));
        assert_non_null(strstr(
            warnings, "no lock on the server: another Sweetspot could measure at the same time"));
        assert_non_null(strstr(warnings, numbers[i]));
        free(warnings);
        cJSON_Delete(report);
        free(id);
        harness_stop(house);
    }
}

static void a_measured_server_says_nothing_of_locks(void **state)
{
    (void)state;
    struct harness *house = house_with(NEVER_MS);
    char *id = NULL;
    cJSON_Delete(sweep_run_to(house, BODY, "inconclusive", &id));
    cJSON *report = sweep_report_of(house, id);
    char *warnings = cJSON_PrintUnformatted(at(report, "warnings"));
    assert_null(strstr(warnings, "no lock"));
    free(warnings);
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

/* The connection is lost in a trial, and somebody else is quicker with the lock: what the trial
 * left is removed all the same, and nothing is measured until the lock is ours again. */
static void who_lost_the_lock_cleans_up_and_waits(void **state)
{
    (void)state;
    struct harness *house = house_with(10);
    struct rival rival;
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]'}");
    char *id = harness_submit(house, BODY_TO_DISK);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    rival_start(&rival, house->sim);
    assert_int_equal(
        sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, "EXEC master.sys.sp_getapplock", 1, 20000),
        0);
    int before = sim_count_statements(house->sim, "BACKUP DATABASE [Sales]");
    sweep_fault(house->sim, "{'do':'drop_at_percent','percent':60,'match':'BACKUP'}");
    sim_release(house->sim);
    rival_has_it(&rival);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "instance_busy"));
    assert_int_equal(sweep_files_left(house->sim), 0);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), before);
    rival_ends(&rival);
    expect_ran(house, id);
    assert_int_equal(sim_most_backing_up(house->sim), 1);
    sweep_nothing_left(house->sim);
    harness_stop(house);
}

static void a_service_that_is_killed_has_no_lock(void **state)
{
    (void)state;
    struct harness *house = house_with(10);
    struct child child;
    int status;
    child_make(&child, NULL);
    child_start(&child);
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}," ALLOW "}",
                            sim_port(house->sim));
    cJSON_Delete(child_ask(&child, "PUT", "/v1/instances/sql01", NULL, body, &status));
    assert_int_equal(status, 201);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]'}");
    char *theirs = child_submit(&child, "k", BODY, NULL);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *ours = harness_submit(house, BODY);
    cJSON_Delete(harness_wait_state(house, ours, "waiting", "instance_busy"));
    (void)child_end(&child, SIGKILL);
    expect_ran(house, ours);
    child_start(&child); /* and theirs goes on after ours */
    cJSON *job = child_wait_for_end(&child, theirs);
    assert_string_equal(text_at(job, "state"), "inconclusive");
    assert_int_equal(sim_most_backing_up(house->sim), 1);
    cJSON_Delete(job);
    (void)child_end(&child, SIGTERM);
    child_remove(&child);
    free(theirs);
    free(body);
    harness_stop(house);
}

static void a_cancel_ends_a_job_that_waits_for_the_lock(void **state)
{
    (void)state;
    struct harness *house = house_with(NEVER_MS);
    struct rival rival;
    rival_start(&rival, house->sim);
    rival_has_it(&rival);
    char *id = harness_submit(house, BODY);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "instance_busy"));
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    cJSON_Delete(job);
    rival_ends(&rival);
    free(target);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_while_another_service_measures),
        cmocka_unit_test(one_job_tries_for_all),
        cmocka_unit_test(jobs_one_after_the_other_never_meet_their_own_lock),
        cmocka_unit_test(history_is_read_beside_a_measurement),
        cmocka_unit_test(a_server_without_such_locks_is_measured_with_a_warning),
        cmocka_unit_test(a_measured_server_says_nothing_of_locks),
        cmocka_unit_test(who_lost_the_lock_cleans_up_and_waits),
        cmocka_unit_test(a_service_that_is_killed_has_no_lock),
        cmocka_unit_test(a_cancel_ends_a_job_that_waits_for_the_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
