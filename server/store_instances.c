#include "server/clock.h"
#include "server/rows.h"
#include "server/store_rows.h"

static const struct row_field instance_fields[] = {
    /* clang-format off */
    {ROW_TEXT, offsetof(struct instance_row, name)},
    {ROW_TEXT, offsetof(struct instance_row, definition)},
    {ROW_INT,  offsetof(struct instance_row, version)},
    {ROW_INT,  offsetof(struct instance_row, created_at)},
    {ROW_INT,  offsetof(struct instance_row, updated_at)},
    {ROW_TEXT, offsetof(struct instance_row, held)},
    /* clang-format on */
};
static const struct row_shape instance_shape = ROW_SHAPE(instance_fields, struct instance_row);

void instance_row_fini(struct instance_row *row)
{
    row_fini(&instance_shape, row);
}

static int say_missing(const char *name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, 0, "there is no instance %s", name);
}

static int say_changed(const char *name, struct err *err)
{
    return err_set(err, ERR_CONFLICT, 0, "instance %s does not have that version", name);
}

int store_instance_put(struct db *db, struct instance_row *row, int64_t if_version,
                       bool *out_created, struct err *err)
{
    struct db_use *use = db_use(db, SQL_INSTANCE_PUT);
    db_bind_text(use, 1, row->name);
    db_bind_text(use, 2, row->definition);
    db_bind_int(use, 3, clock_wall_ms());
    db_bind_int(use, 4, if_version);
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

int store_instance_get(struct db *db, const char *name, struct instance_row *out, struct err *err)
{
    struct db_use *use = db_use(db, SQL_INSTANCE_GET);
    db_bind_text(use, 1, name);
    int found = row_one(&instance_shape, use, instance_shape.count, out, err);
    if (found == 0)
        return say_missing(name, err);
    return found < 0 ? -1 : 0;
}

int store_instance_list(struct db *db, const struct store_list *page,
                        struct instance_row **out_rows, size_t *out_count, struct err *err)
{
    void *rows = NULL;
    const char *name;
    int64_t created_at;
    struct db_use *use = db_use(db, SQL_INSTANCE_LIST);
    store_place_read(page->after, &created_at, &name);
    db_bind_int(use, 1, created_at);
    db_bind_text(use, 2, name);
    db_bind_int(use, 3, page->limit);
    if (row_all(&instance_shape, use, instance_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

/* Whether it may be deleted now. */
static int guard(struct db *db, const char *name, int64_t if_version, struct err *err)
{
    struct db_use *use = db_use(db, SQL_INSTANCE_GUARD);
    db_bind_text(use, 1, name);
    int step = db_step(use, err);
    bool is_other_version = step == 1 && if_version != -1 && db_int(use, 0) != if_version;
    bool has_jobs = step == 1 && db_int(use, 1);
    bool has_intents = step == 1 && db_int(use, 2);
    db_done(use);
    if (step < 0)
        return -1;
    if (step == 0)
        return say_missing(name, err);
    if (is_other_version)
        return say_changed(name, err);
    if (has_jobs)
        return err_set(err, ERR_CONFLICT, 0, "instance %s has jobs that have not ended", name);
    if (has_intents)
        return err_set(err, ERR_CONFLICT, 0, "on instance %s something is not undone", name);
    return 0;
}

int store_instance_is_used(struct db *db, const char *name, bool *out_used, struct err *err)
{
    struct db_use *use = db_use(db, SQL_INSTANCE_IS_USED);
    db_bind_text(use, 1, name);
    int step = db_step(use, err);
    if (step == 1)
        *out_used = db_int(use, 0) != 0;
    db_done(use);
    return step < 0 ? -1 : 0;
}

int store_instance_delete(struct db *db, const char *name, int64_t if_version, struct err *err)
{
    if (guard(db, name, if_version, err) < 0)
        return -1;
    struct db_use *use = db_use(db, SQL_INSTANCE_DELETE);
    db_bind_text(use, 1, name);
    return db_run(use, NULL, err);
}

int store_instance_hold(struct db *db, const char *name, const char *reason, struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_INSTANCE_HOLD);
    db_bind_text(use, 1, name);
    db_bind_text(use, 2, reason);
    if (db_run(use, &changed, err) < 0)
        return -1;
    return changed == 0 ? say_missing(name, err) : 0;
}
