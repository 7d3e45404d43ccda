/* Outgoing HTTPS: what a receiver must show before anything is told to it. */
#include "server/egress.h"
#include "server/mem.h"
#include "tests/certificate.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* A TLS server for one connection. */
struct receiver {
    int listening;
    int port;
    const char *priority; /* GnuTLS's words for what it speaks */
    gnutls_certificate_credentials_t credentials;
    int handshake;  /* how it ended */
    ssize_t length; /* of the plain text it got; <= 0 when none */
    pthread_t thread;
};

static void *receive(void *argument)
{
    struct receiver *receiver = argument;
    gnutls_session_t session = NULL;
    char text[1000];
    int connection = accept(receiver->listening, NULL, NULL);
    if (connection < 0)
        return NULL;
    (void)gnutls_init(&session, GNUTLS_SERVER);
    (void)gnutls_priority_set_direct(session, receiver->priority, NULL);
    (void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, receiver->credentials);
    gnutls_transport_set_int(session, connection);
    gnutls_handshake_set_timeout(session, 20000);
    do {
        receiver->handshake = gnutls_handshake(session);
    } while (receiver->handshake < 0 && gnutls_error_is_fatal(receiver->handshake) == 0);
    if (receiver->handshake == 0)
        receiver->length = gnutls_record_recv(session, text, sizeof text);
    gnutls_deinit(session);
    (void)close(connection);
    return NULL;
}

static void receiver_start(struct receiver *receiver, const char *names, const char *priority)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    char folder[] = "/tmp/sweetspot-egress-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *certificate = mem_format("%s/cert.pem", folder);
    char *key = mem_format("%s/key.pem", folder);
    *receiver = (struct receiver){.priority = priority};
    assert_int_equal(certificate_make(certificate, key, names), 0);
    assert_int_equal(gnutls_certificate_allocate_credentials(&receiver->credentials), 0);
    assert_int_equal(gnutls_certificate_set_x509_key_file(receiver->credentials, certificate, key,
                                                          GNUTLS_X509_FMT_PEM),
                     0);
    (void)unlink(certificate);
    (void)unlink(key);
    (void)rmdir(folder);
    free(certificate);
    free(key);
    receiver->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(receiver->listening, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(receiver->listening, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(listen(receiver->listening, 1), 0);
    receiver->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&receiver->thread, NULL, receive, receiver), 0);
}

static void receiver_stop(struct receiver *receiver)
{
    (void)shutdown(receiver->listening, SHUT_RDWR);
    (void)pthread_join(receiver->thread, NULL);
    (void)close(receiver->listening);
    gnutls_certificate_free_credentials(receiver->credentials);
}

static void assert_nothing_is_told(const char *names, const char *priority, int *out_handshake)
{
    struct receiver receiver;
    struct egress *egress = NULL;
    struct err err;
    struct egress_answer answer;
    receiver_start(&receiver, names, priority);
    char *url = mem_format("https://127.0.0.1:%d/hook", receiver.port);
    struct egress_request request = {
        .url = url, .content_type = "text/plain", .body = "secret", .body_length = 6};
    assert_int_equal(egress_open("127.0.0.0/8", &egress, &err), 0);
    assert_int_equal(egress_post(egress, &request, &answer, &err), -1);
    assert_int_equal(err.code, ERR_UNREACHABLE);
    egress_close(egress);
    receiver_stop(&receiver);
    assert_true(receiver.length <= 0);
    *out_handshake = receiver.handshake;
    free(url);
}

static void a_certificate_nobody_vouches_for_is_refused(void **state)
{
    (void)state;
    int handshake;
    assert_nothing_is_told("127.0.0.1", "NORMAL", &handshake);
}

static void a_certificate_of_another_host_is_refused(void **state)
{
    (void)state;
    int handshake;
    assert_nothing_is_told("chat.example.net", "NORMAL", &handshake);
}

static void old_versions_of_tls_are_not_spoken(void **state)
{
    (void)state;
    int handshake;
    /* with 1.2 we come as far as the certificate, which libcurl looks at after the handshake */
    assert_nothing_is_told("127.0.0.1", "NORMAL:-VERS-ALL:+VERS-TLS1.2", &handshake);
    assert_int_equal(handshake, 0);
    assert_nothing_is_told("127.0.0.1", "NORMAL:-VERS-ALL:+VERS-TLS1.1", &handshake);
    assert_true(handshake < 0);
    assert_nothing_is_told("127.0.0.1", "NORMAL:-VERS-ALL:+VERS-TLS1.0", &handshake);
    assert_true(handshake < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_nobody_vouches_for_is_refused),
        cmocka_unit_test(a_certificate_of_another_host_is_refused),
        cmocka_unit_test(old_versions_of_tls_are_not_spoken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
