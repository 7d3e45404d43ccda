#include "server/clock.h"
#include "server/mem.h"
#include "server/rows.h"
#include "server/store_access.h"

static const struct row_field audit_fields[] = {
    /* clang-format off */
    {ROW_INT,  offsetof(struct audit_row, seq)},
    {ROW_INT,  offsetof(struct audit_row, at)},
    {ROW_TEXT, offsetof(struct audit_row, who)},
    {ROW_TEXT, offsetof(struct audit_row, action)},
    {ROW_TEXT, offsetof(struct audit_row, object)},
    {ROW_TEXT, offsetof(struct audit_row, request_id)},
    /* clang-format on */
};
static const struct row_shape audit_shape = ROW_SHAPE(audit_fields, struct audit_row);

void audit_row_fini(struct audit_row *row)
{
    row_fini(&audit_shape, row);
}

int store_audit_insert(struct db *db, const struct audit_row *row, struct err *err)
{
    struct db_use *use = db_use(db, SQL_AUDIT_INSERT);
    db_bind_int(use, 1, row->at);
    db_bind_text(use, 2, row->who);
    db_bind_text(use, 3, row->action);
    db_bind_text(use, 4, row->object);
    db_bind_text(use, 5, row->request_id);
    return db_run(use, NULL, err);
}

int store_audit_command(struct db *db, const char *action, const char *object, struct err *err)
{
    struct audit_row row = {.at = clock_wall_ms(),
                            .who = mem_copy("command line"),
                            .action = mem_copy(action),
                            .object = mem_copy(object)};
    int rc = store_audit_insert(db, &row, err);
    audit_row_fini(&row);
    return rc;
}

int store_audit_list(struct db *db, const struct store_list *page, struct audit_row **out_rows,
                     size_t *out_count, struct err *err)
{
    void *rows = NULL;
    struct db_use *use = db_use(db, SQL_AUDIT_LIST);
    db_bind_text(use, 1, page->after);
    db_bind_int(use, 2, page->limit);
    if (row_all(&audit_shape, use, audit_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}
