#pragma once
/* The daemon as a process of its own, on a folder of its own, so that a test can kill it. Failures
 * fail the test. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
    const char *program; /* borrowed; NULL: what SWEETSPOT_TEST_DAEMON names */
    char dir[64];
    pid_t pid; /* 0: it does not run */
    int port;
};

/* Makes the folder, in memory where there is such a place: kill -9 needs no disk. */
void child_make(struct child *child, const char *program);
void child_remove(struct child *child);

/* Starts it and waits until it is ready. */
void child_start(struct child *child);

/* Ends it by this signal; the status that waitpid gives. */
int child_end(struct child *child, int signal);

/* Waits for the end of one that ends by itself; false after this time. */
bool child_has_died(struct child *child, int timeout_ms);

/* One call; headers may be NULL; JSON with single quotes. The answer's JSON, NULL without a body.
 */
cJSON *child_ask(const struct child *child, const char *method, const char *target,
                 const char *headers, const char *body, int *out_status);

/* A GET that must be answered by 200. */
cJSON *child_get(const struct child *child, const char *target);

/* POST /v1/jobs with this Idempotency-Key (out_status may be NULL); the id, to be freed. NULL when
 * no answer came: the daemon was killed meanwhile. */
char *child_submit(const struct child *child, const char *key, const char *body, int *out_status);

/* The job at its end, at most 60 s from now. */
cJSON *child_wait_for_end(const struct child *child, const char *id);
