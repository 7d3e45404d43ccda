#pragma once
/* The whole house in one process, for tests that read like a transcript: a simulated SQL Server
 * and the daemon, each on a free port, in a folder of their own. Failures fail the test. */
#include "server/config.h"
#include "tests/sim/sim.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct daemon;
struct mssql;

struct harness {
    struct sim *sim;
    struct daemon *daemon;
    struct config config;
    char dir[64];
    bool owing; /* what daemon_stop said last */
};

/* scenario: of the simulator, or NULL for its default one with fast time. Registers nothing. */
struct harness *harness_start(const char *scenario);
void harness_stop(struct harness *harness);

/* Ends the daemon as SIGTERM does, or starts it again on the same folder. */
void harness_stop_daemon(struct harness *harness);
void harness_start_daemon(struct harness *harness);

int harness_port(const struct harness *harness);

/* One call; the status must be `status`. The answer's JSON (NULL when it has no body), to be
 * freed with cJSON_Delete. */
cJSON *harness_call(struct harness *harness, const char *method, const char *target,
                    const char *body, int status);

/* The body as text (for Markdown and the like), with an Accept header. The caller frees it. */
char *harness_text(struct harness *harness, const char *target, const char *accept, int status);

/* PUT /v1/instances/sql01 for the simulator, environment test; extra: further members
 * ("\"lanes\":[\"a\"]") or NULL. */
void harness_register(struct harness *harness, const char *extra);

/* POST /v1/jobs; body with single quotes for double ones. Returns the id, to be freed. */
char *harness_submit(struct harness *harness, const char *body);

/* Waits until the job has ended (at most 60 s); the job. */
cJSON *harness_wait(struct harness *harness, const char *id);

/* Waits until the job is in this state (and reason, when not NULL); the job. */
cJSON *harness_wait_state(struct harness *harness, const char *id, const char *state,
                          const char *reason);

/* Lets time pass (server/clock.h), a step between two looks, until the job is in this state; the
 * job. The test calls clock_pass_ms(0) before the daemon starts, and clock_reset at its end. */
cJSON *harness_pass_until(struct harness *harness, const char *id, const char *state,
                          int64_t step_ms);

/* Somebody else's session on the simulator, as sa and under this name of a program; the test ends
 * it with mssql_close. */
struct mssql *harness_session(struct sim *sim, const char *app_name);

/* In such a session: one query, its first value as a number (-1 when
 * there is none); or one batch. */
int64_t harness_ask(struct sim *sim, const char *sql);
void harness_execute(struct sim *sim, const char *batch);

/* cmocka's setup and teardown of tests that let time pass: the default scenario in *state. */
int harness_set_up_timed(void **state);
int harness_tear_down_timed(void **state);

/* Waits until the simulator holds a statement, as a fault told it to. */
void harness_wait_held(struct harness *harness);

/* Text with every ' replaced by ", so that JSON in tests can be read. The caller frees it. */
char *harness_json(const char *text);

/* A member by a path such as "recommendation/settings/buffercount" or "arms/0/label"; fails the
 * test when it is not there. */
const cJSON *at(const cJSON *tree, const char *path);
const char *text_at(const cJSON *tree, const char *path);
double number_at(const cJSON *tree, const char *path);
