/* What snapshot_overhead's report says, from made-up trials. */
#include "jobs/kinds/snapshot.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TWO_PLACES                                                                                 \
    "'locations':[{'name':'15K','path':'/backup/k'},{'name':'SSD','path':'/backup/r'}]"
#define BIG "'workload':{'select_into':{'source':'Sales.Big','rows':1000000}}"
#define GOOD "'database':'S'," TWO_PLACES "," BIG

#define BLOCKS 10

static struct snapshot_parameters parameters_of(const cJSON *tree)
{
    struct snapshot_parameters parameters;
    struct json_faults faults = {0};
    snapshot_read(tree, &parameters, &faults);
    jobs_kit_expect_none(&faults);
    return parameters;
}

struct experiment {
    cJSON *parameters;
    struct plan plan;
    struct design design;
    struct server_facts facts;
    struct trial *trials;
    size_t trial_count, trial_capacity;
    struct analysis analysis;
    cJSON *report;
    struct outcome outcome;
};

static struct experiment *experiment_new(const char *parameters)
{
    struct experiment *made = mem_alloc(1, sizeof *made);
    made->parameters = jobs_kit_json(parameters);
    struct snapshot_parameters read = parameters_of(made->parameters);
    snapshot_add_arms(&read, &made->plan);
    made->design = (struct design){.repetitions = BLOCKS, .confidence = 0.95, .tolerance = 0.02};
    return made;
}

static struct trial *add_trial(struct experiment *made, int arm, int block, double seconds)
{
    made->trials =
        mem_grow(made->trials, &made->trial_capacity, made->trial_count + 1, sizeof *made->trials);
    struct trial *trial = &made->trials[made->trial_count++];
    *trial = trial_new((int64_t)made->trial_count, block, arm, false);
    trial->status = TRIAL_OK;
    trial->started_at = 1;
    trial->elapsed_s = seconds;
    trial->create_s = arm > 0 ? 0.25 : NAN;
    trial->waits = jobs_kit_json("[{'type':'WRITELOG','ms':5,'count':1},"
                                 "{'type':'PREEMPTIVE_OS_WRITEFILE','ms':0,'count':0}]");
    return trial;
}

/* An arm's trials around this time: as many above it as below. */
static void measure(struct experiment *made, int arm, double seconds, double noise)
{
    static const double shape[BLOCKS] = {-2, 2, -1, 1, 0, 0, 1, -1, 2, -2};
    for (int block = 0; block < BLOCKS; block++)
        (void)add_trial(made, arm, block + 1,
                        seconds * (1 + noise * shape[(block + arm) % BLOCKS]));
}

static void report(struct experiment *made)
{
    struct bundle bundle = {.job = "j",
                            .kind = "snapshot_overhead",
                            .instance = "sql01",
                            .facts = &made->facts,
                            .design = &made->design,
                            .arms = made->plan.arms,
                            .arm_count = made->plan.arm_count,
                            .trials = made->trials,
                            .trial_count = made->trial_count,
                            .parameters = made->parameters};
    analysis_make(&bundle, &made->analysis);
    made->report = report_make(&bundle, &made->analysis);
    snapshot_report(&bundle, &made->analysis, made->report, &made->outcome);
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

static double figure(const cJSON *row, const char *name)
{
    const cJSON *member = json_member(row, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static const cJSON *row_of(const struct experiment *made, const char *list, int index)
{
    return cJSON_GetArrayItem(json_member(made->report, list), index);
}

static const char *text_of(const cJSON *row, const char *name)
{
    return cJSON_GetStringValue(json_member(row, name));
}

static void tells_seed_three_with_its_baseline_of_1_8_seconds(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{" GOOD "}");
    static const double seconds[] = {1.8, 4.5, 6.3, 2.7, 3.2};
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, seconds[arm], 0.002);
    report(made);
    const cJSON *elapsed = json_member(row_of(made, "arms", 0), "elapsed_s");
    assert_float_equal(figure(elapsed, "mean"), 1.8, 1e-6);
    assert_float_equal(figure(elapsed, "median"), 1.8, 1e-6);
    assert_int_equal(figure(row_of(made, "arms", 0), "n"), 10);

    const cJSON *one = row_of(made, "overhead", 0);
    const cJSON *two = row_of(made, "overhead", 1);
    assert_string_equal(text_of(one, "location"), "15K");
    assert_int_equal(figure(one, "snapshots"), 1);
    assert_float_equal(figure(one, "ratio"), 2.5, 0.01); /* times: slower is above 1 */
    assert_true(figure(one, "low") < figure(one, "ratio"));
    assert_true(figure(one, "high") > figure(one, "ratio"));
    assert_float_equal(figure(one, "added_by_last_s"), 2.7, 0.01);
    assert_float_equal(figure(two, "added_by_last_s"), 1.8, 0.02);
    assert_float_equal(figure(one, "create_s"), 0.25, 1e-9);
    assert_string_equal(text_of(two, "verdict"), "slower");
    assert_float_equal(figure(row_of(made, "overhead", 3), "added_by_last_s"), 0.5, 0.01);
    assert_true(figure(two, "added_by_last_s") < figure(one, "added_by_last_s"));

    assert_string_equal(
        text_of(row_of(made, "snapshot_cost", 0), "words"),
        "the first snapshot adds 2.7 s, the second one adds 1.8 s; without any it takes "
        "1.8 s");
    assert_int_equal(made->outcome.state, JOB_SUCCEEDED);
    assert_non_null(
        strstr(made->outcome.summary, "2 snapshots at 15K: 3.50x the time without (95 % "));
    assert_non_null(strstr(made->outcome.summary, "; the first adds 2.7 s, the next 1.8 s"));
    assert_null(json_member(made->report, "custom_sql"));
    experiment_free(made);
}

static void says_it_in_words_first(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{" GOOD "}");
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1.8 + arm, 0.002);
    report(made);
    char *text = report_markdown(made->report);
    char *line_end = strchr(text, '\n');
    assert_non_null(strstr(text, "## Cost of each snapshot"));
    assert_non_null(strstr(text, "- **SSD**: the first snapshot adds "));
    assert_null(strstr(text, "they did not do the same work"));
    assert_non_null(line_end);
    *line_end = '\0';
    assert_non_null(strstr(text, "With **2 snapshots at SSD** it runs "));
    free(text);
    experiment_free(made);
}

static void shows_the_waits_of_snapshots_also_where_they_are_none(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{" GOOD "}");
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1.8, 0.002);
    report(made);
    for (int arm = 0; arm < 5; arm++) {
        const cJSON *waits = json_member(row_of(made, "arms", arm), "waits");
        assert_int_equal(cJSON_GetArraySize(waits), 2); /* the others are not known */
        assert_string_equal(text_of(cJSON_GetArrayItem(waits, 1), "type"),
                            "PREEMPTIVE_OS_WRITEFILE");
        assert_int_equal(figure(cJSON_GetArrayItem(waits, 1), "ms"), 0);
    }
    experiment_free(made);
}

static void spreads_the_cost_over_snapshots_that_were_not_measured_one_by_one(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{'snapshots':[2,5],'database':'S'," BIG
                                             ",'locations':[{'name':'SSD','path':'/backup'}]}");
    static const double seconds[] = {1, 2, 3.5};
    for (int arm = 0; arm < 3; arm++)
        measure(made, arm, seconds[arm], 0.001);
    report(made);
    assert_float_equal(figure(row_of(made, "overhead", 0), "added_by_last_s"), 0.5, 0.01);
    assert_float_equal(figure(row_of(made, "overhead", 1), "added_by_last_s"), 0.5, 0.01);
    assert_string_equal(text_of(row_of(made, "snapshot_cost", 0), "words"),
                        "each of 2 snapshots adds 0.5 s, each of the next 3 adds 0.5 s; without "
                        "any it takes 1 s");
    assert_null(strstr(made->outcome.summary, "the first adds"));
    experiment_free(made);
}

static void calls_no_difference_an_answer(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{" GOOD "}");
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1.8, 0.001);
    report(made);
    assert_int_equal(made->outcome.state, JOB_SUCCEEDED);
    assert_string_equal(made->outcome.summary, "No overhead of snapshots beyond 2 % is shown");
    assert_string_equal(text_of(row_of(made, "overhead", 0), "verdict"), "no_difference");
    experiment_free(made);
}

static void is_inconclusive_when_no_row_has_an_answer(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{" GOOD "}");
    for (int arm = 0; arm < 5; arm++)
        measure(made, arm, 1.8 + 0.01 * arm, 0.3);
    report(made);
    assert_int_equal(made->outcome.state, JOB_INCONCLUSIVE);
    assert_string_equal(made->outcome.summary,
                        "The data do not tell whether snapshots slow this workload");
    experiment_free(made);
}

static void shows_an_arm_that_failed_without_figures(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{" GOOD "}");
    for (int arm = 0; arm < 4; arm++)
        measure(made, arm, 1.8 + arm, 0.001);
    struct trial *trial = add_trial(made, 4, 1, 1);
    trial->status = TRIAL_FAILED;
    trial->error_number = 5128;
    trial->error_text = mem_copy("the volume was full");
    report(made);
    const cJSON *row = row_of(made, "overhead", 3);
    assert_true(cJSON_IsNull(json_member(row, "ratio")));
    assert_true(cJSON_IsNull(json_member(row, "added_by_last_s")));
    assert_string_equal(text_of(row, "verdict"), "inconclusive");
    assert_non_null(strstr(text_of(row_of(made, "snapshot_cost", 1), "words"),
                           "the second one adds what is not known"));
    char *text = report_markdown(made->report);
    assert_non_null(strstr(text, "5128"));
    free(text);
    experiment_free(made);
}

static void says_when_the_workload_is_the_jobs_own(void **state)
{
    (void)state;
    struct experiment *made =
        experiment_new("{'database':'S'," TWO_PLACES ",'workload':{'sql':'UPDATE t SET a = 1'}}");
    measure(made, 0, 1.8, 0.001);
    report(made);
    assert_true(cJSON_IsTrue(json_member(made->report, "custom_sql")));
    experiment_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_seed_three_with_its_baseline_of_1_8_seconds),
        cmocka_unit_test(says_it_in_words_first),
        cmocka_unit_test(shows_the_waits_of_snapshots_also_where_they_are_none),
        cmocka_unit_test(spreads_the_cost_over_snapshots_that_were_not_measured_one_by_one),
        cmocka_unit_test(calls_no_difference_an_answer),
        cmocka_unit_test(is_inconclusive_when_no_row_has_an_answer),
        cmocka_unit_test(shows_an_arm_that_failed_without_figures),
        cmocka_unit_test(says_when_the_workload_is_the_jobs_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
