/* A webhook that is sealed before a new key is taken up, and comes to the writer after it. */
#include "server/lock.h"
#include "server/mem.h"
#include "tests/http_client.h"
#include "tests/http_kit.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 7 /* as many keys as fit, one a round */
#define CALLS 20

/* Holds the writer until it is opened. */
struct gate {
    struct lock lock; /* guards the rest */
    struct wait wake;
    bool open;
    bool passed;
};

static int wait_work(struct db *db, void *arg, struct err *err)
{
    struct gate *gate = arg;
    (void)db;
    (void)err;
    lock_take(&gate->lock);
    while (!gate->open)
        wait_on(&gate->wake, &gate->lock);
    lock_drop(&gate->lock);
    return 0;
}

static void wait_done(void *ctx, int rc, const struct err *err)
{
    struct gate *gate = ctx;
    (void)rc;
    (void)err;
    lock_take(&gate->lock);
    gate->passed = true;
    wait_wake_all(&gate->wake);
    lock_drop(&gate->lock);
}

static void open_gate(struct gate *gate)
{
    lock_take(&gate->lock);
    gate->open = true;
    wait_wake_all(&gate->wake);
    while (!gate->passed)
        wait_on(&gate->wake, &gate->lock);
    lock_drop(&gate->lock);
}

static void take_new_key(struct http_kit *kit, int number)
{
    struct key_ring before;
    struct key_ring ring = {.count = 0};
    unsigned char bytes[KEY_BYTES];
    memset(bytes, number, sizeof bytes);
    secrets_keys(kit->secrets, &before);
    key_ring_add(&ring, bytes);
    for (size_t i = 0; i < before.count; i++)
        key_ring_add(&ring, before.keys[i].bytes);
    secrets_take_keys(kit->secrets, &ring);
}

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct sealed_row *out = arg;
    struct sealed_row *rows = NULL;
    size_t count = 0;
    if (store_sealed_list(db, "", NULL, 1, &rows, &count, err) < 0)
        return -1;
    assert_int_equal(count, 1);
    *out = rows[0];
    free(rows);
    return 0;
}

static void expect_newest(struct http_kit *kit)
{
    struct key_ring ring;
    struct sealed_row row = {0};
    struct err err;
    char *url = NULL;
    secrets_keys(kit->secrets, &ring);
    kit_ok(store_read(kit->store, list_work, &row, &err), &err);
    assert_true(key_ring_is_newest(&ring, row.sealed));
    kit_ok(secrets_unseal(kit->secrets, row.sealed, "dba", &url, &err), &err);
    assert_string_equal(url, "https://chat.example.net/hooks/abc");
    secrets_free(url);
    sealed_row_fini(&row);
}

static void is_stored_under_the_new_key(void **state)
{
    static const char put[] =
        "PUT /v1/webhooks/dba HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 63\r\n\r\n"
        "{\"url\":\"https://chat.example.net/hooks/abc\",\"format\":\"slack\"  }";
    struct http_kit *kit = *state;
    assert_int_equal(strlen(strstr(put, "\r\n\r\n") + 4), 63);
    for (int round = 1; round <= ROUNDS; round++) {
        struct gate gate = {.open = false};
        lock_init(&gate.lock);
        wait_init(&gate.wake);
        store_write_later(kit->store, wait_work, &gate, wait_done, &gate);
        struct client client = client_open(kit->port);
        client_send(&client, put);
        for (int i = 0; i < CALLS; i++) { /* meanwhile it is sealed, and waits for the writer */
            struct reply other = call(kit->port, "GET", "/livez", NULL, NULL);
            assert_int_equal(other.status, 200);
            reply_fini(&other);
        }
        take_new_key(kit, round);
        open_gate(&gate);
        struct reply reply = client_read(&client, true);
        assert_int_equal(reply.status, round == 1 ? 201 : 200);
        reply_fini(&reply);
        client_close(&client);
        expect_newest(kit);
        wait_fini(&gate.wake);
        lock_fini(&gate.lock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(is_stored_under_the_new_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
