/* trace_flag from curl to report, against the simulator. */
#include "server/mem.h"
#include "tests/flag_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cJSON *get(struct harness *house, const char *id, const char *what)
{
    char *target = mem_format("/v1/jobs/%s/%s", id, what);
    cJSON *tree = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return tree;
}

/* --- end to end ------------------------------------------------------------------------------- */

#define THREE                                                                                      \
    "'databases':[{'name':'Large','mib':3548,'ratio':4.49},{'name':'Middle','mib':1856,"           \
    "'ratio':7.14},{'name':'Small','mib':1185,'ratio':3.12}],'time_scale':0,'noise':0.004"

static void expect_overheads(const cJSON *report)
{
    static const char *const names[] = {"Large", "Middle", "Small"};
    static const double ratios[] = {4.49, 7.14, 3.12};
    assert_int_equal(cJSON_GetArraySize(at(report, "overhead")), 3);
    assert_int_equal(cJSON_GetArraySize(at(report, "arms")), 6);
    for (int i = 0; i < 3; i++) {
        const cJSON *row = cJSON_GetArrayItem(at(report, "overhead"), i);
        const cJSON *arm = cJSON_GetArrayItem(at(report, "arms"), 2 * i);
        double ratio = number_at(row, "ratio"); /* the simulator makes the flag cost 5 % */
        assert_string_equal(text_at(row, "database"), names[i]);
        assert_int_equal(number_at(row, "flag"), 3042);
        assert_true(ratio > 1.035 && ratio < 1.065);
        assert_true(number_at(row, "low") <= ratio && ratio <= number_at(row, "high"));
        assert_string_equal(text_at(row, "verdict"), "slower");
        assert_true(number_at(row, "ratio_elapsed") > 0);
        assert_true(fabs(number_at(row, "compression_ratio/off") / ratios[i] - 1) < 0.01);
        assert_true(fabs(number_at(arm, "compression_ratio") / ratios[i] - 1) < 0.01);
        assert_true(cJSON_IsTrue(at(arm, "baseline")));
        assert_true(cJSON_IsFalse(at(arm, "settings/on")));
        assert_string_equal(text_at(arm, "settings/compression"), "on");
    }
}

static void expect_words(struct harness *house, const char *id, const cJSON *report)
{
    char *target = mem_format("/v1/jobs/%s/report", id);
    char *markdown = harness_text(house, target, "text/markdown", 200);
    assert_int_equal(strncmp(markdown, "Trace flag 3042 makes compressed backups of ", 44), 0);
    assert_non_null(strstr(markdown, "% slower (95 % interval +"));
    char *warnings = cJSON_PrintUnformatted(at(report, "warnings"));
    assert_non_null(strstr(warnings, "Trace flag 3042 is global"));
    assert_non_null(strstr(warnings, "about a third of the database"));
    free(warnings);
    free(markdown);
    free(target);
}

static void measure_three(const char *platform, const char *folder)
{
    char *scenario = mem_format("{'platform':'%s'," THREE "}", platform);
    char *extra = mem_format(
        "'allow':{'paths':['%s'],'trace_flags':[3042]},'limits':{'min_free_disk_mib':1}", folder);
    char *body = mem_format(
        FLAG_JOB("'Large','Middle','Small'", "%s", "},'design':{'repetitions':6}"), folder);
    struct harness *house = harness_start(scenario);
    harness_register(house, extra);
    char *id = harness_submit(house, body);
    cJSON *job = harness_wait(house, id);
    if (strcmp(text_at(job, "state"), "succeeded") != 0)
        fail_msg("%s", cJSON_PrintUnformatted(job));
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_non_null(strstr(text_at(job, "summary"), "Trace flag 3042 on: Large "));
    cJSON *report = get(house, id, "report");
    assert_string_equal(text_at(report, "design/order"), "abba");
    assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
    expect_overheads(report);
    expect_words(house, id, report);
    flag_expect_tidy(house);
    assert_false(flag_is_on(house, 3042));
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
    free(body);
    free(extra);
    free(scenario);
}

static void three_databases_are_measured_on_linux(void **state)
{
    (void)state;
    measure_three("Linux", FLAG_FOLDER);
}

static void three_databases_are_measured_on_windows(void **state)
{
    (void)state;
    measure_three("Windows", "D:\\\\Backup");
}

static void a_flag_is_only_switched_when_the_next_trial_needs_it(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    char *id = harness_submit(house, FLAG_JOB_PAIR); /* off, on, on, off */
    cJSON_Delete(harness_wait(house, id));
    assert_int_equal(sim_count_statements(house->sim, "DBCC TRACEON"), 1);
    assert_int_equal(sim_count_statements(house->sim, "DBCC TRACEOFF"), 1);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 4);
    flag_expect_tidy(house);
    free(id);
    harness_stop(house);
}

/* Which flags were on when each backup of Sales was sent must follow from the statements. */
static void only_the_flag_of_the_arm_is_changed(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    flag_fault(house, "{'do':'trace_flag','number':3226}");
    char *id = harness_submit(house, FLAG_JOB("'Sales'", FLAG_FOLDER,
                                              ",'flags':[3042,3226]},'design':{'repetitions':3,"
                                              "'warmups':0,'order':'random_blocks','seed':7}"));
    cJSON *job = harness_wait(house, id);
    assert_non_null(job);
    size_t count = 0;
    int mixed = 0;
    bool on_3042 = false;
    bool on_3226 = true;
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        bool changes = strncmp(texts[i], "DBCC TRACEO", 11) == 0;
        bool on = changes && strncmp(texts[i], "DBCC TRACEON", 12) == 0;
        if (changes && strstr(texts[i], "3042"))
            on_3042 = on;
        if (changes && strstr(texts[i], "3226"))
            on_3226 = on;
        mixed += strncmp(texts[i], "BACKUP DATABASE [Sales]", 23) == 0 && on_3042 && !on_3226;
    }
    assert_int_equal(mixed, 0);
    assert_false(flag_is_on(house, 3042));
    assert_true(flag_is_on(house, 3226));
    sim_texts_free(texts, count);
    flag_expect_tidy(house);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

/* Held in the warm-up with the flag off, when the file has its pre-allocated size. By then 18
 * messages of progress are on their way, each followed by a look: when the tenth look of all
 * arrives, several have been answered. */
static void a_warm_up_shows_the_room_that_preallocation_takes(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    flag_fault(house, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','percent':90}");
    char *id = harness_submit(house, FLAG_JOB("'Sales'", FLAG_FOLDER,
                                              "},'design':{'repetitions':2,'order':'sequential'}"));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    assert_int_equal(
        sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, "SELECT fixed_drive_path", 10, 20000), 0);
    sim_release(house->sim);
    cJSON *job = harness_wait(house, id);
    cJSON *report = get(house, id, "report");
    double peak = number_at(report, "overhead/0/peak_file_bytes/off");
    double size = number_at(report, "overhead/0/file_bytes/off");
    double third = 256 * 1.25 / 3 * 1048576; /* of the simulator's data file */
    assert_true(fabs(peak / third - 1) < 0.02);
    assert_true(size < 0.7 * peak);
    assert_true(number_at(report, "arms/0/peak_file_bytes") > size);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_trial_beside_which_the_flag_was_changed_is_repeated(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    flag_fault(house, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    flag_fault(house, "{'do':'trace_flag','number':3042,'on':false}");
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    cJSON *trials = get(house, id, "trials");
    assert_int_equal(cJSON_GetArraySize(at(trials, "items")), 5);
    assert_string_equal(text_at(trials, "items/1/status"), "contaminated");
    assert_non_null(strstr(text_at(trials, "items/1/notes/0"), "trace flag 3042 off"));
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
}

/* --- what a job tells of itself ----------------------------------------------------------------
 */

static cJSON *held_in(struct harness *house, const char *id, const char *phase)
{
    static const char *const members[] = {
        "id",       "kind",       "instance",   "state",        "state_reason", "phase",
        "cleanup",  "progress",   "created_at", "started_at",   "finished_at",  "labels",
        "retry_of", "definition", "summary",    "requested_by", "error",        "retry_at"};
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s", id);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    free(target);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        (void)at(job, members[i]);
    assert_string_equal(text_at(job, "state"), "running");
    assert_string_equal(text_at(job, "phase"), phase);
    assert_int_equal(text_at(job, "id")[14], '7'); /* the version of the UUID */
    assert_int_equal(strlen(text_at(job, "started_at")), strlen("2026-12-01T02:53:08.123Z"));
    assert_int_equal(text_at(job, "started_at")[23], 'Z');
    return job;
}

static void a_job_tells_its_phase_and_how_far_it_is(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    flag_fault(house, "{'do':'hold_before','match':'SELECT state, source_database_id'}");
    flag_fault(house,
               "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2,'percent':40}");
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    cJSON *job = held_in(house, id, "preparing");
    assert_string_equal(text_at(job, "cleanup"), "none");
    assert_true(cJSON_IsNull(at(job, "progress/current")));
    cJSON_Delete(job);
    sim_release(house->sim);

    assert_int_equal(
        sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, "BACKUP DATABASE [Sales]", 2, 20000), 0);
    job = held_in(house, id, "measuring");
    double percent = number_at(job, "progress/current/percent");
    assert_string_equal(text_at(job, "cleanup"), "pending"); /* the flag is on */
    assert_int_equal(number_at(job, "progress/trials_done"), 1);
    assert_int_equal(number_at(job, "progress/trials_planned"), 4);
    assert_string_equal(text_at(job, "progress/current/arm"), "a1");
    assert_true(percent >= 0 && percent <= 40);
    assert_true(fabs(number_at(job, "progress/percent") - 100 * (1 + percent / 100) / 4) < 0.01);
    cJSON_Delete(job);

    flag_fault(house, "{'do':'hold_before','match':'DBCC TRACEOFF'}");
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, "DBCC TRACEOFF", 1, 20000), 0);
    cJSON_Delete(held_in(house, id, "restoring"));
    assert_true(flag_is_on(house, 3042));
    sim_release(house->sim);
    job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_true(cJSON_IsNull(at(job, "phase")));
    assert_false(flag_is_on(house, 3042));
    cJSON_Delete(job);
    free(target);
    free(id);
    harness_stop(house);
}

/* --- a switch without an effect --------------------------------------------------------------- */

#define NO_EFFECT(times) "{'do':'skip','match':'DBCC TRACEOFF','times':" times "}"

/* A job on such a server, ended; *out_id is the caller's. */
static cJSON *run_without_effect(struct harness *house, const char *fault, char **out_id)
{
    harness_register(house, FLAG_ALLOW);
    flag_fault(house, fault);
    *out_id = harness_submit(house, FLAG_JOB_PAIR);
    cJSON *job = harness_wait(house, *out_id);
    assert_int_equal(sim_count_statements(house->sim, "DBCC TRACEOFF"), 2);
    return job;
}

static void a_flag_that_stayed_on_once_is_switched_off_again(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = harness_start(NULL);
    cJSON *job = run_without_effect(house, NO_EFFECT("1"), &id);
    assert_string_not_equal(text_at(job, "state"), "failed");
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_false(flag_is_on(house, 3042));
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

/* It is ours, and must not be taken for what was there before. */
static void a_flag_that_stays_on_ends_the_job_and_is_told(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = harness_start(NULL);
    cJSON *job = run_without_effect(house, NO_EFFECT("2"), &id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_string_equal(text_at(job, "cleanup"), "failed");
    assert_non_null(strstr(text_at(job, "error/message"), "could not be put back"));
    assert_int_equal(sim_count_statements(house->sim, "DBCC TRACEON"), 1);
    cJSON *report = get(house, id, "report");
    assert_string_equal(text_at(report, "left_behind/0/object"), "3042");
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

/* --- refusals --------------------------------------------------------------------------------- */

#define LOGINS                                                                                     \
    "{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1','permissions':"               \
    "['VIEW SERVER STATE','VIEW ANY DEFINITION','EXECUTE xp_delete_file','EXECUTE "                \
    "xp_delete_files','SELECT msdb'],'roles':{'Sales':['db_backupoperator']}}]}"

static void a_login_without_sysadmin_is_refused_before_anything_runs(void **state)
{
    (void)state;
    static const char *const scenarios[] = {LOGINS, NULL};
    for (int i = 0; i < 2; i++) { /* told by the role; told only by the statement */
        struct harness *house = harness_start(scenarios[i]);
        harness_register(house, FLAG_ALLOW);
        if (i == 1)
            flag_fault(house, "{'do':'error','match':'DBCC TRACEON','number':2571,'text':'No.'}");
        char *id = harness_submit(house, FLAG_JOB_PAIR);
        cJSON *job = harness_wait(house, id);
        assert_string_equal(text_at(job, "state"), "failed");
        assert_int_equal(number_at(job, "error/number"), 2571);
        assert_non_null(strstr(text_at(job, "error/message"), "ALTER SERVER ROLE sysadmin"));
        assert_false(flag_is_on(house, 3042));
        flag_expect_tidy(house);
        cJSON_Delete(job);
        free(id);
        harness_stop(house);
    }
}

static void expect_failure(const char *scenario, const char *job_body, const char *words)
{
    struct harness *house = harness_start(scenario);
    harness_register(house, FLAG_ALLOW);
    char *id = harness_submit(house, job_body);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    if (!strstr(text_at(job, "error/message"), words))
        fail_msg("%s", text_at(job, "error/message"));
    assert_int_equal(sim_count_statements(house->sim, "DBCC TRACEO"), 0);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 0);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void what_preallocation_asks_for_must_be_free(void **state)
{
    (void)state;
    expect_failure("{'time_scale':0,'volumes':[{'mount':'/','total_mib':65536},{'mount':"
                   "'/var/opt/mssql/backup','total_mib':600,'used_mib':500}]}",
                   FLAG_JOB_PAIR, "pre-allocates about a third of database Sales at once");
}

static void compression_left_to_a_server_that_does_not_compress_is_refused(void **state)
{
    (void)state;
    expect_failure(NULL, FLAG_JOB("'Sales'", FLAG_FOLDER, ",'compression':'default'}"),
                   "backup compression default");
    expect_failure("{'time_scale':0,'edition':'Express'}", FLAG_JOB_PAIR, "compression");
}

static void compression_left_to_a_server_that_compresses_is_measured(void **state)
{
    (void)state;
    struct harness *house = harness_start(
        "{'time_scale':0,'noise':0,'configurations':{'backup compression default':1}}");
    harness_register(house, FLAG_ALLOW);
    char *id = harness_submit(house, FLAG_JOB("'Sales'", FLAG_FOLDER,
                                              ",'compression':'default'},'design':{'warmups':0}"));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    cJSON *report = get(house, id, "report");
    assert_true(number_at(report, "overhead/0/compression_ratio/on") > 4);
    assert_true(cJSON_IsNull(at(report, "overhead/0/peak_file_bytes/off"))); /* no warm-up */
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void what_cannot_matter_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *body, *pointer;
    } faults[] = {
        {FLAG_JOB("'Sales'", "NUL", "}"), "/parameters/target/paths/0"},
        {FLAG_JOB("'Sales'", FLAG_FOLDER, ",'compression':'off'}"), "/parameters/compression"},
        {FLAG_JOB("'Sales'", FLAG_FOLDER, ",'flags':[3042,1118]}"), "/parameters/flags/1"},
    };
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        cJSON *problem = harness_call(house, "POST", "/v1/jobs", faults[i].body, 400);
        assert_string_equal(text_at(problem, "errors/0/pointer"), faults[i].pointer);
        cJSON_Delete(problem);
    }
    harness_stop(house);
}

static void a_clear_cost_is_told_early(void **state)
{
    (void)state;
    struct harness *house = harness_start("{" THREE "}");
    harness_register(house, FLAG_ALLOW);
    char *id = harness_submit(
        house, FLAG_JOB("'Large'", FLAG_FOLDER,
                        "},'design':{'repetitions':20,'warmups':1,'seed':5,'stop_early':true}"));
    cJSON *job = harness_wait(house, id);
    cJSON *report = get(house, id, "report");
    int blocks = (int)number_at(report, "design/blocks");
    assert_string_equal(text_at(job, "state"), "succeeded");
    assert_in_range(blocks, 4, 12);
    assert_int_equal(blocks % 2, 0); /* no pair is left half done */
    assert_int_equal(number_at(job, "progress/trials_done"), 2 * (blocks + 1));
    assert_string_equal(text_at(report, "overhead/0/verdict"), "slower");
    assert_true(number_at(report, "overhead/0/low") > 1.02);
    flag_expect_tidy(house);
    assert_false(flag_is_on(house, 3042));
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_databases_are_measured_on_linux),
        cmocka_unit_test(three_databases_are_measured_on_windows),
        cmocka_unit_test(a_clear_cost_is_told_early),
        cmocka_unit_test(a_flag_is_only_switched_when_the_next_trial_needs_it),
        cmocka_unit_test(only_the_flag_of_the_arm_is_changed),
        cmocka_unit_test(a_warm_up_shows_the_room_that_preallocation_takes),
        cmocka_unit_test(a_trial_beside_which_the_flag_was_changed_is_repeated),
        cmocka_unit_test(a_job_tells_its_phase_and_how_far_it_is),
        cmocka_unit_test(a_flag_that_stayed_on_once_is_switched_off_again),
        cmocka_unit_test(a_flag_that_stays_on_ends_the_job_and_is_told),
        cmocka_unit_test(a_login_without_sysadmin_is_refused_before_anything_runs),
        cmocka_unit_test(what_preallocation_asks_for_must_be_free),
        cmocka_unit_test(compression_left_to_a_server_that_does_not_compress_is_refused),
        cmocka_unit_test(compression_left_to_a_server_that_compresses_is_measured),
        cmocka_unit_test(what_cannot_matter_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
