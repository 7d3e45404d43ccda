#pragma once
/* What the commands share: reading a file, asking the server, telling what went wrong. Statuses are
 * of enum cli_exit. One thread. */
#include "api/cli/cli.h"
#include "api/cli/http.h"
#include "server/json.h"

/* Reads FILE ("-": standard input) and sees that it is JSON, so that a slip is told with its line.
 * ERR_INPUT: it is not. */
MUST_CHECK int ask_read_file(const char *path, struct buf *out, struct err *err);
/* Tells why a file was not sent, and gives the exit status. */
int ask_bad_file(const struct err *err);

/* Prints a text with a newline at its end. */
void ask_print(const char *text);

/* Tells why no answer came, or what an answer complains of, and gives the exit status. */
int ask_failed(const struct err *err, const struct cli_args *args);
int ask_problem(const struct http_answer *answer);

/* Sends a request; CLI_OK: *out is an answer of 2xx, which the caller frees. Else it was told. */
int ask_once(struct http *http, const struct cli_args *args, const struct http_request *request,
             struct http_answer *out);
/* Sends a request that has an Idempotency-Key until there is an answer: the key makes that safe
 * when one got lost. A server that was never there is told at once. As above. */
int ask_until_answered(struct http *http, const struct cli_args *args,
                       const struct http_request *request, struct http_answer *out);
/* The same for an answer that is JSON; *out_tree is the caller's. */
int ask_json(struct http *http, const struct cli_args *args, const struct http_request *request,
             struct http_answer *out, cJSON **out_tree);

/* False: it was told that this is not the id of a job. */
bool ask_is_job_id(const char *id);

/* Waits for the end of a job and prints what came out, of commands.c. wants_report: with --json the
 * report where there is one, else always the job. */
int command_watch(struct http *http, const char *id, const struct cli_args *args,
                  bool wants_report);
/* Tells what happened and how to see the job, on the same server. */
void command_hint(const char *what, const char *id, const struct cli_args *args);
