#include "server/hash.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hash_hex(const char *text, char out[HASH_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[32];
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), digest) < 0)
        abort(); /* no SHA-256: the library is broken, and with it every promise of ours */
    for (size_t i = 0; i < sizeof digest; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 0xF];
    }
    out[HASH_HEX_SIZE - 1] = '\0';
    return out;
}

const char *hash_base64(const char *text, char out[HASH_BASE64_SIZE])
{
    unsigned char digest[32];
    gnutls_datum_t encoded = {0};
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), digest) < 0 ||
        gnutls_base64_encode2(&(gnutls_datum_t){digest, sizeof digest}, &encoded) < 0)
        abort(); /* as above */
    (void)snprintf(out, HASH_BASE64_SIZE, "%.*s", (int)encoded.size, (const char *)encoded.data);
    gnutls_free(encoded.data);
    return out;
}

uint64_t hash_spread(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

bool hash_equal(const char *one, const char *other)
{
    const size_t length = HASH_HEX_SIZE - 1;
    return strlen(one) == length && strlen(other) == length &&
           gnutls_memcmp(one, other, length) == 0;
}
