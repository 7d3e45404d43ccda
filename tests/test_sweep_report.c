/* What a sweep's report recommends, from made-up trials. */
#include "jobs/kinds/sweep_report.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS 5
#define MIB 1048576.0

struct experiment {
    cJSON *parameters;
    struct sweep sweep;
    struct plan plan;
    struct design design;
    struct server_facts facts;
    struct trial *trials;
    size_t trial_count, trial_capacity;
    struct bundle bundle;
    struct analysis analysis;
    cJSON *report;
    struct outcome outcome;
};

static struct experiment *experiment_new(const char *parameters)
{
    struct experiment *made = mem_alloc(1, sizeof *made);
    made->parameters = jobs_kit_json(parameters);
    sweep_read(made->parameters, &made->sweep, NULL);
    sweep_add_arms(&made->sweep, &made->plan);
    made->design = (struct design){.repetitions = BLOCKS, .confidence = 0.95, .tolerance = 0.02};
    return made;
}

static struct trial *add_trial(struct experiment *made, int arm, int block, double rate)
{
    made->trials =
        mem_grow(made->trials, &made->trial_capacity, made->trial_count + 1, sizeof *made->trials);
    struct trial *trial = &made->trials[made->trial_count++];
    *trial = trial_new((int64_t)made->trial_count, block, arm, block == 0);
    trial->status = TRIAL_OK;
    trial->started_at = 1;
    trial->pages = 131072; /* 1 GiB */
    trial->bytes = trial->pages * 8192;
    trial->server_s = (double)trial->bytes / MIB / rate;
    trial->elapsed_s = trial->server_s;
    trial->file_bytes = 0;
    return trial;
}

/* An arm's trials at this rate, with a little noise that differs between arms and blocks. */
static void measure(struct experiment *made, int arm, int first_block, double rate)
{
    for (int block = 0; block < BLOCKS; block++)
        (void)add_trial(made, arm, first_block + block,
                        rate * (1 + 0.002 * ((arm * 7 + block * 3) % 5 - 2)));
}

static void fail_arm(struct experiment *made, int arm, int number)
{
    struct trial *trial = add_trial(made, arm, 1, 1);
    trial->status = TRIAL_FAILED;
    trial->pages = trial->bytes = -1;
    trial->error_number = number;
    trial->error_text = mem_copy("it failed");
}

static void report(struct experiment *made)
{
    made->bundle = (struct bundle){.job = "j",
                                   .kind = "backup_sweep",
                                   .instance = "sql01",
                                   .facts = &made->facts,
                                   .design = &made->design,
                                   .arms = made->plan.arms,
                                   .arm_count = made->plan.arm_count,
                                   .trials = made->trials,
                                   .trial_count = made->trial_count,
                                   .parameters = made->parameters};
    analysis_make(&made->bundle, &made->analysis);
    made->report = report_make(&made->bundle, &made->analysis);
    made->outcome.state = JOB_INCONCLUSIVE;
    sweep_report(&made->bundle, &made->analysis, made->report, &made->outcome);
    assert_non_null(made->outcome.summary);
    char *text = job_report_markdown("{}"); /* a report of nothing is still a text */
    free(text);
    text = report_markdown(made->report);
    assert_non_null(text);
    free(text);
}

static void experiment_free(struct experiment *made)
{
    cJSON_Delete(made->report);
    free(made->outcome.summary);
    analysis_fini(&made->analysis);
    trials_free(made->trials, made->trial_count);
    plan_fini(&made->plan);
    cJSON_Delete(made->parameters);
    free(made);
}

static const cJSON *recommendation(const struct experiment *made)
{
    return json_member(made->report, "recommendation");
}

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(json_member(object, name));
}

static bool has_warning(const struct experiment *made, const char *words)
{
    const cJSON *warning;
    cJSON_ArrayForEach(warning, json_member(made->report, "warnings"))
        if (strstr(warning->valuestring, words))
            return true;
    return false;
}

#define CURVE "{'database':'S','buffercount':[10,50,100,200]}"

static void recommends_the_cheapest_of_the_best(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    static const double rates[] = {400, 300, 600, 800, 802};
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1, rates[arm]);
    report(made);
    const cJSON *found = recommendation(made);
    assert_int_equal(made->outcome.state, JOB_SUCCEEDED);
    assert_string_equal(text_of(found, "arm"), "a3");
    assert_false(cJSON_IsTrue(json_member(found, "keep_default")));
    cJSON *interval = jobs_kit_json("{'buffercount':[100,200]}");
    assert_true(cJSON_Compare(json_member(found, "interval"), interval, true));
    assert_int_equal(cJSON_GetNumberValue(json_member(found, "buffer_memory_mib")), 100);
    assert_non_null(strstr(text_of(found, "tsql"), "BUFFERCOUNT = 100"));
    assert_null(strstr(text_of(found, "tsql"), "COPY_ONLY"));
    assert_non_null(strstr(text_of(found, "ola"), "DatabaseBackup"));
    assert_non_null(strstr(text_of(found, "dbatools"), "Backup-DbaDatabase"));
    assert_int_equal(strncmp(made->outcome.summary, "BUFFERCOUNT=100: 2.00x the default (95 %", 40),
                     0);
    assert_non_null(strstr(made->outcome.summary, "100 MiB of buffers"));
    assert_true(cJSON_IsNull(json_member(made->report, "confirmation")));
    assert_null(json_member(made->report, "no_recommendation"));
    cJSON_Delete(interval);
    experiment_free(made);
}

static void keeps_the_default_when_nothing_is_faster(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1, 500);
    report(made);
    const cJSON *found = recommendation(made);
    assert_int_equal(made->outcome.state, JOB_SUCCEEDED);
    assert_string_equal(text_of(found, "arm"), "a0");
    assert_true(cJSON_IsTrue(json_member(found, "keep_default")));
    assert_true(cJSON_IsNull(json_member(found, "buffer_memory_mib")));
    assert_int_equal(strncmp(made->outcome.summary, "Keep the default", 16), 0);
    /* and from where to where a setting would do as well */
    cJSON *interval = jobs_kit_json("{'buffercount':[10,200]}");
    assert_true(cJSON_Compare(json_member(found, "interval"), interval, true));
    cJSON_Delete(interval);
    experiment_free(made);
}

static void an_interval_ends_where_a_setting_is_worse(void **state)
{
    (void)state;
    struct experiment *made =
        experiment_new("{'database':'S','buffercount':[10,50,100,200],'blocksize':[512,65536]}");
    /* a0 default; then buffers x block sizes, the block size counting faster */
    static const double rates[] = {400, 500, 500, 800, 802, 700, 803, 801, 804};
    for (int arm = 0; arm < 9; arm++)
        measure(made, arm, 1, rates[arm]);
    report(made);
    const cJSON *found = recommendation(made);
    assert_string_equal(text_of(found, "arm"), "a3"); /* 50 buffers, blocks of 512 */
    cJSON *interval = jobs_kit_json("{'buffercount':[50,50],'blocksize':[512,65536]}");
    assert_true(cJSON_Compare(json_member(found, "interval"), interval, true));
    cJSON_Delete(interval);
    experiment_free(made);
}

static void a_dropped_setting_is_told_and_never_recommended(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    static const double rates[] = {400, 300, 600, 800, 802};
    made->design.race = true;
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1, rates[arm]);
    for (size_t i = 0; i < made->trial_count; i++) /* 10 and 50 buffers ran two blocks only */
        if ((made->trials[i].arm == 1 || made->trials[i].arm == 2) && made->trials[i].block > 2)
            made->trials[i].status = TRIAL_CANCELLED;
    report(made);
    const cJSON *arm = cJSON_GetArrayItem(json_member(made->report, "arms"), 2);
    const cJSON *dropped = json_member(arm, "dropped");
    assert_int_equal(cJSON_GetNumberValue(json_member(dropped, "after_block")), 2);
    assert_int_equal(cJSON_GetNumberValue(json_member(arm, "n")), 2);
    arm = cJSON_GetArrayItem(json_member(made->report, "arms"), 0);
    assert_true(cJSON_IsNull(json_member(arm, "dropped"))); /* the default, though it is slower */
    assert_true(has_warning(made, "dropped 2 of 5 settings"));
    assert_string_equal(text_of(recommendation(made), "arm"), "a3");
    experiment_free(made);
}

static void draws_the_curve_of_the_first_option(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    static const double rates[] = {400, 300, 600, 800, 802};
    for (int arm = 0; arm < 4; arm++) /* the last one was never measured */
        measure(made, arm, 1, rates[arm]);
    report(made);
    const cJSON *curve = json_member(made->report, "curve");
    assert_int_equal(cJSON_GetArraySize(curve), 5);
    assert_true(cJSON_IsNull(json_member(cJSON_GetArrayItem(curve, 0), "x")));
    const cJSON *point = cJSON_GetArrayItem(curve, 3);
    assert_string_equal(text_of(point, "arm"), "a3");
    assert_int_equal(cJSON_GetNumberValue(json_member(point, "x")), 100);
    double rate = cJSON_GetNumberValue(json_member(point, "rate_mib_s"));
    assert_true(rate > 795 && rate < 805);
    assert_true(cJSON_GetNumberValue(json_member(point, "low")) <= rate);
    assert_true(cJSON_GetNumberValue(json_member(point, "high")) >= rate);
    assert_true(cJSON_IsNull(json_member(cJSON_GetArrayItem(curve, 4), "rate_mib_s")));
    experiment_free(made);
}

static void leaves_beaten_arms_out_of_the_front(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    static const double rates[] = {400, 300, 600, 800, 700};
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1, rates[arm]);
    report(made);
    char *front = json_print(json_member(made->report, "pareto"));
    assert_null(strstr(front, "\"a4\"")); /* slower than a3 and dearer */
    assert_non_null(strstr(front, "\"a3\""));
    free(front);
    experiment_free(made);
}

static void weighs_cpu_by_what_was_read(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{'database':'S','buffercount':[50,100]}");
    static const double rates[] = {400, 800, 800};
    static const double cpu_s[] = {4, 4, 3}; /* the dearer setting uses less CPU: both stay */
    for (int arm = 0; arm < 3; arm++)
        measure(made, arm, 1, rates[arm]);
    for (size_t i = 0; i < made->trial_count; i++) {
        struct trial *trial = &made->trials[i];
        trial->cpu_s = cpu_s[trial->arm];
        if (trial->arm == 0) { /* read half as much: 8 CPU seconds for each GiB */
            trial->bytes /= 2;
            trial->pages /= 2;
            trial->server_s /= 2;
        }
    }
    report(made);
    char *front = cJSON_PrintUnformatted(json_member(made->report, "pareto"));
    assert_string_equal(front, "[\"a0\",\"a1\",\"a2\"]"); /* a0: its memory is not known */
    const cJSON *arm = cJSON_GetArrayItem(json_member(made->report, "arms"), 0);
    assert_int_equal(cJSON_GetNumberValue(json_member(json_member(arm, "cpu_s_per_gib"), "median")),
                     8);
    free(front);
    experiment_free(made);
}

static void never_recommends_an_arm_that_failed_once(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    static const double rates[] = {400, 300, 600, 800, 900};
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1, rates[arm]);
    fail_arm(made, 4, 701);
    report(made);
    assert_string_equal(text_of(recommendation(made), "arm"), "a3");
    char *front = json_print(json_member(made->report, "pareto"));
    assert_null(strstr(front, "\"a4\""));
    free(front);
    assert_int_equal(cJSON_GetArraySize(json_member(made->report, "arms")),
                     5); /* but it is shown */
    experiment_free(made);
}

static void recommends_nothing_when_all_failed(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    for (int arm = 0; arm < 5; arm++)
        fail_arm(made, arm, 3201);
    report(made);
    assert_int_equal(made->outcome.state, JOB_INCONCLUSIVE);
    assert_true(cJSON_IsNull(recommendation(made)));
    assert_non_null(strstr(text_of(made->report, "no_recommendation"), "too little"));
    assert_int_equal(cJSON_GetArraySize(json_member(made->report, "pareto")), 0);
    experiment_free(made);
}

static void recommends_nothing_without_any_trial(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(CURVE);
    report(made);
    assert_int_equal(made->outcome.state, JOB_INCONCLUSIVE);
    assert_true(cJSON_IsNull(recommendation(made)));
    experiment_free(made);
}

static void competes_on_the_first_target_only(void **state)
{
    (void)state;
    struct experiment *made =
        experiment_new("{'database':'S','buffercount':[50],'targets':[{'name':'a','paths':['/a']},"
                       "{'name':'b','paths':['/b']}]}");
    static const double rates[] = {400, 500, 4000, 5000}; /* a: a0, a1; b: a2, a3 */
    for (int arm = 0; arm < 4; arm++)
        measure(made, arm, 1, rates[arm]);
    report(made);
    assert_string_equal(text_of(recommendation(made), "arm"), "a1");
    assert_int_equal(cJSON_GetArraySize(json_member(made->report, "curve")), 2);
    assert_non_null(strstr(text_of(recommendation(made), "tsql"), "'/a/<"));
    assert_non_null(strstr(text_of(recommendation(made), "ola"), "'/a'"));
    assert_non_null(strstr(text_of(recommendation(made), "dbatools"), "'/a'"));
    experiment_free(made);
}

#define CONFIRMED                                                                                  \
    "{'database':'S','buffercount':[50,100],'confirm_on':{'name':'disk','paths':['/a']}}"

/* a0 default, a1 50, a2 100 win the sweep; a3, a4 are default and winner on the disk. */
static struct experiment *confirm(double winner_there)
{
    struct experiment *made = experiment_new(CONFIRMED);
    static const double rates[] = {400, 500, 800};
    for (int arm = 0; arm < 3; arm++)
        measure(made, arm, 1, rates[arm]);
    int first = sweep_add_confirmation(&made->sweep, &made->plan, 0, -1);
    int second = sweep_add_confirmation(&made->sweep, &made->plan, 2, first);
    measure(made, first, 1 + BLOCKS, 100);
    measure(made, second, 1 + BLOCKS, winner_there);
    report(made);
    return made;
}

static void tells_how_the_winner_did_where_it_is_confirmed(void **state)
{
    (void)state;
    struct experiment *made = confirm(150);
    const cJSON *found = json_member(made->report, "confirmation");
    assert_string_equal(text_of(found, "target"), "disk");
    assert_string_equal(text_of(found, "verdict"), "faster");
    double ratio = cJSON_GetNumberValue(json_member(found, "ratio"));
    assert_true(ratio > 1.48 && ratio < 1.52);
    assert_string_equal(text_of(recommendation(made), "arm"), "a2");
    assert_int_equal(cJSON_GetArraySize(json_member(made->report, "curve")), 3);
    experiment_free(made);
}

static void stands_by_a_winner_that_makes_no_difference_there(void **state)
{
    (void)state;
    struct experiment *made = confirm(100);
    assert_string_equal(text_of(recommendation(made), "arm"), "a2");
    assert_string_equal(text_of(json_member(made->report, "confirmation"), "verdict"),
                        "no_difference");
    experiment_free(made);
}

static void withdraws_a_winner_that_is_slower_there(void **state)
{
    (void)state;
    struct experiment *made = confirm(80);
    assert_int_equal(made->outcome.state, JOB_INCONCLUSIVE);
    assert_true(cJSON_IsNull(recommendation(made)));
    assert_string_equal(text_of(json_member(made->report, "confirmation"), "verdict"), "slower");
    assert_string_equal(made->outcome.summary,
                        "No recommendation: BUFFERCOUNT=100 won the sweep, but is slower than the "
                        "default on disk");
    assert_true(has_warning(made, "slower than the default on disk"));
    assert_string_equal(text_of(made->report, "no_recommendation"),
                        "BUFFERCOUNT=100 won the sweep, but is slower than the default on disk");
    experiment_free(made);
}

static void gives_the_same_report_for_the_same_trials(void **state)
{
    (void)state;
    struct experiment *first = confirm(150);
    struct experiment *second = confirm(150);
    char *one = json_print(first->report);
    char *two = json_print(second->report);
    assert_string_equal(one, two);
    free(one);
    free(two);
    experiment_free(first);
    experiment_free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recommends_the_cheapest_of_the_best),
        cmocka_unit_test(keeps_the_default_when_nothing_is_faster),
        cmocka_unit_test(an_interval_ends_where_a_setting_is_worse),
        cmocka_unit_test(a_dropped_setting_is_told_and_never_recommended),
        cmocka_unit_test(draws_the_curve_of_the_first_option),
        cmocka_unit_test(leaves_beaten_arms_out_of_the_front),
        cmocka_unit_test(weighs_cpu_by_what_was_read),
        cmocka_unit_test(never_recommends_an_arm_that_failed_once),
        cmocka_unit_test(recommends_nothing_when_all_failed),
        cmocka_unit_test(recommends_nothing_without_any_trial),
        cmocka_unit_test(competes_on_the_first_target_only),
        cmocka_unit_test(tells_how_the_winner_did_where_it_is_confirmed),
        cmocka_unit_test(stands_by_a_winner_that_makes_no_difference_there),
        cmocka_unit_test(withdraws_a_winner_that_is_slower_there),
        cmocka_unit_test(gives_the_same_report_for_the_same_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
