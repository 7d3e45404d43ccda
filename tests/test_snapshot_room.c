/* Volumes that fill while snapshot_overhead runs: the source's own and the snapshots'. Time is
 * passed by the tests (server/clock.h). */
#include "server/clock.h"
#include "tests/snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILLS (getenv("SWEETSPOT_TEST_LONG") ? 100 : 25)
#define MARGIN                                                                                     \
    "'allow':{'paths':['/var/opt/mssql/backup','/tmp']},'limits':{'min_free_disk_mib':1024}"
#define DESIGN ",'design':{'repetitions':1,'warmups':0,'order':'sequential'}"
#define TWO_SNAPSHOTS SNAPSHOTS(ON_ADVENTURE "," PLACES ",'snapshots':[0,2]", DESIGN)
#define WORKLOAD "SELECT TOP (" ROWS ") * INTO"
#define SOURCE "/var/opt/mssql/data"
#define BACKUP "/var/opt/mssql/backup"
#define CREATE "CREATE DATABASE [sweetspot"

static int set_up(void **state)
{
    clock_pass_ms(0);
    *state = house_of(NULL, MARGIN);
    return 0;
}

static void set_free(struct harness *house, const char *path, int mib)
{
    char *fault = mem_format("{'do':'fill_volume','path':'%s','free_mib':%d}", path, mib);
    inject(house, fault);
    free(fault);
}

static void hold(struct harness *house, const char *match, int nth)
{
    char *fault = mem_format("{'do':'hold_before','match':'%s','nth':%d}", match, nth);
    inject(house, fault);
    free(fault);
}

static cJSON *last_trial(const cJSON *trials)
{
    const cJSON *items = at(trials, "items");
    return cJSON_GetArrayItem(items, cJSON_GetArraySize(items) - 1);
}

/* One volume falls to 700 MiB while the nth of these statements runs; the job's error or NULL. */
static void fill_once(struct harness *house, const char *path, const char *match, int nth)
{
    set_free(house, SOURCE, 20480);
    set_free(house, BACKUP, 20480);
    hold(house, match, nth);
    char *id = harness_submit(house, TWO_SNAPSHOTS);
    harness_wait_held(house);
    set_free(house, path, 700);
    clock_pass_ms(1000);
    cJSON *job = harness_wait(house, id);
    cJSON *trials = trials_of(house, id);
    const cJSON *trial = last_trial(trials);
    assert_string_equal(text_at(trial, "status"), "failed");
    assert_non_null(strstr(text_at(trial, "error/message"), path));
    assert_non_null(strstr(text_at(trial, "error/message"), "fell to 700 MiB free while the trial "
                                                            "ran, and min_free_disk_mib keeps "
                                                            "1024 MiB: the trial was cancelled"));
    assert_string_equal(text_at(job, "cleanup"), "done");
    expect_clean(house, "AdventureWorks");
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
}

static void a_volume_that_fills_cancels_the_workload_while_there_is_room(void **state)
{
    struct harness *house = *state;
    for (int i = 0; i < FILLS; i++)
        fill_once(house, i % 2 ? SOURCE : BACKUP, WORKLOAD, 2); /* under two snapshots */
    assert_true(sim_count_statements(house->sim, "(attention)") >= FILLS);
    assert_int_equal(sim_count_statements(house->sim, WORKLOAD), 2 * FILLS);
    print_message("%d of %d workloads cancelled above 0 free\n", FILLS, FILLS);
}

static void a_volume_that_fills_cancels_the_making_of_a_snapshot(void **state)
{
    struct harness *house = *state;
    fill_once(house, BACKUP, CREATE, 3); /* the first one tries the location */
    assert_int_equal(sim_count_statements(house->sim, WORKLOAD), 1);
    fill_once(house, SOURCE, CREATE, 2);
}

/* The files have grown: nothing further is begun. */
static void a_source_without_room_ends_the_job_and_keeps_it_from_starting(void **state)
{
    struct harness *house = *state;
    hold(house, WORKLOAD, 1);
    char *id = harness_submit(house, TWO_SNAPSHOTS);
    harness_wait_held(house);
    set_free(house, SOURCE, 700);
    clock_pass_ms(1000);
    cJSON *job = expect_end(house, id, "failed", "done");
    assert_non_null(strstr(text_at(job, "error/message"),
                           SOURCE "/ has 700 MiB free, and min_free_disk_mib keeps 1024 MiB: no "
                                  "trial is begun"));
    assert_int_equal(sim_count_statements(house->sim, WORKLOAD), 1);
    cJSON_Delete(job);
    free(id);
    sim_forget_statements(house->sim);
    expect_job(house, TWO_SNAPSHOTS, "failed", "none", "no trial is begun");
    assert_int_equal(sim_count_statements(house->sim, CREATE), 0);
}

static void a_server_that_shows_no_volumes_is_measured_and_says_so(void **state)
{
    struct harness *house = *state;
    inject(house, "{'do':'hide','match':'dm_os_volume_stats'}");
    inject(house, "{'do':'hide','match':'dm_os_enumerate_fixed_drives'}");
    char *id =
        harness_submit(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE ",'assume_free_mib':100000"));
    cJSON_Delete(expect_end(house, id, MEASURED, "done"));
    cJSON *report = report_of(house, id);
    assert_true(warns(report, "free space was not watched while each trial ran"));
    cJSON_Delete(report);
    free(id);
}

static void a_server_without_dm_os_volume_stats_is_watched_by_its_drives(void **state)
{
    struct harness *house = *state;
    inject(house, "{'do':'hide','match':'dm_os_volume_stats'}");
    fill_once(house, SOURCE, WORKLOAD, 2);
    fill_once(house, BACKUP, WORKLOAD, 2);
}

static void sql_of_the_jobs_own_is_watched_too(void **state)
{
    (void)state;
    clock_pass_ms(0);
    assert_int_equal(setenv("SWEETSPOT_SECRET_BENCH", "b", 1), 0);
    struct harness *house =
        house_of("{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true},"
                 "{'name':'bench','password':'b','roles':{'AdventureWorks':['db_datareader']}}]}",
                 "'allow':{'paths':['/tmp'],'custom_sql':true},"
                 "'limits':{'min_free_disk_mib':1024},'custom_login':'bench',"
                 "'custom_password':{'env':'SWEETSPOT_SECRET_BENCH'}");
    hold(house, "UPDATE", 2);
    char *id = harness_submit(
        house, SNAPSHOTS("'database':'AdventureWorks','locations':[{'name':'tmp','path':'/tmp'}],"
                         "'snapshots':[0,2],'workload':{'sql':'UPDATE Sales.Big SET id = id + 1',"
                         "'setup':'SELECT 1','teardown':'SELECT 2'}",
                         DESIGN));
    harness_wait_held(house);
    set_free(house, SOURCE, 700);
    clock_pass_ms(1000);
    cJSON_Delete(harness_wait(house, id));
    cJSON *trials = trials_of(house, id);
    assert_non_null(strstr(text_at(last_trial(trials), "error/message"), "fell to 700 MiB free"));
    assert_string_equal(text_at(last_trial(trials), "error/step"), "workload");
    assert_int_equal(sim_count_statements(house->sim, "SELECT 2"), 2); /* torn down */
    expect_clean(house, "AdventureWorks");
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
    clock_reset();
}

#define TIMED(name) cmocka_unit_test_setup_teardown(name, set_up, harness_tear_down_timed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TIMED(a_volume_that_fills_cancels_the_workload_while_there_is_room),
        TIMED(a_volume_that_fills_cancels_the_making_of_a_snapshot),
        TIMED(a_source_without_room_ends_the_job_and_keeps_it_from_starting),
        TIMED(a_server_that_shows_no_volumes_is_measured_and_says_so),
        TIMED(a_server_without_dm_os_volume_stats_is_watched_by_its_drives),
        cmocka_unit_test(sql_of_the_jobs_own_is_watched_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
