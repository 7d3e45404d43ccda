#include "tests/child_kit.h"
#include "server/clock.h"
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define READY_MS 30000
#define DONE_NS ((int64_t)60 * 1000000000)

#define READY "sweetspotd ready on http://127.0.0.1:"

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
    assert_int_equal(strncmp(line, READY, strlen(READY)), 0);
    assert_string_equal(strchr(line, '\n'), "\n"); /* one line, and nothing behind it */
    return (int)strtol(colon + 1, NULL, 10);
}

/* A test that fails must not leave its daemon behind. */
static pid_t running;

static void kill_running(void)
{
    if (running > 0)
        (void)kill(running, SIGKILL);
}

void child_start(struct child *child)
{
    static bool registered;
    if (!registered)
        assert_int_equal(atexit(kill_running), 0);
    registered = true;
    char program[] = "sweetspotd";
    char no_file[] = "--config=/dev/null";
    char listen[] = "--listen=127.0.0.1:0";
    char level[] = "--log-level=error";
    char allow[] = "--webhooks-allow=127.0.0.0/8";
    char *dir = mem_format("--state-dir=%s", child->dir);
    char *argv[] = {program, no_file, listen, level, allow, dir, NULL};
    int out[2];
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO), 0);
    assert_int_equal(posix_spawn(&child->pid, child->program, &actions, NULL, argv, environ), 0);
    running = child->pid;
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
    child->pid = running = 0;
    return status;
}

bool child_has_died(struct child *child, int timeout_ms)
{
    struct pollfd polls = {.fd = (int)syscall(SYS_pidfd_open, child->pid, 0), .events = POLLIN};
    int status = 0;
    assert_true(polls.fd >= 0);
    bool died = poll(&polls, 1, timeout_ms) == 1;
    (void)close(polls.fd);
    if (died)
        assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    child->pid = running = died ? 0 : child->pid;
    return died;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

void child_make(struct child *child, const char *program)
{
    *child = (struct child){.program = program ? program : getenv("SWEETSPOT_TEST_DAEMON")};
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(child->dir, sizeof child->dir, "%s/sweetspot-test.XXXXXX", place);
    assert_non_null(child->program);
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

char *child_submit(const struct child *child, const char *key, const char *body, int *out_status)
{
    int status;
    char *header = mem_format("Idempotency-Key: %s\r\n", key);
    cJSON *job = child_ask(child, "POST", "/v1/jobs", header, body, &status);
    free(header);
    if (status == 0)
        return NULL;
    if (status != 202 && status != 200)
        fail_msg("%d: %s", status, cJSON_PrintUnformatted(job));
    char *id = mem_copy(text_at(job, "id"));
    cJSON_Delete(job);
    if (out_status)
        *out_status = status;
    return id;
}

cJSON *child_wait_for_end(const struct child *child, const char *id)
{
    char *target = mem_format("/v1/jobs/%s", id);
    int64_t until = clock_mono_ns() + DONE_NS;
    cJSON *job = NULL;
    int status;
    do {
        cJSON_Delete(job);
        job = child_ask(child, "GET", target, "Prefer: wait=5\r\n", NULL, &status);
        assert_int_equal(status, 200);
    } while (cJSON_IsNull(at(job, "finished_at")) && clock_mono_ns() < until);
    if (cJSON_IsNull(at(job, "finished_at")))
        fail_msg("%s", cJSON_PrintUnformatted(job));
    free(target);
    return job;
}
