#pragma once
/* Secrets: references to them ({"env": NAME}, {"file": NAME}) and sealing of what must be stored
 * (a literal webhook URL) with AES-256-GCM. No secret is ever logged or put into an error.
 * Threads: any, after secrets_open. Only the keys change, under a lock of their own that is held
 * for a copy: each call works with the keys of one moment. */
#include "server/config.h"
#include "server/err.h"
#include "server/json.h"
#include "server/key_ring.h"

struct secrets;

/* Reads or makes (mode 0600) the key file. */
MUST_CHECK int secrets_open(const struct config *config, struct secrets **out, struct err *err);
void secrets_close(struct secrets *secrets);

/* The keys in use, and those that the key file holds now (errors as key_file_read). The caller
 * wipes the copy. */
void secrets_keys(const struct secrets *secrets, struct key_ring *out);
MUST_CHECK int secrets_read_keys(const struct secrets *secrets, struct key_ring *out,
                                 struct err *err);
/* Uses these from now on. What is sealed with none of them does not open any more. */
void secrets_take_keys(struct secrets *secrets, const struct key_ring *ring);

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

/* As key_ring_seal and key_ring_unseal, with the keys in use. */
MUST_CHECK int secrets_seal(const struct secrets *secrets, const char *plain, const char *context,
                            char **out_sealed, struct err *err);
MUST_CHECK int secrets_unseal(const struct secrets *secrets, const char *sealed,
                              const char *context, char **out_plain, struct err *err);
/* Seals *sealed again when it is not sealed with the newest key: 1 when it was, 0 when there was
 * nothing to do, -1 when it does not open and stays as it is. */
MUST_CHECK int secrets_renew(const struct secrets *secrets, const char *context, char **sealed,
                             struct err *err);
