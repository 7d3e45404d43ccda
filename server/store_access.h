#pragma once
/* Who may call and who changed what: the rows of tokens and of the audit trail, and the operations
 * on them. As store_rows.h: all run inside a store_work, texts are heap copies owned by the row,
 * times are wall milliseconds, 0 for none. */
#include "server/db.h"
#include "server/hash.h"
#include "server/store_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- tokens ------------------------------------------------------------------------------- */
struct token_row {
    char *name;
    char *scope;  /* read, submit or admin */
    char *digest; /* SHA-256 of the token in hexadecimal; the token itself is not kept */
    int64_t created_at;
    int64_t last_used_at; /* 0: never; at most a minute behind */
};
void token_row_fini(struct token_row *row);
/* created_at is taken from the row. ERR_CONFLICT when the name is taken. */
MUST_CHECK int store_token_insert(struct db *db, const struct token_row *row, struct err *err);
/* The token of this digest. 1: *out is filled; 0: there is none; -1: failed. The digests are
 * compared in constant time. */
MUST_CHECK int store_token_find(struct db *db, const char digest[HASH_HEX_SIZE],
                                struct token_row *out, struct err *err);
/* Whether there is any token at all. */
MUST_CHECK int store_token_any(struct db *db, bool *out_any, struct err *err);
/* By name; the caller frees rows and array. */
MUST_CHECK int store_token_list(struct db *db, struct token_row **out_rows, size_t *out_count,
                                struct err *err);
MUST_CHECK int store_token_delete(struct db *db, const char *name,
                                  struct err *err); /* ERR_NOT_FOUND */
/* Notes a use; harmless when the token is gone or was used later. */
MUST_CHECK int store_token_used(struct db *db, const char *name, int64_t at_ms, struct err *err);

/* --- the audit trail ---------------------------------------------------------------------- */
struct audit_row {
    int64_t seq; /* counts up; set by the store */
    int64_t at;
    char *who;        /* a token's name, "loopback" or "command line" */
    char *action;     /* "instance.put" */
    char *object;     /* what was changed: a path of the API, "token/NAME" or "key/ID" */
    char *request_id; /* or NULL */
};
void audit_row_fini(struct audit_row *row);
/* Call it in the transaction of the change itself. */
MUST_CHECK int store_audit_insert(struct db *db, const struct audit_row *row, struct err *err);
/* The same for what a command did, now. */
MUST_CHECK int store_audit_command(struct db *db, const char *action, const char *object,
                                   struct err *err);
/* Newest first; page->after is a seq as text. The caller frees rows and array. */
MUST_CHECK int store_audit_list(struct db *db, const struct store_list *page,
                                struct audit_row **out_rows, size_t *out_count, struct err *err);
