#include "server/tokens.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/store_access.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SECRET_BYTES 32 /* 256 bits */
#define BEGINNING "sweetspot_"

static const char *const scope_names[] = {
    [SCOPE_OPEN] = "open",
    [SCOPE_READ] = "read",
    [SCOPE_SUBMIT] = "submit",
    [SCOPE_ADMIN] = "admin",
};

const char *scope_name(enum scope scope)
{
    return scope_names[scope];
}

enum scope scope_by_name(const char *name)
{
    for (int scope = SCOPE_READ; scope <= SCOPE_ADMIN; scope++)
        if (strcmp(scope_names[scope], name) == 0)
            return (enum scope)scope;
    return SCOPE_OPEN;
}

bool token_name_is_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-");
    return length >= 1 && length <= LIMIT_NAME_CHARS && name[length] == '\0' &&
           strcmp(name, "loopback") != 0;
}

/* base64url without padding (RFC 4648 §5): fits a header, a shell and a file name as it is. */
static void encode(const uint8_t *bytes, size_t count, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < count; i++) {
        bits = bits << 8 | bytes[i];
        for (held += 8; held >= 6; held -= 6)
            *out++ = digits[bits >> (held - 6) & 63];
    }
    if (held > 0)
        *out++ = digits[bits << (6 - held) & 63];
    *out = '\0';
}

void token_new(char out[TOKEN_TEXT_SIZE])
{
    uint8_t secret[SECRET_BYTES];
    ids_random_bytes(secret, sizeof secret);
    (void)snprintf(out, TOKEN_TEXT_SIZE, "%s", BEGINNING);
    encode(secret, sizeof secret, out + strlen(BEGINNING));
    explicit_bzero(secret, sizeof secret);
}

static int note(struct db *db, const char *action, const char *name, struct err *err)
{
    char object[LIMIT_NAME_CHARS + sizeof "token/"];
    (void)snprintf(object, sizeof object, "token/%s", name);
    return store_audit_command(db, action, object, err);
}

int token_create_work(struct db *db, void *arg, struct err *err)
{
    const struct token_change *change = arg;
    char name[LIMIT_NAME_CHARS + 1];
    char scope[16];
    char digest[HASH_HEX_SIZE];
    (void)snprintf(name, sizeof name, "%s", change->name);
    (void)snprintf(scope, sizeof scope, "%s", scope_name(change->scope));
    (void)snprintf(digest, sizeof digest, "%s", change->digest);
    struct token_row row = {
        .name = name, .scope = scope, .digest = digest, .created_at = clock_wall_ms()};
    if (store_token_insert(db, &row, err) < 0)
        return -1;
    return note(db, "token.create", change->name, err);
}

int token_revoke_work(struct db *db, void *arg, struct err *err)
{
    struct token_change *change = arg;
    bool any = true;
    if (store_token_delete(db, change->name, err) < 0 || store_token_any(db, &any, err) < 0)
        return -1;
    change->was_last = !any;
    return note(db, "token.revoke", change->name, err);
}
