#include "server/rows.h"
#include "server/store_rows.h"

static const struct row_field sealed_fields[] = {
    /* clang-format off */
    {ROW_TEXT, offsetof(struct sealed_row, name)},
    {ROW_TEXT, offsetof(struct sealed_row, sealed)},
    /* clang-format on */
};
static const struct row_shape sealed_shape = ROW_SHAPE(sealed_fields, struct sealed_row);

void sealed_row_fini(struct sealed_row *row)
{
    row_fini(&sealed_shape, row);
}

int store_sealed_list(struct db *db, const char *after, const char *except, int64_t limit,
                      struct sealed_row **out_rows, size_t *out_count, struct err *err)
{
    void *rows = NULL;
    struct db_use *use = db_use(db, SQL_SEALED_LIST);
    db_bind_text(use, 1, after);
    db_bind_text(use, 2, except);
    db_bind_int(use, 3, limit);
    if (row_all(&sealed_shape, use, sealed_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_sealed_put(struct db *db, const struct sealed_row *row, struct err *err)
{
    struct db_use *use = db_use(db, SQL_SEALED_PUT);
    row_bind(&sealed_shape, use, sealed_shape.count, row);
    return db_run(use, NULL, err);
}

int store_sealing_key_get(struct db *db, char **out_id, struct err *err)
{
    struct db_use *use = db_use(db, SQL_SERVICE_GET);
    db_bind_text(use, 1, "sealing_key");
    int step = db_step(use, err);
    if (step >= 0)
        *out_id = step == 1 ? db_take_text(use, 0) : NULL;
    db_done(use);
    return step < 0 ? -1 : 0;
}

int store_sealing_key_put(struct db *db, const char *id, struct err *err)
{
    struct db_use *use = db_use(db, SQL_SERVICE_PUT);
    db_bind_text(use, 1, "sealing_key");
    db_bind_text(use, 2, id);
    return db_run(use, NULL, err);
}
