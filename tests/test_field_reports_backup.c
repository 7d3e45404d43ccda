/* What people reported from the field, where backups run: from a job to its report, against the
 * simulator (the numbers are those of the list of such reports). */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "/var/opt/mssql/backup"
#define ALLOW_ALL                                                                                  \
    "'allow':{'paths':['" FOLDER "','/tmp','/root'],'trace_flags':[3042]},"                        \
    "'limits':{'min_free_disk_mib':1}"
#define FLAG_JOB(files, rest)                                                                      \
    "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':['Sales'],'target':"        \
    "{'name':'disk','paths':['" FOLDER "'],'files':" files "}}" rest "}"

static struct harness *house_of(const char *scenario)
{
    struct harness *house = harness_start(scenario);
    harness_register(house, ALLOW_ALL);
    return house;
}

static bool warns(const cJSON *report, const char *words)
{
    const cJSON *warning;
    cJSON_ArrayForEach(warning, at(report, "warnings")) {
        if (strstr(warning->valuestring, words))
            return true;
    }
    return false;
}

/* The job must fail before a backup of Sales is sent, and say this. */
static void expect_refused(const char *scenario, const char *body, const char *words)
{
    struct harness *house = house_of(scenario);
    cJSON *job = sweep_run_to(house, body, "failed", NULL);
    assert_true(sweep_error_says(job, words));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 0);
    cJSON_Delete(job);
    harness_stop(house);
}

/* --- what is sent --------------------------------------------------------------------------------
 */

/* A plain full to NUL would become the differential base, and a log backup to NUL would break the
 * chain (34: no kind sends one). */
static void report_3_every_full_is_copy_only_and_no_log_is_backed_up(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL);
    uint64_t base = sim_differential_base(house->sim, "Sales");
    uint64_t chain = sim_last_log_lsn(house->sim, "Sales");
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL));
    cJSON_Delete(sweep_run(house, FLAG_JOB("1", ",'design':{'repetitions':2,'warmups':0}"), NULL));
    assert_true(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]") >= 6);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP LOG"), 0);
    sweep_all_say(house->sim, "BACKUP", "COPY_ONLY");
    sweep_all_say(house->sim, "BACKUP", "NAME = N'sweetspot:"); /* history knows them by it */
    sweep_none_says(house->sim, "BACKUP", "DIFFERENTIAL");
    assert_true(sim_differential_base(house->sim, "Sales") == base);
    assert_true(sim_last_log_lsn(house->sim, "Sales") == chain);
    harness_stop(house);
}

/* Third-party engines do not know NUL: only the server's own BACKUP to DISK is sent. */
static void report_5_only_native_backups_are_sent(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL);
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL));
    sweep_all_say(house->sim, "BACKUP", "TO DISK = N'NUL' WITH ");
    sweep_none_says(house->sim, "BACKUP", "VIRTUAL_DEVICE");
    assert_int_equal(sim_count_statements(house->sim, "EXEC"), /* but for the server's own lock */
                     sim_count_statements(house->sim, "EXECUTE master.sys.sp_releaseapplock"));
    harness_stop(house);
}

/* A tool that wraps BACKUP, or a driver that begins transactions by itself, gives 3021. */
static void report_23_24_backup_runs_in_no_transaction(void **state)
{
    (void)state;
    size_t count = 0;
    size_t options_at = 0;
    struct harness *house = house_of(NULL);
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL));
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(texts[i], "SET IMPLICIT_TRANSACTIONS OFF") == 0)
            options_at = i + 1;
        assert_true(strncmp(texts[i], "BACKUP", 6) != 0 || options_at > 0);
        assert_null(strcasestr(texts[i], "BEGIN TRAN"));
        assert_null(strcasestr(texts[i], "TRANSACTIONS ON"));
        assert_true(!strstr(texts[i], "BACKUP DATABASE [") || !strchr(texts[i], ';'));
    }
    sim_texts_free(texts, count);
    sweep_fault(house->sim, "{'do':'error','match':'BACKUP','number':3021,'severity':16}");
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]", SHORT), "failed", NULL);
    assert_int_equal(number_at(job, "error/number"), 3021);
    assert_non_null(strstr(text_at(job, "error/advice"), "in no transaction"));
    cJSON_Delete(job);
    harness_stop(house);
}

static void report_19_names_that_differ_behind_a_dot_have_files_of_their_own(void **state)
{
    (void)state;
    size_t count = 0;
    size_t backups = 0;
    struct harness *house =
        house_of("{'time_scale':0,'databases':[{'name':'Test','mib':8},"
                 "{'name':'Test.Net','mib':8},{'name':'Test.Net.bak','mib':8}]}");
    cJSON *job =
        sweep_run(house,
                  "{'kind':'backup_throughput','instance':'sql01','parameters':{"
                  "'databases':['Test','Test.Net','Test.Net.bak'],'targets':[{'name':"
                  "'disk','paths':['" FOLDER "']}]},'design':{'repetitions':2,'warmups':0}}",
                  NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        char *path = strstr(texts[i], "DISK = N'" FOLDER);
        if (strncmp(texts[i], "BACKUP DATABASE [Test", 21) != 0 || !path)
            continue;
        backups++;
        *strchr(path + 9, '\'') = '\0'; /* only the path is compared */
        for (size_t k = 0; k < i; k++)
            assert_null(strstr(texts[k], path));
    }
    assert_int_equal(backups, 3 * 2);
    sim_texts_free(texts, count);
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    harness_stop(house);
}

/* --- what this server can do ---------------------------------------------------------------------
 */

static void report_11_azure_sql_database_is_refused_by_every_kind(void **state)
{
    (void)state;
    static const char scenario[] = "{'time_scale':0,'edition':'Azure SQL Database'}";
    static const char *const bodies[] = {
        SWEEP(",'buffercount':[50]", SHORT),
        "{'kind':'backup_throughput','instance':'sql01','parameters':{'databases':['Sales']}}",
        FLAG_JOB("1", ""),
        "{'kind':'snapshot_overhead','instance':'sql01','parameters':{'database':'Sales',"
        "'locations':[{'name':'a','path':'/tmp'}],'workload':{'select_into':{'source':'Sales.Big',"
        "'rows':1}}}}",
        "{'kind':'backup_history','instance':'sql01','parameters':{}}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        expect_refused(scenario, bodies[i], "Azure SQL Database");
}

/* Silently skipped, or 3059: a full backup of a secondary. Ours are COPY_ONLY, which it takes; were
 * it refused all the same, the job would say so. */
static void report_18_a_secondary_is_backed_up_copy_only_and_never_skipped(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = house_of("{'time_scale':0,'databases':[{'name':'Sales','mib':16,"
                                     "'replica_role':'SECONDARY'}]}");
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), &id));
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 2);
    cJSON_Delete(trials);
    free(id);
    sweep_fault(house->sim, "{'do':'error','match':'BACKUP','number':3059,'severity':16}");
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]", SHORT), "failed", NULL);
    assert_int_equal(number_at(job, "error/number"), 3059);
    assert_non_null(strstr(text_at(job, "error/advice"), "with COPY_ONLY only"));
    cJSON_Delete(job);
    harness_stop(house);
}

/* Two arms, default and 131072, compressed, of an encrypted database. */
static void expect_tde(const char *version, bool by_default)
{
    char *id = NULL;
    char *scenario = mem_format("{'time_scale':0,'version':'%s','databases':[{'name':'Sales',"
                                "'mib':64,'ratio':4,'encrypted':true}]}",
                                version);
    struct harness *house = house_of(scenario);
    cJSON_Delete(sweep_run(
        house, SWEEP(",'maxtransfersize':['default',131072],'compression':['on']" TO_DISK, SHORT),
        &id));
    cJSON *report = sweep_report_of(house, id);
    assert_int_equal(number_at(report, "arms/0/compression_ratio") > 3, by_default);
    assert_true(number_at(report, "arms/1/compression_ratio") > 3);
    assert_int_equal(warns(report, "default: the file is 1/1.00 of the data"), !by_default);
    assert_int_equal(warns(report, "send MAXTRANSFERSIZE = 131072"), !by_default);
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
    free(scenario);
}

static void
report_9_10_32_size_and_advice_stand_beside_the_speed_of_encrypted_databases(void **state)
{
    (void)state;
    expect_tde("14.0.3025.34", false);
    expect_tde("15.0.4033.1", false);
    expect_tde("15.0.4043.16", true);
    expect_tde("16.0.4100.1", true);
}

/* --- how it ends ---------------------------------------------------------------------------------
 */

static void report_22_a_backup_counts_only_when_its_last_line_came(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "{'do':'error_after_4035','match':'BACKUP DATABASE [Sales]','nth':2,'number':3204}",
        "{'do':'drop_after_4035','match':'BACKUP DATABASE [Sales]','nth':2}",
    };
    static const char *const statuses[] = {"failed", "contaminated"};
    for (int i = 0; i < 2; i++) {
        char *id = NULL;
        struct harness *house = house_of(NULL);
        sweep_fault(house->sim, faults[i]);
        id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
        if (i == 1) /* the connection is lost, and the job goes on when it is back */
            cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
        else
            cJSON_Delete(harness_wait(house, id));
        cJSON *trials = sweep_trials_of(house, id);
        assert_string_equal(text_at(trials, "items/0/status"), "ok");
        assert_string_equal(text_at(trials, "items/1/status"), statuses[i]);
        assert_true(cJSON_IsNull(at(trials, "items/1/rate_mib_s")));
        cJSON_Delete(trials);
        free(id);
        harness_stop(house);
    }
}

static void report_36_3201_is_explained_as_rights_of_the_service_account(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = house_of(NULL);
    cJSON *job = sweep_run_to(
        house, SWEEP(",'buffercount':[50],'targets':[{'name':'r','paths':['/root']}]", SHORT),
        "failed", &id);
    assert_int_equal(number_at(job, "error/number"), 3201);
    assert_true(sweep_error_says(job, "'/root/sweetspot_")); /* the path as the server has it */
    assert_non_null(strstr(text_at(job, "error/advice"), "SQL Server service runs under (not the "
                                                         "login)"));
    cJSON *report = sweep_report_of(house, id);
    assert_true(warns(report, "SQL Server service runs under"));
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

/* --- who else was there --------------------------------------------------------------------------
 */

/* Runs a sweep, and in the middle of its second backup this: a fault, somebody else's statement, or
 * nothing (both NULL). */
static cJSON *report_beside(const char *fault, const char *statement)
{
    struct harness *house = house_of(NULL);
    if (fault || statement)
        sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP','nth':2,'percent':40}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    if (fault || statement) {
        assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
        if (fault)
            sweep_fault(house->sim, fault);
        else
            harness_execute(house->sim, statement);
        sim_release(house->sim);
    }
    cJSON_Delete(harness_wait(house, id));
    cJSON *report = sweep_report_of(house, id);
    free(id);
    harness_stop(house);
    return report;
}

static void report_15_a_base_that_a_vss_snapshot_moved_is_told(void **state)
{
    (void)state;
    cJSON *report = report_beside("{'do':'vss_snapshot','database':'Sales'}", NULL);
    assert_true(cJSON_IsFalse(at(report, "chain/differential_base_unchanged")));
    assert_true(warns(report, "a backup that is not ours moved it while this job ran"));
    cJSON_Delete(report);
}

/* The report says what moved while it ran, not whether the chain is good. */
static void report_27_only_what_the_run_saw_is_said_of_the_chain(void **state)
{
    (void)state;
    cJSON *report = report_beside(NULL, NULL);
    assert_int_equal(cJSON_GetArraySize(at(report, "chain")), 2);
    assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
    assert_true(cJSON_IsTrue(at(report, "chain/log_chain_unchanged")));
    assert_false(warns(report, "chain"));
    cJSON_Delete(report);
    /* a log backup that overlaps our full */
    report = report_beside(NULL, "BACKUP LOG Sales TO DISK = N'/tmp/other.trn'");
    assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
    assert_true(cJSON_IsFalse(at(report, "chain/log_chain_unchanged")));
    assert_true(warns(report, "log_chain_unchanged is false: a backup that is not ours moved it"));
    cJSON_Delete(report);
}

/* --- what nobody reported, and everybody meets
 * ---------------------------------------------------- */

/* The first run pays for a cold cache of the share or the array: it is a warm-up. */
static void report_k_a_slow_first_run_enters_no_figure(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = house_of("{'time_scale':0,'noise':0}");
    sweep_fault(house->sim, "{'do':'slow','match':'BACKUP','factor':50,'times':1}");
    cJSON_Delete(sweep_run(
        house, SWEEP(",'buffercount':[50]", ",'design':{'repetitions':2,'order':'sequential'}"),
        &id));
    cJSON *trials = sweep_trials_of(house, id);
    cJSON *report = sweep_report_of(house, id);
    assert_true(cJSON_IsTrue(at(trials, "items/0/warmup")));
    assert_true(number_at(trials, "items/0/server_s") > 20 * number_at(trials, "items/2/server_s"));
    assert_int_equal(number_at(report, "arms/0/n"), 2);
    assert_true(number_at(report, "arms/0/rate_mib_s/median") >
                20 * number_at(trials, "items/0/rate_mib_s"));
    cJSON_Delete(report);
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
}

static void report_k_a_bracket_and_a_quote_in_a_name_change_no_statement(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = house_of(NULL);
    cJSON_Delete(sweep_run(
        house, SWEEP_OF("sql01", "Odd ]name\\u0027s", ",'buffercount':[50]" TO_DISK, SHORT), &id));
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 2);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Odd ]]name's] TO DISK"), 2);
    sweep_nothing_left(house->sim);
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
}

/* The server's clock is hours away, and jumps ahead with every simulated second. */
static void report_k_clocks_that_differ_move_no_figure(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = house_of("{'time_scale':0,'utc_offset_minutes':-570}");
    int64_t before = clock_wall_ms();
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), &id));
    cJSON *trials = sweep_trials_of(house, id);
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        int64_t started = 0;
        double rate = number_at(trial, "bytes") / 1048576 / number_at(trial, "server_s");
        assert_true(clock_parse(text_at(trial, "started_at"), &started));
        assert_true(started >= before && started <= clock_wall_ms());
        assert_true(fabs(number_at(trial, "rate_mib_s") / rate - 1) < 1e-5);
        assert_string_equal(text_at(trial, "status"), "ok");
    }
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
}

/* --- what is promised ----------------------------------------------------------------------------
 */

static void expect_no_promise(const cJSON *tree)
{
    static const char *const promises[] = {"eta", "remaining", "estimate", "completion", "left_s"};
    const cJSON *member;
    cJSON_ArrayForEach(member, tree) {
        for (size_t i = 0; member->string && i < sizeof promises / sizeof promises[0]; i++)
            if (strncmp(member->string, promises[i], strlen(promises[i])) == 0)
                fail_msg("%s", member->string);
        expect_no_promise(member);
    }
}

static void report_29_progress_is_a_hint_without_an_end(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP','percent':40}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    char *target = mem_format("/v1/jobs/%s", id);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    assert_true(number_at(job, "progress/percent") <= 20); /* 40 % of the first of two */
    assert_true(cJSON_IsNull(at(job, "finished_at")));
    expect_no_promise(job);
    cJSON_Delete(job);
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    free(target);
    free(id);
    harness_stop(house);
}

/* Seed 1's sweet spot, with its confidence; and where there is nothing to gain, nothing is. */
static void report_31_a_gain_is_shown_with_its_confidence_and_never_promised(void **state)
{
    (void)state;
    static const char *const scenarios[] = {"{'time_scale':0}", "{'time_scale':0,'surface':"
                                                                "{'floor':1}}"};
    for (int flat = 0; flat < 2; flat++) {
        char *id = NULL;
        struct harness *house = house_of(scenarios[flat]);
        cJSON *job = sweep_run_to(house,
                                  SWEEP(",'buffercount':['default',50,100,150,200]",
                                        ",'design':{'repetitions':10,'warmups':0,'seed':7}"),
                                  "succeeded", &id);
        cJSON *report = sweep_report_of(house, id);
        assert_int_equal(cJSON_IsTrue(at(report, "recommendation/keep_default")), flat);
        if (!flat) {
            assert_int_equal(number_at(report, "recommendation/settings/buffercount"), 100);
            assert_non_null(strstr(text_at(job, "summary"), "(95 % "));
            assert_true(number_at(report, "comparisons/1/low") <=
                        number_at(report, "comparisons/1/ratio"));
        }
        cJSON_Delete(report);
        cJSON_Delete(job);
        free(id);
        harness_stop(house);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_3_every_full_is_copy_only_and_no_log_is_backed_up),
        cmocka_unit_test(report_5_only_native_backups_are_sent),
        cmocka_unit_test(report_23_24_backup_runs_in_no_transaction),
        cmocka_unit_test(report_19_names_that_differ_behind_a_dot_have_files_of_their_own),
        cmocka_unit_test(report_11_azure_sql_database_is_refused_by_every_kind),
        cmocka_unit_test(report_18_a_secondary_is_backed_up_copy_only_and_never_skipped),
        cmocka_unit_test(
            report_9_10_32_size_and_advice_stand_beside_the_speed_of_encrypted_databases),
        cmocka_unit_test(report_22_a_backup_counts_only_when_its_last_line_came),
        cmocka_unit_test(report_36_3201_is_explained_as_rights_of_the_service_account),
        cmocka_unit_test(report_15_a_base_that_a_vss_snapshot_moved_is_told),
        cmocka_unit_test(report_27_only_what_the_run_saw_is_said_of_the_chain),
        cmocka_unit_test(report_k_a_slow_first_run_enters_no_figure),
        cmocka_unit_test(report_k_a_bracket_and_a_quote_in_a_name_change_no_statement),
        cmocka_unit_test(report_k_clocks_that_differ_move_no_figure),
        cmocka_unit_test(report_29_progress_is_a_hint_without_an_end),
        cmocka_unit_test(report_31_a_gain_is_shown_with_its_confidence_and_never_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
