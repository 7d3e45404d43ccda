/* The table of routes: what it finds, and that the document says the same. */
#include "api/embedded.h"
#include "api/etag.h"
#include "api/media.h"
#include "api/route.h"
#include "server/buf.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

/* --- finding ------------------------------------------------------------------------------- */

static void a_route_is_found_by_method_and_path(void **state)
{
    static const struct {
        const char *method;
        const char *target;
        const char *path;  /* of the route; NULL: none */
        const char *param; /* the first one, or NULL */
        const char *allow; /* when there is none */
    } cases[] = {
        {"GET", "/v1/jobs", "/v1/jobs", NULL, ""},
        {"HEAD", "/v1/jobs?x=y", "/v1/jobs", NULL, ""},
        {"GET", "/v1/jobs/7/trials", "/v1/jobs/{id}/trials", "7", ""},
        {"PUT", "/v1/instances/a%2Db", "/v1/instances/{name}", "a-b", ""},
        {"PUT", "/v1/jobs", NULL, NULL, "GET, HEAD, POST"},
        {"GET", "/v1/jobs/", NULL, NULL, ""},
        {"GET", "/v1/jobs//", NULL, NULL, NULL},
        {"GET", "/v1", NULL, NULL, ""},
        {"GET", "/", NULL, NULL, ""},
        {"GET", "/v1/jobs/7/trials/8", NULL, NULL, ""},
        {"GET", "/V1/jobs", NULL, NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct target target;
        struct buf allow = {0};
        const char *params[REQ_PARAMS] = {NULL};
        const char *fault = target_read(cases[i].target, &target);
        assert_int_equal(fault != NULL, cases[i].path == NULL && cases[i].allow == NULL);
        const struct route *route =
            fault ? NULL : route_find(cases[i].method, &target, params, &allow);
        if ((route == NULL) != (cases[i].path == NULL))
            fail_msg("%s %s", cases[i].method, cases[i].target);
        if (route)
            assert_string_equal(route->path, cases[i].path);
        if (cases[i].param)
            assert_string_equal(params[0], cases[i].param);
        if (!route && cases[i].allow)
            assert_string_equal(buf_text(&allow), cases[i].allow);
        buf_fini(&allow);
        target_fini(&target);
    }
}

static void only_health_and_the_document_are_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        bool is_closed =
            strncmp(routes[i].path, "/v1/", 4) == 0 || strcmp(routes[i].path, "/metrics") == 0;
        assert_int_equal(routes[i].scope == SCOPE_OPEN, !is_closed);
        if (strcmp(routes[i].method, "GET") != 0)
            assert_true(routes[i].scope >= SCOPE_SUBMIT);
    }
}

/* What the contract says may be done with read alone, what needs submit; all else needs admin. */
static void the_scopes_are_those_of_the_contract(void **state)
{
    static const char *const submit[] = {"POST /v1/instances/{name}/check", "POST /v1/jobs",
                                         "POST /v1/plans", "POST /v1/jobs/{id}/cancel",
                                         "POST /v1/jobs/{id}/retry"};
    static const char *const admin_reads[] = {"GET /v1/audit", "GET /v1/mode"};
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        char *name = mem_format("%s %s", routes[i].method, routes[i].path);
        bool reads = strcmp(routes[i].method, "GET") == 0;
        bool open = reads && strncmp(routes[i].path, "/v1/", 4) != 0 &&
                    strcmp(routes[i].path, "/metrics") != 0;
        enum scope wanted = open ? SCOPE_OPEN : reads ? SCOPE_READ : SCOPE_ADMIN;
        for (size_t s = 0; s < sizeof submit / sizeof submit[0]; s++)
            wanted = strcmp(name, submit[s]) == 0 ? SCOPE_SUBMIT : wanted;
        for (size_t s = 0; s < sizeof admin_reads / sizeof admin_reads[0]; s++)
            wanted = strcmp(name, admin_reads[s]) == 0 ? SCOPE_ADMIN : wanted;
        if (routes[i].scope != wanted)
            fail_msg("%s: scope %d", name, (int)routes[i].scope);
        free(name);
    }
}

/* --- the document -------------------------------------------------------------------------- */

/* True when openapi.yaml has this verb under this path: two and four blanks deep, as we write it.
 */
static bool document_has(const char *method, const char *path)
{
    char *path_line = mem_format("\n  %s:\n", path);
    const char *at = strstr(embedded_openapi, path_line);
    bool found = false;
    if (at) {
        for (at += strlen(path_line); !found && strncmp(at, "    ", 4) == 0;
             at = strchr(at, '\n') + 1)
            found = at[4] != ' ' && strncasecmp(at + 4, method, strlen(method)) == 0 &&
                    at[4 + strlen(method)] == ':';
    }
    free(path_line);
    return found;
}

static bool table_has(const char *method, size_t length, const char *path)
{
    for (size_t i = 0; i < route_count; i++)
        if (strlen(routes[i].method) == length &&
            strncasecmp(routes[i].method, method, length) == 0 && strcmp(routes[i].path, path) == 0)
            return true;
    return false;
}

static void each_route_stands_in_the_document(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++)
        if (!document_has(routes[i].method, routes[i].path))
            fail_msg("openapi.yaml lacks %s %s", routes[i].method, routes[i].path);
}

static bool is_verb(const char *at, size_t length)
{
    static const char *const verbs[] = {"get", "put", "post", "delete", "patch", "head", "options"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (strlen(verbs[i]) == length && strncmp(at, verbs[i], length) == 0)
            return true;
    return false;
}

static void the_document_has_no_route_more(void **state)
{
    (void)state;
    char path[128] = "";
    size_t count = 0;
    const char *line = strstr(embedded_openapi, "\npaths:\n");
    assert_non_null(line);
    for (line += strlen("\npaths:\n"); line[0] == ' ' || line[0] == '\n';
         line = strchr(line, '\n') + 1) {
        size_t length = strcspn(line + 4, ":\n");
        if (strncmp(line, "  /", 3) == 0) {
            (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(line + 2, ":"), line + 2);
        } else if (strncmp(line, "    ", 4) == 0 && is_verb(line + 4, length)) {
            if (!table_has(line + 4, length, path))
                fail_msg("openapi.yaml has %.*s %s", (int)length, line + 4, path);
            count++;
        }
    }
    assert_int_equal(count, route_count);
}

/* --- small helpers of the routes ----------------------------------------------------------- */

static void accept_chooses_what_is_offered(void **state)
{
    static const struct {
        const char *accept;
        int chosen; /* -1: none */
    } cases[] = {
        {NULL, MEDIA_JSON},
        {"", MEDIA_JSON},
        {"*/*", MEDIA_JSON},
        {"application/*", MEDIA_JSON},
        {"text/*", MEDIA_CSV},
        {"text/csv", MEDIA_CSV},
        {"TEXT/CSV", MEDIA_CSV},
        {"text/csv;q=0.5, application/json;q=0.4", MEDIA_CSV},
        {"text/csv;q=0.4, application/json;q=0.5", MEDIA_JSON},
        {"text/html, */*;q=0.1", MEDIA_JSON},
        {"*/*, application/json;q=0", MEDIA_CSV},
        {"text/html", -1},
        {"text/csv;q=0", -1},
        {"text/csv; q=0.000", -1},
        {"text", -1},
        {"*", -1},
        {",", -1},
        {"text/csvx", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum media media = MEDIA_PROBLEM;
        bool found =
            media_choose(cases[i].accept, MEDIA_BIT(MEDIA_JSON) | MEDIA_BIT(MEDIA_CSV), &media);
        if ((found ? (int)media : -1) != cases[i].chosen)
            fail_msg("%s", cases[i].accept);
    }
}

static void only_json_in_utf8_is_json(void **state)
{
    (void)state;
    assert_true(media_is_json("application/json"));
    assert_true(media_is_json("Application/JSON; charset=UTF-8"));
    assert_true(media_is_json("application/json;charset=\"utf-8\""));
    assert_true(media_is_json("application/json;"));
    assert_false(media_is_json(NULL));
    assert_false(media_is_json(""));
    assert_false(media_is_json("application/jsonx"));
    assert_false(media_is_json("application/json-patch+json"));
    assert_false(media_is_json("application/json; charset=latin1"));
    assert_false(media_is_json("text/plain"));
    assert_false(media_is_json("application/x-www-form-urlencoded"));
}

static void tags_are_compared_as_rfc_9110_says(void **state)
{
    (void)state;
    assert_true(etag_in("\"1\"", "\"1\"", false));
    assert_true(etag_in("*", "\"1\"", false));
    assert_true(etag_in("\"0\", \"1\"", "\"1\"", false));
    assert_true(etag_in("W/\"1\"", "\"1\"", true));
    assert_false(etag_in("W/\"1\"", "\"1\"", false));
    assert_false(etag_in("\"11\"", "\"1\"", false));
    assert_false(etag_in("\"1", "\"1\"", false));
    assert_false(etag_in("1", "\"1\"", true));
    assert_false(etag_in("", "\"1\"", true));
    assert_true(precondition_holds(&(struct precondition){.if_none_match = "*"}, NULL));
    assert_false(precondition_holds(&(struct precondition){.if_none_match = "*"}, "\"3\""));
    assert_false(precondition_holds(&(struct precondition){.if_match = "*"}, NULL));
    assert_true(precondition_holds(&(struct precondition){.if_match = "\"3\""}, "\"3\""));
    char one[ETAG_SIZE];
    assert_string_equal(etag_of_named(3, 1796000000000, one), "\"3-1796000000000\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_route_is_found_by_method_and_path),
        cmocka_unit_test(only_health_and_the_document_are_open),
        cmocka_unit_test(the_scopes_are_those_of_the_contract),
        cmocka_unit_test(each_route_stands_in_the_document),
        cmocka_unit_test(the_document_has_no_route_more),
        cmocka_unit_test(accept_chooses_what_is_offered),
        cmocka_unit_test(only_json_in_utf8_is_json),
        cmocka_unit_test(tags_are_compared_as_rfc_9110_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
