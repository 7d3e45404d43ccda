#pragma once
/* HTTPS (by GnuTLS in libmicrohttpd): the certificate that new connections get, and its reload.
 * One at a time in a process: libmicrohttpd's callback carries no context. Threads: any. */
#include "server/err.h"

#include <microhttpd.h>

#define TLS_OPTIONS 2 /* what tls_options fills before the end */

struct tls;

/* Reads certificate (with its chain) and key, PEM. ERR_INPUT: they cannot be read, are none, or do
 * not belong together; the message names the file, never what is in it. */
MUST_CHECK int tls_open(const char *cert_file, const char *key_file, struct tls **out,
                        struct err *err);

/* What MHD_start_daemon must be told: TLS 1.2 or later, and our certificate. Room for TLS_OPTIONS
 * and the end. */
void tls_options(struct tls *tls, struct MHD_OptionItem *out);

/* Reads both files again. Handshakes from now on use them; on failure those before stay. */
MUST_CHECK int tls_reload(struct tls *tls, struct err *err);

/* After the HTTP daemon has stopped. Accepts NULL. */
void tls_close(struct tls *tls);
