/* Who may call what: every route by every scope, wrong tokens, revoked ones, and none at all. */
#include "api/access.h"
#include "api/attempts.h"
#include "server/log.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/store_kit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WRONG "sweetspot_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

/* --- every route by every scope ------------------------------------------------------------ */

/* The path with something in place of its parameters. The caller frees it. */
static char *target_of(const char *path)
{
    struct buf target = {0};
    for (const char *at = path; *at; at++) {
        if (*at != '{') {
            buf_add_char(&target, *at);
            continue;
        }
        buf_add(&target,
                strncmp(at, "{id}", 4) == 0 ? "0193a1b2-0000-7000-8000-000000000000" : "none");
        at += strcspn(at, "}");
    }
    return buf_take(&target);
}

/* Nothing sends this media type, so who is let in gets 406, and no handler runs. */
static int status_as(struct http_kit *kit, const char *token, const struct route *route)
{
    char *target = target_of(route->path);
    struct reply reply =
        http_kit_call_as(kit, token, route->method, target, "Accept: x/nothing\r\n", NULL);
    int status = reply.status;
    const char *challenge = reply_header(&reply, "WWW-Authenticate");
    assert_int_equal(status == 401 || status == 403, strncmp(challenge, "Bearer ", 7) == 0);
    assert_string_not_equal(reply_header(&reply, "X-Request-Id"), "");
    reply_fini(&reply);
    free(target);
    return status;
}

static void every_route_asks_for_its_scope(void **state)
{
    struct http_kit *kit = *state;
    char *tokens[SCOPE_ADMIN + 1] = {NULL};
    int wrong = 0;
    for (int scope = SCOPE_READ; scope <= SCOPE_ADMIN; scope++)
        tokens[scope] = http_kit_token(kit, scope_name((enum scope)scope), (enum scope)scope);
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        bool open = route->scope == SCOPE_OPEN;
        int refused = open ? 406 : wrong++ < ATTEMPTS_FREE ? 401 : 429;
        if (status_as(kit, NULL, route) != (open ? 406 : 401))
            fail_msg("%s %s without a token", route->method, route->path);
        if (status_as(kit, WRONG, route) != refused)
            fail_msg("%s %s with a wrong token", route->method, route->path);
        for (int scope = SCOPE_READ; scope <= SCOPE_ADMIN; scope++) {
            int status = status_as(kit, tokens[scope], route);
            if (status != ((int)route->scope <= scope ? 406 : 403))
                fail_msg("%s %s as %s: %d", route->method, route->path,
                         scope_name((enum scope)scope), status);
        }
    }
    for (int scope = SCOPE_READ; scope <= SCOPE_ADMIN; scope++)
        free(tokens[scope]);
    print_message("%zu routes by none, a wrong token, read, submit, admin: %zu cells\n",
                  route_count, 5 * route_count);
}

static void metrics_may_be_opened(void **state)
{
    static const struct route metrics = {.path = "/metrics", .scope = SCOPE_READ};
    static const struct route jobs = {.path = "/v1/jobs", .scope = SCOPE_READ};
    struct http_parts parts = {.metrics_open = false};
    (void)state;
    assert_int_equal(access_scope(&parts, &metrics), SCOPE_READ);
    parts.metrics_open = true;
    assert_int_equal(access_scope(&parts, &metrics), SCOPE_OPEN);
    assert_int_equal(access_scope(&parts, &jobs), SCOPE_READ);
}

static int status_of(struct http_kit *kit, const char *token, const char *method,
                     const char *target)
{
    struct reply reply = http_kit_call_as(kit, token, method, target, NULL, NULL);
    int status = reply.status;
    reply_fini(&reply);
    return status;
}

static void a_stranger_does_not_learn_which_paths_there_are(void **state)
{
    struct http_kit *kit = *state;
    char *token = http_kit_token(kit, "reader", SCOPE_READ);
    static const struct {
        const char *method, *target;
        int known; /* what a reader is told */
    } cases[] = {
        {"GET", "/v1/nothing", 404},  {"GET", "/nothing", 404}, {"BREW", "/v1/jobs", 405},
        {"OPTIONS", "/v1/jobs", 204}, {"POST", "/livez", 405},  {"GET", "/v1/instances/none", 404},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(status_of(kit, NULL, cases[i].method, cases[i].target), 401);
        if (status_of(kit, token, cases[i].method, cases[i].target) != cases[i].known)
            fail_msg("%s %s", cases[i].method, cases[i].target);
    }
    free(token);
}

/* --- tokens -------------------------------------------------------------------------------- */

static void a_token_is_shown_as_rfc_6750_says(void **state)
{
    static const struct {
        const char *before, *after;
        int status;
    } cases[] = {
        {"Bearer ", "", 200},
        {"bearer ", "", 200},
        {"BEARER   ", "", 200},
        {"Bearer ", "  ", 200},
        {"Bearer ", "x", 401},
        {"Bearer", "", 401},
        {"Basic ", "", 401},
        {"", "", 401},
        {"Bearer ", ", Bearer x", 429},
        {"Bearer x", "", 429},
        {"Bearer sweetspot_", "", 429},
    };
    struct http_kit *kit = *state;
    char *token = http_kit_token(kit, "reader", SCOPE_READ);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *header =
            mem_format("Authorization: %s%s%s\r\n", cases[i].before, token, cases[i].after);
        struct reply reply = call(kit->port, "GET", "/v1/jobs", header, NULL);
        /* after five wrong ones 401 becomes 429: both mean that it was not taken */
        if ((reply.status == 200) != (cases[i].status == 200))
            fail_msg("%s: %d", header, reply.status);
        reply_fini(&reply);
        free(header);
    }
    free(token);
}

static void who_sends_many_wrong_ones_must_wait_and_nobody_else(void **state)
{
    struct http_kit *kit = *state;
    char *token = http_kit_token(kit, "reader", SCOPE_READ);
    for (int i = 0; i < 3 * ATTEMPTS_FREE; i++) {
        struct reply reply = http_kit_call_as(kit, WRONG, "GET", "/v1/jobs", NULL, NULL);
        long seconds = strtol(reply_header(&reply, "Retry-After"), NULL, 10);
        assert_int_equal(reply.status, i < ATTEMPTS_FREE ? 401 : 429);
        assert_true(i < ATTEMPTS_FREE ? seconds == 0
                                      : seconds >= 1 && seconds <= ATTEMPTS_WINDOW_S);
        reply_fini(&reply);
        /* from the same address, all the while */
        assert_int_equal(status_of(kit, token, "GET", "/v1/jobs"), 200);
        assert_int_equal(status_of(kit, NULL, "GET", "/v1/jobs"), 401);
        assert_int_equal(status_of(kit, NULL, "GET", "/livez"), 200);
    }
    free(token);
}

static void a_token_counts_from_its_commit_to_its_revocation(void **state)
{
    struct http_kit *kit = *state;
    assert_int_equal(status_of(kit, NULL, "GET", "/v1/jobs"), 200); /* none: all are admin */
    char *first = http_kit_token(kit, "first", SCOPE_ADMIN);
    assert_int_equal(status_of(kit, NULL, "GET", "/v1/jobs"), 401);
    char *second = http_kit_token(kit, "second", SCOPE_READ);
    assert_int_equal(status_of(kit, first, "GET", "/v1/audit"), 200);
    http_kit_revoke(kit, "first");
    assert_int_equal(status_of(kit, first, "GET", "/v1/audit"), 401);
    assert_int_equal(status_of(kit, second, "GET", "/v1/jobs"), 200);
    http_kit_revoke(kit, "second");
    assert_int_equal(status_of(kit, NULL, "GET", "/v1/audit"), 200);
    /* one that was revoked never gets in again, not even where everybody else does */
    assert_int_equal(status_of(kit, second, "GET", "/v1/audit"), 401);
    free(first);
    free(second);
}

static void with_tokens_any_host_is_answered(void **state)
{
    struct http_kit *kit = *state;
    char *token = http_kit_token(kit, "reader", SCOPE_READ);
    static const struct {
        const char *target;
        const char *headers;
    } calls[] = {
        {"/v1/jobs", "Host: bench.example:8484\r\n"},
        {"http://bench.example/v1/jobs", "Host: x\r\n"},
        {"/v1/jobs", "Host: bench.example\r\nOrigin: https://bench.example\r\n"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct client client = client_open(kit->port);
        char *request = mem_format("GET %s HTTP/1.1\r\n%sAuthorization: Bearer %s\r\n\r\n",
                                   calls[i].target, calls[i].headers, token);
        client_send(&client, request);
        struct reply reply = client_read(&client, true);
        assert_int_equal(reply.status, 200);
        reply_fini(&reply);
        client_close(&client);
        free(request);
    }
    free(token);
}

static void a_page_elsewhere_is_refused_whatever_token_it_has(void **state)
{
    struct http_kit *kit = *state;
    char *token = http_kit_token(kit, "ops", SCOPE_ADMIN);
    static const char *const origins[] = {"http://evil.example", "null", "http://localhost:1"};
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        char *header = mem_format("Origin: %s\r\n", origins[i]);
        struct reply reply = http_kit_call_as(kit, token, "GET", "/v1/jobs", header, NULL);
        assert_int_equal(reply.status, 403);
        assert_non_null(strstr(reply.body, "foreign-origin"));
        reply_fini(&reply);
        free(header);
    }
    free(token);
}

/* --- other addresses ----------------------------------------------------------------------- */

static void with_a_token_other_addresses_are_served(void **state)
{
    struct http_kit *kit = *state;
    char *token = http_kit_token(kit, "reader", SCOPE_READ);
    http_kit_stop_http(kit);
    kit->parts.listen = "0.0.0.0:0";
    http_kit_start_http(kit);
    assert_int_equal(status_of(kit, token, "GET", "/v1/jobs"), 200);
    assert_int_equal(status_of(kit, NULL, "GET", "/v1/jobs"), 401);
    http_kit_revoke(kit, "reader");
    /* on the loopback this would make everybody admin; here it locks */
    assert_int_equal(status_of(kit, NULL, "GET", "/v1/jobs"), 401);
    assert_int_equal(status_of(kit, token, "GET", "/v1/jobs"), 401);
    assert_int_equal(status_of(kit, NULL, "GET", "/livez"), 200);
    free(token);
}

static void one_address_may_not_take_all_connections(void **state)
{
    enum { LIMIT = 3 };
    struct http_kit *kit = *state;
    struct client clients[LIMIT];
    char *token = http_kit_token(kit, "reader", SCOPE_READ);
    http_kit_stop_http(kit);
    kit->parts.listen = "0.0.0.0:0";
    kit->parts.connections_per_peer = LIMIT;
    http_kit_start_http(kit);
    for (int i = 0; i < LIMIT; i++) {
        clients[i] = client_open(kit->port);
        struct reply reply = client_call(&clients[i], "GET", "/livez", NULL, NULL);
        assert_int_equal(reply.status, 200);
        reply_fini(&reply);
    }
    struct client more = client_open(kit->port);
    assert_true(client_is_closed(&more));
    client_close(&more);
    for (int i = 0; i < LIMIT; i++)
        client_close(&clients[i]);
    free(token);
}

/* --- secrets ------------------------------------------------------------------------------- */

static bool file_holds(const char *path, const char *text)
{
    size_t length = 0;
    size_t capacity = 0;
    char *bytes = NULL;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    for (int byte = getc(file); byte != EOF; byte = getc(file)) {
        bytes = mem_grow(bytes, &capacity, length + 1, 1);
        bytes[length++] = (char)byte;
    }
    (void)fclose(file);
    bool found = bytes && memmem(bytes, length, text, strlen(text));
    free(bytes);
    return found;
}

static void no_token_is_kept_or_logged(void **state)
{
    static const char *const files[] = {"log", "store.db", "store.db-wal"};
    struct http_kit *kit = *state;
    char *log = kit_path(kit->folder, "log");
    int saved = dup(STDERR_FILENO);
    int fd = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(saved >= 0 && fd >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    log_set_level(LOG_LEVEL_DEBUG);
    char *token = http_kit_token(kit, "reader", SCOPE_READ);
    struct reply reply =
        http_kit_call_as(kit, token, "GET", "/v1/jobs", "X-Request-Id: night-run.7\r\n", NULL);
    assert_int_equal(reply.status, 200);
    assert_null(strstr(reply.body, token));
    assert_string_equal(reply_header(&reply, "X-Request-Id"), "night-run.7");
    reply_fini(&reply);
    assert_int_equal(status_of(kit, WRONG, "GET", "/v1/jobs"), 401);
    assert_int_equal(status_of(kit, token, "GET", "/v1/audit"), 403);
    http_kit_stop_http(kit); /* all is logged */
    log_set_level(LOG_LEVEL_ERROR);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    (void)close(fd);
    assert_true(file_holds(log, "req=\"night-run.7\""));
    assert_true(file_holds(log, "token_refused"));
    assert_true(file_holds(log, "who=\"reader\"") || file_holds(log, "who=reader"));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = kit_path(kit->folder, files[i]);
        if (file_holds(path, token + strlen("sweetspot_")) ||
            file_holds(path, &WRONG[strlen("sweetspot_")]))
            fail_msg("%s holds a token", files[i]);
        free(path);
    }
    http_kit_start_http(kit);
    free(token);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(every_route_asks_for_its_scope),
        cmocka_unit_test(metrics_may_be_opened),
        HTTP_TEST(a_stranger_does_not_learn_which_paths_there_are),
        HTTP_TEST(a_token_is_shown_as_rfc_6750_says),
        HTTP_TEST(who_sends_many_wrong_ones_must_wait_and_nobody_else),
        HTTP_TEST(a_token_counts_from_its_commit_to_its_revocation),
        HTTP_TEST(with_tokens_any_host_is_answered),
        HTTP_TEST(a_page_elsewhere_is_refused_whatever_token_it_has),
        HTTP_TEST(with_a_token_other_addresses_are_served),
        HTTP_TEST(one_address_may_not_take_all_connections),
        HTTP_TEST(no_token_is_kept_or_logged),
    };
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
