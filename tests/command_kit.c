#include "tests/command_kit.h"
#include "server/clock.h"
#include "server/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* Kills at an instant, not where a sleep happens to end. */
static void kill_after(pid_t pid, unsigned after_us)
{
    int64_t until = clock_mono_ns() + (int64_t)after_us * 1000;
    while (clock_mono_ns() < until)
        continue;
    assert_int_equal(kill(pid, SIGKILL), 0); /* it is not waited for yet, so it is still ours */
}

static struct outcome run(const char *dir, char *const argv[], const unsigned *after_us)
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
    if (after_us)
        kill_after(pid, *after_us);
    assert_int_equal(waitpid(pid, &state, 0), pid);
    assert_true(WIFEXITED(state) || after_us);
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

static struct outcome run_line(const char *dir, const char *line, const unsigned *after_us)
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
    struct outcome outcome = run(dir, argv, after_us);
    free(words);
    free(state_dir);
    free(program);
    return outcome;
}

struct outcome command_line(const char *dir, const char *line)
{
    return run_line(dir, line, NULL);
}

struct outcome command_line_killed(const char *dir, const char *line, unsigned after_us)
{
    return run_line(dir, line, &after_us);
}
