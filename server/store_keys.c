#include "server/store_rows.h"

#include <stdlib.h>

/* Bounds how long an expiry holds the writer; each round takes a thousand. */
#define EXPIRE_ROUNDS 10
#define EXPIRE_ROUND 1000

int store_key_find(struct db *db, const char *key, char **out_job, char **out_fingerprint,
                   struct err *err)
{
    struct db_use *known = db_use(db, SQL_KEY_GET);
    db_bind_text(known, 1, key);
    int step = db_step(known, err);
    if (step == 1) {
        *out_job = db_take_text(known, 0);
        *out_fingerprint = db_take_text(known, 1);
    }
    db_done(known);
    return step;
}

int store_key_claim(struct db *db, const char *key, const char *fingerprint, const char *job,
                    int64_t now_ms, char **out_job, char **out_fingerprint, struct err *err)
{
    int64_t changed = 0;
    struct db_use *claim = db_use(db, SQL_KEY_CLAIM);
    db_bind_text(claim, 1, key);
    db_bind_text(claim, 2, fingerprint);
    db_bind_text(claim, 3, job);
    db_bind_int(claim, 4, now_ms);
    if (db_run(claim, &changed, err) < 0)
        return -1;
    if (changed == 1)
        return 1;
    int found = store_key_find(db, key, out_job, out_fingerprint, err);
    if (found == 0)
        return err_set(err, ERR_STORE, 0, "an idempotency key is neither new nor known");
    return found < 0 ? -1 : 0;
}

int store_key_expire(struct db *db, int64_t before_ms, struct err *err)
{
    int64_t changed = EXPIRE_ROUND;
    for (int round = 0; round < EXPIRE_ROUNDS && changed == EXPIRE_ROUND; round++) {
        struct db_use *use = db_use(db, SQL_KEY_EXPIRE);
        db_bind_int(use, 1, before_ms);
        if (db_run(use, &changed, err) < 0)
            return -1;
    }
    return 0;
}
