/* `sweetspot agent-job`: what it makes is run as SQL Server Agent runs it, against a whole service.
 */
#include "server/buf.h"
#include "server/mem.h"
#include "tests/agent_kit.h"
#include "tests/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WINDOWS "{'time_scale':0,'platform':'Windows','version':'17.0.1000.7'}"
#define SWEEP_OF(database, more)                                                                   \
    "{\"kind\":\"backup_sweep\",\"instance\":\"sql01\",\"parameters\":{\"database\":\"" database   \
    "\",\"buffercount\":[50]},\"design\":{\"repetitions\":3}" more "}"
#define SWEEP SWEEP_OF("Sales", "")

static const struct agent_run tonight = {.date = "20261201", .time = "33000"};
static const struct agent_run tomorrow = {.date = "20261202", .time = "33000"};

/* Makes the job on the simulator; words beside --url. */
static void make(struct harness *house, const char *definition, const char *words)
{
    char *all = mem_format("%s --url http://127.0.0.1:%d", words, harness_port(house));
    char *sql = agent_kit_make(house->dir, definition, all, 0, NULL);
    char *said = agent_kit_sql(house, sql);
    assert_string_equal(said, "");
    free(said);
    free(sql);
    free(all);
}

static void assert_ends(struct step_end end, int status, const char *holds)
{
    if (end.status != status || !strstr(end.output, holds))
        fail_msg("%d, not %d with %s: %s", end.status, status, holds, end.output);
    free(end.output);
}

static cJSON *newest(struct harness *house)
{
    cJSON *list = harness_call(house, "GET", "/v1/jobs?limit=1", NULL, 200);
    cJSON *job = cJSON_DetachItemFromArray(cJSON_GetObjectItem(list, "items"), 0);
    cJSON_Delete(list);
    assert_non_null(job);
    return job;
}

static int count_jobs(struct harness *house)
{
    cJSON *list = harness_call(house, "GET", "/v1/jobs", NULL, 200);
    int count = cJSON_GetArraySize(at(list, "items"));
    cJSON_Delete(list);
    return count;
}

/* --- curl ---------------------------------------------------------------------------------- */

static void a_good_job_is_green_and_says_what_came_out(void **state)
{
    struct harness *house = *state;
    make(house, SWEEP, "--step curl");
    assert_ends(agent_kit_step(house, &tonight, 1), 0, "\"state\":\"queued\"");
    assert_ends(agent_kit_step(house, &tonight, 2), 0, "\"summary\":\"BUFFERCOUNT=50: ");
    char *steps = agent_kit_sql(house, "SELECT COUNT(*), MIN(subsystem), MIN(flags), "
                                       "MAX(on_success_action) FROM msdb.dbo.sysjobsteps");
    assert_string_equal(steps, "2\tCmdExec\t32\t3");
    free(steps);
}

static void a_bad_verdict_is_red_and_says_why(void **state)
{
    struct harness *house = *state;
    make(house, SWEEP_OF("Missing", ""), "--step curl");
    assert_ends(agent_kit_step(house, &tonight, 1), 0, "\"database\":\"Missing\"");
    assert_ends(agent_kit_step(house, &tonight, 2), 22, "the job ended as failed: ");
}

static void a_job_that_is_not_taken_is_red_at_once(void **state)
{
    struct harness *house = *state;
    make(house, SWEEP_OF("Sales", ",\"priority\":10"), "--step curl");
    assert_ends(agent_kit_step(house, &tonight, 1), 22, "\"pointer\":\"/priority\"");
    assert_ends(agent_kit_step(house, &tonight, 2), 22, "no job was sent with this key");
}

/* Text with each `old` as `new`, both of one length. */
static void replace(char *text, const char *old, const char *new)
{
    size_t length = strlen(old);
    assert_int_equal(length, strlen(new));
    assert_non_null(strstr(text, old));
    for (char *at = strstr(text, old); at; at = strstr(at + length, old))
        memcpy(at, new, length);
}

static void a_service_that_is_not_there_is_red(void **state)
{
    struct harness *house = *state;
    char *line = NULL;
    char *job_id = NULL;
    make(house, SWEEP, "--step curl");
    char *command = agent_kit_command(house, 1);
    replace(command, "--retry 20", "--retry 00"); /* a minute of patience; none in a test */
    job_id = agent_kit_job_id(house);
    line = agent_kit_tokens(command, &tonight, 1, job_id);
    harness_stop_daemon(house);
    assert_ends(agent_kit_cmdexec(house->dir, line, NULL, NULL), 7, "Failed to connect");
    harness_start_daemon(house);
    free(command);
    free(job_id);
    free(line);
}

static void a_repeated_step_makes_no_second_job_and_the_next_night_does(void **state)
{
    struct harness *house = *state;
    make(house, SWEEP, "--step curl");
    for (int i = 0; i < 3; i++) {
        assert_ends(agent_kit_step(house, &tonight, 1), 0, "\"kind\":\"backup_sweep\"");
        assert_int_equal(count_jobs(house), 1);
    }
    assert_ends(agent_kit_step(house, &tonight, 2), 0, "succeeded");
    assert_ends(agent_kit_step(house, &tonight, 2), 0, "succeeded");
    assert_ends(agent_kit_step(house, &tomorrow, 1), 0, "\"kind\":\"backup_sweep\"");
    assert_int_equal(count_jobs(house), 2);
    assert_ends(agent_kit_step(house, &tomorrow, 2), 0, "succeeded");
}

static void release(const char *line, void *arg)
{
    if (strstr(line, "Will retry"))
        sim_release(arg); /* the job goes on only after a 408 */
}

static void while_the_job_goes_on_it_is_asked_again(void **state)
{
    struct harness *house = *state;
    char error[SIM_ERROR_SIZE];
    assert_int_equal(sim_fault(house->sim, "{'do':'hold_before','match':'BACKUP'}", error), 0);
    make(house, SWEEP, "--step curl --minutes 1");
    assert_ends(agent_kit_step(house, &tonight, 1), 0, "");
    char *job_id = agent_kit_job_id(house);
    char *command = agent_kit_command(house, 2);
    char *line = agent_kit_tokens(command, &tonight, 2, job_id);
    /* as it stands, but without a minute's wait, and saying that it asks again */
    replace(line, "wait=60", "wait=00");
    replace(line, "--silent", "        ");
    struct step_end end = agent_kit_cmdexec(house->dir, line, release, house->sim);
    assert_non_null(strstr(end.output, "Will retry"));
    assert_ends(end, 0, "succeeded");
    free(line);
    free(command);
    free(job_id);
}

static void the_token_comes_from_a_file_of_the_server(void **state)
{
    struct harness *house = *state;
    int status = 0;
    const char *program = getenv("SWEETSPOT_TEST_DAEMON");
    char *file = mem_format("%s/agent (night) token.hdr", house->dir);
    char *line = mem_format("printf 'Authorization: Bearer ' >'%s' && %s token create --name agent "
                            "--scope submit --config=/dev/null --state-dir=%s 2>/dev/null >>'%s'",
                            file, program, house->dir, file);
    char *words = mem_format("--step curl --token-file '%s'", file);
    free(agent_kit_shell(line, &status));
    assert_int_equal(status, 0);
    make(house, SWEEP, "--step curl --name a");
    assert_ends(agent_kit_step(house, &tonight, 1), 22, "\"status\":401");
    assert_ends(agent_kit_step(house, &tonight, 2), 22, "\"status\":401");
    free(words);
    words = mem_format("--step curl --name b --token-file '%s'", file);
    make(house, SWEEP, words);
    assert_ends(agent_kit_step(house, &tonight, 1), 0, "\"state\":\"queued\"");
    assert_ends(agent_kit_step(house, &tonight, 2), 0, "succeeded");
    (void)unlink(file);
    free(words);
    free(line);
    free(file);
}

/* --- hostile definitions ------------------------------------------------------------------- */

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

static char *hostile_definition(const char *text)
{
    return mem_format("{\"kind\": \"backup_sweep\", \"instance\": \"sql01\",\n \"parameters\": "
                      "{\"database\": \"Sales\", \"buffercount\": [50]},\r\n\t\"labels\": "
                      "{\"x\": \"%s\"}, \"requested_by\": \"%s\"}",
                      text, text);
}

static void assert_same_text(const cJSON *job, const char *path, const char *definition)
{
    cJSON *sent = cJSON_Parse(definition);
    assert_non_null(sent);
    assert_string_equal(text_at(job, path), text_at(sent, path));
    cJSON_Delete(sent);
}

static void a_definition_comes_through_whatever_it_holds(void **state)
{
    struct harness *house = *state;
    cJSON_Delete(harness_call(house, "POST", "/v1/mode", "{'mode':'paused'}", 200));
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        char *definition = hostile_definition(hostile[i]);
        char *words = mem_format("--step curl --name h%zu", i);
        make(house, definition, words);
        struct step_end end = agent_kit_step(house, &tonight, 1);
        if (end.status != 0)
            fail_msg("%s: %s", hostile[i], end.output);
        cJSON *job = newest(house);
        assert_int_equal(count_jobs(house), i + 1);
        assert_same_text(job, "labels/x", definition);
        assert_same_text(job, "requested_by", definition);
        cJSON_Delete(job);
        free(end.output);
        free(words);
        free(definition);
    }
}

/* Each kind's command holds the same definition, and it is the JSON that the file is. */
static void every_kind_of_step_holds_the_same_definition(void **state)
{
    static const struct {
        const char *kind, *url, *before, *after;
    } kinds[] = {
        {"powershell", "http://h", "$definition = '", "'\n"},
        {"rest", "https://h", "@definition nvarchar(max) = N'", "';\n"},
    };
    struct harness *house = *state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            char *definition = hostile_definition(hostile[i]);
            char *words =
                mem_format("--step %s --url %s --name n%zu%zu", kinds[k].kind, kinds[k].url, i, k);
            char *sql = agent_kit_make(house->dir, definition, words, 0, NULL);
            free(agent_kit_sql(house, sql));
            char *command = agent_kit_command(house, 1);
            char *from = strstr(command, kinds[k].before);
            assert_non_null(from);
            from += strlen(kinds[k].before);
            char *to = strstr(from, kinds[k].after);
            assert_non_null(to);
            *to = '\0';
            assert_null(strpbrk(from, "'$`%^&\n"));
            cJSON *sent = cJSON_Parse(from);
            cJSON *meant = cJSON_Parse(definition);
            assert_true(cJSON_Compare(sent, meant, true));
            cJSON_Delete(sent);
            cJSON_Delete(meant);
            free(command);
            free(sql);
            free(words);
            free(definition);
        }
    }
}

/* --- PowerShell ---------------------------------------------------------------------------- */

/* Outside of texts and comments each bracket is closed by its own; a text ends on its line, and
 * nothing is expanded in it. */
static void assert_balanced(const char *script)
{
    char open[64];
    size_t depth = 0;
    for (const char *at = script; *at; at++) {
        assert_int_not_equal(*at, '"');
        if (*at == '#')
            at += strcspn(at, "\n");
        else if (*at == '\'') {
            at += 1 + strcspn(at + 1, "'\n");
            assert_int_equal(*at, '\'');
        } else if (strchr("({[", *at)) {
            assert_true(depth < sizeof open);
            open[depth++] = *at;
        } else if (strchr(")}]", *at)) {
            assert_true(depth > 0);
            char before = open[--depth];
            assert_int_equal(*at, before == '(' ? ')' : before + 2);
        }
    }
    assert_int_equal(depth, 0);
}

static void a_powershell_step_stops_at_errors_and_throws(void **state)
{
    static const char *const holds[] = {"$ErrorActionPreference = 'Stop'\n",
                                        "SecurityProtocol -bor 3072",
                                        "throw 'The verdict is not good: '",
                                        "throw 'Sweetspot did not take the job: '",
                                        "$tokenFile = 'C:\\ProgramData\\Sweetspot\\agent.hdr'",
                                        "-$(ESCAPE_SQUOTE(STRTTM))-$(ESCAPE_SQUOTE(STEPID))'"};
    struct harness *house = *state;
    make(house, SWEEP, "--step powershell --token-file 'C:\\ProgramData\\Sweetspot\\agent.hdr'");
    char *command = agent_kit_command(house, 1);
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++) {
        if (!strstr(command, holds[i]))
            fail_msg("no %s in %s", holds[i], command);
    }
    assert_null(strstr(command, "Write-Host")); /* no console there */
    char *ready = agent_kit_tokens(command, &tonight, 1, "0x01");
    assert_null(strstr(ready, "$(")); /* Agent would take it for a token */
    assert_balanced(ready);
    free(ready);
    free(command);
    char *step = agent_kit_sql(house, "SELECT subsystem, flags FROM msdb.dbo.sysjobsteps");
    assert_string_equal(step, "PowerShell\t32");
    free(step);
}

/* Where there is a PowerShell, the step is run by it. */
static struct step_end run_powershell(struct harness *house, const struct agent_run *run)
{
    char *job_id = agent_kit_job_id(house);
    char *command = agent_kit_command(house, 1);
    char *text = agent_kit_tokens(command, run, 1, job_id);
    char *file = mem_format("%s/step.ps1", house->dir);
    char *line = mem_format("pwsh -NoProfile -NonInteractive -File %s 2>&1", file);
    struct step_end end = {0};
    agent_kit_write(file, text);
    end.output = agent_kit_shell(line, &end.status);
    (void)unlink(file);
    free(line);
    free(file);
    free(text);
    free(command);
    free(job_id);
    return end;
}

static void a_powershell_step_is_green_and_red(void **state)
{
    struct harness *house = *state;
    int status = 0;
    free(agent_kit_shell("command -v pwsh", &status));
    if (status != 0)
        skip();
    make(house, SWEEP, "--step powershell --name a");
    assert_ends(run_powershell(house, &tonight), 0, "succeeded");
    assert_ends(run_powershell(house, &tonight), 0, "succeeded");
    assert_int_equal(count_jobs(house), 1);
    make(house, SWEEP_OF("Missing", ""), "--step powershell --name b");
    assert_ends(run_powershell(house, &tonight), 1, "the job ended as failed");
}

/* --- what is refused ----------------------------------------------------------------------- */

#define LONG_NAME                                                                                  \
    "12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"    \
    "0123456789012345678901234567890123456789"

static void what_cannot_be_carried_is_named(void **state)
{
    static const struct {
        const char *definition, *words;
        int status;
        const char *told;
    } cases[] = {
        {SWEEP, "", 4, "--step must be curl, powershell or rest"},
        {SWEEP, "--step bash", 4, "--step must be curl, powershell or rest, not \"bash\""},
        {SWEEP, "--step rest", 4, "needs an --url that begins with https://"},
        {SWEEP, "--step curl --url ftp://h", 4, "must begin with http:// or https://"},
        {SWEEP, "--step curl --url 'http://h/%41'", 4, "--url cannot hold %"},
        {SWEEP, "--step curl --url \"http://h/'\"", 4, "--url cannot hold '"},
        {SWEEP, "--step curl --url 'http://\xC3\xA4'", 4, "--url cannot hold byte 0xC3"},
        {SWEEP, "--step curl --token-file 'C:\\%TEMP%\\t'", 4, "--token-file cannot hold %"},
        {SWEEP, "--step powershell --token-file \"C:\\it's\"", 4, "--token-file cannot hold '"},
        {SWEEP, "--step rest --url https://h --token-file t", 4, "say --credential"},
        {SWEEP, "--step curl --credential", 4, "--credential is for --step rest"},
        {SWEEP, "--step curl --minutes 0", 4, "--minutes must be 1 to 1440"},
        {SWEEP, "--step curl --minutes 1441", 4, "--minutes must be 1 to 1440"},
        {SWEEP, "--step curl --name " LONG_NAME, 4, "--name must be 1 to 128 characters, not 129"},
        {SWEEP, "--step curl --name '50 %'", 4, "--name must not hold %"},
        {SWEEP, "--step curl --name 'a\tb'", 4, "--name must not hold control characters"},
        {"{\"kind\": \"x\",\n  \"instance\" 1}", "--step curl", 4, "definition.json: line 2"},
        {"[]", "--step curl", 4, "the definition must be a JSON object"},
        {"{\"kind\": 7, \"instance\": \"a\"}", "--step curl", 4, "texts kind and instance"},
        {SWEEP, "--step curl --wait", 2, "agent-job does not take --wait"},
    };
    struct harness *house = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *talk = NULL;
        char *text =
            agent_kit_make(house->dir, cases[i].definition, cases[i].words, cases[i].status, &talk);
        assert_string_equal(text, "");
        if (!strstr(talk, cases[i].told))
            fail_msg("%s: %s", cases[i].words, talk);
        free(talk);
        free(text);
    }
}

static void what_is_too_long_for_a_command_line_goes_by_powershell(void **state)
{
    struct harness *house = *state;
    struct buf list = {0};
    char *talk = NULL;
    for (int i = 0; i < 2000; i++)
        buf_format(&list, "%s%d", i ? "," : "", i + 1000);
    char *definition =
        mem_format("{\"kind\":\"backup_sweep\",\"instance\":\"sql01\",\"parameters\":"
                   "{\"database\":\"Sales\",\"buffercount\":[%s]}}",
                   buf_text(&list));
    free(agent_kit_make(house->dir, definition, "--step curl", 4, &talk));
    assert_non_null(strstr(talk, "8000 at most; --step powershell takes it"));
    make(house, definition, "--step powershell");
    char *command = agent_kit_command(house, 1);
    assert_non_null(strstr(command, ",2998,2999]}}'\n"));
    free(command);
    free(talk);
    free(definition);
    buf_fini(&list);
}

/* --- the T-SQL ----------------------------------------------------------------------------- */

static void a_job_that_is_there_is_left_as_it_is(void **state)
{
    struct harness *house = *state;
    char *words = mem_format("--step curl --name \"N\xC3\xA4"
                             "chtlich's \xF0\x9F\x98\x80\" --url "
                             "http://h:8484");
    char *sql = agent_kit_make(house->dir, SWEEP, words, 0, NULL);
    free(agent_kit_sql(house, sql));
    char *said = agent_kit_sql(house, sql);
    assert_non_null(strstr(said, "already exists."));
    free(said);
    said = agent_kit_sql(house, "SELECT name, (SELECT COUNT(*) FROM msdb.dbo.sysjobsteps), (SELECT "
                                "COUNT(*) FROM msdb.dbo.sysjobservers) FROM msdb.dbo.sysjobs");
    assert_string_equal(said, "N\xC3\xA4"
                              "chtlich's \xF0\x9F\x98\x80\t2\t1");
    for (const char *at = sql; *at; at++)
        assert_true((unsigned char)*at < 0x80); /* whatever code page the file is read in */
    assert_null(strstr(sql, "$("));             /* for sqlcmd that were a variable */
    free(said);
    free(sql);
    free(words);
}

static void a_job_that_fails_half_way_leaves_nothing(void **state)
{
    struct harness *house = *state;
    char error[SIM_ERROR_SIZE];
    char *sql = agent_kit_make(house->dir, SWEEP, "--step curl", 0, NULL);
    assert_int_equal(sim_fault(house->sim,
                               "{'do':'error','match':'EXEC msdb.dbo.sp_add_jobstep','nth':2,"
                               "'number':1105,'severity':17,'state':2,'text':'no room'}",
                               error),
                     0);
    char *said = agent_kit_sql(house, sql);
    assert_non_null(strstr(said, "no room"));
    free(said);
    said = agent_kit_sql(house, "SELECT COUNT(*) FROM msdb.dbo.sysjobs");
    assert_string_equal(said, "0");
    free(said);
    free(sql);
}

static int set_up(void **state)
{
    struct harness *house = harness_start(WINDOWS);
    harness_register(house, NULL);
    *state = house;
    return 0;
}

static int tear_down(void **state)
{
    harness_stop(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_job_is_green_and_says_what_came_out),
        TEST(a_bad_verdict_is_red_and_says_why),
        TEST(a_job_that_is_not_taken_is_red_at_once),
        TEST(a_service_that_is_not_there_is_red),
        TEST(a_repeated_step_makes_no_second_job_and_the_next_night_does),
        TEST(while_the_job_goes_on_it_is_asked_again),
        TEST(the_token_comes_from_a_file_of_the_server),
        TEST(a_definition_comes_through_whatever_it_holds),
        TEST(every_kind_of_step_holds_the_same_definition),
        TEST(a_powershell_step_stops_at_errors_and_throws),
        TEST(a_powershell_step_is_green_and_red),
        TEST(what_cannot_be_carried_is_named),
        TEST(what_is_too_long_for_a_command_line_goes_by_powershell),
        TEST(a_job_that_is_there_is_left_as_it_is),
        TEST(a_job_that_fails_half_way_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
