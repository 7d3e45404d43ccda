/* mssqlsim as a program: what it says of itself is so. */
#include "server/mem.h"
#include "tests/sim/client.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define READY_MS 20000

extern char **environ;

static char *program; /* beside the daemon */

struct running {
    pid_t pid;
    int out;
    char said[8192];
};

/* A test that fails must not leave it behind. */
static pid_t alive;

static void kill_alive(void)
{
    if (alive > 0)
        (void)kill(alive, SIGKILL);
}

static struct running start(const char *option, const char *value)
{
    struct running it = {0};
    int pipes[2];
    posix_spawn_file_actions_t actions;
    char *name = mem_copy(program);
    char *words[2] = {mem_copy(option), mem_copy(value)};
    char *argv[] = {name, words[0], words[1], NULL};
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO), 0);
    assert_int_equal(posix_spawn(&it.pid, program, &actions, NULL, argv, environ), 0);
    alive = it.pid;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(pipes[1]);
    it.out = pipes[0];
    free(words[0]);
    free(words[1]);
    free(name);
    return it;
}

/* Reads until a line (or, until_end, all) is there. */
static void listen_to(struct running *it, bool until_end)
{
    size_t length = strlen(it->said);
    struct pollfd wait = {.fd = it->out, .events = POLLIN};
    ssize_t got = 1;
    while (got > 0 && (until_end || !strchr(it->said, '\n'))) {
        assert_int_equal(poll(&wait, 1, READY_MS), 1);
        got = read(it->out, it->said + length, sizeof it->said - 1 - length);
        assert_true(got >= 0);
        length += (size_t)got;
        it->said[length] = '\0';
    }
}

static int end_of(struct running *it)
{
    int status = 0;
    assert_int_equal(waitpid(it->pid, &status, 0), it->pid);
    alive = 0;
    (void)close(it->out);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Logs in as its help says. */
static struct client *log_in(const struct running *it)
{
    int number = 0;
    int port = (int)strtol(strrchr(it->said, ':') + 1, NULL, 10);
    struct client *client = client_open(port, "sa", "Sweetspot-1", "", &number);
    if (!client)
        fail_msg("%s: %d", it->said, number);
    return client;
}

static void it_says_when_it_is_ready_and_has_what_its_help_lists(void **state)
{
    (void)state;
    struct running help = start("--help", NULL);
    listen_to(&help, true);
    assert_int_equal(end_of(&help), 0);
    assert_non_null(strstr(help.said, "--listen"));
    assert_non_null(strstr(help.said, "--scenario FILE"));
    assert_non_null(strstr(help.said, "login sa, password Sweetspot-1"));

    struct running it = start("--listen", "127.0.0.1:0");
    listen_to(&it, false);
    assert_int_equal(strncmp(it.said, "mssqlsim ready on 127.0.0.1:", 28), 0);
    assert_string_equal(strchr(it.said, '\n'), "\n"); /* one line */
    struct client *client = log_in(&it);
    struct client_reply reply = {0};
    client_run(client, "SELECT name FROM sys.databases WHERE database_id > 4", &reply);
    assert_int_equal(reply.row_count, 3);
    for (int i = 0; i < reply.row_count; i++)
        if (!strstr(help.said, reply.rows[i][0]))
            fail_msg("--help lacks %s", reply.rows[i][0]);
    client_reply_free(&reply);
    client_close(client);
    assert_int_equal(kill(it.pid, SIGTERM), 0);
    assert_int_equal(end_of(&it), 0);
}

static void a_scenario_comes_from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/sweetspot-scenario.XXXXXX";
    static const char scenario[] = "{\"databases\":[{\"name\":\"FromAFile\"}]}";
    int file = mkstemp(path);
    assert_int_equal(write(file, scenario, sizeof scenario - 1), sizeof scenario - 1);
    (void)close(file);
    struct running it = start("--scenario", path); /* --listen: a free port of the loopback */
    listen_to(&it, false);
    struct client *client = log_in(&it);
    assert_string_equal(client_text(client, "SELECT name FROM sys.databases WHERE database_id > 4"),
                        "FromAFile");
    client_close(client);
    assert_int_equal(kill(it.pid, SIGINT), 0);
    assert_int_equal(end_of(&it), 0);
    (void)unlink(path);
}

static void what_is_wrong_is_told_and_ends_it(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *told;
    } cases[] = {
        {"--listen", "1433", "--listen needs ADDRESS:PORT"},
        {"--scenario", "/nonexistent/file", "/nonexistent/file cannot be read"},
        {"extra", NULL, "unexpected argument extra"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct running it = start(cases[i].option, cases[i].value);
        listen_to(&it, true);
        assert_int_equal(end_of(&it), 2);
        if (!strstr(it.said, cases[i].told))
            fail_msg("%s: %s", cases[i].option, it.said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_when_it_is_ready_and_has_what_its_help_lists),
        cmocka_unit_test(a_scenario_comes_from_a_file),
        cmocka_unit_test(what_is_wrong_is_told_and_ends_it),
    };
    const char *daemon = getenv("SWEETSPOT_TEST_DAEMON");
    if (!daemon)
        return 77; /* skipped: the build names the program */
    program = mem_format("%.*s/mssqlsim", (int)(strrchr(daemon, '/') - daemon), daemon);
    if (atexit(kill_alive) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(program);
    return failed;
}
