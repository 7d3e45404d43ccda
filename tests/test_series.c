/* Points, changes and splits from stored reports, without a server. */
#include "jobs/series.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 40
#define DAY ((int64_t)86400000)

/* A series under construction. */
struct made {
    struct series_job jobs[MOST];
    char *ids[MOST];
    cJSON *reports[MOST];
    size_t count;
};

/* Adds a job of this report, a day after the one before; takes text over. */
static void add(struct made *made, char *text)
{
    size_t i = made->count++;
    made->ids[i] = mem_format("job %zu", i);
    made->reports[i] = jobs_kit_json(text);
    made->jobs[i] = (struct series_job){made->ids[i], (int64_t)(i + 1) * DAY, made->reports[i]};
    free(text);
}

static void fini(struct made *made)
{
    for (size_t i = 0; i < made->count; i++) {
        free(made->ids[i]);
        cJSON_Delete(made->reports[i]);
    }
}

#define SERVER "'instance':{'version':'%s','cpu_count':8,'memory_mib':1024,'simulated':false}"
#define ARM(name, baseline, database, target)                                                      \
    "{'arm':'" name "','baseline':" baseline ",'settings':{'database':'" database                  \
    "','target':'" target "'},'elapsed_s':{'median':2},'rate_mib_s':{'median':%g,'low':1,"         \
    "'high':2}}"

/* A sweep that recommends a1 (speed) beside its default. */
static char *sweep(const char *version, double speed)
{
    return mem_format("{" SERVER ",'recommendation':{'arm':'a1'},'arms':[" ARM(
                          "a0", "true", "Sales", "NUL") "," ARM("a1", "false", "Sales", "NUL") "]}",
                      version, 50.0, speed);
}

/* A throughput job over two databases, which recommends nothing. */
static char *throughput(double sales, double stock)
{
    return mem_format(
        "{" SERVER ",'recommendation':null,'arms':[" ARM("a0", "true", "Sales", "NUL") "," ARM(
            "a1", "false", "Sales", "disk") "," ARM("a2", "true", "Stock", "NUL") "]}",
        "16.0", sales, 7.0, stock);
}

static const char *text_of(const cJSON *list, int index, const char *member)
{
    return cJSON_GetStringValue(json_member(cJSON_GetArrayItem(list, index), member));
}

static void shows_the_recommended_arm_and_where_it_changed(void **state)
{
    (void)state;
    struct made made = {0};
    for (int i = 0; i < 20; i++)
        add(&made, sweep("16.0", (i < 12 ? 100 : 80) + i % 3));
    cJSON *tree = series_make(made.jobs, made.count, NULL, NULL);
    const cJSON *points = json_member(tree, "points");
    const cJSON *changes = json_member(tree, "change_points");
    assert_int_equal(cJSON_GetArraySize(points), 20);
    assert_string_equal(text_of(points, 0, "arm"), "a1");
    assert_string_equal(text_of(points, 0, "role"), "recommended");
    assert_string_equal(text_of(points, 0, "at"), "1970-01-02T00:00:00.000Z");
    assert_int_equal(cJSON_GetArraySize(changes), 1);
    assert_string_equal(text_of(changes, 0, "job"), "job 12");
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "splits")), 0);
    cJSON_Delete(tree);
    fini(&made);
}

static void an_update_is_a_split_and_no_change(void **state)
{
    (void)state;
    struct made made = {0};
    for (int i = 0; i < 20; i++)
        add(&made, sweep(i < 10 ? "16.0" : "17.0", (i < 10 ? 100 : 50) + i % 3));
    cJSON *tree = series_make(made.jobs, made.count, "Sales", "NUL");
    const cJSON *splits = json_member(tree, "splits");
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "change_points")), 0);
    assert_int_equal(cJSON_GetArraySize(splits), 1);
    assert_string_equal(text_of(splits, 0, "job"), "job 10");
    assert_string_equal(text_of(splits, 0, "why"), "version: 16.0 -> 17.0");
    cJSON_Delete(tree);
    fini(&made);
}

static void each_database_is_a_series_of_its_own(void **state)
{
    (void)state;
    struct made made = {0};
    for (int i = 0; i < 20; i++)
        add(&made, throughput(100 + i % 3, (i < 10 ? 300 : 200) + i % 4));
    cJSON *tree = series_make(made.jobs, made.count, NULL, NULL);
    const cJSON *points = json_member(tree, "points");
    const cJSON *changes = json_member(tree, "change_points");
    assert_int_equal(cJSON_GetArraySize(points), 40);
    assert_string_equal(text_of(points, 0, "database"), "Sales");
    assert_string_equal(text_of(points, 1, "database"), "Stock");
    assert_string_equal(text_of(points, 1, "arm"), "a2");
    assert_string_equal(text_of(points, 1, "role"), "baseline");
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "splits")), 0);
    assert_int_equal(cJSON_GetArraySize(changes), 1);
    assert_string_equal(text_of(changes, 0, "database"), "Stock");
    assert_string_equal(text_of(changes, 0, "job"), "job 10");
    cJSON_Delete(tree);
    tree = series_make(made.jobs, made.count, "Sales", NULL);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "points")), 20);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "change_points")), 0);
    cJSON_Delete(tree);
    fini(&made);
}

static void a_database_is_one_series_whatever_the_case_of_its_name(void **state)
{
    (void)state;
    struct made made = {0};
    for (int i = 0; i < 20; i++)
        add(&made, mem_format("{" SERVER ",'recommendation':null,'arms':[{'arm':'a0','baseline':"
                              "true,'settings':{'database':'%s'},'elapsed_s':{'median':2},"
                              "'rate_mib_s':{'median':%d}},{'arm':'a1','baseline':true,'settings':"
                              "{'database':'sALES'},'rate_mib_s':{'median':1}}]}",
                              "16.0", i % 2 ? "SALES" : "Sales", (i < 10 ? 300 : 200) + i % 4));
    cJSON *tree = series_make(made.jobs, made.count, "sales", NULL);
    const cJSON *points = json_member(tree, "points");
    assert_int_equal(cJSON_GetArraySize(points), 20); /* a0 only: a1 is of the same database */
    assert_string_equal(text_of(points, 1, "database"), "SALES"); /* as the job had it */
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "change_points")), 1);
    assert_string_equal(text_of(json_member(tree, "change_points"), 0, "job"), "job 10");
    cJSON_Delete(tree);
    fini(&made);
}

static void a_workload_without_pages_is_followed_by_its_seconds(void **state)
{
    (void)state;
    struct made made = {0};
    for (int i = 0; i < 20; i++)
        add(&made, mem_format("{" SERVER ",'recommendation':null,'arms':[{'arm':'a0','baseline':"
                              "true,'settings':{'database':'Sales','location':null},"
                              "'elapsed_s':{'median':%d},'rate_mib_s':{'median':null}}]}",
                              "16.0", (i < 10 ? 100 : 200) + i % 3));
    cJSON *tree = series_make(made.jobs, made.count, NULL, NULL);
    const cJSON *changes = json_member(tree, "change_points");
    assert_true(cJSON_IsNull(
        json_member(cJSON_GetArrayItem(json_member(tree, "points"), 0), "rate_mib_s")));
    assert_int_equal(cJSON_GetArraySize(changes), 1);
    const cJSON *ratio = json_member(cJSON_GetArrayItem(changes, 0), "ratio");
    assert_true(ratio->valuedouble > 0.49 && ratio->valuedouble < 0.51); /* twice as slow */
    cJSON_Delete(tree);
    fini(&made);
}

static void reports_without_figures_give_no_point(void **state)
{
    (void)state;
    struct made made = {0};
    add(&made, mem_copy("{'arms':[],'recommendation':null}"));
    add(&made, mem_copy("{'recommendation':{'arm':'a9'},'arms':[]}"));
    add(&made, mem_copy("{'arms':[{'arm':'a0','baseline':true,'settings':{}}]}"));
    add(&made, mem_copy("{}"));
    cJSON *tree = series_make(made.jobs, made.count, NULL, NULL);
    assert_int_equal(cJSON_GetArraySize(json_member(tree, "points")), 0);
    cJSON_Delete(tree);
    tree = series_make(NULL, 0, NULL, NULL);
    assert_true(cJSON_IsArray(json_member(tree, "splits")));
    cJSON_Delete(tree);
    fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_the_recommended_arm_and_where_it_changed),
        cmocka_unit_test(an_update_is_a_split_and_no_change),
        cmocka_unit_test(each_database_is_a_series_of_its_own),
        cmocka_unit_test(a_database_is_one_series_whatever_the_case_of_its_name),
        cmocka_unit_test(a_workload_without_pages_is_followed_by_its_seconds),
        cmocka_unit_test(reports_without_figures_give_no_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
