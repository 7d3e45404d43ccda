/* Logging in: what the server refuses, what cannot be reached, TLS and certificates. */
#include "server/buf.h"
#include "server/mem.h"
#include "tests/certificate.h"
#include "tests/mssql_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int make(void **state)
{
    *state = place_make(NULL);
    return 0;
}

/* One value of one query in the place's session. The caller frees it. */
static char *ask(struct place *place, const char *sql)
{
    struct mssql_rows *rows = NULL;
    if (mssql_query(place->session, sql, NULL, 0, &rows, &place->err) < 0)
        fail_msg("%s", place->err.msg);
    char *text = mem_copy(mssql_text(rows, 0, 0));
    mssql_rows_free(rows);
    return text;
}

static void assert_answer(struct place *place, const char *sql, const char *expected)
{
    char *text = ask(place, sql);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_refused(struct place *place, enum err_code code, int detail)
{
    assert_int_equal(place_open(place), -1);
    assert_int_equal(place->err.code, code);
    assert_int_equal(place->err.detail, detail);
    assert_null(place->session);
    assert_true(strlen(place->err.msg) > 0);
    if (strlen(place->target.password) > 3)
        assert_null(strstr(place->err.msg, place->target.password));
}

/* --- what the server says ------------------------------------------------------------------------
 */

static void a_login_reaches_its_database_under_its_name(void **state)
{
    struct place *place = *state;
    place->target.database = "Sales";
    assert_int_equal(place_open(place), 0);
    assert_answer(place, "SELECT DB_NAME()", "Sales");
    assert_answer(place, "SELECT SUSER_SNAME()", PLACE_LOGIN);
    assert_answer(place, "SELECT program_name FROM sys.dm_exec_sessions WHERE session_id = @@SPID",
                  "sweetspot test");
}

static void a_wrong_password_is_18456(void **state)
{
    struct place *place = *state;
    place->target.password = "a wrong one";
    assert_refused(place, ERR_SQL, 18456);
}

static void an_unknown_database_is_4060(void **state)
{
    struct place *place = *state;
    place->target.database = "no such database";
    assert_refused(place, ERR_SQL, 4060);
}

static void a_login_refused_once_is_not_remembered(void **state)
{
    struct place *place = *state;
    place_fault(place, "{'do': 'refuse_login'}");
    assert_refused(place, ERR_SQL, 18456);
    assert_int_equal(place_open(place), 0);
}

static void names_and_passwords_of_any_script_log_in(void **state)
{
    (void)state;
    static const char *const names[] = {"J\xC3\xBCrgen",
                                        "\xE6\x97\xA5\xE6\x9C\xAC",
                                        "\xF0\x9F\x98\x80 x",
                                        "a;b=c",
                                        "it's",
                                        "{braces",
                                        "ends with }",
                                        "two }} braces",
                                        " blanks ",
                                        "one } inside"};
    struct buf scenario = {0};
    buf_add(&scenario, "{\"logins\": [");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        buf_format(&scenario, "%s{\"name\": \"user %zu %s\", \"password\": \"%s\"}", i ? "," : "",
                   i, names[i], names[i]);
    buf_add(&scenario, "]}");
    struct place *place = place_make(buf_text(&scenario));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *login = mem_format("user %zu %s", i, names[i]);
        place->target.login = login;
        place->target.password = names[i];
        if (place_open(place) < 0)
            fail_msg("%s: %s", login, place->err.msg);
        assert_answer(place, "SELECT SUSER_SNAME()", login);
        free(login);
    }
    place_free(place);
    buf_fini(&scenario);
}

/* --- what never reaches it
 * ------------------------------------------------------------------------ */

static void what_the_driver_would_misread_is_not_passed_to_it(void **state)
{
    static const char *const values[] = {"x};SERVER=elsewhere",      "};", "x}DRIVER=/tmp/evil.so",
                                         "x} ;DRIVER={/tmp/evil.so", "}=", "x\xFF"};
    struct place *place = *state;
    const char **const fields[] = {&place->target.login, &place->target.password,
                                   &place->target.database, &place->target.app_name};
    for (size_t field = 0; field < sizeof fields / sizeof fields[0]; field++)
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            const char *kept = *fields[field];
            *fields[field] = values[i];
            assert_int_equal(place_open(place), -1);
            assert_int_equal(place->err.code, ERR_INPUT);
            *fields[field] = kept;
        }
    assert_int_equal(sim_wait_for(place->sim, SIM_EVENT_SESSIONS, NULL, 0, 0), 0);
}

static void a_target_that_makes_no_sense_is_refused(void **state)
{
    struct place *place = *state;
    const struct mssql_target good = place->target;
    static const char *const hosts[] = {"",       "a b",         "a;b",  "a{b",
                                        "a,1433", "a\\instance", "a\nb", "[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        place->target.host = hosts[i];
        assert_refused(place, ERR_INPUT, 0);
    }
    place->target = good;
    place->target.port = 0;
    assert_refused(place, ERR_INPUT, 0);
    place->target.port = 65536;
    assert_refused(place, ERR_INPUT, 0);
    place->target = good;
    place->target.encryption = "strict";
    assert_refused(place, ERR_INPUT, 0);
    place->target = good;
    place->target.verify_host = true; /* without a ca_file there is nothing to verify with */
    assert_refused(place, ERR_INPUT, 0);
    place->target = good;
    place->target.ca_file = "system";
    place->target.encryption = "request";
    assert_refused(place, ERR_INPUT, 0);
    place->target.encryption = "require";
    place->target.ca_file = "/tmp/a;b";
    assert_refused(place, ERR_INPUT, 0);
}

static void a_driver_that_is_not_there_is_named(void **state)
{
    static const char *const drivers[] = {"/nonexistent/libtdsodbc.so", "No Such Driver",
                                          "/etc/passwd"};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        place->target.driver = drivers[i];
        assert_int_equal(place_open(place), -1);
        assert_int_equal(place->err.code, ERR_SYSTEM);
        assert_non_null(strstr(place->err.msg, drivers[i]));
    }
    place->target.driver = "x;SERVER=elsewhere";
    assert_refused(place, ERR_INPUT, 0);
}

static void a_port_where_nothing_listens_is_unreachable(void **state)
{
    struct place *place = *state;
    sim_stop(place->sim);
    place->sim = NULL;
    assert_refused(place, ERR_UNREACHABLE, 0);
    assert_non_null(strstr(place->err.msg, "127.0.0.1"));
}

static void a_host_without_address_is_unreachable(void **state)
{
    struct place *place = *state;
    place->target.host = "no-such-host.invalid";
    assert_refused(place, ERR_UNREACHABLE, 0);
}

/* --- TLS
 * ------------------------------------------------------------------------------------------- */

static void require_encrypts_the_connection(void **state)
{
    struct place *place = *state;
    assert_int_equal(place_open(place), 0);
    assert_answer(place,
                  "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID",
                  "TRUE");
}

static void a_server_without_tls_is_refused_only_when_required(void **state)
{
    (void)state;
    struct place *place = place_make("{'encryption': 'none'}");
    assert_refused(place, ERR_UNREACHABLE, 0);
    assert_non_null(strstr(place->err.msg, "TLS"));
    place->target.ca_file = "system";
    assert_refused(place, ERR_UNREACHABLE, 0);
    assert_non_null(strstr(place->err.msg, "TLS"));
    place->target.ca_file = NULL;
    place->target.encryption = "request";
    assert_int_equal(place_open(place), 0);
    place->target.encryption = "off";
    assert_int_equal(place_open(place), 0);
    place_free(place);
}

/* A server with a certificate for these names; its ca_file is in *out_ca. */
static struct place *make_with_certificate(const char *names, char **out_ca)
{
    static int count;
    char *certificate = mem_format("%s/cert-%d.pem", place_folder(), ++count);
    char *key = mem_format("%s/key-%d.pem", place_folder(), count);
    assert_int_equal(certificate_make(certificate, key, names), 0);
    char *scenario =
        mem_format("{\"certificate_file\": \"%s\", \"key_file\": \"%s\"}", certificate, key);
    struct place *place = place_make(scenario);
    place->target.ca_file = certificate;
    place->target.verify_host = true;
    *out_ca = certificate;
    free(scenario);
    free(key);
    return place;
}

static void the_right_authority_lets_us_in(void **state)
{
    (void)state;
    char *ca = NULL;
    struct place *place = make_with_certificate("127.0.0.1,localhost", &ca);
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < 2; i++) {
        place->target.host = hosts[i];
        if (place_open(place) < 0)
            fail_msg("%s", place->err.msg);
        assert_answer(place,
                      "SELECT encrypt_option FROM sys.dm_exec_connections "
                      "WHERE session_id = @@SPID",
                      "TRUE");
    }
    place_free(place);
    free(ca);
}

static void a_wrong_authority_is_refused_in_our_words(void **state)
{
    (void)state;
    char *ca = NULL;
    char *other_ca = NULL;
    struct place *other = make_with_certificate("127.0.0.1", &other_ca);
    struct place *place = make_with_certificate("127.0.0.1", &ca);
    const char *const authorities[] = {other_ca, "system"};
    for (size_t i = 0; i < 2; i++) {
        place->target.ca_file = authorities[i];
        assert_refused(place, ERR_UNREACHABLE, 0);
        assert_non_null(strstr(place->err.msg, "certificate"));
    }
    place->target.ca_file = "/nonexistent/ca.pem";
    assert_int_equal(place_open(place), -1);
    assert_int_equal(place->err.code, ERR_SYSTEM);
    place->target.ca_file = NULL; /* any certificate will do then */
    place->target.verify_host = false;
    assert_int_equal(place_open(place), 0);
    place_free(place);
    place_free(other);
    free(ca);
    free(other_ca);
}

static void a_certificate_of_another_host_is_refused_unless_told(void **state)
{
    (void)state;
    char *ca = NULL;
    struct place *place = make_with_certificate("db.example.net", &ca);
    assert_refused(place, ERR_UNREACHABLE, 0);
    place->target.verify_host = false;
    assert_int_equal(place_open(place), 0);
    place_free(place);
    free(ca);
}

struct connector {
    struct place *place;
    struct mssql_target target;
    int rc;
    pthread_t thread;
};

static void *connect_often(void *argument)
{
    struct connector *connector = argument;
    for (int i = 0; i < 5 && connector->rc == 0; i++) {
        struct mssql *session = NULL;
        struct err err;
        connector->rc = mssql_open(&connector->target, &session, &err);
        mssql_close(session);
    }
    return NULL;
}

static void threads_connect_while_the_generated_file_changes(void **state)
{
    (void)state;
    struct connector connectors[8] = {0};
    char *authorities[8];
    for (int i = 0; i < 8; i++) {
        connectors[i].place = make_with_certificate("127.0.0.1", &authorities[i]);
        connectors[i].target = connectors[i].place->target;
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&connectors[i].thread, NULL, connect_often, &connectors[i]),
                         0);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(connectors[i].thread, NULL), 0);
        assert_int_equal(connectors[i].rc, 0);
        place_free(connectors[i].place);
        free(authorities[i]);
    }
}

static void the_generated_file_is_for_its_owner_only(void **state)
{
    (void)state;
    struct stat info;
    char *path = mem_format("%s/freetds.conf", place_folder());
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_string_equal(getenv("FREETDSCONF"), path);
    free(path);
}

static void variables_that_would_redirect_the_driver_are_gone(void **state)
{
    (void)state;
    assert_null(getenv("TDSDUMP"));
    assert_null(getenv("TDSPORT"));
    assert_null(getenv("TDSVER"));
    assert_null(getenv("FREETDS"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, place_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_login_reaches_its_database_under_its_name),
        TEST(a_wrong_password_is_18456),
        TEST(an_unknown_database_is_4060),
        TEST(a_login_refused_once_is_not_remembered),
        cmocka_unit_test(names_and_passwords_of_any_script_log_in),
        TEST(what_the_driver_would_misread_is_not_passed_to_it),
        TEST(a_target_that_makes_no_sense_is_refused),
        TEST(a_driver_that_is_not_there_is_named),
        TEST(a_port_where_nothing_listens_is_unreachable),
        TEST(a_host_without_address_is_unreachable),
        TEST(require_encrypts_the_connection),
        cmocka_unit_test(a_server_without_tls_is_refused_only_when_required),
        cmocka_unit_test(the_right_authority_lets_us_in),
        cmocka_unit_test(a_wrong_authority_is_refused_in_our_words),
        cmocka_unit_test(a_certificate_of_another_host_is_refused_unless_told),
        cmocka_unit_test(threads_connect_while_the_generated_file_changes),
        cmocka_unit_test(the_generated_file_is_for_its_owner_only),
        cmocka_unit_test(variables_that_would_redirect_the_driver_are_gone),
    };
    (void)setenv("TDSDUMP", "/dev/null", 1);
    (void)setenv("TDSPORT", "1", 1);
    (void)setenv("TDSVER", "4.2", 1);
    (void)setenv("FREETDS", "/nonexistent", 1);
    return cmocka_run_group_tests(tests, place_init, place_fini);
}
