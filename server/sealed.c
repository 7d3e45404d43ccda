#include "server/sealed.h"
#include "server/key_file.h"
#include "server/log.h"
#include "server/mem.h"
#include "server/store_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 100 /* bounds how long others wait for the writer */
#define NAMES_SHOWN 3

static void rows_free(struct sealed_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sealed_row_fini(&rows[i]);
    free(rows);
}

/* What a text sealed with the newest key begins with. */
static char *newest_prefix(const struct key_ring *ring)
{
    return mem_format("%s:", ring->keys[0].id);
}

/* --- looking ------------------------------------------------------------------------------- */

static bool opens(const struct key_ring *ring, const struct sealed_row *row, size_t *out_key)
{
    char *plain = NULL;
    int rc = key_ring_unseal(ring, row->sealed, row->name, &plain, out_key, NULL);
    secrets_free(plain);
    return rc == 0;
}

static void add_name(struct sealed_look *look, const char *name)
{
    size_t length = strlen(look->unopened_names);
    if (look->unopened++ < NAMES_SHOWN)
        (void)snprintf(look->unopened_names + length, sizeof look->unopened_names - length, "%s%s",
                       length ? ", " : "", name);
}

static void end_names(struct sealed_look *look)
{
    size_t length = strlen(look->unopened_names);
    if (look->unopened > NAMES_SHOWN)
        (void)snprintf(look->unopened_names + length, sizeof look->unopened_names - length,
                       " and %zu more", look->unopened - NAMES_SHOWN);
}

static void look_at(struct sealed_look *look, const struct sealed_row *row)
{
    size_t key = 0;
    if (opens(look->ring, row, &key))
        look->opened[key]++;
    else if (!look->before || opens(look->before, row, NULL))
        add_name(look, row->name);
}

/* Those that do not begin with except; NULL: all. */
static int look_through(struct db *db, struct sealed_look *look, const char *except,
                        struct err *err)
{
    char *after = mem_copy("");
    size_t count = BATCH;
    int rc = 0;
    while (rc == 0 && count == BATCH) {
        struct sealed_row *rows = NULL;
        count = 0;
        rc = store_sealed_list(db, after, except, BATCH, &rows, &count, err);
        for (size_t i = 0; i < count; i++)
            look_at(look, &rows[i]);
        if (count > 0)
            mem_replace(&after, rows[count - 1].name);
        rows_free(rows, count);
    }
    end_names(look);
    free(after);
    return rc;
}

int sealed_look_work(struct db *db, void *arg, struct err *err)
{
    struct sealed_look *look = arg;
    char *id = NULL;
    if (store_sealing_key_get(db, &id, err) < 0)
        return -1;
    (void)snprintf(look->sealing_key, sizeof look->sealing_key, "%s", id ? id : "");
    free(id);
    return look_through(db, look, NULL, err);
}

static int look_at_others_work(struct db *db, void *arg, struct err *err)
{
    struct sealed_look *look = arg;
    char *newest = newest_prefix(look->ring);
    int rc = look_through(db, look, newest, err);
    free(newest);
    return rc;
}

int sealed_unopened(struct store *store, const struct secrets *secrets, size_t *out_count,
                    struct err *err)
{
    struct key_ring ring;
    secrets_keys(secrets, &ring);
    struct sealed_look look = {.ring = &ring};
    int rc = store_read(store, look_at_others_work, &look, err);
    key_ring_wipe(&ring);
    if (rc == 0)
        *out_count = look.unopened;
    return rc;
}

/* --- before there is a key ----------------------------------------------------------------- */

int sealed_allows_new_file(const struct sealed_look *look, const char *key_file, struct err *err)
{
    if (look->unopened == 0)
        return 0;
    return err_set(
        err, ERR_REFUSED, 0,
        "the key file %s is not there, and %zu webhook URLs are sealed with its keys "
        "(%s): put it back; if it is lost, `sweetspotd key replace` makes a new one, and "
        "these webhooks must be PUT again",
        key_file, look->unopened, look->unopened_names);
}

int sealed_may_make_key(struct store *store, const char *key_file, struct err *err)
{
    struct key_ring ring = {.count = 0};
    struct sealed_look look = {.ring = &ring};
    struct err why = {0};
    int rc = key_file_read(key_file, &ring, &why);
    key_ring_wipe(&ring);
    if (rc == 0 || why.code != ERR_NOT_FOUND)
        return 0; /* secrets_open says what is wrong with it */
    if (store_read(store, sealed_look_work, &look, err) < 0)
        return -1;
    return sealed_allows_new_file(&look, key_file, err);
}

/* --- sealing again ------------------------------------------------------------------------- */

struct renewal {
    const struct secrets *secrets;
    char *newest; /* what a value sealed with the newest key begins with */
    char *after;  /* the name that the last batch ended with */
    size_t renewed;
    bool is_last;
};

/* One batch. What does not open is told by sealed_look. */
static int renew_work(struct db *db, void *arg, struct err *err)
{
    struct renewal *renewal = arg;
    struct sealed_row *rows = NULL;
    size_t count = 0;
    int rc = store_sealed_list(db, renewal->after, renewal->newest, BATCH, &rows, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (secrets_renew(renewal->secrets, rows[i].name, &rows[i].sealed, NULL) != 1)
            continue;
        rc = store_sealed_put(db, &rows[i], err);
        renewal->renewed++;
    }
    renewal->is_last = count < BATCH;
    if (rc == 0 && renewal->is_last) {
        char *id = mem_format("%.*s", KEY_ID_SIZE - 1, renewal->newest);
        rc = store_sealing_key_put(db, id, err);
        free(id);
    }
    if (rc == 0 && count > 0)
        mem_replace(&renewal->after, rows[count - 1].name);
    rows_free(rows, count);
    return rc;
}

/* Whether there is nothing to do: then nothing is written, which a full disk would not let us. */
struct pending {
    const char *newest; /* id */
    const char *prefix;
    bool any;
};

static int pending_work(struct db *db, void *arg, struct err *err)
{
    struct pending *pending = arg;
    struct sealed_row *rows = NULL;
    size_t count = 0;
    char *id = NULL;
    int rc = store_sealing_key_get(db, &id, err);
    if (rc == 0)
        rc = store_sealed_list(db, "", pending->prefix, 1, &rows, &count, err);
    pending->any = count > 0 || !id || strcmp(id, pending->newest) != 0;
    rows_free(rows, count);
    free(id);
    return rc;
}

static void tell(struct store *store, const struct key_ring *ring, size_t renewed)
{
    struct sealed_look look = {.ring = ring};
    struct err err = {0};
    log_event(LOG_LEVEL_INFO, "sealed_again", "key=%s keys=%zu values=%zu", ring->keys[0].id,
              ring->count, renewed);
    if (store_read(store, look_at_others_work, &look, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "sealed_unread", "error=%s", log_quote(err.msg));
    else if (look.unopened > 0)
        log_event(LOG_LEVEL_ERROR, "sealed_unopened",
                  "values=%zu webhooks=%s advice=\"put the key back into the key file and send "
                  "SIGHUP, or PUT these webhooks again\"",
                  look.unopened, log_quote(look.unopened_names));
}

static int renew_all(struct store *store, const struct secrets *secrets, struct err *err)
{
    struct key_ring ring;
    secrets_keys(secrets, &ring);
    struct renewal renewal = {
        .secrets = secrets, .newest = newest_prefix(&ring), .after = mem_copy("")};
    struct pending pending = {.newest = ring.keys[0].id, .prefix = renewal.newest};
    int rc = store_read(store, pending_work, &pending, err);
    while (rc == 0 && pending.any && !renewal.is_last)
        rc = store_write(store, renew_work, &renewal, err);
    if (rc == 0 && pending.any)
        tell(store, &ring, renewal.renewed);
    key_ring_wipe(&ring);
    free(renewal.newest);
    free(renewal.after);
    return rc;
}

void sealed_start(struct store *store, const struct secrets *secrets)
{
    struct err err = {0};
    if (renew_all(store, secrets, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "not_sealed_again", "error=%s", log_quote(err.msg));
}

/* Nothing that opens now, or is on its way to the writer, may be lost by a key file of another
 * place.
 */
static int check_keys(struct store *store, const struct secrets *secrets,
                      const struct key_ring *ring, struct err *err)
{
    struct key_ring before;
    secrets_keys(secrets, &before);
    struct sealed_look look = {.ring = ring, .before = &before};
    int rc = 0;
    if (!key_ring_holds(ring, before.keys[0].id))
        rc = err_set(err, ERR_REFUSED, 0,
                     "the key file no longer holds the key %s, which is in use, and is not taken: "
                     "put that key back behind the new one",
                     before.keys[0].id);
    else
        rc = store_read(store, sealed_look_work, &look, err);
    if (rc == 0 && look.unopened > 0)
        rc = err_set(err, ERR_REFUSED, 0,
                     "the key file is not taken: %zu stored webhook URLs would not open any more "
                     "(%s); put the former keys back behind the new one",
                     look.unopened, look.unopened_names);
    key_ring_wipe(&before);
    return rc;
}

int sealed_reload(struct store *store, struct secrets *secrets, struct err *err)
{
    struct key_ring ring = {.count = 0};
    int rc = secrets_read_keys(secrets, &ring, err);
    if (rc == 0)
        rc = check_keys(store, secrets, &ring, err);
    if (rc == 0) {
        secrets_take_keys(secrets, &ring);
        if (renew_all(store, secrets, err) < 0)
            rc = err_wrap(err, "the keys are read, but not all is sealed with the newest one yet "
                               "(SIGHUP tries again)");
    }
    key_ring_wipe(&ring);
    return rc;
}
