#include "tests/receiver.h"
#include "server/clock.h"
#include "server/lock.h"
#include "server/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define MOST 1024
#define BYTES_MOST (256 << 10)
#define WAIT_NS ((int64_t)20 * 1000000000)

struct receiver {
    int listener;
    int port;
    int stop[2]; /* a pipe: its end ends the thread */
    pthread_t thread;
    struct lock lock; /* guards the members below */
    struct wait came;
    struct delivery deliveries[MOST];
    size_t count;
    int status;
    int times;
};

/* Reads one request; false when the other side gave up. */
static bool read_request(int fd, struct delivery *out)
{
    char *bytes = mem_alloc(BYTES_MOST, 1);
    size_t length = 0;
    size_t wanted = BYTES_MOST;
    while (length < wanted) {
        ssize_t got = recv(fd, bytes + length, BYTES_MOST - 1 - length, 0);
        if (got <= 0)
            break;
        length += (size_t)got;
        bytes[length] = '\0';
        const char *end = strstr(bytes, "\r\n\r\n");
        const char *size = end ? strcasestr(bytes, "content-length:") : NULL;
        if (size)
            wanted =
                (size_t)(end + 4 - bytes) + strtoul(size + strlen("content-length:"), NULL, 10);
    }
    char *end = strstr(bytes, "\r\n\r\n");
    bool whole = end && length >= wanted;
    if (whole) {
        out->body = mem_copy(end + 4);
        *end = '\0';
        out->head = mem_copy(bytes);
    }
    free(bytes);
    return whole;
}

static int keep(struct receiver *receiver, struct delivery *delivery)
{
    lock_take(&receiver->lock);
    int status = receiver->times > 0 ? receiver->status : 200;
    receiver->times -= receiver->times > 0;
    if (receiver->count < MOST)
        receiver->deliveries[receiver->count++] = *delivery;
    wait_wake_all(&receiver->came);
    lock_drop(&receiver->lock);
    return status;
}

static void serve(struct receiver *receiver, int fd)
{
    struct delivery delivery = {0};
    char answer[120];
    if (read_request(fd, &delivery)) {
        int status = keep(receiver, &delivery);
        int length =
            snprintf(answer, sizeof answer,
                     "HTTP/1.1 %d X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", status);
        (void)send(fd, answer, (size_t)length,
                   MSG_NOSIGNAL); /* a caller that left will try again */
    }
    (void)close(fd);
}

static void *receive(void *arg)
{
    struct receiver *receiver = arg;
    struct pollfd polls[2] = {{.fd = receiver->listener, .events = POLLIN},
                              {.fd = receiver->stop[0], .events = POLLIN}};
    while (poll(polls, 2, -1) >= 0 && polls[1].revents == 0) {
        int fd = accept4(receiver->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            serve(receiver, fd);
    }
    return NULL;
}

struct receiver *receiver_start(void)
{
    struct receiver *receiver = mem_alloc(1, sizeof *receiver);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    lock_init(&receiver->lock);
    wait_init(&receiver->came);
    receiver->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(receiver->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(receiver->listener, 64), 0);
    assert_int_equal(getsockname(receiver->listener, (struct sockaddr *)&at, &size), 0);
    receiver->port = ntohs(at.sin_port);
    assert_int_equal(pipe(receiver->stop), 0);
    assert_int_equal(pthread_create(&receiver->thread, NULL, receive, receiver), 0);
    return receiver;
}

void receiver_stop(struct receiver *receiver)
{
    if (!receiver)
        return;
    (void)close(receiver->stop[1]);
    (void)pthread_join(receiver->thread, NULL);
    (void)close(receiver->stop[0]);
    (void)close(receiver->listener);
    for (size_t i = 0; i < receiver->count; i++) {
        free(receiver->deliveries[i].head);
        free(receiver->deliveries[i].body);
    }
    wait_fini(&receiver->came);
    lock_fini(&receiver->lock);
    free(receiver);
}

int receiver_port(const struct receiver *receiver)
{
    return receiver->port;
}

void receiver_answer(struct receiver *receiver, int status, int times)
{
    lock_take(&receiver->lock);
    receiver->status = status;
    receiver->times = times;
    lock_drop(&receiver->lock);
}

const struct delivery *receiver_wait(struct receiver *receiver, size_t index)
{
    int64_t until = clock_mono_ns() + WAIT_NS;
    lock_take(&receiver->lock);
    while (receiver->count <= index && clock_mono_ns() < until)
        wait_until(&receiver->came, &receiver->lock, until);
    bool there = receiver->count > index;
    lock_drop(&receiver->lock);
    if (!there)
        fail_msg("delivery %zu did not come", index);
    return &receiver->deliveries[index];
}

size_t receiver_count(struct receiver *receiver)
{
    lock_take(&receiver->lock);
    size_t count = receiver->count;
    lock_drop(&receiver->lock);
    return count;
}

void delivery_header(const struct delivery *delivery, const char *name, char out[200])
{
    size_t length = strlen(name);
    out[0] = '\0';
    for (const char *line = strstr(delivery->head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *value = line + length + 1 + strspn(line + length + 1, " ");
        (void)snprintf(out, 200, "%.*s", (int)strcspn(value, "\r\n"), value);
        return;
    }
}
