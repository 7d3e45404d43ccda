/* Any bytes as what a client sends: gate, targets, headers, cursors, bodies. Each answer is one of
 * HTTP, none is a 5xx (but 503, and 505 for another version), and the next client is served. */
#include "server/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/http_kit.h"

#include <assert.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define REQUEST_MS 300 /* what never becomes a request is cut then … */
#define SLOTS 200      /* … so many are open at a time */
#define OPEN_MS 2000   /* a stream or a held request stays open; it is left then */

static struct http_kit *kit;

/* A client that has said its input and waits for what comes. */
static struct slot {
    struct client client;
    bool used;
} slots[SLOTS];

static void check_answers(const char *answers)
{
    static const char mark[] = "HTTP/1.1 ";
    assert(answers[0] == '\0' || strncmp(answers, mark, sizeof mark - 1) == 0);
    for (const char *at = strstr(answers, mark); at; at = strstr(at + 1, mark)) {
        long status = strtol(at + sizeof mark - 1, NULL, 10);
        assert(status >= 100 && status < 600);
        assert(status < 500 || status == 503 || status == 505);
    }
}

/* All that is answered; the caller frees it. */
static char *answers_of(struct client *client)
{
    struct buf all = {0};
    char block[8192];
    struct pollfd more = {.fd = client->fd, .events = POLLIN};
    while (poll(&more, 1, OPEN_MS) == 1) {
        ssize_t got = recv(client->fd, block, sizeof block, 0);
        if (got <= 0)
            break;
        buf_add_bytes(&all, block, (size_t)got);
    }
    return buf_take(&all);
}

static void finish(struct slot *slot)
{
    if (!slot->used)
        return;
    char *answers = answers_of(&slot->client);
    check_answers(answers);
    client_close(&slot->client);
    free(answers);
    slot->used = false;
}

static void look(void)
{
    struct reply reply = call(kit->port, "GET", "/livez", NULL, NULL);
    assert(reply.status == 200);
    reply_fini(&reply);
}

static void stop(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        finish(&slots[i]);
    look();
    http_kit_stop(kit);
}

static void start(void)
{
    kit = http_kit_start(REQUEST_MS);
    struct reply reply = call(kit->port, "PUT", "/v1/instances/sql01", NULL, http_kit_instance);
    assert(reply.status == 201);
    reply_fini(&reply);
    free(http_kit_submit(kit));
    free(http_kit_submit(kit));
    assert(atexit(stop) == 0);
}

/* An answer is looked at when its slot is needed again. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static size_t inputs;
    if (!kit)
        start();
    struct slot *slot = &slots[inputs % SLOTS];
    finish(slot);
    slot->client = client_open(kit->port);
    slot->used = true;
    client_send_bytes(&slot->client, (const char *)data, size);
    if (inputs++ % SLOTS == 0)
        look();
    return 0;
}
