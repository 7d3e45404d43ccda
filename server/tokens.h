#pragma once
/* Tokens: what callers show to be let in. 256 random bits as text with a known beginning (so that
 * scanners for leaked secrets can find one); only a hash of it is stored. Threads: any. */
#include "server/err.h"
#include "server/hash.h"
#include "server/store.h"

#include <stdbool.h>

/* What a caller may do; each includes those before it. */
enum scope { SCOPE_OPEN, SCOPE_READ, SCOPE_SUBMIT, SCOPE_ADMIN };

#define TOKEN_TEXT_SIZE 54 /* "sweetspot_", 43 characters of base64url and the NUL */

/* read, submit, admin; "open" for SCOPE_OPEN. A constant. */
const char *scope_name(enum scope scope);

/* SCOPE_OPEN when it is none of read, submit, admin. */
enum scope scope_by_name(const char *name);

/* 1 to 64 of a-z 0-9 . _ -, and none of the words that stand for other callers in the audit
 * trail. */
bool token_name_is_valid(const char *name);

/* Writes a fresh token. The caller wipes it. */
void token_new(char out[TOKEN_TEXT_SIZE]);

/* A store_work with arg struct token_change *: makes or revokes a token, and says so in the audit
 * trail in the same transaction. ERR_CONFLICT: the name is taken; ERR_NOT_FOUND: it is not there.
 */
struct token_change {
    const char *name;
    enum scope scope;   /* of a new one */
    const char *digest; /* of a new one: hash_hex of its text */
    bool was_last;      /* out, when one was revoked: none is left */
};
int token_create_work(struct db *db, void *arg, struct err *err);
int token_revoke_work(struct db *db, void *arg, struct err *err);
