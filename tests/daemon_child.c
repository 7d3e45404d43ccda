#include "tests/daemon_child.h"
#include "server/mem.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <fcntl.h>
#include <ftw.h>
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

#define READY_MS 30000

/* Reads "sweetspotd ready on http://127.0.0.1:PORT". */
static int read_port(int fd)
{
    char line[200] = "";
    size_t length = 0;
    struct pollfd polls = {.fd = fd, .events = POLLIN};
    while (length < sizeof line - 1 && !memchr(line, '\n', length)) {
        assert_int_equal(poll(&polls, 1, READY_MS), 1);
        ssize_t got = read(fd, line + length, sizeof line - 1 - length);
        assert_true(got > 0);
        length += (size_t)got;
    }
    line[length] = '\0';
    const char *colon = strrchr(line, ':');
    assert_non_null(colon);
    return (int)strtol(colon + 1, NULL, 10);
}

void child_start(struct child *child)
{
    const char *daemon_path = getenv("SWEETSPOT_TEST_DAEMON");
    if (!daemon_path) {
        fail_msg("SWEETSPOT_TEST_DAEMON names no program");
        return;
    }
    char program[] = "sweetspotd";
    char no_file[] = "--config=/dev/null";
    char listen[] = "--listen=127.0.0.1:0";
    char level[] = "--log-level=error";
    char *dir = mem_format("--state-dir=%s", child->dir);
    char allow[] = "--webhooks-allow=127.0.0.1";
    char *argv[] = {program, no_file, listen, level, allow, dir, NULL};
    int out[2];
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO), 0);
    assert_int_equal(posix_spawn(&child->pid, daemon_path, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(out[1]);
    child->port = read_port(out[0]);
    (void)close(out[0]);
    free(dir);
}

int child_end(struct child *child, int signal)
{
    int status = 0;
    assert_int_equal(kill(child->pid, signal), 0);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    return status;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

void child_make(struct child *child)
{
    (void)snprintf(child->dir, sizeof child->dir, "/tmp/sweetspot-test.XXXXXX");
    assert_non_null(mkdtemp(child->dir));
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIM", "Sweetspot-1", 1), 0);
}

void child_remove(struct child *child)
{
    assert_int_equal(nftw(child->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

cJSON *child_ask(const struct child *child, const char *method, const char *target,
                 const char *headers, const char *body, int *out_status)
{
    char *json = body ? harness_json(body) : NULL;
    struct reply reply = call(child->port, method, target, headers, json);
    cJSON *tree = reply.body_length ? cJSON_Parse(reply.body) : NULL;
    *out_status = reply.status;
    reply_fini(&reply);
    free(json);
    return tree;
}

cJSON *child_get(const struct child *child, const char *target)
{
    int status;
    cJSON *tree = child_ask(child, "GET", target, NULL, NULL, &status);
    assert_int_equal(status, 200);
    return tree;
}
