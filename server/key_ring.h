#pragma once
/* The keys that seal what must be stored (AES-256-GCM), newest first: the newest seals, each opens.
 * A ring is a plain value: whoever has a copy wipes it. A key is known by its id, which is made
 * from it by a hash and tells nothing of it. Threads: none of its own. */
#include "server/err.h"
#include "server/limits.h"

#include <stdbool.h>
#include <stddef.h>

#define KEY_BYTES 32   /* AES-256 */
#define KEY_ID_SIZE 13 /* 12 hexadecimal digits and the NUL */

struct key_ring {
    struct {
        char id[KEY_ID_SIZE];
        unsigned char bytes[KEY_BYTES];
    } keys[LIMIT_KEYS];
    size_t count;
};

/* Puts a key behind the others, as the oldest. There must be room. */
void key_ring_add(struct key_ring *ring, const unsigned char bytes[KEY_BYTES]);
void key_ring_wipe(struct key_ring *ring);

/* Seals with the newest key of a ring that is not empty. What comes out is "ID:" and base64 of
 * nonce, ciphertext and tag; the id and the context (a webhook's name) are bound to it, so that
 * what is moved elsewhere does not open. The caller frees it. At most LIMIT_SECRET_BYTES.
 * ERR_SYSTEM. */
MUST_CHECK int key_ring_seal(const struct key_ring *ring, const char *plain, const char *context,
                             char **out_sealed, struct err *err);

/* Opens with the key whose id it carries. Text of an earlier version has no id and is not bound to
 * one: each key is tried. out_key (may be NULL): which one it was; the caller wipes and frees
 * *out_plain. ERR_REFUSED: none opens it. */
MUST_CHECK int key_ring_unseal(const struct key_ring *ring, const char *sealed, const char *context,
                               char **out_plain, size_t *out_key, struct err *err);

bool key_ring_holds(const struct key_ring *ring, const char *id);

/* Whether the sealed text says that it is sealed with the newest key. */
bool key_ring_is_newest(const struct key_ring *ring, const char *sealed);
