#include "server/rows.h"
#include "server/store_access.h"

#include <stdio.h>

#define LOOKUP_SIZE 17 /* 16 digits of the digest and the NUL */

static const struct row_field token_fields[] = {
    /* clang-format off */
    {ROW_TEXT, offsetof(struct token_row, name)},
    {ROW_TEXT, offsetof(struct token_row, scope)},
    {ROW_TEXT, offsetof(struct token_row, digest)},
    {ROW_INT,  offsetof(struct token_row, created_at)},
    {ROW_INT,  offsetof(struct token_row, last_used_at)},
    /* clang-format on */
};
static const struct row_shape token_shape = ROW_SHAPE(token_fields, struct token_row);

void token_row_fini(struct token_row *row)
{
    row_fini(&token_shape, row);
}

static const char *lookup_of(const char *digest, char out[LOOKUP_SIZE])
{
    (void)snprintf(out, LOOKUP_SIZE, "%s", digest); /* cut on purpose */
    return out;
}

int store_token_insert(struct db *db, const struct token_row *row, struct err *err)
{
    char lookup[LOOKUP_SIZE];
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_TOKEN_INSERT);
    db_bind_text(use, 1, row->name);
    db_bind_text(use, 2, row->scope);
    db_bind_text(use, 3, lookup_of(row->digest, lookup));
    db_bind_text(use, 4, row->digest);
    db_bind_int(use, 5, row->created_at);
    if (db_run(use, &changed, err) < 0)
        return -1;
    if (changed == 0)
        return err_set(err, ERR_CONFLICT, 0, "there is a token named %s already", row->name);
    return 0;
}

int store_token_find(struct db *db, const char digest[HASH_HEX_SIZE], struct token_row *out,
                     struct err *err)
{
    char lookup[LOOKUP_SIZE];
    struct token_row row = {0};
    struct db_use *use = db_use(db, SQL_TOKEN_FIND);
    db_bind_text(use, 1, lookup_of(digest, lookup));
    int found = row_one(&token_shape, use, token_shape.count, &row, err);
    if (found == 1 && hash_equal(row.digest, digest)) {
        *out = row;
        return 1;
    }
    token_row_fini(&row);
    return found < 0 ? -1 : 0;
}

int store_token_any(struct db *db, bool *out_any, struct err *err)
{
    struct db_use *use = db_use(db, SQL_TOKEN_ANY);
    int step = db_step(use, err);
    if (step == 1)
        *out_any = db_int(use, 0) != 0;
    db_done(use);
    return step < 0 ? -1 : 0;
}

int store_token_list(struct db *db, struct token_row **out_rows, size_t *out_count, struct err *err)
{
    void *rows = NULL;
    struct db_use *use = db_use(db, SQL_TOKEN_LIST);
    if (row_all(&token_shape, use, token_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_token_delete(struct db *db, const char *name, struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_TOKEN_DELETE);
    db_bind_text(use, 1, name);
    if (db_run(use, &changed, err) < 0)
        return -1;
    if (changed == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "there is no token named %s", name);
    return 0;
}

int store_token_used(struct db *db, const char *name, int64_t at_ms, struct err *err)
{
    struct db_use *use = db_use(db, SQL_TOKEN_USED);
    db_bind_text(use, 1, name);
    db_bind_int(use, 2, at_ms);
    return db_run(use, NULL, err);
}
