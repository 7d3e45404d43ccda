/* backup_sweep on every version, platform and language, and with few rights. */
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB 1048576.0

/* Each trial's rate is what its own pages and seconds say, in MiB/s. */
static void rates_fit(const cJSON *trials)
{
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        double bytes = number_at(trial, "pages") * 8192;
        double rate = bytes / number_at(trial, "server_s") / MIB;
        assert_true(number_at(trial, "server_s") > 0);
        assert_true(number_at(trial, "bytes") == bytes);
        assert_true(fabs(number_at(trial, "rate_mib_s") - rate) < rate * 1e-5);
        /* a consistent line in either unit leaves no note */
        assert_int_equal(cJSON_GetArraySize(at(trial, "notes")), 0);
    }
}

static void sweeps_on(const char *version, const char *platform, const char *compression)
{
    char *scenario =
        mem_format("{'time_scale':0,'version':'%s','platform':'%s'}", version, platform);
    char *body =
        mem_format(SWEEP(",'buffercount':['default',50],'compression':['%s']", SHORT), compression);
    struct harness *house = harness_start(scenario);
    char *id = NULL;
    harness_register(house, NULL);
    cJSON *job = sweep_run(house, body, &id);
    if (strcmp(text_at(job, "state"), "failed") == 0)
        fail_msg("%s on %s: %s", version, platform, cJSON_PrintUnformatted(job));
    cJSON *report = sweep_report_of(house, id);
    cJSON *trials = sweep_trials_of(house, id);
    assert_string_equal(text_at(report, "instance/version"), version);
    assert_string_equal(text_at(report, "instance/platform"), platform);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 2);
    rates_fit(trials);
    cJSON_Delete(trials);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
    free(body);
    free(scenario);
}

static void every_version_and_platform_can_be_swept(void **state)
{
    (void)state;
    static const char *const versions[] = {
        "9.0.5000.0",  "10.0.6000.29", "10.50.6000.34", "11.0.7001.0", "12.0.6024.0",
        "13.0.6300.2", "14.0.3456.2",  "15.0.4345.5",   "16.0.4100.1", "17.0.1000.7"};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        long major = strtol(versions[i], NULL, 10);
        sweeps_on(versions[i], "Windows", "off");
        if (major >= 14)
            sweeps_on(versions[i], "Linux", "off");
    }
}

/* It compresses nothing and takes NO_COMPRESSION for a mistake (155). */
static void sql_server_2005_is_sent_no_compression_word(void **state)
{
    (void)state;
    struct harness *house =
        harness_start("{'time_scale':0,'version':'9.0.5000.0','platform':'Windows'}");
    harness_register(house, NULL);
    cJSON *job = sweep_run(house, SWEEP(",'buffercount':[50]", ""), NULL);
    size_t count = 0;
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++)
        assert_true(strncmp(texts[i], "BACKUP", 6) != 0 || !strstr(texts[i], "COMPRESSION"));
    sim_texts_free(texts, count);
    cJSON_Delete(job);
    harness_stop(house);
}

static void files_are_written_and_deleted_on_every_version(void **state)
{
    (void)state;
    static const char *const versions[] = {"9.0.5000.0",  "10.50.6000.34", "13.0.6300.2",
                                           "14.0.3456.2", "15.0.4345.5",   "17.0.1000.7"};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        char *scenario =
            mem_format("{'time_scale':0,'version':'%s','platform':'Windows'}", versions[i]);
        struct harness *house = harness_start(scenario);
        harness_register(house, "'allow':{'paths':['D:\\\\Backup']},"
                                "'limits':{'min_free_disk_mib':1}");
        cJSON *job =
            sweep_run(house,
                      SWEEP(",'buffercount':[50],'compression':['default'],'targets':[{'name':"
                            "'disk','paths':['d:\\\\backup'],'files':2}]",
                            SHORT),
                      NULL);
        if (strcmp(text_at(job, "cleanup"), "done") != 0)
            fail_msg("%s: %s", versions[i], cJSON_PrintUnformatted(job));
        sweep_nothing_left(house->sim);
        cJSON_Delete(job);
        harness_stop(house);
        free(scenario);
    }
}

static void every_language_gives_the_same_numbers(void **state)
{
    (void)state;
    static const char *const languages[] = {"us_english", "Español", "Deutsch", "日本語"};
    double pages = 0;
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
        char *scenario = mem_format("{'time_scale':0,'noise':0,'language':'%s','version':"
                                    "'15.0.4345.5'}",
                                    languages[i]);
        struct harness *house = harness_start(scenario);
        char *id = NULL;
        harness_register(house, NULL);
        /* our SET LANGUAGE fails here: the numbers must do */
        sweep_fault(house->sim, "{'do':'error','match':'SET LANGUAGE','number':2812,'times':-1}");
        cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), &id));
        cJSON *trials = sweep_trials_of(house, id);
        assert_int_equal(sweep_count(trials, NULL, "ok"), 2);
        rates_fit(trials);
        if (i == 0)
            pages = number_at(trials, "items/0/pages");
        assert_true(number_at(trials, "items/0/pages") == pages);
        cJSON_Delete(trials);
        free(id);
        harness_stop(house);
        free(scenario);
    }
}

/* Every optional source of figures is away; the sweep still has its rates. */
static void absent_views_cost_figures_and_nothing_else(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "dm_os_sys_info",   "dm_os_host_info",  "dm_exec_session_wait_stats",
        "dm_exec_requests", "master_files",     "database_recovery_status",
        "backupset",        "dm_os_wait_stats",
    };
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, NULL);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        char *fault = mem_format("{'do':'hide','match':'%s'}", hidden[i]);
        sweep_fault(house->sim, fault);
        free(fault);
    }
    cJSON *job =
        sweep_run_to(house, SWEEP(",'buffercount':[75]", ",'design':{'repetitions':6,'warmups':0}"),
                     "succeeded", &id);
    cJSON *report = sweep_report_of(house, id);
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 12);
    assert_true(cJSON_IsNull(at(trials, "items/0/cpu_s")));
    assert_true(cJSON_IsNull(at(trials, "items/0/cpu_percent")));
    assert_int_equal(cJSON_GetArraySize(at(trials, "items/0/waits")), 0);
    assert_true(cJSON_IsNull(at(report, "chain/differential_base_unchanged")));
    assert_true(cJSON_IsNull(at(report, "chain/log_chain_unchanged")));
    cJSON_Delete(trials);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

#define LOGINS                                                                                     \
    "{'time_scale':0,'logins':[{'name':'backup','password':'Sweetspot-1',"                         \
    "'roles':{'Sales':['db_backupoperator']}},{'name':'reader','password':'Sweetspot-1',"          \
    "'roles':{'Sales':['db_datareader']}}]}"

static void put_login(struct harness *house, const char *login, int status)
{
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'%s','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'},"
                            "'allow':{'paths':['/var/opt/mssql/backup']},"
                            "'limits':{'min_free_disk_mib':1}}",
                            sim_port(house->sim), login);
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01", body, status));
    free(body);
}

static void a_backup_operator_without_further_rights_can_sweep(void **state)
{
    (void)state;
    struct harness *house = harness_start(LOGINS);
    char *id = NULL;
    put_login(house, "backup", 201);
    cJSON *job =
        sweep_run_to(house, SWEEP(",'buffercount':[75]", ",'design':{'repetitions':6,'warmups':0}"),
                     "succeeded", &id);
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 12);
    assert_true(cJSON_IsNull(at(trials, "items/0/cpu_s")));
    rates_fit(trials);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_backup_operator_who_cannot_delete_is_refused_files(void **state)
{
    (void)state;
    struct harness *house = harness_start(LOGINS);
    put_login(house, "backup", 201);
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[75]" TO_DISK, SHORT), "failed", NULL);
    assert_int_equal(sweep_files_left(house->sim), 0);
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_login_without_the_right_to_back_up_holds_its_instance_until_a_put(void **state)
{
    (void)state;
    struct harness *house = harness_start(LOGINS);
    put_login(house, "reader", 201);
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[75]", SHORT), "failed", NULL);
    assert_int_equal(number_at(job, "error/number"), 262);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 1);
    cJSON_Delete(job);

    char *second = harness_submit(house, SWEEP(",'buffercount':[75]", SHORT));
    cJSON_Delete(harness_wait_state(house, second, "waiting", "unreachable"));
    put_login(house, "backup", 200);
    job = harness_wait(house, second);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    free(second);
    harness_stop(house);
}

static void azure_sql_database_is_refused_before_anything_runs(void **state)
{
    (void)state;
    struct harness *house = harness_start("{'time_scale':0,'edition':'Azure SQL Database'}");
    harness_register(house, NULL);
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[75]", SHORT), "failed", NULL);
    assert_true(sweep_error_says(job, "Azure SQL Database"));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    cJSON_Delete(job);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_and_platform_can_be_swept),
        cmocka_unit_test(sql_server_2005_is_sent_no_compression_word),
        cmocka_unit_test(files_are_written_and_deleted_on_every_version),
        cmocka_unit_test(every_language_gives_the_same_numbers),
        cmocka_unit_test(absent_views_cost_figures_and_nothing_else),
        cmocka_unit_test(a_backup_operator_without_further_rights_can_sweep),
        cmocka_unit_test(a_backup_operator_who_cannot_delete_is_refused_files),
        cmocka_unit_test(a_login_without_the_right_to_back_up_holds_its_instance_until_a_put),
        cmocka_unit_test(azure_sql_database_is_refused_before_anything_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
