/* What comes from elsewhere: pages of other origins that would have a browser change something
 * here, and texts that would be more than a text where they are logged or answered. */
#include "api/route.h"
#include "server/buf.h"
#include "server/json.h"
#include "server/log.h"
#include "server/mem.h"
#include "server/unseen.h"
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

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* --- other origins -------------------------------------------------------------------------- */

static const char *const origins[] = {
    "Origin: http://evil.example\r\n",
    "Origin: https://evil.example\r\n",
    "Origin: null\r\n",
    "Origin: \r\n",
    "Origin: http://localhost:3000\r\n", /* another program of this machine */
    "Origin: http://127.0.0.1\r\n",
    "Origin: http://localhost.evil.example\r\n",
    "Origin: http://evil.example#localhost\r\n",
    "Origin: http://localhost@evil.example\r\n",
    "Origin: file://\r\n",
    "Origin: chrome-extension://abcdefgh\r\n",
    "Sec-Fetch-Site: cross-site\r\n",
    "Sec-Fetch-Site: same-site\r\n",
    "Sec-Fetch-Site: \r\n",
    "Sec-Fetch-Site: same-origin\r\nOrigin: http://evil.example\r\n",
};

/* What a form or a simple call of a script can send. */
static const char *const media[] = {
    "",
    "Content-Type: application/x-www-form-urlencoded\r\n",
    "Content-Type: multipart/form-data; boundary=x\r\n",
    "Content-Type: text/plain\r\n",
    "Content-Type: application/json\r\n",
};

static int status_of(struct client *client, const struct route *route, const char *headers,
                     const char *type, const char *body)
{
    char *target = mem_copy(route->path);
    for (char *at = target; *at; at++)
        if (strchr("{}", *at))
            *at = 'x';
    char *all = mem_format("%s%sContent-Length: %zu\r\n\r\n%s", headers, type, strlen(body), body);
    struct reply reply = client_call(client, route->method, target, all, NULL);
    int status = reply.status;
    reply_fini(&reply);
    free(all);
    free(target);
    return status;
}

static void no_page_of_another_origin_changes_anything(void **state)
{
    struct http_kit *kit = *state;
    size_t calls = 0;
    for (size_t i = 0; i < route_count; i++) {
        if (strcmp(routes[i].method, "GET") == 0)
            continue;
        for (size_t o = 0; o < COUNT(origins); o++)
            for (size_t m = 0; m < COUNT(media); m++) {
                struct client client = client_open(kit->port);
                int status = status_of(&client, &routes[i], origins[o], media[m], "{\"a\":1}");
                if (status != 403)
                    fail_msg("%s %s from %s%s: %d", routes[i].method, routes[i].path, origins[o],
                             media[m], status);
                client_close(&client);
                calls++;
            }
    }
    print_message("%zu calls of other origins: each refused\n", calls);
}

/* An old browser says nothing of where a form comes from; but no form can send JSON. */
static void no_form_is_taken(void **state)
{
    struct http_kit *kit = *state;
    for (size_t i = 0; i < route_count; i++)
        for (size_t m = 0; m < COUNT(media) - 1; m++) {
            if (strcmp(routes[i].method, "GET") == 0)
                continue;
            struct client client = client_open(kit->port);
            assert_int_equal(status_of(&client, &routes[i], "", media[m], "{\"a\":1}"), 415);
            client_close(&client);
        }
}

#define FOLLOWED "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"

static void a_link_may_be_followed_from_anywhere(void **state)
{
    static const struct line lines[] = {
        {"GET", "/v1/jobs", "Sec-Fetch-Site: cross-site\r\n", NULL, 200, NULL},
        {"GET", "/v1/jobs", "Sec-Fetch-Site: cross-site\r\n" FOLLOWED, NULL, 200, NULL},
        {"GET", "/v1/jobs", "Sec-Fetch-Site: same-site\r\n" FOLLOWED, NULL, 200, NULL},
        {"POST", "/v1/mode", "Sec-Fetch-Site: cross-site\r\n" FOLLOWED, "{\"mode\":\"paused\"}",
         403, NULL},
        {"HEAD", "/v1/jobs", "Sec-Fetch-Site: same-site\r\n", NULL, 200, NULL},
        {"POST", "/v1/mode", "Sec-Fetch-Site: same-origin\r\n", "{\"mode\":\"paused\"}", 200, NULL},
        {"POST", "/v1/mode", "Sec-Fetch-Site: none\r\n", "{\"mode\":\"active\"}", 200, NULL},
    };
    struct http_kit *kit = *state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct reply reply =
            call(kit->port, lines[i].method, lines[i].target, lines[i].headers, lines[i].body);
        assert_int_equal(reply.status, lines[i].status);
        reply_fini(&reply);
    }
}

static void nothing_becomes_a_part_of_a_foreign_page(void **state)
{
    static const char *const uses[] = {
        "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
        "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n",
        "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\n",
        "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n",
        "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
        "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: object\r\n",
    };
    static const struct {
        const char *site;
        int status;
    } sites[] = {{"cross-site", 403}, {"same-site", 403}, {"same-origin", 200}, {"none", 200}};
    struct http_kit *kit = *state;
    for (size_t s = 0; s < COUNT(sites); s++)
        for (size_t i = 0; i < COUNT(uses); i++) {
            char *headers = mem_format("Sec-Fetch-Site: %s\r\n%s", sites[s].site, uses[i]);
            struct reply reply = call(kit->port, "GET", "/v1/jobs", headers, NULL);
            if (reply.status != sites[s].status)
                fail_msg("%s: %d", headers, reply.status);
            reply_fini(&reply);
            free(headers);
        }
}

/* --- texts that would be more --------------------------------------------------------------- */

static const char *const texts[] = {
    "x\r\ntime=1 level=error event=forged",
    "x\ntime=1 level=error event=forged",
    "x\rtime=1 event=forged",
    "\" level=error event=forged x=\"",
    "\\\" event=forged",
    "\x1B[2J\x1B]0;owned\x07",
    "\xC2\x9B"
    "31m",
    "\xC2\x85next",
    "\xE2\x80\xA8next\xE2\x80\xA9",
    "\xE2\x80\xAE"
    "desrever",
    "\xE2\x80\x8B\xEF\xBB\xBF\xF3\xA0\x81\x81",
    "\x9B"
    "2J\xFF\xC0\xAF",
    "%n%n%s%s%x",
    "${jndi:ldap://evil.example/x}",
    "{{7*7}}<%=1%>$(id)`id`",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "'; DROP TABLE job; --",
    "\x08\x08\x7F",
    "\"} 1\nforged{a=\"", /* a metric */
    "@everyone <!channel>",
};

static char *escaped(const char *text)
{
    struct buf out = {0};
    for (; *text; text++)
        buf_format(&out, "%%%02X", (unsigned char)*text);
    return buf_take(&out);
}

static char *body_with(const char *format, const char *text)
{
    cJSON *value = json_text(text);
    char *quoted = json_print(value);
    struct buf body = {0};
    for (const char *at = format; *at; at++)
        if (*at == '@')
            buf_add(&body, quoted);
        else
            buf_add_char(&body, (char)(*at == '\'' ? '"' : *at));
    cJSON_Delete(value);
    free(quoted);
    return buf_take(&body);
}

static void send_and_look(struct http_kit *kit, const char *method, const char *target,
                          const char *headers, const char *body)
{
    struct reply reply = call(kit->port, method, target, headers, body);
    assert_true(reply.status == 0 || (reply.status < 500 && reply.status >= 200));
    assert_null(strstr(reply.head ? reply.head : "", "forged"));
    reply_fini(&reply);
}

/* The text everywhere where a client may put one; how many places there are. */
static size_t put_everywhere(struct http_kit *kit, const char *text)
{
    static const char *const targets[] = {
        "/%s",           "/v1/jobs/%s",        "/v1/instances/%s", "/v1/jobs?label=a:%s",
        "/v1/jobs?%s=1", "/v1/jobs?cursor=%s", "http://%s/v1/jobs"};
    static const char *const headers[] = {"X-Request-Id",  "User-Agent",  "Idempotency-Key",
                                          "Authorization", "traceparent", "Accept",
                                          "If-None-Match", "Prefer",      "Last-Event-ID",
                                          "Origin",        "Referer",     "Content-Type"};
    static const struct {
        const char *method, *target, *format;
    } bodies[] = {
        {"POST", "/v1/jobs",
         "{'kind':'backup_sweep','instance':'sql01','parameters':{},'labels':{'a':@}}"},
        {"POST", "/v1/jobs",
         "{'kind':'backup_sweep','instance':'sql01','parameters':{},'requested_by':@}"},
        {"POST", "/v1/jobs", "{'kind':@,'instance':@}"},
        {"POST", "/v1/jobs", "{@:1}"},
        {"PUT", "/v1/instances/x1", "{'host':@,'login':@,'password':{'env':@}}"},
        {"PUT", "/v1/instances/x2",
         "{'host':'h','login':@,'password':{'env':'SWEETSPOT_SECRET_A'},'labels':{'a':@}}"},
        {"PUT", "/v1/webhooks/x", "{'url':@,'format':@}"},
        {"POST", "/v1/mode", "{'mode':@}"},
    };
    char *code = escaped(text);
    for (size_t i = 0; i < COUNT(targets); i++) {
        const char *hole = strstr(targets[i], "%s");
        char *target = mem_format("%.*s%s%s", (int)(hole - targets[i]), targets[i], code, hole + 2);
        send_and_look(kit, "GET", target, NULL, NULL);
        free(target);
    }
    for (size_t i = 0; i < COUNT(headers); i++) {
        char *header = mem_format("%s: %s\r\n", headers[i], text);
        send_and_look(kit, "GET", "/v1/jobs", header, NULL);
        free(header);
    }
    for (size_t i = 0; i < COUNT(bodies); i++) {
        char *body = body_with(bodies[i].format, text);
        send_and_look(kit, bodies[i].method, bodies[i].target, NULL, body);
        free(body);
    }
    free(code);
    return COUNT(targets) + COUNT(headers) + COUNT(bodies);
}

/* One event, one line, in its form, and nothing in it that a terminal obeys. */
static size_t check_log(char *log)
{
    size_t lines = 0;
    char *rest = log;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char level[8];
        char event[32];
        if (*line == '\0' && !rest)
            break;
        if (sscanf(line, "time=20%*22[-0-9T:.Z] level=%7[a-z] event=%31[a-z_]", level, event) != 2)
            fail_msg("a line of its own: %s", line);
        assert_string_not_equal(event, "forged");
        bool unseen = false;
        for (const char *at = line; *at && !unseen;)
            at += unseen_step(at, &unseen);
        if (unseen)
            fail_msg("not fit for a terminal: %s", log_quote(line));
        lines++;
    }
    return lines;
}

static char *read_file(const char *path)
{
    struct buf all = {0};
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (int byte = getc(file); byte != EOF; byte = getc(file))
        buf_add_char(&all, (char)byte);
    (void)fclose(file); /* only read */
    return buf_take(&all);
}

static void no_text_makes_a_line_or_moves_a_cursor(void **state)
{
    struct http_kit *kit = *state;
    char *path = kit_path(kit->folder, "log");
    int saved = dup(STDERR_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    log_set_level(LOG_LEVEL_DEBUG);
    size_t places = 0;
    for (size_t i = 0; i < COUNT(texts); i++)
        places = put_everywhere(kit, texts[i]);
    struct reply metrics = call(kit->port, "GET", "/metrics", NULL, NULL);
    http_kit_stop_http(kit); /* all is logged */
    log_set_level(LOG_LEVEL_ERROR);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    (void)close(fd);
    assert_null(strstr(metrics.body, "\nforged"));
    reply_fini(&metrics);
    char *log = read_file(path);
    size_t lines = check_log(log);
    assert_true(lines > COUNT(texts));
    print_message("%zu texts in %zu places: %zu lines of log, each of one event\n", COUNT(texts),
                  places, lines);
    http_kit_start_http(kit);
    (void)unlink(path);
    free(log);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(no_page_of_another_origin_changes_anything),
        HTTP_TEST(no_form_is_taken),
        HTTP_TEST(a_link_may_be_followed_from_anywhere),
        HTTP_TEST(nothing_becomes_a_part_of_a_foreign_page),
        HTTP_TEST(no_text_makes_a_line_or_moves_a_cursor),
    };
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
