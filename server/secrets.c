#include "server/secrets.h"
#include "server/key_file.h"
#include "server/limits.h"
#include "server/lock.h"
#include "server/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENV_PREFIX "SWEETSPOT_SECRET_"

/* What changes while others use it: apart, for the rest is const to them. */
struct keys {
    struct lock lock; /* guards the ring */
    struct key_ring ring;
};

struct secrets { /* read-only after secrets_open, but for what keys points to */
    struct keys *keys;
    char *key_file;
    char *env_names; /* further allowed names, comma-separated */
    char *dir;       /* of secret files; or NULL */
};

/* --- keys --------------------------------------------------------------------------------------
 */

int secrets_open(const struct config *config, struct secrets **out, struct err *err)
{
    struct key_ring ring = {.count = 0};
    int rc = key_file_read(config->key_file, &ring, err);
    if (rc < 0 && err->code == ERR_NOT_FOUND && key_file_make(config->key_file, err) == 0)
        rc = key_file_read(config->key_file, &ring, err);
    if (rc < 0)
        return -1;
    struct secrets *secrets = mem_alloc(1, sizeof *secrets);
    secrets->keys = mem_alloc(1, sizeof *secrets->keys);
    lock_init(&secrets->keys->lock);
    secrets->key_file = mem_copy(config->key_file);
    secrets->env_names = mem_copy(config->secrets_env ? config->secrets_env : "");
    secrets->dir = mem_copy(config->secrets_dir);
    secrets_take_keys(secrets, &ring);
    key_ring_wipe(&ring);
    *out = secrets;
    return 0;
}

void secrets_close(struct secrets *secrets)
{
    if (!secrets)
        return;
    key_ring_wipe(&secrets->keys->ring);
    lock_fini(&secrets->keys->lock);
    free(secrets->keys);
    free(secrets->key_file);
    free(secrets->env_names);
    free(secrets->dir);
    free(secrets);
}

int secrets_read_keys(const struct secrets *secrets, struct key_ring *out, struct err *err)
{
    return key_file_read(secrets->key_file, out, err);
}

void secrets_keys(const struct secrets *secrets, struct key_ring *out)
{
    lock_take(&secrets->keys->lock);
    *out = secrets->keys->ring;
    lock_drop(&secrets->keys->lock);
}

void secrets_take_keys(struct secrets *secrets, const struct key_ring *ring)
{
    lock_take(&secrets->keys->lock);
    secrets->keys->ring = *ring;
    lock_drop(&secrets->keys->lock);
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

/* Each works on a copy of the ring: no cipher runs under the lock. */

int secrets_seal(const struct secrets *secrets, const char *plain, const char *context,
                 char **out_sealed, struct err *err)
{
    struct key_ring ring;
    secrets_keys(secrets, &ring);
    int rc = key_ring_seal(&ring, plain, context, out_sealed, err);
    key_ring_wipe(&ring);
    return rc;
}

int secrets_unseal(const struct secrets *secrets, const char *sealed, const char *context,
                   char **out_plain, struct err *err)
{
    struct key_ring ring;
    secrets_keys(secrets, &ring);
    int rc = key_ring_unseal(&ring, sealed, context, out_plain, NULL, err);
    key_ring_wipe(&ring);
    return rc;
}

int secrets_renew(const struct secrets *secrets, const char *context, char **sealed,
                  struct err *err)
{
    struct key_ring ring;
    char *plain = NULL;
    char *again = NULL;
    secrets_keys(secrets, &ring);
    int rc = 0;
    if (!key_ring_is_newest(&ring, *sealed)) {
        rc = key_ring_unseal(&ring, *sealed, context, &plain, NULL, err);
        if (rc == 0)
            rc = key_ring_seal(&ring, plain, context, &again, err);
        if (rc == 0) {
            free(*sealed);
            *sealed = again;
            rc = 1;
        }
    }
    secrets_free(plain);
    key_ring_wipe(&ring);
    return rc;
}
