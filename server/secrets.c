#include "server/secrets.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES 32 /* AES-256 */
#define NONCE_BYTES 12
#define TAG_BYTES 16
#define ENV_PREFIX "SWEETSPOT_SECRET_"

struct secrets { /* read-only after secrets_open */
    unsigned char key[KEY_BYTES];
    char *env_names; /* further allowed names, comma-separated */
    char *dir;       /* of secret files; or NULL */
};

/* --- the key file ------------------------------------------------------------------------------
 */

static int system_error(struct err *err, const char *doing, const char *path)
{
    return err_set(err, ERR_SYSTEM, errno, "%s %s: %s", doing, path, strerrordesc_np(errno));
}

/* Up to size bytes; -1 with errno. */
static ssize_t read_up_to(int file, void *bytes, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t more = read(file, (char *)bytes + got, size - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

static int check_key_file(int file, const char *path, struct err *err)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return system_error(err, "look at the key file", path);
    if (!S_ISREG(info.st_mode) || info.st_size != KEY_BYTES)
        return err_set(err, ERR_REFUSED, 0, "the key file %s is not %d bytes long", path,
                       KEY_BYTES);
    if (info.st_mode & 077)
        return err_set(err, ERR_REFUSED, 0,
                       "the key file %s can be read by others (mode %03o); make it 0600", path,
                       (unsigned)info.st_mode & 0777u);
    return 0;
}

/* 0; 1 when there is no such file; -1. */
static int read_key(struct secrets *secrets, const char *path, struct err *err)
{
    int rc = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        return 1;
    if (file < 0)
        return system_error(err, "open the key file", path);
    if (check_key_file(file, path, err) < 0)
        goto out;
    if (read_up_to(file, secrets->key, KEY_BYTES) != KEY_BYTES) {
        rc = system_error(err, "read the key file", path);
        goto out;
    }
    rc = 0;
out:
    (void)close(file); /* nothing was written */
    return rc;
}

static int write_key(int file)
{
    unsigned char key[KEY_BYTES];
    ids_random_bytes(key, sizeof key);
    ssize_t written = write(file, key, sizeof key);
    explicit_bzero(key, sizeof key);
    if (written != KEY_BYTES) {
        errno = written < 0 ? errno : EIO;
        return -1;
    }
    return fsync(file);
}

/* The folder's entry must be on disk before anything is sealed with the key. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mem_format("%.*s/", (int)(slash - path), path) : mem_copy(".");
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (file < 0)
        return -1;
    int rc = fsync(file);
    (void)close(file); /* nothing was written through it */
    return rc;
}

/* A whole file appears under the name, or none: link() does not replace what another process has
 * made meanwhile, whose key is then read. */
static int make_key(const char *path, struct err *err)
{
    int rc = -1;
    char *fresh = mem_format("%s.XXXXXX", path);
    int file = mkostemp(fresh, O_CLOEXEC); /* mode 0600 */
    if (file < 0) {
        rc = system_error(err, "make the key file", path);
        goto out;
    }
    if (write_key(file) < 0 || (link(fresh, path) < 0 && errno != EEXIST) || sync_folder(path) < 0)
        rc = system_error(err, "write the key file", path);
    else
        rc = 0;
    (void)unlink(fresh); /* the link under its real name stays */
    (void)close(file);   /* fsync has told */
out:
    free(fresh);
    return rc;
}

int secrets_open(const struct config *config, struct secrets **out, struct err *err)
{
    struct secrets *secrets = mem_alloc(1, sizeof *secrets);
    int rc = read_key(secrets, config->key_file, err);
    if (rc > 0 && make_key(config->key_file, err) == 0)
        rc = read_key(secrets, config->key_file, err);
    if (rc != 0) {
        secrets_close(secrets);
        return -1;
    }
    secrets->env_names = mem_copy(config->secrets_env ? config->secrets_env : "");
    secrets->dir = mem_copy(config->secrets_dir);
    *out = secrets;
    return 0;
}

void secrets_close(struct secrets *secrets)
{
    if (!secrets)
        return;
    explicit_bzero(secrets->key, sizeof secrets->key);
    free(secrets->env_names);
    free(secrets->dir);
    free(secrets);
}

/* --- references --------------------------------------------------------------------------------
 */

static bool is_env_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (!*name || !strchr(letters, *name))
        return false;
    size_t length = strlen(name);
    return length <= 200 && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                                         "0123456789") == length;
}

static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (*list) {
        list += strspn(list, ", \t");
        size_t item = strcspn(list, ", \t");
        if (item > 0 && item == length && memcmp(list, name, length) == 0)
            return true;
        list += item;
    }
    return false;
}

/* NULL when the name may be used, else what is wrong. */
static const char *env_fault(const struct secrets *secrets, const char *name)
{
    size_t prefix = sizeof ENV_PREFIX - 1;
    if (!is_env_name(name))
        return "must be the name of an environment variable";
    if (strncmp(name, ENV_PREFIX, prefix) == 0 && name[prefix])
        return NULL;
    if (is_listed(secrets->env_names, name))
        return NULL;
    return "must begin with " ENV_PREFIX " or stand in the setting secrets_env";
}

static const char *file_fault(const struct secrets *secrets, const char *name)
{
    size_t length = strlen(name);
    if (!secrets->dir)
        return "cannot be used: the setting secrets_dir is not set";
    if (length == 0 || length > 255 || name[0] == '.' || strchr(name, '/'))
        return "must be a plain file name below secrets_dir, without / and not beginning with .";
    return NULL;
}

static const struct {
    const char *member;
    const char *(*fault)(const struct secrets *secrets, const char *name);
} forms[] = {
    {"env", env_fault},
    {"file", file_fault},
};

/* Which form it is; -1 when it is none. */
static int form_of(const cJSON *value)
{
    if (!cJSON_IsObject(value) || !value->child || value->child->next ||
        !cJSON_IsString(value->child))
        return -1;
    for (int i = 0; i < (int)(sizeof forms / sizeof forms[0]); i++)
        if (strcmp(value->child->string, forms[i].member) == 0)
            return i;
    return -1;
}

void secrets_check(const struct secrets *secrets, const cJSON *value, const char *pointer,
                   struct json_faults *faults)
{
    int form = form_of(value);
    if (form < 0) {
        json_fault_add(faults, pointer, "must be {\"env\": NAME} or {\"file\": NAME}");
        return;
    }
    const char *fault = forms[form].fault(secrets, value->child->valuestring);
    if (!fault)
        return;
    char *place = mem_format("%s/%s", pointer, forms[form].member);
    json_fault_add(faults, place, "%s", fault);
    free(place);
}

static int resolve_env(const char *name, char **out_secret, struct err *err)
{
    const char *value = getenv(name);
    if (!value || !*value)
        return err_set(err, ERR_REFUSED, 0, "the environment variable %s is %s", name,
                       value ? "empty" : "not set");
    *out_secret = mem_copy(value);
    return 0;
}

/* One secret of a file, whose newline at the end is an editor's, not the secret's. */
static int take_file(int file, const char *name, char **out_secret, struct err *err)
{
    struct stat info;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        return err_set(err, ERR_REFUSED, 0, "the secret file %s is no file", name);
    char *text = mem_alloc(LIMIT_SECRET_BYTES + 1, 1);
    ssize_t length = read_up_to(file, text, LIMIT_SECRET_BYTES + 1);
    int rc = 0;
    if (length < 0)
        rc = err_set(err, ERR_REFUSED, errno, "the secret file %s cannot be read: %s", name,
                     strerrordesc_np(errno));
    else if (length > LIMIT_SECRET_BYTES)
        rc = err_set(err, ERR_REFUSED, 0, "the secret file %s is longer than %d bytes", name,
                     LIMIT_SECRET_BYTES);
    else if (memchr(text, '\0', (size_t)length))
        rc = err_set(err, ERR_REFUSED, 0, "the secret file %s holds a NUL", name);
    if (rc == 0 && length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    if (rc == 0 && length > 0 && text[length - 1] == '\r')
        text[--length] = '\0';
    if (rc == 0 && length == 0)
        rc = err_set(err, ERR_REFUSED, 0, "the secret file %s is empty", name);
    if (rc == 0)
        *out_secret = mem_copy(text);
    explicit_bzero(text, LIMIT_SECRET_BYTES + 1);
    free(text);
    return rc;
}

static int resolve_file(const struct secrets *secrets, const char *name, char **out_secret,
                        struct err *err)
{
    char *path = mem_format("%s/%s", secrets->dir, name);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */
    free(path);
    if (file < 0)
        return err_set(err, ERR_REFUSED, errno, "the secret file %s cannot be opened: %s", name,
                       strerrordesc_np(errno));
    int rc = take_file(file, name, out_secret, err);
    (void)close(file); /* nothing was written */
    return rc;
}

int secrets_resolve(const struct secrets *secrets, const cJSON *reference, char **out_secret,
                    struct err *err)
{
    int form = form_of(reference);
    if (form < 0)
        return err_set(err, ERR_REFUSED, 0,
                       "a secret must be given as {\"env\": NAME} or {\"file\": NAME}");
    const char *name = reference->child->valuestring;
    const char *fault = forms[form].fault(secrets, name);
    if (fault)
        return err_set(err, ERR_REFUSED, 0, "the secret {\"%s\": \"%s\"} %s", forms[form].member,
                       name, fault);
    return form == 0 ? resolve_env(name, out_secret, err)
                     : resolve_file(secrets, name, out_secret, err);
}

void secrets_free(char *secret)
{
    if (!secret)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}

/* --- sealing ------------------------------------------------------------------------------------
 */

static gnutls_aead_cipher_hd_t cipher_of(const struct secrets *secrets)
{
    gnutls_aead_cipher_hd_t cipher = NULL;
    unsigned char key[KEY_BYTES]; /* gnutls_datum_t is not const */
    memcpy(key, secrets->key, sizeof key);
    gnutls_datum_t datum = {key, sizeof key};
    if (gnutls_aead_cipher_init(&cipher, GNUTLS_CIPHER_AES_256_GCM, &datum) < 0)
        cipher = NULL;
    explicit_bzero(key, sizeof key);
    return cipher;
}

int secrets_seal(const struct secrets *secrets, const char *plain, const char *context,
                 char **out_sealed, struct err *err)
{
    int rc = -1;
    size_t length = strlen(plain);
    size_t room = length + TAG_BYTES;
    unsigned char *sealed = mem_alloc(NONCE_BYTES + room, 1);
    gnutls_datum_t whole = {sealed, 0};
    gnutls_datum_t text = {NULL, 0};
    gnutls_aead_cipher_hd_t cipher = cipher_of(secrets);
    if (!cipher || length > LIMIT_SECRET_BYTES)
        goto out;
    ids_random_bytes(sealed, NONCE_BYTES);
    if (gnutls_aead_cipher_encrypt(cipher, sealed, NONCE_BYTES, context, strlen(context), TAG_BYTES,
                                   plain, length, sealed + NONCE_BYTES, &room) < 0)
        goto out;
    whole.size = (unsigned)(NONCE_BYTES + room);
    if (gnutls_base64_encode2(&whole, &text) < 0)
        goto out;
    *out_sealed = mem_format("%.*s", (int)text.size, (const char *)text.data);
    rc = 0;
out:
    if (rc < 0)
        (void)err_set(err, ERR_SYSTEM, 0, "the secret could not be sealed");
    if (cipher)
        gnutls_aead_cipher_deinit(cipher);
    gnutls_free(text.data);
    free(sealed);
    return rc;
}

int secrets_unseal(const struct secrets *secrets, const char *sealed, const char *context,
                   char **out_plain, struct err *err)
{
    int rc = -1;
    gnutls_datum_t whole = {NULL, 0};
    char *plain = NULL;
    size_t room = 0;
    char *copy = mem_copy(sealed); /* gnutls_datum_t is not const */
    gnutls_datum_t text = {(unsigned char *)copy, (unsigned)strlen(copy)};
    gnutls_aead_cipher_hd_t cipher = cipher_of(secrets);
    if (!cipher || gnutls_base64_decode2(&text, &whole) < 0 || whole.size < NONCE_BYTES + TAG_BYTES)
        goto out;
    room = whole.size - NONCE_BYTES - TAG_BYTES;
    plain = mem_alloc(room + 1, 1);
    if (gnutls_aead_cipher_decrypt(cipher, whole.data, NONCE_BYTES, context, strlen(context),
                                   TAG_BYTES, whole.data + NONCE_BYTES, whole.size - NONCE_BYTES,
                                   plain, &room) < 0)
        goto out;
    *out_plain = plain;
    plain = NULL;
    rc = 0;
out:
    if (rc < 0)
        (void)err_set(err, ERR_REFUSED, 0,
                      "a sealed secret does not open: it was altered or sealed with another key");
    if (cipher)
        gnutls_aead_cipher_deinit(cipher);
    gnutls_free(whole.data);
    free(plain); /* holds nothing when it did not open */
    free(copy);
    return rc;
}
