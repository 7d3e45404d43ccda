/* snapshot_overhead without a server: names, statements, arms, what is refused. */
#include "jobs/kinds/snapshot.h"
#include "jobs/tables.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID "0193a1b2-0000-7000-8000-000000000001"
#define TWO_PLACES                                                                                 \
    "'locations':[{'name':'15K','path':'/backup/k'},{'name':'SSD','path':'/backup/r'}]"
#define BIG "'workload':{'select_into':{'source':'Sales.Big','rows':1000000}}"
#define GOOD "'database':'S'," TWO_PLACES "," BIG

static struct snapshot_parameters parameters_of(const cJSON *tree)
{
    struct snapshot_parameters parameters;
    struct json_faults faults = {0};
    snapshot_read(tree, &parameters, &faults);
    jobs_kit_expect_none(&faults);
    return parameters;
}

/* --- names ---------------------------------------------------------------------------------- */

static void knows_its_own_names_and_no_others(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool snapshot, table;
    } cases[] = {
        {"sweetspot_" ID "_7_1", true, false},
        {"sweetspot_" ID "_7", false, true},
        {"sweetspot_" ID "_1234567890123456789_2", true, false},
        {"sweetspot_" ID, false, false},
        {"sweetspot_" ID "_", false, false},
        {"sweetspot_" ID "__1", false, false},
        {"sweetspot_" ID "_7_1_2", false, false},
        {"sweetspot_" ID "_7_1x", false, false},
        {"sweetspot_" ID "_7_1 ", false, false},
        {"sweetspot_" ID "_12345678901234567890_1", false, false},
        {"sweetspot_" ID "_-7_1", false, false},
        {"xsweetspot_" ID "_7_1", false, false},
        {"SWEETSPOT_" ID "_7_1", false, false},
        {"sweetspot_0193A1B2-0000-7000-8000-000000000001_7_1", false, false},
        {"sweetspot_0193a1b2-0000-7000-8000-00000000000_7_1", false, false},
        {"sweetspot_7_1", false, false},
        {"sweetspot_", false, false},
        {"Sales", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        assert_int_equal(snapshot_is_own(cases[i].name), cases[i].snapshot);
        assert_int_equal(table_is_own(cases[i].name), cases[i].table);
    }
    char *snapshot = snapshot_name(ID, "7", 1);
    char *table = table_name(ID, "7");
    assert_true(snapshot_is_own(snapshot) && table_is_own(table));
    free(snapshot);
    free(table);
}

static void reads_a_source_in_two_parts(void **state)
{
    (void)state;
    static const struct {
        const char *source, *schema, *table; /* schema NULL: it is refused */
    } cases[] = {
        {"Sales.Big", "Sales", "Big"},
        {"[Sales].[Big]", "Sales", "Big"},
        {"[a.b].[c]]d]", "a.b", "c]d"},
        {"dbo.it's", "dbo", "it's"},
        {"[dbo].Big table", "dbo", "Big table"},
        {"d\xC3\xA9p\xC3\xB4t.\xE4\xB8\xAD\xE6\x96\x87", "d\xC3\xA9p\xC3\xB4t",
         "\xE4\xB8\xAD\xE6\x96\x87"},
        {"Big", NULL, NULL},
        {"a.b.c", NULL, NULL},
        {"a..b", NULL, NULL},
        {".b", NULL, NULL},
        {"a.", NULL, NULL},
        {"[a.b", NULL, NULL},
        {"[a]x.b", NULL, NULL},
        {"a.b]", NULL, NULL},
        {"a.[b]; DROP TABLE c", NULL, NULL},
        {"[].b", NULL, NULL},
        {"a.b\n", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        char *schema = NULL;
        char *table = NULL;
        assert_int_equal(snapshot_source_parts(cases[i].source, &schema, &table),
                         cases[i].schema != NULL);
        if (cases[i].schema) {
            assert_string_equal(schema, cases[i].schema);
            assert_string_equal(table, cases[i].table);
        }
        free(schema);
        free(table);
    }
}

/* --- statements ----------------------------------------------------------------------------- */

static char *statement_of(const char *database, const char *folder, const char *const *names,
                          size_t count)
{
    struct snapshot_file items[8];
    struct snapshot_files files = {items, count};
    struct buf text = {0};
    struct err err = {0};
    for (size_t i = 0; i < count; i++)
        items[i] = (struct snapshot_file){mem_copy(names[i]), (int64_t)i * 2 + 1};
    struct snapshot_order order = {database, &files, folder, "{job}", "{seq}", 2};
    int rc = snapshot_statement(&order, &text, &err);
    for (size_t i = 0; i < count; i++)
        free(items[i].name);
    if (rc == 0)
        return buf_take(&text);
    assert_int_equal(err.code, ERR_INPUT);
    buf_fini(&text);
    return NULL;
}

static void names_every_data_file_with_a_file_of_its_own(void **state)
{
    (void)state;
    static const char *const names[] = {"Test", "Test.Net", "it's ]odd"};
    char *text = statement_of("a]b'c \"d", "/snap/", names, 3);
    assert_string_equal(text,
                        "CREATE DATABASE [sweetspot_{job}_{seq}_2] ON "
                        "(NAME = [Test], FILENAME = N'/snap/sweetspot_{job}_{seq}_2_1.ss'), "
                        "(NAME = [Test.Net], FILENAME = N'/snap/sweetspot_{job}_{seq}_2_3.ss'), "
                        "(NAME = [it's ]]odd], FILENAME = N'/snap/sweetspot_{job}_{seq}_2_5.ss') "
                        "AS SNAPSHOT OF [a]]b'c \"d]");
    free(text);
    text = statement_of("S", "D:\\Snap's", names, 1);
    assert_string_equal(text, "CREATE DATABASE [sweetspot_{job}_{seq}_2] ON (NAME = [Test], "
                              "FILENAME = N'D:\\Snap''s\\sweetspot_{job}_{seq}_2_1.ss') "
                              "AS SNAPSHOT OF [S]");
    free(text);
}

static void writes_no_statement_with_what_cannot_be_a_name_or_a_path(void **state)
{
    (void)state;
    static const char *const good[] = {"f"};
    static const char *const bad[] = {"f\n"};
    char *name = mem_alloc(130, 1);
    char *folder = mem_alloc(260, 1);
    memset(name, 'x', 129);
    memset(folder, 'x', 250);
    folder[0] = '/';
    assert_null(statement_of(name, "/s", good, 1));
    assert_null(statement_of("", "/s", good, 1));
    assert_null(statement_of("S", "/s", bad, 1));
    assert_null(statement_of("S", "relative", good, 1));
    assert_null(statement_of("S", folder, good, 1));
    name[128] = '\0';
    char *text = statement_of(name, "/s", good, 1);
    assert_non_null(text);
    free(text);
    free(name);
    free(folder);
}

static void copies_rows_into_a_table_named_by_us(void **state)
{
    (void)state;
    struct buf text = {0};
    struct err err = {0};
    cJSON *tree = jobs_kit_json("{'database':'a]b'," TWO_PLACES ",'workload':{'select_into':"
                                "{'source':'[x.y].[z]]]','rows':10000000000}}}");
    struct snapshot_parameters parameters = parameters_of(tree);
    assert_int_equal(snapshot_workload(&parameters, "{job}", "{seq}", &text, &err), 0);
    assert_string_equal(buf_text(&text),
                        "SELECT TOP (10000000000) * INTO [a]]b].[dbo].[sweetspot_{job}_{seq}] "
                        "FROM [a]]b].[x.y].[z]]]");
    buf_fini(&text);
    cJSON_Delete(tree);
}

/* --- arms ----------------------------------------------------------------------------------- */

static void expect_arm(const struct plan *plan, size_t index, const char *label,
                       const char *settings)
{
    const struct arm *arm = &plan->arms[index];
    cJSON *wanted = jobs_kit_json(settings);
    assert_string_equal(arm->label, label);
    assert_true(cJSON_Compare(arm->settings, wanted, true));
    assert_int_equal(arm->against, 0);
    assert_int_equal(arm->baseline, index == 0);
    cJSON_Delete(wanted);
}

static void makes_one_baseline_and_then_each_number_at_each_location(void **state)
{
    (void)state;
    struct plan plan = {0};
    cJSON *tree = jobs_kit_json("{" GOOD "}");
    struct snapshot_parameters parameters = parameters_of(tree);
    snapshot_add_arms(&parameters, &plan);
    assert_int_equal(plan.arm_count, 5);
    expect_arm(&plan, 0, "no snapshot", "{'location':null,'snapshots':0,'database':'S'}");
    expect_arm(&plan, 1, "1 snapshot at 15K", "{'location':'15K','snapshots':1,'database':'S'}");
    expect_arm(&plan, 2, "2 snapshots at 15K", "{'location':'15K','snapshots':2,'database':'S'}");
    expect_arm(&plan, 3, "1 snapshot at SSD", "{'location':'SSD','snapshots':1,'database':'S'}");
    expect_arm(&plan, 4, "2 snapshots at SSD", "{'location':'SSD','snapshots':2,'database':'S'}");
    assert_string_equal(snapshot_path(&parameters, "SSD"), "/backup/r");
    assert_null(snapshot_path(&parameters, "NVMe"));
    plan_fini(&plan);
    cJSON_Delete(tree);
}

static void always_measures_none_whatever_the_list_says(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        size_t arms;
    } cases[] = {{"[1]", 3}, {"[0,1]", 3}, {"[8,3,0]", 5}, {"[0,1,2,3,4,5,6,7,8]", 17}};
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct plan plan = {0};
        cJSON *tree = jobs_kit_json("{" GOOD "}");
        jobs_kit_set(tree, "/snapshots", cases[i].list);
        struct snapshot_parameters parameters = parameters_of(tree);
        snapshot_add_arms(&parameters, &plan);
        assert_int_equal(plan.arm_count, cases[i].arms);
        assert_true(plan.arms[0].baseline);
        plan_fini(&plan);
        cJSON_Delete(tree);
    }
}

/* --- faults --------------------------------------------------------------------------------- */

static void check(const char *const *changes, const char *const *instance_changes,
                  struct json_faults *faults)
{
    struct definition definition;
    struct instance instance = {0};
    struct json_faults own = {0};
    struct err err = {0};
    cJSON *job = jobs_kit_json(JOBS_KIT_JOB);
    jobs_kit_set(job, "/kind", "'snapshot_overhead'");
    jobs_kit_set(job, "/parameters", "{" GOOD "}");
    for (; changes && changes[0]; changes += 2)
        jobs_kit_set(job, changes[0], changes[1]);
    cJSON *tree = jobs_kit_json(JOBS_KIT_INSTANCE);
    for (; instance_changes && instance_changes[0]; instance_changes += 2)
        jobs_kit_set(tree, instance_changes[0], instance_changes[1]);
    char *text = json_print(tree);
    assert_int_equal(instance_load(text, &instance, &err), 0);
    assert_int_equal(definition_read(job, &definition, &own), 0);
    definition.kind->check(&definition, &instance, faults);
    instance_fini(&instance);
    cJSON_Delete(tree);
    cJSON_Delete(job);
    free(text);
}

static void refuses_what_needs_no_server_to_be_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *change, *value, *fault, *words;
    } cases[] = {
        {"/parameters/database", "'tempdb'", "/parameters/database", "system database"},
        {"/parameters/database", "'Master'", "/parameters/database", "system database"},
        {"/parameters/database", "'a\\tb'", "/parameters/database", "control characters"},
        {"/parameters/database", NULL, "/parameters/database", "required"},
        {"/parameters/snapshots", "[0]", "/parameters/snapshots", "above 0"},
        {"/parameters/snapshots", "[]", "/parameters/snapshots", "1"},
        {"/parameters/snapshots", "[1,9]", "/parameters/snapshots/1", "0 to 8"},
        {"/parameters/snapshots", "[-1,1]", "/parameters/snapshots/0", "0 to 8"},
        {"/parameters/snapshots", "[1.5]", "/parameters/snapshots/0", "0 to 8"},
        {"/parameters/snapshots", "[1,1]", "/parameters/snapshots/1", "twice"},
        {"/parameters/snapshots", "['1']", "/parameters/snapshots/0", "0 to 8"},
        {"/parameters/locations", "[]", "/parameters/locations", "1"},
        {"/parameters/locations", "[{'name':'a','path':'/elsewhere'}]",
         "/parameters/locations/0/path", "allow.paths"},
        {"/parameters/locations", "[{'name':'a','path':'/backup/../etc'}]",
         "/parameters/locations/0/path", "allow.paths"},
        {"/parameters/locations", "[{'name':'a','path':'NUL'}]", "/parameters/locations/0/path",
         "folder"},
        {"/parameters/locations",
         "[{'name':'a','path':'/backup/a'},{'name':'a','path':'/backup/b'}]",
         "/parameters/locations/1/name", "already"},
        {"/parameters/locations", "[{'name':'a'}]", "/parameters/locations/0/path", "required"},
        {"/parameters/locations", "[{'name':'a','path':'/backup','files':2}]",
         "/parameters/locations/0/files", "unknown"},
        {"/parameters/workload", NULL, "/parameters/workload", "required"},
        {"/parameters/workload", "{}", "/parameters/workload", "either"},
        {"/parameters/workload", "{'select_into':{'source':'Big','rows':1}}",
         "/parameters/workload/select_into/source", "\"Sales.Big\""},
        {"/parameters/workload", "{'select_into':{'source':'a.b','rows':0}}",
         "/parameters/workload/select_into/rows", "1"},
        {"/parameters/workload", "{'select_into':{'source':'a.b','rows':1},'setup':'x'}",
         "/parameters/workload", "go with sql"},
        {"/parameters/workload", "{'select_into':{'source':'a.b','rows':1},'sql':'x'}",
         "/parameters/workload", "either"},
        {"/parameters/workload", "{'sql':'UPDATE t SET a = 1'}", "/parameters/workload/sql",
         "allow.custom_sql"},
        {"/design", "{'repetitions':100,'order':'abba'}", "/design/order", "two arms"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        const char *const changes[] = {cases[i].change, cases[i].value, NULL};
        struct json_faults faults = {0};
        check(changes, NULL, &faults);
        jobs_kit_expect_fault(&faults, cases[i].fault, cases[i].words);
        json_faults_fini(&faults);
    }
}

static void refuses_a_path_that_leaves_no_room_for_a_file_name(void **state)
{
    (void)state;
    char path[240];
    memset(path, 'p', sizeof path);
    memcpy(path, "/backup/", 8);
    path[200] = '\0';
    char *list = mem_format("[{'name':'a','path':'%s'}]", path);
    const char *const changes[] = {"/parameters/locations", list, NULL};
    struct json_faults faults = {0};
    check(changes, NULL, &faults);
    jobs_kit_expect_fault(&faults, "/parameters/locations/0/path", "too long");
    json_faults_fini(&faults);
    free(list);
}

static void takes_sql_of_the_jobs_own_only_with_a_login_for_it(void **state)
{
    (void)state;
    static const char *const own[] = {
        "/parameters/workload", "{'sql':'UPDATE t SET a = 1','setup':'x','teardown':'y'}", NULL};
    static const char *const bare[] = {"/allow/custom_sql", "true", NULL};
    static const char *const whole[] = {"/allow/custom_sql",
                                        "true",
                                        "/custom_login",
                                        "'bench'",
                                        "/custom_password",
                                        "{'env':'SWEETSPOT_SECRET_BENCH'}",
                                        NULL};
    struct json_faults faults = {0};
    check(own, bare, &faults);
    jobs_kit_expect_fault(&faults, "/parameters/workload/sql", "custom_login");
    json_faults_fini(&faults);
    check(own, whole, &faults);
    jobs_kit_expect_none(&faults);
    check(NULL, NULL, &faults);
    jobs_kit_expect_none(&faults);
    json_faults_fini(&faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_its_own_names_and_no_others),
        cmocka_unit_test(reads_a_source_in_two_parts),
        cmocka_unit_test(names_every_data_file_with_a_file_of_its_own),
        cmocka_unit_test(writes_no_statement_with_what_cannot_be_a_name_or_a_path),
        cmocka_unit_test(copies_rows_into_a_table_named_by_us),
        cmocka_unit_test(makes_one_baseline_and_then_each_number_at_each_location),
        cmocka_unit_test(always_measures_none_whatever_the_list_says),
        cmocka_unit_test(refuses_what_needs_no_server_to_be_wrong),
        cmocka_unit_test(refuses_a_path_that_leaves_no_room_for_a_file_name),
        cmocka_unit_test(takes_sql_of_the_jobs_own_only_with_a_login_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
