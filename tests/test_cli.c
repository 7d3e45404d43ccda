/* The client's pure half: its command line, its progress line, and how it tells errors. */
#include "api/cli/cli.h"
#include "api/cli/show.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ARGS 8

static int read_args(const char *const *words, struct cli_args *out, struct err *err)
{
    static char texts[MAX_ARGS][100];
    char *argv[MAX_ARGS + 2] = {texts[0]};
    int argc = 1;
    for (; words[argc - 1] && argc < MAX_ARGS; argc++) {
        argv[argc] = texts[argc];
        size_t length = strlen(words[argc - 1]);
        assert_true(length < sizeof texts[0]);
        memcpy(texts[argc], words[argc - 1], length + 1);
    }
    return cli_args_read(argc, argv, out, err);
}

static void options_may_stand_anywhere(void **state)
{
    (void)state;
    static const char *const words[] = {"--url=http://a:1", "submit", "--wait", "-",
                                        "--token-file",     "/t",     NULL};
    struct cli_args args;
    struct err err = {0};
    if (read_args(words, &args, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(args.command->name, "submit");
    assert_int_equal(args.operand_count, 1);
    assert_string_equal(args.operands[0], "-");
    assert_string_equal(args.url, "http://a:1");
    assert_string_equal(args.token_file, "/t");
    assert_true(args.wait && !args.json && !args.help);
}

static void the_environment_counts_where_no_option_is_given(void **state)
{
    (void)state;
    static const char *const words[] = {"health", NULL};
    static const char *const with_url[] = {"health", "--url", "http://b:2", NULL};
    struct cli_args args;
    setenv("SWEETSPOT_URL", "http://a:1", 1);
    setenv("SWEETSPOT_TOKEN_FILE", "", 1);
    assert_int_equal(read_args(words, &args, NULL), 0);
    assert_string_equal(args.url, "http://a:1");
    assert_null(args.token_file);
    assert_int_equal(read_args(with_url, &args, NULL), 0);
    assert_string_equal(args.url, "http://b:2");
    unsetenv("SWEETSPOT_URL");
    unsetenv("SWEETSPOT_TOKEN_FILE");
}

static void a_wrong_command_line_is_told_with_the_right_one(void **state)
{
    (void)state;
    static const struct {
        const char *words[6];
        const char *told;
    } cases[] = {
        {{NULL}, "which command? See sweetspot --help"},
        {{"sumbit", "x"}, "no command \"sumbit\"; did you mean \"submit\"?"},
        {{"frobnicate"}, "no command \"frobnicate\"; see sweetspot --help"},
        {{"submit", "x", "--wiat"}, "no option --wiat; did you mean --wait?"},
        {{"submit", "x", "--frobnicate=1"}, "no option --frobnicate; see sweetspot --help"},
        {{"submit"}, "usage: sweetspot submit FILE|-"},
        {{"submit", "a", "b"}, "usage: sweetspot submit FILE|-"},
        {{"instances", "put", "a", "b", "c"}, "too many arguments: \"c\""},
        {{"health", "--wait"}, "health does not take --wait"},
        {{"submit", "x", "--wait=yes"}, "--wait takes no value"},
        {{"submit", "x", "--url"}, "--url needs a value: URL"},
        {{"submit", "x", "--url="}, "--url needs a value: URL"},
        {{"report", "x", "--json", "--markdown"}, "only one of --json, --markdown and --html"},
        {{"report", "x", "--html", "--markdown"}, "only one of --json, --markdown and --html"},
        {{"analyze", "x", "--json"}, "analyze does not take --json"},
        {{"report", "--", "--json", "--json"}, "usage: sweetspot report ID"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cli_args args;
        struct err err = {0};
        assert_int_equal(read_args(cases[i].words, &args, &err), -1);
        if (!strstr(err.msg, cases[i].told))
            fail_msg("case %zu: %s", i, err.msg);
    }
}

static void help_is_had_for_all_and_for_each_command(void **state)
{
    (void)state;
    struct buf all = {0};
    cli_help(NULL, &all);
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        const char *words[] = {command->name, "-h", NULL};
        struct cli_args args;
        struct buf one = {0};
        assert_int_equal(read_args(words, &args, NULL), 0);
        assert_true(args.help && args.command == command);
        cli_help(command, &one);
        assert_non_null(strstr(buf_text(&all), command->summary));
        assert_non_null(strstr(buf_text(&one), command->summary));
        assert_non_null(strstr(buf_text(&one), "--url"));
        assert_int_equal(strstr(buf_text(&one), "--wait") != NULL,
                         (command->options & CLI_OPTION_WAIT) != 0);
        buf_fini(&one);
    }
    buf_fini(&all);
}

/* --- jobs ---------------------------------------------------------------------------------- */

static struct show_job read_job(const char *text)
{
    cJSON *tree = NULL;
    struct err err = {0};
    struct show_job job;
    if (json_parse(text, strlen(text), &tree, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    show_job_read(tree, &job);
    cJSON_Delete(tree);
    return job;
}

#define MEASURING                                                                                  \
    "{\"state\":\"running\",\"phase\":\"measuring\",\"progress\":{\"trials_done\":6,"              \
    "\"trials_planned\":60,\"percent\":12.4,\"current\":{\"arm\":\"a3\",\"label\":"                \
    "\"BUFFERCOUNT=100\",\"percent\":45}}}"

#define UNREACHABLE                                                                                \
    "{\"state\":\"waiting\",\"state_reason\":\"unreachable\",\"error\":{\"message\":"              \
    "\"no answer from sql01:1433 within 15 s\"}}"

static int count_characters(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static void the_progress_line_fits_the_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *job;
        int columns;
        const char *line;
    } cases[] = {
        {MEASURING, 80,
         "trial 7 of 60  [===>                          ]   12 %   BUFFERCOUNT=100: 45 %"},
        {MEASURING, 64, "trial 7 of 60  [=>             ]   12 %   BUFFERCOUNT=100: 45 %"},
        {MEASURING, 50, "trial 7 of 60   12 %   BUFFERCOUNT=100: 45 %"},
        {MEASURING, 20, "trial 7 of 60"},
        {"{\"state\":\"queued\",\"state_reason\":null}", 80, "queued"},
        {"{\"state\":\"waiting\",\"state_reason\":\"window\"}", 80, "waiting: window"},
        {UNREACHABLE, 80, "waiting: unreachable (no answer from sql01:1433 within 15 s)"},
        {UNREACHABLE, 52, "waiting: unreachable (no answer from sql01:1433 w…)"},
        {UNREACHABLE, 30, "waiting: unreachable"},
        {"{\"state\":\"running\",\"phase\":\"preparing\"}", 80, "preparing"},
        {"{\"state\":\"running\",\"phase\":\"analysing\",\"progress\":{\"trials_done\":60,"
         "\"trials_planned\":60,\"percent\":100,\"current\":null}}",
         60, "analysing  [==============================]  100 %"},
        {"{\"state\":\"running\",\"phase\":\"measuring\",\"progress\":{\"trials_done\":60,"
         "\"trials_planned\":60,\"percent\":1e9,\"current\":{\"arm\":\"a3\"}}}",
         40, "trial 60 of 60  [=========]  100 %   a3"},
        {"{\"state\":7,\"progress\":[]}", 80, "unknown"},
        {"[]", 80, "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct show_job job = read_job(cases[i].job);
        struct buf line = {0};
        show_progress(&job, cases[i].columns, &line);
        assert_string_equal(buf_text(&line), cases[i].line);
        assert_true(count_characters(buf_text(&line)) < cases[i].columns);
        buf_fini(&line);
    }
}

static void a_step_changes_only_with_the_trial(void **state)
{
    (void)state;
    struct show_job job = read_job(MEASURING);
    struct buf before = {0};
    struct buf after = {0};
    show_step(&job, &before);
    assert_string_equal(buf_text(&before), "trial 7 of 60: BUFFERCOUNT=100");
    job.percent = 13;
    job.label_percent = 99;
    show_step(&job, &after);
    assert_string_equal(buf_text(&before), buf_text(&after));
    buf_fini(&before);
    buf_fini(&after);
}

static void the_server_cannot_move_our_cursor(void **state)
{
    (void)state;
    struct show_job job = read_job("{\"state\":\"running\",\"phase\":\"measuring\",\"progress\":"
                                   "{\"trials_planned\":2,\"current\":{\"label\":"
                                   "\"a\\u001b[2Jb\\u009bc\\u202ed\\r\\n\xC3\xA9\"}}}");
    assert_string_equal(job.label, "a?[2Jb?c?d??\xC3\xA9");
    struct buf text = {0};
    show_text("x\xFF\x7Fy", &text);
    assert_string_equal(buf_text(&text), "x??y");
    buf_fini(&text);
}

static void a_long_label_is_cut_at_a_character(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_add(&text, "{\"progress\":{\"current\":{\"arm\":\"");
    for (int i = 0; i < 100; i++)
        buf_add(&text, "\xE6\x97\xA5");
    buf_add(&text, "\"}}}");
    struct show_job job = read_job(buf_text(&text));
    assert_int_equal(strlen(job.label), 78);
    buf_fini(&text);
}

static void each_end_of_a_job_has_its_exit_status(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        bool ended;
        int exit;
    } cases[] = {
        {"queued", false, CLI_FAILED},  {"waiting", false, CLI_FAILED},
        {"running", false, CLI_FAILED}, {"succeeded", true, CLI_OK},
        {"inconclusive", true, 3},      {"failed", true, 1},
        {"cancelled", true, 1},         {"timed_out", true, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = mem_format("{\"state\":\"%s\"}", cases[i].state);
        struct show_job job = read_job(text);
        assert_int_equal(show_job_has_ended(&job), cases[i].ended);
        assert_int_equal(show_job_exit(&job), cases[i].exit);
        free(text);
    }
}

/* --- errors, lists, plans ------------------------------------------------------------------ */

static void problems_are_told_as_sentences(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *body;
        const char *text;
        int exit;
    } cases[] = {
        {400,
         "{\"title\":\"Bad Request\",\"status\":400,\"detail\":\"2 faults\",\"errors\":["
         "{\"pointer\":\"/parameters/buffercount/3\",\"detail\":\"must be a whole number\"},"
         "{\"pointer\":\"\",\"detail\":\"must be an object\"}]}",
         "Bad Request (400): 2 faults\n"
         "  /parameters/buffercount/3: must be a whole number\n"
         "  (the whole): must be an object\n",
         4},
        {401, "{\"title\":\"Unauthorized\"}", "Unauthorized (401)\n", 4},
        {403, "{\"title\":\"Forbidden\"}", "Forbidden (403)\n", 4},
        {404, "{\"title\":\"Not Found\"}", "Not Found (404)\n", 4},
        {408, "{\"title\":\"Not ended\"}", "Not ended (408)\n", 6},
        {409, "{\"detail\":\"it has ended\"}", "Error (409): it has ended\n", 4},
        {422, "{\"title\":\"Key\"}", "Key (422)\n", 4},
        {429, "{}", "Error (429)\n", 5},
        {500, "<html>", "the server answered 500 without saying why\n", 1},
        {502, "", "the server answered 502 without saying why\n", 5},
        {503, "[]", "the server answered 503 without saying why\n", 5},
        {302, "{}", "Error (302)\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf text = {0};
        show_problem(cases[i].status, cases[i].body, strlen(cases[i].body), &text);
        assert_string_equal(buf_text(&text), cases[i].text);
        assert_int_equal(show_problem_exit(cases[i].status), cases[i].exit);
        buf_fini(&text);
    }
}

static void a_hint_reaches_the_same_server(void **state)
{
    (void)state;
    static const char *const given[] = {"health", "--url", "http://a:1", "--ca-file=/c", NULL};
    static const char *const plain[] = {"health", NULL};
    struct cli_args args;
    struct buf text = {0};
    assert_int_equal(read_args(given, &args, NULL), 0);
    cli_add_connection(&args, &text);
    assert_string_equal(buf_text(&text), " --url http://a:1 --ca-file /c");
    buf_clear(&text);
    setenv("SWEETSPOT_URL", "http://b:2", 1); /* whoever types the hint has it too */
    assert_int_equal(read_args(plain, &args, NULL), 0);
    unsetenv("SWEETSPOT_URL");
    cli_add_connection(&args, &text);
    assert_string_equal(buf_text(&text), "");
    buf_fini(&text);
}

static void jobs_stand_in_columns(void **state)
{
    (void)state;
    static const char answer[] =
        "{\"items\":[{\"id\":\"b\",\"state\":\"waiting\",\"state_reason\":\"unreachable\","
        "\"instance\":"
        "\"sql01\",\"error\":{\"message\":\"no answer\"},\"summary\":null},{\"id\":\"a\",\"state\":"
        "\"succeeded\",\"state_reason\":null,\"instance\":\"demo\",\"error\":null,\"summary\":"
        "\"Keep the default\"}]}";
    cJSON *tree = NULL;
    struct buf text = {0};
    assert_int_equal(json_parse(answer, strlen(answer), &tree, NULL), 0);
    show_jobs(tree, &text);
    assert_string_equal(buf_text(&text),
                        "b  waiting       sql01             unreachable  no answer\n"
                        "a  succeeded     demo              Keep the default\n");
    buf_fini(&text);
    cJSON_Delete(tree);
}

static void instances_stand_in_columns(void **state)
{
    (void)state;
    static const char answer[] =
        "{\"items\":[{\"name\":\"demo\",\"host\":\"127.0.0.1\",\"port\":1433,\"environment\":"
        "\"test\",\"held\":null},{\"name\":\"sql01\",\"host\":\"sql01.example.net\",\"port\":1433,"
        "\"environment\":\"production\",\"held\":\"login refused\"}],\"next_cursor\":null}";
    cJSON *tree = NULL;
    struct buf text = {0};
    assert_int_equal(json_parse(answer, strlen(answer), &tree, NULL), 0);
    show_instances(tree, &text);
    assert_string_equal(buf_text(&text),
                        "demo                 127.0.0.1:1433                   test\n"
                        "sql01                sql01.example.net:1433           production   "
                        "held: login refused\n");
    buf_fini(&text);
    cJSON_Delete(tree);
}

static void a_plan_counts_in_whole_words(void **state)
{
    (void)state;
    static const struct {
        const char *plan, *first_line;
    } cases[] = {
        {"{\"arms\":[{\"arm\":\"a0\"}],\"trials\":1,\"estimate\":{\"minutes\":0.3,\"read_mib\":10,"
         "\"written_mib\":0,\"error_log_lines\":1},\"refusals\":[]}",
         "1 arm, 1 trial, about 1 minute; reads 10 MiB, writes 0 MiB; 1 line in the server's error "
         "log\n"},
        {"{\"arms\":[{\"arm\":\"a0\"},{\"arm\":\"a1\"}],\"trials\":12,\"estimate\":{\"minutes\":"
         "null,"
         "\"read_mib\":null},\"refusals\":[]}",
         "2 arms, 12 trials, for an unknown time; reads an unknown amount, writes an unknown "
         "amount; an unknown number of lines in the server's error log\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *plan = cJSON_Parse(cases[i].plan);
        struct buf text = {0};
        assert_true(show_plan(plan, &text));
        assert_int_equal(strncmp(buf_text(&text), cases[i].first_line, strlen(cases[i].first_line)),
                         0);
        buf_fini(&text);
        cJSON_Delete(plan);
    }
}

static void a_check_tells_what_to_grant(void **state)
{
    (void)state;
    cJSON *reached = cJSON_Parse(
        "{\"reachable\":true,\"authenticated\":false,\"version\":\"16.0.4100.1\",\"edition\":"
        "\"Developer Edition\",\"platform\":\"Linux\",\"clock_offset_s\":-1.5,\"kinds\":{"
        "\"backup_sweep\":{\"ready\":true,\"missing\":[]},\"trace_flag\":{\"ready\":false,"
        "\"missing\":[\"sysadmin (DBCC TRACEON)\"]}},\"warnings\":[\"looks\\u001b\"]}");
    cJSON *away = cJSON_Parse("{\"reachable\":false,\"error\":{\"number\":18456,\"message\":"
                              "\"Login failed\\u001b\"}}");
    cJSON *unset = cJSON_Parse("{\"reachable\":false,\"error\":{\"number\":null,\"message\":"
                               "\"the instance's password: the environment variable X is not set\","
                               "\"cause\":\"password\"}}");
    struct buf text = {0};
    assert_true(show_check(reached, &text));
    assert_string_equal(buf_text(&text),
                        "SQL Server 16.0.4100.1, Developer Edition, Linux, not authenticated; its "
                        "clock is -1.500 s from ours\n"
                        "backup_sweep         ready\n"
                        "trace_flag           not ready\n"
                        "    grant sysadmin (DBCC TRACEON)\n"
                        "warning: looks?\n");
    buf_clear(&text);
    assert_false(show_check(away, &text));
    assert_string_equal(buf_text(&text), "not reachable: Login failed?\n");
    buf_clear(&text);
    assert_false(show_check(unset, &text));
    assert_string_equal(buf_text(&text), "not asked: the instance's password: the environment "
                                         "variable X is not set\n");
    buf_fini(&text);
    cJSON_Delete(unset);
    cJSON_Delete(reached);
    cJSON_Delete(away);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_may_stand_anywhere),
        cmocka_unit_test(the_environment_counts_where_no_option_is_given),
        cmocka_unit_test(a_wrong_command_line_is_told_with_the_right_one),
        cmocka_unit_test(help_is_had_for_all_and_for_each_command),
        cmocka_unit_test(the_progress_line_fits_the_terminal),
        cmocka_unit_test(a_step_changes_only_with_the_trial),
        cmocka_unit_test(the_server_cannot_move_our_cursor),
        cmocka_unit_test(a_long_label_is_cut_at_a_character),
        cmocka_unit_test(each_end_of_a_job_has_its_exit_status),
        cmocka_unit_test(problems_are_told_as_sentences),
        cmocka_unit_test(a_hint_reaches_the_same_server),
        cmocka_unit_test(jobs_stand_in_columns),
        cmocka_unit_test(instances_stand_in_columns),
        cmocka_unit_test(a_plan_counts_in_whole_words),
        cmocka_unit_test(a_check_tells_what_to_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
