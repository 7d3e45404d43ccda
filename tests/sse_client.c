#include "tests/sse_client.h"
#include "server/mem.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define WAIT_MS 10000

/* More bytes into the client's buffer; false when the other side has closed. */
static bool receive(struct client *client)
{
    struct pollfd wait = {.fd = client->fd, .events = POLLIN};
    char bytes[16384];
    if (poll(&wait, 1, WAIT_MS) != 1)
        fail_msg("nothing came");
    ssize_t got = recv(client->fd, bytes, sizeof bytes, 0);
    if (got <= 0)
        return false;
    client->bytes = mem_grow(client->bytes, &client->capacity, client->length + (size_t)got + 1, 1);
    memcpy(client->bytes + client->length, bytes, (size_t)got);
    client->length += (size_t)got;
    client->bytes[client->length] = '\0';
    return true;
}

static void drop(struct client *client, size_t count)
{
    memmove(client->bytes, client->bytes + count, client->length - count + 1);
    client->length -= count;
}

/* The length of the line at the start of what came, with its end; 0: the connection closed. */
static size_t line_length(struct client *client)
{
    char *end = NULL;
    while (!client->length || !(end = strstr(client->bytes, "\r\n")))
        if (!receive(client))
            return 0;
    return (size_t)(end - client->bytes) + 2;
}

/* header: a whole line, or "". */
static struct sse open_with(int port, const char *target, const char *header)
{
    struct sse sse = {.client = client_open(port)};
    char *text = mem_format("GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                            "%s\r\n",
                            target, header);
    client_send(&sse.client, text);
    free(text);
    bool is_stream = false;
    for (bool is_first = true;; is_first = false) {
        size_t length = line_length(&sse.client);
        assert_true(length > 0);
        if (is_first && strncmp(sse.client.bytes, "HTTP/1.1 200 ", 13) != 0)
            fail_msg("%s", sse.client.bytes);
        is_stream |= strncmp(sse.client.bytes, "Content-Type: text/event-stream", 31) == 0;
        drop(&sse.client, length);
        if (length == 2)
            break;
    }
    assert_true(is_stream);
    return sse;
}

struct sse sse_open(int port, const char *target, int64_t last_id)
{
    char *resume = last_id < 0 ? mem_copy("") : mem_format("Last-Event-ID: %ld\r\n", (long)last_id);
    struct sse sse = open_with(port, target, resume);
    free(resume);
    return sse;
}

struct sse sse_open_as(int port, const char *token, const char *target)
{
    char *header = mem_format("Authorization: Bearer %s\r\n", token);
    struct sse sse = open_with(port, target, header);
    free(header);
    return sse;
}

void sse_close(struct sse *sse)
{
    client_close(&sse->client);
    free(sse->text);
    *sse = (struct sse){0};
}

/* Decodes what is there of the next chunk. */
static void decode(struct sse *sse)
{
    struct client *client = &sse->client;
    if (sse->chunk_left == 0) {
        size_t length = line_length(client);
        if (length == 2) { /* the end of the chunk before */
            drop(client, 2);
            length = line_length(client);
        }
        sse->chunk_left = length > 0 ? strtoul(client->bytes, NULL, 16) : 0;
        sse->is_over = sse->chunk_left == 0;
        sse->broke = length == 0;
        if (length > 0)
            drop(client, length);
        return;
    }
    if (client->length == 0 && !receive(client)) {
        sse->is_over = sse->broke = true;
        return;
    }
    size_t take = client->length < sse->chunk_left ? client->length : sse->chunk_left;
    sse->text = mem_grow(sse->text, &sse->capacity, sse->length + take + 1, 1);
    memcpy(sse->text + sse->length, client->bytes, take);
    sse->length += take;
    sse->text[sse->length] = '\0';
    sse->chunk_left -= take;
    drop(client, take);
}

static void read_line(const char *line, struct sse_event *event)
{
    if (line[0] == ':')
        event->is_comment = true;
    else if (strncmp(line, "id: ", 4) == 0)
        event->id = strtoll(line + 4, NULL, 10);
    else if (strncmp(line, "event: ", 7) == 0)
        (void)snprintf(event->what, sizeof event->what, "%s", line + 7);
    else if (strncmp(line, "data: ", 6) == 0)
        event->data = mem_copy(line + 6);
}

bool sse_next(struct sse *sse, struct sse_event *event)
{
    char *end = NULL;
    free(event->data);
    *event = (struct sse_event){.id = -1};
    while (!sse->length || !(end = strstr(sse->text, "\n\n"))) {
        if (sse->is_over)
            return false;
        decode(sse);
    }
    *end = '\0';
    char *rest = sse->text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        read_line(line, event);
    size_t used = (size_t)(end - sse->text) + 2;
    memmove(sse->text, sse->text + used, sse->length - used + 1);
    sse->length -= used;
    return true;
}

bool sse_next_event(struct sse *sse, struct sse_event *event)
{
    while (sse_next(sse, event))
        if (event->data)
            return true;
    return false;
}
