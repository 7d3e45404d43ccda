#pragma once
/* Secrets: references to them ({"env": NAME}, {"file": NAME}) and sealing of what must be stored
 * (a literal webhook URL) with AES-256-GCM. No secret is ever logged or put into an error.
 * Threads: any, after secrets_open. */
#include "server/config.h"
#include "server/err.h"
#include "server/json.h"

struct secrets;

/* Reads or makes (mode 0600) the key file. */
MUST_CHECK int secrets_open(const struct config *config, struct secrets **out, struct err *err);
void secrets_close(struct secrets *secrets);

/* Adds faults below pointer unless value is one of the two forms with an allowed name: environment
 * names begin with SWEETSPOT_SECRET_ or stand in secrets_env; file names are plain names (no '/',
 * no leading '.') below secrets_dir. Pure: does not look whether it exists. */
void secrets_check(const struct secrets *secrets, const cJSON *value, const char *pointer,
                   struct json_faults *faults);

/* The secret itself; the caller wipes and frees it with secrets_free. ERR_REFUSED names the
 * reference, never the value. Trailing newline of a file is cut. */
MUST_CHECK int secrets_resolve(const struct secrets *secrets, const cJSON *reference,
                               char **out_secret, struct err *err);
void secrets_free(char *secret);

/* Sealed text is base64 of nonce, ciphertext and tag; context is bound to it (a webhook's name),
 * so that a sealed value moved elsewhere does not open. */
MUST_CHECK int secrets_seal(const struct secrets *secrets, const char *plain, const char *context,
                            char **out_sealed, struct err *err);
MUST_CHECK int secrets_unseal(const struct secrets *secrets, const char *sealed,
                              const char *context, char **out_plain, struct err *err);
