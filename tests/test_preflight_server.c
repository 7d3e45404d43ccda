/* What the preflight of a job and the check of an instance see of a server: roles and states,
 * sizes, encryption, growth, foreign work. */
#include "server/buf.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define SALES(members) "{'time_scale':0,'databases':[{'name':'Sales'" members "}]}"

static void a_database_that_cannot_be_backed_up_is_refused_by_its_number(void **state)
{
    (void)state;
    static const struct {
        const char *scenario;
        int number;
        const char *words;
    } cases[] = {
        {SALES(",'state':'RESTORING'"), 927, "is being restored"},
        {SALES(",'mirroring':{'role':'MIRROR'}"), 954, "is a mirror here"},
        {SALES(",'standby':true"), 3036, "is in standby"},
        {SALES(",'user_access':'SINGLE_USER'"), 924, "single-user mode"},
        {SALES(",'replica_role':'RESOLVING'"), 983, "is resolving its role"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct harness *house = harness_start(cases[i].scenario);
        harness_register(house, NULL);
        cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]", SHORT), "failed", NULL);
        if (!strstr(text_at(job, "error/message"), cases[i].words))
            fail_msg("%s: %s", cases[i].words, cJSON_PrintUnformatted(at(job, "error")));
        assert_int_equal(number_at(job, "error/number"), cases[i].number);
        assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
        cJSON_Delete(job);
        harness_stop(house);
    }
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

static void what_can_be_backed_up_all_the_same_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *scenario, *words; /* words NULL: nothing to tell */
    } cases[] = {
        {SALES(",'replica_role':'SECONDARY'"), "Sales is a secondary replica here"},
        {SALES(",'replica_role':'PRIMARY'"), "looks like production"},
        {SALES(",'read_only':true"), NULL},
        {SALES(",'encrypted':true"), "Sales is encrypted (TDE)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *id = NULL;
        struct harness *house = harness_start(cases[i].scenario);
        harness_register(house, NULL);
        cJSON *job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), &id);
        if (strcmp(text_at(job, "state"), "failed") == 0)
            fail_msg("%s: %s", cases[i].scenario, cJSON_PrintUnformatted(at(job, "error")));
        cJSON *report = sweep_report_of(house, id);
        assert_true(warns(report, cases[i].words ? cases[i].words : "simulat"));
        assert_int_equal(warns(report, "secondary replica"), i == 0);
        assert_int_equal(warns(report, "primary replica"), i == 1);
        cJSON_Delete(report);
        cJSON_Delete(job);
        free(id);
        harness_stop(house);
    }
}

static void a_check_tells_what_the_instance_holds(void **state)
{
    (void)state;
    struct harness *house =
        harness_start("{'time_scale':0,'databases':[{'name':'Sales','replica_role':'SECONDARY'},"
                      "{'name':'Old','read_only':true,'user_access':'SINGLE_USER'},{'name':'Copy',"
                      "'mirroring':{'role':'MIRROR'}}]}");
    harness_register(house, NULL);
    cJSON *check = harness_call(house, "POST", "/v1/instances/sql01/check", NULL, 200);
    const cJSON *database;
    int seen = 0;
    cJSON_ArrayForEach(database, at(check, "databases")) {
        const char *name = text_at(database, "name");
        if (strcmp(name, "Sales") == 0) {
            assert_string_equal(text_at(database, "role"), "secondary");
            assert_string_equal(text_at(database, "state"), "ONLINE");
        } else if (strcmp(name, "Old") == 0) {
            assert_true(cJSON_IsTrue(at(database, "read_only")));
            assert_string_equal(text_at(database, "user_access"), "SINGLE_USER");
            assert_true(cJSON_IsNull(at(database, "role")));
        } else if (strcmp(name, "Copy") == 0) {
            assert_string_equal(text_at(database, "role"), "mirror");
            assert_string_equal(text_at(database, "state"), "RESTORING");
        } else {
            continue;
        }
        seen++;
    }
    assert_int_equal(seen, 3);
    assert_true(number_at(check, "memory_free_mib") > 0);
    assert_true(cJSON_GetArraySize(at(check, "volumes")) > 0);
    assert_true(number_at(check, "volumes/0/free_mib") > 0);
    assert_true(cJSON_IsNull(at(check, "foreign_work")));
    cJSON_Delete(check);
    harness_stop(house);
}

/* A backup that begins and ends between two looks at what runs; msdb remembers it. */
static void a_backup_by_somebody_else_inside_a_trial_makes_it_contaminated(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = harness_start("{'time_scale':0,'databases':[{'name':'Sales'},"
                                          "{'name':'Other'}]}");
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]',"
                            "'percent':50,'nth':2}");
    id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    harness_execute(house->sim, "BACKUP LOG Other TO DISK = 'NUL' WITH COPY_ONLY");
    sim_fault_clear(house->sim);
    cJSON_Delete(harness_wait(house, id));
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "contaminated"), 1);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 2);
    assert_string_equal(text_at(trials, "items/1/notes/0"),
                        "somebody else's backup ended during this trial");
    cJSON_Delete(trials);
    free(id);
    harness_stop(house);
}

/* The evidence is there where reading limits; the count and its beginning come from the trace. */
static void growths_in_the_default_trace_are_evidence(void **state)
{
    (void)state;
    char *id = NULL;
    struct buf scenario = {0};
    buf_add(&scenario,
            "{'time_scale':0,'databases':[{'name':'Sales'}],'default_trace':{'growths':[");
    for (int i = 0; i < 150; i++)
        buf_format(&scenario, "%s{'database':'Sales','file':'Sales','ago_s':%d}", i > 0 ? "," : "",
                   60 * (i + 1));
    buf_add(&scenario, "]}}");
    struct harness *house = harness_start(buf_text(&scenario));
    buf_fini(&scenario);
    harness_register(house, ALLOW);
    cJSON_Delete(sweep_run(house,
                           "{'kind':'backup_throughput','instance':'sql01','parameters':{"
                           "'databases':['Sales']" TO_DISK "},'design':{'repetitions':3}}",
                           &id));
    cJSON *report = sweep_report_of(house, id);
    char *text = cJSON_PrintUnformatted(at(report, "bottleneck/0/targets/0/evidence"));
    if (!strstr(text, "holds 150 growths of data files"))
        fail_msg("%s", text);
    free(text);
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_database_that_cannot_be_backed_up_is_refused_by_its_number),
        cmocka_unit_test(what_can_be_backed_up_all_the_same_is_told),
        cmocka_unit_test(a_check_tells_what_the_instance_holds),
        cmocka_unit_test(a_backup_by_somebody_else_inside_a_trial_makes_it_contaminated),
        cmocka_unit_test(growths_in_the_default_trace_are_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
