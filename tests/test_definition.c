/* A job's definition: every field with wrong values, defaults, seed, order and limits. */
#include "jobs/definition.h"
#include "jobs/kind.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MINIMAL "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales'}}"

struct wrong {
    const char *pointer, *value; /* the change; value NULL: the member is left out */
    const char *fault;           /* where it is told; NULL: at pointer */
    const char *words;           /* what it says */
};

/* clang-format off */
static const struct wrong wrongs[] = {
    {"/kind", NULL, NULL, "required"},
    {"/kind", "'restore'", NULL, "must be one of backup_sweep"},
    {"/kind", "5", NULL, ""},
    {"/instance", NULL, NULL, "required"},
    {"/instance", "''", NULL, "1 to 64"},
    {"/parameters", NULL, NULL, "required"},
    {"/parameters", "[]", NULL, ""},
    {"/design/repetitions", "0", NULL, "1 to 100"},
    {"/design/repetitions", "101", NULL, "1 to 100"},
    {"/design/repetitions", "2.5", NULL, ""},
    {"/design/warmups", "11", NULL, "10"},
    {"/design/warmups", "-1", NULL, "10"},
    {"/design/order", "'shuffled'", NULL, "random_blocks"},
    {"/design/seed", "-1", NULL, "from 0 to 9007199254740991, or null"},
    {"/design/seed", "'42'", NULL, ""},
    {"/design/search", "'bisect'", NULL, "grid"},
    {"/design", "{'search':'race','order':'abba'}", "/design/search", "use \"random_blocks\""},
    {"/design/confidence", "0.4", NULL, "0.5 to 0.999"},
    {"/design/confidence", "1", NULL, "0.5 to 0.999"},
    {"/design/tolerance", "0.6", NULL, "0.5"},
    {"/design/max_repetitions", "0", NULL, "1 to 1000"},
    {"/design/repetition", "5", NULL, "repetitions"},
    {"/limits/minutes", "0", NULL, "1 to 10080"},
    {"/limits/buffer_memory_mib", "0", NULL, "1 to 1048576"},
    {"/limits/read_mib", "0", NULL, "1 to 1000000000000"},
    {"/limits/written_mib", "-1", NULL, "1000000000000"},
    {"/limits/job_minutes", "5", NULL, ""},
    {"/assume_free_mib", "-1", NULL, ""},
    {"/priority", "10", NULL, "9"},
    {"/priority", "-1", NULL, "9"},
    {"/not_before", "'tomorrow'", NULL, "2026-12-05T01:00:00Z"},
    {"/not_before", "'2026-13-01T00:00:00Z'", NULL, "2026-12-05T01:00:00Z"},
    {"/not_before", "'1970-01-01T00:00:00Z'", NULL, "2026-12-05T01:00:00Z"},
    {"/deadline", "''", NULL, "2026-12-05T01:00:00Z"},
    {"/deadline", "'1969-12-31T00:00:00Z'", NULL, "2026-12-05T01:00:00Z"},
    {"/confirm_production", "'yes'", NULL, ""},
    {"/ignore_windows", "1", NULL, ""},
    {"/baseline", "'last'", NULL, "\"latest\""},
    {"/notify", "'dba'", NULL, ""},
    {"/notify", "['dba','No Such Name']", "/notify/1", "name of a webhook"},
    {"/notify", "[5]", "/notify/0", "name of a webhook"},
    {"/labels", "{'a':5}", "/labels/a", "200"},
    {"/labels", "{'a:b':'c'}", "/labels/a:b", "without \":\""},
    {"/labels", "[]", NULL, ""},
    {"/requested_by", "5", NULL, ""},
    {"/confirm_prodution", "true", NULL, "confirm_production"},
};
/* clang-format on */

static void refuses_each_wrong_value_where_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < JSON_COUNT(wrongs); i++) {
        const struct wrong *wrong = &wrongs[i];
        struct definition definition;
        struct json_faults faults = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        jobs_kit_set(tree, wrong->pointer, wrong->value);
        assert_int_equal(definition_read(tree, &definition, &faults), -1);
        jobs_kit_expect_fault(&faults, wrong->fault ? wrong->fault : wrong->pointer, wrong->words);
        json_faults_fini(&faults);
        cJSON_Delete(tree);
    }
}

static void refuses_each_member_of_a_wrong_type(void **state)
{
    (void)state;
    static const char *const members[] = {"/kind",
                                          "/instance",
                                          "/parameters",
                                          "/design",
                                          "/design/repetitions",
                                          "/design/warmups",
                                          "/design/order",
                                          "/design/seed",
                                          "/design/search",
                                          "/design/confidence",
                                          "/design/tolerance",
                                          "/design/max_repetitions",
                                          "/limits",
                                          "/limits/minutes",
                                          "/limits/buffer_memory_mib",
                                          "/limits/read_mib",
                                          "/limits/written_mib",
                                          "/assume_free_mib",
                                          "/priority",
                                          "/not_before",
                                          "/deadline",
                                          "/baseline",
                                          "/notify",
                                          "/labels",
                                          "/requested_by"};
    static const char *const bools[] = {"/design/stop_early", "/confirm_production",
                                        "/ignore_windows"};
    for (size_t i = 0; i < JSON_COUNT(members) + JSON_COUNT(bools); i++) {
        bool wants_bool = i >= JSON_COUNT(members);
        const char *member = wants_bool ? bools[i - JSON_COUNT(members)] : members[i];
        struct definition definition;
        struct json_faults faults = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        jobs_kit_set(tree, member, wants_bool ? "'yes'" : "true");
        assert_int_equal(definition_read(tree, &definition, &faults), -1);
        jobs_kit_expect_fault(&faults, member, "");
        json_faults_fini(&faults);
        cJSON_Delete(tree);
    }
}

static void tells_all_faults_at_once_even_without_a_kind(void **state)
{
    (void)state;
    struct definition definition;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json("{'priority':99,'not_before':'2026-12-05T01:00:00Z',"
                                "'deadline':'2026-12-05T01:00:00Z','labels':{'x':1}}");
    assert_int_equal(definition_read(tree, &definition, &faults), -1);
    static const char *const pointers[] = {"/kind",     "/instance", "/parameters",
                                           "/priority", "/deadline", "/labels/x"};
    for (size_t i = 0; i < JSON_COUNT(pointers); i++)
        jobs_kit_expect_fault(&faults, pointers[i], "");
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void offers_a_race_and_an_early_end_where_they_have_a_meaning(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        bool race, stop_early;
    } rows[] = {
        {"backup_sweep", true, true},     {"backup_throughput", false, false},
        {"trace_flag", false, true},      {"snapshot_overhead", false, true},
        {"backup_history", false, false},
    };
    for (size_t i = 0; i < JSON_COUNT(rows); i++) {
        struct definition definition;
        struct json_faults faults = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        cJSON_ReplaceItemInObject(tree, "kind", cJSON_CreateString(rows[i].kind));
        jobs_kit_set(tree, "/design/order", "'random_blocks'");
        jobs_kit_set(tree, "/design/search", "'race'");
        jobs_kit_set(tree, "/design/stop_early", "true");
        (void)(definition_read(tree, &definition, &faults) < 0);
        assert_true(definition.design.race && definition.design.stop_early);
        assert_int_equal(faults.count, !rows[i].race + !rows[i].stop_early);
        if (!rows[i].race)
            jobs_kit_expect_fault(&faults, "/design/search", "use \"grid\"");
        if (!rows[i].stop_early)
            jobs_kit_expect_fault(&faults, "/design/stop_early", rows[i].kind);
        json_faults_fini(&faults);
        cJSON_Delete(tree);
    }
}

static void fills_in_the_defaults_of_the_contract(void **state)
{
    (void)state;
    struct definition definition;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(MINIMAL);
    jobs_kit_set(tree, "/design", "{'seed':42}");
    assert_int_equal(definition_read(tree, &definition, &faults), 0);
    cJSON *whole = definition_to_json(&definition);
    cJSON *wanted = jobs_kit_json(
        "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales'},"
        "'design':{'repetitions':5,'warmups':1,'order':'random_blocks','seed':42,'search':'grid',"
        "'confidence':0.95,'tolerance':0.02,'max_repetitions':10,'stop_early':false},"
        "'limits':{'minutes':null,'buffer_memory_mib':null,'read_mib':null,'written_mib':null},"
        "'assume_free_mib':null,'priority':5,'not_before':null,'deadline':null,"
        "'confirm_production':false,'ignore_windows':false,'baseline':null,'notify':[],"
        "'labels':{},'requested_by':null}");
    assert_true(cJSON_Compare(whole, wanted, true));
    cJSON_Delete(wanted);
    cJSON_Delete(whole);
    cJSON_Delete(tree);
}

static void comes_back_from_the_store_as_it_went(void **state)
{
    (void)state;
    struct definition first;
    struct definition second;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(
        "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales'},"
        "'design':{'repetitions':3,'warmups':0,'order':'sequential','seed':9007199254740991,"
        "'search':'grid','confidence':0.9,'tolerance':0,'max_repetitions':1,'stop_early':false},"
        "'limits':{'minutes':1,'buffer_memory_mib':2,'read_mib':3,'written_mib':0},"
        "'assume_free_mib':0,'priority':0,'not_before':'2026-12-05T01:00:00.5+01:00',"
        "'deadline':'2026-12-06T00:00:00Z','confirm_production':true,'ignore_windows':true,"
        "'baseline':null,'notify':['dba-chat'],'labels':{'change':'CHG-1042'},"
        "'requested_by':'SQL Agent'}");
    assert_int_equal(definition_read(tree, &first, &faults), 0);
    cJSON *whole = definition_to_json(&first);
    char *text = json_print(whole);
    cJSON *again = NULL;
    struct err err = {0};
    assert_int_equal(json_parse(text, strlen(text), &again, &err), 0);
    assert_int_equal(definition_read(again, &second, &faults), 0);
    cJSON *twice = definition_to_json(&second);
    assert_true(cJSON_Compare(whole, twice, true));
    assert_int_equal(second.design.seed, 9007199254740991);
    assert_int_equal(second.not_before, 1796428800500);
    assert_true(second.order_given);
    cJSON_Delete(twice);
    cJSON_Delete(again);
    cJSON_Delete(whole);
    cJSON_Delete(tree);
    free(text);
}

static int64_t seed_of(const char *given)
{
    struct definition definition;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(MINIMAL);
    if (given)
        jobs_kit_set(tree, "/design/seed", given);
    assert_int_equal(definition_read(tree, &definition, &faults), 0);
    cJSON_Delete(tree);
    return definition.design.seed;
}

static void draws_a_seed_when_none_is_given_and_keeps_a_given_one(void **state)
{
    (void)state;
    assert_int_equal(seed_of("0"), 0);
    assert_int_equal(seed_of("42"), 42);
    int64_t first = seed_of(NULL);
    int64_t second = seed_of("null");
    assert_true(first >= 0 && second >= 0);
    assert_true(first != second); /* equal by chance once in 2^53 */
}

static void takes_the_order_of_the_kind_unless_one_is_given(void **state)
{
    (void)state;
    static const struct {
        const char *given;
        enum design_order order;
    } cases[] = {{NULL, DESIGN_RANDOM_BLOCKS},
                 {"'random_blocks'", DESIGN_RANDOM_BLOCKS},
                 {"'abba'", DESIGN_ABBA},
                 {"'sequential'", DESIGN_SEQUENTIAL}};
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct definition definition;
        struct json_faults faults = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        if (cases[i].given)
            jobs_kit_set(tree, "/design/order", cases[i].given);
        assert_int_equal(definition_read(tree, &definition, &faults), 0);
        assert_int_equal(definition.design.order, cases[i].order);
        assert_int_equal(definition.order_given, cases[i].given != NULL);
        cJSON_Delete(tree);
    }
}

static void repeats_contaminated_trials_twice_the_repetitions_by_default(void **state)
{
    (void)state;
    struct definition definition;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(MINIMAL);
    jobs_kit_set(tree, "/design/repetitions", "7");
    assert_int_equal(definition_read(tree, &definition, &faults), 0);
    assert_int_equal(definition.design.max_repetitions, 14);
    cJSON_Delete(tree);
}

static void only_tightens_the_limits_of_the_instance(void **state)
{
    (void)state;
    struct instance instance = {.limits = {.buffer_memory_mib = 1000,
                                           .min_free_disk_mib = 20,
                                           .job_minutes = 100,
                                           .read_mib = 1000,
                                           .written_mib = 1000}};
    struct definition definition = {.limits = {.buffer_memory_mib = 5000,
                                               .min_free_disk_mib = -1,
                                               .job_minutes = 10,
                                               .read_mib = -1,
                                               .written_mib = 0}};
    struct limits limits = definition_limits(&definition, &instance);
    assert_int_equal(limits.buffer_memory_mib, 1000);
    assert_int_equal(limits.min_free_disk_mib, 20);
    assert_int_equal(limits.job_minutes, 10);
    assert_int_equal(limits.read_mib, 1000);
    assert_int_equal(limits.written_mib, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_each_wrong_value_where_it_stands),
        cmocka_unit_test(refuses_each_member_of_a_wrong_type),
        cmocka_unit_test(tells_all_faults_at_once_even_without_a_kind),
        cmocka_unit_test(offers_a_race_and_an_early_end_where_they_have_a_meaning),
        cmocka_unit_test(fills_in_the_defaults_of_the_contract),
        cmocka_unit_test(comes_back_from_the_store_as_it_went),
        cmocka_unit_test(draws_a_seed_when_none_is_given_and_keeps_a_given_one),
        cmocka_unit_test(takes_the_order_of_the_kind_unless_one_is_given),
        cmocka_unit_test(repeats_contaminated_trials_twice_the_repetitions_by_default),
        cmocka_unit_test(only_tightens_the_limits_of_the_instance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
