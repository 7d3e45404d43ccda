#include "server/rows.h"
#include "server/store_rows.h"

static const struct row_field delivery_fields[] = {
    /* clang-format off */
    {ROW_TEXT, offsetof(struct delivery_row, id)},
    {ROW_TEXT, offsetof(struct delivery_row, webhook)},
    {ROW_TEXT, offsetof(struct delivery_row, event)},
    {ROW_TEXT, offsetof(struct delivery_row, job)},
    {ROW_TEXT, offsetof(struct delivery_row, payload)},
    {ROW_TEXT, offsetof(struct delivery_row, state)},
    {ROW_INT,  offsetof(struct delivery_row, attempts)},
    {ROW_INT,  offsetof(struct delivery_row, last_status)},
    {ROW_TEXT, offsetof(struct delivery_row, last_error)},
    {ROW_INT,  offsetof(struct delivery_row, next_at)},
    {ROW_INT,  offsetof(struct delivery_row, created_at)},
    /* clang-format on */
};
static const struct row_shape delivery_shape = ROW_SHAPE(delivery_fields, struct delivery_row);

void delivery_row_fini(struct delivery_row *row)
{
    row_fini(&delivery_shape, row);
}

static int say_missing(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, 0, "there is no delivery %s", id);
}

static int collect(struct db_use *use, struct delivery_row **out_rows, size_t *out_count,
                   struct err *err)
{
    void *rows = NULL;
    if (row_all(&delivery_shape, use, delivery_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_delivery_insert(struct db *db, const struct delivery_row *row, struct err *err)
{
    struct db_use *use = db_use(db, SQL_DELIVERY_INSERT);
    row_bind(&delivery_shape, use, delivery_shape.count, row);
    return db_run(use, NULL, err);
}

int store_delivery_update(struct db *db, const struct delivery_row *row, struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_DELIVERY_UPDATE);
    db_bind_text(use, 1, row->id);
    db_bind_text(use, 6, row->state);
    db_bind_int(use, 7, row->attempts);
    db_bind_int(use, 8, row->last_status);
    db_bind_text(use, 9, row->last_error);
    db_bind_int(use, 10, row->next_at);
    if (db_run(use, &changed, err) < 0)
        return -1;
    return changed == 0 ? say_missing(row->id, err) : 0;
}

int store_delivery_get(struct db *db, const char *id, struct delivery_row *out, struct err *err)
{
    struct db_use *use = db_use(db, SQL_DELIVERY_GET);
    db_bind_text(use, 1, id);
    int found = row_one(&delivery_shape, use, delivery_shape.count, out, err);
    if (found == 0)
        return say_missing(id, err);
    return found < 0 ? -1 : 0;
}

int store_delivery_due(struct db *db, int64_t now_ms, int64_t limit, struct delivery_row **out_rows,
                       size_t *out_count, struct err *err)
{
    struct db_use *use = db_use(db, SQL_DELIVERY_DUE);
    db_bind_int(use, 1, now_ms);
    db_bind_int(use, 2, limit);
    return collect(use, out_rows, out_count, err);
}

int store_delivery_list(struct db *db, const char *webhook, const struct store_list *page,
                        struct delivery_row **out_rows, size_t *out_count, struct err *err)
{
    struct db_use *use = db_use(db, SQL_DELIVERY_LIST);
    db_bind_text(use, 1, webhook);
    db_bind_text(use, 2, page->after);
    db_bind_int(use, 3, page->limit);
    return collect(use, out_rows, out_count, err);
}

int store_delivery_again(struct db *db, const char *id, int64_t now_ms, struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_DELIVERY_AGAIN);
    db_bind_text(use, 1, id);
    db_bind_int(use, 2, now_ms);
    if (db_run(use, &changed, err) < 0)
        return -1;
    return changed == 0 ? say_missing(id, err) : 0;
}

int store_outage_tell(struct db *db, const char *instance, const char *webhook, int64_t now_ms,
                      bool *out_first, struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_OUTAGE_TELL);
    db_bind_text(use, 1, instance);
    db_bind_text(use, 2, webhook);
    db_bind_int(use, 3, now_ms);
    if (db_run(use, &changed, err) < 0)
        return -1;
    *out_first = changed > 0;
    return 0;
}

int store_outage_end(struct db *db, const char *instance, struct err *err)
{
    struct db_use *use = db_use(db, SQL_OUTAGE_END);
    db_bind_text(use, 1, instance);
    return db_run(use, NULL, err);
}
