/* Many at once, slow ones, endless ones: what they may cost, and that others are served. Numbers
 * can be raised for a long run: SWEETSPOT_TEST_FLOOD=1000. */
#include "api/attempts.h"
#include "api/gate.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/log.h"
#include "server/mem.h"
#include "tests/http_kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define REQUEST_MS 4000 /* what a whole request may take here */

static size_t flood_size(void)
{
    const char *text = getenv("SWEETSPOT_TEST_FLOOD");
    long size = text ? strtol(text, NULL, 10) : 0;
    return size > 0 && size <= 4000 ? (size_t)size : 200;
}

static void assert_served(struct http_kit *kit, const char *token)
{
    struct reply reply = http_kit_call_as(kit, token, "GET", "/v1/jobs", NULL, NULL);
    assert_int_equal(reply.status, 200);
    reply_fini(&reply);
}

/* --- slow ones ----------------------------------------------------------------------------- */

static bool is_closed(int fd)
{
    char bytes[256];
    ssize_t length;
    while ((length = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        continue;
    return length == 0 || errno != EAGAIN;
}

static const struct {
    const char *begin;
    const char *more; /* a byte of it at a time, for ever */
} drips[] = {
    {"", "GET / HTTP/1.1 and on and on"},
    {"GET /livez HTTP/1.1\r\nX: ", "a"},
    {"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n", " "},
    {"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
     "1\r\n \r\n"},
};
#define DRIPS (sizeof drips / sizeof drips[0])

/* One byte to each that is open; how many are left. */
static size_t drip(struct client *clients, size_t count, size_t round)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        const char *more = drips[i % DRIPS].more;
        if (clients[i].fd < 0)
            continue;
        if (is_closed(clients[i].fd)) {
            client_close(&clients[i]);
            clients[i].fd = -1;
            continue;
        }
        client_send_bytes(&clients[i], more + round % strlen(more), 1);
        open++;
    }
    return open;
}

/* Libraries' time-outs count silence, and none of these is ever silent. */
static void who_sends_a_byte_now_and_then_is_cut(void **state)
{
    struct http_kit *kit = http_kit_start(REQUEST_MS);
    size_t count = flood_size();
    struct client *clients = mem_alloc(count, sizeof *clients);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        clients[i] = client_open(kit->port);
        client_send(&clients[i], drips[i % DRIPS].begin);
    }
    for (size_t round = 0; drip(clients, count, round) > 0; round++) {
        assert_served(kit, NULL); /* all the while */
        (void)poll(NULL, 0, 20);  /* the rate at which bytes drip */
    }
    print_message("%zu slow connections, all cut, others served all the while\n", count);
    free(clients);
    http_kit_stop(kit);
}

/* --- idle ones ----------------------------------------------------------------------------- */

static void idle_connections_do_not_keep_others_out(void **state)
{
    struct http_kit *kit = *state;
    size_t count = flood_size();
    struct client *clients = mem_alloc(count, sizeof *clients);
    for (size_t i = 0; i < count; i++)
        clients[i] = client_open(kit->port);
    assert_served(kit, NULL);
    for (size_t i = 0; i < count; i++) { /* and each of them is served when it comes to speak */
        struct reply reply = client_call(&clients[i], "GET", "/livez", NULL, NULL);
        assert_int_equal(reply.status, 200);
        reply_fini(&reply);
    }
    print_message("%zu idle connections, others served, and then they\n", count);
    for (size_t i = 0; i < count; i++)
        client_close(&clients[i]);
    free(clients);
}

/* libmicrohttpd accepts nobody at its limit: 12,288 that say nothing would keep all others out for
 * as long as they may stay. */
static void who_says_nothing_makes_room_for_who_does(void **state)
{
    enum { LIMIT = 64, COUNT = 4 * LIMIT };
    struct http_kit *kit = *state;
    struct client clients[COUNT];
    size_t open = 0;
    http_kit_stop_http(kit);
    kit->parts.connections = LIMIT;
    http_kit_start_http(kit);
    char *id = http_kit_submit(kit);
    struct client held = http_kit_hold(kit, id, 60); /* older than all, but it is we who keep it */
    for (size_t i = 0; i < COUNT; i++) {
        clients[i] = client_open(kit->port);
        assert_served(kit, NULL);
    }
    for (size_t i = 0; i < COUNT; i++)
        open += !is_closed(clients[i].fd);
    assert_in_range(open, 1, LIMIT);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    struct reply reply = call(kit->port, "POST", target, NULL, NULL);
    assert_int_equal(reply.status, 202);
    reply_fini(&reply);
    reply = client_read(&held, true);
    assert_int_equal(reply.status, 200);
    reply_fini(&reply);
    print_message("%d silent connections, %zu kept, each call between them served\n", COUNT, open);
    for (size_t i = 0; i < COUNT; i++)
        client_close(&clients[i]);
    client_close(&held);
    free(target);
    free(id);
}

static int new_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static void begin_to_connect(int fd, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)},
                                  .sin_port = htons((uint16_t)port)};
    (void)connect(fd, (struct sockaddr *)&address, sizeof address); /* goes on by itself */
}

/* A connection whose answer is not waited for; -1 when no file is left. */
static int connect_only(int port)
{
    int fd = new_socket();
    if (fd >= 0)
        begin_to_connect(fd, port);
    return fd;
}

static int64_t cpu_ns(void)
{
    struct timespec used;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

/* Client and service share this process's files: the client takes all of them. */
static void without_files_open_connections_go_on_and_it_ends_with_them(void **state)
{
    enum { FILES = 256 };
    struct http_kit *kit = *state;
    struct rlimit before;
    int fds[FILES];
    int count = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {.rlim_cur = FILES, .rlim_max = before.rlim_max};
    struct client client = client_open(kit->port);
    struct reply reply = client_call(&client, "GET", "/livez", NULL, NULL);
    assert_int_equal(reply.status, 200);
    reply_fini(&reply);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < FILES && (fds[count] = connect_only(kit->port)) >= 0)
        count++;
    assert_true(count > 0 && count < FILES);
    for (int i = 0; i < 50; i++) {
        reply = client_call(&client, "PUT", "/v1/instances/sql01", NULL, http_kit_instance);
        assert_int_equal(reply.status, 200);
        reply_fini(&reply);
    }
    int64_t began_ns = cpu_ns();
    (void)poll(NULL, 0, 500);                              /* the time that is looked at */
    assert_true(cpu_ns() - began_ns < INT64_C(250000000)); /* it does not try again and again */
    while (count > 0)
        (void)close(fds[--count]);
    assert_served(kit, NULL);
    client_close(&client);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* A thread that has no connection to wait for must not try to accept without a pause. */
static void without_files_and_connections_nobody_is_busy(void **state)
{
    enum { FILES = 256 };
    struct http_kit *kit = *state;
    struct rlimit before;
    int fds[FILES] = {new_socket(), new_socket()};
    int count = 2;
    assert_served(kit, NULL); /* the store has what it needs */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {.rlim_cur = FILES, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < FILES && (fds[count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
        count++;
    assert_true(count > 2 && count < FILES);
    begin_to_connect(fds[0], kit->port);
    begin_to_connect(fds[1], kit->port);
    int64_t began_ns = cpu_ns();
    (void)poll(NULL, 0, 500); /* the time that is looked at */
    assert_true(cpu_ns() - began_ns < INT64_C(250000000));
    while (count > 0)
        (void)close(fds[--count]);
    assert_served(kit, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* --- endless ones -------------------------------------------------------------------------- */

static size_t resident_kib(void)
{
    char line[256];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    (void)fclose(file);
    return kib;
}

/* Sends a chunk again and again until the other side closes; how many bytes that took. */
static uint64_t send_without_end(struct client *client, const char *chunk, size_t length)
{
    uint64_t sent = 0;
    while (sent < 8 * GATE_DRAIN_BYTES) {
        ssize_t written = send(client->fd, chunk, length, MSG_NOSIGNAL);
        if (written <= 0)
            break;
        sent += (uint64_t)written;
    }
    return sent;
}

static void a_body_without_end_costs_no_memory(void **state)
{
#define ENDLESS "Transfer-Encoding: chunked\r\n\r\n"
#define JSON "Content-Type: application/json\r\n"
    static const char *const heads[] = {
        "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n" JSON ENDLESS,
        "POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\n" ENDLESS,
        "GET /livez HTTP/1.1\r\nHost: evil.example\r\n" ENDLESS,
        "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10737418240\r\n\r\n",
    };
    struct http_kit *kit = *state;
    enum { CHUNK = 16384 };
    char *chunk = mem_alloc(1, CHUNK + 9);
    int length = snprintf(chunk, CHUNK + 9, "%x\r\n%*s\r\n", CHUNK - 64, CHUNK - 64, "");
    assert_served(kit, NULL);
    size_t before = resident_kib();
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct client client = client_open(kit->port);
        client_send(&client, heads[i]);
        uint64_t sent = send_without_end(&client, chunk, (size_t)length);
        /* what the kernel holds on both sides comes on top */
        if (sent > GATE_DRAIN_BYTES + (32 << 20))
            fail_msg("%s: took %llu bytes", heads[i], (unsigned long long)sent);
        client_close(&client);
        assert_served(kit, NULL);
    }
    size_t after = resident_kib();
    if (after > before + 16 * 1024)
        fail_msg("grew from %zu to %zu KiB", before, after);
    free(chunk);
}

/* --- guesses ------------------------------------------------------------------------------- */

static void guesses_come_to_nothing_and_are_told_to_slow_down(void **state)
{
    struct http_kit *kit = *state;
    size_t guesses = 25 * flood_size();
    size_t unauthorized = 0;
    char guess[TOKEN_TEXT_SIZE];
    char *token = http_kit_token(kit, "good", SCOPE_READ);
    int64_t began_ns = clock_mono_ns();
    struct client client = client_open(kit->port);
    for (size_t i = 0; i < guesses; i++) {
        token_new(guess);
        char *header = mem_format("Authorization: Bearer %s\r\n", guess);
        struct reply reply = client_call(&client, "GET", "/v1/jobs", header, NULL);
        if (reply.status == 401)
            unauthorized++;
        else
            assert_int_equal(reply.status, 429);
        reply_fini(&reply);
        free(header);
        if (i % 100 == 0)
            assert_served(kit, token);
    }
    int64_t windows = 1 + (clock_mono_ns() - began_ns) / (ATTEMPTS_WINDOW_S * INT64_C(1000000000));
    print_message("%zu guesses, %zu of them answered 401\n", guesses, unauthorized);
    assert_true(unauthorized >= ATTEMPTS_FREE);
    assert_true(unauthorized <= (size_t)(ATTEMPTS_FREE * (windows + 1)));
    client_close(&client);
    free(token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sends_a_byte_now_and_then_is_cut),
        HTTP_TEST(idle_connections_do_not_keep_others_out),
        HTTP_TEST(who_says_nothing_makes_room_for_who_does),
        HTTP_TEST(without_files_open_connections_go_on_and_it_ends_with_them),
        HTTP_TEST(without_files_and_connections_nobody_is_busy),
        HTTP_TEST(a_body_without_end_costs_no_memory),
        HTTP_TEST(guesses_come_to_nothing_and_are_told_to_slow_down),
    };
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
