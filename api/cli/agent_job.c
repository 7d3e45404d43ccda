#include "api/cli/agent_job.h"
#include "api/cli/agent_templates.h"
#include "api/cli/agent_text.h"
#include "api/cli/ask.h"
#include "api/cli/http.h"
#include "server/limits.h"
#include "server/mem.h"
#include "server/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MINUTES 480
#define MINUTES_MAX 1440 /* a job that waits for more than a day hides that something is wrong */
#define COMMAND_MAX 8000 /* cmd.exe takes 8,191 characters, Agent's tokens may grow a little */
#define PATH_CHARS 200   /* a path on Windows ends at 260 */
#define NEXT_STEP "3"    /* @on_success_action of sp_add_jobstep */
#define QUIT_GOOD "1"    /* the same */
#define OUTPUT_TO_HISTORY "32"
#define TSQL_TO_HISTORY "4"
/* Who repeats a step gets the same job, who starts the job anew a new one. The step's id follows.
 */
#define KEY "agent-$(ESCAPE_SQUOTE(JOBID))-$(ESCAPE_SQUOTE(STRTDT))-$(ESCAPE_SQUOTE(STRTTM))"

/* --- the kinds of step --------------------------------------------------------------------- */

struct agent_step {
    const char *name;
    const char *subsystem;
    const char *command; /* the template */
    const char *flags;
    const char *retries; /* by Agent, a minute apart */
};

struct agent_kind {
    const char *name;
    struct agent_step steps[2]; /* the second may have no name */
    size_t command_max;         /* characters; 0: as nvarchar(max) has it */
    bool https_only;
};

/* clang-format off */
static const struct agent_kind kinds[] = {
    {"curl",
     {{"Submit to Sweetspot", "CmdExec", embedded_agent_curl_submit, OUTPUT_TO_HISTORY, "3"},
      {"Wait for the verdict", "CmdExec", embedded_agent_curl_verdict, OUTPUT_TO_HISTORY, "1"}},
     COMMAND_MAX, false},
    {"powershell",
     {{"Measure with Sweetspot", "PowerShell", embedded_agent_powershell, OUTPUT_TO_HISTORY, "1"}},
     0, false},
    {"rest",
     {{"Measure with Sweetspot", "TSQL", embedded_agent_rest, TSQL_TO_HISTORY, "1"}},
     0, true},
};
/* clang-format on */
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

/* NULL: there is none of this name, and err says so. */
static const struct agent_kind *find_kind(const char *name, struct err *err)
{
    for (size_t i = 0; name && i < KIND_COUNT; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    (void)err_set(err, ERR_INPUT, 0, "--step must be curl, powershell or rest%s%.60s%s",
                  name ? ", not \"" : "", name ? name : "", name ? "\"" : "");
    return NULL;
}

/* --- what the job is made of --------------------------------------------------------------- */

struct agent_job {
    const struct agent_kind *kind;
    char *url;            /* without a slash at its end */
    char *name;           /* of the Agent job */
    const char *token;    /* path on the SQL Server's machine, or "" */
    const char *database; /* of a T-SQL step */
    long minutes;
    bool credential;
    struct buf definition; /* JSON of few characters */
};

static void agent_job_fini(struct agent_job *job)
{
    free(job->url);
    free(job->name);
    buf_fini(&job->definition);
}

/* Only these stand in a command as they are, whatever reads it. */
static int check_characters(const char *what, const char *text, const char *allowed, size_t max,
                            struct err *err)
{
    size_t good = 0;
    for (; text[good]; good++) {
        char c = text[good];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && !strchr(allowed, c))
            break;
    }
    unsigned char bad = (unsigned char)text[good];
    if (bad >= 0x80 || (bad && bad < ' '))
        return err_set(err, ERR_INPUT, 0, "%s cannot hold byte 0x%02X: a job step takes ASCII only",
                       what, bad);
    if (bad)
        return err_set(err, ERR_INPUT, 0,
                       "%s cannot hold %c: besides letters and digits a job step takes %s", what,
                       bad, allowed);
    if (good > max)
        return err_set(err, ERR_INPUT, 0, "%s must not be longer than %zu characters", what, max);
    return 0;
}

static int take_url(const struct cli_args *args, struct agent_job *job, struct err *err)
{
    const char *url = args->url ? args->url : HTTP_DEFAULT_URL;
    bool is_https = strncmp(url, "https://", 8) == 0;
    size_t length = strlen(url);
    if (!is_https && strncmp(url, "http://", 7) != 0)
        return err_set(err, ERR_INPUT, 0, "--url must begin with http:// or https://");
    if (job->kind->https_only && !is_https)
        return err_set(
            err, ERR_INPUT, 0,
            "--step %s needs an --url that begins with https://: SQL Server calls no other",
            job->kind->name);
    /* in T-SQL it is a name in brackets, too */
    const char *allowed = job->kind->https_only ? "-._~:/" : "-._~:/[]";
    if (check_characters("--url", url, allowed, PATH_CHARS, err) < 0)
        return -1;
    while (length > 0 && url[length - 1] == '/')
        length--;
    job->url = mem_format("%.*s", (int)length, url);
    return 0;
}

static int take_token(const struct cli_args *args, struct agent_job *job, struct err *err)
{
    bool is_rest = job->kind->https_only;
    job->token =
        args->token_file_given ? args->token_file : ""; /* the environment is this machine's */
    job->credential = args->credential;
    job->database = args->database ? args->database : "master";
    if (is_rest && args->token_file_given)
        return err_set(err, ERR_INPUT, 0,
                       "--step rest reads no file: put the token into a database scoped credential "
                       "and say --credential");
    if (!is_rest && (args->credential || args->database))
        return err_set(err, ERR_INPUT, 0, "%s is for --step rest",
                       args->credential ? "--credential" : "--database");
    return check_characters("--token-file", job->token, "\\/:._-()~+,=@# ", PATH_CHARS, err);
}

static int take_minutes(const char *text, long *out, struct err *err)
{
    *out = DEFAULT_MINUTES;
    if (!text)
        return 0;
    size_t digits = strspn(text, "0123456789");
    *out = digits >= 1 && digits <= 4 && !text[digits] ? strtol(text, NULL, 10) : 0;
    if (*out >= 1 && *out <= MINUTES_MAX)
        return 0;
    return err_set(err, ERR_INPUT, 0, "--minutes must be 1 to %d", MINUTES_MAX);
}

/* A name that sysname and sp_add_job take. */
static int check_name(const char *what, const char *name, struct err *err)
{
    size_t units = utf16_count(name);
    if (units == SIZE_MAX)
        return err_set(err, ERR_INPUT, 0, "%s is not UTF-8", what);
    if (units < 1 || units > LIMIT_SQL_NAME_UTF16)
        return err_set(err, ERR_INPUT, 0, "%s must be 1 to %d characters, not %zu", what,
                       LIMIT_SQL_NAME_UTF16, units);
    for (const char *at = name; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == '\x7F' || *at == '%')
            return err_set(err, ERR_INPUT, 0, "%s must not hold %s", what,
                           *at == '%' ? "%" : "control characters");
    }
    return 0;
}

static int take_name(const char *given, const cJSON *tree, struct agent_job *job, struct err *err)
{
    const cJSON *kind = json_member(tree, "kind");
    const cJSON *instance = json_member(tree, "instance");
    if (!cJSON_IsString(kind) || !cJSON_IsString(instance))
        return err_set(err, ERR_INPUT, 0, "the definition must have the texts kind and instance");
    job->name = given ? mem_copy(given)
                      : mem_format("Sweetspot %s on %s", kind->valuestring, instance->valuestring);
    return check_name(given ? "--name" : "the name made of kind and instance (say --name)",
                      job->name, err);
}

/* Reads the definition, which is checked as JSON only: the service knows its kinds. */
static int take_definition(const struct cli_args *args, struct agent_job *job, struct err *err)
{
    struct buf text = BUF_WITH_MAX(LIMIT_BODY_BYTES);
    cJSON *tree = NULL;
    int rc = ask_read_file(args->operands[0], &text, err);
    if (rc == 0)
        rc = json_parse(buf_text(&text), text.length, &tree, err);
    if (rc == 0 && !cJSON_IsObject(tree))
        rc = err_set(err, ERR_INPUT, 0, "the definition must be a JSON object");
    if (rc == 0)
        rc = take_name(args->name, tree, job, err);
    if (rc == 0)
        agent_text_json(buf_text(&text), text.length, &job->definition);
    if (rc == 0 && job->definition.length > LIMIT_BODY_BYTES)
        rc = err_set(err, ERR_INPUT, 0, "the definition is too large: written in ASCII, %zu bytes",
                     job->definition.length);
    cJSON_Delete(tree);
    buf_fini(&text);
    return rc;
}

static int read_job(const struct cli_args *args, struct agent_job *job, struct err *err)
{
    job->kind = find_kind(args->step, err);
    if (!job->kind || take_url(args, job, err) < 0 || take_token(args, job, err) < 0 ||
        take_minutes(args->minutes, &job->minutes, err) < 0)
        return -1;
    if (check_name("--database", job->database, err) < 0)
        return -1;
    return take_definition(args, job, err);
}

/* --- writing ------------------------------------------------------------------------------- */

/* The command as the step has it, before it becomes a T-SQL text. */
static void fill_command(const struct agent_job *job, const char *template, struct buf *out)
{
    struct buf definition = {0};
    bool is_argument = job->kind->command_max > 0; /* of a command line */
    char *minutes = mem_format("%ld", job->minutes);
    char *seconds = mem_format("%ld", job->minutes * 60);
    char *token = job->token[0] ? mem_format(" --header \"@%s\"", job->token) : mem_copy("");
    char *credential =
        job->credential ? mem_format(", @credential = [%s]", job->url) : mem_copy("");
    if (is_argument)
        agent_text_argument(buf_text(&job->definition), &definition);
    else
        buf_add(&definition, buf_text(&job->definition));
    const struct agent_place places[] = {{"url", job->url},
                                         {"key", KEY},
                                         {"minutes", minutes},
                                         {"seconds", seconds},
                                         {"token", token},
                                         {"token_file", job->token},
                                         {"credential", credential},
                                         {"definition", buf_text(&definition)},
                                         {NULL, NULL}};
    agent_text_fill(template, places, out);
    buf_fini(&definition);
    free(minutes);
    free(seconds);
    free(token);
    free(credential);
}

static int add_step(const struct agent_job *job, const struct agent_step *step, bool is_last,
                    struct buf *out, struct err *err)
{
    struct buf command = {0};
    struct buf text = {0};
    struct buf database = {0};
    fill_command(job, step->command, &command);
    size_t max = job->kind->command_max;
    int rc = 0;
    if (max > 0 && command.length > max)
        rc = err_set(err, ERR_INPUT, 0,
                     "the definition is too long for a command line: with it the step has %zu "
                     "characters, %zu at most; --step powershell takes it",
                     command.length, max);
    agent_text_tsql(buf_text(&command), &text);
    if (strcmp(step->subsystem, "TSQL") == 0)
        agent_text_tsql(job->database, &database);
    else
        buf_add(&database, "NULL");
    const struct agent_place places[] = {{"command", buf_text(&text)},
                                         {"step", step->name},
                                         {"subsystem", step->subsystem},
                                         {"database", buf_text(&database)},
                                         {"then", is_last ? QUIT_GOOD : NEXT_STEP},
                                         {"retries", step->retries},
                                         {"flags", step->flags},
                                         {NULL, NULL}};
    agent_text_fill(embedded_agent_step, places, out);
    if (!is_last)
        buf_add(out, "\n");
    buf_fini(&command);
    buf_fini(&text);
    buf_fini(&database);
    return rc;
}

static int write_job(const struct agent_job *job, struct buf *out, struct err *err)
{
    struct buf steps = {0};
    struct buf name = {0};
    bool has_two = job->kind->steps[1].name != NULL;
    int rc = add_step(job, &job->kind->steps[0], !has_two, &steps, err);
    if (rc == 0 && has_two)
        rc = add_step(job, &job->kind->steps[1], true, &steps, err);
    agent_text_tsql(job->name, &name);
    const struct agent_place places[] = {
        {"name", buf_text(&name)}, {"steps", buf_text(&steps)}, {NULL, NULL}};
    if (rc == 0)
        agent_text_fill(embedded_agent_job, places, out);
    buf_fini(&steps);
    buf_fini(&name);
    return rc;
}

int agent_job_run(struct http *http, const struct cli_args *args)
{
    struct agent_job job = {0};
    struct buf text = {0};
    struct err err = {0};
    int status = CLI_OK;
    (void)http; /* nobody is asked: the job is made where the service need not be reached */
    if (read_job(args, &job, &err) < 0 || write_job(&job, &text, &err) < 0) {
        status = ask_bad_file(&err);
    } else {
        ask_print(buf_text(&text));
        cli_say("the job \"%s\" calls %s, as seen from the SQL Server", job.name, job.url);
    }
    buf_fini(&text);
    agent_job_fini(&job);
    return status;
}
