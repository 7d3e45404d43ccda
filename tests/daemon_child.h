#pragma once
/* The daemon as a process of its own, so that a test can kill it: SWEETSPOT_TEST_DAEMON names the
 * program. Webhooks may go to the loopback. Failures fail the test. */
#include <cjson/cJSON.h>
#include <sys/types.h>

struct child {
    char dir[64];
    pid_t pid;
    int port;
};

/* Its folder, and what it needs in its environment. */
void child_make(struct child *child);
void child_remove(struct child *child);

/* Starts it on its folder and a free port, and waits until it is ready. */
void child_start(struct child *child);

/* Sends the signal and waits for the end; the status that waitpid gives. */
int child_end(struct child *child, int signal);

/* One call; JSON with single quotes. The answer's JSON, NULL without a body. */
cJSON *child_ask(const struct child *child, const char *method, const char *target,
                 const char *headers, const char *body, int *out_status);

/* A GET that must answer 200. */
cJSON *child_get(const struct child *child, const char *target);
