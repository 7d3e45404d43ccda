/* When a sweep runs: windows, lanes, priority, moments, and cancels in each phase. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define HOLD_FIRST "{'do':'hold_at_percent','match':'BACKUP','percent':40}"
#define ONE SWEEP(",'buffercount':[50]", SHORT)

static void wait_held(struct sim *sim, int count)
{
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_HELD, NULL, count, 20000), 0);
}

static cJSON *job_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s", id);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return job;
}

static cJSON *cancel(struct harness *house, const char *id, int status)
{
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON *answer = harness_call(house, "POST", target, NULL, status);
    free(target);
    return answer;
}

static char *moment(int64_t seconds_from_now)
{
    char text[CLOCK_TEXT_SIZE];
    return mem_copy(clock_format(clock_wall_ms() + seconds_from_now * 1000, text));
}

/* --- windows ------------------------------------------------------------------------------ */

/* A window of one minute, twelve hours from now. */
static char *closed_window(void)
{
    time_t then = (time_t)(clock_wall_ms() / 1000) + (time_t)12 * 3600;
    struct tm parts;
    assert_non_null(gmtime_r(&then, &parts));
    return mem_format("'windows':[{'days':['mon','tue','wed','thu','fri','sat','sun'],"
                      "'from':'%02d:%02d','to':'%02d:%02d','time_zone':'UTC'}]",
                      parts.tm_hour, parts.tm_min / 2, parts.tm_hour, parts.tm_min / 2 + 1);
}

static void a_job_waits_for_a_closed_window_and_runs_when_it_opens(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *window = closed_window();
    harness_register(house, window);
    char *id = harness_submit(house, ONE);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    assert_int_equal(sim_count_statements(house->sim, ""), 0);
    sweep_register(house, "sql01", sim_port(house->sim), NULL, 200); /* no windows: always */
    cJSON *job = harness_wait(house, id);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    free(window);
    free(id);
    harness_stop(house);
}

static void a_job_may_ignore_the_windows(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *window = closed_window();
    harness_register(house, window);
    cJSON *job =
        sweep_run(house, SWEEP(",'buffercount':[50]", SHORT ",'ignore_windows':true"), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    free(window);
    harness_stop(house);
}

/* --- one after the other ---------------------------------------------------------------------- */

static void jobs_of_one_instance_run_one_after_the_other(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, HOLD_FIRST);
    char *first = harness_submit(house, ONE);
    wait_held(house->sim, 1);
    char *low = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT ",'priority':1"));
    char *high = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT ",'priority':9"));
    cJSON_Delete(harness_wait_state(house, low, "waiting", "instance_busy"));
    cJSON_Delete(harness_wait_state(house, high, "waiting", "instance_busy"));
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP','nth':2,'percent':40}");
    sim_release(house->sim); /* the first goes on; the high one is held at its first backup */
    cJSON_Delete(harness_wait(house, first));
    cJSON_Delete(harness_wait_state(house, high, "running", NULL));
    wait_held(house->sim, 1);
    cJSON *job = job_of(house, low);
    assert_string_equal(text_at(job, "state"), "waiting");
    cJSON_Delete(job);
    sim_fault_clear(house->sim);
    cJSON *last = harness_wait(house, low);
    cJSON *before = harness_wait(house, high);
    assert_true(strcmp(text_at(before, "finished_at"), text_at(last, "started_at")) <= 0);
    cJSON_Delete(before);
    cJSON_Delete(last);
    free(first);
    free(low);
    free(high);
    harness_stop(house);
}

static void instances_of_one_lane_never_run_together(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    struct sim *other = NULL;
    char error[SIM_ERROR_SIZE];
    assert_int_equal(sim_start("{'time_scale':0}", &other, error), 0);
    harness_register(house, "'lanes':['san-7','rack-1']");
    sweep_register(house, "sql02", sim_port(other), "'lanes':['san-7']", 201);
    sweep_register(house, "sql03", sim_port(other), "'lanes':['san-8']", 201);
    sweep_fault(house->sim, HOLD_FIRST);
    char *first = harness_submit(house, ONE);
    wait_held(house->sim, 1);
    char *second = harness_submit(house, SWEEP_OF("sql02", "Sales", ",'buffercount':[50]", SHORT));
    char *third = harness_submit(house, SWEEP_OF("sql03", "Sales", ",'buffercount':[50]", SHORT));
    cJSON_Delete(harness_wait_state(house, second, "waiting", "lane_busy"));
    cJSON_Delete(harness_wait(house, third)); /* another lane: at once */
    cJSON *job = job_of(house, second);
    assert_string_equal(text_at(job, "state_reason"), "lane_busy");
    cJSON_Delete(job);
    sim_release(house->sim);
    cJSON *before = harness_wait(house, first);
    job = harness_wait(house, second);
    assert_true(strcmp(text_at(before, "finished_at"), text_at(job, "started_at")) <= 0);
    cJSON_Delete(before);
    cJSON_Delete(job);
    free(first);
    free(second);
    free(third);
    harness_stop(house);
    sim_stop(other);
}

/* --- production and moments ---------------------------------------------------------------------
 */

static void a_production_instance_needs_consent_and_a_window(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}}",
                            sim_port(house->sim));
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01", body, 200));
    free(body);
    cJSON *problem = harness_call(house, "POST", "/v1/jobs", ONE, 409);
    assert_non_null(strstr(text_at(problem, "detail"), "confirm_production"));
    cJSON_Delete(problem);
    problem = harness_call(house, "POST", "/v1/jobs",
                           SWEEP(",'buffercount':[50]", SHORT ",'confirm_production':true"), 409);
    assert_non_null(strstr(text_at(problem, "detail"), "window"));
    cJSON_Delete(problem);
    body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','windows':'always',"
                      "'password':{'env':'SWEETSPOT_SECRET_SIM'}}",
                      sim_port(house->sim));
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01", body, 200));
    free(body);
    cJSON *job =
        sweep_run(house, SWEEP(",'buffercount':[50]", SHORT ",'confirm_production':true"), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_job_waits_for_its_moment(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *soon = moment(1);
    char *body = mem_format(SWEEP(",'buffercount':[50]", SHORT ",'not_before':'%s'"), soon);
    harness_register(house, NULL);
    char *id = harness_submit(house, body);
    cJSON *job = job_of(house, id);
    assert_string_equal(text_at(job, "state"), "waiting");
    assert_string_equal(text_at(job, "state_reason"), "not_before");
    cJSON_Delete(job);
    /* it does not stand in the way of others */
    cJSON_Delete(sweep_run(house, ONE, NULL));
    job = harness_wait(house, id);
    assert_true(strcmp(text_at(job, "started_at"), soon) >= 0);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    free(id);
    free(body);
    free(soon);
    harness_stop(house);
}

static void a_deadline_that_passes_in_the_queue_times_the_job_out(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *soon = moment(1);
    char *body = mem_format(SWEEP(",'buffercount':[50]", SHORT ",'deadline':'%s'"), soon);
    harness_register(house, NULL);
    sweep_fault(house->sim, HOLD_FIRST);
    char *first = harness_submit(house, ONE);
    wait_held(house->sim, 1);
    char *id = harness_submit(house, body);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "timed_out");
    assert_true(sweep_error_says(job, "deadline"));
    cJSON_Delete(job);
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, first));
    free(first);
    free(id);
    free(body);
    free(soon);
    harness_stop(house);
}

static void a_deadline_that_passes_during_a_trial_cancels_and_cleans_up(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2,"
                            "'percent':40}");
    char *soon = moment(2);
    char *body = mem_format(SWEEP(",'buffercount':[50]" TO_DISK, SHORT ",'deadline':'%s'"), soon);
    char *id = harness_submit(house, body);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "timed_out");
    assert_string_equal(text_at(job, "cleanup"), "done");
    sweep_nothing_left(house->sim);
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "cancelled"), 1);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 1);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    free(body);
    free(soon);
    harness_stop(house);
}

/* --- cancelling ----------------------------------------------------------------------------------
 */

static void a_job_is_cancelled_in_each_phase_and_only_once(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]',"
                            "'percent':40}");
    char *running = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT));
    wait_held(house->sim, 1);
    char *waiting = harness_submit(house, ONE);
    cJSON_Delete(harness_wait_state(house, waiting, "waiting", "instance_busy"));
    char *later = moment(3600);
    char *body = mem_format(SWEEP(",'buffercount':[50]", SHORT ",'not_before':'%s'"), later);
    char *parked = harness_submit(house, body);

    cJSON_Delete(cancel(house, waiting, 202));
    cJSON_Delete(cancel(house, parked, 202));
    cJSON *job = job_of(house, waiting);
    assert_string_equal(text_at(job, "state"), "cancelled");
    cJSON_Delete(job);
    job = job_of(house, parked);
    assert_string_equal(text_at(job, "state"), "cancelled");
    cJSON_Delete(job);
    cJSON_Delete(cancel(house, waiting, 409));

    job = job_of(house, running);
    assert_true(cJSON_IsFalse(at(job, "cancel_requested")));
    cJSON_Delete(job);
    job = cancel(house, running, 202);
    assert_true(cJSON_IsTrue(at(job, "cancel_requested"))); /* also while it still undoes */
    cJSON_Delete(job);
    job = harness_wait(house, running);
    assert_true(cJSON_IsTrue(at(job, "cancel_requested")));
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_true(cJSON_IsNull(at(job, "state_reason")));
    cJSON_Delete(job);
    cJSON_Delete(cancel(house, running, 409));
    sweep_nothing_left(house->sim);
    cJSON_Delete(cancel(house, "0193a1b2-0000-7000-8000-000000000000", 404));

    job = sweep_run(house, ONE, NULL); /* the queue goes on */
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    free(running);
    free(waiting);
    free(parked);
    free(body);
    free(later);
    harness_stop(house);
}

static void a_cancel_while_it_prepares_ends_it_before_a_trial(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT CONVERT(nvarchar(128), SERVERPROPERTY",
        "SELECT state, source_database_id",
        "BACKUP DATABASE [model]",
        "EXECUTE master.sys.xp_delete_files",
        "SELECT fixed_drive_path",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        struct harness *house = harness_start(NULL);
        char *fault = mem_format("{'do':'hold_before','match':'%s'}", statements[i]);
        harness_register(house, ALLOW);
        sweep_fault(house->sim, fault);
        char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT));
        wait_held(house->sim, 1);
        cJSON_Delete(cancel(house, id, 202));
        cJSON *job = harness_wait(house, id);
        if (strcmp(text_at(job, "state"), "cancelled") != 0)
            fail_msg("%s: %s", statements[i], cJSON_PrintUnformatted(job));
        assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 0);
        sweep_nothing_left(house->sim);
        cJSON_Delete(job);
        free(fault);
        free(id);
        harness_stop(house);
    }
}

static void a_cancel_of_an_unreachable_job_ends_it(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'stop_listening'}");
    char *id = harness_submit(house, ONE);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
    cJSON_Delete(cancel(house, id, 202));
    cJSON *job = job_of(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_a_closed_window_and_runs_when_it_opens),
        cmocka_unit_test(a_job_may_ignore_the_windows),
        cmocka_unit_test(jobs_of_one_instance_run_one_after_the_other),
        cmocka_unit_test(instances_of_one_lane_never_run_together),
        cmocka_unit_test(a_production_instance_needs_consent_and_a_window),
        cmocka_unit_test(a_job_waits_for_its_moment),
        cmocka_unit_test(a_deadline_that_passes_in_the_queue_times_the_job_out),
        cmocka_unit_test(a_deadline_that_passes_during_a_trial_cancels_and_cleans_up),
        cmocka_unit_test(a_job_is_cancelled_in_each_phase_and_only_once),
        cmocka_unit_test(a_cancel_while_it_prepares_ends_it_before_a_trial),
        cmocka_unit_test(a_cancel_of_an_unreachable_job_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
