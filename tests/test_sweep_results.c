/* What a sweep tells: trials, order, recommendation, confirmation, CSV and Markdown. */
#include "server/buf.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONFIRM ",'confirm_on':{'name':'disk','paths':['/var/opt/mssql/backup']}"

/* Runs a sweep that must end as told; report and trials are freed by the caller. */
static cJSON *results_of(struct harness *house, const char *body, const char *state,
                         cJSON **out_report, cJSON **out_trials)
{
    char *id = NULL;
    cJSON *job = sweep_run_to(house, body, state, &id);
    *out_report = sweep_report_of(house, id);
    *out_trials = sweep_trials_of(house, id);
    free(id);
    return job;
}

static void free_results(cJSON *job, cJSON *report, cJSON *trials)
{
    cJSON_Delete(job);
    cJSON_Delete(report);
    cJSON_Delete(trials);
}

/* "a0 a1 a1 a0 …": the arms in the order they ran. */
static char *order_of(const cJSON *trials)
{
    struct buf text = {0};
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items"))
        buf_format(&text, "%s%s%s", text.length ? " " : "", text_at(trial, "arm"),
                   cJSON_IsTrue(at(trial, "warmup")) ? "w" : "");
    return buf_take(&text);
}

static char *order_run(const char *design)
{
    struct harness *house = harness_start(NULL);
    char *body = mem_format(SWEEP(",'buffercount':['default',50,100]", ",'design':{%s}"), design);
    char *id = NULL;
    harness_register(house, NULL);
    cJSON *job = sweep_run(house, body, &id);
    cJSON *trials = sweep_trials_of(house, id);
    char *order = order_of(trials);
    free_results(job, NULL, trials);
    free(id);
    free(body);
    harness_stop(house);
    return order;
}

static void sequential_order_runs_the_arms_as_they_stand(void **state)
{
    (void)state;
    char *order = order_run("'order':'sequential','repetitions':2,'warmups':1");
    assert_string_equal(order, "a0w a1w a2w a0 a1 a2 a0 a1 a2");
    free(order);
}

static void abba_order_mirrors_every_second_block(void **state)
{
    (void)state;
    char *order = order_run("'order':'abba','repetitions':3,'warmups':0");
    /* pairs (a0, a1) and (a2) in a drawn order, odd repetitions rounded up: four blocks */
    assert_true(strstr(order, "a0 a1 a1 a0") != NULL);
    assert_int_equal(strlen(order), strlen("a0 ") * 12 - 1);
    free(order);
}

static void a_seed_reproduces_the_order_and_another_does_not(void **state)
{
    (void)state;
    char *first = order_run("'repetitions':6,'seed':7");
    char *again = order_run("'repetitions':6,'seed':7");
    char *other = order_run("'repetitions':6,'seed':8");
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    free(first);
    free(again);
    free(other);
}

static void a_drawn_seed_is_told_and_reproduces_the_order(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    cJSON *report;
    cJSON *trials;
    harness_register(house, NULL);
    cJSON *job =
        results_of(house, SWEEP(",'buffercount':[50,100,200]", ""), "succeeded", &report, &trials);
    char *order = order_of(trials);
    char *body = mem_format(SWEEP(",'buffercount':[50,100,200]", ",'design':{'seed':%.0f}"),
                            number_at(job, "definition/design/seed"));
    assert_true(number_at(report, "design/seed") == number_at(job, "definition/design/seed"));
    free_results(job, report, trials);
    job = results_of(house, body, "succeeded", &report, &trials);
    char *again = order_of(trials);
    assert_string_equal(again, order);
    free_results(job, report, trials);
    free(again);
    free(order);
    free(body);
    harness_stop(house);
}

static void warm_ups_are_stored_and_never_counted(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    cJSON *report;
    cJSON *trials;
    harness_register(house, NULL);
    /* the warm-ups, first of all, are four times as slow */
    sweep_fault(house->sim, "{'do':'slow','match':'BACKUP','factor':4,'times':4}");
    cJSON *job = results_of(
        house, SWEEP(",'buffercount':[50]", ",'design':{'repetitions':6,'warmups':2,'seed':3}"),
        "succeeded", &report, &trials);
    assert_int_equal(cJSON_GetArraySize(at(trials, "items")), 16);
    for (int i = 0; i < 4; i++) {
        const cJSON *trial = cJSON_GetArrayItem(at(trials, "items"), i);
        assert_true(cJSON_IsTrue(at(trial, "warmup")));
        assert_int_equal(number_at(trial, "block"), 0);
    }
    assert_int_equal(number_at(report, "arms/0/n"), 6);
    double rate = number_at(report, "arms/0/rate_mib_s/median");
    assert_true(number_at(report, "arms/0/elapsed_s/max") < 1e9);
    assert_true(number_at(trials, "items/0/rate_mib_s") < rate / 2 ||
                number_at(trials, "items/1/rate_mib_s") < rate / 2);
    assert_int_equal(number_at(job, "progress/trials_done"), 16);
    free_results(job, report, trials);
    harness_stop(house);
}

static void a_trial_has_exactly_the_members_of_the_contract(void **state)
{
    (void)state;
    static const char *const members[] = {
        "seq",        "block",      "arm",   "warmup",      "status",
        "started_at", "elapsed_s",  "pages", "server_s",    "bytes",
        "rate_mib_s", "file_bytes", "cpu_s", "waits",       "reads_by_file",
        "create_s",   "notes",      "error", "cpu_percent",
    };
    struct harness *house = harness_start(NULL);
    cJSON *report;
    cJSON *trials;
    harness_register(house, ALLOW);
    cJSON *job =
        results_of(house, SWEEP(",'buffercount':[50]" TO_DISK, ",'design':{'repetitions':6}"),
                   "succeeded", &report, &trials);
    const cJSON *trial;
    int64_t seq = 0;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            (void)at(trial, members[i]);
        assert_true((int64_t)number_at(trial, "seq") > seq); /* oldest first */
        seq = (int64_t)number_at(trial, "seq");
        assert_true(number_at(trial, "pages") * 8192 == number_at(trial, "bytes"));
        assert_true(number_at(trial, "file_bytes") > number_at(trial, "bytes") / 2);
        assert_true(cJSON_IsNull(at(trial, "create_s")));
        assert_true(cJSON_IsNull(at(trial, "error")));
        assert_true(number_at(trial, "cpu_s") >= 0);
        assert_int_equal(strlen(text_at(trial, "started_at")), 24);
        assert_string_equal(text_at(trial, "status"), "ok");
    }
    free_results(job, report, trials);
    harness_stop(house);
}

static void a_report_has_every_member_of_the_contract(void **state)
{
    (void)state;
    static const char *const paths[] = {"job",
                                        "kind",
                                        "instance/name",
                                        "instance/version",
                                        "instance/edition",
                                        "instance/platform",
                                        "instance/authenticated",
                                        "instance/simulated",
                                        "design/order",
                                        "design/seed",
                                        "design/blocks",
                                        "design/confidence",
                                        "design/tolerance",
                                        "arms/1/arm",
                                        "arms/1/label",
                                        "arms/1/settings/buffercount",
                                        "arms/1/settings/target",
                                        "arms/1/settings/database",
                                        "arms/1/baseline",
                                        "arms/1/n",
                                        "arms/1/failed",
                                        "arms/1/contaminated",
                                        "arms/1/elapsed_s/median",
                                        "arms/1/elapsed_s/low",
                                        "arms/1/elapsed_s/high",
                                        "arms/1/elapsed_s/level",
                                        "arms/1/elapsed_s/mean",
                                        "arms/1/elapsed_s/min",
                                        "arms/1/elapsed_s/max",
                                        "arms/1/elapsed_s/stdev",
                                        "arms/1/rate_mib_s/median",
                                        "arms/1/rate_mib_s/low",
                                        "arms/1/rate_mib_s/high",
                                        "arms/1/rate_mib_s/level",
                                        "arms/1/cpu_s/median",
                                        "arms/1/cpu_percent/median",
                                        "arms/1/buffer_memory_mib",
                                        "arms/1/file_bytes/median",
                                        "arms/1/waits/0/type",
                                        "arms/1/waits/0/ms",
                                        "comparisons/0/arm",
                                        "comparisons/0/against",
                                        "comparisons/0/ratio",
                                        "comparisons/0/low",
                                        "comparisons/0/high",
                                        "comparisons/0/level",
                                        "comparisons/0/p",
                                        "comparisons/0/verdict",
                                        "recommendation/arm",
                                        "recommendation/settings/buffercount",
                                        "recommendation/interval/buffercount/1",
                                        "recommendation/keep_default",
                                        "recommendation/reason",
                                        "recommendation/buffer_memory_mib",
                                        "recommendation/tsql",
                                        "recommendation/ola",
                                        "recommendation/dbatools",
                                        "pareto/0",
                                        "curve/1/arm",
                                        "curve/1/x",
                                        "curve/1/rate_mib_s",
                                        "curve/1/low",
                                        "curve/1/high",
                                        "confirmation/target",
                                        "confirmation/ratio",
                                        "confirmation/low",
                                        "confirmation/high",
                                        "confirmation/verdict",
                                        "chain/differential_base_unchanged",
                                        "chain/log_chain_unchanged"};
    struct harness *house = harness_start("{'time_scale':0,'noise':0.002}");
    cJSON *report;
    cJSON *trials;
    harness_register(house, ALLOW);
    cJSON *job = results_of(house, SWEEP(",'buffercount':[100]" CONFIRM, ",'design':{'seed':1}"),
                            "succeeded", &report, &trials);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (cJSON_IsNull(at(report, paths[i])))
            fail_msg("%s is null", paths[i]);
    assert_true(cJSON_IsNull(at(report, "baseline")));
    assert_int_equal(cJSON_GetArraySize(at(report, "left_behind")), 0);
    assert_true(cJSON_IsArray(at(report, "warnings")));
    free_results(job, report, trials);
    harness_stop(house);
}

static void a_failed_trial_names_number_text_and_step(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    cJSON *report;
    cJSON *trials;
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'error_at_percent','match':'BACKUP','nth':2,'number':3271}");
    cJSON *job = results_of(house,
                            SWEEP(",'buffercount':[50]",
                                  ",'design':{'order':'sequential','repetitions':6,'warmups':0}"),
                            "succeeded", &report, &trials);
    assert_int_equal(number_at(trials, "items/1/error/number"), 3271);
    assert_string_equal(text_at(trials, "items/1/error/step"), "backup");
    assert_non_null(text_at(trials, "items/1/error/message"));
    assert_true(cJSON_IsNull(at(trials, "items/1/pages")));
    assert_true(cJSON_IsNull(at(trials, "items/1/rate_mib_s")));
    assert_true(cJSON_IsTrue(at(report, "recommendation/keep_default")));
    free_results(job, report, trials);
    harness_stop(house);
}

static void a_flat_curve_keeps_the_default(void **state)
{
    (void)state;
    struct harness *house =
        harness_start("{'time_scale':0,'noise':0.003,'surface':{'floor':1,'buffer_cpu':0}}");
    cJSON *report;
    cJSON *trials;
    harness_register(house, NULL);
    cJSON *job = results_of(house, SWEEP(",'buffercount':[25,50,100,200]", ",'design':{'seed':1}"),
                            "succeeded", &report, &trials);
    assert_true(cJSON_IsTrue(at(report, "recommendation/keep_default")));
    assert_string_equal(text_at(report, "recommendation/arm"), "a0");
    assert_non_null(strstr(text_at(job, "summary"), "Keep the default"));
    assert_null(strstr(text_at(report, "recommendation/tsql"), "BUFFERCOUNT"));
    free_results(job, report, trials);
    harness_stop(house);
}

static void a_winner_is_confirmed_on_the_other_target(void **state)
{
    (void)state;
    struct harness *house = harness_start("{'time_scale':0,'noise':0.002}");
    cJSON *report;
    cJSON *trials;
    harness_register(house, ALLOW);
    cJSON *job = results_of(house, SWEEP(",'buffercount':[100]" CONFIRM, ",'design':{'seed':1}"),
                            "succeeded", &report, &trials);
    assert_string_equal(text_at(report, "confirmation/target"), "disk");
    assert_string_not_equal(text_at(report, "confirmation/verdict"), "slower");
    assert_int_equal(number_at(report, "recommendation/settings/buffercount"), 100);
    assert_int_equal(cJSON_GetArraySize(at(report, "arms")), 4);
    assert_int_equal(number_at(report, "arms/2/n"), 5);
    assert_int_equal(number_at(report, "arms/3/n"), 5);
    assert_int_equal(number_at(job, "progress/trials_planned"), 24);
    assert_int_equal(number_at(job, "progress/trials_done"), 24);
    assert_string_equal(text_at(job, "cleanup"), "done");
    sweep_nothing_left(house->sim);
    free_results(job, report, trials);
    harness_stop(house);
}

/* Every second backup to the disk, the winner's, takes twice as long. */
static void a_winner_that_is_slower_there_is_not_recommended(void **state)
{
    (void)state;
    struct harness *house = harness_start("{'time_scale':0,'noise':0.002}");
    cJSON *report;
    cJSON *trials;
    harness_register(house, ALLOW);
    for (int nth = 12; nth >= 2; nth -= 2) { /* the first fault that is due takes the statement */
        char *fault = mem_format("{'do':'slow','factor':2,'nth':%d,'match':'BACKUP DATABASE "
                                 "[Sales] TO DISK = N\\u0027/var/opt'}",
                                 nth);
        sweep_fault(house->sim, fault);
        free(fault);
    }
    cJSON *job =
        results_of(house, SWEEP(",'buffercount':[100]" CONFIRM, ",'design':{'order':'sequential'}"),
                   "inconclusive", &report, &trials);
    assert_string_equal(text_at(report, "confirmation/verdict"), "slower");
    assert_true(number_at(report, "confirmation/ratio") < 0.7);
    assert_true(cJSON_IsNull(at(report, "recommendation")));
    assert_non_null(strstr(text_at(job, "summary"), "slower"));
    free_results(job, report, trials);
    harness_stop(house);
}

static void without_a_winner_nothing_is_confirmed(void **state)
{
    (void)state;
    struct harness *house =
        harness_start("{'time_scale':0,'noise':0.003,'surface':{'floor':1,'buffer_cpu':0}}");
    cJSON *report;
    cJSON *trials;
    harness_register(house, ALLOW);
    cJSON *job = results_of(house, SWEEP(",'buffercount':[100]" CONFIRM, ",'design':{'seed':1}"),
                            "succeeded", &report, &trials);
    assert_true(cJSON_IsNull(at(report, "confirmation")));
    assert_true(cJSON_IsTrue(at(report, "recommendation/keep_default")));
    assert_int_equal(number_at(job, "progress/trials_planned"), 12);
    assert_true(number_at(job, "progress/percent") == 100);
    free_results(job, report, trials);
    harness_stop(house);
}

static void every_combination_has_its_arm_and_every_group_its_baseline(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    cJSON *report;
    cJSON *trials;
    harness_register(house, ALLOW);
    cJSON *job = results_of(
        house,
        SWEEP(",'buffercount':[10,20],'maxtransfersize':[65536,'default'],'blocksize':[4096],"
              "'files':[1,2],'compression':['off','on'],'targets':[{'name':'NUL','paths':['NUL']},"
              "{'name':'disk','paths':['/var/opt/mssql/backup']}]",
              ",'design':{'repetitions':1,'warmups':0,'order':'sequential'}"),
        "inconclusive", &report, &trials);
    int baselines = 0;
    const cJSON *arm;
    cJSON_ArrayForEach(arm, at(report, "arms")) {
        baselines += cJSON_IsTrue(at(arm, "baseline"));
        assert_int_equal(number_at(arm, "n"), 1);
    }
    assert_int_equal(cJSON_GetArraySize(at(report, "arms")), (4 + 1) * 8);
    assert_int_equal(baselines, 8);
    assert_true(cJSON_IsTrue(at(report, "arms/0/baseline")));
    const cJSON *comparison;
    cJSON_ArrayForEach(comparison,
                       at(report, "comparisons")) { /* each with the baseline of its own group */
        long own = strtol(text_at(comparison, "arm") + 1, NULL, 10);
        long against = strtol(text_at(comparison, "against") + 1, NULL, 10);
        assert_int_equal(own / 5, against / 5);
        assert_int_equal(against % 5, 0);
    }
    sweep_nothing_left(house->sim);
    free_results(job, report, trials);
    harness_stop(house);
}

static void csv_and_markdown_say_the_same(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, NULL);
    cJSON *job = sweep_run(house, SWEEP(",'buffercount':['default',100]", ""), &id);
    char *target = mem_format("/v1/jobs/%s/trials", id);
    char *csv = harness_text(house, target, "text/csv", 200);
    free(target);
    int lines = 0;
    for (const char *line = csv; (line = strchr(line, '\n')); line++)
        lines++;
    assert_int_equal(lines, 13);
    assert_int_equal(strncmp(csv, "seq,block,arm,warmup,status,", 28), 0);
    assert_non_null(strstr(csv, "\n1,0,\"a"));
    target = mem_format("/v1/jobs/%s/report", id);
    char *markdown = harness_text(house, target, "text/markdown", 200);
    cJSON *report = sweep_report_of(house, id);
    free(target);
    assert_non_null(strstr(markdown, "BUFFERCOUNT=100"));
    assert_non_null(strstr(markdown, text_at(report, "recommendation/tsql")));
    assert_null(strstr(markdown, "nan"));
    cJSON_Delete(report);
    free(markdown);
    free(csv);
    free(id);
    cJSON_Delete(job);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_order_runs_the_arms_as_they_stand),
        cmocka_unit_test(abba_order_mirrors_every_second_block),
        cmocka_unit_test(a_seed_reproduces_the_order_and_another_does_not),
        cmocka_unit_test(a_drawn_seed_is_told_and_reproduces_the_order),
        cmocka_unit_test(warm_ups_are_stored_and_never_counted),
        cmocka_unit_test(a_trial_has_exactly_the_members_of_the_contract),
        cmocka_unit_test(a_report_has_every_member_of_the_contract),
        cmocka_unit_test(a_failed_trial_names_number_text_and_step),
        cmocka_unit_test(a_flat_curve_keeps_the_default),
        cmocka_unit_test(a_winner_is_confirmed_on_the_other_target),
        cmocka_unit_test(a_winner_that_is_slower_there_is_not_recommended),
        cmocka_unit_test(without_a_winner_nothing_is_confirmed),
        cmocka_unit_test(every_combination_has_its_arm_and_every_group_its_baseline),
        cmocka_unit_test(csv_and_markdown_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
