#include "server/key_ring.h"
#include "server/ids.h"
#include "server/mem.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONCE_BYTES 12
#define TAG_BYTES 16
#define ID_DIGITS (KEY_ID_SIZE - 1)
#define ID_END ':' /* no character of base64: text without an id cannot be mistaken */

/* --- keys ---------------------------------------------------------------------------------- */

/* The label keeps the id apart from any other hash of the key. */
static void write_id(const unsigned char bytes[KEY_BYTES], char out[KEY_ID_SIZE])
{
    static const char label[] = "sweetspot sealing key";
    unsigned char text[sizeof label + KEY_BYTES];
    unsigned char digest[32];
    memcpy(text, label, sizeof label);
    memcpy(text + sizeof label, bytes, KEY_BYTES);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text, sizeof text, digest) < 0)
        abort(); /* no SHA-256: the library is broken, and with it every promise of ours */
    explicit_bzero(text, sizeof text);
    for (size_t i = 0; i < ID_DIGITS / 2; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void key_ring_add(struct key_ring *ring, const unsigned char bytes[KEY_BYTES])
{
    assert(ring->count < LIMIT_KEYS);
    memcpy(ring->keys[ring->count].bytes, bytes, KEY_BYTES);
    write_id(bytes, ring->keys[ring->count].id);
    ring->count++;
}

void key_ring_wipe(struct key_ring *ring)
{
    explicit_bzero(ring, sizeof *ring);
}

/* --- one key ------------------------------------------------------------------------------- */

static gnutls_aead_cipher_hd_t cipher_of(const unsigned char bytes[KEY_BYTES])
{
    gnutls_aead_cipher_hd_t cipher = NULL;
    unsigned char key[KEY_BYTES]; /* gnutls_datum_t is not const */
    memcpy(key, bytes, sizeof key);
    gnutls_datum_t datum = {key, sizeof key};
    if (gnutls_aead_cipher_init(&cipher, GNUTLS_CIPHER_AES_256_GCM, &datum) < 0)
        cipher = NULL;
    explicit_bzero(key, sizeof key);
    return cipher;
}

/* What is bound to a text that carries an id. No name of a webhook holds the mark behind the id, so
 * that it is never what is bound to a text without one. */
static char *bound_of(const char *id, const char *context)
{
    return mem_format("%s%c%s", id, ID_END, context);
}

static int encrypt(const unsigned char key[KEY_BYTES], const char *plain, const char *bound,
                   gnutls_datum_t *out_text)
{
    int rc = -1;
    size_t length = strlen(plain);
    size_t room = length + TAG_BYTES;
    unsigned char *sealed = mem_alloc(NONCE_BYTES + room, 1);
    gnutls_datum_t whole = {sealed, 0};
    gnutls_aead_cipher_hd_t cipher = cipher_of(key);
    if (!cipher || length > LIMIT_SECRET_BYTES)
        goto out;
    ids_random_bytes(sealed, NONCE_BYTES);
    if (gnutls_aead_cipher_encrypt(cipher, sealed, NONCE_BYTES, bound, strlen(bound), TAG_BYTES,
                                   plain, length, sealed + NONCE_BYTES, &room) < 0)
        goto out;
    whole.size = (unsigned)(NONCE_BYTES + room);
    rc = gnutls_base64_encode2(&whole, out_text) < 0 ? -1 : 0;
out:
    if (cipher)
        gnutls_aead_cipher_deinit(cipher);
    free(sealed);
    return rc;
}

/* The plain text, NULL when this key does not open it. */
static char *decrypt(const unsigned char key[KEY_BYTES], const gnutls_datum_t *whole,
                     const char *bound)
{
    if (whole->size < NONCE_BYTES + TAG_BYTES)
        return NULL;
    size_t room = whole->size - NONCE_BYTES - TAG_BYTES;
    char *plain = mem_alloc(room + 1, 1);
    gnutls_aead_cipher_hd_t cipher = cipher_of(key);
    bool opened =
        cipher && gnutls_aead_cipher_decrypt(cipher, whole->data, NONCE_BYTES, bound, strlen(bound),
                                             TAG_BYTES, whole->data + NONCE_BYTES,
                                             whole->size - NONCE_BYTES, plain, &room) >= 0;
    if (cipher)
        gnutls_aead_cipher_deinit(cipher);
    if (opened)
        return plain;
    free(plain); /* holds nothing when it did not open */
    return NULL;
}

/* --- the ring ------------------------------------------------------------------------------ */

int key_ring_seal(const struct key_ring *ring, const char *plain, const char *context,
                  char **out_sealed, struct err *err)
{
    gnutls_datum_t text = {NULL, 0};
    assert(ring->count > 0);
    char *bound = bound_of(ring->keys[0].id, context);
    int rc = encrypt(ring->keys[0].bytes, plain, bound, &text);
    free(bound);
    if (rc < 0)
        return err_set(err, ERR_SYSTEM, 0, "the secret could not be sealed");
    *out_sealed =
        mem_format("%s%c%.*s", ring->keys[0].id, ID_END, (int)text.size, (const char *)text.data);
    gnutls_free(text.data);
    return 0;
}

static bool has_id(const char *sealed)
{
    const char *end = strchr(sealed, ID_END);
    return end && end - sealed == ID_DIGITS;
}

static bool has_id_of(const char *sealed, const char *id)
{
    return has_id(sealed) && memcmp(sealed, id, ID_DIGITS) == 0;
}

bool key_ring_holds(const struct key_ring *ring, const char *id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (strcmp(ring->keys[i].id, id) == 0)
            return true;
    return false;
}

bool key_ring_is_newest(const struct key_ring *ring, const char *sealed)
{
    return ring->count > 0 && has_id_of(sealed, ring->keys[0].id);
}

/* As key_ring_unseal; NULL when none opens it. */
static char *open_with_any(const struct key_ring *ring, const char *sealed, const char *context,
                           size_t *out_key)
{
    bool carries_id = has_id(sealed);
    char *plain = NULL;
    char *copy = mem_copy(carries_id ? sealed + KEY_ID_SIZE : sealed); /* a datum is not const */
    gnutls_datum_t text = {(unsigned char *)copy, (unsigned)strlen(copy)};
    gnutls_datum_t whole = {NULL, 0};
    if (gnutls_base64_decode2(&text, &whole) < 0)
        goto out;
    for (size_t i = 0; i < ring->count && !plain; i++) {
        if (carries_id && !has_id_of(sealed, ring->keys[i].id))
            continue;
        char *bound = carries_id ? bound_of(ring->keys[i].id, context) : mem_copy(context);
        plain = decrypt(ring->keys[i].bytes, &whole, bound);
        free(bound);
        if (plain && out_key)
            *out_key = i;
    }
out:
    gnutls_free(whole.data);
    free(copy);
    return plain;
}

int key_ring_unseal(const struct key_ring *ring, const char *sealed, const char *context,
                    char **out_plain, size_t *out_key, struct err *err)
{
    char *plain = open_with_any(ring, sealed, context, out_key);
    if (plain) {
        *out_plain = plain;
        return 0;
    }
    char id[KEY_ID_SIZE];
    (void)snprintf(id, sizeof id, "%s", sealed); /* cut on purpose */
    if (has_id(sealed) && !key_ring_holds(ring, id))
        return err_set(err, ERR_REFUSED, 0,
                       "a sealed secret does not open: the key file does not hold its key, %s", id);
    return err_set(err, ERR_REFUSED, 0,
                   "a sealed secret does not open: it was altered or sealed with another key");
}
