/* One job against others, from curl to verdict: `baseline`, /v1/compare, /v1/trends. A server that
 * got slower is another simulator under the same name. */
#include "jobs/compare.h"
#include "jobs/evidence.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SERVER(read, more) "{'time_scale':0,'noise':0.01,'surface':{'read_mib_s':" read "}" more "}"
#define AS_EVER SERVER("1500", "")
#define SLOWER SERVER("1200", "")
#define UPDATED SERVER("1500", ",'version':'17.0.1000.7'")

#define FIVE ",'design':{'repetitions':5,'warmups':0,'seed':7}"
#define QUICK ",'design':{'repetitions':3,'warmups':0,'seed':7}"
#define COUNTS ",'buffercount':['default',100]"
#define AGAINST(what) FIVE ",'baseline':'" what "'"

#define NOBODY "01981c5e-7a10-7000-8000-000000000001"

static struct harness *house_of_sql01(void)
{
    struct harness *house = harness_start(AS_EVER);
    harness_register(house, ALLOW);
    return house;
}

/* From now on sql01 is this server; to be ended by sim_stop after the house. */
static struct sim *move_to(struct harness *house, const char *scenario)
{
    char error[SIM_ERROR_SIZE];
    struct sim *sim = NULL;
    char *json = harness_json(scenario);
    if (sim_start(json, &sim, error) < 0)
        fail_msg("%s", error);
    free(json);
    sweep_register(house, "sql01", sim_port(sim), ALLOW, 200);
    return sim;
}

/* Runs a sweep with an answer; its id. */
static char *run(struct harness *house, const char *body)
{
    char *id = NULL;
    cJSON_Delete(sweep_run_to(house, body, "succeeded", &id));
    return id;
}

/* Takes target over. */
static cJSON *get(struct harness *house, char *target, int status)
{
    cJSON *tree = harness_call(house, "GET", target, NULL, status);
    free(target);
    return tree;
}

static bool holds(const cJSON *list, const char *words)
{
    const cJSON *text;
    cJSON_ArrayForEach(text, list) {
        if (strstr(text->valuestring, words))
            return true;
    }
    return false;
}

static bool says(const cJSON *tree, const char *path, const char *words)
{
    return strstr(text_at(tree, path), words) != NULL;
}

static bool is_true(const cJSON *tree, const char *path)
{
    return cJSON_IsTrue(at(tree, path));
}

static int told(struct harness *house, const char *event)
{
    int count = 0;
    const cJSON *item;
    cJSON *list = harness_call(house, "GET", "/v1/webhooks/chat/deliveries", NULL, 200);
    cJSON_ArrayForEach(item, at(list, "items")) {
        count += strcmp(text_at(item, "event"), event) == 0;
    }
    cJSON_Delete(list);
    return count;
}

static void tell_chat(struct harness *house)
{
    cJSON_Delete(harness_call(house, "PUT", "/v1/webhooks/chat",
                              "{'url':{'env':'SWEETSPOT_SECRET_NO_SUCH'},'format':'json',"
                              "'events':['job.regressed'],'all_jobs':true}",
                              201));
}

/* The report as `sweetspot analyze` makes it from the evidence. */
static void expect_the_same_again(struct harness *house, const char *id)
{
    struct err err = {0};
    struct evidence evidence;
    struct outcome outcome;
    char *target = mem_format("/v1/jobs/%s/evidence", id);
    char *text = harness_text(house, target, "application/json", 200);
    *strrchr(target, '/') = '\0';
    char *report_target = mem_format("%s/report", target);
    char *wanted = harness_text(house, report_target, "application/json", 200);
    if (evidence_read(text, strlen(text), true, &evidence, &err) < 0)
        fail_msg("%s", err.msg);
    cJSON *report = evidence_report(&evidence, &outcome);
    char *again = json_print(report);
    assert_string_equal(again, wanted);
    free(again);
    cJSON_Delete(report);
    free(outcome.summary);
    evidence_fini(&evidence);
    free(wanted);
    free(report_target);
    free(text);
    free(target);
}

/* --- baseline ------------------------------------------------------------------------------- */

static void the_first_job_has_no_latest_and_says_so(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    /* it is of the same parameters, but has no answer */
    cJSON_Delete(sweep_run_to(house, SWEEP(COUNTS, SHORT), "inconclusive", NULL));
    char *id = run(house, SWEEP(COUNTS, AGAINST("latest")));
    cJSON *report = sweep_report_of(house, id);
    assert_true(cJSON_IsNull(at(report, "baseline")));
    assert_true(holds(at(report, "warnings"), "no baseline yet"));
    expect_the_same_again(house, id);
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

static void the_same_server_has_not_regressed(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    tell_chat(house);
    char *first = run(house, SWEEP(COUNTS, FIVE));
    char *other = run(house, SWEEP(",'buffercount':['default',50,100]", FIVE)); /* not the same */
    char *id = run(house, SWEEP(COUNTS, AGAINST("latest")));
    cJSON *report = sweep_report_of(house, id);
    assert_string_equal(text_at(report, "baseline/job"), first);
    assert_string_equal(text_at(report, "baseline/arm"), "a1");
    assert_true(number_at(report, "baseline/ratio") > 0.95);
    assert_true(number_at(report, "baseline/ratio") < 1.05);
    assert_true(number_at(report, "baseline/low") < number_at(report, "baseline/high"));
    assert_int_equal(number_at(report, "baseline/baseline_n"), 5);
    assert_true(cJSON_IsFalse(at(report, "baseline/regressed")));
    assert_int_equal(told(house, "job.regressed"), 0);
    expect_the_same_again(house, id);
    cJSON_Delete(report);
    free(id);
    free(other);
    free(first);
    harness_stop(house);
}

/* Three runs without noise at these speeds, here and in the baseline job: has it regressed? */
static bool regresses(double was, double is, double tolerance)
{
    struct server_facts facts = {0};
    struct design design = {.repetitions = 3, .confidence = 0.95, .tolerance = tolerance};
    struct arm arm = {
        .label = mem_copy("default"), .settings = cJSON_CreateObject(), .baseline = true};
    struct trial trials[3];
    struct bundle bundle = {.job = "j",
                            .kind = "backup_sweep",
                            .instance = "i",
                            .facts = &facts,
                            .design = &design,
                            .arms = &arm,
                            .arm_count = 1,
                            .trials = trials,
                            .trial_count = 3};
    for (int i = 0; i < 3; i++) {
        trials[i] = trial_new(i + 1, i + 1, 0, false);
        trials[i].pages = 128;
        trials[i].bytes = 1048576;
        trials[i].server_s = trials[i].elapsed_s = 1 / is;
    }
    char *text = mem_format(
        "{'job':'b','label':'default','settings':{},'speeds':[%.17g,%.17g,%.17g]}", was, was, was);
    char *json = harness_json(text);
    cJSON *baseline = cJSON_Parse(json);
    cJSON *report = cJSON_Parse("{\"baseline\":null,\"warnings\":[]}");
    struct outcome outcome = {0};
    struct analysis analysis;
    analysis_make(&bundle, &analysis);
    compare_add_baseline(&bundle, &analysis, baseline, report, &outcome);
    bool regressed = compare_is_regressed(report);
    assert_true(number_at(report, "baseline/ratio") > 0);
    analysis_fini(&analysis);
    cJSON_Delete(report);
    cJSON_Delete(baseline);
    for (int i = 0; i < 3; i++)
        trial_fini(&trials[i]);
    arm_fini(&arm);
    free(json);
    free(text);
    return regressed;
}

static void regressed_means_slower_by_more_than_5_percent_and_the_tolerance(void **state)
{
    (void)state;
    static const struct {
        double was, is, tolerance;
        bool regressed;
    } cases[] = {
        {100, 96, 0.02, false}, {100, 95.1, 0.02, false}, {100, 94.9, 0.02, true},
        {100, 94.9, 0, true},   {100, 96, 0, false},      {100, 91, 0.1, false},
        {100, 89.9, 0.1, true}, {100, 100, 0.02, false},  {100, 120, 0.02, false},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++)
        if (regresses(cases[i].was, cases[i].is, cases[i].tolerance) != cases[i].regressed)
            fail_msg("%g, then %g with a tolerance of %g", cases[i].was, cases[i].is,
                     cases[i].tolerance);
}

static void a_slower_server_is_told(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    tell_chat(house);
    char *first = run(house, SWEEP(COUNTS, FIVE));
    struct sim *sim = move_to(house, SLOWER);
    char *body = mem_format(SWEEP(COUNTS, AGAINST("%s")), first);
    char *id = NULL;
    cJSON *job = sweep_run_to(house, body, "succeeded", &id);
    assert_true(says(job, "summary", "REGRESSED: 0.8"));
    cJSON *report = sweep_report_of(house, id);
    assert_string_equal(text_at(report, "baseline/verdict"), "slower");
    assert_true(is_true(report, "baseline/regressed"));
    assert_true(number_at(report, "baseline/high") < 0.85);
    assert_int_equal(told(house, "job.regressed"), 1);
    expect_the_same_again(house, id);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    free(body);
    free(first);
    harness_stop(house);
    sim_stop(sim);
}

static void a_setting_that_was_not_measured_again_is_inconclusive(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    char *first = run(house, SWEEP(COUNTS, FIVE)); /* recommends 100 */
    char *body = mem_format(SWEEP(",'buffercount':['default',50]", AGAINST("%s")), first);
    struct sim *sim = move_to(house, UPDATED);
    char *id = run(house, body);
    cJSON *report = sweep_report_of(house, id);
    assert_true(cJSON_IsNull(at(report, "baseline/arm")));
    assert_true(cJSON_IsNull(at(report, "baseline/ratio")));
    assert_string_equal(text_at(report, "baseline/verdict"), "inconclusive");
    assert_true(holds(at(report, "warnings"), "BUFFERCOUNT=100) was not measured here"));
    assert_true(holds(at(report, "warnings"), "16.0.4100.1, then 17.0.1000.7"));
    cJSON_Delete(report);
    free(id);
    free(body);
    free(first);
    harness_stop(house);
    sim_stop(sim);
}

static void a_baseline_that_cannot_be_one_is_refused(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    char *other = harness_submit(house, "{'kind':'backup_throughput','instance':'sql01',"
                                        "'parameters':{'databases':['Sales']}}");
    cJSON_Delete(harness_wait(house, other));
    char *later = harness_submit(house, SWEEP(COUNTS, ",'not_before':'2099-01-01T00:00:00Z'"));
    const struct {
        const char *baseline, *detail;
    } cases[] = {
        {NOBODY, "no job with this id"},
        {other, "another kind: backup_throughput"},
        {later, "has not ended: it is waiting"},
        {"first", "must be the id of a job"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        char *body = mem_format(SWEEP(COUNTS, ",'baseline':'%s'"), cases[i].baseline);
        cJSON *problem = harness_call(house, "POST", "/v1/jobs", body, 400);
        assert_string_equal(text_at(problem, "errors/0/pointer"), "/baseline");
        assert_true(says(problem, "errors/0/detail", cases[i].detail));
        cJSON_Delete(problem);
        free(body);
    }
    cJSON *problem = harness_call(house, "POST", "/v1/jobs",
                                  "{'kind':'backup_history','instance':'sql01','parameters':{},"
                                  "'baseline':'latest'}",
                                  400);
    assert_true(says(problem, "errors/0/detail", "without trials"));
    cJSON_Delete(problem);
    free(later);
    free(other);
    harness_stop(house);
}

/* --- compare -------------------------------------------------------------------------------- */

#define COMPARE "/v1/compare?base=%s&candidate=%s"

static void two_jobs_are_compared_setting_by_setting(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    char *base = run(house, SWEEP(",'buffercount':['default',50,100]", FIVE));
    struct sim *sim = move_to(house, SLOWER);
    char *candidate = run(house, SWEEP(",'buffercount':[200,100,'default']", FIVE));
    cJSON *found = get(house, mem_format(COMPARE, base, candidate), 200);
    assert_string_equal(text_at(found, "base"), base);
    assert_string_equal(text_at(found, "candidate"), candidate);
    assert_true(is_true(found, "comparable"));
    assert_int_equal(cJSON_GetArraySize(at(found, "reasons")), 0);
    assert_int_equal(cJSON_GetArraySize(at(found, "arms")), 2); /* 50 and 200 stand alone */
    const cJSON *arm;
    cJSON_ArrayForEach(arm, at(found, "arms")) {
        assert_true(number_at(arm, "ratio") > 0.75 && number_at(arm, "ratio") < 0.85);
        assert_string_equal(text_at(arm, "verdict"), "slower");
        assert_true(is_true(arm, "regressed"));
    }
    cJSON_Delete(found);
    found = get(house, mem_format(COMPARE, candidate, base), 200);
    assert_string_equal(text_at(found, "arms/0/verdict"), "faster");
    cJSON_Delete(found);
    char *shouted = run(house, SWEEP_OF("sql01", "SALES", COUNTS, QUICK)); /* the same database */
    found = get(house, mem_format(COMPARE, candidate, shouted), 200);
    assert_true(is_true(found, "comparable"));
    assert_int_equal(cJSON_GetArraySize(at(found, "arms")), 2);
    cJSON_Delete(found);
    free(shouted);
    free(candidate);
    free(base);
    harness_stop(house);
    sim_stop(sim);
}

static void what_stands_against_a_comparison_is_said(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    char *base = run(house, SWEEP(COUNTS, QUICK));
    char *elsewhere = run(house, SWEEP_OF("sql01", "AdventureWorks", COUNTS, QUICK));
    char *other = harness_submit(house, "{'kind':'backup_throughput','instance':'sql01',"
                                        "'parameters':{'databases':['Sales']}}");
    cJSON_Delete(harness_wait(house, other));
    char *later = harness_submit(house, SWEEP(COUNTS, ",'not_before':'2099-01-01T00:00:00Z'"));
    struct sim *sim = move_to(house, UPDATED);
    char *updated = run(house, SWEEP(COUNTS, QUICK));
    const struct {
        const char *candidate, *reason;
        bool arms;
    } cases[] = {
        {elsewhere, "the database differs", false},
        {other, "the kind differs: backup_sweep, then backup_throughput", false},
        {later, "the candidate job has no figures: it is waiting", false},
        {updated, "the version of SQL Server differs: 16.0.4100.1, then 17.0.1000.7", true},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        cJSON *found = get(house, mem_format(COMPARE, base, cases[i].candidate), 200);
        assert_true(cJSON_IsFalse(at(found, "comparable")));
        assert_true(holds(at(found, "reasons"), cases[i].reason));
        assert_int_equal(cJSON_GetArraySize(at(found, "arms")) > 0, cases[i].arms);
        cJSON_Delete(found);
    }
    cJSON_Delete(get(house, mem_format(COMPARE, base, NOBODY), 404));
    cJSON_Delete(get(house, mem_format(COMPARE, NOBODY, base), 404));
    cJSON_Delete(get(house, mem_format("/v1/compare?base=%s&candidate=x", base), 400));
    cJSON_Delete(get(house, mem_format("/v1/compare?base=%s", base), 400));
    cJSON_Delete(get(house, mem_format(COMPARE "&x=1", base, base), 400));
    free(updated);
    free(later);
    free(other);
    free(elsewhere);
    free(base);
    harness_stop(house);
    sim_stop(sim);
}

/* --- trends --------------------------------------------------------------------------------- */

#define TREND "/v1/trends?instance=sql01&kind=backup_sweep"

/* The item of this job, or NULL. */
static const cJSON *item_of(const cJSON *list, const char *job)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (strcmp(text_at(item, "job"), job) == 0)
            return item;
    }
    return NULL;
}

static void a_change_is_found_where_it_was_and_an_update_splits(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    char *ids[24];
    struct sim *sims[2] = {NULL};
    for (size_t i = 0; i < JSON_COUNT(ids); i++) {
        if (i == 8)
            sims[0] = move_to(house, SLOWER);
        if (i == 16)
            sims[1] = move_to(house, UPDATED);
        ids[i] = run(house, SWEEP(COUNTS, QUICK));
    }
    cJSON *trend = harness_call(house, "GET", TREND, NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(trend, "points")), 24);
    assert_string_equal(text_at(trend, "points/0/job"), ids[0]);
    assert_string_equal(text_at(trend, "points/0/role"), "recommended");
    assert_true(number_at(trend, "points/0/rate_mib_s") > 0);
    assert_int_equal(strlen(text_at(trend, "points/0/at")), strlen("2026-12-01T02:53:08.123Z"));
    assert_int_equal(strlen(text_at(trend, "splits/0/at")), strlen("2026-12-01T02:53:08.123Z"));
    assert_int_equal(strlen(text_at(trend, "change_points/0/at")),
                     strlen("2026-12-01T02:53:08.123Z"));
    assert_string_equal(text_at(trend, "points/0/settings/database"), "Sales");
    const cJSON *change = item_of(at(trend, "change_points"), ids[8]);
    assert_true(number_at(change, "ratio") > 0.75 && number_at(change, "ratio") < 0.85);
    assert_true(number_at(change, "p") <= 0.01);
    assert_null(item_of(at(trend, "change_points"), ids[16])); /* a split is no change */
    assert_int_equal(cJSON_GetArraySize(at(trend, "splits")), 1);
    assert_string_equal(text_at(trend, "splits/0/job"), ids[16]);
    assert_true(says(trend, "splits/0/why", "version: 16.0.4100.1 -> 17.0.1000.7"));
    cJSON_Delete(trend);

    trend = harness_call(house, "GET", TREND "&database=Sales&target=NUL&limit=5", NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(trend, "points")), 5);
    assert_string_equal(text_at(trend, "points/4/job"), ids[23]); /* the newest, oldest first */
    cJSON_Delete(trend);
    trend = harness_call(house, "GET", TREND "&database=Nothing", NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(trend, "points")), 0);
    cJSON_Delete(trend);
    for (size_t i = 0; i < JSON_COUNT(ids); i++)
        free(ids[i]);
    harness_stop(house);
    sim_stop(sims[0]);
    sim_stop(sims[1]);
}

static void a_trend_is_of_one_instance_and_kind(void **state)
{
    (void)state;
    struct harness *house = house_of_sql01();
    cJSON *problem = harness_call(house, "GET", "/v1/trends?kind=backup_sweep", NULL, 400);
    assert_string_equal(text_at(problem, "errors/0/parameter"), "instance");
    cJSON_Delete(problem);
    problem = harness_call(house, "GET", "/v1/trends?instance=sql01", NULL, 400);
    assert_string_equal(text_at(problem, "errors/0/parameter"), "kind");
    cJSON_Delete(problem);
    cJSON_Delete(harness_call(house, "GET", TREND "&limit=0", NULL, 400));
    cJSON_Delete(harness_call(house, "GET", TREND "&from=x", NULL, 400));
    cJSON *trend = harness_call(house, "GET", TREND, NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(trend, "points")), 0);
    cJSON_Delete(trend);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_job_has_no_latest_and_says_so),
        cmocka_unit_test(the_same_server_has_not_regressed),
        cmocka_unit_test(regressed_means_slower_by_more_than_5_percent_and_the_tolerance),
        cmocka_unit_test(a_slower_server_is_told),
        cmocka_unit_test(a_setting_that_was_not_measured_again_is_inconclusive),
        cmocka_unit_test(a_baseline_that_cannot_be_one_is_refused),
        cmocka_unit_test(two_jobs_are_compared_setting_by_setting),
        cmocka_unit_test(what_stands_against_a_comparison_is_said),
        cmocka_unit_test(a_change_is_found_where_it_was_and_an_update_splits),
        cmocka_unit_test(a_trend_is_of_one_instance_and_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
