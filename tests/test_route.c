/* The table of routes: what it finds, and that the document says the same. */
#include "api/access.h"
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

/* openapi.yaml is read line by line, as we write it: paths are two blanks deep, verbs four, their
 * parts six, statuses and parameters eight. */

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static const char *next_line(const char *line)
{
    return line + strcspn(line, "\n") + 1;
}

/* One operation of the document. */
struct operation {
    char path[128];
    char method[16];
    const char *text; /* its first line below the verb */
};

/* Goes to the operation after *at (at first: NULL). False at the end. */
static bool next_operation(const char **at, struct operation *operation)
{
    const char *line = *at;
    if (!line) {
        line = strstr(embedded_openapi, "\npaths:\n");
        assert_non_null(line);
        line += strlen("\npaths:\n");
    }
    for (; line[0] == ' ' || line[0] == '\n'; line = next_line(line)) {
        if (begins(line, "  /"))
            (void)snprintf(operation->path, sizeof operation->path, "%.*s",
                           (int)strcspn(line + 2, ":"), line + 2);
        if (!begins(line, "    ") || line[4] == ' ' || begins(line, "    parameters:"))
            continue;
        (void)snprintf(operation->method, sizeof operation->method, "%.*s",
                       (int)strcspn(line + 4, ":"), line + 4);
        operation->text = *at = next_line(line);
        return true;
    }
    return false;
}

static const struct route *route_of(const struct operation *operation)
{
    for (size_t i = 0; i < route_count; i++)
        if (strcasecmp(routes[i].method, operation->method) == 0 &&
            strcmp(routes[i].path, operation->path) == 0)
            return &routes[i];
    return NULL;
}

/* The first line of the operation that begins so, or NULL. */
static const char *line_of(const struct operation *operation, const char *with)
{
    for (const char *line = operation->text; begins(line, "      "); line = next_line(line))
        if (begins(line, with))
            return line;
    return NULL;
}

static bool has_status(const struct operation *operation, int status)
{
    char with[32];
    (void)snprintf(with, sizeof with, "        \"%d\":", status);
    return line_of(operation, with) != NULL;
}

static bool has_parameter(const struct operation *operation, const char *name)
{
    char *shared = mem_format("        - {$ref: \"#/components/parameters/%s\"}", name);
    char *own = mem_format("        - {name: %s, in: query", name);
    char *longer = mem_format("        - name: %s\n          in: query\n", name);
    bool found =
        line_of(operation, shared) || line_of(operation, own) || line_of(operation, longer);
    free(shared);
    free(own);
    free(longer);
    return found;
}

static void the_document_has_each_route_and_no_other(void **state)
{
    (void)state;
    struct operation operation;
    size_t count = 0;
    for (const char *at = NULL; next_operation(&at, &operation); count++)
        if (!route_of(&operation))
            fail_msg("openapi.yaml has %s %s", operation.method, operation.path);
    assert_int_equal(count, route_count);
}

static void the_document_tells_the_scope_of_each_route(void **state)
{
    (void)state;
    struct operation operation;
    for (const char *at = NULL; next_operation(&at, &operation);) {
        enum scope scope = route_of(&operation)->scope;
        char *wanted = scope == SCOPE_OPEN ? mem_copy("      security: []\n")
                                           : mem_format("      security: [{}, {bearer: [%s]}]\n",
                                                        scope_name(scope));
        if (!line_of(&operation, wanted))
            fail_msg("%s %s: wanted %s", operation.method, operation.path, wanted);
        free(wanted);
    }
}

/* What the layers before the handlers answer, and what follows from the table. */
static bool is_wanted(const struct route *route, int status)
{
    static const int always[] = {400, 403, 405, 406, 413, 414, 415, 431};
    static const int closed[] = {401, 429, 500, 503};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (always[i] == status)
            return true;
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        if (closed[i] == status && route->scope > SCOPE_OPEN)
            return true;
    bool changes = strcmp(route->method, "PUT") == 0 || strcmp(route->method, "DELETE") == 0;
    return status == 412 && changes;
}

/* Statuses that only handlers give: the contract test provokes each of them. */
static bool is_of_handlers(int status)
{
    static const int handlers[] = {200, 201, 202, 204, 304, 404, 408, 409, 422};
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (handlers[i] == status)
            return true;
    return false;
}

static void the_document_has_each_status_and_no_other(void **state)
{
    (void)state;
    struct operation operation;
    for (const char *at = NULL; next_operation(&at, &operation);) {
        const struct route *route = route_of(&operation);
        bool has_success = false;
        for (int status = 100; status < 600; status++) {
            bool there = has_status(&operation, status);
            bool ready = strcmp(route->path, "/readyz") == 0 && status == 503;
            has_success |= there && status < 300;
            if (there != is_wanted(route, status) && !is_of_handlers(status) && !ready)
                fail_msg("%s %s: status %d %s", operation.method, operation.path, status,
                         there ? "is too much" : "is missing");
        }
        assert_true(has_success);
        assert_null(line_of(&operation, "        default:"));
        if (strchr(route->path, '{') && strcmp(route->method, "PUT") != 0)
            assert_true(has_status(&operation, 404));
    }
}

static void the_document_has_the_queries_of_each_route_and_no_other(void **state)
{
    (void)state;
    struct operation operation;
    for (const char *at = NULL; next_operation(&at, &operation);) {
        const struct route *route = route_of(&operation);
        size_t known = 0;
        size_t there = 0;
        for (; route->query && route->query[known]; known++)
            if (!has_parameter(&operation, route->query[known]))
                fail_msg("%s %s: the query %s is missing", operation.method, operation.path,
                         route->query[known]);
        for (const char *line = operation.text; begins(line, "      "); line = next_line(line))
            there += begins(line, "          in: query\n") ||
                     begins(line, "        - {$ref: \"#/components/parameters/limit\"}") ||
                     begins(line, "        - {$ref: \"#/components/parameters/cursor\"}") ||
                     begins(line, "        - {$ref: \"#/components/parameters/forget\"}") ||
                     (begins(line, "        - {name: ") && strstr(line, ", in: query, ") &&
                      strstr(line, ", in: query, ") < next_line(line));
        if (there != known)
            fail_msg("%s %s: %zu queries in the document, %zu here", operation.method,
                     operation.path, there, known);
    }
}

/* Bodies: one that is needed is required, {} is of those that take none; a GET has none. */
static void the_document_has_the_body_of_each_route(void **state)
{
    (void)state;
    struct operation operation;
    for (const char *at = NULL; next_operation(&at, &operation);) {
        const struct route *route = route_of(&operation);
        bool there = line_of(&operation, "      requestBody:") != NULL;
        bool required = line_of(&operation, "        required: true\n") != NULL;
        bool wants = strcmp(route->method, "POST") == 0 || strcmp(route->method, "PUT") == 0;
        if (there != wants || required != (route->body == BODY_JSON))
            fail_msg("%s %s: body %d, required %d", operation.method, operation.path, there,
                     required);
    }
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
        cmocka_unit_test(the_document_has_each_route_and_no_other),
        cmocka_unit_test(the_document_tells_the_scope_of_each_route),
        cmocka_unit_test(the_document_has_each_status_and_no_other),
        cmocka_unit_test(the_document_has_the_queries_of_each_route_and_no_other),
        cmocka_unit_test(the_document_has_the_body_of_each_route),
        cmocka_unit_test(accept_chooses_what_is_offered),
        cmocka_unit_test(only_json_in_utf8_is_json),
        cmocka_unit_test(tags_are_compared_as_rfc_9110_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
