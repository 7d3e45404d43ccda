/* The PowerShell and T-SQL steps of `sweetspot agent-job`. */
#include "server/buf.h"
#include "server/mem.h"
#include "tests/agent_kit.h"
#include "tests/certificate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, agent_kit_set_up, agent_kit_tear_down)

/* Between these texts stands the JSON of the definition, in characters that need no care. */
static void assert_holds_definition(char *command, const char *before, const char *after,
                                    const char *definition)
{
    char *from = strstr(command, before);
    assert_non_null(from);
    from += strlen(before);
    char *to = strstr(from, after);
    assert_non_null(to);
    *to = '\0';
    assert_null(strpbrk(from, "'$`%^&\n"));
    cJSON *sent = cJSON_Parse(from);
    cJSON *meant = cJSON_Parse(definition);
    assert_true(cJSON_Compare(sent, meant, true));
    cJSON_Delete(sent);
    cJSON_Delete(meant);
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
    char *definition = NULL;
    for (size_t i = 0; (definition = agent_kit_hostile(i)); i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            char *words =
                mem_format("--step %s --url %s --name n%zu%zu", kinds[k].kind, kinds[k].url, i, k);
            char *sql = agent_kit_make(house->dir, definition, words, 0, NULL);
            free(agent_kit_sql(house, sql));
            char *command = agent_kit_command(house, 1);
            assert_holds_definition(command, kinds[k].before, kinds[k].after, definition);
            free(command);
            free(sql);
            free(words);
        }
        free(definition);
    }
}

/* --- PowerShell ---------------------------------------------------------------------------- */

/* Outside of texts and comments each bracket is closed by its own; a text ends on its line, and
 * nothing is expanded in it. */
static void assert_balanced(const char *script)
{
    char open[64] = "";
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
                                        "-lt $asked.AddSeconds(5)) { Start-Sleep -Seconds 5 }",
                                        "throw 'Sweetspot did not take the job: '",
                                        "$tokenFile = 'C:\\ProgramData\\Sweetspot\\agent.hdr'",
                                        "-$(ESCAPE_SQUOTE(STRTTM))-$(ESCAPE_SQUOTE(STEPID))'"};
    struct harness *house = *state;
    agent_kit_put(house, SWEEP,
                  "--step powershell --token-file 'C:\\ProgramData\\Sweetspot\\agent.hdr'");
    char *command = agent_kit_command(house, 1);
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++) {
        if (!strstr(command, holds[i]))
            fail_msg("no %s in %s", holds[i], command);
    }
    assert_null(strstr(command, "Write-Host")); /* no console there */
    char *ready = agent_kit_tokens(command, &agent_kit_tonight, 1, "0x01");
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
    agent_kit_put(house, SWEEP, "--step powershell --name a");
    agent_kit_ends(run_powershell(house, &agent_kit_tonight), 0, "succeeded");
    agent_kit_ends(run_powershell(house, &agent_kit_tonight), 0, "succeeded");
    assert_int_equal(agent_kit_count(house), 1);
    agent_kit_put(house, SWEEP_OF("Missing", ""), "--step powershell --name b");
    agent_kit_ends(run_powershell(house, &agent_kit_tonight), 1, "the job ended as failed");
}

/* --- the endpoint procedure ---------------------------------------------------------------- */

/* The daemon again, by HTTPS with this certificate, or without. */
static void speak(struct harness *house, const char *cert, const char *key)
{
    harness_stop_daemon(house);
    free(house->config.tls_cert_file);
    free(house->config.tls_key_file);
    house->config.tls_cert_file = mem_copy(cert);
    house->config.tls_key_file = mem_copy(key);
    harness_start_daemon(house);
}

/* Makes a T-SQL step for the daemon by HTTPS; the whole job's T-SQL, to be freed. */
static char *make_rest(struct harness *house, const char *definition, const char *more)
{
    char *words =
        mem_format("--step rest --url https://127.0.0.1:%d %s", harness_port(house), more);
    char *sql = agent_kit_make(house->dir, definition, words, 0, NULL);
    free(words);
    return sql;
}

/* Makes the job and runs its step in the step's database, as Agent does; what it printed, to be
 * freed. */
static char *run_step(struct harness *house, const char *sql)
{
    free(agent_kit_sql(house, sql));
    char *job_id = agent_kit_job_id(house);
    char *command = agent_kit_command(house, 1);
    char *step = agent_kit_tokens(command, &agent_kit_tonight, 1, job_id);
    char *said = agent_kit_sql(house, step);
    free(step);
    free(command);
    free(job_id);
    return said;
}

static char *run_rest(struct harness *house, const char *definition, const char *more)
{
    char *sql = make_rest(house, definition, more);
    char *said = run_step(house, sql);
    free(sql);
    return said;
}

static void assert_said(char *said, const char *words, bool is_red)
{
    /* tsql tells an error's number, severity and state, of a PRINT only the text */
    bool red = strstr(said, "severity 16") || strstr(said, "(severity 16)");
    if (!strstr(said, words) || red != is_red)
        fail_msg("not %s, %d: %s", words, is_red, said);
    free(said);
}

static void a_rest_step_is_green_and_red(void **state)
{
    struct harness *house = *state;
    char *cert = mem_format("%s/cert.pem", house->dir);
    char *key = mem_format("%s/key.pem", house->dir);
    assert_int_equal(certificate_make(cert, key, "localhost,127.0.0.1"), 0);
    speak(house, cert, key);
    assert_said(run_rest(house, SWEEP, "--name a"), "external rest endpoint enabled", true);
    free(agent_kit_sql(house, "EXEC sp_configure 'external rest endpoint enabled', 1"));
    assert_said(run_rest(house, SWEEP, "--name b"), "succeeded: BUFFERCOUNT=50: ", false);
    assert_said(run_rest(house, SWEEP_OF("Missing", ""), "--name c"),
                "The verdict is not good (409). The job: failed: ", true);
    assert_said(run_rest(house, SWEEP_OF("Sales", ",\"priority\":10"), "--name d"),
                "Sweetspot did not take the job: 400 ", true);
    assert_said(run_rest(house, HOSTILE_SWEEP, "--name e"), "succeeded: ", false);
    speak(house, NULL, NULL);
    assert_int_equal(agent_kit_count(house), 3);
    cJSON *job = agent_kit_newest(house);
    agent_kit_same_text(job, "labels/x", HOSTILE_SWEEP);
    cJSON_Delete(job);
    (void)unlink(cert);
    (void)unlink(key);
    free(cert);
    free(key);
}

static void put_in_place(char *text, const char *old, const char *new)
{
    char *at = strstr(text, old);
    assert_non_null(at);
    assert_int_equal(strlen(old), strlen(new));
    memcpy(at, new, strlen(new));
}

/* As a service does where too many wait already. Without a pause a minute would be thousands of
 * calls; the simulator's minute goes by while the step pauses. */
static void a_rest_step_that_is_answered_at_once_pauses(void **state)
{
    struct harness *house = *state;
    char error[SIM_ERROR_SIZE];
    char *cert = mem_format("%s/cert.pem", house->dir);
    char *key = mem_format("%s/key.pem", house->dir);
    int asked = 0;
    assert_int_equal(certificate_make(cert, key, "localhost,127.0.0.1"), 0);
    speak(house, cert, key);
    free(agent_kit_sql(house, "EXEC sp_configure 'external rest endpoint enabled', 1"));
    assert_int_equal(sim_fault(house->sim, "{'do':'hold_before','match':'BACKUP'}", error), 0);
    char *sql = make_rest(house, SWEEP, "--name a --minutes 1");
    put_in_place(sql, "wait=60", "wait=00");
    put_in_place(sql, "SET @answer = NULL;", "PRINT N''asks it'';");
    char *said = run_step(house, sql);
    sim_release(house->sim);
    for (const char *at = said; (at = strstr(at, "asks it")); at++)
        asked++;
    if (asked < 2 || asked > 12)
        fail_msg("asked %d times in a minute: %s", asked, said);
    assert_said(said, "The verdict is not good (408). The job: running: ", true);
    speak(house, NULL, NULL);
    (void)unlink(cert);
    (void)unlink(key);
    free(sql);
    free(cert);
    free(key);
}

/* By the local clock it would wait an hour less or more in the night when clocks change. */
static void a_rest_step_waits_by_the_clock_that_nobody_changes(void **state)
{
    struct harness *house = *state;
    char *sql = agent_kit_make(house->dir, SWEEP, "--step rest --url https://h --name a", 0, NULL);
    assert_null(strstr(sql, "GETDATE"));
    assert_null(strstr(sql, "SYSDATETIME"));
    assert_non_null(strstr(sql, "@until datetime2 = DATEADD(minute, 480, SYSUTCDATETIME())"));
    assert_non_null(strstr(sql, "SYSUTCDATETIME() < @until"));
    free(sql);
}

static void a_rest_step_has_its_token_from_a_credential(void **state)
{
    struct harness *house = *state;
    char *cert = mem_format("%s/cert.pem", house->dir);
    char *key = mem_format("%s/key.pem", house->dir);
    char *file = mem_format("%s/token", house->dir);
    char *show = mem_format("cat %s", file);
    int status = 0;
    assert_int_equal(certificate_make(cert, key, "localhost,127.0.0.1"), 0);
    agent_kit_token(house, "", file);
    char *token = agent_kit_shell(show, &status);
    token[strcspn(token, "\n")] = '\0';
    speak(house, cert, key);
    char *sql = mem_format("EXEC sp_configure 'external rest endpoint enabled', 1; CREATE DATABASE "
                           "SCOPED CREDENTIAL [https://127.0.0.1:%d] WITH IDENTITY = "
                           "'HTTPEndpointHeaders', SECRET = '{\"Authorization\":\"Bearer %s\"}'",
                           harness_port(house), token);
    free(agent_kit_sql(house, sql));
    assert_said(run_rest(house, SWEEP, "--name a"), "not take the job: 401", true);
    assert_said(run_rest(house, SWEEP, "--name b --credential"), "succeeded: ", false);
    (void)unlink(cert);
    (void)unlink(key);
    (void)unlink(file);
    free(sql);
    free(token);
    free(show);
    free(file);
    free(cert);
    free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_of_step_holds_the_same_definition),
        TEST(a_powershell_step_stops_at_errors_and_throws),
        TEST(a_powershell_step_is_green_and_red),
        TEST(a_rest_step_is_green_and_red),
        TEST(a_rest_step_that_is_answered_at_once_pauses),
        TEST(a_rest_step_waits_by_the_clock_that_nobody_changes),
        TEST(a_rest_step_has_its_token_from_a_credential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
