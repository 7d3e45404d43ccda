#pragma once
/* Commands of sweetspotd, run as processes. Failures fail the test. */
#include <stdbool.h>

/* What a command came to. */
struct outcome {
    int status; /* of its exit; -1: it was killed */
    char out[4096];
    char talk[4096]; /* standard error */
};

/* Runs a program, whose file is argv[0], with its outputs in files of dir, which are gone after. */
struct outcome command_run(const char *dir, char *const argv[]);

/* The same for what SWEETSPOT_TEST_DAEMON names: the words of `line`, then --state-dir=DIR. */
struct outcome command_line(const char *dir, const char *line);

/* The same, killed (SIGKILL) as soon as is_due says so, which is asked without a pause; unless it
 * has ended by then. */
struct outcome command_line_killed(const char *dir, const char *line, bool (*is_due)(void *ctx),
                                   void *ctx);
