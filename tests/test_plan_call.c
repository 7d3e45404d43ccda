/* POST /v1/plans: what it says, and what it refuses. */
#include "tests/snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SWEEP                                                                                      \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"                  \
    "'buffercount':[50,100],'targets':[{'name':'disk','paths':['/tmp']}]},"                        \
    "'design':{'repetitions':3,'warmups':1}}"

static cJSON *plan(struct harness *house, const char *body, int status)
{
    char *json = harness_json(body);
    cJSON *answer = harness_call(house, "POST", "/v1/plans", json, status);
    free(json);
    return answer;
}

static bool holds(const cJSON *array, const char *words)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array) {
        if (strstr(item->valuestring, words))
            return true;
    }
    return false;
}

static void tells_what_a_job_would_do(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':0}", LINUX_ALLOW);
    harness_ask(house->sim, "BACKUP DATABASE Sales TO DISK = 'NUL' WITH COPY_ONLY");
    cJSON *answer = plan(house, SWEEP, 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "arms")), 3);
    assert_string_equal(text_at(answer, "arms/1/label"), "BUFFERCOUNT=50");
    assert_int_equal(number_at(answer, "arms/1/settings/buffercount"), 50);
    assert_int_equal(number_at(answer, "arms/1/buffer_memory_mib"), 50);
    assert_true(cJSON_IsNull(at(answer, "arms/0/buffer_memory_mib")));
    assert_string_equal(
        text_at(answer, "arms/1/statements/0"),
        "BACKUP DATABASE [Sales] TO DISK = N'/tmp/sweetspot_{job}_{seq}_1.bak' WITH COPY_ONLY, "
        "BUFFERCOUNT = 50, NO_COMPRESSION, NAME = N'sweetspot:{job}:{seq}', STATS = 5");
    assert_int_equal(number_at(answer, "trials"), 12);
    double read = number_at(answer, "estimate/read_mib");
    assert_true(read > 0);
    assert_true(number_at(answer, "estimate/written_mib") == read);
    assert_true(holds(at(answer, "probes"), "sys.dm_exec_session_wait_stats"));
    assert_true(holds(at(answer, "probes"), "WHERE name = @P1"));
    assert_true(holds(at(answer, "permissions"), "db_backupoperator"));
    assert_int_equal(cJSON_GetArraySize(at(answer, "refusals")), 0);
    cJSON_Delete(answer);
    harness_stop(house);
}

/* Trials read as fast as the last full backups did: here 100 MiB/s at most. */
static void tells_how_long_by_the_last_full_backups(void **state)
{
    (void)state;
    struct harness *house =
        house_of("{'time_scale':0,'noise':0,'surface':{'read_mib_s':100},"
                 "'databases':[{'name':'Sales','mib':2000},{'name':'AdventureWorks'}]}",
                 LINUX_ALLOW);
    cJSON *answer = plan(house, SWEEP, 200);
    assert_true(cJSON_IsNull(at(answer, "estimate/minutes"))); /* msdb knows of none */
    cJSON_Delete(answer);
    harness_ask(house->sim, "BACKUP DATABASE Sales TO DISK = 'NUL' WITH COPY_ONLY");
    answer = plan(house, SWEEP, 200);
    assert_int_equal(number_at(answer, "trials"), 12);
    double at_best = 12 * 2000.0 / 100 / 60;
    double minutes = number_at(answer, "estimate/minutes");
    if (minutes < 0.9 * at_best || minutes > 3 * at_best)
        fail_msg("%g minutes, %g at best", minutes, at_best);
    assert_true(number_at(answer, "estimate/read_mib") > 12 * 1900);
    cJSON_Delete(answer);
    harness_stop(house);
}

static void tells_how_many_lines_go_to_the_error_log(void **state)
{
    (void)state;
    /* a line each: trials, tried folders, switches of the flag, snapshots, tried locations */
    static const struct {
        const char *body;
        int lines;
    } cases[] = {
        {"{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales','buffercount':"
         "[50,100]},'design':{'repetitions':2,'warmups':1}}",
         3 * 3},
        {"{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales','buffercount':"
         "[50],'targets':[{'name':'a','paths':['/tmp','/tmp/b']}],'confirm_on':{'name':'b','paths':"
         "['/tmp/c']}},'design':{'repetitions':2,'warmups':1}}",
         2 * 3 + 2 * 3 + 2 + 1},
        {"{'kind':'backup_throughput','instance':'sql01','parameters':{'databases':['Sales',"
         "'AdventureWorks'],'targets':[{'name':'a','paths':['/"
         "tmp']},{'name':'NUL','paths':['NUL']}]"
         "},'design':{'repetitions':3,'warmups':0}}",
         2 * 2 * 3 + 1},
        {"{'kind':'trace_flag','instance':'sql01','parameters':{'databases':['Sales'],'target':"
         "{'name':'a','paths':['/tmp']}},'design':{'repetitions':4,'warmups':0}}",
         8 + 1 + 4}, /* off on, on off, off on, on off: on twice, off twice */
        {"{'kind':'snapshot_overhead','instance':'sql01','parameters':{'database':'AdventureWorks',"
         "'snapshots':[0,1,2],'locations':[{'name':'a','path':'/tmp'},{'name':'b','path':'/tmp/"
         "b'}],"
         "'workload':{'select_into':{'source':'Sales.Big','rows':40}}},'design':{'repetitions':2,"
         "'warmups':0}}",
         2 * 2 * (1 + 2) + 2},
        {"{'kind':'backup_history','instance':'sql01','parameters':{}}", 0},
    };
    struct harness *house =
        house_of("{'time_scale':0}", "'allow':{'paths':['/tmp'],'trace_flags':[3042]},'limits':{"
                                     "'min_free_disk_mib':1}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *answer = plan(house, cases[i].body, 200);
        int lines = (int)number_at(answer, "estimate/error_log_lines");
        if (lines != cases[i].lines)
            fail_msg("%d instead of %d: %s", lines, cases[i].lines, cases[i].body);
        cJSON_Delete(answer);
    }
    harness_stop(house);
}

static void an_instance_that_is_not_reached_stands_in_the_refusals(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':0}", LINUX_ALLOW);
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01",
                              "{\"host\":\"127.0.0.1\",\"port\":1,\"login\":\"sa\",\"password\":"
                              "{\"env\":\"SWEETSPOT_SECRET_SIM\"},\"environment\":\"test\","
                              "\"allow\":{\"paths\":[\"/tmp\"]}}",
                              200));
    cJSON *answer = plan(house, SWEEP, 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "refusals")), 1);
    assert_int_equal(cJSON_GetArraySize(at(answer, "arms")), 3);
    assert_true(holds(at(answer, "arms/0/statements"), "xp_delete_files"));
    assert_true(holds(at(answer, "arms/0/statements"), "xp_delete_file 0"));
    assert_true(cJSON_IsNull(at(answer, "estimate/read_mib")));
    cJSON_Delete(answer);
    harness_stop(house);
}

static void what_a_submit_refuses_is_refused_alike(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':0}", LINUX_ALLOW);
    cJSON *problem =
        plan(house, "{'kind':'backup_sweep','instance':'nobody','parameters':{}}", 400);
    assert_int_equal(cJSON_GetArraySize(at(problem, "errors")) > 0, 1);
    cJSON_Delete(problem);
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01",
                              "{\"host\":\"127.0.0.1\",\"port\":1,\"login\":\"sa\",\"password\":"
                              "{\"env\":\"SWEETSPOT_SECRET_SIM\"},"
                              "\"allow\":{\"paths\":[\"/tmp\"]}}",
                              200));
    cJSON *answer = plan(house, SWEEP, 200);
    assert_true(holds(at(answer, "refusals"), "confirm_production"));
    cJSON_Delete(answer);
    harness_stop(house);
}

static void what_the_server_refuses_names_number_and_grant(void **state)
{
    (void)state;
    struct harness *house = house_of(
        "{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':false,"
        "'permissions':['VIEW ANY DEFINITION']}]}",
        "'allow':{'paths':['/tmp'],'trace_flags':[3042]},'limits':{'min_free_disk_mib':1}");
    cJSON *answer = plan(house,
                         "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':["
                         "'Sales'],'target':{'name':'d','paths':['/tmp']}}}",
                         200);
    assert_true(holds(at(answer, "refusals"), "(2571)"));
    assert_true(holds(at(answer, "refusals"), "the login lacks sysadmin"));
    assert_true(holds(at(answer, "warnings"), "VIEW SERVER"));
    cJSON_Delete(answer);
    answer = plan(house,
                  "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'None','"
                  "buffercount':[50]}}",
                  200);
    assert_true(holds(at(answer, "refusals"), "(911)"));
    cJSON_Delete(answer);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_a_job_would_do),
        cmocka_unit_test(tells_how_long_by_the_last_full_backups),
        cmocka_unit_test(tells_how_many_lines_go_to_the_error_log),
        cmocka_unit_test(an_instance_that_is_not_reached_stands_in_the_refusals),
        cmocka_unit_test(what_a_submit_refuses_is_refused_alike),
        cmocka_unit_test(what_the_server_refuses_names_number_and_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
