/* identity.c: the server's certificate, given in files or made at the start. */
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "wire.h"

struct tls_identity {
    gnutls_certificate_credentials_t credentials;
};

static int self_signed(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key)
{
    static const unsigned char serial[] = {1};
    static const unsigned char loopback[] = {127, 0, 0, 1};
    time_t now = time(NULL);
    int rc = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);

    if (rc == 0)
        rc = gnutls_x509_crt_set_key(certificate, key);
    if (rc < 0)
        return rc;
    (void)gnutls_x509_crt_set_version(certificate, 3);
    (void)gnutls_x509_crt_set_serial(certificate, serial, sizeof(serial));
    (void)gnutls_x509_crt_set_activation_time(certificate, now - 3600);
    (void)gnutls_x509_crt_set_expiration_time(certificate, now + 365 * 86400);
    (void)gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                        "SSL_Self_Signed_Fallback", 24);
    (void)gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, "localhost", 9, 0);
    (void)gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, loopback, 4,
                                               GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
}

struct tls_identity *wire_identity_new(const char *certificate_file, const char *key_file,
                                       char *error, size_t error_size)
{
    struct tls_identity *identity = sim_alloc(sizeof(*identity));
    gnutls_x509_crt_t certificate = NULL;
    gnutls_x509_privkey_t key = NULL;
    int rc = gnutls_certificate_allocate_credentials(&identity->credentials);

    if (rc == 0 && certificate_file && key_file) {
        rc = gnutls_certificate_set_x509_key_file(identity->credentials, certificate_file, key_file,
                                                  GNUTLS_X509_FMT_PEM);
    } else if (rc == 0) {
        rc = gnutls_x509_crt_init(&certificate);
        if (rc == 0)
            rc = gnutls_x509_privkey_init(&key);
        if (rc == 0)
            rc = self_signed(certificate, key);
        if (rc == 0)
            rc = gnutls_certificate_set_x509_key(identity->credentials, &certificate, 1, key);
    }
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (key)
        gnutls_x509_privkey_deinit(key);
    if (rc < 0) {
        (void)snprintf(error, error_size, "The certificate cannot be used: %s.",
                       gnutls_strerror(rc));
        wire_identity_free(identity);
        return NULL;
    }
    return identity;
}

void wire_identity_use(const struct tls_identity *identity, gnutls_session_t session)
{
    (void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, identity->credentials);
}

void wire_identity_free(struct tls_identity *identity)
{
    if (!identity)
        return;
    gnutls_certificate_free_credentials(identity->credentials);
    free(identity);
}
