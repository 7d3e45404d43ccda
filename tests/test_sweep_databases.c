/* backup_sweep of databases with odd names and in odd states. */
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME_64 "0123456789012345678901234567890123456789012345678901234567890123"
#define NAME_128 (NAME_64 NAME_64)
#define NAME_129 (NAME_64 NAME_64 "4")

static char *quoted(const char *name)
{
    cJSON *text = cJSON_CreateString(name);
    char *json = cJSON_PrintUnformatted(text);
    cJSON_Delete(text);
    return json;
}

/* The harness turns ' into ", so names with quotes are sent with their characters escaped. */
static char *escaped(const char *name)
{
    char *json = quoted(name);
    char *out = mem_alloc(strlen(json) * 6 + 1, 1);
    char *to = out;
    for (const char *from = json; *from; from++) {
        if (*from == '\'')
            to = stpcpy(to, "\\u0027");
        else
            *to++ = *from;
    }
    *to = '\0';
    free(json);
    return out;
}

static void sweep_of_named(const char *name)
{
    char *json = escaped(name);
    char *scenario =
        mem_format("{\"time_scale\":0,\"databases\":[{\"name\":%s,\"mib\":16}]}", json);
    char *body = mem_format("{'kind':'backup_sweep','instance':'sql01','parameters':{'database':%s,"
                            "'buffercount':[50],'targets':[{'name':'disk','paths':"
                            "['/var/opt/mssql/backup']}]},'design':{'repetitions':6,'warmups':0}}",
                            json);
    struct harness *house = harness_start(scenario);
    char *id = NULL;
    harness_register(house, ALLOW);
    cJSON *job = sweep_run(house, body, &id);
    if (strcmp(text_at(job, "state"), "succeeded") != 0 &&
        strcmp(text_at(job, "state"), "inconclusive") != 0)
        fail_msg("%s: %s", name, cJSON_PrintUnformatted(job));
    cJSON *report = sweep_report_of(house, id);
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 12);
    assert_true(number_at(trials, "items/0/file_bytes") > 0);
    assert_string_equal(text_at(report, "arms/0/settings/database"), name);
    assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
    sweep_nothing_left(house->sim);
    cJSON_Delete(trials);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
    free(body);
    free(scenario);
    free(json);
}

static void every_name_that_sql_server_allows_can_be_swept(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a]b'c \"d\"", "[x]",
        "]]",          "it''s; DROP DATABASE Sales--",
        "売上 データ", "Größe",
        "emoji 🎉📦",    "per%cent {job} {seq} $(ESC) %s",
        " leading",    "back\\slash/slash",
        NAME_128,
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        sweep_of_named(names[i]);
}

static void a_name_that_is_too_long_or_not_clean_is_refused_at_submit(void **state)
{
    (void)state;
    static const char *const names[] = {
        NAME_129, "🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉",
        "a\\nb",  "tempdb",
        "TempDB", "",
    };
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *body = mem_format("{'kind':'backup_sweep','instance':'sql01',"
                                "'parameters':{'database':'%s','buffercount':[50]}}",
                                names[i]);
        cJSON *problem = harness_call(house, "POST", "/v1/jobs", body, 400);
        assert_string_equal(text_at(problem, "errors/0/pointer"), "/parameters/database");
        cJSON_Delete(problem);
        free(body);
    }
    assert_int_equal(sim_count_statements(house->sim, ""), 0);
    harness_stop(house);
}

static void a_database_in_a_state_that_cannot_be_backed_up_fails_with_its_number(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        int number;
    } rows[] = {{"OFFLINE", 942}, {"RESTORING", 927},        {"RECOVERING", 922},
                {"SUSPECT", 926}, {"RECOVERY_PENDING", 921}, {"EMERGENCY", 3033}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *scenario = mem_format(
            "{'time_scale':0,'databases':[{'name':'Sales','mib':16,'state':'%s'}]}", rows[i].state);
        struct harness *house = harness_start(scenario);
        harness_register(house, NULL);
        cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]", SHORT), "failed", NULL);
        assert_int_equal(number_at(job, "error/number"), rows[i].number);
        assert_string_equal(text_at(job, "error/step"), "preflight");
        assert_true(sweep_error_says(job, "Sales"));
        assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
        cJSON_Delete(job);
        harness_stop(house);
        free(scenario);
    }
}

static void a_missing_database_fails_and_does_not_hold_the_instance(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON *job = sweep_run_to(house, SWEEP_OF("sql01", "Nowhere", ",'buffercount':[50]", SHORT),
                              "failed", NULL);
    assert_int_equal(number_at(job, "error/number"), 911);
    cJSON_Delete(job);
    job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_snapshot_is_refused_before_a_backup(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    harness_execute(house->sim, "CREATE DATABASE [Frozen] ON (NAME = [Sales], FILENAME = "
                                "'/var/opt/mssql/data/frozen.ss') AS SNAPSHOT OF [Sales]");
    cJSON *job = sweep_run_to(house, SWEEP_OF("sql01", "Frozen", ",'buffercount':[50]", SHORT),
                              "failed", NULL);
    assert_int_equal(number_at(job, "error/number"), 3002);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    cJSON_Delete(job);
    harness_stop(house);
}

static void
a_database_that_goes_away_between_trials_ends_the_run_with_what_was_measured(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'hold_before','match':'BACKUP','nth':5}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", ""));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    harness_execute(house->sim, "DROP DATABASE [Sales]");
    sim_release(house->sim);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_int_equal(number_at(job, "error/number"), 911);
    assert_string_equal(text_at(job, "error/step"), "trial");
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 5);
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 4);
    assert_int_equal(sweep_count(trials, NULL, "failed"), 1);
    cJSON *report = sweep_report_of(house, id);
    assert_true(cJSON_IsNull(at(report, "recommendation")));
    cJSON_Delete(report);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_read_only_and_a_single_user_database_can_be_swept(void **state)
{
    (void)state;
    struct harness *house =
        harness_start("{'time_scale':0,'databases':[{'name':'Sales','mib':16,'read_only':true},"
                      "{'name':'Solo','mib':16,'recovery':'SIMPLE','full':false}]}");
    harness_register(house, NULL);
    cJSON *job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    job = sweep_run(house, SWEEP_OF("sql01", "Solo", ",'buffercount':[50]", SHORT), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_readable_secondary_takes_our_copy_only_backups(void **state)
{
    (void)state;
    struct harness *house = harness_start("{'time_scale':0,'databases':[{'name':'Sales','mib':16,"
                                          "'replica_role':'SECONDARY'}]}");
    harness_register(house, NULL);
    cJSON *job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    harness_stop(house);
}

static void the_differential_base_and_the_log_chain_stay_where_they_were(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    uint64_t base = sim_differential_base(house->sim, "Sales");
    uint64_t chain = sim_last_log_lsn(house->sim, "Sales");
    assert_true(base > 0 && chain > 0);
    cJSON_Delete(sweep_run(
        house, SWEEP(",'buffercount':[50],'compression':['off','on','default']" TO_DISK, SHORT),
        NULL));
    assert_true(sim_differential_base(house->sim, "Sales") == base);
    assert_true(sim_last_log_lsn(house->sim, "Sales") == chain);
    sweep_all_say(house->sim, "BACKUP", "COPY_ONLY");
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_that_sql_server_allows_can_be_swept),
        cmocka_unit_test(a_name_that_is_too_long_or_not_clean_is_refused_at_submit),
        cmocka_unit_test(a_database_in_a_state_that_cannot_be_backed_up_fails_with_its_number),
        cmocka_unit_test(a_missing_database_fails_and_does_not_hold_the_instance),
        cmocka_unit_test(a_snapshot_is_refused_before_a_backup),
        cmocka_unit_test(
            a_database_that_goes_away_between_trials_ends_the_run_with_what_was_measured),
        cmocka_unit_test(a_read_only_and_a_single_user_database_can_be_swept),
        cmocka_unit_test(a_readable_secondary_takes_our_copy_only_backups),
        cmocka_unit_test(the_differential_base_and_the_log_chain_stay_where_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
