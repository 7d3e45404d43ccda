#include "server/clock.h"
#include "server/rows.h"
#include "server/store_rows.h"

static const struct row_field webhook_fields[] = {
    /* clang-format off */
    {ROW_TEXT, offsetof(struct webhook_row, name)},
    {ROW_TEXT, offsetof(struct webhook_row, definition)},
    {ROW_TEXT, offsetof(struct webhook_row, url_sealed)},
    {ROW_BOOL, offsetof(struct webhook_row, disabled)},
    {ROW_INT,  offsetof(struct webhook_row, version)},
    {ROW_INT,  offsetof(struct webhook_row, created_at)},
    {ROW_INT,  offsetof(struct webhook_row, updated_at)},
    /* clang-format on */
};
static const struct row_shape webhook_shape = ROW_SHAPE(webhook_fields, struct webhook_row);

void webhook_row_fini(struct webhook_row *row)
{
    row_fini(&webhook_shape, row);
}

static int say_missing(const char *name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, 0, "there is no webhook %s", name);
}

static int say_changed(const char *name, struct err *err)
{
    return err_set(err, ERR_CONFLICT, 0, "webhook %s does not have that version", name);
}

int store_webhook_put(struct db *db, struct webhook_row *row, int64_t if_version, bool *out_created,
                      struct err *err)
{
    struct db_use *use = db_use(db, SQL_WEBHOOK_PUT);
    db_bind_text(use, 1, row->name);
    db_bind_text(use, 2, row->definition);
    db_bind_text(use, 3, row->url_sealed);
    db_bind_int(use, 4, row->disabled);
    db_bind_int(use, 5, clock_wall_ms());
    db_bind_int(use, 6, if_version);
    int step = db_step(use, err);
    if (step == 1) {
        row->version = db_int(use, 0);
        row->created_at = db_int(use, 1);
        row->updated_at = db_int(use, 2);
        *out_created = row->version == 1;
    }
    db_done(use);
    if (step == 0)
        return say_changed(row->name, err);
    return step < 0 ? -1 : 0;
}

int store_webhook_get(struct db *db, const char *name, struct webhook_row *out, struct err *err)
{
    struct db_use *use = db_use(db, SQL_WEBHOOK_GET);
    db_bind_text(use, 1, name);
    int found = row_one(&webhook_shape, use, webhook_shape.count, out, err);
    if (found == 0)
        return say_missing(name, err);
    return found < 0 ? -1 : 0;
}

int store_webhook_list(struct db *db, const struct store_list *page, struct webhook_row **out_rows,
                       size_t *out_count, struct err *err)
{
    void *rows = NULL;
    const char *name;
    int64_t created_at;
    struct db_use *use = db_use(db, SQL_WEBHOOK_LIST);
    store_place_read(page->after, &created_at, &name);
    db_bind_int(use, 1, created_at);
    db_bind_text(use, 2, name);
    db_bind_int(use, 3, page->limit);
    if (row_all(&webhook_shape, use, webhook_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_webhook_delete(struct db *db, const char *name, int64_t if_version, struct err *err)
{
    struct webhook_row row = {0};
    if (store_webhook_get(db, name, &row, err) < 0)
        return -1;
    bool is_other_version = if_version != -1 && row.version != if_version;
    webhook_row_fini(&row);
    if (is_other_version)
        return say_changed(name, err);
    struct db_use *use = db_use(db, SQL_WEBHOOK_DELETE);
    db_bind_text(use, 1, name);
    return db_run(use, NULL, err);
}

int store_webhook_disable(struct db *db, const char *name, struct err *err)
{
    struct db_use *use = db_use(db, SQL_WEBHOOK_DISABLE);
    db_bind_text(use, 1, name);
    return db_run(use, NULL, err);
}
