#pragma once
/* Whose token is it? Asked with every request, so what was found is kept for as long as nothing was
 * committed: a token that is revoked, here or by the command, is unknown to the very next request.
 * Threads: any. */
#include "server/err.h"
#include "server/hash.h"
#include "server/limits.h"
#include "server/store.h"
#include "server/tokens.h"

#include <stdbool.h>
#include <stdint.h>

struct callers;

struct callers *callers_new(struct store *store); /* borrowed */
void callers_free(struct callers *callers);       /* accepts NULL */

struct caller {
    bool any;   /* there are tokens at all */
    bool found; /* it is one of them, and the rest is filled */
    char name[LIMIT_NAME_CHARS + 1];
    enum scope scope;
    int64_t last_used_at; /* wall milliseconds, as noted */
};

/* digest: hash_hex of what was shown; NULL: nothing was. ERR_STORE: it cannot be read now. */
MUST_CHECK int callers_look(struct callers *callers, const char *digest, struct caller *out,
                            struct err *err);

/* Its use at this time (wall milliseconds) is on its way into the store: as long as what is kept of
 * it holds, callers_look tells that time, so that not each request meanwhile sends it again. */
void callers_used(struct callers *callers, const char *digest, int64_t at_ms);
