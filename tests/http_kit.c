#include "tests/http_kit.h"
#include "server/mem.h"
#include "tests/store_kit.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char http_kit_job[] = "{\"kind\":\"backup_sweep\",\"instance\":\"sql01\",\"parameters\":{}}";
const char http_kit_instance[] = "{\"host\":\"sql01.example.net\",\"login\":\"sweetspot\","
                                 "\"password\":{\"env\":\"SWEETSPOT_SECRET_SQL01\"}}";

/* times: of the parts only those that are milliseconds. */
static struct http_kit *start(const struct http_parts *times)
{
    struct err err;
    struct http_kit *kit = mem_alloc(1, sizeof *kit);
    kit->folder = kit_make_folder();
    char *url = mem_format("sqlite:%s/store.db", kit->folder);
    kit_ok(store_open(url, &kit->store, &err), &err);
    free(url);
    struct config config = {.key_file = kit_path(kit->folder, "key")};
    kit_ok(secrets_open(&config, &kit->secrets, &err), &err);
    free(config.key_file);
    kit_ok(egress_open("10.1.0.0/16", &kit->egress, &err), &err);
    kit->jobs = fake_jobs_new(kit->store);
    kit->parts = (struct http_parts){.listen = "127.0.0.1:0",
                                     .store = kit->store,
                                     .secrets = kit->secrets,
                                     .egress = kit->egress,
                                     .jobs = kit->jobs,
                                     .request_ms = times->request_ms,
                                     .comment_ms = times->comment_ms,
                                     .stall_ms = times->stall_ms,
                                     .progress_ms = 10,
                                     .check_ms = 50};
    http_kit_start_http(kit);
    return kit;
}

void http_kit_start_http(struct http_kit *kit)
{
    struct err err;
    kit_ok(http_start(&kit->parts, &kit->http, &err), &err);
    kit->port = http_port(kit->http);
}

struct http_kit *http_kit_start(int64_t request_ms)
{
    return start(&(struct http_parts){.request_ms = request_ms});
}

struct http_kit *http_kit_start_streams(int64_t comment_ms, int64_t stall_ms)
{
    return start(&(struct http_parts){.comment_ms = comment_ms, .stall_ms = stall_ms});
}

void http_kit_stop_http(struct http_kit *kit)
{
    http_stop(kit->http);
    kit->http = NULL;
}

void http_kit_stop(struct http_kit *kit)
{
    http_kit_stop_http(kit);
    fake_jobs_free(kit->jobs);
    store_close(kit->store);
    secrets_close(kit->secrets);
    egress_close(kit->egress);
    kit_remove_folder(kit->folder);
    free(kit);
}

int http_kit_set_up(void **state)
{
    struct http_kit *kit = http_kit_start(0);
    struct reply reply = call(kit->port, "PUT", "/v1/instances/sql01", NULL, http_kit_instance);
    assert_int_equal(reply.status, 201);
    reply_fini(&reply);
    *state = kit;
    return 0;
}

int http_kit_tear_down(void **state)
{
    http_kit_stop(*state);
    return 0;
}

char *http_kit_token(struct http_kit *kit, const char *name, enum scope scope)
{
    struct err err;
    char digest[HASH_HEX_SIZE];
    char *token = mem_alloc(1, TOKEN_TEXT_SIZE);
    token_new(token);
    struct token_change change = {.name = name, .scope = scope, .digest = hash_hex(token, digest)};
    kit_ok(store_write(kit->store, token_create_work, &change, &err), &err);
    return token;
}

void http_kit_revoke(struct http_kit *kit, const char *name)
{
    struct err err;
    struct token_change change = {.name = name};
    kit_ok(store_write(kit->store, token_revoke_work, &change, &err), &err);
}

struct reply http_kit_call_as(struct http_kit *kit, const char *token, const char *method,
                              const char *target, const char *headers, const char *body)
{
    char *lines = mem_format("%s%s%s%s", token ? "Authorization: Bearer " : "", token ? token : "",
                             token ? "\r\n" : "", headers ? headers : "");
    struct reply reply = call(kit->port, method, target, lines, body);
    free(lines);
    return reply;
}

char *http_kit_submit(struct http_kit *kit)
{
    struct reply reply = call(kit->port, "POST", "/v1/jobs", NULL, http_kit_job);
    assert_int_equal(reply.status, 202);
    char *id = json_text_of(reply.body, "id");
    reply_fini(&reply);
    return id;
}

void http_kit_speak(int port, const struct line *lines, size_t count)
{
    struct client client = client_open(port); /* one connection for all: keep-alive */
    for (size_t i = 0; i < count; i++) {
        const struct line *line = &lines[i];
        struct reply reply =
            client_call(&client, line->method, line->target, line->headers, line->body);
        if (reply.status != line->status || (line->holds && !strstr(reply.body, line->holds)))
            fail_msg("%s %s: %d\n%s", line->method, line->target, reply.status, reply.body);
        assert_string_not_equal(reply_header(&reply, "X-Request-Id"), "");
        reply_fini(&reply);
    }
    client_close(&client);
}

struct client http_kit_hold(struct http_kit *kit, const char *id, int seconds)
{
    struct client client = client_open(kit->port);
    char *request = mem_format("GET /v1/jobs/%s HTTP/1.1\r\nHost: localhost\r\n"
                               "Prefer: respond-async, wait=%d\r\n\r\n",
                               id, seconds);
    int before = fake_jobs_watchers(kit->jobs);
    client_send(&client, request);
    while (fake_jobs_watchers(kit->jobs) == before)
        (void)sched_yield();
    free(request);
    return client;
}

char *json_text_of(const char *text, const char *member)
{
    cJSON *tree = cJSON_Parse(text);
    const cJSON *value = tree ? json_member(tree, member) : NULL;
    char *copy = value && cJSON_IsString(value) ? mem_copy(value->valuestring) : NULL;
    cJSON_Delete(tree);
    return copy;
}
