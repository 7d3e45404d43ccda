#pragma once
/* Standard Webhooks 1.0.0 headers: webhook-id, webhook-timestamp, webhook-signature. Pure. */
#include "server/err.h"

#include <stddef.h>
#include <stdint.h>

struct signature {
    char *headers[3]; /* "name: value", heap */
    size_t count;
};

/* secret: NULL leaves the signature out; "whsec_" + base64, else its bytes as they are. Signed is
 * id.timestamp.body with HMAC-SHA256. */
MUST_CHECK int sign_delivery(const char *id, int64_t timestamp_s, const char *body,
                             const char *secret, struct signature *out, struct err *err);
void signature_fini(struct signature *signature);
