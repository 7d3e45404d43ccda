/* A thousand streams of events beside other calls, run by hand: `bench_streams [STREAMS [EVENTS]]`.
 * Prints how long calls took with and without the streams open, and what each stream got. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/sse_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define CALLS 300

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void tell(const char *what, int64_t *took_ns, int count)
{
    qsort(took_ns, (size_t)count, sizeof *took_ns, by_size);
    int middle = count / 2;
    int late = count * 99 / 100;
    (void)printf("%-34s p50 %7.3f ms   p99 %7.3f ms   max %7.3f ms\n", what,
                 (double)took_ns[middle] / 1e6, (double)took_ns[late] / 1e6,
                 (double)took_ns[count - 1] / 1e6);
}

/* Calls on one connection, each timed. */
static void measure(struct http_kit *kit, const char *what, const char *target)
{
    int64_t took_ns[CALLS];
    struct client client = client_open(kit->port);
    for (int i = 0; i < CALLS; i++) {
        int64_t began_ns = clock_mono_ns();
        struct reply reply = client_call(&client, "GET", target, NULL, NULL);
        took_ns[i] = clock_mono_ns() - began_ns;
        assert_int_equal(reply.status, 200);
        reply_fini(&reply);
    }
    client_close(&client);
    tell(what, took_ns, CALLS);
}

static void submit(struct http_kit *kit, int count)
{
    int64_t *took_ns = mem_alloc((size_t)count, sizeof *took_ns);
    struct client client = client_open(kit->port);
    for (int i = 0; i < count; i++) {
        int64_t began_ns = clock_mono_ns();
        struct reply reply = client_call(&client, "POST", "/v1/jobs", NULL, http_kit_job);
        took_ns[i] = clock_mono_ns() - began_ns;
        assert_int_equal(reply.status, 202);
        reply_fini(&reply);
    }
    client_close(&client);
    tell("submits, each told to all of them", took_ns, count);
    free(took_ns);
}

static void run(struct http_kit *kit, int streams, int events)
{
    struct sse *open = mem_alloc((size_t)streams, sizeof *open);
    measure(kit, "GET /livez, no stream", "/livez");
    measure(kit, "GET /v1/jobs, no stream", "/v1/jobs");
    int64_t began_ns = clock_mono_ns();
    for (int i = 0; i < streams; i++)
        open[i] = sse_open(kit->port, "/v1/events", -1);
    (void)printf("%d streams opened in %.3f s\n", streams,
                 (double)(clock_mono_ns() - began_ns) / 1e9);
    measure(kit, "GET /livez, idle streams", "/livez");
    submit(kit, events);
    measure(kit, "GET /livez, while they are told", "/livez");
    measure(kit, "GET /v1/jobs, while they are told", "/v1/jobs");
    struct sse_event event = {0};
    int64_t missed = 0;
    for (int i = 0; i < streams; i++) {
        for (int64_t id = 1; id <= events; id++)
            missed += !sse_next_event(&open[i], &event) || event.id != id;
        sse_close(&open[i]);
    }
    (void)printf("%lld of %lld events missed or out of order; all read after %.3f s\n",
                 (long long)missed, (long long)streams * events,
                 (double)(clock_mono_ns() - began_ns) / 1e9);
    free(event.data);
    free(open);
}

int main(int argc, char **argv)
{
    int streams = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1000;
    int events = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 100;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* else fewer connections are taken */
    }
    void *state = NULL;
    (void)http_kit_set_up(&state);
    run(state, streams, events);
    return http_kit_tear_down(&state);
}
