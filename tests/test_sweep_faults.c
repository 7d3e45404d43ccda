/* backup_sweep while things go wrong on the measured server. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TWO ",'design':{'repetitions':2,'warmups':1,'order':'sequential','max_repetitions':3}"
/* what each try of a job begins with */
#define TAKE "DECLARE @answer int; EXECUTE @answer = master.sys.sp_getapplock"
#define FAST "{'time_scale':0}"

/* One instance of many: what costs seconds by design runs side by side. */
struct place {
    struct sim *sim;
    char name[16];
    char *id;
};

static void place_start(struct harness *house, struct place *place, int number, const char *fault)
{
    char error[SIM_ERROR_SIZE];
    (void)snprintf(place->name, sizeof place->name, "sql%d", number);
    if (sim_start(FAST, &place->sim, error) < 0)
        fail_msg("%s", error);
    sweep_register(house, place->name, sim_port(place->sim), ALLOW, 201);
    sweep_fault(place->sim, fault);
    char *body = mem_format("{'kind':'backup_sweep','instance':'%s','parameters':{'database':"
                            "'Sales','buffercount':[50]" TO_DISK "}" TWO "}",
                            place->name);
    place->id = harness_submit(house, body);
    free(body);
}

static void place_stop(struct place *place)
{
    free(place->id);
    sim_stop(place->sim);
}

/* Each (arm, block, warm-up) settled exactly once: two arms, one warm-up, two blocks. */
static void each_step_counts_once(const cJSON *trials)
{
    static const struct {
        int block;
        bool warmup;
    } rounds[] = {{0, true}, {1, false}, {2, false}};
    assert_int_equal(sweep_count(trials, NULL, "ok"), 6);
    for (size_t i = 0; i < 3; i++)
        for (int arm = 0; arm < 2; arm++) {
            int count = 0;
            const cJSON *trial;
            cJSON_ArrayForEach(trial, at(trials, "items"))
                count += strcmp(text_at(trial, "status"), "ok") == 0 &&
                         text_at(trial, "arm")[1] == '0' + arm &&
                         cJSON_IsTrue(at(trial, "warmup")) == rounds[i].warmup &&
                         (rounds[i].warmup || (int)number_at(trial, "block") == rounds[i].block);
            assert_int_equal(count, 1);
        }
}

static void a_lost_connection_is_taken_up_again_and_each_trial_counts_once(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "{'do':'drop_before','match':'BACKUP DATABASE [Sales]','nth':4}",
        "{'do':'drop_after','match':'BACKUP DATABASE [Sales]','nth':4}",
        "{'do':'drop_at_percent','match':'BACKUP DATABASE [Sales]','nth':4}",
        "{'do':'drop_after_4035','match':'BACKUP DATABASE [Sales]','nth':4}",
        "{'do':'drop_before','match':'EXECUTE master.sys.xp_delete_files','nth':4}",
        "{'do':'drop_after','match':'EXECUTE master.sys.xp_delete_files','nth':4}",
        "{'do':'drop_before','match':'BACKUP DATABASE [model]'}",
    };
    struct place places[sizeof faults / sizeof faults[0]];
    size_t count = sizeof faults / sizeof faults[0];
    struct harness *house = harness_start(NULL);
    for (size_t i = 0; i < count; i++)
        place_start(house, &places[i], (int)i, faults[i]);
    for (size_t i = 0; i < count; i++) {
        cJSON *job = harness_wait(house, places[i].id);
        if (strcmp(text_at(job, "state"), "failed") == 0)
            fail_msg("%s: %s", faults[i], cJSON_PrintUnformatted(job));
        assert_true(sim_count_statements(places[i].sim, TAKE) > 1); /* it waited once */
        assert_true(cJSON_IsNull(at(job, "retry_at")));             /* and does so no more */
        assert_true(cJSON_IsNull(at(job, "error")));
        assert_string_equal(text_at(job, "cleanup"), "done");
        cJSON *trials = sweep_trials_of(house, places[i].id);
        each_step_counts_once(trials);
        sweep_nothing_left(places[i].sim);
        cJSON_Delete(trials);
        cJSON_Delete(job);
        place_stop(&places[i]);
    }
    harness_stop(house);
}

static void a_job_cancelled_while_it_waits_says_that_its_file_is_still_there(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    struct place place;
    place_start(house, &place, 1,
                "{'do':'drop_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    cJSON *job = harness_wait_state(house, place.id, "waiting", "unreachable");
    assert_string_equal(text_at(job, "cleanup"), "pending");
    assert_true(cJSON_IsString(at(job, "retry_at")));
    assert_true(cJSON_IsString(at(job, "error/message")));
    cJSON_Delete(job);
    char *target = mem_format("/v1/jobs/%s/cancel", place.id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    job = harness_wait(house, place.id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_true(cJSON_IsNull(at(job, "retry_at")));
    assert_string_equal(text_at(job, "cleanup"), "pending");
    assert_int_equal(sweep_files_left(place.sim), 1);
    /* so the instance cannot be forgotten */
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql1", NULL, 409));
    cJSON_Delete(job);
    free(target);
    place_stop(&place);
    harness_stop(house);
}

static void errors_that_pass_are_repeated_and_counted_once(void **state)
{
    (void)state;
    static const int numbers[] = {1205, 1222, 3023};
    struct place places[3];
    struct harness *house = harness_start(NULL);
    for (int i = 0; i < 3; i++) {
        char *fault = mem_format(
            "{'do':'error','match':'BACKUP DATABASE [Sales]','nth':3,'number':%d}", numbers[i]);
        place_start(house, &places[i], i, fault);
        free(fault);
    }
    for (int i = 0; i < 3; i++) {
        cJSON *job = harness_wait(house, places[i].id);
        cJSON *trials = sweep_trials_of(house, places[i].id);
        assert_string_not_equal(text_at(job, "state"), "failed");
        each_step_counts_once(trials);
        assert_int_equal(sweep_count(trials, NULL, "contaminated"), 1);
        assert_string_equal(text_at(trials, "items/2/status"), "contaminated");
        assert_int_equal(number_at(trials, "items/2/error/number"), numbers[i]);
        sweep_nothing_left(places[i].sim);
        cJSON_Delete(trials);
        cJSON_Delete(job);
        place_stop(&places[i]);
    }
    harness_stop(house);
}

static void an_error_after_the_pages_fails_the_trial(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    struct place place;
    /* SetEndOfFile after a good write: a whole file is there, and the backup has failed */
    place_start(house, &place, 1,
                "{'do':'error_after_4035','match':'BACKUP DATABASE [Sales]','nth':4}");
    cJSON *job = harness_wait(house, place.id);
    cJSON *trials = sweep_trials_of(house, place.id);
    assert_string_equal(text_at(trials, "items/3/status"), "failed");
    assert_int_equal(number_at(trials, "items/3/error/number"), 3634);
    assert_true(cJSON_IsNull(at(trials, "items/3/rate_mib_s")));
    assert_int_equal(sweep_count(trials, text_at(trials, "items/3/arm"), "ok"), 1);
    sweep_nothing_left(place.sim);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    place_stop(&place);
    harness_stop(house);
}

static void every_arm_failing_fails_the_job_with_the_first_error(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'error_at_percent','match':'BACKUP','number':3203}");
    sweep_fault(house->sim, "{'do':'error_at_percent','match':'BACKUP','number':3271,'times':-1}");
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50,100]", ""), "failed", &id);
    assert_int_equal(number_at(job, "error/number"), 3203);
    assert_string_equal(text_at(job, "error/step"), "backup");
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "failed"), 3); /* one an arm, then it is left out */
    assert_int_equal(cJSON_GetArraySize(at(trials, "items")), 3);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_restart_during_a_trial_contaminates_it(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP','nth':3,'percent':40}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", TWO));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_fault(house->sim, "{'do':'restart'}");
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    cJSON *trials = sweep_trials_of(house, id);
    cJSON *report = sweep_report_of(house, id);
    each_step_counts_once(trials);
    assert_string_equal(text_at(trials, "items/2/status"), "contaminated");
    assert_non_null(strstr(text_at(trials, "items/2/notes/0"), "restarted"));
    assert_int_equal(number_at(sweep_arm(report, "default"), "contaminated") +
                         number_at(sweep_arm(report, "BUFFERCOUNT=50"), "contaminated"),
                     1);
    assert_int_equal(number_at(sweep_arm(report, "default"), "n"), 2);
    cJSON_Delete(report);
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
}

/* Returns when so many trials are stored. */
static void wait_for_trials(struct harness *house, const char *id, int count)
{
    int64_t until = clock_mono_ns() + (int64_t)20 * 1000000000;
    for (int found = 0; found < count;) {
        cJSON *trials = sweep_trials_of(house, id);
        found = cJSON_GetArraySize(at(trials, "items"));
        cJSON_Delete(trials);
        assert_true(clock_mono_ns() < until);
    }
}

static void somebody_elses_backup_contaminates_and_is_never_averaged_in(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP','nth':5,'percent':40}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", TWO));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_fault(house->sim, "{'do':'foreign_backup','database':'AdventureWorks'}");
    sim_release(house->sim);
    /* the repeat waits for its end */
    wait_for_trials(house, id, 5);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 5);
    sweep_fault(house->sim, "{'do':'foreign_backup','on':false}");
    cJSON_Delete(harness_wait(house, id));
    cJSON *trials = sweep_trials_of(house, id);
    cJSON *report = sweep_report_of(house, id);
    each_step_counts_once(trials);
    assert_true(sweep_count(trials, NULL, "contaminated") >= 1);
    assert_string_equal(text_at(trials, "items/4/status"), "contaminated");
    assert_non_null(strstr(text_at(trials, "items/4/notes/0"), "BACKUP"));
    assert_int_equal(number_at(sweep_arm(report, "default"), "n"), 2);
    assert_int_equal(number_at(sweep_arm(report, "BUFFERCOUNT=50"), "n"), 2);
    cJSON_Delete(report);
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
}

static void contamination_without_end_stops_at_max_repetitions_and_is_said(void **state)
{
    (void)state;
    clock_pass_ms(0);
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'foreign_backup'}");
    char *id = harness_submit(
        house,
        SWEEP(",'buffercount':[50]",
              ",'design':{'repetitions':1,'warmups':0,'order':'sequential','max_repetitions':1}"));
    cJSON *job = harness_pass_until(house, id, "failed", 5000); /* each try waits for a minute */
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0); /* and none was started */
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 0);
    assert_int_equal(sweep_count(trials, "a0", "contaminated"), 2);
    assert_int_equal(sweep_count(trials, "a1", "contaminated"), 2);
    assert_non_null(strstr(text_at(trials, "items/0/notes/0"), "the trial was not started"));
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
    clock_reset();
}

/* The simulator then never acknowledges; only the end of the connection frees the driver. */
static void a_cancel_that_the_server_ignores_counts_when_the_connection_ends(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]',"
                            "'percent':40}");
    sweep_fault(house->sim, "{'do':'ignore_attention','match':'BACKUP'}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, TWO));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_ATTENTIONS, NULL, 1, 20000), 0);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202)); /* still running: again */
    sweep_fault(house->sim, "{'do':'drop_at_percent','match':'BACKUP','percent':60}");
    sim_release(house->sim);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_string_equal(text_at(job, "cleanup"), "done");
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    free(target);
    free(id);
    harness_stop(house);
}

static void the_server_is_gone_while_a_trial_runs_and_comes_back(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    struct place place;
    place_start(house, &place, 1,
                "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    assert_int_equal(sim_wait_for(place.sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_fault(place.sim, "{'do':'stop_listening'}");
    sweep_fault(place.sim, "{'do':'drop_at_percent','match':'BACKUP','percent':60}");
    sim_release(place.sim);
    cJSON_Delete(harness_wait_state(house, place.id, "waiting", "unreachable"));
    sweep_fault(place.sim, "{'do':'listen'}");
    cJSON_Delete(harness_wait(house, place.id));
    cJSON *trials = sweep_trials_of(house, place.id);
    each_step_counts_once(trials);
    sweep_nothing_left(place.sim);
    cJSON_Delete(trials);
    place_stop(&place);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_connection_is_taken_up_again_and_each_trial_counts_once),
        cmocka_unit_test(a_job_cancelled_while_it_waits_says_that_its_file_is_still_there),
        cmocka_unit_test(errors_that_pass_are_repeated_and_counted_once),
        cmocka_unit_test(an_error_after_the_pages_fails_the_trial),
        cmocka_unit_test(every_arm_failing_fails_the_job_with_the_first_error),
        cmocka_unit_test(a_restart_during_a_trial_contaminates_it),
        cmocka_unit_test(somebody_elses_backup_contaminates_and_is_never_averaged_in),
        cmocka_unit_test(contamination_without_end_stops_at_max_repetitions_and_is_said),
        cmocka_unit_test(a_cancel_that_the_server_ignores_counts_when_the_connection_ends),
        cmocka_unit_test(the_server_is_gone_while_a_trial_runs_and_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
