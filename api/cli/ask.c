#include "api/cli/ask.h"
#include "api/cli/show.h"
#include "api/cli/wait.h"
#include "server/clock.h"
#include "server/ids.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_MS INT64_C(1000000)
#define GIVE_UP_MS (INT64_C(1000) * CLI_SUBMIT_GIVE_UP_S)
#define RETRY_MS 500

/* --- common -------------------------------------------------------------------------------- */

/* Reads FILE, or standard input for "-". */
static int read_input(const char *path, struct buf *out, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (!file)
        return err_set(err, ERR_SYSTEM, errno, "cannot read %.200s: %s", path, strerror(errno));
    char block[4096];
    size_t bytes = 0;
    while ((bytes = fread(block, 1, sizeof block, file)) > 0)
        buf_add_bytes(out, block, bytes);
    int rc = 0;
    if (ferror(file))
        rc = err_set(err, ERR_SYSTEM, errno, "cannot read %.200s: %s", path, strerror(errno));
    else if (!buf_ok(out))
        rc = err_set(err, ERR_SYSTEM, 0, "%.200s is larger than 1 MiB", path);
    if (!is_stdin)
        (void)fclose(file); /* only read */
    return rc;
}

/* Reads FILE and sees that it is JSON, so that a slip is told with its line. ERR_INPUT: it is not.
 */
int ask_read_file(const char *path, struct buf *out, struct err *err)
{
    cJSON *tree = NULL;
    if (read_input(path, out, err) < 0)
        return -1;
    if (json_parse(buf_text(out), out->length, &tree, err) < 0)
        return err_wrap(err, strcmp(path, "-") == 0 ? "standard input" : path);
    cJSON_Delete(tree);
    return 0;
}

/* Tells why a file was not sent, and gives the exit status. */
int ask_bad_file(const struct err *err)
{
    cli_say("%s", err->msg);
    return err->code == ERR_INPUT ? CLI_REFUSED : CLI_USAGE;
}

void ask_print(const char *text)
{
    (void)fputs(text, stdout);
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] != '\n')
        (void)fputc('\n', stdout);
}

/* Tells why no answer came, and gives the exit status. */
int ask_failed(const struct err *err, const struct cli_args *args)
{
    if (err->code == ERR_CANCELLED)
        return wait_interrupted(NULL, args);
    cli_say("%s", err->msg);
    return err->code == ERR_UNREACHABLE ? CLI_UNREACHABLE : CLI_USAGE;
}

/* Tells what an answer complains of, and gives the exit status. */
int ask_problem(const struct http_answer *answer)
{
    struct buf text = {0};
    show_problem(answer->status, answer->body, answer->body_bytes, &text);
    cli_say("%s", buf_text(&text));
    buf_fini(&text);
    return show_problem_exit(answer->status);
}

/* Sends a request; CLI_OK: *out is an answer of 2xx, which the caller frees. Else it was told. */
int ask_once(struct http *http, const struct cli_args *args, const struct http_request *request,
             struct http_answer *out)
{
    struct err err = {0};
    if (http_send(http, request, out, &err) < 0)
        return ask_failed(&err, args);
    if (out->status >= 200 && out->status < 300)
        return CLI_OK;
    int status = ask_problem(out);
    http_answer_fini(out);
    return status;
}

/* The same for an answer that is JSON; *out_tree is the caller's. */
int ask_json(struct http *http, const struct cli_args *args, const struct http_request *request,
             struct http_answer *out, cJSON **out_tree)
{
    struct err err = {0};
    int status = ask_once(http, args, request, out);
    if (status != CLI_OK)
        return status;
    if (json_parse(out->body, out->body_bytes, out_tree, &err) == 0)
        return CLI_OK;
    cli_say("the server's answer is unreadable: %s", err.msg);
    http_answer_fini(out);
    return CLI_FAILED;
}

bool ask_is_job_id(const char *id)
{
    if (ids_is_valid(id))
        return true;
    cli_say("\"%.60s\" is not the id of a job (it looks like "
            "01981c5e-7a10-7000-8000-000000000001)",
            id);
    return false;
}

int ask_until_answered(struct http *http, const struct cli_args *args,
                       const struct http_request *request, struct http_answer *out)
{
    int64_t give_up_ms = clock_mono_ns() / NS_PER_MS + GIVE_UP_MS;
    bool may_have_arrived = false;
    while (true) {
        struct err err = {0};
        int64_t pause_ms = RETRY_MS;
        int rc = http_send(http, request, out, &err);
        if (rc == 0 && !wait_is_passing(out->status))
            return out->status < 300 ? CLI_OK : ask_problem(out);
        may_have_arrived |= rc == 0 || err.detail == 1;
        bool is_late = clock_mono_ns() / NS_PER_MS > give_up_ms;
        if (rc < 0 && (err.code != ERR_UNREACHABLE || !may_have_arrived || is_late))
            return ask_failed(&err, args);
        if (rc == 0 && is_late)
            return ask_problem(out);
        if (rc == 0 && out->retry_after_s > 0)
            pause_ms = out->retry_after_s < 10 ? out->retry_after_s * 1000 : 10000;
        http_answer_fini(out);
        if (!wait_ms(pause_ms))
            return wait_interrupted(NULL, args);
    }
}
