#include "server/db.h"
#include "server/db_driver.h"
#include "server/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct db_use *db_use(struct db *db, enum sql_id id)
{
    struct db_use *use = db->ops->use(db, id);
    use->db->uses++;
    return use;
}

void db_bind_text(struct db_use *use, int index, const char *text)
{
    if (text)
        use->db->ops->bind_text(use, index, text);
    else
        db_bind_null(use, index);
}

void db_bind_int(struct db_use *use, int index, int64_t value)
{
    use->db->ops->bind_int(use, index, value);
}

void db_bind_real(struct db_use *use, int index, double value)
{
    if (isfinite(value))
        use->db->ops->bind_real(use, index, value);
    else
        db_bind_null(use, index);
}

void db_bind_null(struct db_use *use, int index)
{
    use->db->ops->bind_null(use, index);
}

int db_step(struct db_use *use, struct err *err)
{
    return use->db->ops->step(use, err);
}

bool db_is_null(const struct db_use *use, int column)
{
    return use->db->ops->is_null(use, column);
}

int64_t db_int(const struct db_use *use, int column)
{
    return use->db->ops->get_int(use, column);
}

double db_real(const struct db_use *use, int column)
{
    return db_is_null(use, column) ? NAN : use->db->ops->get_real(use, column);
}

const char *db_text(const struct db_use *use, int column)
{
    return use->db->ops->get_text(use, column);
}

char *db_take_text(const struct db_use *use, int column)
{
    return mem_copy(db_text(use, column));
}

void db_done(struct db_use *use)
{
    if (!use)
        return;
    use->db->uses--;
    use->db->ops->done(use);
}

int db_run(struct db_use *use, int64_t *out_changed, struct err *err)
{
    int step = db_step(use, err);
    assert(step != 1); /* a statement that gives rows is not run so */
    if (step == 0 && out_changed)
        *out_changed = use->db->ops->changed(use);
    db_done(use);
    return step;
}

int db_run_all(struct db *db, enum sql_id id, struct err *err)
{
    struct db_use *use = db_use(db, id);
    int step;
    do {
        step = db_step(use, err);
    } while (step == 1);
    db_done(use);
    return step;
}

void db_roll_back(struct db *db)
{
    if (!db->ops->in_transaction(db))
        return;
    struct db_use *use = db_use(db, SQL_TX_ROLLBACK);
    (void)db_step(use, NULL);
    db_done(use);
}

static const struct db_driver *const drivers[] = {
    &db_sqlite_driver,
};

const struct db_driver *db_driver_of(const char *url, const char **out_place, struct err *err)
{
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        size_t length = strlen(drivers[i]->scheme);
        if (strncmp(url, drivers[i]->scheme, length) == 0 && url[length] == ':' &&
            url[length + 1] != '\0') {
            *out_place = url + length + 1;
            return drivers[i];
        }
    }
    (void)err_set(err, ERR_INPUT, 0, "the setting store must be sqlite:PATH, not what it is now");
    return NULL;
}
