#include "server/rows.h"
#include "server/store_rows.h"

static const struct row_field intent_fields[] = {
    /* clang-format off */
    {ROW_TEXT, offsetof(struct intent_row, id)},
    {ROW_TEXT, offsetof(struct intent_row, job)},
    {ROW_TEXT, offsetof(struct intent_row, instance)},
    {ROW_TEXT, offsetof(struct intent_row, action)},
    {ROW_TEXT, offsetof(struct intent_row, object)},
    {ROW_TEXT, offsetof(struct intent_row, prior)},
    {ROW_TEXT, offsetof(struct intent_row, state)},
    {ROW_TEXT, offsetof(struct intent_row, detail)},
    {ROW_INT,  offsetof(struct intent_row, created_at)},
    {ROW_INT,  offsetof(struct intent_row, given_up_at)},
    /* clang-format on */
};
static const struct row_shape intent_shape = ROW_SHAPE(intent_fields, struct intent_row);

void intent_row_fini(struct intent_row *row)
{
    row_fini(&intent_shape, row);
}

int store_intent_insert(struct db *db, const struct intent_row *row, struct err *err)
{
    struct db_use *use = db_use(db, SQL_INTENT_INSERT);
    row_bind(&intent_shape, use, intent_shape.count, row);
    return db_run(use, NULL, err);
}

int store_intent_close(struct db *db, const char *id, const char *state, const char *detail,
                       struct err *err)
{
    int64_t changed = 0;
    struct db_use *use = db_use(db, SQL_INTENT_CLOSE);
    db_bind_text(use, 1, id);
    db_bind_text(use, 2, state);
    db_bind_text(use, 3, detail);
    if (db_run(use, &changed, err) < 0)
        return -1;
    if (changed == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "there is no intent %s", id);
    return 0;
}

int store_intent_give_up(struct db *db, const char *job, int64_t at_ms, struct err *err)
{
    struct db_use *use = db_use(db, SQL_INTENT_GIVE_UP);
    db_bind_text(use, 1, job);
    db_bind_int(use, 2, at_ms);
    return db_run(use, NULL, err);
}

int store_intent_list(struct db *db, const char *job, const char *instance, const char *state,
                      struct intent_row **out_rows, size_t *out_count, struct err *err)
{
    enum sql_id id = SQL_INTENT_LIST_JOB;
    void *rows = NULL;
    if (!job)
        id = state ? SQL_INTENT_LIST_INSTANCE_STATE : SQL_INTENT_LIST_INSTANCE;
    struct db_use *use = db_use(db, id);
    db_bind_text(use, 1, job ? job : instance);
    if (id != SQL_INTENT_LIST_INSTANCE)
        db_bind_text(use, 2, state);
    if (row_all(&intent_shape, use, intent_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_intent_list_left(struct db *db, const char *instance, struct intent_row **out_rows,
                           size_t *out_count, struct err *err)
{
    void *rows = NULL;
    struct db_use *use = db_use(db, SQL_INTENT_LIST_INSTANCE_LEFT);
    db_bind_text(use, 1, instance);
    if (row_all(&intent_shape, use, intent_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_intent_abandon(struct db *db, const char *instance, struct err *err)
{
    struct db_use *use = db_use(db, SQL_INTENT_ABANDON);
    db_bind_text(use, 1, instance);
    return db_run(use, NULL, err);
}

int store_intent_leftovers(struct db *db, struct intent_row **out_rows, size_t *out_count,
                           struct err *err)
{
    void *rows = NULL;
    struct db_use *use = db_use(db, SQL_INTENT_LIST_LEFTOVER);
    if (row_all(&intent_shape, use, intent_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_intent_pending(struct db *db, const char *instance, const char *job, bool *out_pending,
                         struct err *err)
{
    struct db_use *use = db_use(db, SQL_INTENT_PENDING);
    db_bind_text(use, 1, instance);
    db_bind_text(use, 2, job);
    int step = db_step(use, err);
    if (step == 1)
        *out_pending = db_int(use, 0) != 0;
    db_done(use);
    return step < 0 ? -1 : 0;
}
