#include "server/hash.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hash_hex(const char *text, char out[HASH_HEX_SIZE])
{
    unsigned char digest[32];
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), digest) < 0)
        abort(); /* no SHA-256: the library is broken, and with it every promise of ours */
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return out;
}

bool hash_equal(const char *one, const char *other)
{
    const size_t length = HASH_HEX_SIZE - 1;
    return strlen(one) == length && strlen(other) == length &&
           gnutls_memcmp(one, other, length) == 0;
}
