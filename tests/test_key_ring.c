/* The ring of keys: which key seals, which opens, and what a sealed text carries. */
#include "server/key_ring.h"
#include "server/mem.h"
#include "server/secrets.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Keys by their numbers, newest first, ended by 0. */
static struct key_ring ring_of(const int *numbers)
{
    struct key_ring ring = {.count = 0};
    for (; *numbers; numbers++) {
        unsigned char bytes[KEY_BYTES];
        memset(bytes, *numbers, sizeof bytes);
        key_ring_add(&ring, bytes);
    }
    return ring;
}
#define RING(...) ring_of((const int[]){__VA_ARGS__, 0})

static char *seal(const struct key_ring *ring, const char *plain, const char *context)
{
    struct err err;
    char *sealed = NULL;
    if (key_ring_seal(ring, plain, context, &sealed, &err) < 0)
        fail_msg("%s", err.msg);
    return sealed;
}

static void assert_opens(const struct key_ring *ring, const char *sealed, const char *plain,
                         size_t key)
{
    struct err err;
    char *opened = NULL;
    size_t with = 99;
    if (key_ring_unseal(ring, sealed, "hook", &opened, &with, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(opened, plain);
    assert_int_equal(with, key);
    secrets_free(opened);
}

static void assert_stays_shut(const struct key_ring *ring, const char *sealed, const char *says)
{
    struct err err;
    char *opened = NULL;
    assert_int_equal(key_ring_unseal(ring, sealed, "hook", &opened, NULL, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    if (!strstr(err.msg, says))
        fail_msg("%s", err.msg);
    assert_null(opened);
}

/* As versions before the ids sealed: nonce, ciphertext and tag, bound to the name alone. */
static char *seal_as_before(const struct key_ring *ring, const char *plain, const char *context)
{
    unsigned char bytes[12 + 256] = "a nonce of 12";
    unsigned char key[KEY_BYTES];
    size_t room = sizeof bytes - 12;
    gnutls_aead_cipher_hd_t cipher;
    gnutls_datum_t text = {NULL, 0};
    memcpy(key, ring->keys[0].bytes, sizeof key);
    gnutls_datum_t datum = {key, sizeof key};
    assert_true(gnutls_aead_cipher_init(&cipher, GNUTLS_CIPHER_AES_256_GCM, &datum) >= 0);
    assert_true(gnutls_aead_cipher_encrypt(cipher, bytes, 12, context, strlen(context), 16, plain,
                                           strlen(plain), bytes + 12, &room) >= 0);
    gnutls_aead_cipher_deinit(cipher);
    gnutls_datum_t whole = {bytes, (unsigned)(12 + room)};
    assert_true(gnutls_base64_encode2(&whole, &text) >= 0);
    char *sealed = mem_format("%.*s", (int)text.size, (const char *)text.data);
    gnutls_free(text.data);
    return sealed;
}

/* --- ids ------------------------------------------------------------------------------------- */

static void an_id_is_of_its_key_alone_and_tells_nothing_of_it(void **state)
{
    (void)state;
    struct key_ring one = RING(1, 2);
    struct key_ring other = RING(2, 1);
    assert_string_equal(one.keys[0].id, other.keys[1].id);
    assert_string_equal(one.keys[1].id, other.keys[0].id);
    assert_string_not_equal(one.keys[0].id, one.keys[1].id);
    assert_int_equal(strlen(one.keys[0].id), 12);
    assert_int_equal(strspn(one.keys[0].id, "0123456789abcdef"), 12);
    /* sha256("sweetspot sealing key" NUL, 32 times 0x01): it must not change with a version */
    assert_string_equal(one.keys[0].id, "5c72293d0932");
    assert_null(strstr(one.keys[0].id, "0101"));
}

static void the_newest_seals_and_each_opens(void **state)
{
    (void)state;
    struct key_ring old = RING(1);
    struct key_ring both = RING(2, 1);
    struct key_ring swapped = RING(1, 2);
    char *sealed = seal(&old, "https://x/y", "hook");
    char *again = seal(&both, "https://x/y", "hook");
    assert_int_equal(strncmp(sealed, old.keys[0].id, 12), 0);
    assert_int_equal(strncmp(again, both.keys[0].id, 12), 0);
    assert_int_equal(sealed[12], ':');
    assert_opens(&both, sealed, "https://x/y", 1);
    assert_opens(&both, again, "https://x/y", 0);
    assert_opens(&swapped, sealed, "https://x/y", 0);
    assert_opens(&swapped, again, "https://x/y", 1);
    assert_stays_shut(&old, again, both.keys[0].id); /* names the key that is missing */
    assert_true(key_ring_is_newest(&both, again));
    assert_false(key_ring_is_newest(&both, sealed));
    free(sealed);
    free(again);
}

static void as_many_keys_as_may_be_all_open(void **state)
{
    (void)state;
    struct key_ring whole = RING(1, 2, 3, 4, 5, 6, 7, 8);
    assert_int_equal(whole.count, LIMIT_KEYS);
    for (int i = 1; i <= LIMIT_KEYS; i++) {
        struct key_ring one = RING(i);
        char *sealed = seal(&one, "x", "hook");
        assert_opens(&whole, sealed, "x", (size_t)i - 1);
        free(sealed);
    }
}

/* --- what earlier versions sealed ------------------------------------------------------------ */

static void text_without_an_id_opens_with_the_key_that_fits(void **state)
{
    (void)state;
    struct key_ring old = RING(1);
    struct key_ring three = RING(3, 2, 1);
    struct key_ring others = RING(3, 2);
    char *sealed = seal_as_before(&old, "https://x/y", "hook");
    assert_null(strchr(sealed, ':'));
    assert_opens(&old, sealed, "https://x/y", 0);
    assert_opens(&three, sealed, "https://x/y", 2);
    assert_stays_shut(&others, sealed, "another key");
    assert_false(key_ring_is_newest(&old, sealed)); /* it is sealed again, with an id */
    free(sealed);
}

/* --- what is bound --------------------------------------------------------------------------- */

static void the_id_is_bound_to_the_text(void **state)
{
    (void)state;
    struct key_ring ring = RING(2, 1);
    char *sealed = seal(&ring, "https://x/y", "hook");
    assert_stays_shut(&ring, sealed + 13, "altered"); /* taken for one of an earlier version */
    memcpy(sealed, ring.keys[1].id, 12);
    assert_stays_shut(&ring, sealed, "altered");
    char *before = seal_as_before(&ring, "https://x/y", "hook");
    char *raised = mem_format("%s:%s", ring.keys[0].id, before);
    assert_stays_shut(&ring, raised, "altered");
    free(raised);
    free(before);
    free(sealed);
}

/* Two keys under one id are possible, if hardly: the one that opens is found. */
static void of_two_keys_with_one_id_the_right_one_opens(void **state)
{
    (void)state;
    struct key_ring ring = RING(2, 1);
    struct key_ring one = RING(1);
    (void)snprintf(ring.keys[0].id, KEY_ID_SIZE, "%s", one.keys[0].id);
    char *sealed = seal(&one, "x", "hook");
    assert_opens(&ring, sealed, "x", 1);
    free(sealed);
}

static void what_is_no_sealed_text_stays_shut(void **state)
{
    static const char *const texts[] = {"",
                                        ":",
                                        "::::::::::::::",
                                        "AAAA",
                                        "no base64 at all!",
                                        "0123456789ab:",
                                        "0123456789ab:AAAA",
                                        "0123456789a:AAAA"};
    (void)state;
    struct key_ring ring = RING(1);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_stays_shut(&ring, texts[i], "does not open");
    char *own = mem_format("%s:", ring.keys[0].id);
    assert_stays_shut(&ring, own, "altered");
    free(own);
}

static void an_empty_ring_opens_nothing(void **state)
{
    (void)state;
    struct key_ring ring = RING(1);
    struct key_ring none = {.count = 0};
    char *sealed = seal(&ring, "x", "hook");
    assert_stays_shut(&none, sealed, ring.keys[0].id);
    assert_false(key_ring_is_newest(&none, sealed));
    free(sealed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_of_its_key_alone_and_tells_nothing_of_it),
        cmocka_unit_test(the_newest_seals_and_each_opens),
        cmocka_unit_test(as_many_keys_as_may_be_all_open),
        cmocka_unit_test(text_without_an_id_opens_with_the_key_that_fits),
        cmocka_unit_test(the_id_is_bound_to_the_text),
        cmocka_unit_test(of_two_keys_with_one_id_the_right_one_opens),
        cmocka_unit_test(what_is_no_sealed_text_stays_shut),
        cmocka_unit_test(an_empty_ring_opens_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
