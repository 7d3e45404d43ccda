/* snapshot_overhead from curl to report, against the simulator. */
#include "tests/snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- end to end ----------------------------------------------------------------------------- */

static double wait_of(const cJSON *waits, const char *type)
{
    const cJSON *wait;
    cJSON_ArrayForEach(wait, waits) {
        if (strcmp(text_at(wait, "type"), type) == 0)
            return number_at(wait, "ms");
    }
    fail_msg("wait %s is not shown", type);
    return -1;
}

/* Two snapshots push pages one after the other; one never does. */
static void expect_replica_waits_with_two_only(const cJSON *trials, const cJSON *report)
{
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        int arm = (int)strtol(text_at(trial, "arm") + 1, NULL, 10);
        int snapshots = arm == 0 ? 0 : (arm + 1) % 2 + 1;
        char *path = mem_format("arms/%d/settings/snapshots", arm);
        assert_int_equal(number_at(report, path), snapshots);
        double writes = wait_of(at(trial, "waits"), "PREEMPTIVE_OS_WRITEFILE");
        double pushes = wait_of(at(trial, "waits"), "FCB_REPLICA_WRITE");
        assert_int_equal(writes > 0, snapshots > 0);
        assert_int_equal(pushes > 0, snapshots > 1);
        assert_int_equal(cJSON_IsNumber(at(trial, "create_s")), snapshots > 0);
        assert_true(cJSON_IsNull(at(trial, "rate_mib_s")));
        free(path);
    }
}

static void expect_overhead(const cJSON *report)
{
    assert_int_equal(cJSON_GetArraySize(at(report, "overhead")), 4);
    for (int i = 0; i < 4; i++) {
        const cJSON *row = cJSON_GetArrayItem(at(report, "overhead"), i);
        assert_string_equal(text_at(row, "location"), i < 2 ? "fast" : "slow");
        assert_int_equal(number_at(row, "snapshots"), i % 2 + 1);
        assert_string_equal(text_at(row, "verdict"), "slower");
        assert_true(number_at(row, "ratio") > 1);
        assert_true(number_at(row, "low") <= number_at(row, "ratio"));
        assert_true(number_at(row, "high") >= number_at(row, "ratio"));
        assert_true(number_at(row, "added_by_last_s") > 0);
    }
    assert_true(number_at(report, "overhead/1/added_by_last_s") <
                number_at(report, "overhead/0/added_by_last_s"));
    assert_true(number_at(report, "overhead/2/ratio") > number_at(report, "overhead/0/ratio"));
    assert_non_null(strstr(text_at(report, "snapshot_cost/0/words"), "the first snapshot adds"));
}

static void measures_none_one_and_two_snapshots_at_each_location(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':1,'surface':{'row_us':500}}", LINUX_ALLOW);
    char *id = harness_submit(house, SNAPSHOTS(ON_ADVENTURE
                                               ",'locations':[{'name':'fast','path':'/tmp'},"
                                               "{'name':'slow','path':'/var/opt/mssql/backup'}]",
                                               ",'design':{'repetitions':5,'warmups':1,'seed':3}"));
    cJSON *job = expect_end(house, id, "succeeded", "done");
    assert_int_equal(number_at(job, "progress/trials_done"), 30);
    assert_int_equal(number_at(job, "progress/trials_planned"), 30);
    assert_non_null(strstr(text_at(job, "summary"), "2 snapshots at slow: "));
    assert_non_null(strstr(text_at(job, "summary"), "x the time without (95 % "));
    cJSON *report = report_of(house, id);
    cJSON *trials = trials_of(house, id);
    expect_overhead(report);
    expect_replica_waits_with_two_only(trials, report);
    assert_int_equal(cJSON_GetArraySize(at(report, "left_behind")), 0);
    assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
    assert_true(warns(report, "cannot be restored, dropped or detached"));
    char *target = mem_format("/v1/jobs/%s/report", id);
    char *text = harness_text(house, target, "text/markdown", 200);
    assert_int_equal(strncmp(text, "With **2 snapshots at slow** it runs ", 37), 0);
    free(text);
    free(target);
    cJSON_Delete(trials);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void sends_nothing_that_changes_more_than_its_own(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    sim_forget_statements(house->sim);
    expect_job(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE), MEASURED, "done", "summary");
    size_t count = 0;
    int made[3] = {0};
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        made[0] += strncmp(texts[i], "CREATE DATABASE [sweetspot_", 27) == 0;
        made[1] +=
            strncmp(texts[i], "SELECT TOP (" ROWS ") * INTO [AdventureWorks].[dbo].[sweetspot_",
                    55) == 0;
        made[2] += strncmp(texts[i], "DROP DATABASE [sweetspot_", 25) == 0;
        bool drops = strncasecmp(texts[i], "DROP", 4) == 0;
        assert_true(!drops || strncmp(texts[i], "DROP DATABASE [sweetspot_", 25) == 0 ||
                    strncmp(texts[i], "DROP TABLE [AdventureWorks].[dbo].[sweetspot_", 45) == 0);
        assert_null(strcasestr(texts[i], "RESTORE "));
        assert_null(strcasestr(texts[i], "DBCC "));
        assert_null(strcasestr(texts[i], "ALTER "));
    }
    assert_int_equal(made[0], 1 + 1 + 2); /* the location is tried once */
    assert_int_equal(made[1], 3);
    assert_int_equal(made[2], made[0]);
    assert_int_equal(sim_count_statements(house->sim, "SELECT state, source_database_id"), 1);
    sim_texts_free(texts, count);
    harness_stop(house);
}

/* --- places and names ----------------------------------------------------------------------- */

static void takes_every_data_file_on_windows_also_where_names_collide(void **state)
{
    (void)state;
    struct harness *house = house_of(
        "{'platform':'Windows','time_scale':0,'databases':[{'name':'AdventureWorks',"
        "'recovery':'SIMPLE','files':[{'name':'Test','path':'C:\\\\Data\\\\a\\\\Test.mdf','mib':8},"
        "{'name':'Test.Net','path':'C:\\\\Data\\\\b\\\\Test.ndf','mib':8},"
        "{'name':'test]it\\u0027s','path':'C:\\\\Data\\\\c\\\\Test.ndf','mib':8},"
        "{'name':'log','path':'C:\\\\Data\\\\Test.ldf','type':'LOG','mib':4}]}]}",
        "'allow':{'paths':['D:\\\\Backup']},'limits':{'min_free_disk_mib':1}");
    sim_forget_statements(house->sim);
    expect_job(
        house,
        SNAPSHOTS(ON_ADVENTURE ",'locations':[{'name':'D','path':'d:\\\\backup\\\\'}]", ONCE),
        MEASURED, "done", "summary");
    size_t count = 0;
    int made = 0;
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(texts[i], "CREATE DATABASE", 15) != 0)
            continue;
        made++;
        assert_non_null(strstr(texts[i], "(NAME = [Test], FILENAME = N'd:\\backup\\sweetspot_"));
        assert_non_null(strstr(texts[i], "(NAME = [test]]it's], FILENAME = N'"));
        assert_non_null(strstr(texts[i], "_1.ss')"));
        assert_non_null(strstr(texts[i], "_3.ss')"));
        assert_null(strstr(texts[i], "[log]"));
    }
    assert_int_equal(made, 4);
    sim_texts_free(texts, count);
    harness_stop(house);
}

/* A name as JSON and as T-SQL; each 128 characters at most. */
static void runs_on_databases_with_odd_names(void **state)
{
    (void)state;
    char longest[129];
    memset(longest, 'n', 128);
    longest[128] = '\0';
    const char *const names[] = {
        "a]b'c \\\"d",
        "\xE4\xB8\xAD\xE6\x96\x87\xE6\x95\xB0\xE6\x8D\xAE",
        "emoji \xF0\x9F\x92\xBE db",
        "x; DROP DATABASE Sales--",
        longest,
    };
    const char *const quoted[] = {
        "[a]]b'c \"d]",
        "[\xE4\xB8\xAD\xE6\x96\x87\xE6\x95\xB0\xE6\x8D\xAE]",
        "[emoji \xF0\x9F\x92\xBE db]",
        "[x; DROP DATABASE Sales--]",
        "", /* made below */
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *name = *quoted[i] ? mem_copy(quoted[i]) : mem_format("[%s]", longest);
        char *scenario = mem_format("{\"time_scale\":0,\"databases\":[{\"name\":\"%s\",\"mib\":8,"
                                    "\"recovery\":\"SIMPLE\"},{\"name\":\"AdventureWorks\"}]}",
                                    names[i]);
        struct harness *house = harness_start(scenario);
        harness_register(house, LINUX_ALLOW);
        make_source(house, name);
        cJSON *job = cJSON_Parse("{\"kind\":\"snapshot_overhead\",\"instance\":\"sql01\","
                                 "\"design\":{\"repetitions\":1,\"warmups\":0}}");
        char *text = mem_format("{\"database\":\"%s\",\"locations\":[{\"name\":\"tmp\","
                                "\"path\":\"/tmp\"}],\"workload\":{\"select_into\":"
                                "{\"source\":\"Sales.Big\",\"rows\":" ROWS "}}}",
                                names[i]);
        cJSON_AddItemToObject(job, "parameters", cJSON_Parse(text));
        assert_non_null(cJSON_GetObjectItem(job, "parameters"));
        char *id = submit_tree(house, job);
        cJSON *ended = expect_end(house, id, MEASURED, "done");
        expect_clean(house, name);
        assert_int_equal(sim_database_count(house->sim), 4 + 2);
        cJSON_Delete(ended);
        cJSON_Delete(job);
        free(id);
        free(text);
        free(scenario);
        free(name);
        harness_stop(house);
    }
}

/* --- what is refused ------------------------------------------------------------------------ */

static void refuses_full_recovery_unless_log_growth_is_confirmed(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    make_source(house, "Sales");
    expect_job(house, SNAPSHOTS("'database':'Sales'," SELECT_INTO "," PLACES, ONCE), "failed",
               "none", "SELECT INTO is fully logged: about");
    assert_int_equal(sim_count_statements(house->sim, "CREATE DATABASE"), 0);
    char *id = harness_submit(
        house,
        SNAPSHOTS("'database':'Sales','confirm_log_growth':true," SELECT_INTO "," PLACES, ONCE));
    cJSON_Delete(expect_end(house, id, MEASURED, "done"));
    expect_clean(house, "Sales");
    cJSON *report = report_of(house, id);
    assert_true(warns(report, "Sales is in FULL recovery: SELECT INTO was fully logged"));
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

static void refuses_what_this_server_cannot_do(void **state)
{
    (void)state;
    static const struct {
        const char *scenario, *parameters, *words;
    } cases[] = {
        {"{'version':'12.0.5000.0','edition':'Standard','time_scale':0}", ON_ADVENTURE "," PLACES,
         "\"number\":1844"},
        {"{'version':'12.0.5000.0','edition':'Standard','time_scale':0}", ON_ADVENTURE "," PLACES,
         "need Enterprise edition; this is Standard Edition"},
        {"{'version':'13.0.1601.5','edition':'Express','time_scale':0}", ON_ADVENTURE "," PLACES,
         "before SQL Server 2016 SP1"},
        {"{'edition':'Managed Instance','time_scale':0}", ON_ADVENTURE "," PLACES,
         "Azure SQL Managed Instance has no database snapshots"},
        {NULL, "'database':'Nowhere'," SELECT_INTO "," PLACES, "Nowhere is not there"},
        {NULL,
         "'database':'AdventureWorks','workload':{'select_into':{'source':'Sales.Gone','rows':1}}"
         "," PLACES,
         "has no table Sales.Gone"},
        {"{'time_scale':0,'volumes':[{'mount':'/','total_mib':600,'used_mib':100}]}",
         ON_ADVENTURE "," PLACES, "2 snapshot(s) may grow to"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct harness *house = house_of(cases[i].scenario, LINUX_ALLOW);
        sim_forget_statements(house->sim);
        char *body = mem_format(SNAPSHOTS("%s", ONCE), cases[i].parameters);
        expect_job(house, body, "failed", "none", cases[i].words);
        assert_int_equal(sim_count_statements(house->sim, "CREATE"), 0);
        free(body);
        harness_stop(house);
    }
}

static void runs_on_old_editions_that_have_snapshots(void **state)
{
    (void)state;
    static const char *const scenarios[] = {
        "{'version':'9.0.5000.0','edition':'Enterprise','time_scale':0}",
        "{'version':'11.0.7001.0','edition':'Developer','time_scale':0}",
        "{'version':'13.0.4001.0','edition':'Standard','time_scale':0}",
        "{'version':'17.0.1000.7','edition':'Express','time_scale':0}",
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        struct harness *house = house_of(scenarios[i], LINUX_ALLOW);
        expect_job(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE ",'assume_free_mib':100000"),
                   MEASURED, "done", "summary");
        harness_stop(house);
    }
}

static void fails_at_once_without_the_right_to_make_snapshots(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    inject(house, "{'do':'refuse_right','match':'CREATE ANY DATABASE'}");
    inject(house, "{'do':'refuse_right','match':'CREATE DATABASE'}");
    expect_job(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE), "failed", "done", "\"number\":262");
    assert_int_equal(sim_count_statements(house->sim, "CREATE DATABASE"), 1);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_none_one_and_two_snapshots_at_each_location),
        cmocka_unit_test(sends_nothing_that_changes_more_than_its_own),
        cmocka_unit_test(takes_every_data_file_on_windows_also_where_names_collide),
        cmocka_unit_test(runs_on_databases_with_odd_names),
        cmocka_unit_test(refuses_full_recovery_unless_log_growth_is_confirmed),
        cmocka_unit_test(refuses_what_this_server_cannot_do),
        cmocka_unit_test(runs_on_old_editions_that_have_snapshots),
        cmocka_unit_test(fails_at_once_without_the_right_to_make_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
