#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_BYTES (64U << 20) /* no request is larger; a test double need not take more */

static ssize_t send_all(struct wire *wire, const uint8_t *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = send(wire->fd, data + done, len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            wire->broken = true;
            return -1;
        }
        done += (size_t)n;
    }
    return (ssize_t)len;
}

static int receive_raw(struct wire *wire, uint8_t *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = recv(wire->fd, data + done, len - done, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            wire->broken = true;
            return -1;
        }
        done += (size_t)n;
    }
    return 0;
}

static int receive_plain(struct wire *wire, uint8_t *data, size_t len)
{
    if (!wire->tls)
        return receive_raw(wire, data, len);
    size_t done = 0;
    while (done < len) {
        ssize_t n = gnutls_record_recv(wire->tls, data + done, len - done);
        if (n == GNUTLS_E_INTERRUPTED || n == GNUTLS_E_AGAIN)
            continue;
        if (n <= 0) {
            wire->broken = true;
            return -1;
        }
        done += (size_t)n;
    }
    return 0;
}

static void send_plain(struct wire *wire, const uint8_t *data, size_t len)
{
    size_t done = 0;
    if (wire->broken)
        return;
    if (!wire->tls) {
        (void)send_all(wire, data, len);
        return;
    }
    while (done < len) {
        ssize_t n = gnutls_record_send(wire->tls, data + done, len - done);
        if (n == GNUTLS_E_INTERRUPTED || n == GNUTLS_E_AGAIN)
            continue;
        if (n <= 0) {
            wire->broken = true;
            return;
        }
        done += (size_t)n;
    }
}

static void packet(struct wire *wire, uint8_t type, const uint8_t *data, size_t len, bool last)
{
    struct bytes b = {0};
    size_t total = len + 8;

    sim_bytes_u8(&b, type);
    sim_bytes_u8(&b, last);
    sim_bytes_u8(&b, (unsigned)(total >> 8) & 255);
    sim_bytes_u8(&b, (unsigned)total & 255);
    sim_bytes_u8(&b, wire->spid >> 8);
    sim_bytes_u8(&b, wire->spid & 255);
    sim_bytes_u8(&b, ++wire->sequence);
    sim_bytes_u8(&b, 0);
    sim_bytes_put(&b, data, len);
    send_plain(wire, b.data, b.len);
    sim_bytes_fini(&b);
}

int wire_receive(struct wire *wire, struct bytes *body, uint8_t *type)
{
    uint8_t head[8], chunk[4096];

    body->len = 0;
    wire->reset_asked = false;
    do {
        if (receive_plain(wire, head, 8))
            return -1;
        size_t left = (size_t)(head[2] << 8 | head[3]);
        if (left < 8 || body->len > MOST_BYTES) {
            wire->broken = true;
            return -1;
        }
        *type = head[0];
        if (head[1] & 0x18)
            wire->reset_asked = true;
        for (left -= 8; left;) {
            size_t n = left < sizeof(chunk) ? left : sizeof(chunk);
            if (receive_plain(wire, chunk, n))
                return -1;
            sim_bytes_put(body, chunk, n);
            left -= n;
        }
    } while (!(head[1] & 1));
    wire->sequence = 0;
    return 0;
}

void wire_put(struct wire *wire, const void *data, size_t len)
{
    size_t room = wire->packet_size - 8, at = 0;

    sim_bytes_put(&wire->pending, data, len);
    while (wire->pending.len - at > room) { /* the last one stays, it may have to say so */
        packet(wire, PACKET_REPLY, wire->pending.data + at, room, false);
        at += room;
    }
    if (at) {
        wire->pending.len -= at;
        memmove(wire->pending.data, wire->pending.data + at, wire->pending.len);
    }
}

void wire_flush(struct wire *wire)
{
    if (wire->pending.len)
        packet(wire, PACKET_REPLY, wire->pending.data, wire->pending.len, false);
    wire->pending.len = 0;
}

void wire_finish(struct wire *wire)
{
    packet(wire, PACKET_REPLY, wire->pending.data, wire->pending.len, true);
    wire->pending.len = 0;
}

bool wire_has_input(struct wire *wire)
{
    return wire->tls && gnutls_record_check_pending(wire->tls) > 0;
}

/* During the handshake what GnuTLS writes is gathered, and sent when it wants to read. */
static void send_handshake(struct wire *wire)
{
    if (!wire->tls_out.len)
        return;
    struct bytes b = {0};
    size_t total = wire->tls_out.len + 8;
    sim_bytes_u8(&b, PACKET_PRELOGIN);
    sim_bytes_u8(&b, 1);
    sim_bytes_u8(&b, (unsigned)(total >> 8) & 255);
    sim_bytes_u8(&b, (unsigned)total & 255);
    sim_bytes_u32(&b, 0);
    sim_bytes_put(&b, wire->tls_out.data, wire->tls_out.len);
    (void)send_all(wire, b.data, b.len);
    sim_bytes_fini(&b);
    wire->tls_out.len = 0;
}

static ssize_t tls_push(gnutls_transport_ptr_t pointer, const void *data, size_t len)
{
    struct wire *wire = pointer;
    if (!wire->tls_in_packets)
        return send_all(wire, data, len);
    sim_bytes_put(&wire->tls_out, data, len);
    return (ssize_t)len;
}

static ssize_t tls_pull(gnutls_transport_ptr_t pointer, void *data, size_t len)
{
    struct wire *wire = pointer;
    uint8_t head[8];

    if (wire->tls_in_at < wire->tls_in.len) {
        size_t n = wire->tls_in.len - wire->tls_in_at;
        n = n < len ? n : len;
        memcpy(data, wire->tls_in.data + wire->tls_in_at, n);
        wire->tls_in_at += n;
        return (ssize_t)n;
    }
    if (!wire->tls_in_packets) {
        ssize_t n = 0;
        do
            n = recv(wire->fd, data, len, 0);
        while (n < 0 && errno == EINTR);
        return n;
    }
    send_handshake(wire);
    if (receive_raw(wire, head, 8))
        return -1;
    size_t total = (size_t)(head[2] << 8 | head[3]);
    if (head[0] != PACKET_PRELOGIN || total <= 8)
        return -1;
    wire->tls_in.len = wire->tls_in_at = 0;
    for (size_t i = 8; i < total; i++)
        sim_bytes_u8(&wire->tls_in, 0);
    if (receive_raw(wire, wire->tls_in.data, total - 8))
        return -1;
    return tls_pull(pointer, data, len);
}

static int tls_ready(gnutls_transport_ptr_t pointer, unsigned ms)
{
    (void)pointer;
    (void)ms;
    return 1;
}

int wire_tls_start(struct wire *wire, const struct tls_identity *identity, bool strict)
{
    gnutls_session_t session = NULL;
    int rc = GNUTLS_E_AGAIN;

    if (gnutls_init(&session, GNUTLS_SERVER) != 0)
        return -1;
    wire->tls_in_packets = !strict;
    wire->tls_in.len = wire->tls_in_at = 0;
    /* TLS 1.3 belongs to TDS 8 (strict); inside PRELOGIN packets its tickets would be in the way */
    (void)gnutls_priority_set_direct(session, strict ? "NORMAL" : "NORMAL:-VERS-TLS1.3", NULL);
    wire_identity_use(identity, session);
    if (strict) {
        gnutls_datum_t name = {(unsigned char[]){"tds/8.0"}, 7};
        (void)gnutls_alpn_set_protocols(session, &name, 1, 0);
    }
    gnutls_transport_set_ptr(session, wire);
    gnutls_transport_set_push_function(session, tls_push);
    gnutls_transport_set_pull_function(session, tls_pull);
    gnutls_transport_set_pull_timeout_function(session, tls_ready);
    while (rc < 0 && !wire->broken && !gnutls_error_is_fatal(rc))
        rc = gnutls_handshake(session);
    send_handshake(wire);
    wire->tls_in_packets = false;
    if (rc < 0) {
        gnutls_deinit(session);
        return -1;
    }
    wire->tls = session;
    return 0;
}

void wire_tls_end(struct wire *wire)
{
    if (wire->tls)
        gnutls_deinit(wire->tls);
    wire->tls = NULL;
}

void wire_close(struct wire *wire)
{
    if (wire->tls && !wire->broken)
        (void)gnutls_bye(wire->tls, GNUTLS_SHUT_WR);
    wire_tls_end(wire);
    if (wire->fd >= 0)
        (void)close(wire->fd);
    wire->fd = -1;
    sim_bytes_fini(&wire->tls_in);
    sim_bytes_fini(&wire->tls_out);
    sim_bytes_fini(&wire->pending);
}
