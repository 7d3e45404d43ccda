/* Sweeps that leave out what they need not measure: races, their budgets, early answers. */
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TWELVE ",'buffercount':['default',7,25,50,75,100,150,200,250,300,400,500]"
#define RACE(more) ",'design':{'repetitions':8,'warmups':1,'seed':42,'search':'race'" more "}"
#define HOLD_LATER "{'do':'hold_at_percent','match':'BACKUP','nth':11,'percent':40}"
#define ARMS 12
#define BLOCKS 8

/* Counted trials of an arm, and the highest block among them. */
static int blocks_of(const cJSON *trials, const char *arm, int *out_last)
{
    int count = 0;
    const cJSON *trial;
    *out_last = 0;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        int block = (int)number_at(trial, "block");
        if (strcmp(text_at(trial, "arm"), arm) != 0 || cJSON_IsTrue(at(trial, "warmup")) ||
            strcmp(text_at(trial, "status"), "ok") != 0)
            continue;
        count++;
        *out_last = block > *out_last ? block : *out_last;
    }
    return count;
}

/* The report drops what the run left out, and nothing else; how many. */
static int dropped_as_told(const cJSON *report, const cJSON *trials)
{
    int dropped = 0;
    const cJSON *arm;
    cJSON_ArrayForEach(arm, at(report, "arms")) {
        const cJSON *how = at(arm, "dropped");
        int last = 0;
        int count = blocks_of(trials, text_at(arm, "arm"), &last);
        int wanted = cJSON_IsNull(how) ? BLOCKS : (int)number_at(how, "after_block");
        if (last != wanted || count != wanted)
            fail_msg("%s ran %d times, last in block %d: %s", text_at(arm, "label"), count, last,
                     cJSON_PrintUnformatted(how));
        dropped += !cJSON_IsNull(how);
    }
    return dropped;
}

static void a_race_drops_what_is_beaten_and_never_the_default(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, NULL);
    cJSON *job = sweep_run_to(house, SWEEP(TWELVE, RACE("")), "succeeded", &id);
    cJSON *report = sweep_report_of(house, id);
    cJSON *trials = sweep_trials_of(house, id);
    int dropped = dropped_as_told(report, trials);
    assert_in_range(dropped, 3, ARMS - 2); /* 7, 25 and 50 buffers are far below the plateau */
    assert_string_equal(text_at(report, "design/search"), "race");
    assert_true(cJSON_IsNull(at(sweep_arm(report, "default"), "dropped")));
    assert_int_equal(number_at(sweep_arm(report, "BUFFERCOUNT=7"), "dropped/after_block"), 2);
    assert_in_range((int)number_at(report, "recommendation/settings/buffercount"), 75, 150);
    /* compared over the blocks both have */
    const cJSON *comparison;
    cJSON_ArrayForEach(comparison, at(report, "comparisons")) {
        int last = 0;
        assert_int_equal(number_at(comparison, "pairs"),
                         blocks_of(trials, text_at(comparison, "arm"), &last));
        if (strcmp(text_at(comparison, "arm"), "a1") != 0) /* 7 buffers are the server's own */
            assert_string_equal(text_at(comparison, "verdict"), "faster");
    }
    assert_int_equal(cJSON_GetArraySize(at(report, "comparisons")), ARMS - 1);
    assert_true(number_at(job, "progress/trials_done") < ARMS * (BLOCKS + 1));
    assert_true(number_at(job, "progress/percent") == 100);
    cJSON_Delete(trials);
    cJSON_Delete(report);
    cJSON_Delete(job);
    char *target = mem_format("/v1/jobs/%s/report", id);
    char *markdown = harness_text(house, target, "text/markdown", 200);
    assert_non_null(strstr(markdown, "dropped after block 2"));
    assert_non_null(strstr(markdown, "The race dropped"));
    free(markdown);
    free(target);
    free(id);
    harness_stop(house);
}

static void a_race_that_is_interrupted_drops_the_same(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, HOLD_LATER);
    char *id = harness_submit(house, SWEEP(TWELVE, RACE("")));
    for (int i = 1; i <= 4; i++) { /* in the warm-ups, in blocks 1 and 2, and after */
        assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
        harness_stop_daemon(house);
        sim_fault_clear(house->sim);
        if (i < 4)
            sweep_fault(house->sim, HOLD_LATER);
        harness_start_daemon(house);
    }
    cJSON *job = harness_wait(house, id);
    cJSON *report = sweep_report_of(house, id);
    cJSON *trials = sweep_trials_of(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    assert_in_range(dropped_as_told(report, trials), 3, ARMS - 2);
    assert_int_equal(sweep_count(trials, NULL, "failed"), 0);
    cJSON_Delete(trials);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_budget_ends_a_race_with_what_it_has(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *limit, *name;
        int most; /* trials */
    } rows[] = {
        /* Sales has 256 MiB: the trial that passes the limit is the last */
        {TWELVE, "'read_mib':10000", "read_mib 10000", 10000 / 256 + 1},
        {TWELVE TO_DISK, "'written_mib':10000", "written_mib 10000", 10000 / 256 + 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct harness *house = harness_start(NULL);
        char *body =
            mem_format(SWEEP("%s", RACE("") ",'limits':{%s}"), rows[i].parameters, rows[i].limit);
        char *id = NULL;
        harness_register(house, ALLOW);
        cJSON *job = sweep_run_to(house, body, "succeeded", &id);
        cJSON *report = sweep_report_of(house, id);
        cJSON *trials = sweep_trials_of(house, id);
        double bytes = 0;
        const cJSON *trial;
        cJSON_ArrayForEach(trial, at(trials, "items"))
            bytes += number_at(trial, "bytes");
        assert_in_range(sweep_count(trials, NULL, "ok"), 2 * ARMS + 1, rows[i].most);
        assert_true(bytes / (1 << 20) < 10000 + 256);
        char *printed = cJSON_PrintUnformatted(at(report, "warnings"));
        assert_non_null(strstr(printed, rows[i].name));
        free(printed);
        assert_true(cJSON_IsObject(at(report, "recommendation")));
        cJSON_Delete(trials);
        cJSON_Delete(report);
        cJSON_Delete(job);
        free(id);
        free(body);
        harness_stop(house);
    }
}

static void what_is_written_stops_at_the_limit_itself(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    cJSON *job = sweep_run_to(
        house,
        SWEEP(",'buffercount':['default',50]" TO_DISK,
              ",'design':{'repetitions':5,'warmups':0,'search':'race'},'limits':{'written_mib':1}"),
        "inconclusive", NULL);
    assert_int_equal(number_at(job, "progress/trials_done"), 1);
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_sweep_stops_when_its_answer_is_known(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, NULL);
    cJSON *job = sweep_run_to(house,
                              SWEEP(",'buffercount':['default',7,150]",
                                    ",'design':{'repetitions':10,'seed':7,'stop_early':true}"),
                              "succeeded", &id);
    cJSON *report = sweep_report_of(house, id);
    double blocks = number_at(report, "design/blocks");
    assert_in_range((int)blocks, 3, 5);
    assert_int_equal(number_at(job, "progress/trials_done"), 3 * (1 + (int)blocks));
    assert_int_equal(number_at(report, "recommendation/settings/buffercount"), 150);
    /* a fiftieth of 5 %, shared by the looks after blocks 3 to 9 */
    assert_true(number_at(report, "comparisons/1/level") > 0.9998);
    assert_true(number_at(report, "comparisons/1/low") > 1.1);
    char *warnings = cJSON_PrintUnformatted(at(report, "warnings"));
    assert_non_null(strstr(warnings, "before the last of 10 blocks"));
    free(warnings);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void what_is_not_known_early_runs_to_the_end(void **state)
{
    (void)state;
    /* 300 and 350 buffers are the same; noise of 10 % hides what is within 2 % */
    struct harness *house = harness_start("{'time_scale':0,'noise':0.1}");
    char *id = NULL;
    harness_register(house, NULL);
    cJSON *job = sweep_run(house,
                           SWEEP(",'buffercount':['default',300,350]",
                                 ",'design':{'repetitions':6,'seed':7,'stop_early':true}"),
                           &id);
    cJSON *report = sweep_report_of(house, id);
    assert_int_equal(number_at(report, "design/blocks"), 6);
    assert_true(number_at(report, "comparisons/0/level") == 0.951); /* what is left of the error */
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_confirmation_after_an_early_end_runs_in_full(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, ALLOW);
    cJSON *job = sweep_run_to(
        house,
        SWEEP(",'buffercount':['default',7,150],'confirm_on':{'name':'disk',"
              "'paths':['/var/opt/mssql/backup']}",
              ",'design':{'repetitions':8,'seed':3,'stop_early':true,'search':'race'}"),
        "succeeded", &id);
    cJSON *trials = sweep_trials_of(house, id);
    cJSON *report = sweep_report_of(house, id);
    int last = 0;
    assert_int_equal(blocks_of(trials, "a3", &last), 8);
    assert_int_equal(blocks_of(trials, "a4", &last), 8);
    assert_true(blocks_of(trials, "a0", &last) < 8);
    assert_true(cJSON_IsObject(at(report, "confirmation")));
    assert_true(number_at(report, "comparisons/2/level") == 0.95);
    cJSON_Delete(report);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_race_drops_what_is_beaten_and_never_the_default),
        cmocka_unit_test(a_race_that_is_interrupted_drops_the_same),
        cmocka_unit_test(a_budget_ends_a_race_with_what_it_has),
        cmocka_unit_test(what_is_written_stops_at_the_limit_itself),
        cmocka_unit_test(a_sweep_stops_when_its_answer_is_known),
        cmocka_unit_test(what_is_not_known_early_runs_to_the_end),
        cmocka_unit_test(a_confirmation_after_an_early_end_runs_in_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
