#include "server/db_driver.h"
#include "server/store.h"

#include <assert.h>

#define TRIES 6 /* each as long as the driver waits for a lock: half a minute in all */

/* A daemon that writes without pause leaves the lock free for moments only. */
static int begin(struct db *db, struct err *err)
{
    int rc = -1;
    for (int i = 0; i < TRIES && rc < 0; i++) {
        struct err why = {0};
        rc = db_run_all(db, SQL_TX_BEGIN, &why);
        if (rc < 0)
            *err = why;
    }
    return rc;
}

static int run(struct db *db, store_work *work, void *arg, struct err *err)
{
    if (begin(db, err) < 0)
        return -1;
    int rc = work(db, arg, err);
    assert(db->uses == 0); /* the work did not end a statement */
    if (rc == 0 && db_run_all(db, SQL_TX_COMMIT, err) == 0)
        return 0;
    db_roll_back(db);
    return -1;
}

int store_once(const char *url, store_work *work, void *arg, struct err *err)
{
    const char *place = NULL;
    struct db_source *source = NULL;
    struct db *db = NULL;
    struct err why = {0};
    const struct db_driver *driver = db_driver_of(url, &place, err);
    if (!driver)
        return -1;
    int rc = driver->visit(place, &source, &why);
    if (rc < 0 && why.code == ERR_NOT_FOUND)
        rc = driver->open(place, &source, err);
    else if (rc < 0)
        *err = why;
    if (rc == 0)
        rc = driver->connect(source, false, &db, err);
    if (rc == 0) {
        rc = run(db, work, arg, err);
        db->ops->close(db);
        /* who cannot be told finds out by itself soon: see store_mark */
        if (rc == 0)
            (void)driver->tell_visit(source, &why);
    }
    driver->close(source);
    return rc;
}
