/* Slow clients, run by hand: `bench_slow [CONNECTIONS]`, 1,000 when not told: a third each sends a
 * head, or a body, a byte a second, or asks for much and reads nothing. The daemon is a process of
 * its own (SWEETSPOT_TEST_DAEMON names it). Prints when the last of each kind is cut and how a good
 * client fares meanwhile. Takes two minutes. Exit status 1: a bar was missed. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/bench/load.h"
#include "tests/http_client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FILES_BESIDE 512
#define ROUND_MS 1000
#define ROUNDS_MAX 140
#define P99_MS_MAX 50
#define GRACE_S 3.0   /* two, and a round until it is seen */
#define GOOD_FILES 2  /* the good client's, and the question's own */
#define PIPELINED 128 /* answers that no kernel keeps for who does not read */

enum kind { SLOW_HEAD, SLOW_BODY, SLOW_READER, KINDS };

static const struct {
    const char *name;
    const char *begin;
    const char *more;  /* a byte of it at a time */
    double deadline_s; /* api/http.c; a reader has it once its buffers are full */
} kinds[KINDS] = {
    {"slow heads", "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ", "a", 30},
    {"slow bodies",
     "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 999999\r\n\r\n",
     " ", 30},
    {"readers that do not read", "", "", 122},
};

struct slow {
    struct client client; /* fd -1: it was cut */
    enum kind kind;
};

/* Sends what fits and never waits. */
static bool send_some(const struct client *client, const char *bytes, size_t length)
{
    return send(client->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EAGAIN;
}

static void begin(struct slow *slow, int port)
{
    static const char ask[] = "GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int little = 4096;
    slow->client = client_open(port);
    (void)setsockopt(slow->client.fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    if (slow->kind == SLOW_READER)
        for (int i = 0; i < PIPELINED; i++)
            (void)send_some(&slow->client, ask, sizeof ask - 1);
    else
        client_send(&slow->client, kinds[slow->kind].begin);
}

/* One byte more; false: the other side has ended it. */
static bool go_on(const struct slow *slow)
{
    struct pollfd ends = {.fd = slow->client.fd, .events = POLLRDHUP};
    if (poll(&ends, 1, 0) == 1 && (ends.revents & (POLLRDHUP | POLLHUP | POLLERR)))
        return false;
    return send_some(&slow->client, kinds[slow->kind].more, 1);
}

/* A byte to each that sends; how many of them are left. */
static size_t drip(struct slow *all, size_t count)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        if (all[i].kind == SLOW_READER || all[i].client.fd < 0)
            continue;
        if (go_on(&all[i])) {
            open++;
            continue;
        }
        client_close(&all[i].client);
        all[i].client.fd = -1;
    }
    return open;
}

/* A round each second until all are cut. Who does not read does not see its end come either: the
 * daemon's own count of connections tells it. */
static void wait_for_the_end(const struct load *load, struct slow *all, size_t count,
                             int64_t began_ns, long files_before, double last_s[KINDS])
{
    size_t senders = count;
    bool readers = true;
    for (int round = 0; round < ROUNDS_MAX && (senders > 0 || readers); round++) {
        (void)poll(NULL, 0, ROUND_MS); /* the rate at which bytes drip */
        double now_s = (double)(clock_mono_ns() - began_ns) / 1e9;
        if (senders > 0) {
            senders = drip(all, count);
            last_s[SLOW_HEAD] = last_s[SLOW_BODY] = now_s;
        } else {
            readers = load_open_files(load) > files_before + GOOD_FILES;
            last_s[SLOW_READER] = now_s;
        }
    }
    load_bar("slow senders never cut", (double)senders, 0, "");
    load_bar("readers never cut", readers, 0, "");
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    struct slow *all = mem_alloc(count, sizeof *all);
    double last_s[KINDS] = {0};
    struct load load;
    load_start(&load, (unsigned)count + FILES_BESIDE);
    long files_before = load_open_files(&load);
    struct load_client *good = load_client_start(&load);
    int64_t began_ns = clock_mono_ns();
    for (size_t i = 0; i < count; i++) {
        all[i].kind = (enum kind)(i % KINDS);
        begin(&all[i], load.child.port);
    }
    double opening_s = (double)(clock_mono_ns() - began_ns) / 1e9;
    wait_for_the_end(&load, all, count, began_ns, files_before, last_s);
    double p99_ms = load_client_stop(good, "beside slow ones");
    load_bar("good client beside them, p99", p99_ms, P99_MS_MAX, "ms");
    for (int kind = 0; kind < KINDS; kind++) {
        char *what = mem_format("last cut of the %s", kinds[kind].name);
        load_bar(what, last_s[kind], kinds[kind].deadline_s + GRACE_S + opening_s, "s");
        free(what);
    }
    for (size_t i = 0; i < count; i++)
        if (all[i].client.fd >= 0)
            client_close(&all[i].client);
    free(all);
    load_stop(&load);
    return load_missed() > 0;
}
