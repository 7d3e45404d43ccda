#include "tests/bench/load.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define CALLS_MAX ((size_t)1 << 20)
#define PAUSE_MS 2 /* between two calls: a good client is no flood itself */

struct load_client {
    const struct load *load;
    pthread_t thread;
    atomic_bool stop;
    size_t count;
    int64_t *took_ns;
};

static int missed;

static void raise_files(unsigned files)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = files < limit.rlim_max ? files : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

void load_start(struct load *load, unsigned files)
{
    int status;
    raise_files(files);
    *load = (struct load){0};
    child_make(&load->child, NULL);
    child_start(&load->child);
    cJSON_Delete(child_ask(&load->child, "POST", "/v1/mode", NULL, "{'mode':'paused'}", &status));
    assert_int_equal(status, 200);
    cJSON_Delete(child_ask(&load->child, "PUT", "/v1/instances/sql01", NULL,
                           "{'host':'127.0.0.1','port':9,'login':'sa','environment':'test',"
                           "'password':{'env':'SWEETSPOT_SECRET_SIM'}}",
                           &status));
    assert_int_equal(status, 201);
    char *id = child_submit(&load->child, "load",
                            "{'kind':'backup_sweep','instance':'sql01',"
                            "'parameters':{'database':'Sales','buffercount':['default',50]}}",
                            &status);
    assert_int_equal(status, 202);
    (void)snprintf(load->job, sizeof load->job, "/v1/jobs/%s", id);
    free(id);
}

void load_stop(struct load *load)
{
    (void)child_end(&load->child, SIGTERM);
    child_remove(&load->child);
}

int64_t load_resident_kib(pid_t pid)
{
    char line[256];
    int64_t kib = 0;
    char *path = mem_format("/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtoll(line + 6, NULL, 10);
    (void)fclose(file);
    free(path);
    return kib;
}

long load_open_files(const struct load *load)
{
    static const char name[] = "\nprocess_open_fds ";
    struct reply reply = call(load->child.port, "GET", "/metrics", NULL, NULL);
    assert_int_equal(reply.status, 200);
    const char *at = strstr(reply.body, name);
    assert_non_null(at);
    long count = strtol(at + sizeof name - 1, NULL, 10);
    reply_fini(&reply);
    return count;
}

static void *call_again_and_again(void *arg)
{
    struct load_client *client = arg;
    struct client open = {.fd = -1};
    while (!atomic_load(&client->stop) && client->count < CALLS_MAX) {
        if (client->count % 10 == 0 && open.fd >= 0)
            client_close(&open);
        int64_t began_ns = clock_mono_ns();
        if (open.fd < 0)
            open = client_open(client->load->child.port);
        struct reply reply = client_call(&open, "GET", client->load->job, NULL, NULL);
        client->took_ns[client->count++] = clock_mono_ns() - began_ns;
        if (reply.status != 200) {
            (void)fprintf(stderr, "the good client was answered %d\n", reply.status);
            exit(1);
        }
        reply_fini(&reply);
        (void)poll(NULL, 0, PAUSE_MS);
    }
    if (open.fd >= 0)
        client_close(&open);
    return NULL;
}

struct load_client *load_client_start(const struct load *load)
{
    struct load_client *client = mem_alloc(1, sizeof *client);
    client->load = load;
    client->took_ns = mem_alloc(CALLS_MAX, sizeof *client->took_ns);
    assert_int_equal(pthread_create(&client->thread, NULL, call_again_and_again, client), 0);
    return client;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

double load_client_stop(struct load_client *client, const char *what)
{
    atomic_store(&client->stop, true);
    (void)pthread_join(client->thread, NULL); /* fails only for a thread that is not ours */
    assert_true(client->count > 0);
    qsort(client->took_ns, client->count, sizeof *client->took_ns, by_size);
    size_t half = client->count / 2;
    size_t most = client->count * 99 / 100;
    double p99_ms = (double)client->took_ns[most] / 1e6;
    (void)printf("good client, %-28s %7zu calls   p50 %8.3f ms   p99 %8.3f ms   max %8.3f ms\n",
                 what, client->count, (double)client->took_ns[half] / 1e6, p99_ms,
                 (double)client->took_ns[client->count - 1] / 1e6);
    free(client->took_ns);
    free(client);
    return p99_ms;
}

void load_bar(const char *what, double value, double most, const char *unit)
{
    bool good = value <= most;
    missed += !good;
    (void)printf("%-42s %10.3f %-4s at most %g: %s\n", what, value, unit, most,
                 good ? "ok" : "MISSED");
}

int load_missed(void)
{
    return missed;
}
