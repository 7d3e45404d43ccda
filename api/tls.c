#include "api/tls.h"
#include "server/lock.h"
#include "server/log.h"
#include "server/mem.h"

#include <assert.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 16 /* certificates in one file; real chains have two to four */

/* TLS 1.0 and 1.1 are dead (RFC 8996). */
static char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

/* One certificate with its key. A handshake may use it after the next one was read, so all live
 * until the end: a few kB for each reload. */
struct pair {
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t key;
    struct pair *before;
};

struct tls {
    char *cert_file;
    char *key_file;
    struct lock lock;     /* guards the pointer; what it points to does not change */
    struct pair *current; /* newest first */
};

static struct tls *served; /* set before the HTTP daemon starts, cleared after it has stopped */

static void pair_free(struct pair *pair)
{
    for (unsigned i = 0; i < pair->count; i++)
        gnutls_pcert_deinit(&pair->chain[i]);
    gnutls_privkey_deinit(pair->key);
    free(pair);
}

static int fail(const char *path, int code, struct err *err)
{
    return err_set(err, ERR_INPUT, code, "read %.150s for TLS: %s", path, gnutls_strerror(code));
}

/* GnuTLS looks whether the two belong together only when it takes both. */
static int check_together(const struct tls *tls, const gnutls_datum_t *cert,
                          const gnutls_datum_t *key, struct err *err)
{
    gnutls_certificate_credentials_t both;
    int code = gnutls_certificate_allocate_credentials(&both);
    if (code < 0)
        return fail(tls->cert_file, code, err);
    code = gnutls_certificate_set_x509_key_mem(both, cert, key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    return code < 0 ? fail(tls->cert_file, code, err) : 0;
}

static int fill(const struct tls *tls, struct pair *pair, const gnutls_datum_t *cert,
                const gnutls_datum_t *key, struct err *err)
{
    unsigned count = CHAIN_MAX;
    int code = gnutls_pcert_list_import_x509_raw(pair->chain, &count, cert, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0)
        return fail(tls->cert_file, code, err);
    pair->count = count;
    code = gnutls_privkey_init(&pair->key);
    if (code >= 0)
        code = gnutls_privkey_import_x509_raw(pair->key, key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code < 0)
        return fail(tls->key_file, code, err);
    return check_together(tls, cert, key, err);
}

static int read_pair(const struct tls *tls, struct pair **out, struct err *err)
{
    int rc = -1;
    gnutls_datum_t cert = {NULL, 0};
    gnutls_datum_t key = {NULL, 0};
    struct pair *pair = mem_alloc(1, sizeof *pair);
    int code = gnutls_load_file(tls->cert_file, &cert);
    if (code < 0) {
        (void)fail(tls->cert_file, code, err);
        goto out;
    }
    code = gnutls_load_file(tls->key_file, &key);
    if (code < 0) {
        (void)fail(tls->key_file, code, err);
        goto out;
    }
    rc = fill(tls, pair, &cert, &key, err);
out:
    if (key.data)
        explicit_bzero(key.data, key.size);
    gnutls_free(key.data);
    gnutls_free(cert.data);
    if (rc < 0)
        pair_free(pair);
    else
        *out = pair;
    return rc;
}

/* In an HTTP thread, at each handshake. */
static int on_handshake(gnutls_session_t session, const gnutls_datum_t *issuers, int issuer_count,
                        const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                        gnutls_pcert_st **out_chain, unsigned *out_count, gnutls_privkey_t *out_key)
{
    (void)session;
    (void)issuers;
    (void)issuer_count;
    (void)algorithms;
    (void)algorithm_count;
    lock_take(&served->lock);
    struct pair *pair = served->current;
    lock_drop(&served->lock);
    *out_chain = pair->chain;
    *out_count = pair->count;
    *out_key = pair->key;
    return 0;
}

int tls_reload(struct tls *tls, struct err *err)
{
    struct pair *pair = NULL;
    if (read_pair(tls, &pair, err) < 0)
        return -1;
    lock_take(&tls->lock);
    pair->before = tls->current;
    tls->current = pair;
    lock_drop(&tls->lock);
    return 0;
}

int tls_open(const char *cert_file, const char *key_file, struct tls **out, struct err *err)
{
    struct tls *tls = mem_alloc(1, sizeof *tls);
    tls->cert_file = mem_copy(cert_file);
    tls->key_file = mem_copy(key_file);
    lock_init(&tls->lock);
    assert(!served);
    served = tls;
    if (tls_reload(tls, err) < 0) {
        tls_close(tls);
        return -1;
    }
    *out = tls;
    return 0;
}

void tls_options(struct tls *tls, struct MHD_OptionItem *out)
{
    assert(tls == served);
    gnutls_certificate_retrieve_function2 *callback = on_handshake;
    out[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities};
    out[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0, NULL};
    memcpy(&out[1].ptr_value, &callback, sizeof callback); /* POSIX: a pointer holds a function's */
    out[2] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

void tls_close(struct tls *tls)
{
    if (!tls)
        return;
    while (tls->current) {
        struct pair *pair = tls->current;
        tls->current = pair->before;
        pair_free(pair);
    }
    served = NULL;
    lock_fini(&tls->lock);
    free(tls->cert_file);
    free(tls->key_file);
    free(tls);
}
