/* The commands, and the table of them. */
#include "api/cli/agent_job.h"
#include "api/cli/analyze.h"
#include "api/cli/ask.h"
#include "api/cli/calls.h"
#include "api/cli/cli.h"
#include "api/cli/http.h"
#include "api/cli/show.h"
#include "api/cli/wait.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- report, watch ------------------------------------------------------------------------- */

/* NULL: JSON */
static const char *report_format(const struct cli_args *args)
{
    if (args->json)
        return NULL;
    return args->html ? "text/html" : "text/markdown";
}

static int print_report(struct http *http, const struct cli_args *args, const char *id)
{
    struct http_answer answer = {0};
    char *path = mem_format("/v1/jobs/%s/report", id);
    struct http_request request = {.method = "GET", .path = path, .accept = report_format(args)};
    int status = ask_once(http, args, &request, &answer);
    if (status == CLI_OK)
        ask_print(answer.body);
    http_answer_fini(&answer);
    free(path);
    return status;
}

static int run_report(struct http *http, const struct cli_args *args)
{
    if (!ask_is_job_id(args->operands[0]))
        return CLI_USAGE;
    return print_report(http, args, args->operands[0]);
}

static void tell_job_error(const cJSON *job, const struct show_job *end)
{
    const cJSON *error = json_member(job, "error");
    const cJSON *message = json_member(error, "message");
    const cJSON *step = json_member(error, "step");
    struct buf text = {0};
    buf_format(&text, "the job ended as %s", end->state);
    if (cJSON_IsString(message)) {
        buf_add(&text, ": ");
        show_text(message->valuestring, &text);
    }
    if (cJSON_IsString(step)) {
        buf_add(&text, " (step: ");
        show_text(step->valuestring, &text);
        buf_add(&text, ")");
    }
    cli_say("%s", buf_text(&text));
    buf_fini(&text);
}

/* What people are shown: the summary, then the report. */
static int print_end(struct http *http, const struct cli_args *args, const char *id,
                     const cJSON *job, int status)
{
    const cJSON *summary = json_member(job, "summary");
    bool has_report = status == CLI_OK || status == CLI_INCONCLUSIVE;
    if (cJSON_IsString(summary) && !args->json) {
        struct buf text = {0};
        show_text(summary->valuestring, &text);
        (void)printf("%s\n\n", buf_text(&text));
        buf_fini(&text);
    }
    int report_status = has_report ? print_report(http, args, id) : CLI_OK;
    return report_status == CLI_OK ? status : report_status;
}

/* Waits for the end and prints what came out. wants_report: with --json the report where there is
 * one, else always the job. */
int command_watch(struct http *http, const char *id, const struct cli_args *args, bool wants_report)
{
    cJSON *job = NULL;
    struct show_job end;
    int status = wait_for_end(http, id, args, &job);
    if (status != CLI_OK)
        return status;
    show_job_read(job, &end);
    status = show_job_exit(&end);
    bool is_good = status == CLI_OK || status == CLI_INCONCLUSIVE;
    if (args->json && (!is_good || !wants_report)) {
        char *text = json_print(job);
        ask_print(text);
        free(text);
    } else {
        status = print_end(http, args, id, job, status);
    }
    if (!is_good)
        tell_job_error(job, &end);
    cJSON_Delete(job);
    return status;
}

static int run_watch(struct http *http, const struct cli_args *args)
{
    return ask_is_job_id(args->operands[0]) ? command_watch(http, args->operands[0], args, false)
                                            : CLI_USAGE;
}

/* Tells what happened and how to see the job, on the same server. */
void command_hint(const char *what, const char *id, const struct cli_args *args)
{
    struct buf to = {0};
    cli_add_connection(args, &to);
    cli_say("%s. See it: sweetspot watch %s%s", what, id, buf_text(&to));
    buf_fini(&to);
}

/* --- submit -------------------------------------------------------------------------------- */

static int submit(struct http *http, const struct cli_args *args, const struct buf *body)
{
    char key[IDS_TEXT_SIZE];
    struct http_answer answer = {0};
    struct err err = {0};
    cJSON *job = NULL;
    struct http_request request = {.method = "POST",
                                   .path = "/v1/jobs",
                                   .body = buf_text(body),
                                   .body_bytes = body->length,
                                   .idempotency_key = ids_new(key)};
    int status = ask_until_answered(http, args, &request, &answer);
    if (status != CLI_OK)
        goto out;
    status = CLI_FAILED;
    if (json_parse(answer.body, answer.body_bytes, &job, &err) < 0) {
        cli_say("the server's answer is unreadable: %s", err.msg);
        goto out;
    }
    const cJSON *id = json_member(job, "id");
    if (!cJSON_IsString(id) || !ids_is_valid(id->valuestring)) {
        cli_say("the server's answer names no job");
        goto out;
    }
    status = CLI_OK;
    if (args->wait) {
        (void)fprintf(stderr, "job %s\n", id->valuestring);
        status = command_watch(http, id->valuestring, args, true);
    } else {
        ask_print(args->json ? answer.body : id->valuestring);
        command_hint("taken", id->valuestring, args);
    }
out:
    cJSON_Delete(job);
    http_answer_fini(&answer);
    return status;
}

static int run_submit(struct http *http, const struct cli_args *args)
{
    struct buf body = BUF_WITH_MAX(LIMIT_BODY_BYTES);
    struct err err = {0};
    int status = CLI_OK;
    if (ask_read_file(args->operands[0], &body, &err) < 0)
        status = ask_bad_file(&err);
    else
        status = submit(http, args, &body);
    buf_fini(&body);
    return status;
}

/* --- cancel, health ------------------------------------------------------------------------ */

static int run_cancel(struct http *http, const struct cli_args *args)
{
    if (!ask_is_job_id(args->operands[0]))
        return CLI_USAGE;
    struct http_answer answer = {0};
    char *path = mem_format("/v1/jobs/%s/cancel", args->operands[0]);
    struct http_request request = {.method = "POST", .path = path};
    int status = ask_once(http, args, &request, &answer);
    if (status == CLI_OK && args->json)
        ask_print(answer.body);
    else if (status == CLI_OK)
        command_hint("asked to stop; what it changed is undone first", args->operands[0], args);
    http_answer_fini(&answer);
    free(path);
    return status;
}

/* Prints readyz's answer as it is: it names each part. */
static int run_health(struct http *http, const struct cli_args *args)
{
    struct http_answer answer = {0};
    struct err err = {0};
    struct http_request request = {.method = "GET", .path = "/readyz"};
    if (http_send(http, &request, &answer, &err) < 0)
        return ask_failed(&err, args);
    ask_print(answer.body);
    int status = answer.status == 200 ? CLI_OK : CLI_FAILED;
    http_answer_fini(&answer);
    return status;
}

/* --- lists, instances ---------------------------------------------------------------------- */

/* Appends the items of an answer, for people. */
typedef void show_list(const cJSON *answer, struct buf *out);

/* Prints a list, as it came or by `show`; says `none` when it is empty. */
static int print_list(struct http *http, const struct cli_args *args, const char *path,
                      show_list *show, const char *none)
{
    struct http_answer answer = {0};
    cJSON *tree = NULL;
    struct http_request request = {.method = "GET", .path = path};
    int status = ask_json(http, args, &request, &answer, &tree);
    if (status != CLI_OK)
        return status;
    struct buf text = {0};
    show(tree, &text);
    ask_print(args->json ? answer.body : buf_text(&text));
    if (!args->json && text.length == 0)
        cli_say("%s", none);
    buf_fini(&text);
    cJSON_Delete(tree);
    http_answer_fini(&answer);
    return CLI_OK;
}

static int run_jobs(struct http *http, const struct cli_args *args)
{
    return print_list(http, args, "/v1/jobs", show_jobs,
                      "no job yet. Make one: sweetspot submit FILE");
}

static int list_instances(struct http *http, const struct cli_args *args)
{
    return print_list(http, args, "/v1/instances?limit=500", show_instances,
                      "no instance yet. Make one: sweetspot instances put NAME FILE");
}

/* One request about the instance NAME, its answer printed as it is. */
static int ask_instance(struct http *http, const struct cli_args *args, const char *method,
                        const char *name, const struct buf *body)
{
    struct http_answer answer = {0};
    char *escaped = http_escape(name);
    char *path = mem_format("/v1/instances/%s%s", escaped, args->forget ? "?forget=true" : "");
    struct http_request request = {.method = method, .path = path};
    if (body) {
        request.body = buf_text(body);
        request.body_bytes = body->length;
    }
    int status = ask_once(http, args, &request, &answer);
    if (status == CLI_OK && answer.body_bytes > 0)
        ask_print(answer.body);
    http_answer_fini(&answer);
    free(escaped);
    free(path);
    return status;
}

static int put_instance(struct http *http, const struct cli_args *args, const char *name,
                        const char *file)
{
    struct buf body = BUF_WITH_MAX(LIMIT_BODY_BYTES);
    struct err err = {0};
    int status = CLI_OK;
    if (ask_read_file(file, &body, &err) < 0)
        status = ask_bad_file(&err);
    else
        status = ask_instance(http, args, "PUT", name, &body);
    buf_fini(&body);
    return status;
}

/* Fails when the instance is not reached, so that scripts see it. */
static int check_instance(struct http *http, const struct cli_args *args, const char *name)
{
    struct http_answer answer = {0};
    cJSON *tree = NULL;
    struct buf text = {0};
    char *escaped = http_escape(name);
    char *path = mem_format("/v1/instances/%s/check", escaped);
    struct http_request request = {.method = "POST", .path = path};
    int status = ask_json(http, args, &request, &answer, &tree);
    if (status == CLI_OK) {
        status = show_check(tree, &text) ? CLI_OK : CLI_FAILED;
        ask_print(args->json ? answer.body : buf_text(&text));
        http_answer_fini(&answer);
    }
    cJSON_Delete(tree);
    buf_fini(&text);
    free(escaped);
    free(path);
    return status;
}

static int run_instances(struct http *http, const struct cli_args *args)
{
    const char *action = args->operand_count > 0 ? args->operands[0] : "list";
    const char *name = args->operands[1];
    const char *file = args->operands[2];
    if (strcmp(action, "list") == 0 && !name && !args->forget)
        return list_instances(http, args);
    if (strcmp(action, "put") == 0 && file)
        return put_instance(http, args, name, file);
    if (strcmp(action, "check") == 0 && name && !file && !args->forget)
        return check_instance(http, args, name);
    if (strcmp(action, "delete") == 0 && name && !file)
        return ask_instance(http, args, "DELETE", name, NULL);
    cli_say("usage: sweetspot %s %s", args->command->name, args->command->usage);
    return CLI_USAGE;
}

/* Fails when something is still open, or could not be undone, so that scripts see it. */
static int run_reconcile(struct http *http, const struct cli_args *args)
{
    struct http_answer answer = {0};
    cJSON *tree = NULL;
    struct buf text = {0};
    const char *body = args->dry_run ? "{\"dry_run\":true}" : "{}";
    char *escaped = http_escape(args->operands[0]);
    char *path = mem_format("/v1/instances/%s/reconcile", escaped);
    struct http_request request = {
        .method = "POST", .path = path, .body = body, .body_bytes = strlen(body)};
    int status = ask_json(http, args, &request, &answer, &tree);
    if (status == CLI_OK) {
        bool is_clean = show_reconciled(tree, &text);
        status = is_clean || args->dry_run ? CLI_OK : CLI_FAILED;
        ask_print(args->json ? answer.body : buf_text(&text));
        http_answer_fini(&answer);
    }
    cJSON_Delete(tree);
    buf_fini(&text);
    free(escaped);
    free(path);
    return status;
}

/* --- the table ----------------------------------------------------------------------------- */

/* clang-format off */
const struct cli_command cli_commands[] = {
    {"submit", "FILE|- [--wait] [--json]", "Submit the job in FILE (- is standard input); print its id. With --wait --json: the report, or the job when it ended without one.", 1, 1, CLI_OPTION_WAIT | CLI_OPTION_JSON, run_submit, false},
    {"watch", "ID [--json]", "Wait for the end of a job, show its progress, print its report; with --json the job.", 1, 1, CLI_OPTION_JSON, run_watch, false},
    {"jobs", "[--json]", "List the 50 newest jobs: id, state, instance, and what came out or why it waits.", 0, 0, CLI_OPTION_JSON, run_jobs, false},
    {"report", "ID [--json | --markdown | --html]", "Print the report of a job.", 1, 1, CLI_OPTION_JSON | CLI_OPTION_MARKDOWN | CLI_OPTION_HTML, run_report, false},
    {"analyze", "[--no-checksum] [--markdown | --html] [FILE|-]", "Make reports from evidence (GET /v1/jobs/ID/evidence), one object a line in, one report a line out; the same bytes the server stored. --html makes the page of one object. Needs no server.", 0, 1, CLI_OPTION_NO_CHECKSUM | CLI_OPTION_MARKDOWN | CLI_OPTION_HTML, analyze_run, true},
    {"cancel", "ID [--json]", "Ask a job to stop and to undo what it changed.", 1, 1, CLI_OPTION_JSON, run_cancel, false},
    {"plan", "FILE|- [--json]", "Say what the job in FILE would do, how long it would take and why it would be refused; nothing is stored or changed.", 1, 1, CLI_OPTION_JSON, calls_plan, false},
    {"verdict", "ID [--wait] [--json]", "Exit with 0 when the job ended well and nothing regressed, else 1; with --wait after its end.", 1, 1, CLI_OPTION_WAIT | CLI_OPTION_JSON, calls_verdict, false},
    {"retry", "ID [--wait] [--json]", "Submit an ended job once more; print the new job's id.", 1, 1, CLI_OPTION_WAIT | CLI_OPTION_JSON, calls_retry, false},
    {"kinds", "[--json]", "List what can be measured, its parameters and the permissions it needs.", 0, 0, CLI_OPTION_JSON, calls_kinds, false},
    {"instances", "[list | put NAME FILE|- | check NAME | delete NAME] [--forget] [--json]", "List, make, check or delete the SQL Servers that jobs may name.", 0, 3, CLI_OPTION_JSON | CLI_OPTION_FORGET, run_instances, false},
    {"reconcile", "NAME [--dry-run] [--json]", "Undo what jobs left on the instance NAME; with --dry-run only show it.", 1, 1, CLI_OPTION_DRY_RUN | CLI_OPTION_JSON, run_reconcile, false},
    {"agent-job", "FILE|- --step curl|powershell|rest [--name NAME] [--url URL] [--token-file FILE | --credential] [--minutes MINUTES]", "Print the T-SQL that makes a SQL Server Agent job of the definition in FILE: it submits it and fails when the verdict is bad. --url and --token-file are as seen from the SQL Server. Asks no server.", 1, 1, CLI_OPTION_AGENT, agent_job_run, true},
    {"health", "", "Ask whether the server is ready.", 0, 0, CLI_OPTION_ALWAYS, run_health, false},
    {NULL, NULL, NULL, 0, 0, 0, NULL, false},
};
/* clang-format on */
