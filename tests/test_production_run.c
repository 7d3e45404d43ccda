/* A test that looks like production is measured all the same; the check, the plan and the report
 * say what speaks against it. */
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SESSIONS 21
#define BODY SWEEP(",'buffercount':[50]", SHORT)
#define LOOKS "looks like production"

static void expect_warning(const cJSON *answer, const char *words)
{
    char *warnings = cJSON_PrintUnformatted(at(answer, "warnings"));
    bool looks = strstr(warnings, LOOKS) != NULL;
    if (looks != (words != NULL) || (words && !strstr(warnings, words)))
        fail_msg("%s instead of: %s", warnings, words ? words : "nothing");
    free(warnings);
}

/* words: of the warning; NULL: there is none. */
static void check_plan_and_report_say(struct harness *house, const char *words)
{
    cJSON *check = harness_call(house, "POST", "/v1/instances/sql01/check", NULL, 200);
    expect_warning(check, words);
    cJSON *plan = harness_call(house, "POST", "/v1/plans", BODY, 200);
    expect_warning(plan, words);
    assert_int_equal(cJSON_GetArraySize(at(plan, "refusals")), 0);
    char *id = NULL;
    cJSON_Delete(sweep_run_to(house, BODY, "inconclusive", &id));
    cJSON *report = sweep_report_of(house, id);
    expect_warning(report, words);
    cJSON_Delete(report);
    cJSON_Delete(plan);
    cJSON_Delete(check);
    free(id);
}

static struct harness *house_of(const char *scenario)
{
    struct harness *house = harness_start(scenario);
    harness_register(house, ALLOW);
    return house;
}

static void an_ordinary_test_is_not_doubted(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL);
    check_plan_and_report_say(house, NULL);
    harness_stop(house);
}

static void a_primary_replica_is(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':0,'databases':[{'name':'Sales','replica_role':"
                                     "'PRIMARY'},{'name':'AdventureWorks'}]}");
    check_plan_and_report_say(house, "it is the primary replica of 1 database of");
    harness_stop(house);
}

static void a_secondary_replica_is_not(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':0,'databases':[{'name':'Sales','replica_role':"
                                     "'SECONDARY'},{'name':'AdventureWorks'}]}");
    check_plan_and_report_say(house, NULL);
    harness_stop(house);
}

static void many_sessions_on_an_enterprise_edition_are(void **state)
{
    (void)state;
    struct mssql *sessions[SESSIONS];
    struct harness *house = house_of("{'time_scale':0,'edition':'Enterprise'}");
    for (size_t i = 0; i < SESSIONS - 1; i++)
        sessions[i] = harness_session(house->sim, "payroll");
    check_plan_and_report_say(house, NULL); /* 20 are not too many */
    sessions[SESSIONS - 1] = harness_session(house->sim, "payroll");
    check_plan_and_report_say(house, "with 21 sessions of others");
    sweep_fault(house->sim, "{'do':'hide','match':'dm_exec_sessions'}");
    sweep_fault(house->sim, "{'do':'hide','match':'dm_hadr_availability_replica_states'}");
    check_plan_and_report_say(house, NULL); /* what cannot be seen is no sign */
    for (size_t i = 0; i < SESSIONS; i++)
        mssql_close(sessions[i]);
    harness_stop(house);
}

static void a_name_is_and_the_registration_ends_it(void **state)
{
    (void)state;
    struct harness *house = house_of("{'time_scale':0,'server_name':'SQL-PROD-7'}");
    check_plan_and_report_say(house, "it is called SQL-PROD-7");
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','windows':'always',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}," ALLOW "}",
                            sim_port(house->sim));
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01", body, 200));
    cJSON *check = harness_call(house, "POST", "/v1/instances/sql01/check", NULL, 200);
    expect_warning(check, NULL);
    cJSON_Delete(check);
    free(body);
    harness_stop(house);
}

static void the_registered_name_is(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    sweep_register(house, "sales-prod", sim_port(house->sim), NULL, 201);
    cJSON *check = harness_call(house, "POST", "/v1/instances/sales-prod/check", NULL, 200);
    expect_warning(check, "it is called sales-prod");
    cJSON_Delete(check);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_test_is_not_doubted),
        cmocka_unit_test(a_primary_replica_is),
        cmocka_unit_test(a_secondary_replica_is_not),
        cmocka_unit_test(many_sessions_on_an_enterprise_edition_are),
        cmocka_unit_test(a_name_is_and_the_registration_ends_it),
        cmocka_unit_test(the_registered_name_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
