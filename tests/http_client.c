#include "tests/http_client.h"
#include "server/buf.h"
#include "server/clock.h"
#include "server/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 10000

struct client client_open(int port)
{
    struct client client = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(client.fd >= 0);
    (void)setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* speed only */
    assert_int_equal(connect(client.fd, (struct sockaddr *)&to, sizeof to), 0);
    return client;
}

void client_close(struct client *client)
{
    (void)close(client->fd);
    free(client->bytes);
    *client = (struct client){.fd = -1};
}

void client_send_bytes(struct client *client, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(client->fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return;
        bytes += sent;
        length -= (size_t)sent;
    }
}

void client_send(struct client *client, const char *text)
{
    client_send_bytes(client, text, strlen(text));
}

void client_finish_sending(struct client *client)
{
    (void)shutdown(client->fd, SHUT_WR); /* fails when the other side has closed already */
}

/* Reads more; false at the end of the stream. */
static bool more(struct client *client)
{
    struct pollfd wanted = {.fd = client->fd, .events = POLLIN};
    if (poll(&wanted, 1, TIMEOUT_MS) != 1)
        fail_msg("no answer within %d ms", TIMEOUT_MS);
    client->bytes = mem_grow(client->bytes, &client->capacity, client->length + 65537, 1);
    ssize_t got = recv(client->fd, client->bytes + client->length, 65536, 0);
    if (got <= 0)
        return false;
    client->length += (size_t)got;
    client->bytes[client->length] = '\0';
    return true;
}

static void consume(struct client *client, size_t length)
{
    memmove(client->bytes, client->bytes + length, client->length - length);
    client->length -= length;
    client->bytes[client->length] = '\0';
}

static char *take(struct client *client, size_t length)
{
    char *text = mem_alloc(length + 1, 1);
    memcpy(text, client->bytes, length);
    consume(client, length);
    return text;
}

struct reply client_read(struct client *client, bool with_body)
{
    struct reply reply = {0};
    const char *end = NULL;
    while (!client->length || !(end = strstr(client->bytes, "\r\n\r\n")))
        if (!more(client))
            return reply;
    reply.head = take(client, (size_t)(end - client->bytes) + 4);
    assert_int_equal(strncmp(reply.head, "HTTP/1.1 ", 9), 0);
    reply.status = (int)strtol(reply.head + 9, NULL, 10);
    if (reply.status == 100) {
        reply_fini(&reply);
        return client_read(client, with_body);
    }
    with_body = with_body && reply.status != 204 && reply.status != 304;
    size_t length = with_body ? strtoul(reply_header(&reply, "Content-Length"), NULL, 10) : 0;
    while (client->length < length)
        assert_true(more(client));
    reply.body = length > 0 ? take(client, length) : mem_copy("");
    reply.body_length = length;
    return reply;
}

void reply_fini(struct reply *reply)
{
    free(reply->head);
    free(reply->body);
    *reply = (struct reply){0};
}

bool client_is_closed(struct client *client)
{
    return client->length == 0 && !more(client);
}

const char *client_read_rest(struct client *client)
{
    while (more(client))
        continue;
    return client->length > 0 ? client->bytes : "";
}

const char *reply_header(const struct reply *reply, const char *name)
{
    static _Thread_local char slots[4][1024];
    static _Thread_local unsigned next;
    size_t length = strlen(name);
    const char *line = reply->head;
    while (line && (line = strstr(line, "\r\n"))) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            char *slot = slots[next++ % 4];
            const char *value = line + length + 1;
            value += strspn(value, " ");
            (void)snprintf(slot, sizeof slots[0], "%.*s", (int)strcspn(value, "\r"), value);
            return slot;
        }
    }
    return "";
}

struct reply client_call(struct client *client, const char *method, const char *target,
                         const char *headers, const char *body)
{
    struct buf request = {0};
    buf_format(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s", method, target,
               headers ? headers : "");
    if (body)
        buf_format(&request, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                   strlen(body));
    buf_format(&request, "\r\n%s", body ? body : "");
    client_send_bytes(client, buf_text(&request), request.length);
    buf_fini(&request);
    return client_read(client, strcmp(method, "HEAD") != 0);
}

struct reply call(int port, const char *method, const char *target, const char *headers,
                  const char *body)
{
    struct client client = client_open(port);
    struct reply reply = client_call(&client, method, target, headers, body);
    client_close(&client);
    return reply;
}
