#pragma once
/* A tiny HTTPS client over GnuTLS, which tells what the server showed. Every wait ends after 20 s.
 */
#include <gnutls/gnutls.h>
#include <stdbool.h>

struct tls_client {
    int fd;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    int handshake;        /* 0, or GnuTLS's error */
    char certificate[65]; /* SHA-256 of the server's certificate, in hexadecimal */
};

/* Connects to a port of the loopback; priority in GnuTLS's words. Nothing is verified. */
void tls_client_open(struct tls_client *client, int port, const char *priority);
void tls_client_close(struct tls_client *client);

/* Sends bytes as they are; false when the other side has closed. */
bool tls_client_send(struct tls_client *client, const char *text);

/* What comes until the text holds `until` or the other side closes; heap. */
char *tls_client_read(struct tls_client *client, const char *until);

/* SHA-256 of the first certificate in a PEM file, as in tls_client. */
void tls_certificate_of(const char *path, char out[65]);
