/* Wrong tokens are counted by address, with times made up. */
#include "api/attempts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

/* Notes one from an address written as text. */
static int note(struct attempts *attempts, const char *address, int64_t now_ns)
{
    struct sockaddr_storage peer = {0};
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, address, &in.sin_addr) == 1) {
        memcpy(&peer, &in, sizeof in);
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
        memcpy(&peer, &in6, sizeof in6);
    }
    return attempts_note(attempts, (struct sockaddr *)&peer, now_ns);
}

static void fill(struct attempts *attempts, const char *address, int64_t now_ns)
{
    for (int i = 0; i < ATTEMPTS_FREE; i++)
        assert_int_equal(note(attempts, address, now_ns), 0);
}

static void a_window_ends_however_many_come_in_it(void **state)
{
    struct attempts *attempts = attempts_new();
    (void)state;
    fill(attempts, "192.0.2.1", SECOND);
    assert_int_equal(note(attempts, "192.0.2.1", SECOND), ATTEMPTS_WINDOW_S);
    for (int second = 1; second < ATTEMPTS_WINDOW_S; second++)
        assert_int_equal(note(attempts, "192.0.2.1", (1 + second) * SECOND),
                         ATTEMPTS_WINDOW_S - second);
    assert_int_equal(note(attempts, "192.0.2.1", (1 + ATTEMPTS_WINDOW_S) * SECOND - 1), 1);
    fill(attempts, "192.0.2.1", (1 + ATTEMPTS_WINDOW_S) * SECOND);
    assert_true(note(attempts, "192.0.2.1", (1 + ATTEMPTS_WINDOW_S) * SECOND) > 0);
    attempts_free(attempts);
}

static void addresses_are_counted_apart(void **state)
{
    static const struct {
        const char *one;
        const char *other;
        bool same;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"192.0.2.1", "::ffff:192.0.2.1", true}, /* a socket for both gives the second form */
        {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
        {"2001:db8::1", "2001:db8::2", true}, /* one customer has a whole /64 */
        {"2001:db8::1", "2001:db8:0:1::1", false},
        {"::1", "127.0.0.1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct attempts *attempts = attempts_new();
        fill(attempts, cases[i].one, SECOND);
        if ((note(attempts, cases[i].other, SECOND) > 0) != cases[i].same)
            fail_msg("%s and %s", cases[i].one, cases[i].other);
        attempts_free(attempts);
    }
}

/* 100,000 addresses do not grow it, and a fresh one is still counted right. */
static void many_addresses_cost_no_more_memory(void **state)
{
    struct attempts *attempts = attempts_new();
    char address[INET_ADDRSTRLEN];
    (void)state;
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(address, sizeof address, "10.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        assert_int_equal(note(attempts, address, SECOND + i), 0);
    }
    fill(attempts, "192.0.2.1", 2 * SECOND);
    assert_true(note(attempts, "192.0.2.1", 2 * SECOND) > 0);
    attempts_free(attempts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_ends_however_many_come_in_it),
        cmocka_unit_test(addresses_are_counted_apart),
        cmocka_unit_test(many_addresses_cost_no_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
