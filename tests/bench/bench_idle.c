/* Connections that say nothing, run by hand: `bench_idle [CONNECTIONS]`, 10,000 when not told. The
 * daemon is a process of its own (SWEETSPOT_TEST_DAEMON names it). Prints what they cost it, how a
 * good client fares beside them, and when the last of them is cut. Exit status 1: a bar was missed.
 */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/bench/load.h"
#include "tests/http_client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#define FILES_BESIDE 512
#define LOOK_MS 3000        /* how long the good client calls */
#define RESIDENT_MIB_MAX 64 /* over what it was before */
#define P99_MS_MAX 250
#define CUT_S_MAX 32 /* the deadline of a request is 30 s */

static bool is_open(const struct client *client)
{
    char byte;
    ssize_t got = recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static size_t count_open(const struct client *clients, size_t count)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++)
        open += is_open(&clients[i]);
    return open;
}

static double look(const struct load *load, const char *what)
{
    struct load_client *good = load_client_start(load);
    (void)poll(NULL, 0, LOOK_MS);
    return load_client_stop(good, what);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    struct load load;
    load_start(&load, (unsigned)count + FILES_BESIDE);
    (void)look(&load, "alone");
    int64_t before_kib = load_resident_kib(load.child.pid);
    struct client *clients = mem_alloc(count, sizeof *clients);
    int64_t began_ns = clock_mono_ns();
    for (size_t i = 0; i < count; i++)
        clients[i] = client_open(load.child.port);
    (void)printf("%zu connections opened in %.2f s\n", count,
                 (double)(clock_mono_ns() - began_ns) / 1e9);
    double p99_ms = look(&load, "beside them");
    int64_t after_kib = load_resident_kib(load.child.pid);
    (void)printf("%zu of %zu connections are still open\n", count_open(clients, count), count);
    load_bar("memory over what it was before", (double)(after_kib - before_kib) / 1024,
             RESIDENT_MIB_MAX, "MiB");
    load_bar("good client beside them, p99", p99_ms, P99_MS_MAX, "ms");
    int64_t opened_ns = clock_mono_ns();
    while (count_open(clients, count) > 0 && clock_mono_ns() - opened_ns < INT64_C(60) * 1000000000)
        (void)poll(NULL, 0, 100); /* the next look */
    load_bar("the last is cut after", (double)(clock_mono_ns() - began_ns) / 1e9,
             CUT_S_MAX + (double)(opened_ns - began_ns) / 1e9 - LOOK_MS / 1e3, "s");
    for (size_t i = 0; i < count; i++)
        client_close(&clients[i]);
    free(clients);
    load_stop(&load);
    return load_missed() > 0;
}
