/* `sweetspot agent-job`: what it makes is run as SQL Server Agent runs it, against a whole service.
 */
#include "server/buf.h"
#include "server/mem.h"
#include "tests/agent_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct agent_run tomorrow = {.date = "20261202", .time = "33000"};

/* --- curl ---------------------------------------------------------------------------------- */

static void a_good_job_is_green_and_says_what_came_out(void **state)
{
    struct harness *house = *state;
    agent_kit_put(house, SWEEP, "--step curl");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 1), 0, "\"state\":\"queued\"");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 2), 0,
                   "\"summary\":\"BUFFERCOUNT=50: ");
    char *steps = agent_kit_sql(house, "SELECT COUNT(*), MIN(subsystem), MIN(flags), "
                                       "MAX(on_success_action) FROM msdb.dbo.sysjobsteps");
    assert_string_equal(steps, "2\tCmdExec\t32\t3");
    free(steps);
}

static void a_bad_verdict_is_red_and_says_why(void **state)
{
    struct harness *house = *state;
    agent_kit_put(house, SWEEP_OF("Missing", ""), "--step curl");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 1), 0, "\"database\":\"Missing\"");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 2), 22, "the job ended as failed: ");
}

static void a_job_that_is_not_taken_is_red_at_once(void **state)
{
    struct harness *house = *state;
    agent_kit_put(house, SWEEP_OF("Sales", ",\"priority\":10"), "--step curl");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 1), 22, "\"pointer\":\"/priority\"");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 2), 22,
                   "no job was sent with this key");
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
    agent_kit_put(house, SWEEP, "--step curl");
    char *command = agent_kit_command(house, 1);
    replace(command, "--retry 20", "--retry 00"); /* a minute of patience; none in a test */
    job_id = agent_kit_job_id(house);
    line = agent_kit_tokens(command, &agent_kit_tonight, 1, job_id);
    harness_stop_daemon(house);
    agent_kit_ends(agent_kit_cmdexec(house->dir, line, NULL, NULL), 7, "Failed to connect");
    harness_start_daemon(house);
    free(command);
    free(job_id);
    free(line);
}

static void a_repeated_step_makes_no_second_job_and_the_next_night_does(void **state)
{
    struct harness *house = *state;
    agent_kit_put(house, SWEEP, "--step curl");
    for (int i = 0; i < 3; i++) {
        agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 1), 0,
                       "\"kind\":\"backup_sweep\"");
        assert_int_equal(agent_kit_count(house), 1);
    }
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 2), 0, "succeeded");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 2), 0, "succeeded");
    agent_kit_ends(agent_kit_step(house, &tomorrow, 1), 0, "\"kind\":\"backup_sweep\"");
    assert_int_equal(agent_kit_count(house), 2);
    agent_kit_ends(agent_kit_step(house, &tomorrow, 2), 0, "succeeded");
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
    agent_kit_put(house, SWEEP, "--step curl --minutes 1");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 1), 0, "");
    char *job_id = agent_kit_job_id(house);
    char *command = agent_kit_command(house, 2);
    char *line = agent_kit_tokens(command, &agent_kit_tonight, 2, job_id);
    /* as it stands, but without a minute's wait, and saying that it asks again */
    replace(line, "wait=60", "wait=00");
    replace(line, "--silent", "        ");
    struct step_end end = agent_kit_cmdexec(house->dir, line, release, house->sim);
    assert_non_null(strstr(end.output, "Will retry"));
    agent_kit_ends(end, 0, "succeeded");
    free(line);
    free(command);
    free(job_id);
}

static void the_token_comes_from_a_file_of_the_server(void **state)
{
    struct harness *house = *state;
    char *file = mem_format("%s/agent (night) token.hdr", house->dir);
    char *words = mem_format("--step curl --name b --token-file '%s'", file);
    agent_kit_token(house, "Authorization: Bearer ", file);
    agent_kit_put(house, SWEEP, "--step curl --name a");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 1), 22, "\"status\":401");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 2), 22, "\"status\":401");
    agent_kit_put(house, SWEEP, words);
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 1), 0, "\"state\":\"queued\"");
    agent_kit_ends(agent_kit_step(house, &agent_kit_tonight, 2), 0, "succeeded");
    (void)unlink(file);
    free(words);
    free(file);
}

/* --- hostile definitions ------------------------------------------------------------------- */

static void a_definition_comes_through_whatever_it_holds(void **state)
{
    struct harness *house = *state;
    cJSON_Delete(harness_call(house, "POST", "/v1/mode", "{'mode':'paused'}", 200));
    char *definition = NULL;
    for (size_t i = 0; (definition = agent_kit_hostile(i)); i++) {
        char *words = mem_format("--step curl --name h%zu", i);
        agent_kit_put(house, definition, words);
        struct step_end end = agent_kit_step(house, &agent_kit_tonight, 1);
        if (end.status != 0)
            fail_msg("%s: %s", definition, end.output);
        cJSON *job = agent_kit_newest(house);
        assert_int_equal(agent_kit_count(house), i + 1);
        agent_kit_same_text(job, "labels/x", definition);
        agent_kit_same_text(job, "requested_by", definition);
        cJSON_Delete(job);
        free(end.output);
        free(words);
        free(definition);
    }
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
    agent_kit_put(house, definition, "--step powershell");
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, agent_kit_set_up, agent_kit_tear_down)

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
        TEST(what_cannot_be_carried_is_named),
        TEST(what_is_too_long_for_a_command_line_goes_by_powershell),
        TEST(a_job_that_is_there_is_left_as_it_is),
        TEST(a_job_that_fails_half_way_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
