/* What people reported from the field of database snapshots, against the simulator (the numbers are
 * those of the list of such reports). */
#include "tests/snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two data files with one base name in two folders, a third whose name begins like another's, a
 * log. The tool of report 19 cut names at the first dot. */
#define FILES                                                                                      \
    "{'time_scale':0,'databases':[{'name':'AdventureWorks','recovery':'SIMPLE','files':["          \
    "{'name':'Test','path':'/var/opt/mssql/data/Test.mdf','mib':8},"                               \
    "{'name':'Test.Net','path':'/var/opt/mssql/data/Test.Net.ndf','mib':8},"                       \
    "{'name':'Test.Old','path':'/var/opt/mssql/data/Test.Old.ndf','mib':8},"                       \
    "{'name':'log','path':'/var/opt/mssql/data/Test.ldf','type':'LOG','mib':4}]}]}"

static int occurrences(const char *text, const char *of)
{
    int count = 0;
    for (const char *at = strstr(text, of); at; at = strstr(at + 1, of))
        count++;
    return count;
}

/* The place of the first statement that begins so and holds this; fails when there is none. */
static size_t first(char **texts, size_t count, const char *prefix, const char *holds)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(texts[i], prefix, strlen(prefix)) == 0 && strstr(texts[i], holds))
            return i;
    fail_msg("no %s … %s", prefix, holds);
    return 0;
}

static void report_19_20_a_snapshot_names_every_data_file_with_a_file_of_its_own(void **state)
{
    (void)state;
    static const char *const names[] = {"(NAME = [Test], ", "(NAME = [Test.Net], ",
                                        "(NAME = [Test.Old], "};
    static const char *const ends[] = {"_1.ss'", "_2.ss'", "_3.ss'"};
    size_t count = 0;
    int made = 0;
    struct harness *house = house_of(FILES, LINUX_ALLOW);
    sim_forget_statements(house->sim);
    expect_job(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE), MEASURED, "done", "summary");
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(texts[i], "CREATE DATABASE", 15) != 0)
            continue;
        made++;
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(occurrences(texts[i], names[k]), 1);
            assert_int_equal(occurrences(texts[i], ends[k]), 1);
        }
        assert_int_equal(occurrences(texts[i], "NAME = ["), 3); /* and not the log */
        assert_int_equal(occurrences(texts[i], ".ss'"), 3);
    }
    assert_int_equal(made, 1 + 1 + 2);
    sim_texts_free(texts, count);
    harness_stop(house);
}

/* A share that keeps no sparse files gives a snapshot of the source's whole size: a first one is
 * made, asked about and dropped before anything is timed. */
static void report_21_sparse_files_are_tried_before_the_first_trial(void **state)
{
    (void)state;
    size_t count = 0;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    sim_forget_statements(house->sim);
    expect_job(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE), MEASURED, "done", "summary");
    char **texts = sim_statements(house->sim, &count);
    size_t made = first(texts, count, "CREATE DATABASE [sweetspot_", "_0_1]");
    size_t asked = first(texts, count, "SELECT MIN(CONVERT(int, f.is_sparse))", "");
    size_t dropped = first(texts, count, "DROP DATABASE [sweetspot_", "_0_1]");
    size_t timed = first(texts, count, "SELECT TOP (" ROWS ") * INTO ", "");
    assert_true(made < asked && asked < dropped && dropped < timed);
    sim_texts_free(texts, count);
    harness_stop(house);
}

static void report_21_a_volume_without_sparse_files_is_refused_and_left_clean(void **state)
{
    (void)state;
    struct harness *house =
        house_of("{'time_scale':0,'volumes':[{'mount':'/'},{'mount':'/var/opt/mssql/backup',"
                 "'sparse':false}]}",
                 LINUX_ALLOW);
    expect_job(house, SNAPSHOTS(ON_ADVENTURE "," PLACES, ONCE), "failed", "done",
               "keeps no sparse files");
    expect_clean(house, "AdventureWorks");
    harness_stop(house);
}

/* Too many databases frozen at once: a job makes snapshots of one database, of which there are
 * eight at most. */
static void report_35_snapshots_are_of_one_database_and_few(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL, LINUX_ALLOW);
    cJSON *problem = harness_call(house, "POST", "/v1/jobs",
                                  SNAPSHOTS(ON_ADVENTURE ",'snapshots':[9]," PLACES, ""), 400);
    assert_string_equal(text_at(problem, "errors/0/pointer"), "/parameters/snapshots/0");
    assert_non_null(strstr(text_at(problem, "errors/0/detail"), "0 to 8"));
    cJSON_Delete(problem);
    problem = harness_call(
        house, "POST", "/v1/jobs",
        SNAPSHOTS("'database':['AdventureWorks','Sales']," SELECT_INTO "," PLACES, ""), 400);
    assert_string_equal(text_at(problem, "errors/0/pointer"), "/parameters/database");
    cJSON_Delete(problem);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_19_20_a_snapshot_names_every_data_file_with_a_file_of_its_own),
        cmocka_unit_test(report_21_sparse_files_are_tried_before_the_first_trial),
        cmocka_unit_test(report_21_a_volume_without_sparse_files_is_refused_and_left_clean),
        cmocka_unit_test(report_35_snapshots_are_of_one_database_and_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
