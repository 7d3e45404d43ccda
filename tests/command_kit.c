#include "tests/command_kit.h"
#include "server/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    (void)fclose(file);
    (void)unlink(path);
}

struct end {
    bool (*is_due)(void *ctx); /* NULL: it ends by itself */
    void *ctx;
};

static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == pid;
}

static void kill_when_due(pid_t pid, const struct end *end)
{
    while (!end->is_due(end->ctx))
        if (has_ended(pid))
            return;
    assert_int_equal(kill(pid, SIGKILL), 0); /* it is not waited for yet, so it is still ours */
}

static struct outcome run(const char *dir, char *const argv[], const struct end *end)
{
    struct outcome outcome = {0};
    char *out = mem_format("%s/out", dir);
    char *talk = mem_format("%s/talk", dir);
    pid_t pid;
    int state;
    posix_spawn_file_actions_t files;
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    assert_int_equal(
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out, O_WRONLY | O_CREAT, 0600), 0);
    assert_int_equal(
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, talk, O_WRONLY | O_CREAT, 0600), 0);
    assert_int_equal(posix_spawn(&pid, argv[0], &files, NULL, argv, environ), 0);
    if (end)
        kill_when_due(pid, end);
    assert_int_equal(waitpid(pid, &state, 0), pid);
    assert_true(WIFEXITED(state) || end);
    outcome.status = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    read_file(out, outcome.out, sizeof outcome.out);
    read_file(talk, outcome.talk, sizeof outcome.talk);
    (void)posix_spawn_file_actions_destroy(&files);
    free(out);
    free(talk);
    return outcome;
}

struct outcome command_run(const char *dir, char *const argv[])
{
    return run(dir, argv, NULL);
}

static struct outcome run_line(const char *dir, const char *line, const struct end *end)
{
    char *argv[16] = {NULL};
    char *words = mem_copy(line);
    char *rest = words;
    char *state_dir = mem_format("--state-dir=%s", dir);
    char *program = mem_copy(getenv("SWEETSPOT_TEST_DAEMON"));
    char config[] = "--config=/dev/null";
    int count = 0;
    assert_non_null(program);
    argv[count++] = program;
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " "))
        if (*word)
            argv[count++] = word;
    argv[count++] = config;
    argv[count++] = state_dir;
    struct outcome outcome = run(dir, argv, end);
    free(words);
    free(state_dir);
    free(program);
    return outcome;
}

struct outcome command_line(const char *dir, const char *line)
{
    return run_line(dir, line, NULL);
}

struct outcome command_line_killed(const char *dir, const char *line, bool (*is_due)(void *ctx),
                                   void *ctx)
{
    const struct end end = {is_due, ctx};
    return run_line(dir, line, &end);
}
