#include "tests/snapshot_kit.h"
#include "tests/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void make_source(struct harness *house, const char *database)
{
    char *sql = mem_format("CREATE TABLE %s.Sales.Big (id int, name nvarchar(40)); "
                           "INSERT INTO %s.Sales.Big SELECT TOP (" ROWS ") message_id, N'x' "
                           "FROM sys.messages",
                           database, database);
    (void)harness_ask(house->sim, sql);
    free(sql);
}

struct harness *house_of(const char *scenario, const char *allow)
{
    struct harness *house = harness_start(scenario);
    harness_register(house, allow);
    make_source(house, "AdventureWorks");
    return house;
}

void inject(struct harness *house, const char *fault)
{
    char error[SIM_ERROR_SIZE];
    if (sim_fault(house->sim, fault, error))
        fail_msg("%s", error);
}

cJSON *report_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/report", id);
    cJSON *report = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return report;
}

cJSON *trials_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/trials?limit=500", id);
    cJSON *trials = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return trials;
}

char *submit_tree(struct harness *house, const cJSON *tree)
{
    char *body = cJSON_PrintUnformatted(tree);
    struct reply reply = call(harness_port(house), "POST", "/v1/jobs", NULL, body);
    if (reply.status != 202)
        fail_msg("%d: %s", reply.status, reply.body);
    cJSON *job = cJSON_Parse(reply.body);
    char *id = mem_copy(text_at(job, "id"));
    cJSON_Delete(job);
    reply_fini(&reply);
    free(body);
    return id;
}

void expect_no_files(struct harness *house)
{
    size_t count = 0;
    struct sim_left *files = sim_files(house->sim, &count);
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(files[i].path, "sweetspot_"));
    sim_files_free(files, count);
}

void expect_clean(struct harness *house, const char *database)
{
    expect_no_files(house);
    assert_int_equal(
        harness_ask(house->sim,
                    "SELECT COUNT(*) FROM sys.databases WHERE name LIKE 'sweetspot[_]%'"),
        0);
    char *sql =
        mem_format("SELECT COUNT(*) FROM %s.sys.tables WHERE name LIKE 'sweetspot[_]%%'", database);
    assert_int_equal(harness_ask(house->sim, sql), 0);
    free(sql);
}

cJSON *expect_end(struct harness *house, const char *id, const char *wanted, const char *cleanup)
{
    cJSON *job = harness_wait(house, id);
    if (!strstr(wanted, text_at(job, "state")) || strcmp(text_at(job, "cleanup"), cleanup) != 0)
        fail_msg("not %s, %s: %s", wanted, cleanup, cJSON_PrintUnformatted(job));
    expect_clean(house, "AdventureWorks");
    return job;
}

void expect_job(struct harness *house, const char *body, const char *wanted, const char *cleanup,
                const char *words)
{
    char *id = harness_submit(house, body);
    cJSON *job = expect_end(house, id, wanted, cleanup);
    char *text = cJSON_PrintUnformatted(job);
    if (!strstr(text, words))
        fail_msg("no \"%s\" in %s", words, text);
    free(text);
    cJSON_Delete(job);
    free(id);
}

bool warns(const cJSON *report, const char *words)
{
    const cJSON *warning;
    cJSON_ArrayForEach(warning, at(report, "warnings")) {
        if (strstr(warning->valuestring, words))
            return true;
    }
    return false;
}
