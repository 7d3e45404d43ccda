/* backup_history from curl to report, on rows that BACKUPs of a client wrote into the simulator. */
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JOB(parameters) "{'kind':'backup_history','instance':'sql01','parameters':{" parameters "}}"
#define DISK "/var/opt/mssql/backup/"

/* A history of Sales: two fulls, one COPY_ONLY, one to NUL, one of ours, a differential, a log;
 * each long enough to be more than a second. */
static const char *const backups[] = {
    "BACKUP DATABASE Sales TO DISK = N'" DISK "f.bak' WITH DIFFERENTIAL",
    "BACKUP DATABASE Sales TO DISK = N'" DISK "a.bak', DISK = N'" DISK "b.bak' WITH NAME = N'x'",
    "BACKUP DATABASE Sales TO DISK = N'" DISK "c.bak'",
    "BACKUP DATABASE Sales TO DISK = N'" DISK "d.bak' WITH COPY_ONLY",
    "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY",
    "BACKUP DATABASE Sales TO DISK = N'" DISK "e.bak' WITH COPY_ONLY, NAME = N'sweetspot:1:2'",
    "BACKUP LOG Sales TO DISK = N'" DISK "g.trn'",
};

/* A large database whose reads are slow: a backup takes seconds of simulated time. */
#define SCENARIO(version, more)                                                                    \
    "{'time_scale':0,'noise':0,'version':'" version "'" more ",'surface':{'read_mib_s':100},"      \
    "'databases':[{'name':'Sales','mib':2000,'changed_mib':800,'log_mib':900,'ratio':4}]}"

static struct harness *house_with_history(const char *scenario)
{
    struct harness *house = harness_start(scenario);
    harness_register(house, NULL);
    for (size_t i = 0; i < sizeof backups / sizeof backups[0]; i++)
        harness_execute(house->sim, backups[i]);
    return house;
}

/* The report of a job that ended in this state. */
static cJSON *report_of(struct harness *house, const char *body, const char *state, cJSON **out_job)
{
    char *id = harness_submit(house, body);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), state);
    char *target = mem_format("/v1/jobs/%s/report", id);
    cJSON *report = harness_call(house, "GET", target, NULL, 200);
    free(target);
    free(id);
    if (out_job)
        *out_job = job;
    else
        cJSON_Delete(job);
    return report;
}

static double excluded_for(const cJSON *report, const char *reason)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, at(report, "excluded")) {
        if (strcmp(text_at(item, "reason"), reason) == 0)
            return number_at(item, "n");
    }
    return 0;
}

static void the_history_is_told_on_every_version(void **state)
{
    (void)state;
    static const char *const scenarios[] = {
        SCENARIO("9.0.5000.0", ",'platform':'Linux'"),
        SCENARIO("11.0.7001.0", ",'platform':'Linux'"),
        SCENARIO("16.0.4100.1", ",'platform':'Linux'"),
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        struct harness *house = house_with_history(scenarios[i]);
        cJSON *job = NULL;
        cJSON *report = report_of(house, JOB(""), "succeeded", &job);
        assert_int_equal(cJSON_GetArraySize(at(report, "history")), 3);
        assert_string_equal(text_at(report, "history/0/database"), "Sales");
        assert_string_equal(text_at(report, "history/0/type"), "full");
        assert_string_equal(text_at(report, "history/1/type"), "diff");
        assert_string_equal(text_at(report, "history/2/type"), "log");
        assert_int_equal(number_at(report, "history/0/n"), 2); /* stripes do not count twice */
        double rate = number_at(report, "history/0/logical_mib_s/median");
        assert_true(rate > 20 && rate < 120);
        assert_true(number_at(report, "history/0/logical_mib_s/low") < rate);
        assert_true(number_at(report, "history/0/logical_mib_s/high") > rate);
        assert_true(fabs(number_at(report, "history/0/ratio") - 1) < 1e-6);
        assert_int_equal(excluded_for(report, "own"), 1);
        assert_int_equal(excluded_for(report, "nul"), 1);
        assert_int_equal(excluded_for(report, "copy_only"), 1);
        assert_int_equal(cJSON_GetArraySize(at(report, "excluded")), 3);
        assert_int_equal(cJSON_GetArraySize(at(report, "arms")), 0);
        assert_true(cJSON_IsNull(at(report, "chain")));
        assert_true(cJSON_IsNull(at(report, "recommendation")));
        assert_int_equal(number_at(job, "progress/trials_planned"), 0);
        assert_string_equal(text_at(job, "cleanup"), "none");
        assert_non_null(strstr(text_at(job, "summary"), "Sales, full: median"));
        assert_non_null(strstr(text_at(job, "summary"), "4 backups in 3 series, 3 left out"));
        cJSON_Delete(report);
        cJSON_Delete(job);
        harness_stop(house);
    }
}

static void only_what_is_read_is_sent(void **state)
{
    (void)state;
    struct harness *house = house_with_history(SCENARIO("16.0.4100.1", ""));
    size_t count = 0;
    sim_forget_statements(house->sim);
    cJSON_Delete(report_of(house, JOB(""), "succeeded", NULL));
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++)
        assert_true(strncmp(texts[i], "SELECT", 6) == 0 || strncmp(texts[i], "SET ", 4) == 0);
    sim_texts_free(texts, count);
    harness_stop(house);
}

static void the_parameters_choose(void **state)
{
    (void)state;
    static const struct {
        const char *body, *state;
        double full, logs; /* -1: no such series */
    } cases[] = {
        {JOB("'databases':['Sales']"), "succeeded", 2, 1},
        {JOB("'databases':['Nothing']"), "inconclusive", -1, -1},
        {JOB("'types':['log']"), "succeeded", -1, 1},
        {JOB("'types':['full'],'include_copy_only':true"), "succeeded", 3, -1},
        {JOB("'since':'2020-01-01T00:00:00Z','databases':null"), "succeeded", 2, 1},
        {JOB("'since':'2999-01-01T00:00:00+01:00'"), "inconclusive", -1, -1},
        {JOB("'since':'1970-01-01T00:00:00Z','types':null"), "succeeded", 2, 1},
    };
    struct harness *house = house_with_history(SCENARIO("16.0.4100.1", ""));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *report = report_of(house, cases[i].body, cases[i].state, NULL);
        double full = -1;
        double logs = -1;
        const cJSON *row;
        cJSON_ArrayForEach(row, at(report, "history")) {
            if (strcmp(text_at(row, "type"), "full") == 0)
                full = number_at(row, "n");
            if (strcmp(text_at(row, "type"), "log") == 0)
                logs = number_at(row, "n");
        }
        if (fabs(full - cases[i].full) > 0 || fabs(logs - cases[i].logs) > 0)
            fail_msg("%s: %g full, %g log", cases[i].body, full, logs);
        cJSON_Delete(report);
    }
    harness_stop(house);
}

static void wrong_parameters_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *pointer;
    } cases[] = {
        {JOB("'databases':[]"), "/parameters/databases"},
        {JOB("'databases':['a','a']"), "/parameters/databases/1"},
        {JOB("'databases':[7]"), "/parameters/databases/0"},
        {JOB("'types':['full','vss']"), "/parameters/types/1"},
        {JOB("'types':['log','log']"), "/parameters/types/1"},
        {JOB("'since':'yesterday'"), "/parameters/since"},
        {JOB("'include_copyonly':true"), "/parameters/include_copyonly"},
    };
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *problem = harness_call(house, "POST", "/v1/jobs", cases[i].parameters, 400);
        assert_string_equal(text_at(problem, "errors/0/pointer"), cases[i].pointer);
        cJSON_Delete(problem);
    }
    harness_stop(house);
}

static void no_rows_are_inconclusive_and_said_in_words(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    cJSON *job = NULL;
    harness_register(house, NULL);
    cJSON *report = report_of(house, JOB(""), "inconclusive", &job);
    assert_int_equal(cJSON_GetArraySize(at(report, "history")), 0);
    assert_int_equal(cJSON_GetArraySize(at(report, "excluded")), 0);
    assert_non_null(strstr(text_at(job, "summary"), "no backup that tells a speed"));
    char *target = mem_format("/v1/jobs/%s/report", text_at(job, "id"));
    char *markdown = harness_text(house, target, "text/markdown", 200);
    assert_non_null(strstr(markdown, "no backup that tells a speed"));
    free(markdown);
    free(target);
    cJSON_Delete(report);
    cJSON_Delete(job);
    harness_stop(house);
}

static void markdown_has_series_bands_and_what_is_left_out(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "**4 recorded backups** in 3 series.", "| Sales | full | 2 | ", "## Left out",
        "to NUL: nothing was written", "backups that Sweetspot made to measure"};
    struct harness *house = house_with_history(SCENARIO("16.0.4100.1", ""));
    char *id = harness_submit(house, JOB(""));
    cJSON_Delete(harness_wait(house, id));
    char *target = mem_format("/v1/jobs/%s/report", id);
    char *markdown = harness_text(house, target, "text/markdown", 200);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        if (!strstr(markdown, pieces[i]))
            fail_msg("no \"%s\" in %s", pieces[i], markdown);
    assert_null(strstr(markdown, "Design:"));
    free(markdown);
    free(target);
    free(id);
    harness_stop(house);
}

static void without_rights_on_msdb_it_fails_at_once_and_says_what_to_grant(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char error[SIM_ERROR_SIZE];
    harness_register(house, NULL);
    assert_int_equal(sim_fault(house->sim, "{'do':'refuse_right','match':'SELECT msdb'}", error),
                     0);
    char *id = harness_submit(house, JOB(""));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_int_equal(number_at(job, "error/number"), 229);
    assert_string_equal(text_at(job, "error/step"), "gather");
    assert_non_null(strstr(text_at(job, "error/message"), "db_datareader on msdb"));
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void it_runs_beside_a_job_that_measures(void **state)
{
    (void)state;
    struct harness *house = house_with_history(SCENARIO("16.0.4100.1", ""));
    char error[SIM_ERROR_SIZE];
    assert_int_equal(sim_fault(house->sim, "{'do':'hold_at_percent','percent':40}", error), 0);
    char *sweep = harness_submit(house, "{'kind':'backup_sweep','instance':'sql01','parameters':"
                                        "{'database':'Sales','buffercount':[50]},"
                                        "'design':{'repetitions':1,'warmups':0}}");
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    cJSON_Delete(report_of(house, JOB(""), "succeeded", NULL));
    cJSON_Delete(harness_wait_state(house, sweep, "running", NULL));
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, sweep));
    free(sweep);
    harness_stop(house);
}

static void a_cancel_ends_the_reading(void **state)
{
    (void)state;
    struct harness *house = house_with_history(SCENARIO("16.0.4100.1", ""));
    char error[SIM_ERROR_SIZE];
    assert_int_equal(
        sim_fault(house->sim, "{'do':'hold_before','match':'SELECT s.database_name'}", error), 0);
    char *id = harness_submit(house, JOB(""));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    cJSON_Delete(job);
    free(target);
    free(id);
    harness_stop(house);
}

static void a_daemon_that_ends_meanwhile_reads_anew_after_its_start(void **state)
{
    (void)state;
    struct harness *house = house_with_history(SCENARIO("16.0.4100.1", ""));
    char error[SIM_ERROR_SIZE];
    assert_int_equal(
        sim_fault(house->sim, "{'do':'hold_before','match':'SELECT s.database_name'}", error), 0);
    char *id = harness_submit(house, JOB(""));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    harness_stop_daemon(house);
    sim_fault_clear(house->sim);
    harness_start_daemon(house);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_connection_that_breaks_leaves_the_job_waiting(void **state)
{
    (void)state;
    struct harness *house = house_with_history(SCENARIO("16.0.4100.1", ""));
    char error[SIM_ERROR_SIZE];
    assert_int_equal(
        sim_fault(house->sim, "{'do':'drop_before','match':'SELECT s.database_name'}", error), 0);
    char *id = harness_submit(house, JOB(""));
    cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_history_is_told_on_every_version),
        cmocka_unit_test(only_what_is_read_is_sent),
        cmocka_unit_test(the_parameters_choose),
        cmocka_unit_test(wrong_parameters_are_refused_with_their_place),
        cmocka_unit_test(no_rows_are_inconclusive_and_said_in_words),
        cmocka_unit_test(markdown_has_series_bands_and_what_is_left_out),
        cmocka_unit_test(without_rights_on_msdb_it_fails_at_once_and_says_what_to_grant),
        cmocka_unit_test(it_runs_beside_a_job_that_measures),
        cmocka_unit_test(a_cancel_ends_the_reading),
        cmocka_unit_test(a_daemon_that_ends_meanwhile_reads_anew_after_its_start),
        cmocka_unit_test(a_connection_that_breaks_leaves_the_job_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
