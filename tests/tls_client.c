#include "tests/tls_client.h"
#include "server/buf.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 20000
#define ANSWER_MAX ((size_t)1 << 20)

static void hash_of(const gnutls_datum_t *der, char out[65])
{
    unsigned char digest[32];
    assert_int_equal(gnutls_hash_fast(GNUTLS_DIG_SHA256, der->data, der->size, digest), 0);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void tls_certificate_of(const char *path, char out[65])
{
    gnutls_datum_t text;
    gnutls_datum_t der;
    gnutls_x509_crt_t certificate;
    assert_int_equal(gnutls_load_file(path, &text), 0);
    assert_int_equal(gnutls_x509_crt_init(&certificate), 0);
    assert_int_equal(gnutls_x509_crt_import(certificate, &text, GNUTLS_X509_FMT_PEM), 0);
    assert_int_equal(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_DER, &der), 0);
    hash_of(&der, out);
    gnutls_x509_crt_deinit(certificate);
    gnutls_free(der.data);
    gnutls_free(text.data);
}

void tls_client_open(struct tls_client *client, int port, const char *priority)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)},
                                  .sin_port = htons((uint16_t)port)};
    *client = (struct tls_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(connect(client->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(gnutls_certificate_allocate_credentials(&client->credentials), 0);
    assert_int_equal(gnutls_init(&client->session, GNUTLS_CLIENT), 0);
    assert_int_equal(gnutls_priority_set_direct(client->session, priority, NULL), 0);
    assert_int_equal(
        gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials), 0);
    gnutls_transport_set_int(client->session, client->fd);
    gnutls_handshake_set_timeout(client->session, WAIT_MS);
    gnutls_record_set_timeout(client->session, WAIT_MS);
    do {
        client->handshake = gnutls_handshake(client->session);
    } while (client->handshake < 0 && gnutls_error_is_fatal(client->handshake) == 0);
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(client->session, &count);
    if (client->handshake == 0 && chain && count > 0)
        hash_of(&chain[0], client->certificate);
}

void tls_client_close(struct tls_client *client)
{
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
    (void)close(client->fd);
}

bool tls_client_send(struct tls_client *client, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t sent = gnutls_record_send(client->session, text, left);
        if (sent < 0 && gnutls_error_is_fatal((int)sent))
            return false;
        if (sent > 0) {
            text += sent;
            left -= (size_t)sent;
        }
    }
    return true;
}

char *tls_client_read(struct tls_client *client, const char *until)
{
    struct buf text = BUF_WITH_MAX(ANSWER_MAX);
    char bytes[4096];
    while (!strstr(buf_text(&text), until)) {
        ssize_t length = gnutls_record_recv(client->session, bytes, sizeof bytes);
        if (length == 0 || (length < 0 && gnutls_error_is_fatal((int)length)))
            break;
        if (length == GNUTLS_E_TIMEDOUT)
            fail_msg("nothing came");
        if (length > 0)
            buf_add_bytes(&text, bytes, (size_t)length);
    }
    return buf_take(&text);
}
