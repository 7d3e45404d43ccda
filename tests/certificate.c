#include "tests/certificate.h"
#include "server/mem.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int write_text(const char *path, const gnutls_datum_t *text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    size_t written = fwrite(text->data, 1, text->size, file);
    return fclose(file) == 0 && written == text->size ? 0 : -1;
}

static int add_name(gnutls_x509_crt_t certificate, const char *name)
{
    struct in_addr address;
    if (inet_pton(AF_INET, name, &address) == 1)
        return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, &address,
                                                    sizeof address, GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name,
                                                (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

static int add_names(gnutls_x509_crt_t certificate, const char *names)
{
    int rc = 0;
    char *copy = mem_copy(names);
    char *rest = copy;
    const char *name;
    while (rc == 0 && (name = strsep(&rest, ",")) != NULL)
        rc = add_name(certificate, name);
    free(copy);
    return rc;
}

static int fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key, const char *names)
{
    time_t now = time(NULL);
    static const char name[] = "sweetspot test";
    unsigned char serial = 1;
    if (gnutls_x509_privkey_generate(key, GNUTLS_PK_RSA, 2048, 0) < 0 ||
        gnutls_x509_crt_set_version(certificate, 3) < 0 ||
        gnutls_x509_crt_set_serial(certificate, &serial, 1) < 0 ||
        gnutls_x509_crt_set_activation_time(certificate, now - 3600) < 0 ||
        gnutls_x509_crt_set_expiration_time(certificate, now + 86400) < 0 ||
        gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                      sizeof name - 1) < 0 ||
        add_names(certificate, names) < 0 ||
        gnutls_x509_crt_set_basic_constraints(certificate, 1, -1) < 0 ||
        gnutls_x509_crt_set_key(certificate, key) < 0)
        return -1;
    return gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
}

int certificate_make(const char *certificate_path, const char *key_path, const char *names)
{
    int rc = -1;
    gnutls_x509_crt_t certificate = NULL;
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t text = {NULL, 0};
    if (gnutls_x509_crt_init(&certificate) < 0 || gnutls_x509_privkey_init(&key) < 0)
        goto out;
    if (fill(certificate, key, names) < 0)
        goto out;
    if (gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text) < 0 ||
        write_text(certificate_path, &text) < 0)
        goto out;
    gnutls_free(text.data);
    text.data = NULL;
    if (gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text) < 0)
        goto out;
    rc = write_text(key_path, &text);
out:
    gnutls_free(text.data);
    gnutls_x509_privkey_deinit(key);
    gnutls_x509_crt_deinit(certificate);
    return rc;
}
