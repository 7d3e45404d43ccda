/* sweetspotd token create, list, revoke: with and without a running daemon. */
#include "server/ids.h"
#include "server/mem.h"
#include "server/tokens.h"
#include "tests/command_kit.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *program;

/* sweetspotd token, then the words of `line`. */
static struct outcome run(const char *dir, const char *line)
{
    char *words = mem_format("token %s", line);
    struct outcome outcome = command_line(dir, words);
    free(words);
    return outcome;
}

/* Makes a token and returns it without its newline; the caller frees it. */
static char *create(const char *dir, const char *name, const char *scope)
{
    char *line = mem_format("create --name %s --scope=%s", name, scope);
    struct outcome made = run(dir, line);
    if (made.status != 0)
        fail_msg("%s: %s", line, made.talk);
    assert_non_null(strstr(made.talk, "only time"));
    assert_int_equal(strcspn(made.out, "\n") + 1, strlen(made.out)); /* one line, and no more */
    made.out[strcspn(made.out, "\n")] = '\0';
    free(line);
    return mem_copy(made.out);
}

static int status_as(struct harness *harness, const char *token, const char *method,
                     const char *target, const char *body)
{
    char *header = token ? mem_format("Authorization: Bearer %s\r\n", token) : mem_copy("");
    char *json = body ? harness_json(body) : NULL;
    struct reply reply = call(harness_port(harness), method, target, header, json);
    int status = reply.status;
    reply_fini(&reply);
    free(json);
    free(header);
    return status;
}

/* --- what a token is ----------------------------------------------------------------------- */

static void a_token_is_256_random_bits(void **state)
{
    char one[TOKEN_TEXT_SIZE];
    char other[TOKEN_TEXT_SIZE];
    size_t seen[256] = {0};
    (void)state;
    for (int i = 0; i < 2000; i++) {
        token_new(one);
        token_new(other);
        assert_int_equal(strlen(one), TOKEN_TEXT_SIZE - 1);
        assert_int_equal(strncmp(one, "sweetspot_", 10), 0);
        assert_int_equal(strspn(one + 10, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_"),
                         43); /* 43 digits of six bits: 256 and two that are 0 */
        assert_string_not_equal(one, other);
        for (const char *at = one + 10; *at; at++)
            seen[(unsigned char)*at]++;
    }
    for (const char *at = "AZaz09-_"; *at; at++)
        assert_true(seen[(unsigned char)*at] > 0);
}

static void names_and_scopes_are_plain(void **state)
{
    (void)state;
    assert_true(token_name_is_valid("a"));
    assert_true(token_name_is_valid("agent-sql01.prod_2"));
    assert_false(token_name_is_valid(""));
    assert_false(token_name_is_valid("Agent"));
    assert_false(token_name_is_valid("a b"));
    assert_false(token_name_is_valid("a/b"));
    assert_false(token_name_is_valid("loopback")); /* would be mistaken in the audit trail */
    assert_int_equal(scope_by_name("admin"), SCOPE_ADMIN);
    assert_int_equal(scope_by_name("open"), SCOPE_OPEN);
    assert_int_equal(scope_by_name("Admin"), SCOPE_OPEN);
}

/* --- the command --------------------------------------------------------------------------- */

static void before_the_first_start_a_token_can_be_made(void **state)
{
    char dir[] = "/tmp/sweetspot-test.XXXXXX";
    struct stat file;
    (void)state;
    assert_non_null(mkdtemp(dir));
    char *inner = mem_format("%s/state", dir);
    char *db = mem_format("%s/sweetspot.db", inner);
    char *lock = mem_format("%s/sweetspot.db.lock", inner);
    assert_int_equal(mkdir(inner, 0700), 0);
    char *token = create(inner, "ops", "admin");
    assert_int_equal(stat(db, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    struct outcome list = run(inner, "list");
    assert_int_equal(list.status, 0);
    assert_non_null(strstr(list.out, "ops"));
    assert_non_null(strstr(list.out, "admin"));
    assert_non_null(strstr(list.out, "never"));
    assert_null(strstr(list.out, token));
    (void)unlink(db);
    (void)unlink(lock);
    (void)rmdir(inner);
    (void)rmdir(dir);
    free(token);
    free(inner);
    free(db);
    free(lock);
}

static void beside_a_running_daemon_it_works_at_once(void **state)
{
    struct harness *harness = harness_start(NULL);
    (void)state;
    assert_int_equal(status_as(harness, NULL, "GET", "/v1/jobs", NULL), 200);
    char *admin = create(harness->dir, "ops", "admin");
    char *reader = create(harness->dir, "page", "read");
    assert_int_equal(status_as(harness, NULL, "GET", "/v1/jobs", NULL), 401);
    assert_int_equal(status_as(harness, reader, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(status_as(harness, reader, "GET", "/v1/audit", NULL), 403);
    assert_int_equal(status_as(harness, admin, "GET", "/v1/audit", NULL), 200);
    struct outcome again = run(harness->dir, "create --name page --scope admin");
    assert_int_equal(again.status, 1);
    assert_non_null(strstr(again.talk, "already"));
    assert_string_equal(again.out, "");
    struct outcome revoked = run(harness->dir, "revoke page");
    assert_int_equal(revoked.status, 0);
    assert_null(strstr(revoked.talk, "last token"));
    assert_int_equal(status_as(harness, reader, "GET", "/v1/jobs", NULL), 401);
    assert_int_equal(status_as(harness, admin, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(run(harness->dir, "revoke page").status, 1);
    revoked = run(harness->dir, "revoke ops");
    assert_non_null(strstr(revoked.talk, "last token"));
    assert_int_equal(status_as(harness, NULL, "GET", "/v1/audit", NULL), 200);
    free(admin);
    free(reader);
    harness_stop(harness);
}

static void the_last_use_is_listed(void **state)
{
    struct harness *harness = harness_start(NULL);
    (void)state;
    char *token = create(harness->dir, "page", "read");
    assert_int_equal(status_as(harness, token, "GET", "/v1/jobs", NULL), 200);
    harness_stop_daemon(harness); /* what it has to write is written then */
    struct outcome list = run(harness->dir, "list");
    assert_int_equal(list.status, 0);
    assert_null(strstr(list.out, "never"));
    harness_start_daemon(harness);
    free(token);
    harness_stop(harness);
}

/* As README says: the output of create is the token file. */
static void the_client_shows_the_token_of_its_file(void **state)
{
    struct harness *harness = harness_start(NULL);
    (void)state;
    char *token = create(harness->dir, "ops", "read");
    char *client = mem_format("%.*s/sweetspot", (int)(strrchr(program, '/') - program), program);
    char *url = mem_format("--url=http://127.0.0.1:%d", harness_port(harness));
    char *path = mem_format("%s/token", harness->dir);
    char *file = mem_format("--token-file=%s", path);
    char list[] = "instances";
    char *with[] = {client, list, url, file, NULL};
    char *without[] = {client, list, url, NULL};
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fprintf(out, "%s\n", token) > 0);
    assert_int_equal(fclose(out), 0);
    struct outcome refused = command_run(harness->dir, without);
    assert_int_equal(refused.status, 4); /* a missing right */
    assert_non_null(strstr(refused.talk, "Bearer"));
    struct outcome shown = command_run(harness->dir, with);
    if (shown.status != 0)
        fail_msg("%s", shown.talk);
    assert_int_equal(unlink(path), 0);
    free(token);
    free(client);
    free(url);
    free(path);
    free(file);
    harness_stop(harness);
}

static void a_wrong_command_line_is_told(void **state)
{
    static const struct {
        const char *line;
        const char *says;
    } cases[] = {
        {"", "usage"},
        {"make", "usage"},
        {"create", "--name"},
        {"create --name", "--name"},
        {"create --name A --scope read", "--name"},
        {"create --name loopback --scope read", "--name"},
        {"create --name a", "--scope"},
        {"create --name a --scope all", "--scope"},
        {"create a --name a --scope read", "unexpected argument"},
        {"create --name a --scope read --stat-dir=/", "did you mean"},
        {"revoke", "name of a token"},
        {"list --help", "usage"},
    };
    char dir[] = "/tmp/sweetspot-test.XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome told = run(dir, cases[i].line);
        if (told.status != 2 || !strstr(told.talk, cases[i].says) || told.out[0])
            fail_msg("%s: %d %s%s", cases[i].line, told.status, told.out, told.talk);
    }
    assert_int_equal(rmdir(dir), 0); /* nothing was made */
}

/* --- what needs admin inside a body -------------------------------------------------------- */

static void own_sql_and_no_windows_need_admin(void **state)
{
    static const char *const bodies[] = {
        "{'kind':'backup_sweep','instance':'sql01','ignore_windows':true,"
        "'parameters':{'database':'Sales','buffercount':[7]}}",
        "{'kind':'snapshot_overhead','instance':'sql01','parameters':{'database':'Sales',"
        "'snapshots':[0,1],'locations':[{'name':'a','path':'/var/opt/mssql/"
        "snap'}],'workload':{'sql':'SELECT 1'}}}",
    };
    struct harness *harness = harness_start(NULL);
    (void)state;
    harness_register(harness,
                     "'allow':{'custom_sql':true,'paths':['/var/opt/mssql/snap']},"
                     "'custom_login':'app','custom_password':{'env':'SWEETSPOT_SECRET_A'}");
    char *admin = create(harness->dir, "ops", "admin");
    char *agent = create(harness->dir, "agent", "submit");
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        const char *const paths[] = {"/v1/jobs", "/v1/plans"};
        for (size_t path = 0; path < 2; path++) {
            int status = status_as(harness, agent, "POST", paths[path], bodies[i]);
            if (status != 403)
                fail_msg("%s %s as agent: %d", paths[path], bodies[i], status);
            status = status_as(harness, admin, "POST", paths[path], bodies[i]);
            if (status != (path == 0 ? 202 : 200))
                fail_msg("%s %s as admin: %d", paths[path], bodies[i], status);
        }
    }
    free(admin);
    free(agent);
    harness_stop(harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_256_random_bits),
        cmocka_unit_test(names_and_scopes_are_plain),
        cmocka_unit_test(before_the_first_start_a_token_can_be_made),
        cmocka_unit_test(beside_a_running_daemon_it_works_at_once),
        cmocka_unit_test(the_last_use_is_listed),
        cmocka_unit_test(the_client_shows_the_token_of_its_file),
        cmocka_unit_test(a_wrong_command_line_is_told),
        cmocka_unit_test(own_sql_and_no_windows_need_admin),
    };
    program = getenv("SWEETSPOT_TEST_DAEMON");
    if (!program)
        return 77; /* skipped: the build names the program */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
