#include "api/cli/calls.h"
#include "api/cli/ask.h"
#include "api/cli/show.h"
#include "api/cli/wait.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>

/* --- plan ----------------------------------------------------------------------------------- */

static int ask_plan(struct http *http, const struct cli_args *args, const struct buf *body)
{
    struct http_answer answer = {0};
    struct buf text = {0};
    cJSON *plan = NULL;
    struct http_request request = {
        .method = "POST", .path = "/v1/plans", .body = buf_text(body), .body_bytes = body->length};
    int status = ask_json(http, args, &request, &answer, &plan);
    if (status != CLI_OK)
        return status;
    status = show_plan(plan, &text) ? CLI_OK : CLI_REFUSED;
    ask_print(args->json ? answer.body : buf_text(&text));
    buf_fini(&text);
    cJSON_Delete(plan);
    http_answer_fini(&answer);
    return status;
}

int calls_plan(struct http *http, const struct cli_args *args)
{
    struct buf body = BUF_WITH_MAX(LIMIT_BODY_BYTES);
    struct err err = {0};
    int status = CLI_OK;
    if (ask_read_file(args->operands[0], &body, &err) < 0)
        status = ask_bad_file(&err);
    else
        status = ask_plan(http, args, &body);
    buf_fini(&body);
    return status;
}

/* --- verdict -------------------------------------------------------------------------------- */

static void print_verdict(const struct http_answer *answer)
{
    cJSON *verdict = NULL;
    struct buf text = {0};
    struct err err;
    if (json_parse(answer->body, answer->body_bytes, &verdict, &err) == 0) {
        const cJSON *state = json_member(verdict, "state");
        const cJSON *summary = json_member(verdict, "summary");
        show_text(cJSON_IsString(state) ? state->valuestring : "well", &text);
        buf_add(&text, cJSON_IsString(summary) ? ": " : "");
        show_text(cJSON_IsString(summary) ? summary->valuestring : "", &text);
    }
    ask_print(buf_text(&text));
    buf_fini(&text);
    cJSON_Delete(verdict);
}

int calls_verdict(struct http *http, const struct cli_args *args)
{
    const char *id = args->operands[0];
    struct http_answer answer = {0};
    struct err err = {0};
    cJSON *job = NULL;
    if (!ask_is_job_id(id))
        return CLI_USAGE;
    int status = args->wait ? wait_for_end(http, id, args, &job) : CLI_OK;
    cJSON_Delete(job); /* the server judges */
    if (status != CLI_OK)
        return status;
    char *path = mem_format("/v1/jobs/%s/verdict", id);
    struct http_request request = {.method = "GET", .path = path};
    if (http_send(http, &request, &answer, &err) < 0)
        status = ask_failed(&err, args);
    else if (answer.status != 200)
        status = ask_problem(&answer);
    if (answer.status == 408 || answer.status == 409)
        status = CLI_FAILED; /* not well, or not yet */
    if (answer.body && args->json)
        ask_print(answer.body);
    else if (answer.status == 200)
        print_verdict(&answer);
    http_answer_fini(&answer);
    free(path);
    return status;
}

/* --- retry ---------------------------------------------------------------------------------- */

int calls_retry(struct http *http, const struct cli_args *args)
{
    struct http_answer answer = {0};
    cJSON *job = NULL;
    if (!ask_is_job_id(args->operands[0]))
        return CLI_USAGE;
    char *path = mem_format("/v1/jobs/%s/retry", args->operands[0]);
    char key[IDS_TEXT_SIZE];
    struct http_request request = {.method = "POST", .path = path, .idempotency_key = ids_new(key)};
    int status = ask_until_answered(http, args, &request, &answer);
    struct err err;
    if (status == CLI_OK)
        (void)(json_parse(answer.body, answer.body_bytes, &job, &err) < 0); /* told below */
    const cJSON *id = json_member(job, "id");
    if (status == CLI_OK && (!cJSON_IsString(id) || !ids_is_valid(id->valuestring))) {
        cli_say("the server's answer names no job");
        status = CLI_FAILED;
    } else if (status == CLI_OK && args->wait) {
        (void)fprintf(stderr, "job %s\n", id->valuestring);
        status = command_watch(http, id->valuestring, args, true);
    } else if (status == CLI_OK) {
        ask_print(args->json ? answer.body : id->valuestring);
        command_hint("taken", id->valuestring, args);
    }
    cJSON_Delete(job);
    http_answer_fini(&answer);
    free(path);
    return status;
}

/* --- kinds ---------------------------------------------------------------------------------- */

int calls_kinds(struct http *http, const struct cli_args *args)
{
    struct http_answer answer = {0};
    cJSON *tree = NULL;
    struct buf text = {0};
    struct http_request request = {.method = "GET", .path = "/v1/kinds"};
    int status = ask_json(http, args, &request, &answer, &tree);
    if (status != CLI_OK)
        return status;
    show_kinds(tree, &text);
    ask_print(args->json ? answer.body : buf_text(&text));
    buf_fini(&text);
    cJSON_Delete(tree);
    http_answer_fini(&answer);
    return CLI_OK;
}
