/* What a sweep may use: memory, disk, reading and writing, and how a refusal says it. */
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREE ",'design':{'repetitions':6,'warmups':0}"

/* --- memory ------------------------------------------------------------------------------- */

static void buffers_that_do_not_fit_fail_and_larger_ones_are_left_out(void **state)
{
    (void)state;
    /* 300 MiB are there: 400 and 500 buffers of 1 MiB are too many */
    struct harness *house = harness_start("{'time_scale':0,'backup_memory_mib':300}");
    char *id = NULL;
    harness_register(house, NULL);
    cJSON *job = sweep_run_to(house,
                              SWEEP(",'buffercount':['default',100,400,500]",
                                    ",'design':{'repetitions':6,'warmups':0,'order':'sequential'}"),
                              "succeeded", &id);
    cJSON *trials = sweep_trials_of(house, id);
    cJSON *report = sweep_report_of(house, id);
    assert_int_equal(sweep_count(trials, "a0", "ok"), 6);
    assert_int_equal(sweep_count(trials, "a1", "ok"), 6);
    assert_int_equal(sweep_count(trials, "a2", "failed"), 1);
    assert_int_equal(sweep_count(trials, "a2", "ok"), 0);
    assert_int_equal(sweep_count(trials, "a3", "failed") + sweep_count(trials, "a3", "ok"), 0);
    assert_int_equal(number_at(report, "recommendation/settings/buffercount"), 100);
    assert_int_equal(number_at(sweep_arm(report, "BUFFERCOUNT=400"), "failed"), 1);
    assert_int_equal(number_at(job, "progress/trials_done"), 13);
    assert_int_equal(number_at(job, "progress/trials_planned"), 13);
    assert_true(number_at(job, "progress/percent") == 100);
    cJSON_Delete(report);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void what_failed_for_memory_in_any_order_is_never_recommended(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 5; seed++) {
        struct harness *house = harness_start("{'time_scale':0,'backup_memory_mib':300,"
                                              "'memory_mib':65536,'free_memory_mib':32768}");
        char *body =
            mem_format(SWEEP(",'buffercount':[7,100,299,301,800],'compression':['off','on']",
                             ",'design':{'repetitions':3,'warmups':1,'seed':%d}"
                             ",'limits':{'buffer_memory_mib':4096}"),
                       seed);
        char *id = NULL;
        harness_register(house, "'limits':{'buffer_memory_mib':4096}");
        cJSON *job = sweep_run(house, body, &id);
        cJSON *report = sweep_report_of(house, id);
        const cJSON *recommended = at(report, "recommendation/buffer_memory_mib");
        assert_true(cJSON_IsNull(recommended) || recommended->valuedouble <= 300);
        const cJSON *arm;
        cJSON_ArrayForEach(arm, at(report, "arms")) {
            const cJSON *memory = at(arm, "buffer_memory_mib");
            if (cJSON_IsNumber(memory) && memory->valuedouble > 300)
                assert_int_equal(number_at(arm, "n"), 0);
        }
        cJSON_Delete(report);
        cJSON_Delete(job);
        free(id);
        free(body);
        harness_stop(house);
    }
}

static void buffers_beyond_the_limit_are_refused_with_the_arithmetic(void **state)
{
    (void)state;
    static const struct {
        const char *parameters;
        const char *pointer;
        const char *said;
    } rows[] = {
        {"'buffercount':[50,1025]", "/parameters/buffercount/1", "1025 MiB"},
        {"'buffercount':[257],'maxtransfersize':['default',4194304]", "/parameters/buffercount/0",
         "1028 MiB"},
        {"'buffercount':[342],'compression':['off','on']", "/parameters/buffercount/0", "1026 MiB"},
        {"'buffercount':[342],'compression':['default']", "/parameters/buffercount/0", "1026 MiB"},
        {"'buffercount':[2147483647],'maxtransfersize':[4194304],'compression':['on']",
         "/parameters/buffercount/0", "25769803764 MiB"},
    };
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *body = mem_format(SWEEP(",%s", ""), rows[i].parameters);
        cJSON *problem = harness_call(house, "POST", "/v1/jobs", body, 400);
        assert_string_equal(text_at(problem, "errors/0/pointer"), rows[i].pointer);
        assert_int_equal(cJSON_GetArraySize(at(problem, "errors")), 1);
        if (!strstr(text_at(problem, "errors/0/detail"), rows[i].said))
            fail_msg("%s is not in %s", rows[i].said, text_at(problem, "errors/0/detail"));
        assert_non_null(strstr(text_at(problem, "errors/0/detail"), "1024"));
        cJSON_Delete(problem);
        free(body);
    }
    char *body =
        mem_format(SWEEP(",'buffercount':[100]", ",'limits':{'buffer_memory_mib':%d}"), 99);
    cJSON *problem = harness_call(house, "POST", "/v1/jobs", body, 400);
    assert_string_equal(text_at(problem, "errors/0/pointer"), "/parameters/buffercount/0");
    cJSON_Delete(problem);
    free(body);
    harness_stop(house);
}

static void every_fault_of_a_body_is_told_at_once(void **state)
{
    (void)state;
    static const char *const pointers[] = {
        "/parameters/buffercount/0",
        "/parameters/buffercount/2",
        "/parameters/maxtransfersize/0",
        "/parameters/maxtransfersize/1",
        "/parameters/blocksize/0",
        "/parameters/files/0",
        "/parameters/files/1",
        "/parameters/compression/0",
        "/parameters/targets/0/paths/0",
        "/parameters/typo",
        "/design/repetitions",
        "/design/order",
        "/limits/minutes",
        "/typo",
        "/notify/0",
    };
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON *problem =
        harness_call(house, "POST", "/v1/jobs",
                     "{'kind':'backup_sweep','instance':'sql01','typo':1,'notify':['nobody'],"
                     "'limits':{'minutes':0},'design':{'repetitions':0,'order':'random'},"
                     "'parameters':{'database':'Sales','typo':1,'buffercount':[0,50,-1],"
                     "'maxtransfersize':[65537,8388608],'blocksize':[513],'files':[0,65],"
                     "'compression':['zip'],'targets':[{'name':'x','paths':['/etc']}]}}",
                     400);
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        bool found = false;
        const cJSON *fault;
        cJSON_ArrayForEach(fault, at(problem, "errors"))
            found |= strcmp(text_at(fault, "pointer"), pointers[i]) == 0;
        if (!found)
            fail_msg("no fault at %s in %s", pointers[i], cJSON_PrintUnformatted(problem));
    }
    cJSON_Delete(problem);
    harness_stop(house);
}

/* --- disk --------------------------------------------------------------------------------- */

static void a_backup_that_would_leave_too_little_free_is_refused(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'allow':{'paths':['/var/opt/mssql/backup']},"
                            "'limits':{'min_free_disk_mib':5000}");
    sweep_fault(house->sim, "{'do':'fill_volume','free_mib':5319}");
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT), "failed", NULL);
    assert_true(sweep_error_says(job, "5319 MiB free"));
    assert_true(sweep_error_says(job, "321 MiB"));
    assert_true(sweep_error_says(job, "min_free_disk_mib keeps 5000 MiB"));
    cJSON_Delete(job);
    sweep_fault(house->sim, "{'do':'fill_volume','free_mib':5330}");
    job = sweep_run(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    sweep_nothing_left(house->sim);
    harness_stop(house);
}

static void free_space_that_no_view_shows_must_be_said(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'hide','match':'dm_os_enumerate_fixed_drives'}");
    sweep_fault(house->sim, "{'do':'hide','match':'dm_os_volume_stats'}");
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT), "failed", NULL);
    assert_true(sweep_error_says(job, "assume_free_mib"));
    cJSON_Delete(job);
    job = sweep_run(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT ",'assume_free_mib':322"),
                    NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    harness_stop(house);
}

/* --- what is read and written ---------------------------------------------------------------- */

static void a_plan_that_would_read_too_much_is_refused_before_trial_1(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON *job = sweep_run_to(
        house, SWEEP(",'buffercount':[50]", THREE ",'limits':{'read_mib':3839}"), "failed", NULL);
    assert_true(sweep_error_says(job, "all trials together may need 3852 MiB"));
    assert_true(sweep_error_says(job, "read_mib is 3839"));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    cJSON_Delete(job);
    job = sweep_run(house, SWEEP(",'buffercount':[50]", THREE ",'limits':{'read_mib':3852}"), NULL);
    assert_string_equal(text_at(job, "state"), "succeeded");
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_plan_that_would_write_too_much_is_refused_before_trial_1(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    cJSON *job = sweep_run_to(
        house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT ",'limits':{'written_mib':639}"),
        "failed", NULL);
    assert_true(sweep_error_says(job, "written_mib is 639"));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    cJSON_Delete(job);
    job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT ",'limits':{'written_mib':1}"), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed"); /* NUL writes nothing */
    cJSON_Delete(job);
    harness_stop(house);
}

/* The size is not visible, so it is counted while it runs; 256 MiB a trial. */
static void a_budget_that_is_used_up_ends_the_run_with_what_was_measured(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'hide','match':'master_files'}");
    cJSON *job = sweep_run_to(
        house, SWEEP(",'buffercount':[50]", THREE ",'limits':{'read_mib':1000}"), "failed", &id);
    assert_true(sweep_error_says(job, "read_mib of 1000 is used up"));
    cJSON *trials = sweep_trials_of(house, id);
    cJSON *report = sweep_report_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 4);
    assert_true(cJSON_IsNull(at(report, "recommendation")));
    cJSON_Delete(report);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void limits_of_a_job_only_tighten_those_of_the_instance(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'limits':{'read_mib':3839,'buffer_memory_mib':64}");
    cJSON_Delete(harness_call(house, "POST", "/v1/jobs",
                              SWEEP(",'buffercount':[65]", ",'limits':{'buffer_memory_mib':500}"),
                              400));
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_that_do_not_fit_fail_and_larger_ones_are_left_out),
        cmocka_unit_test(what_failed_for_memory_in_any_order_is_never_recommended),
        cmocka_unit_test(buffers_beyond_the_limit_are_refused_with_the_arithmetic),
        cmocka_unit_test(every_fault_of_a_body_is_told_at_once),
        cmocka_unit_test(a_backup_that_would_leave_too_little_free_is_refused),
        cmocka_unit_test(free_space_that_no_view_shows_must_be_said),
        cmocka_unit_test(a_plan_that_would_read_too_much_is_refused_before_trial_1),
        cmocka_unit_test(a_plan_that_would_write_too_much_is_refused_before_trial_1),
        cmocka_unit_test(a_budget_that_is_used_up_ends_the_run_with_what_was_measured),
        cmocka_unit_test(limits_of_a_job_only_tighten_those_of_the_instance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
