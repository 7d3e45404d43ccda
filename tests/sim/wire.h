/* wire.h: TDS packets over a socket, with or without TLS. One thread per wire; shutting the
 * socket down from another thread makes every call here fail. */
#pragma once

#include <gnutls/gnutls.h>

#include "base.h"

enum packet_type {
    PACKET_BATCH = 1,
    PACKET_RPC = 3,
    PACKET_REPLY = 4,
    PACKET_ATTENTION = 6,
    PACKET_BULK = 7,
    PACKET_TRANSACTION = 14,
    PACKET_LOGIN = 16,
    PACKET_SSPI = 17,
    PACKET_PRELOGIN = 18,
};

struct wire {
    int fd;
    size_t packet_size;
    uint8_t sequence;
    uint16_t spid;
    bool broken;
    bool reset_asked; /* RESETCONNECTION was set in the last request */
    gnutls_session_t tls;
    bool tls_in_packets; /* the handshake travels in PRELOGIN packets */
    struct bytes tls_in, tls_out;
    size_t tls_in_at;
    struct bytes pending; /* of the reply being built, not yet a packet */
};

struct tls_identity; /* certificate and key of the server */
struct tls_identity *wire_identity_new(const char *certificate_file, const char *key_file,
                                       char *error, size_t error_size);
void wire_identity_use(const struct tls_identity *identity, gnutls_session_t session);
void wire_identity_free(struct tls_identity *identity);

/* One whole message. -1 when the peer is gone or talks nonsense. */
int wire_receive(struct wire *wire, struct bytes *body, uint8_t *type);
/* Adds to the reply; whole packets go out at once. */
void wire_put(struct wire *wire, const void *data, size_t len);
void wire_flush(struct wire *wire);     /* what is there as a packet, more to come */
void wire_finish(struct wire *wire);    /* and the end of the message */
bool wire_has_input(struct wire *wire); /* decrypted and not yet read */
/* Handshake; strict means that TLS comes before any TDS. -1 on failure. */
int wire_tls_start(struct wire *wire, const struct tls_identity *identity, bool strict);
void wire_tls_end(struct wire *wire); /* back to plain text after the login, or for good */
void wire_close(struct wire *wire);
