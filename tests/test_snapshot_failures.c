/* What goes wrong while snapshot_overhead runs, and workloads of the job's own: afterwards nothing
 * of ours is on the simulator. */
#include "jobs/ending.h"
#include "jobs/kinds/snapshot.h"
#include "server/limits.h"
#include "tests/snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- what goes wrong ------------------------------------------------------------------------ */

static int count_trials(struct harness *house, const char *id, const char *status, int number)
{
    cJSON *trials = trials_of(house, id);
    int count = 0;
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        const cJSON *error = at(trial, "error");
        count += strcmp(text_at(trial, "status"), status) == 0 &&
                 (number == 0 || (cJSON_IsObject(error) && number_at(error, "number") == number));
    }
    cJSON_Delete(trials);
    return count;
}

static void a_full_snapshot_disk_fails_the_trial_and_nothing_else(void **state)
{
    (void)state;
    struct harness *house =
        house_of("{'time_scale':0,'volumes':[{'mount':'/','total_mib':65536,'used_mib':9000},"
                 "{'mount':'/var/opt/mssql/backup','total_mib':10,'used_mib':10}]}",
                 LINUX_ALLOW);
    inject(house, "{'do':'hide','match':'dm_os_enumerate_fixed_drives'}");
    inject(house, "{'do':'hide','match':'dm_os_volume_stats'}");
    char *id = harness_submit(
        house,
        SNAPSHOTS(ON_ADVENTURE ",'locations':[{'name':'full','path':'/var/opt/mssql/backup'},"
                               "{'name':'roomy','path':'/tmp'}]",
                  ",'design':{'repetitions':2,'warmups':0},'assume_free_mib':100000"));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "cleanup"), "done");
    expect_clean(house, "AdventureWorks");
    assert_int_equal(count_trials(house, id, "failed", 5128), 2); /* each arm once */
    assert_int_equal(count_trials(house, id, "ok", 0), 6);
    cJSON *report = report_of(house, id);
    assert_true(warns(report, "is suspect: its volume was full"));
    assert_true(cJSON_IsNull(at(report, "overhead/0/ratio")));
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void an_error_5128_fails_the_trial_and_drops_its_snapshots(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    inject(house, "{'do':'error','match':'SELECT TOP (" ROWS ") * INTO','number':5128,'nth':2,"
                  "'text':'Write to sparse file failed due to lack of disk space.'}");
    char *id = harness_submit(
        house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ",'design':{'repetitions':3,'warmups':0}"));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "cleanup"), "done");
    expect_clean(house, "AdventureWorks");
    assert_int_equal(count_trials(house, id, "failed", 5128), 1);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_deadlock_repeats_the_trial_with_fresh_snapshots(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    inject(house, "{'do':'error','match':'SELECT TOP (" ROWS ") * INTO','number':1205,"
                  "'text':'deadlock victim'}");
    char *id = harness_submit(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE));
    cJSON *job = harness_wait(house, id);
    expect_clean(house, "AdventureWorks");
    assert_int_equal(count_trials(house, id, "contaminated", 1205), 1);
    assert_int_equal(count_trials(house, id, "ok", 0), 3);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_connection_lost_on_the_way_leaves_nothing(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "{'do':'drop_after','match':'CREATE DATABASE','nth':1}", /* while the place is tried */
        "{'do':'drop_after','match':'CREATE DATABASE','nth':3}",
        "{'do':'drop_before','match':'SELECT recovery_model','nth':2}", /* while it is prepared */
        "{'do':'drop_before','match':'SELECT TOP (" ROWS ")','nth':2}",
        "{'do':'drop_after','match':'SELECT TOP (" ROWS ")','nth':2}",
        "{'do':'drop_after','match':'DROP DATABASE','nth':2}",
    };
    ending_set_first_retry(1);
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        inject(house, faults[i]);
        char *id = harness_submit(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE));
        cJSON_Delete(expect_end(house, id, MEASURED, "done"));
        assert_int_equal(count_trials(house, id, "ok", 0), 3);
        sim_fault_clear(house->sim);
        free(id);
    }
    harness_stop(house);
}

static void a_cancel_stops_the_workload_and_drops_everything(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "{'do':'hold_before','match':'SELECT TOP (" ROWS ")','nth':2}",
        "{'do':'hold_before','match':'CREATE DATABASE','nth':3}",
    };
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        inject(house, faults[i]);
        char *id = harness_submit(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE));
        assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
        char *target = mem_format("/v1/jobs/%s/cancel", id);
        cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
        cJSON_Delete(expect_end(house, id, "cancelled", "done"));
        sim_fault_clear(house->sim);
        free(target);
        free(id);
    }
    harness_stop(house);
}

/* One setting only is given up: the others are measured, and the job has its answer. */
static void snapshots_that_get_too_old_end_their_trial(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    /* the workload of the second trial (the baseline comes first or last), beside its snapshots */
    inject(house, "{'do':'hold_before','match':'CREATE DATABASE','nth':3}");
    snapshot_set_longest(1);
    char *id = harness_submit(house, SNAPSHOTS(ON_ADVENTURE "," PLACES ",'snapshots':[0,2]", ONCE));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    cJSON *job = expect_end(house, id, MEASURED, "done");
    snapshot_set_longest(INT64_C(1000) * LIMIT_SNAPSHOT_S);
    cJSON *trials = trials_of(house, id);
    const cJSON *trial;
    int given_up = 0;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        if (strcmp(text_at(trial, "status"), "failed") == 0)
            given_up += strstr(text_at(trial, "error/message"), "would have been older") != NULL;
        else
            assert_string_equal(text_at(trial, "status"), "ok");
    }
    assert_int_equal(given_up, 1);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_ATTENTIONS, NULL, 1, 1000), 0);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_daemon_that_stops_goes_on_where_it_was(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    inject(house, "{'do':'hold_before','match':'SELECT TOP (" ROWS ")','nth':5}");
    char *id = harness_submit(
        house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ",'design':{'repetitions':3,'warmups':0}"));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    int before = sim_database_count(house->sim);
    harness_stop_daemon(house);
    assert_true(sim_database_count(house->sim) <= before);
    expect_no_files(house);
    sim_fault_clear(house->sim);
    harness_start_daemon(house);
    cJSON_Delete(expect_end(house, id, MEASURED, "done"));
    assert_int_equal(count_trials(house, id, "ok", 0), 9);
    free(id);
    harness_stop(house);
}

static void warns_of_somebody_elses_snapshot_and_leaves_it_alone(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    (void)harness_ask(house->sim, "CREATE DATABASE Nightly ON (NAME = AdventureWorks, "
                                  "FILENAME = '/tmp/nightly.ss') AS SNAPSHOT OF AdventureWorks");
    int before = sim_database_count(house->sim);
    char *id = harness_submit(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE));
    cJSON_Delete(expect_end(house, id, MEASURED, "done"));
    assert_int_equal(sim_database_count(house->sim), before);
    assert_int_equal(
        harness_ask(house->sim, "SELECT COUNT(*) FROM sys.databases WHERE name = 'Nightly'"), 1);
    cJSON *report = report_of(house, id);
    assert_true(warns(report, "1 snapshot(s) that are not this job's (Nightly)"));
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

/* --- a workload of the job's own ------------------------------------------------------------ */

#define CUSTOM_LOGIN(role)                                                                         \
    "{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true},"            \
    "{'name':'bench','password':'b','roles':{'AdventureWorks':[" role "]}}]}"
#define SYSADMIN_TOO                                                                               \
    "{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true},"            \
    "{'name':'bench','password':'b','sysadmin':true}]}"
#define CUSTOM_ALLOW                                                                               \
    "'allow':{'paths':['/tmp'],'custom_sql':true},'limits':{'min_free_disk_mib':1},"               \
    "'custom_login':'bench','custom_password':{'env':'SWEETSPOT_SECRET_BENCH'}"
#define CUSTOM                                                                                     \
    SNAPSHOTS("'database':'AdventureWorks','locations':[{'name':'tmp','path':'/tmp'}],"            \
              "'workload':{'sql':'UPDATE Sales.Big SET id = id + 1','setup':'SELECT 1',"           \
              "'teardown':'SELECT 2'}",                                                            \
              ONCE)

static void runs_sql_of_the_jobs_own_under_a_login_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(setenv("SWEETSPOT_SECRET_BENCH", "b", 1), 0);
    struct harness *house = house_of(CUSTOM_LOGIN("'db_datareader'"), CUSTOM_ALLOW);
    sim_forget_statements(house->sim);
    char *id = harness_submit(house, CUSTOM);
    cJSON *job = expect_end(house, id, MEASURED, "done");
    cJSON *report = report_of(house, id);
    assert_true(cJSON_IsTrue(at(report, "custom_sql")));
    assert_int_equal(sim_count_statements(house->sim, "UPDATE Sales.Big"), 3);
    assert_int_equal(sim_count_statements(house->sim, "SELECT 1"), 3);
    assert_int_equal(sim_count_statements(house->sim, "SELECT 2"), 3);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void refuses_a_login_that_is_more_than_it_may_be(void **state)
{
    (void)state;
    static const char *const scenarios[] = {CUSTOM_LOGIN("'db_owner'"),
                                            CUSTOM_LOGIN("'db_backupoperator'"), SYSADMIN_TOO};
    static const char *const words[] = {
        "is a member of db_owner", "is a member of db_backupoperator", "is a member of sysadmin"};
    assert_int_equal(setenv("SWEETSPOT_SECRET_BENCH", "b", 1), 0);
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        struct harness *house = house_of(scenarios[i], CUSTOM_ALLOW);
        expect_job(house, CUSTOM, "failed", "none", words[i]);
        assert_int_equal(sim_count_statements(house->sim, "UPDATE"), 0);
        harness_stop(house);
    }
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    cJSON_Delete(harness_call(house, "POST", "/v1/jobs", CUSTOM, 400));
    harness_stop(house);
}

static void a_cancel_stops_sql_of_the_jobs_own_and_tears_it_down(void **state)
{
    (void)state;
    assert_int_equal(setenv("SWEETSPOT_SECRET_BENCH", "b", 1), 0);
    struct harness *house = house_of(CUSTOM_LOGIN("'db_datareader'"), CUSTOM_ALLOW);
    inject(house, "{'do':'hold_before','match':'UPDATE','nth':2}");
    char *id = harness_submit(house, CUSTOM);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON_Delete(expect_end(house, id, "cancelled", "done"));
    assert_int_equal(sim_count_statements(house->sim, "SELECT 2"), 2);
    free(target);
    free(id);
    harness_stop(house);
}

/* Nothing disturbs a teardown, so that it must end of itself: else a cancel would never. */
static void a_teardown_that_does_not_end_is_given_up(void **state)
{
    (void)state;
    assert_int_equal(setenv("SWEETSPOT_SECRET_BENCH", "b", 1), 0);
    struct harness *house = house_of(CUSTOM_LOGIN("'db_datareader'"), CUSTOM_ALLOW);
    snapshot_set_teardown_seconds(1);
    inject(house, "{'do':'hold_before','match':'SELECT 2','nth':1}");
    char *id = harness_submit(house, CUSTOM);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON_Delete(expect_end(house, id, "cancelled", "done"));
    snapshot_set_teardown_seconds(LIMIT_TEARDOWN_S);
    free(target);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_snapshot_disk_fails_the_trial_and_nothing_else),
        cmocka_unit_test(an_error_5128_fails_the_trial_and_drops_its_snapshots),
        cmocka_unit_test(a_deadlock_repeats_the_trial_with_fresh_snapshots),
        cmocka_unit_test(a_connection_lost_on_the_way_leaves_nothing),
        cmocka_unit_test(a_cancel_stops_the_workload_and_drops_everything),
        cmocka_unit_test(snapshots_that_get_too_old_end_their_trial),
        cmocka_unit_test(a_daemon_that_stops_goes_on_where_it_was),
        cmocka_unit_test(warns_of_somebody_elses_snapshot_and_leaves_it_alone),
        cmocka_unit_test(runs_sql_of_the_jobs_own_under_a_login_of_its_own),
        cmocka_unit_test(refuses_a_login_that_is_more_than_it_may_be),
        cmocka_unit_test(a_cancel_stops_sql_of_the_jobs_own_and_tears_it_down),
        cmocka_unit_test(a_teardown_that_does_not_end_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
