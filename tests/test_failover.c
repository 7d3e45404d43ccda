/* What becomes of a database between two trials of a job: its availability group is failed over, or
 * it cannot be used any more. */
#include "server/mem.h"
#include "tests/snapshot_kit.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define TWO ",'design':{'repetitions':2,'warmups':0,'order':'sequential'}"
#define BACKUP "BACKUP DATABASE [Sales]"
#define LOOK "SELECT TOP (1) command"
#define IN_GROUP(role) "{'time_scale':0,'databases':[{'name':'Sales','replica_role':'" role "'}]}"

/* The second trial is held, something happens, and it ends well. */
static cJSON *change_in_the_middle(struct harness *house, const char *change, char **out_id)
{
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'" BACKUP "','nth':2}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", TWO));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_fault(house->sim, change);
    sim_release(house->sim);
    *out_id = id;
    return harness_wait(house, id);
}

static void a_database_that_is_another_one_now_ends_the_job_before_the_next_trial(void **state)
{
    (void)state;
    static const struct {
        const char *scenario, *change;
        int number; /* 0: none */
        const char *words;
    } cases[] = {
        {IN_GROUP("PRIMARY"), "{'do':'replica_role','kind':'SECONDARY'}", 976,
         "database Sales was failed over: it was the primary replica"},
        {IN_GROUP("PRIMARY"), "{'do':'replica_role','kind':'RESOLVING'}", 983,
         "is resolving its role"},
        {IN_GROUP("SECONDARY"), "{'do':'replica_role','kind':'PRIMARY'}", 0, "is the primary now"},
        {NULL, "{'do':'database_state','kind':'OFFLINE'}", 942, "database Sales is offline"},
        {NULL, "{'do':'database_state','kind':'SUSPECT'}", 926, "database Sales is suspect"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct harness *house = harness_start(cases[i].scenario);
        char *id = NULL;
        harness_register(house, NULL);
        cJSON *job = change_in_the_middle(house, cases[i].change, &id);
        assert_string_equal(text_at(job, "state"), "failed");
        if (!sweep_error_says(job, cases[i].words))
            fail_msg("%s: %s", cases[i].words, cJSON_PrintUnformatted(at(job, "error")));
        if (cases[i].number)
            assert_int_equal(number_at(job, "error/number"), cases[i].number);
        else
            assert_true(cJSON_IsNull(at(job, "error/number")));
        assert_int_equal(sim_count_statements(house->sim, BACKUP), 2); /* no third one */
        cJSON *trials = sweep_trials_of(house, id);
        assert_int_equal(cJSON_GetArraySize(at(trials, "items")), 2);
        assert_string_equal(text_at(trials, "items/0/status"), "ok"); /* what stands is kept */
        cJSON_Delete(sweep_report_of(house, id));
        cJSON_Delete(trials);
        cJSON_Delete(job);
        free(id);
        harness_stop(house);
    }
}

/* What the job was prepared with is stored. */
static void a_failover_while_the_daemon_is_down_is_seen_too(void **state)
{
    (void)state;
    struct harness *house = harness_start(IN_GROUP("PRIMARY"));
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'" BACKUP "','nth':2}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", TWO));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    harness_stop_daemon(house);
    sweep_fault(house->sim, "{'do':'replica_role','kind':'SECONDARY'}");
    harness_start_daemon(house);
    cJSON *job = harness_wait(house, id);
    assert_int_equal(number_at(job, "error/number"), 976);
    assert_int_equal(sim_count_statements(house->sim, BACKUP), 2);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void snapshots_are_not_made_on_a_database_that_was_failed_over(void **state)
{
    (void)state;
    struct harness *house =
        house_of("{'time_scale':0,'databases':[{'name':'AdventureWorks','mib':8,'recovery':'FULL',"
                 "'replica_role':'PRIMARY'}]}",
                 LINUX_ALLOW);
    inject(house, "{'do':'hold_before','match':'SELECT TOP (" ROWS ") * INTO','nth':2}");
    char *id = harness_submit(
        house,
        SNAPSHOTS(ON_ADVENTURE "," PLACES ",'snapshots':[0,1],'confirm_log_growth':true", TWO));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    inject(house, "{'do':'replica_role','database':'AdventureWorks','kind':'SECONDARY'}");
    sim_release(house->sim);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_int_equal(number_at(job, "error/number"), 976);
    assert_int_equal(sim_count_statements(house->sim, "CREATE DATABASE [sweetspot"), 2);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

/* No look more than before, but for the one that shows that there is nothing to see. */
static void servers_without_the_views_are_measured(void **state)
{
    (void)state;
    static const struct {
        const char *scenario, *fault;
        int all; /* looks for others' work: the preflight's, and before, around and after 4 trials
                  */
        int of_database; /* those that see the database, too */
    } cases[] = {
        {NULL, NULL, 13, 4},
        {NULL, "{'do':'hide','match':'dm_hadr_availability_replica_states'}", 14, 1},
        {"{'time_scale':0,'version':'10.50.6000.34','platform':'Windows'}", NULL, 13, 0},
        {"{'time_scale':0,'version':'11.0.7001.0','platform':'Windows'}", NULL, 13, 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct harness *house = harness_start(cases[i].scenario);
        harness_register(house, NULL);
        if (cases[i].fault)
            sweep_fault(house->sim, cases[i].fault);
        cJSON *job = sweep_run(house, SWEEP(",'buffercount':[50]", TWO), NULL);
        assert_string_not_equal(text_at(job, "state"), "failed");
        assert_int_equal(sim_count_statements(house->sim, LOOK), cases[i].all);
        assert_int_equal(sim_count_statements(house->sim, LOOK ", d.state"), cases[i].of_database);
        cJSON_Delete(job);
        harness_stop(house);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_database_that_is_another_one_now_ends_the_job_before_the_next_trial),
        cmocka_unit_test(a_failover_while_the_daemon_is_down_is_seen_too),
        cmocka_unit_test(snapshots_are_not_made_on_a_database_that_was_failed_over),
        cmocka_unit_test(servers_without_the_views_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
