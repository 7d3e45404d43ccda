/* snapshot_overhead from curl to report, against the simulator. */
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS "40"
#define PLACES "'locations':[{'name':'disk','path':'/var/opt/mssql/backup'}]"
#define SELECT_INTO "'workload':{'select_into':{'source':'Sales.Big','rows':" ROWS "}}"

/* A job on a database in SIMPLE recovery. */
#define SNAPSHOTS(parameters, rest)                                                                \
    "{'kind':'snapshot_overhead','instance':'sql01','parameters':{" parameters "}" rest "}"
#define ON_ADVENTURE "'database':'AdventureWorks'," SELECT_INTO

#define LINUX_ALLOW                                                                                \
    "'allow':{'paths':['/var/opt/mssql/backup','/tmp']},'limits':{'min_free_disk_mib':1}"
#define ONCE ",'design':{'repetitions':1,'warmups':0}"

/* --- the place ------------------------------------------------------------------------------ */

/* One batch or query as sa; the first value as a number (-1: none). */
static int64_t run_sql(struct harness *house, const char *sql)
{
    struct mssql_target target = {.host = "127.0.0.1",
                                  .port = sim_port(house->sim),
                                  .login = "sa",
                                  .password = "Sweetspot-1",
                                  .encryption = "request",
                                  .app_name = "test",
                                  .driver = mssql_default_driver()};
    struct mssql *session = NULL;
    struct mssql_rows *rows = NULL;
    struct err err;
    if (mssql_open(&target, &session, &err) < 0 ||
        mssql_query(session, sql, NULL, 0, &rows, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
    int64_t value = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    mssql_close(session);
    return value;
}

/* The source Sales.Big with a few rows in this database, whose name is written as T-SQL. */
static void make_source(struct harness *house, const char *database)
{
    char *sql = mem_format("CREATE TABLE %s.Sales.Big (id int, name nvarchar(40)); "
                           "INSERT INTO %s.Sales.Big SELECT TOP (" ROWS ") message_id, N'x' "
                           "FROM sys.messages",
                           database, database);
    (void)run_sql(house, sql);
    free(sql);
}

static struct harness *house_of(const char *scenario, const char *allow)
{
    struct harness *house = harness_start(scenario);
    harness_register(house, allow);
    make_source(house, "AdventureWorks");
    return house;
}

static void inject(struct harness *house, const char *fault)
{
    char error[SIM_ERROR_SIZE];
    if (sim_fault(house->sim, fault, error))
        fail_msg("%s", error);
}

static cJSON *report_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/report", id);
    cJSON *report = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return report;
}

static cJSON *trials_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/trials?limit=500", id);
    cJSON *trials = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return trials;
}

/* No snapshot, file or table of ours is on the server. */
static void expect_clean(struct harness *house, const char *database)
{
    size_t count = 0;
    struct sim_left *files = sim_files(house->sim, &count);
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(files[i].path, "sweetspot_"));
    sim_files_free(files, count);
    assert_int_equal(
        run_sql(house, "SELECT COUNT(*) FROM sys.databases WHERE name LIKE 'sweetspot[_]%'"), 0);
    char *sql =
        mem_format("SELECT COUNT(*) FROM %s.sys.tables WHERE name LIKE 'sweetspot[_]%%'", database);
    assert_int_equal(run_sql(house, sql), 0);
    free(sql);
}

/* --- end to end ----------------------------------------------------------------------------- */

static double wait_of(const cJSON *waits, const char *type)
{
    const cJSON *wait;
    cJSON_ArrayForEach(wait, waits)
    {
        if (strcmp(text_at(wait, "type"), type) == 0)
            return number_at(wait, "ms");
    }
    fail_msg("wait %s is not shown", type);
    return -1;
}

static void measures_none_one_and_two_snapshots_at_each_location(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':1,'surface':{'row_us':500}}", LINUX_ALLOW);
    char *id =
        harness_submit(house, SNAPSHOTS("'database':'AdventureWorks'," SELECT_INTO ",'locations':["
                                        "{'name':'fast','path':'/tmp'},"
                                        "{'name':'slow','path':'/var/opt/mssql/backup'}]",
                                        ",'design':{'repetitions':5,'warmups':1,'seed':3}"));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_int_equal(number_at(job, "progress/trials_done"), 30);
    assert_non_null(strstr(text_at(job, "summary"), "2 snapshots at slow: "));
    assert_non_null(strstr(text_at(job, "summary"), "x the time without (95 % "));
    assert_non_null(strstr(text_at(job, "summary"), "the first adds"));

    cJSON *report = report_of(house, id);
    fprintf(stderr, "%s\n", cJSON_Print(report));
    cJSON_Delete(report);
    cJSON_Delete(job);
    expect_clean(house, "AdventureWorks");
    free(id);
    harness_stop(house);
    (void)wait_of;
    (void)inject;
    (void)trials_of;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_none_one_and_two_snapshots_at_each_location),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
