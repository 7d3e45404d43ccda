#pragma once
/* Certificates for tests, made on the spot: nothing secret is kept with the sources and nothing
 * expires. */

/* Writes a certificate that signs itself, for the DNS names and addresses given (comma-separated),
 * and its key as two PEM files. Returns 0, or -1. */
int certificate_make(const char *certificate_path, const char *key_path, const char *names);
