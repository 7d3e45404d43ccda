#include "jobs/sign.h"
#include "server/mem.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_PREFIX "whsec_"

/* The key's bytes; the caller frees out->data with gnutls_free. */
static int key_of(const char *secret, gnutls_datum_t *out, struct err *err)
{
    size_t prefix = strlen(SECRET_PREFIX);
    if (strncmp(secret, SECRET_PREFIX, prefix) == 0) {
        const char *text = secret + prefix;
        gnutls_datum_t encoded = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
        if (gnutls_base64_decode2(&encoded, out) >= 0 && out->size > 0)
            return 0;
        gnutls_free(out->data);
        return err_set(err, ERR_REFUSED, 0,
                       "the signing secret begins with whsec_ but is no base64");
    }
    out->size = (unsigned)strlen(secret);
    out->data = gnutls_malloc(out->size + 1);
    if (!out->data)
        return err_set(err, ERR_SYSTEM, 0, "out of memory");
    memcpy(out->data, secret, out->size);
    return 0;
}

static int sign_text(const char *secret, const char *text, char **out_base64, struct err *err)
{
    gnutls_datum_t key = {0};
    unsigned char digest[32];
    gnutls_datum_t raw = {digest, sizeof digest};
    gnutls_datum_t encoded = {0};
    if (key_of(secret, &key, err) < 0)
        return -1;
    int failed =
        gnutls_hmac_fast(GNUTLS_MAC_SHA256, key.data, key.size, text, strlen(text), digest);
    gnutls_memset(key.data, 0, key.size);
    gnutls_free(key.data);
    if (failed >= 0)
        failed = gnutls_base64_encode2(&raw, &encoded);
    if (failed < 0)
        return err_set(err, ERR_SYSTEM, failed, "sign a delivery: %s", gnutls_strerror(failed));
    *out_base64 = mem_format("%.*s", (int)encoded.size, encoded.data);
    gnutls_free(encoded.data);
    return 0;
}

int sign_delivery(const char *id, int64_t timestamp_s, const char *body, const char *secret,
                  struct signature *out, struct err *err)
{
    *out = (struct signature){.count = 2};
    out->headers[0] = mem_format("webhook-id: %s", id);
    out->headers[1] = mem_format("webhook-timestamp: %" PRId64, timestamp_s);
    if (!secret)
        return 0;
    char *signed_text = mem_format("%s.%" PRId64 ".%s", id, timestamp_s, body);
    char *base64 = NULL;
    int rc = sign_text(secret, signed_text, &base64, err);
    free(signed_text);
    if (rc < 0) {
        signature_fini(out);
        return -1;
    }
    out->headers[out->count++] = mem_format("webhook-signature: v1,%s", base64);
    free(base64);
    return 0;
}

void signature_fini(struct signature *signature)
{
    for (size_t i = 0; i < signature->count; i++)
        free(signature->headers[i]);
    *signature = (struct signature){0};
}
