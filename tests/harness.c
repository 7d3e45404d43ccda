#include "tests/harness.h"
#include "server/clock.h"
#include "server/daemon.h"
#include "server/log.h"
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_S 60
#define FAST "{'time_scale': 0}"

int harness_set_up_timed(void **state)
{
    clock_pass_ms(0);
    *state = harness_start(NULL);
    return 0;
}

int harness_tear_down_timed(void **state)
{
    harness_stop(*state);
    clock_reset();
    return 0;
}

void harness_wait_held(struct harness *harness)
{
    assert_int_equal(sim_wait_for(harness->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
}

struct mssql *harness_session(struct sim *sim, const char *app_name)
{
    struct mssql_target target = {.host = "127.0.0.1",
                                  .port = sim_port(sim),
                                  .login = "sa",
                                  .password = "Sweetspot-1",
                                  .encryption = "request",
                                  .app_name = app_name,
                                  .driver = mssql_default_driver()};
    struct mssql *session = NULL;
    struct err err;
    if (mssql_open(&target, &session, &err) < 0)
        fail_msg("%s", err.msg);
    return session;
}

int64_t harness_ask(struct sim *sim, const char *sql)
{
    struct mssql *session = harness_session(sim, "somebody else");
    struct mssql_rows *rows = NULL;
    struct err err;
    if (mssql_query(session, sql, NULL, 0, &rows, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
    int64_t number = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    mssql_close(session);
    return number;
}

void harness_execute(struct sim *sim, const char *batch)
{
    struct mssql *session = harness_session(sim, "somebody else");
    struct err err;
    if (mssql_execute(session, batch, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", batch, err.msg);
    mssql_close(session);
}

char *harness_json(const char *text)
{
    char *json = mem_copy(text);
    for (char *quote = strchr(json, '\''); quote; quote = strchr(quote, '\''))
        *quote = '"';
    return json;
}

static void fill_config(struct harness *harness)
{
    struct config *config = &harness->config;
    struct err err;
    bool help;
    bool version;
    char *dir = mem_format("--state-dir=%s", harness->dir);
    char program[] = "sweetspotd";
    char no_file[] = "--config=/dev/null";
    char listen[] = "--listen=127.0.0.1:0";
    char allow[] = "--webhooks-allow=127.0.0.0/8";
    char level[] = "--log-level=error";
    char *argv[] = {program, no_file, listen, allow, level, dir};
    if (config_load(6, argv, config, &help, &version, &err) < 0)
        fail_msg("%s", err.msg);
    free(dir);
}

void harness_start_daemon(struct harness *harness)
{
    struct err err;
    if (daemon_start(&harness->config, &harness->daemon, &err) < 0)
        fail_msg("%s", err.msg);
}

void harness_stop_daemon(struct harness *harness)
{
    daemon_stop(harness->daemon, &harness->owing);
    harness->daemon = NULL;
}

struct harness *harness_start(const char *scenario)
{
    struct harness *harness = mem_alloc(1, sizeof *harness);
    char error[SIM_ERROR_SIZE];
    (void)snprintf(harness->dir, sizeof harness->dir, "/tmp/sweetspot-test.XXXXXX");
    assert_non_null(mkdtemp(harness->dir));
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIM", "Sweetspot-1", 1), 0);
    if (sim_start(scenario ? scenario : FAST, &harness->sim, error) < 0)
        fail_msg("%s", error);
    log_set_level(LOG_LEVEL_ERROR);
    fill_config(harness);
    harness_start_daemon(harness);
    return harness;
}

void harness_stop(struct harness *harness)
{
    static const char *const files[] = {"sweetspot.db",        "sweetspot.db-wal",
                                        "sweetspot.db-shm",    "sweetspot.db.lock",
                                        "sweetspot.db.visits", "key",
                                        "freetds.conf"};
    if (!harness)
        return;
    harness_stop_daemon(harness);
    sim_stop(harness->sim);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", harness->dir, files[i]);
        (void)unlink(path); /* not every test makes every file */
    }
    (void)rmdir(harness->dir); /* what is left over stays for people to look at */
    config_fini(&harness->config);
    free(harness);
}

int harness_port(const struct harness *harness)
{
    return daemon_port(harness->daemon);
}

cJSON *harness_call(struct harness *harness, const char *method, const char *target,
                    const char *body, int status)
{
    char *json = body ? harness_json(body) : NULL;
    struct reply reply = call(harness_port(harness), method, target, NULL, json);
    if (reply.status != status)
        fail_msg("%s %s: %d instead of %d: %s", method, target, reply.status, status, reply.body);
    cJSON *tree = reply.body_length ? cJSON_Parse(reply.body) : NULL;
    reply_fini(&reply);
    free(json);
    return tree;
}

char *harness_text(struct harness *harness, const char *target, const char *accept, int status)
{
    char *header = mem_format("Accept: %s\r\n", accept);
    struct reply reply = call(harness_port(harness), "GET", target, header, NULL);
    free(header);
    if (reply.status != status)
        fail_msg("GET %s: %d instead of %d: %s", target, reply.status, status, reply.body);
    char *text = mem_copy(reply.body);
    reply_fini(&reply);
    return text;
}

void harness_register(struct harness *harness, const char *extra)
{
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}%s%s}",
                            sim_port(harness->sim), extra ? "," : "", extra ? extra : "");
    cJSON_Delete(harness_call(harness, "PUT", "/v1/instances/sql01", body, 201));
    free(body);
}

char *harness_submit(struct harness *harness, const char *body)
{
    cJSON *job = harness_call(harness, "POST", "/v1/jobs", body, 202);
    char *id = mem_copy(text_at(job, "id"));
    cJSON_Delete(job);
    return id;
}

static bool is_null_at(const cJSON *tree, const char *path)
{
    return cJSON_IsNull(at(tree, path));
}

cJSON *harness_wait(struct harness *harness, const char *id)
{
    char *target = mem_format("/v1/jobs/%s", id);
    int64_t until = clock_mono_ns() + (int64_t)WAIT_S * 1000000000;
    cJSON *job = NULL;
    do {
        cJSON_Delete(job);
        struct reply reply = call(harness_port(harness), "GET", target, "Prefer: wait=5\r\n", NULL);
        assert_int_equal(reply.status, 200);
        job = cJSON_Parse(reply.body);
        reply_fini(&reply);
    } while (is_null_at(job, "finished_at") && clock_mono_ns() < until);
    if (is_null_at(job, "finished_at"))
        fail_msg("job %s did not end: %s", id, cJSON_PrintUnformatted(job));
    free(target);
    return job;
}

cJSON *harness_wait_state(struct harness *harness, const char *id, const char *state,
                          const char *reason)
{
    char *target = mem_format("/v1/jobs/%s", id);
    int64_t until = clock_mono_ns() + (int64_t)WAIT_S * 1000000000;
    for (;;) {
        cJSON *job = harness_call(harness, "GET", target, NULL, 200);
        bool there = strcmp(text_at(job, "state"), state) == 0 &&
                     (!reason || (cJSON_IsString(at(job, "state_reason")) &&
                                  strcmp(text_at(job, "state_reason"), reason) == 0));
        if (there) {
            free(target);
            return job;
        }
        if (clock_mono_ns() > until || cJSON_IsString(at(job, "finished_at")))
            fail_msg("job %s is not %s: %s", id, state, cJSON_PrintUnformatted(job));
        cJSON_Delete(job);
        (void)usleep(2000); /* the next look, not a guess of how long it takes */
    }
}

cJSON *harness_pass_until(struct harness *harness, const char *id, const char *state,
                          int64_t step_ms)
{
    char *target = mem_format("/v1/jobs/%s", id);
    for (int looks = 0; looks < WAIT_S * 500; looks++) {
        cJSON *job = harness_call(harness, "GET", target, NULL, 200);
        if (strcmp(text_at(job, "state"), state) == 0) {
            free(target);
            return job;
        }
        if (cJSON_IsString(at(job, "finished_at")))
            fail_msg("job %s is not %s: %s", id, state, cJSON_PrintUnformatted(job));
        cJSON_Delete(job);
        clock_pass_ms(step_ms);
        (void)usleep(2000); /* the next look, not a guess of how long it takes */
    }
    fail_msg("job %s does not get %s", id, state);
    return NULL;
}

const cJSON *at(const cJSON *tree, const char *path)
{
    char *copy = mem_copy(path);
    char *rest = copy;
    const cJSON *node = tree;
    for (char *name = strsep(&rest, "/"); name && node; name = strsep(&rest, "/"))
        node = cJSON_IsArray(node) ? cJSON_GetArrayItem(node, (int)strtol(name, NULL, 10))
                                   : cJSON_GetObjectItemCaseSensitive(node, name);
    if (!node)
        fail_msg("no member %s in %s", path, cJSON_PrintUnformatted(tree));
    free(copy);
    return node;
}

const char *text_at(const cJSON *tree, const char *path)
{
    const cJSON *node = at(tree, path);
    if (!cJSON_IsString(node))
        fail_msg("%s is no text in %s", path, cJSON_PrintUnformatted(tree));
    return node->valuestring;
}

double number_at(const cJSON *tree, const char *path)
{
    const cJSON *node = at(tree, path);
    if (!cJSON_IsNumber(node))
        fail_msg("%s is no number in %s", path, cJSON_PrintUnformatted(tree));
    return node->valuedouble;
}
