/* The client's commands that are one call each, against a whole service in this process. */
#include "api/cli/cli.h"
#include "api/cli/http.h"
#include "server/mem.h"
#include "tests/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SWEEP                                                                                      \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"                  \
    "'buffercount':[50]},'design':{'repetitions':3}}"

/* --- running a command ---------------------------------------------------------------------- */

static int run_words(struct harness *house, char *words[])
{
    struct cli_args args;
    struct http *http = NULL;
    struct err err = {0};
    char *url = mem_format("http://127.0.0.1:%d", harness_port(house));
    int count = 1;
    while (words[count])
        count++;
    if (cli_args_read(count, words, &args, &err) < 0)
        fail_msg("%s", err.msg);
    struct http_options options = {.url = url};
    assert_int_equal(http_open(&options, &http, &err), 0);
    int status = args.command->run(http, &args);
    http_close(http);
    free(url);
    return status;
}

/* Runs `sweetspot WORDS`, must exit with status; what it printed, to be freed. */
static char *run(struct harness *house, const char *line, int status)
{
    char *words[8] = {NULL};
    char *copy = mem_format("sweetspot %s", line);
    char *rest = copy;
    for (size_t i = 0; i < 7 && rest; i++)
        words[i] = strsep(&rest, " ");
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    int exit = run_words(house, words);
    (void)fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    (void)close(before);
    long length = lseek(fileno(file), 0, SEEK_END);
    char *text = mem_alloc(1, (size_t)length + 1);
    assert_int_equal(pread(fileno(file), text, (size_t)length, 0), length);
    (void)fclose(file);
    free(copy);
    if (exit != status)
        fail_msg("%s: exit status %d instead of %d: %s", line, exit, status, text);
    return text;
}

static void assert_holds(char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("no \"%s\" in %s", words, text);
    free(text);
}

/* A file with this JSON; the caller unlinks and frees it. */
static char *write_file(struct harness *house, const char *json)
{
    char *path = mem_format("%s/job.json", house->dir);
    char *text = harness_json(json);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(text);
    return path;
}

static char *run_with(struct harness *house, const char *command, const char *json, int status)
{
    char *path = write_file(house, json);
    char *line = mem_format("%s %s", command, path);
    char *text = run(house, line, status);
    (void)unlink(path);
    free(line);
    free(path);
    return text;
}

/* --- the tests ------------------------------------------------------------------------------ */

static void a_plan_is_told_in_words(void **state)
{
    struct harness *house = *state;
    char *text = run_with(house, "plan", SWEEP, CLI_OK);
    assert_non_null(strstr(text, "2 arms, 8 trials, for an unknown time; reads "));
    assert_non_null(strstr(text, "  a1  BUFFERCOUNT=50  (50 MiB of buffers)\n"));
    assert_non_null(
        strstr(text, "        BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY"));
    assert_holds(text, "Its login needs:\n  db_backupoperator");
}

static void a_plan_that_is_refused_says_why(void **state)
{
    struct harness *house = *state;
    char *text = run_with(house, "plan",
                          "{'kind':'backup_sweep','instance':'sql01','parameters':"
                          "{'database':'Missing','buffercount':[50]}}",
                          CLI_REFUSED);
    assert_holds(text, "It would be refused:\n  ");
    assert_holds(run_with(house, "plan --json", SWEEP, CLI_OK), "{\"arms\":[");
}

static void a_verdict_is_an_exit_status(void **state)
{
    struct harness *house = *state;
    char *id = harness_submit(house, SWEEP);
    char *line = mem_format("verdict %s --wait --no-color", id);
    char *text = run(house, line, CLI_OK);
    assert_true(strncmp(text, "succeeded: ", 11) == 0 || strncmp(text, "inconclusive", 12) == 0);
    free(text);
    free(line);
    line = mem_format("verdict %s --json", id);
    assert_holds(run(house, line, CLI_OK), "\"regressed\":false");
    free(line);
    free(id);
}

static void a_verdict_is_1_before_the_end_and_after_a_bad_one(void **state)
{
    struct harness *house = *state;
    cJSON_Delete(harness_call(house, "POST", "/v1/mode", "{'mode':'paused'}", 200));
    char *id = harness_submit(house, SWEEP);
    char *line = mem_format("verdict %s", id);
    free(run(house, line, CLI_FAILED));
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    free(run(house, line, CLI_FAILED));
    free(run(house, "verdict 01981c5e-7a10-7000-8000-000000000001", CLI_REFUSED));
    free(run(house, "verdict 7", CLI_USAGE));
    free(target);
    free(line);
    free(id);
}

static void a_retry_gives_the_new_job(void **state)
{
    struct harness *house = *state;
    char *id = harness_submit(house, SWEEP);
    char *line = mem_format("retry %s", id);
    cJSON_Delete(harness_wait(house, id));
    char *text = run(house, line, CLI_OK);
    text[strcspn(text, "\n")] = '\0';
    cJSON *job = harness_wait(house, text);
    assert_string_equal(text_at(job, "retry_of"), id);
    cJSON_Delete(job);
    free(text);
    free(line);
    free(id);
}

static void a_reconcile_undoes_what_is_open_and_a_dry_run_nothing(void **state)
{
    struct harness *house = *state;
    int flags[4];
    cJSON_Delete(harness_call(house, "DELETE", "/v1/instances/sql01", NULL, 204));
    harness_register(house, "'allow':{'paths':['/var/opt/mssql/backup'],'trace_flags':[3042]},"
                            "'limits':{'min_free_disk_mib':1}");
    char error[SIM_ERROR_SIZE];
    char *hold = harness_json("{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':2}");
    assert_int_equal(sim_fault(house->sim, hold, error), 0);
    char *id = harness_submit(
        house, "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':['Sales'],"
               "'target':{'name':'disk','paths':['/var/opt/mssql/backup']}},"
               "'design':{'repetitions':2,'warmups':0}}");
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    assert_int_equal(sim_fault(house->sim, "{\"do\":\"stop_listening\"}", error), 0);
    assert_int_equal(sim_fault(house->sim, "{\"do\":\"drop_all\"}", error), 0);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON_Delete(harness_wait(house, id));
    assert_holds(run(house, "reconcile sql01 --dry-run --json", CLI_OK), "\"state\":\"open\"");
    assert_int_equal(sim_flags(house->sim, flags, 4), 1);
    assert_int_equal(sim_fault(house->sim, "{\"do\":\"listen\"}", error), 0);
    assert_holds(run(house, "reconcile sql01 --json", CLI_OK), "\"state\":\"undone\"");
    assert_int_equal(sim_flags(house->sim, flags, 4), 0);
    free(run(house, "reconcile none", CLI_REFUSED));
    free(target);
    free(id);
    free(hold);
}

static void an_instance_is_deleted_and_may_forget_what_was_refused(void **state)
{
    struct harness *house = *state;
    free(run(house, "instances list --forget", CLI_USAGE));
    free(run(house, "instances delete sql01 --forget", CLI_OK));
    free(run(house, "instances delete sql01 --forget", CLI_REFUSED));
}

static void kinds_are_told_with_their_parameters(void **state)
{
    char *text = run(*state, "kinds", CLI_OK);
    assert_non_null(strstr(text, "    database (required): the database that is backed up\n"));
    assert_holds(text, "trace_flag: ");
    assert_holds(run(*state, "kinds --json", CLI_OK), "2020-12");
}

static int set_up(void **state)
{
    struct harness *house = harness_start(NULL);
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
        TEST(a_plan_is_told_in_words),
        TEST(a_plan_that_is_refused_says_why),
        TEST(a_verdict_is_an_exit_status),
        TEST(a_verdict_is_1_before_the_end_and_after_a_bad_one),
        TEST(a_retry_gives_the_new_job),
        TEST(a_reconcile_undoes_what_is_open_and_a_dry_run_nothing),
        TEST(an_instance_is_deleted_and_may_forget_what_was_refused),
        TEST(kinds_are_told_with_their_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
