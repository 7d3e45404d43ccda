/* trace_flag without a server: parameters, arms, and what the report says of made-up trials. */
#include "jobs/kinds/flag.h"
#include "server/buf.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB 1048576
#define TARGET "'target':{'name':'disk','paths':['/backup']}"

/* --- parameters ------------------------------------------------------------------------------ */

#define INSTANCE                                                                                   \
    "{'host':'127.0.0.1','port':1,'login':'sweetspot',"                                            \
    "'password':{'env':'SWEETSPOT_SECRET_TEST'},'environment':'development',"                      \
    "'allow':{'paths':['/backup'],'trace_flags':[3042,3023,3226,3051,3004,3014,3213,3605]}}"

static void check(const char *parameters, const char *design, struct json_faults *faults)
{
    char *text = mem_format("{'kind':'trace_flag','instance':'sql01','parameters':%s%s}",
                            parameters, design);
    cJSON *tree = jobs_kit_json(text);
    struct definition definition;
    struct instance instance;
    struct err err = {0};
    char *stored = jobs_kit_text(INSTANCE);
    if (instance_load(stored, &instance, &err) < 0)
        fail_msg("%s", err.msg);
    (void)(definition_read(tree, &definition, faults) < 0);
    flag_check(&definition, &instance, faults);
    instance_fini(&instance);
    cJSON_Delete(tree);
    free(stored);
    free(text);
}

static void refuses_each_wrong_value_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *pointer, *words;
    } cases[] = {
        {"{" TARGET "}", "/parameters/databases", ""},
        {"{'databases':['S']}", "/parameters/target", ""},
        {"{'databases':[]," TARGET "}", "/parameters/databases", ""},
        {"{'databases':['S','tempdb']," TARGET "}", "/parameters/databases/1", "tempdb"},
        {"{'databases':['S','s']," TARGET "}", "/parameters/databases/1", "twice"},
        {"{'databases':[5]," TARGET "}", "/parameters/databases/0", "name"},
        {"{'databases':['S'],'flags':[]," TARGET "}", "/parameters/flags", ""},
        {"{'databases':['S'],'flags':[3042,3042]," TARGET "}", "/parameters/flags/1", "twice"},
        {"{'databases':['S'],'flags':[3042.5]," TARGET "}", "/parameters/flags/0", "number"},
        {"{'databases':['S'],'flags':[-1]," TARGET "}", "/parameters/flags/0", "number"},
        {"{'databases':['S'],'flags':['3042']," TARGET "}", "/parameters/flags/0", "number"},
        {"{'databases':['S'],'flags':[3042,1118]," TARGET "}", "/parameters/flags/1",
         "allow.trace_flags"},
        {"{'databases':['S'],'compression':'zip'," TARGET "}", "/parameters/compression", "one of"},
        {"{'databases':['S'],'compression':'off'," TARGET "}", "/parameters/compression",
         "NO_COMPRESSION"},
        {"{'databases':['S'],'target':{'name':'n','paths':['NUL']}}", "/parameters/target/paths/0",
         "NUL keeps no file"},
        {"{'databases':['S'],'target':{'name':'n','paths':['/etc']}}", "/parameters/target/paths/0",
         "allow.paths"},
        {"{'databases':['S'],'file':1," TARGET "}", "/parameters/file", ""},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct json_faults faults = {0};
        check(cases[i].parameters, "", &faults);
        jobs_kit_expect_fault(&faults, cases[i].pointer, cases[i].words);
        json_faults_fini(&faults);
    }
}

static void refuses_more_than_anybody_waits_for(void **state)
{
    (void)state;
    struct buf names = {0};
    for (int i = 0; i < 32; i++)
        buf_format(&names, "%s'D%d'", i ? "," : "", i);
    char *parameters = mem_format("{'databases':[%s],'flags':[3042,3023,3226,3051,3004,3014,3213,"
                                  "3605]," TARGET "}",
                                  buf_text(&names));
    char *fewer =
        mem_format("{'databases':[%s],'flags':[3042,3023,3226,3051]," TARGET "}", buf_text(&names));
    struct json_faults faults = {0};
    check(parameters, "", &faults);
    jobs_kit_expect_fault(&faults, "/parameters", "512 arms");
    json_faults_fini(&faults);
    struct json_faults trials = {0};
    check(fewer, ",'design':{'repetitions':39}", &trials);
    jobs_kit_expect_fault(&trials, "/design/repetitions", "10496 trials"); /* 39 are rounded up */
    json_faults_fini(&trials);
    free(fewer);
    free(parameters);
    buf_fini(&names);
}

/* Of this flag it is not known that it needs a file. */
#define ANY_FLAG_TO_NUL                                                                            \
    "{'databases':['S'],'flags':[3023],'compression':'off',"                                       \
    "'target':{'name':'n','paths':['NUL']}}"

static void accepts_what_the_contract_allows(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{'databases':['S']," TARGET "}",
        "{'databases':['S','T'],'flags':[3042],'compression':'default'," TARGET "}",
        "{'databases':['S'],'target':{'name':'d','paths':['/backup'],'files':4}}",
        ANY_FLAG_TO_NUL,
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct json_faults faults = {0};
        check(cases[i], "", &faults);
        jobs_kit_expect_none(&faults);
        json_faults_fini(&faults);
    }
}

static void names_the_default_flag_when_it_is_not_allowed(void **state)
{
    (void)state;
    cJSON *tree = jobs_kit_json("{'kind':'trace_flag','instance':'sql01','parameters':{"
                                "'databases':['S']," TARGET "}}");
    struct json_faults faults = {0};
    struct definition definition;
    struct instance instance = {0};
    assert_int_equal(definition_read(tree, &definition, &faults), 0);
    assert_int_equal(definition.design.order, DESIGN_ABBA);
    flag_check(&definition, &instance, &faults);
    jobs_kit_expect_fault(&faults, "/parameters/flags", "3042 is not in");
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

/* --- reports --------------------------------------------------------------------------------- */

struct experiment {
    cJSON *parameters;
    struct plan plan;
    struct design design;
    struct server_facts facts;
    struct trial trials[64];
    size_t trial_count;
    cJSON *report;
    struct outcome outcome;
};

static void experiment_init(struct experiment *made, const char *parameters)
{
    struct flag_parameters read;
    *made = (struct experiment){
        .parameters = jobs_kit_json(parameters),
        .design = {.order = DESIGN_ABBA, .repetitions = 6, .confidence = 0.95, .tolerance = 0.02}};
    flag_read(made->parameters, &read, NULL);
    flag_add_arms(&read, &made->plan);
}

static struct trial *add_trial(struct experiment *made, int arm, int block, int64_t pages,
                               double seconds)
{
    struct trial *trial = &made->trials[made->trial_count++];
    assert_true(made->trial_count <= 64);
    *trial = trial_new((int64_t)made->trial_count, block, arm, block == 0);
    trial->status = TRIAL_OK;
    trial->started_at = 1;
    trial->pages = pages;
    trial->bytes = pages * 8192;
    trial->server_s = seconds;
    trial->elapsed_s = seconds + 1; /* what the server does before it counts */
    return trial;
}

/* Six runs that all took as long as the median of the seed's. */
static void measure(struct experiment *made, int arm, int64_t pages, double seconds,
                    int64_t file_mib)
{
    for (int block = 1; block <= 6; block++)
        add_trial(made, arm, block, pages, seconds)->file_bytes = file_mib * MIB;
}

static void report(struct experiment *made)
{
    struct bundle bundle = {.job = "j",
                            .kind = "trace_flag",
                            .instance = "sql01",
                            .facts = &made->facts,
                            .authenticated = true,
                            .design = &made->design,
                            .arms = made->plan.arms,
                            .arm_count = made->plan.arm_count,
                            .trials = made->trials,
                            .trial_count = made->trial_count,
                            .parameters = made->parameters};
    struct analysis analysis;
    analysis_make(&bundle, &analysis);
    made->report = report_make(&bundle, &analysis);
    flag_report(&bundle, &analysis, made->report, &made->outcome);
    analysis_fini(&analysis);
}

static void experiment_fini(struct experiment *made)
{
    for (size_t i = 0; i < made->trial_count; i++)
        trial_fini(&made->trials[i]);
    cJSON_Delete(made->report);
    free(made->outcome.summary);
    plan_fini(&made->plan);
    cJSON_Delete(made->parameters);
}

static const cJSON *row_of(const struct experiment *made, int index)
{
    return cJSON_GetArrayItem(json_member(made->report, "overhead"), index);
}

static double number(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static bool has_warning(const struct experiment *made, const char *words)
{
    const cJSON *warning;
    cJSON_ArrayForEach(warning, json_member(made->report, "warnings")) {
        if (strstr(warning->valuestring, words))
            return true;
    }
    return false;
}

static void makes_off_and_on_side_by_side(void **state)
{
    (void)state;
    struct experiment made;
    experiment_init(&made, "{'databases':['S','T'],'flags':[3042,3023],'target':{'name':'d',"
                           "'paths':['/a','/b'],'files':4}}");
    assert_int_equal(made.plan.arm_count, 8);
    for (int i = 0; i < 8; i++) {
        const struct arm *arm = &made.plan.arms[i];
        assert_int_equal(arm->index, i);
        assert_int_equal(arm->baseline, i % 2 == 0);
        assert_int_equal(arm->against, i - i % 2);
        assert_int_equal(flag_arm_is_on(arm), i % 2);
        assert_int_equal(flag_of_arm(arm), i / 2 % 2 ? 3023 : 3042);
        assert_true(isnan(arm->buffer_memory_mib));
    }
    char *settings = json_print(made.plan.arms[5].settings);
    assert_string_equal(settings, "{\"flag\":3042,\"on\":true,\"files\":4,\"compression\":\"on\","
                                  "\"target\":\"d\",\"database\":\"T\"}");
    assert_string_equal(made.plan.arms[5].label, "T, trace flag 3042 on");
    free(settings);
    experiment_fini(&made);
}

#define SEED "{'databases':['TestDB36','TestDB19','TestDB11']," TARGET "}"

/* Pages, seconds and files of the published test (five runs each, medians). */
static void measure_seed(struct experiment *made)
{
    static const struct {
        int64_t off_pages, on_pages;
        double off_s, on_s;
        int64_t file_mib;
    } seed[] = {
        {454146, 454146, 77.311, 81.606, 790},
        {237509, 237506, 48.177, 50.774, 260},
        {151642, 151642, 24.472, 24.625, 380},
    };
    experiment_init(made, SEED);
    for (int i = 0; i < 3; i++) {
        measure(made, 2 * i, seed[i].off_pages, seed[i].off_s, seed[i].file_mib);
        measure(made, 2 * i + 1, seed[i].on_pages, seed[i].on_s, seed[i].file_mib);
    }
    report(made);
}

static void gives_the_published_overheads_and_compression(void **state)
{
    (void)state;
    static const struct {
        const char *database, *verdict;
        double percent, elapsed, compression, file_mib, rate_off, rate_on;
    } golden[] = {
        {"TestDB36", "slower", 5.56, 82.606 / 78.311, 4.49, 790, 45.892, 43.477},
        {"TestDB19", "slower", 5.39, 51.774 / 49.177, 7.14, 260, 38.514, 36.544},
        {"TestDB11", "no_difference", 0.63, 25.625 / 25.472, 3.12, 380, 48.410, 48.109},
    };
    struct experiment made;
    measure_seed(&made);
    assert_int_equal(made.outcome.state, JOB_SUCCEEDED);
    for (int i = 0; i < 3; i++) {
        const cJSON *row = row_of(&made, i);
        const cJSON *arms = json_member(made.report, "arms");
        const cJSON *off = cJSON_GetArrayItem(arms, 2 * i);
        const cJSON *on = cJSON_GetArrayItem(arms, 2 * i + 1);
        assert_string_equal(cJSON_GetStringValue(json_member(row, "database")), golden[i].database);
        assert_int_equal(number(row, "flag"), 3042);
        assert_string_equal(cJSON_GetStringValue(json_member(row, "verdict")), golden[i].verdict);
        assert_true(fabs(100 * (number(row, "ratio") - 1) - golden[i].percent) <= 0.0055);
        assert_true(fabs(number(row, "ratio_elapsed") - golden[i].elapsed) < 1e-4);
        assert_true(number(row, "low") <= number(row, "ratio"));
        assert_true(number(row, "high") >= number(row, "ratio"));
        assert_true(fabs(number(off, "compression_ratio") - golden[i].compression) <= 0.005);
        assert_true(fabs(number(on, "compression_ratio") - golden[i].compression) <= 0.005);
        assert_true(fabs(number(json_member(row, "file_bytes"), "off") / MIB - golden[i].file_mib) <
                    1e-9);
        /* the printed rates: mebibytes, cut */
        assert_true(fabs(number(json_member(off, "rate_mib_s"), "median") - golden[i].rate_off) <
                    0.0015);
        assert_true(fabs(number(json_member(on, "rate_mib_s"), "median") - golden[i].rate_on) <
                    0.0015);
    }
    assert_true(has_warning(&made, "TestDB19 held 237509 pages with trace flag 3042 off and 237506 "
                                   "with it on"));
    assert_false(has_warning(&made, "TestDB36 held"));
    experiment_fini(&made);
}

static void says_when_the_two_clocks_disagree(void **state)
{
    (void)state;
    struct experiment made;
    experiment_init(&made, "{'databases':['S']," TARGET "}");
    measure(&made, 0, 1000, 10, 1);
    measure(&made, 1, 1000, 11, 1);
    for (size_t i = 0; i < made.trial_count; i++) /* off: long before the server's seconds */
        made.trials[i].elapsed_s = made.trials[i].arm == 0 ? 20 : 12;
    report(&made);
    assert_true(has_warning(&made, "trace flag 3042 makes it slower; by our clock it is faster "
                                   "(0.600 times as long)"));
    experiment_fini(&made);
    measure_seed(&made);
    assert_false(has_warning(&made, "by our clock it is"));
    experiment_fini(&made);
}

static void says_the_result_in_words(void **state)
{
    (void)state;
    struct experiment made;
    measure_seed(&made);
    assert_string_equal(made.outcome.summary,
                        "Trace flag 3042 on: TestDB36 5.6 % slower (95 % +5.6 to +5.6 %), TestDB19 "
                        "5.4 % slower (95 % +5.4 to +5.4 %), TestDB11 no difference (95 % +0.6 to "
                        "+0.6 %)");
    static const char first[] = "Trace flag 3042 makes compressed backups of TestDB36 5.6 % slower "
                                "(95 % interval +5.6 % to +5.6 %); 2 more below.\n";
    char *markdown = report_markdown(made.report);
    if (strncmp(markdown, first, strlen(first)) != 0)
        fail_msg("%s", markdown);
    assert_non_null(strstr(markdown, "| 3042 | TestDB36 | 1.056 | 1.056 to 1.056 | 1.055 | 4.491 / "
                                     "4.491 | 790.0 / 790.0 | – / – | slower |"));
    assert_true(has_warning(&made, "Trace flag 3042 is global"));
    free(markdown);
    experiment_fini(&made);
}

/* One run each: no interval, no verdict. */
static void leaves_open_what_the_data_do_not_decide(void **state)
{
    (void)state;
    struct experiment made;
    experiment_init(&made, "{'databases':['S']," TARGET "}");
    (void)add_trial(&made, 0, 1, 1000, 10);
    (void)add_trial(&made, 1, 1, 1000, 11);
    report(&made);
    assert_int_equal(made.outcome.state, JOB_INCONCLUSIVE);
    assert_string_equal(cJSON_GetStringValue(json_member(row_of(&made, 0), "verdict")),
                        "inconclusive");
    assert_true(cJSON_IsNull(json_member(row_of(&made, 0), "low")));
    assert_true(cJSON_IsNull(json_member(json_member(row_of(&made, 0), "compression_ratio"),
                                         "off"))); /* the size of the file is not known */
    assert_string_equal(made.outcome.summary, "Trace flag 3042 on: S undecided");
    char *markdown = report_markdown(made.report);
    assert_int_equal(strncmp(markdown, "Trace flag 3042 leaves it open whether it changes", 49), 0);
    free(markdown);
    experiment_fini(&made);
}

static void stands_without_any_trial(void **state)
{
    (void)state;
    struct experiment made;
    experiment_init(&made, "{'databases':['S','T','U','V','W']," TARGET "}");
    report(&made);
    assert_int_equal(made.outcome.state, JOB_INCONCLUSIVE);
    assert_int_equal(cJSON_GetArraySize(json_member(made.report, "overhead")), 5);
    assert_non_null(strstr(made.outcome.summary, "; 1 more in the report"));
    char *printed = json_print(made.report);
    assert_null(strstr(printed, "nan"));
    char *markdown = report_markdown(made.report);
    assert_null(strstr(markdown, "nan"));
    free(markdown);
    free(printed);
    experiment_fini(&made);
}

static void shows_the_peak_of_watched_warm_ups(void **state)
{
    (void)state;
    struct experiment made;
    experiment_init(&made, "{'databases':['S']," TARGET "}");
    add_trial(&made, 0, 0, 1000, 10)->peak_bytes = 500 * (int64_t)MIB;
    measure(&made, 0, 1000, 10, 200);
    measure(&made, 1, 1000, 8, 200);
    report(&made);
    const cJSON *peak = json_member(row_of(&made, 0), "peak_file_bytes");
    assert_int_equal(number(peak, "off"), 500 * MIB);
    assert_true(cJSON_IsNull(json_member(peak, "on")));
    assert_string_equal(cJSON_GetStringValue(json_member(row_of(&made, 0), "verdict")), "faster");
    assert_non_null(strstr(made.outcome.summary, "S 20.0 % faster (95 % -20.0 to -20.0 %)"));
    experiment_fini(&made);
}

static void keeps_the_peak_with_the_stored_trial(void **state)
{
    (void)state;
    struct trial trial = trial_new(1, 0, 0, true);
    struct trial read;
    struct err err;
    cJSON *without = trial_to_json(&trial);
    trial.peak_bytes = 12345678901;
    cJSON *tree = trial_to_json(&trial);
    assert_null(json_member(without, "peak_file_bytes"));
    assert_int_equal(trial_from_json(tree, &read, &err), 0);
    assert_true(read.peak_bytes == 12345678901);
    trial_fini(&read);
    assert_int_equal(trial_from_json(without, &read, &err), 0);
    assert_true(read.peak_bytes == -1);
    trial_fini(&read);
    cJSON_Delete(without);
    cJSON_Delete(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_each_wrong_value_where_it_stands),
        cmocka_unit_test(refuses_more_than_anybody_waits_for),
        cmocka_unit_test(accepts_what_the_contract_allows),
        cmocka_unit_test(names_the_default_flag_when_it_is_not_allowed),
        cmocka_unit_test(makes_off_and_on_side_by_side),
        cmocka_unit_test(gives_the_published_overheads_and_compression),
        cmocka_unit_test(says_when_the_two_clocks_disagree),
        cmocka_unit_test(says_the_result_in_words),
        cmocka_unit_test(leaves_open_what_the_data_do_not_decide),
        cmocka_unit_test(stands_without_any_trial),
        cmocka_unit_test(shows_the_peak_of_watched_warm_ups),
        cmocka_unit_test(keeps_the_peak_with_the_stored_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
