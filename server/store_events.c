#include "server/rows.h"
#include "server/store_rows.h"

#include <stdlib.h>
#include <string.h>

/* Bounds how long an expiry holds the writer; each round takes a thousand. */
#define EXPIRE_ROUNDS 10
#define EXPIRE_ROUND 1000

static const struct row_field event_fields[] = {
    /* clang-format off */
    {ROW_INT,  offsetof(struct event_row, id)},
    {ROW_TEXT, offsetof(struct event_row, job)},
    {ROW_TEXT, offsetof(struct event_row, what)},
    {ROW_INT,  offsetof(struct event_row, seq)},
    {ROW_TEXT, offsetof(struct event_row, state)},
    {ROW_TEXT, offsetof(struct event_row, state_reason)},
    {ROW_TEXT, offsetof(struct event_row, phase)},
    {ROW_INT,  offsetof(struct event_row, trials_done)},
    {ROW_INT,  offsetof(struct event_row, trials_planned)},
    /* clang-format on */
};
static const struct row_shape event_shape = ROW_SHAPE(event_fields, struct event_row);

void event_row_fini(struct event_row *row)
{
    row_fini(&event_shape, row);
}

int store_event_list(struct db *db, const char *job, int64_t after, int64_t limit,
                     struct event_row **out_rows, size_t *out_count, struct err *err)
{
    void *rows = NULL;
    struct db_use *use = db_use(db, job ? SQL_EVENT_LIST_JOB : SQL_EVENT_LIST);
    db_bind_int(use, 1, after);
    db_bind_int(use, 2, limit);
    if (job)
        db_bind_text(use, 3, job);
    if (row_all(&event_shape, use, event_shape.count, &rows, out_count, err) < 0)
        return -1;
    *out_rows = rows;
    return 0;
}

int store_event_last(struct db *db, int64_t *out_id, struct err *err)
{
    struct db_use *use = db_use(db, SQL_EVENT_LAST);
    int step = db_step(use, err);
    if (step == 1)
        *out_id = db_int(use, 0);
    db_done(use);
    return step < 0 ? -1 : 0;
}

int store_event_expire(struct db *db, int64_t before_ms, struct err *err)
{
    int64_t changed = EXPIRE_ROUND;
    for (int round = 0; round < EXPIRE_ROUNDS && changed == EXPIRE_ROUND; round++) {
        struct db_use *use = db_use(db, SQL_EVENT_EXPIRE);
        db_bind_int(use, 1, before_ms / 1000);
        if (db_run(use, &changed, err) < 0)
            return -1;
    }
    return 0;
}

/* --- the service as a whole ---------------------------------------------------------------- */

int store_paused_get(struct db *db, bool *out_paused, struct err *err)
{
    struct db_use *use = db_use(db, SQL_SERVICE_GET);
    db_bind_text(use, 1, "mode");
    int step = db_step(use, err);
    if (step >= 0)
        *out_paused = step == 1 && strcmp(db_text(use, 0), "paused") == 0;
    db_done(use);
    return step < 0 ? -1 : 0;
}

int store_paused_put(struct db *db, bool paused, struct err *err)
{
    struct db_use *use = db_use(db, SQL_SERVICE_PUT);
    db_bind_text(use, 1, "mode");
    db_bind_text(use, 2, paused ? "paused" : "active");
    return db_run(use, NULL, err);
}
