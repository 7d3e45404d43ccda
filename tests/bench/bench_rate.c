/* Calls a second, run by hand: `bench_rate [SECONDS [ROUNDS]]`: 64 connections ask for a job, and
 * then the same of a bare libmicrohttpd that says hello, turn by turn, so that what else this
 * machine does meets both. Each is a process of its own (SWEETSPOT_TEST_DAEMON names ours). Prints
 * the rates and their ratio; exit status 1 when it is below a half. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/bench/load.h"
#include "tests/http_client.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CONNECTIONS 64
#define BARE_THREADS 2u /* as ours */
#define RATIO_MIN 0.5
#define ROUNDS_MAX 99

/* --- the bare one -------------------------------------------------------------------------- */

static enum MHD_Result hello(void *cls, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **ctx)
{
    static char text[] = "hello";
    static int seen;
    (void)cls;
    (void)url;
    (void)method;
    (void)version;
    (void)upload;
    (void)upload_size;
    if (*ctx != &seen) { /* the head only: an answer now would close the connection */
        *ctx = &seen;
        return MHD_YES;
    }
    *ctx = NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return queued;
}

/* In its own process: says its port and serves until it is killed. */
static void serve_bare(int out)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, hello, NULL,
                         MHD_OPTION_THREAD_POOL_SIZE, BARE_THREADS, MHD_OPTION_END);
    if (!daemon)
        _exit(1);
    int port = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    if (write(out, &port, sizeof port) != (ssize_t)sizeof port)
        _exit(1);
    for (;;)
        (void)pause();
}

static pid_t start_bare(int *out_port)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        serve_bare(ends[1]);
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], out_port, sizeof *out_port), sizeof *out_port);
    (void)close(ends[0]);
    return pid;
}

/* --- the load ------------------------------------------------------------------------------ */

struct target {
    const char *name;
    int port;
    const char *path;
    double rates[ROUNDS_MAX];
};

/* The bytes of one whole answer: all are alike. */
static size_t answer_bytes(const struct target *target)
{
    struct reply reply = call(target->port, "GET", target->path, NULL, NULL);
    assert_int_equal(reply.status, 200);
    size_t bytes = strlen(reply.head) + reply.body_length;
    reply_fini(&reply);
    return bytes;
}

/* What came on one connection; 1 when an answer is whole, and then the next is asked for. */
static int64_t take(int fd, size_t *left, size_t bytes, const char *ask)
{
    char block[16384];
    ssize_t got = recv(fd, block, sizeof block, MSG_DONTWAIT);
    assert_true(got > 0 && (size_t)got <= *left);
    if (*left == bytes)
        assert_memory_equal(block, "HTTP/1.1 200", got < 12 ? (size_t)got : 12);
    *left -= (size_t)got;
    if (*left > 0)
        return 0;
    *left = bytes;
    assert_int_equal(send(fd, ask, strlen(ask), MSG_NOSIGNAL), strlen(ask));
    return 1;
}

static double rate_of(const struct target *target, double seconds)
{
    struct client clients[CONNECTIONS];
    size_t left[CONNECTIONS];
    struct epoll_event events[CONNECTIONS];
    size_t bytes = answer_bytes(target);
    char *ask = mem_format("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target->path);
    int ready = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = i}};
        clients[i] = client_open(target->port);
        left[i] = bytes;
        assert_int_equal(epoll_ctl(ready, EPOLL_CTL_ADD, clients[i].fd, &event), 0);
        client_send(&clients[i], ask);
    }
    int64_t began_ns = clock_mono_ns();
    int64_t answers = 0;
    while ((double)(clock_mono_ns() - began_ns) < seconds * 1e9) {
        int count = epoll_wait(ready, events, CONNECTIONS, 1000);
        for (int i = 0; i < count; i++)
            answers += take(clients[events[i].data.u32].fd, &left[events[i].data.u32], bytes, ask);
    }
    double rate = (double)answers * 1e9 / (double)(clock_mono_ns() - began_ns);
    for (int i = 0; i < CONNECTIONS; i++)
        client_close(&clients[i]);
    (void)close(ready);
    free(ask);
    return rate;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    double ratios[ROUNDS_MAX] = {0};
    struct load load;
    struct target bare = {.name = "bare libmicrohttpd, hello", .path = "/"};
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    pid_t pid = start_bare(&bare.port); /* before there are threads */
    load_start(&load, 1024);
    struct target ours = {.name = "GET job", .port = load.child.port, .path = load.job};
    for (int i = 0; i < rounds; i++) {
        bare.rates[i] = rate_of(&bare, seconds);
        ours.rates[i] = rate_of(&ours, seconds);
        ratios[i] = ours.rates[i] / bare.rates[i];
        (void)printf("%s: %.0f/s   %s: %.0f/s   ratio %.2f\n", bare.name, bare.rates[i], ours.name,
                     ours.rates[i], ratios[i]);
    }
    qsort(ratios, (size_t)rounds, sizeof *ratios, by_size);
    double ratio = ratios[rounds / 2];
    (void)printf("ratio, median of %d rounds, %d connections: %.2f, at least %.1f: %s\n", rounds,
                 CONNECTIONS, ratio, RATIO_MIN, ratio >= RATIO_MIN ? "ok" : "MISSED");
    load_stop(&load);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return ratio < RATIO_MIN;
}
