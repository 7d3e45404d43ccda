/* POST /v1/instances/{name}/check against the simulator. */
#include "server/json.h"
#include "server/mem.h"
#include "tests/certificate.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CHECK "/v1/instances/sql01/check"
#define SWEEP                                                                                      \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales','buffercount':"    \
    "[50]},'design':{'repetitions':1,'warmups':0}}"

static cJSON *check(struct harness *house)
{
    return harness_call(house, "POST", CHECK, NULL, 200);
}

static void register_login(struct harness *house, const char *login)
{
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'%s','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}}",
                            sim_port(house->sim), login);
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql01", body, 201));
    free(body);
}

/* True when one line of what is missing for the kind begins so. */
static bool is_missing(const cJSON *answer, const char *kind, const char *text)
{
    const cJSON *line;
    cJSON_ArrayForEach(line, json_member(json_member(at(answer, "kinds"), kind), "missing")) {
        if (strncmp(line->valuestring, text, strlen(text)) == 0)
            return true;
    }
    return false;
}

static bool is_ready(const cJSON *answer, const char *kind)
{
    return cJSON_IsTrue(json_member(json_member(at(answer, "kinds"), kind), "ready"));
}

/* --- what is found ------------------------------------------------------------------------- */

static void expect_all_ready(const cJSON *answer)
{
    const cJSON *kind;
    cJSON_ArrayForEach(kind, at(answer, "kinds")) {
        assert_true(cJSON_IsTrue(json_member(kind, "ready")));
        assert_int_equal(cJSON_GetArraySize(json_member(kind, "missing")), 0);
    }
}

static void a_check_tells_what_kind_of_server_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *scenario, *version, *platform;
        int major;
    } cases[] = {
        {"{'time_scale':0,'version':'9.0.5000.0','platform':'Windows'}", "9.0.5000.0", "Windows",
         9},
        {"{'time_scale':0,'version':'11.0.7001.0','platform':'Windows'}", "11.0.7001.0", "Windows",
         11},
        {"{'time_scale':0,'version':'16.0.4100.1'}", "16.0.4100.1", "Linux", 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct harness *house = harness_start(cases[i].scenario);
        harness_register(house, NULL);
        cJSON *answer = check(house);
        assert_true(cJSON_IsTrue(at(answer, "reachable")));
        assert_true(cJSON_IsFalse(at(answer, "authenticated")));
        assert_true(cJSON_IsTrue(at(answer, "simulated")));
        assert_string_equal(text_at(answer, "version"), cases[i].version);
        assert_int_equal(number_at(answer, "major"), cases[i].major);
        assert_string_equal(text_at(answer, "platform"), cases[i].platform);
        assert_string_equal(text_at(answer, "host_name"), "SWEETSIM");
        assert_int_equal(number_at(answer, "engine_edition"), 3);
        assert_int_equal(number_at(answer, "cpu_count"), 8);
        if (cases[i].major > 9) /* the simulator's 2005 does not say */
            assert_int_equal(number_at(answer, "memory_mib"), 16384);
        assert_true(fabs(number_at(answer, "clock_offset_s")) < 30);
        assert_true(strlen(text_at(answer, "edition")) > 0);
        expect_all_ready(answer);
        cJSON_Delete(answer);
        harness_stop(house);
    }
}

/* With ca_file the server has shown who it is; without it has not, whatever certificate it has. */
static void a_check_says_whether_the_server_is_authenticated(void **state)
{
    (void)state;
    char folder[] = "/tmp/sweetspot-test.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *certificate = mem_format("%s/cert.pem", folder);
    char *key = mem_format("%s/key.pem", folder);
    assert_int_equal(certificate_make(certificate, key, "127.0.0.1"), 0);
    char *scenario =
        mem_format("{'time_scale':0,'certificate_file':'%s','key_file':'%s'}", certificate, key);
    char *members = mem_format("'ca_file':'%s','verify_host':true", certificate);
    for (int known = 0; known < 2; known++) {
        struct harness *house = harness_start(scenario);
        harness_register(house, known ? members : NULL);
        cJSON *answer = check(house);
        assert_true(cJSON_IsTrue(at(answer, "reachable")));
        assert_int_equal(cJSON_IsTrue(at(answer, "authenticated")), known);
        cJSON_Delete(answer);
        char *id = harness_submit(house, SWEEP);
        cJSON_Delete(harness_wait(house, id));
        char *target = mem_format("/v1/jobs/%s/report", id);
        cJSON *report = harness_call(house, "GET", target, NULL, 200);
        assert_int_equal(cJSON_IsTrue(at(report, "instance/authenticated")), known);
        cJSON_Delete(report);
        free(target);
        free(id);
        harness_stop(house);
    }
    (void)unlink(certificate);
    (void)unlink(key);
    (void)rmdir(folder);
    free(members);
    free(scenario);
    free(key);
    free(certificate);
}

static void every_registered_kind_is_told(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON *answer = check(house);
    assert_true(is_ready(answer, "backup_sweep"));
    assert_true(is_ready(answer, "backup_history"));
    cJSON_Delete(answer);
    harness_stop(house);
}

/* --- rights -------------------------------------------------------------------------------- */

#define LOGINS(version, state)                                                                     \
    "{'time_scale':0,'version':'" version "','logins':["                                           \
    "{'name':'sa','password':'Sweetspot-1','sysadmin':true},"                                      \
    "{'name':'none','password':'Sweetspot-1'},"                                                    \
    "{'name':'backup','password':'Sweetspot-1','roles':{'Sales':['db_backupoperator']}},"          \
    "{'name':'reader','password':'Sweetspot-1','roles':{'msdb':['db_datareader']}},"               \
    "{'name':'all','password':'Sweetspot-1','permissions':['" state "','EXECUTE xp_delete_file',"  \
    "'EXECUTE xp_delete_files'],'roles':{'Sales':['db_backupoperator'],'msdb':"                    \
    "['db_datareader']}}]}"

static void what_is_missing_is_named_with_what_to_grant(void **state)
{
    (void)state;
    static const struct {
        const char *scenario, *state_right, *delete_right;
    } cases[] = {
        {LOGINS("9.0.5000.0", "VIEW SERVER STATE"), "optional: VIEW SERVER STATE (",
         "optional: EXECUTE on master.dbo.xp_delete_file ("},
        {LOGINS("11.0.7001.0", "VIEW SERVER STATE"), "optional: VIEW SERVER STATE (",
         "optional: EXECUTE on master.dbo.xp_delete_file ("},
        {LOGINS("16.0.4100.1", "VIEW SERVER PERFORMANCE STATE"),
         "optional: VIEW SERVER PERFORMANCE STATE (",
         "optional: EXECUTE on master.sys.xp_delete_files ("},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct harness *house = harness_start(cases[i].scenario);
        register_login(house, "none");
        cJSON *answer = check(house);
        assert_true(cJSON_IsTrue(at(answer, "reachable")));
        assert_false(is_ready(answer, "backup_sweep"));
        assert_true(is_missing(answer, "backup_sweep", "db_backupoperator in the database"));
        assert_true(is_missing(answer, "backup_sweep", cases[i].state_right));
        assert_true(is_missing(answer, "backup_sweep", cases[i].delete_right));
        assert_true(is_missing(answer, "backup_sweep", "optional: db_datareader in msdb"));
        assert_true(is_missing(answer, "backup_throughput", "optional: ALTER TRACE ("));
        assert_false(is_ready(answer, "backup_history"));
        assert_true(is_missing(answer, "backup_history", "db_datareader in msdb"));
        cJSON_Delete(answer);
        harness_stop(house);
    }
}

static void the_least_privileged_login_is_ready(void **state)
{
    (void)state;
    static const struct {
        const char *login;
        bool sweep, history;
        int missing; /* for the sweep */
    } cases[] = {{"all", true, true, 0}, {"backup", true, false, 3}, {"reader", false, true, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct harness *house =
            harness_start(LOGINS("16.0.4100.1", "VIEW SERVER PERFORMANCE STATE"));
        register_login(house, cases[i].login);
        cJSON *answer = check(house);
        assert_int_equal(is_ready(answer, "backup_sweep"), cases[i].sweep);
        assert_int_equal(is_ready(answer, "backup_history"), cases[i].history);
        assert_int_equal(cJSON_GetArraySize(at(answer, "kinds/backup_sweep/missing")),
                         cases[i].missing);
        cJSON_Delete(answer);
        harness_stop(house);
    }
}

/* --- what is not reached ------------------------------------------------------------------- */

static void a_wrong_password_is_told_without_the_password(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIM", "wrong-and-secret", 1), 0);
    cJSON *answer = check(house);
    char *text = cJSON_PrintUnformatted(answer);
    assert_true(cJSON_IsFalse(at(answer, "reachable")));
    assert_int_equal(number_at(answer, "error/number"), 18456);
    assert_string_equal(text_at(answer, "error/cause"), "server");
    assert_null(strstr(text, "wrong-and-secret"));
    assert_null(json_member(answer, "kinds"));
    free(text);
    cJSON_Delete(answer);
    harness_stop(house);
}

static void a_password_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    assert_int_equal(unsetenv("SWEETSPOT_SECRET_SIM"), 0);
    cJSON *answer = check(house);
    assert_true(cJSON_IsFalse(at(answer, "reachable")));
    assert_true(cJSON_IsNull(at(answer, "error/number")));
    assert_string_equal(text_at(answer, "error/message"),
                        "the instance's password: the environment variable SWEETSPOT_SECRET_SIM is "
                        "not set");
    assert_string_equal(text_at(answer, "error/cause"), "password");
    cJSON_Delete(answer);
    harness_stop(house);
}

static void a_put_tells_what_secret_is_missing(void **state)
{
    static const char body[] =
        "{'host':'127.0.0.1','login':'sa','environment':'test','password':{'env':"
        "'SWEETSPOT_SECRET_SIM'},'custom_login':'app','custom_password':{'env':"
        "'SWEETSPOT_SECRET_NOT_THERE'}}";
    (void)state;
    struct harness *house = harness_start(NULL);
    cJSON *answer = harness_call(house, "PUT", "/v1/instances/sql02", body, 201);
    assert_int_equal(cJSON_GetArraySize(at(answer, "warnings")), 1);
    assert_string_equal(text_at(answer, "warnings/0"),
                        "the environment variable SWEETSPOT_SECRET_NOT_THERE is not set");
    /* what a PUT says may come back in the next one */
    char *again = cJSON_PrintUnformatted(answer);
    assert_int_equal(unsetenv("SWEETSPOT_SECRET_SIM"), 0);
    cJSON_Delete(answer);
    answer = harness_call(house, "PUT", "/v1/instances/sql02", again, 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "warnings")), 2);
    cJSON_Delete(answer);
    answer = harness_call(house, "GET", "/v1/instances/sql02", NULL, 200);
    assert_null(json_member(answer, "warnings"));
    cJSON_Delete(answer);
    free(again);
    harness_stop(house);
}

static void a_server_that_is_away_is_not_reachable(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sim_stop(house->sim);
    house->sim = NULL;
    cJSON *answer = check(house);
    assert_true(cJSON_IsFalse(at(answer, "reachable")));
    assert_true(cJSON_IsNull(at(answer, "error/number")));
    assert_true(strlen(text_at(answer, "error/message")) > 0);
    assert_string_equal(text_at(answer, "error/cause"), "network");
    cJSON_Delete(answer);
    harness_stop(house);
}

static void a_connection_that_breaks_on_the_way_is_no_half_answer(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char error[SIM_ERROR_SIZE];
    harness_register(house, NULL);
    assert_int_equal(
        sim_fault(house->sim, "{'do':'drop_before','match':'SELECT HAS_PERMS_BY_NAME'}", error), 0);
    cJSON *answer = check(house);
    assert_true(cJSON_IsFalse(at(answer, "reachable")));
    cJSON_Delete(answer);
    harness_stop(house);
}

static void only_instances_that_exist_are_checked(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON_Delete(harness_call(house, "POST", "/v1/instances/other/check", NULL, 404));
    cJSON_Delete(harness_call(house, "POST", "/v1/instances/No%20Name/check", NULL, 404));
    cJSON_Delete(harness_call(house, "POST", CHECK, "{'kind':'backup_sweep'}", 400));
    cJSON_Delete(harness_call(house, "GET", CHECK, NULL, 405));
    cJSON_Delete(harness_call(house, "POST", CHECK, "{}", 200));
    harness_stop(house);
}

/* --- what a good check does ---------------------------------------------------------------- */

static bool is_held(struct harness *house)
{
    cJSON *instance = harness_call(house, "GET", "/v1/instances/sql01", NULL, 200);
    bool held = cJSON_IsString(at(instance, "held"));
    cJSON_Delete(instance);
    return held;
}

static void a_good_check_ends_what_a_refused_login_held(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIM", "wrong", 1), 0);
    char *first = harness_submit(house, SWEEP);
    cJSON_Delete(harness_wait(house, first));
    char *second = harness_submit(house, SWEEP);
    cJSON_Delete(harness_wait_state(house, second, "waiting", "unreachable"));
    cJSON_Delete(check(house)); /* still wrong: it goes on waiting */
    assert_true(is_held(house));
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIM", "Sweetspot-1", 1), 0);
    cJSON_Delete(check(house));
    assert_false(is_held(house));
    cJSON *job = harness_wait(house, second);
    assert_int_equal(number_at(job, "progress/trials_done"), 2);
    cJSON_Delete(job);
    free(first);
    free(second);
    harness_stop(house);
}

/* --- while it takes long ------------------------------------------------------------------- */

/* Sends a check that the simulator holds in one of its questions. */
static struct client begin_held_check(struct harness *house)
{
    char error[SIM_ERROR_SIZE];
    assert_int_equal(
        sim_fault(house->sim, "{'do':'hold_before','match':'SELECT HAS_PERMS_BY_NAME'}", error), 0);
    struct client client = client_open(harness_port(house));
    client_send(&client, "POST " CHECK " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    return client;
}

static void nobody_else_waits_for_a_slow_check(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    struct client client = begin_held_check(house);
    for (int i = 0; i < 8; i++) /* each thread of the service would be hit */
        cJSON_Delete(harness_call(house, "GET", "/v1/instances", NULL, 200));
    cJSON *answer = check(house); /* another check runs beside it */
    assert_true(cJSON_IsTrue(at(answer, "reachable")));
    cJSON_Delete(answer);
    sim_release(house->sim);
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "\"reachable\":true"));
    reply_fini(&reply);
    client_close(&client);
    harness_stop(house);
}

static void a_daemon_that_ends_gives_a_slow_check_up(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    struct client client = begin_held_check(house);
    harness_stop_daemon(house);
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 503);
    reply_fini(&reply);
    client_close(&client);
    harness_stop(house);
}

static void a_client_that_goes_away_leaves_nothing_behind(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    struct client client = begin_held_check(house);
    client_close(&client);
    sim_release(house->sim);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_SESSIONS, NULL, 0, 20000), 0);
    cJSON *answer = check(house);
    assert_true(cJSON_IsTrue(at(answer, "reachable")));
    cJSON_Delete(answer);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_tells_what_kind_of_server_it_is),
        cmocka_unit_test(a_check_says_whether_the_server_is_authenticated),
        cmocka_unit_test(every_registered_kind_is_told),
        cmocka_unit_test(what_is_missing_is_named_with_what_to_grant),
        cmocka_unit_test(the_least_privileged_login_is_ready),
        cmocka_unit_test(a_wrong_password_is_told_without_the_password),
        cmocka_unit_test(a_password_that_is_not_there_is_told),
        cmocka_unit_test(a_put_tells_what_secret_is_missing),
        cmocka_unit_test(a_server_that_is_away_is_not_reachable),
        cmocka_unit_test(a_connection_that_breaks_on_the_way_is_no_half_answer),
        cmocka_unit_test(only_instances_that_exist_are_checked),
        cmocka_unit_test(a_good_check_ends_what_a_refused_login_held),
        cmocka_unit_test(nobody_else_waits_for_a_slow_check),
        cmocka_unit_test(a_daemon_that_ends_gives_a_slow_check_up),
        cmocka_unit_test(a_client_that_goes_away_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
