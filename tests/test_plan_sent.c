/* A run sends nothing but its plan's statements, {job} and {seq} filled in, and its probes. */
#include "server/buf.h"
#include "tests/snapshot_kit.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DISK "{'name':'disk','paths':['@'],'files':2}"
#define TWICE ",'design':{'repetitions':1,'warmups':1}}"
#define ODD "a]b\\u0027c \\u0022d\\u0022 \xe8\xb3\x87\xe6\x96\x99 \xf0\x9f\x8d\xaf"

/* @ stands for the folder. */
static const char *const jobs[] = {
    ("{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"
     "'buffercount':['default',50],'targets':[" DISK "]}" TWICE),
    ("{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"
     "'buffercount':['default',50,100],'files':[1,3],'targets':[{'name':'NUL','paths':['NUL']}],"
     "'confirm_on':{'name':'there','paths':['@']}}" TWICE),
    ("{'kind':'backup_throughput','instance':'sql01','parameters':{'databases':['Sales','" ODD
     "'],'targets':[" DISK "]}" TWICE),
    ("{'kind':'snapshot_overhead','instance':'sql01','parameters':{" ON_ADVENTURE
     ",'snapshots':[0,1,2],'locations':[{'name':'a','path':'@'},{'name':'b','path':'@'}]}" TWICE),
    ("{'kind':'backup_history','instance':'sql01','parameters':{'databases':['Sales','x'],"
     "'types':['full'],'since':'2020-01-01T00:00:00Z'}}"),
};
static const char flag_job[] =
    "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':['Sales'],'target':" DISK
    "}" TWICE; /* 2005 does not compress */

/* True when text is the template with this job's id and some number for each {seq}. */
static bool fills(const char *template, const char *job, const char *text)
{
    while (*template) {
        if (strncmp(template, "{job}", 5) == 0) {
            if (strncmp(text, job, strlen(job)) != 0)
                return false;
            text += strlen(job);
            template += 5;
        } else if (strncmp(template, "{seq}", 5) == 0) {
            if (!isdigit((unsigned char)*text))
                return false;
            text += strspn(text, "0123456789");
            template += 5;
        } else if (*template ++ != *text++) {
            return false;
        }
    }
    return *text == '\0' || strncmp(text, " /*", 3) == 0; /* its bound values */
}

static bool stands_in_plan(const cJSON *plan, const char *job, const char *text)
{
    const cJSON *arm;
    const cJSON *statement;
    cJSON_ArrayForEach(arm, at(plan, "arms")) {
        cJSON_ArrayForEach(statement, at(arm, "statements")) {
            if (fills(statement->valuestring, job, text))
                return true;
        }
    }
    cJSON_ArrayForEach(statement, at(plan, "probes")) {
        if (fills(statement->valuestring, job, text))
            return true;
    }
    return false;
}

static void expect_only_the_plan(struct harness *house, const cJSON *plan, const char *job)
{
    size_t count = 0;
    char **texts = sim_statements(house->sim, &count);
    assert_true(count > 5);
    for (size_t i = 0; i < count; i++)
        if (!stands_in_plan(plan, job, texts[i]))
            fail_msg("not in the plan: %s", texts[i]);
    sim_texts_free(texts, count);
}

/* What SQL Server writes a line of its error log for. */
static int count_logged(struct sim *sim)
{
    static const char *const logged[] = {"BACKUP ", "DBCC TRACEON", "DBCC TRACEOFF",
                                         "CREATE DATABASE"};
    int count = 0;
    for (size_t i = 0; i < sizeof logged / sizeof logged[0]; i++)
        count += sim_count_statements(sim, logged[i]);
    return count;
}

/* As many as announced; a confirmation that does not follow takes its own with it. */
static void expect_log_lines(struct harness *house, const cJSON *plan, const cJSON *job)
{
    int announced = (int)number_at(plan, "estimate/error_log_lines");
    int left_out = (int)(number_at(plan, "trials") - number_at(job, "progress/trials_done"));
    assert_int_equal(count_logged(house->sim), announced - left_out);
}

/* Every backup of the job stands in msdb under sweetspot:JOB:TRIAL and as a copy, so that whoever
 * reads the history can leave it out. */
static void expect_known_history(struct harness *house, const char *job, int sent)
{
    char *known = mem_format("SELECT COUNT(*) FROM msdb.dbo.backupset WHERE is_copy_only = 1 AND "
                             "name LIKE 'sweetspot:%s:[0-9]%%'",
                             job);
    assert_int_equal(harness_ask(house->sim, known), sent);
    assert_int_equal(harness_ask(house->sim,
                                 "SELECT COUNT(*) FROM msdb.dbo.backupset WHERE is_copy_only = 0"
                                 " OR name IS NULL OR name NOT LIKE 'sweetspot:%:[0-9]%'"),
                     0);
    free(known);
}

static char *at_folder(const char *body, const char *folder)
{
    struct buf text = {0};
    for (; *body; body++)
        if (*body == '@')
            buf_add(&text, folder);
        else
            buf_add_char(&text, *body);
    return buf_take(&text);
}

static void runs_as_planned(struct harness *house, const char *body, const char *folder)
{
    char *text = at_folder(body, folder);
    char *json = harness_json(text);
    cJSON *plan = harness_call(house, "POST", "/v1/plans", json, 200);
    if (cJSON_GetArraySize(at(plan, "refusals")) > 0)
        fail_msg("%s: %s", text, cJSON_PrintUnformatted(at(plan, "refusals")));
    sim_forget_statements(house->sim);
    char *id = harness_submit(house, text);
    cJSON *job = harness_wait(house, id);
    if (strcmp(text_at(job, "state"), "failed") == 0)
        fail_msg("%s: %s", text, cJSON_PrintUnformatted(job));
    expect_only_the_plan(house, plan, id);
    expect_log_lines(house, plan, job);
    expect_known_history(house, id, sim_count_statements(house->sim, "BACKUP "));
    if (cJSON_GetArraySize(at(plan, "arms")) > 0)
        assert_true(number_at(job, "progress/trials_done") <= number_at(plan, "trials"));
    cJSON_Delete(job);
    free(id);
    cJSON_Delete(plan);
    free(json);
    free(text);
}

#define SCENARIO                                                                                   \
    "{'time_scale':0,'version':'%s','platform':'%s','databases':[{'name':'Sales'},{'name':'" ODD   \
    "'},{'name':'AdventureWorks','recovery':'SIMPLE'}]}"

static void on_server(const char *version, const char *platform, const char *folder)
{
    char *scenario = mem_format(SCENARIO, version, platform);
    char *allow = mem_format("'allow':{'paths':['%s'],'trace_flags':[3042]},"
                             "'limits':{'min_free_disk_mib':1}",
                             folder);
    struct harness *house = house_of(scenario, allow);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        runs_as_planned(house, jobs[i], folder);
    if (strncmp(version, "9.", 2) != 0)
        runs_as_planned(house, flag_job, folder);
    harness_stop(house);
    free(allow);
    free(scenario);
}

static void every_kind_sends_its_plan_on_windows(void **state)
{
    (void)state;
    on_server("9.0.5000.0", "Windows", "D:\\\\Backup");
    on_server("13.0.6300.2", "Windows", "D:\\\\Backup");
    on_server("17.0.1000.7", "Windows", "D:\\\\Backup");
}

static void every_kind_sends_its_plan_on_linux(void **state)
{
    (void)state;
    on_server("14.0.3456.2", "Linux", "/var/opt/mssql/backup");
    on_server("16.0.4100.1", "Linux", "/var/opt/mssql/backup");
}

static void a_workload_of_the_jobs_own_is_shown_as_it_is_sent(void **state)
{
    (void)state;
    assert_int_equal(setenv("SWEETSPOT_SECRET_BENCH", "b", 1), 0);
    struct harness *house =
        house_of("{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1',"
                 "'sysadmin':true},{'name':'bench','password':'b','roles':{'AdventureWorks':["
                 "'db_datareader']}}]}",
                 "'allow':{'paths':['/tmp'],'custom_sql':true},'limits':{'min_free_disk_mib':1},"
                 "'custom_login':'bench','custom_password':{'env':'SWEETSPOT_SECRET_BENCH'}");
    runs_as_planned(house,
                    SNAPSHOTS("'database':'AdventureWorks','locations':[{'name':'tmp','path':'@'}],"
                              "'workload':{'sql':'UPDATE Sales.Big SET id = id + 1',"
                              "'setup':'SELECT 1','teardown':'SELECT 2'}",
                              ONCE),
                    "/tmp");
    harness_stop(house);
}

static void planning_changes_nothing_on_the_server(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':0}", LINUX_ALLOW);
    sim_forget_statements(house->sim);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        char *text = at_folder(jobs[i], "/tmp");
        char *json = harness_json(text);
        cJSON_Delete(harness_call(house, "POST", "/v1/plans", json, 200));
        free(json);
        free(text);
    }
    size_t count = 0;
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(texts[i], "SELECT ", 7) != 0 && strncmp(texts[i], "SET ", 4) != 0 &&
            strncmp(texts[i], "EXEC master.dbo.xp_fixeddrives", 30) != 0)
            fail_msg("%s", texts[i]);
    sim_texts_free(texts, count);
    cJSON *list = harness_call(house, "GET", "/v1/jobs", NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(list, "items")), 0);
    cJSON_Delete(list);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_sends_its_plan_on_windows),
        cmocka_unit_test(every_kind_sends_its_plan_on_linux),
        cmocka_unit_test(a_workload_of_the_jobs_own_is_shown_as_it_is_sent),
        cmocka_unit_test(planning_changes_nothing_on_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
