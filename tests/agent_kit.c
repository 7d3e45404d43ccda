#include "tests/agent_kit.h"
#include "server/buf.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* --- programs ------------------------------------------------------------------------------ */

static char *read_all(FILE *file)
{
    struct buf text = {0};
    char block[4096];
    size_t bytes = 0;
    while ((bytes = fread(block, 1, sizeof block, file)) > 0)
        buf_add_bytes(&text, block, bytes);
    return buf_take(&text);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char *text = read_all(file);
    (void)fclose(file); /* only read */
    (void)unlink(path);
    return text;
}

void agent_kit_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

char *agent_kit_shell(const char *line, int *out_status)
{
    FILE *pipe = popen(line, "re"); /* NOLINT(cert-env33-c): a test types what people type */
    assert_non_null(pipe);
    char *text = read_all(pipe);
    int state = pclose(pipe);
    assert_true(WIFEXITED(state));
    *out_status = WEXITSTATUS(state);
    return text;
}

/* sweetspot lies beside the daemon. */
static char *client_program(void)
{
    const char *daemon = getenv("SWEETSPOT_TEST_DAEMON");
    const char *slash = daemon ? strrchr(daemon, '/') : NULL;
    return mem_format("%.*s/sweetspot", slash ? (int)(slash - daemon) : 1, slash ? daemon : ".");
}

char *agent_kit_make(const char *dir, const char *definition, const char *words, int status,
                     char **out_talk)
{
    int got = 0;
    char *program = client_program();
    char *file = mem_format("%s/definition.json", dir);
    char *talk = mem_format("%s/talk", dir);
    char *line = mem_format("%s agent-job %s %s 2>%s", program, file, words, talk);
    agent_kit_write(file, definition);
    char *text = agent_kit_shell(line, &got);
    char *said = read_file(talk);
    (void)unlink(file);
    if (got != status)
        fail_msg("%s: %d instead of %d: %s", line, got, status, said);
    if (out_talk)
        *out_talk = said;
    else
        free(said);
    free(program);
    free(file);
    free(talk);
    free(line);
    return text;
}

/* --- the server ---------------------------------------------------------------------------- */

char *agent_kit_sql(struct harness *house, const char *sql)
{
    int status = 0;
    char *file = mem_format("%s/batch.sql", house->dir);
    char *batch = mem_format("%s\nGO\n", sql);
    char *line = mem_format("LC_ALL=C.UTF-8 tsql -H 127.0.0.1 -p %d -U sa -P Sweetspot-1 -o qhf "
                            "<%s 2>&1",
                            sim_port(house->sim), file);
    agent_kit_write(file, batch);
    char *text = agent_kit_shell(line, &status);
    (void)unlink(file);
    free(file);
    free(batch);
    free(line);
    size_t length = strlen(text); /* tsql ends a row with a line's end of its own */
    if (length > 0 && text[length - 1] == '\n')
        text[length - 1] = '\0';
    return text;
}

#define OF_THE_LAST_JOB "job_id = (SELECT TOP 1 job_id FROM msdb.dbo.sysjobs ORDER BY name DESC)"

char *agent_kit_command(struct harness *house, int step)
{
    char *sql = mem_format("SET TEXTSIZE 2147483647; SELECT command FROM msdb.dbo.sysjobsteps "
                           "WHERE step_id = %d AND " OF_THE_LAST_JOB,
                           step);
    char *text = agent_kit_sql(house, sql);
    free(sql);
    return text;
}

char *agent_kit_job_id(struct harness *house)
{
    return agent_kit_sql(house, "SELECT CONVERT(varchar(34), CAST(job_id AS binary(16)), 1) FROM "
                                "msdb.dbo.sysjobs WHERE " OF_THE_LAST_JOB);
}

/* --- what Agent does ----------------------------------------------------------------------- */

static const char *token_value(const char *name, size_t length, const struct agent_run *run,
                               const char *step, const char *job_id)
{
    const struct {
        const char *name;
        const char *value;
    } tokens[] = {
        {"JOBID", job_id}, {"STEPID", step}, {"STRTDT", run->date}, {"STRTTM", run->time}};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        if (strlen(tokens[i].name) == length && strncmp(tokens[i].name, name, length) == 0)
            return tokens[i].value;
    }
    fail_msg("Agent knows no token %.*s", (int)length, name);
    return "";
}

char *agent_kit_tokens(const char *command, const struct agent_run *run, int step,
                       const char *job_id)
{
    static const char macro[] = "ESCAPE_SQUOTE(";
    struct buf out = {0};
    char *number = mem_format("%d", step);
    for (const char *token = strstr(command, "$("); token; token = strstr(command, "$(")) {
        const char *name = token + 2 + sizeof macro - 1;
        size_t length = strcspn(name, ")");
        if (strncmp(token + 2, macro, sizeof macro - 1) != 0 ||
            strncmp(name + length, "))", 2) != 0)
            fail_msg("Agent fails the step: no escape macro at %.60s", token);
        buf_add_bytes(&out, command, (size_t)(token - command));
        /* none of these values holds a quote to be doubled */
        buf_add(&out, token_value(name, length, run, number, job_id));
        command = name + length + 2;
    }
    buf_add(&out, command);
    free(number);
    return buf_take(&out);
}

/* --- a command line on Windows ------------------------------------------------------------- */

#define WORDS 64

/* What cmd.exe would act on stands in quotation marks, which for it each " begins or ends. */
static void check_for_cmd(const char *line)
{
    bool quoted = false;
    for (const char *at = line; *at; at++) {
        quoted = *at == '"' ? !quoted : quoted;
        if (strchr("%!\r\n", *at) || (!quoted && strchr("&|<>^()@", *at)))
            fail_msg("cmd.exe would act on %.40s", at);
    }
    assert_true(strlen(line) < 8191);
}

/* One word as C programs on Windows read it: 2n backslashes before a quotation mark are n, one more
 * makes it a plain one; all other backslashes are themselves. */
static const char *read_word(const char *at, struct buf *word)
{
    bool quoted = false;
    for (; *at && (quoted || *at != ' '); at++) {
        size_t slashes = strspn(at, "\\");
        bool before_quote = at[slashes] == '"';
        for (size_t i = 0; i < (before_quote ? slashes / 2 : slashes); i++)
            buf_add_char(word, '\\');
        at += slashes;
        if (before_quote && slashes % 2 == 0)
            quoted = !quoted;
        else if (!*at || (!quoted && *at == ' '))
            break;
        else
            buf_add_char(word, *at);
    }
    return at + strspn(at, " ");
}

static size_t split(const char *line, char *words[WORDS])
{
    size_t count = 0;
    while (*line) {
        struct buf word = {0};
        line = read_word(line, &word);
        assert_true(count < WORDS - 1);
        words[count++] = buf_take(&word);
    }
    words[count] = NULL;
    return count;
}

/* A shell reads the same words, so that the command may be tried on other systems. */
static void check_with_sh(const char *dir, const char *line, char *const words[])
{
    int status = 0;
    char *file = mem_format("%s/words.sh", dir);
    char *script = mem_format("printf '%%s\\n' %s", line);
    char *command = mem_format("sh %s", file);
    struct buf want = {0};
    agent_kit_write(file, script);
    char *got = agent_kit_shell(command, &status);
    for (size_t i = 0; words[i]; i++)
        buf_format(&want, "%s\n", words[i]);
    assert_string_equal(got, buf_text(&want));
    (void)unlink(file);
    buf_fini(&want);
    free(got);
    free(command);
    free(script);
    free(file);
}

static void be_program(const char *dir, char *const words[], int out)
{
    if (!words[0] || strcmp(words[0], "curl.exe") != 0 || chdir(dir) < 0 ||
        dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
        _exit(126);
    (void)execvp("curl", words);
    _exit(127);
}

struct step_end agent_kit_cmdexec(const char *dir, const char *line,
                                  void (*on_line)(const char *line, void *arg), void *arg)
{
    char *words[WORDS];
    char text[4096];
    int ends[2];
    int state = 0;
    struct buf output = {0};
    check_for_cmd(line);
    size_t count = split(line, words);
    check_with_sh(dir, line, words);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_program(dir, words, ends[1]);
    (void)close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    assert_non_null(file);
    while (file && fgets(text, sizeof text, file)) {
        buf_add(&output, text);
        if (on_line)
            on_line(text, arg);
    }
    if (file)
        (void)fclose(file); /* only read */
    assert_int_equal(waitpid(pid, &state, 0), pid);
    assert_true(WIFEXITED(state));
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    char *nul = mem_format("%s/NUL", dir); /* a device on Windows, a file here */
    (void)unlink(nul);
    free(nul);
    return (struct step_end){.status = WEXITSTATUS(state), .output = buf_take(&output)};
}

struct step_end agent_kit_step(struct harness *house, const struct agent_run *run, int step)
{
    char *job_id = agent_kit_job_id(house);
    char *command = agent_kit_command(house, step);
    char *line = agent_kit_tokens(command, run, step, job_id);
    struct step_end end = agent_kit_cmdexec(house->dir, line, NULL, NULL);
    free(job_id);
    free(command);
    free(line);
    return end;
}

/* --- for tests of a whole job -------------------------------------------------------------- */

const struct agent_run agent_kit_tonight = {.date = "20261201", .time = "33000"};

void agent_kit_put(struct harness *house, const char *definition, const char *words)
{
    char *all = mem_format("%s --url http://127.0.0.1:%d", words, harness_port(house));
    char *sql = agent_kit_make(house->dir, definition, all, 0, NULL);
    char *said = agent_kit_sql(house, sql);
    assert_string_equal(said, "");
    free(said);
    free(sql);
    free(all);
}

void agent_kit_ends(struct step_end end, int status, const char *holds)
{
    if (end.status != status || !strstr(end.output, holds))
        fail_msg("%d, not %d with %s: %s", end.status, status, holds, end.output);
    free(end.output);
}

cJSON *agent_kit_newest(struct harness *house)
{
    cJSON *list = harness_call(house, "GET", "/v1/jobs?limit=1", NULL, 200);
    cJSON *job = cJSON_DetachItemFromArray(cJSON_GetObjectItem(list, "items"), 0);
    cJSON_Delete(list);
    assert_non_null(job);
    return job;
}

int agent_kit_count(struct harness *house)
{
    cJSON *list = harness_call(house, "GET", "/v1/jobs", NULL, 200);
    int count = cJSON_GetArraySize(at(list, "items"));
    cJSON_Delete(list);
    return count;
}

void agent_kit_token(struct harness *house, const char *before, const char *file)
{
    int status = 0;
    char *line = mem_format("(printf '%s'; %s token create --name agent --scope submit "
                            "--config=/dev/null --state-dir=%s) 2>/dev/null >'%s'",
                            before, getenv("SWEETSPOT_TEST_DAEMON"), house->dir, file);
    free(agent_kit_shell(line, &status));
    assert_int_equal(status, 0);
    free(line);
}

void agent_kit_same_text(const cJSON *job, const char *path, const char *definition)
{
    cJSON *sent = cJSON_Parse(definition);
    assert_non_null(sent);
    assert_string_equal(text_at(job, path), text_at(sent, path));
    cJSON_Delete(sent);
}

/* As they stand between the quotation marks of a JSON text. */
static const char *const hostile[] = {
    "it's 'quoted'",
    "\\\" \\\\\\\" \\\\\\\\ + \\\"\\\" \\\\",
    "100 % %PATH% %%i !x! ^& | < > && (x)",
    "$( $(ESCAPE_SQUOTE(JOBID)) $(x) ${y} `id` $x",
    "] ]] [x] -- /* */ ;GO",
    "\\n\\r\\t\\b\\f\\u0001\\u007f {{url}} {{definition}}",
    "\xF0\x9F\x98\x80 \xC3\xA4 \\ud83d\\ude00 \\u00e4 \xE2\x80\x99 \xE2\x80\x9C",
    "\\/ C:\\\\Backup\\\\ \\\\\\\\server\\\\share\\\\",
};

char *agent_kit_hostile(size_t at)
{
    if (at >= sizeof hostile / sizeof hostile[0])
        return NULL;
    const char *text = hostile[at];
    return mem_format("{\"kind\": \"backup_sweep\", \"instance\": \"sql01\",\n \"parameters\": "
                      "{\"database\": \"Sales\", \"buffercount\": [50]},\r\n\t\"labels\": "
                      "{\"x\": \"%s\"}, \"requested_by\": \"%s\"}",
                      text, text);
}

int agent_kit_set_up(void **state)
{
    struct harness *house = harness_start(WINDOWS);
    harness_register(house, NULL);
    *state = house;
    return 0;
}

int agent_kit_tear_down(void **state)
{
    harness_stop(*state);
    return 0;
}
