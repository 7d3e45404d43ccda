/* Opening a SQLite results database: is it free, whole, ours, and of our age? Nothing is written
 * into the file before all four are answered. */
#include "server/db_sqlite.h"
#include "server/log.h"
#include "server/mem.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x53575350 /* as set in the first migration */

struct db_source {
    char *path;
    int lock_fd;      /* holds the lock file; -1: a visitor's */
    uint64_t *visits; /* of others, mapped for reading; NULL: not known */
};

static int read_number(struct db *db, enum sql_id id, int64_t *out, struct err *err)
{
    struct db_use *use = db_use(db, id);
    int step = db_step(use, err);
    if (step == 1)
        *out = db_int(use, 0);
    db_done(use);
    return step < 0 ? -1 : 0;
}

static int refuse_damaged(const char *path, const char *what, struct err *err)
{
    return err_set(err, ERR_REFUSED, 0,
                   "the results database %s is damaged (%.200s); nothing was changed. Put back a "
                   "backup, or move it away together with %s-wal and start anew",
                   path, what, path);
}

static int check_whole(struct db *db, const char *path, struct err *err)
{
    struct err why = {0};
    struct db_use *use = db_use(db, SQL_SQLITE_QUICK_CHECK);
    int rc = 0;
    if (db_step(use, &why) < 0)
        rc = refuse_damaged(path, why.msg, err);
    else if (!db_text(use, 0) || strcmp(db_text(use, 0), "ok") != 0)
        rc = refuse_damaged(path, db_text(use, 0) ? db_text(use, 0) : "no answer", err);
    db_done(use);
    return rc;
}

/* A file of another program, or of a newer one of ours. out_version: 0 for an empty file. */
static int check_ours(struct db *db, const char *path, int64_t *out_version, struct err *err)
{
    struct err why = {0};
    int64_t application = 0;
    int64_t version = 0;
    int64_t objects = 0;
    if (read_number(db, SQL_SQLITE_APPLICATION_ID, &application, &why) < 0 ||
        read_number(db, SQL_SQLITE_USER_VERSION, &version, &why) < 0 ||
        read_number(db, SQL_SQLITE_OBJECT_COUNT, &objects, &why) < 0)
        return refuse_damaged(path, why.msg, err);
    bool is_empty = application == 0 && version == 0 && objects == 0;
    if (!is_empty && application != APPLICATION_ID)
        return err_set(err, ERR_REFUSED, 0,
                       "%s is a database of another program (application_id %lld); nothing was "
                       "changed. Choose another path",
                       path, (long long)application);
    if (version > sql_sqlite.migration_count)
        return err_set(err, ERR_REFUSED, 0,
                       "the results database %s has schema version %lld, made by a newer program; "
                       "this one knows up to %d and changed nothing. Start the newer program, or "
                       "put back a backup made before the update",
                       path, (long long)version, sql_sqlite.migration_count);
    *out_version = version;
    return 0;
}

static int migrate_once(struct db *db, int64_t version, struct err *err)
{
    int64_t reached = 0;
    if (db_run_all(db, SQL_TX_BEGIN, err) < 0)
        return -1;
    if (db_sqlite_run_script(db, sql_sqlite.migrations[version], err) < 0 ||
        read_number(db, SQL_SQLITE_USER_VERSION, &reached, err) < 0)
        goto failed;
    if (reached != version + 1) {
        (void)err_set(err, ERR_STORE, 0, "the script ends at version %lld", (long long)reached);
        goto failed;
    }
    if (db_run_all(db, SQL_TX_COMMIT, err) == 0)
        return 0;
failed:
    db_roll_back(db);
    return -1;
}

static int migrate(struct db *db, const char *path, int64_t version, struct err *err)
{
    for (; version < sql_sqlite.migration_count; version++) {
        struct err why = {0};
        if (migrate_once(db, version, &why) < 0)
            return err_set(err, why.code, why.detail,
                           "bring the results database %s from schema version %lld to the next: %s",
                           path, (long long)version, why.msg);
    }
    return 0;
}

/* Fails where the file system has no shared memory, and on a read-only one. */
static int turn_to_wal(struct db *db, const char *path, struct err *err)
{
    struct err why = {0};
    struct db_use *use = db_use(db, SQL_SQLITE_JOURNAL_MODE);
    int step = db_step(use, &why);
    bool is_wal = step == 1 && db_text(use, 0) && strcmp(db_text(use, 0), "wal") == 0;
    db_done(use);
    if (is_wal)
        return 0;
    return err_set(err, ERR_REFUSED, why.detail,
                   "the results database %s cannot be written in WAL mode%s%s; its folder must be "
                   "writable and on a local disk",
                   path, why.msg[0] ? ": " : "", why.msg);
}

/* Setting a connection up already reads the first page. */
static int connect_to_check(const char *path, struct db **out_db, struct err *err)
{
    struct err why = {0};
    if (db_sqlite_connect(path, out_db, &why) == 0)
        return 0;
    int kind = why.detail & 0xFF; /* SQLITE_ERROR: a format that SQLite never had */
    if (kind == SQLITE_NOTADB || kind == SQLITE_CORRUPT || kind == SQLITE_ERROR)
        return refuse_damaged(path, why.msg, err);
    if (why.detail == SQLITE_IOERR_SHMSIZE || kind == SQLITE_FULL)
        return err_set(
            err, why.code, why.detail,
            "the disk of the results database %s is full, so that it cannot even be read "
            "to undo what is left on servers: make room (100 KiB are enough for that) and "
            "start again (%s)",
            path, why.msg);
    return err_set(err, why.code, why.detail, "%s", why.msg);
}

static int check_and_migrate(const char *path, struct err *err)
{
    struct db *db = NULL;
    int64_t version = 0;
    int rc = -1;
    if (connect_to_check(path, &db, err) < 0)
        return -1;
    db_sqlite_set_checkpoint_on_close(db, false);
    if (check_ours(db, path, &version, err) < 0 || check_whole(db, path, err) < 0)
        goto out;
    db_sqlite_set_checkpoint_on_close(db, true);
    (void)chmod(path, 0600); /* before our first row; a file we may write but do not own stays */
    if (turn_to_wal(db, path, err) < 0 || migrate(db, path, version, err) < 0)
        goto out;
    rc = 0;
out:
    db->ops->close(db);
    return rc;
}

static void source_close(struct db_source *source)
{
    if (!source)
        return;
    db_sqlite_visits_forget(source->visits);
    if (source->lock_fd >= 0)
        (void)close(source->lock_fd); /* drops the lock; the file stays, or two could hold one */
    free(source->path);
    free(source);
}

static int source_open(const char *place, struct db_source **out_source, struct err *err)
{
    struct db_source *source = mem_alloc(1, sizeof *source);
    source->path = mem_copy(place);
    source->lock_fd = -1;
    if (db_sqlite_prepare_folder(place, err) < 0 ||
        db_sqlite_take_lock(place, &source->lock_fd, err) < 0 ||
        db_sqlite_prepare_file(place, err) < 0 || check_and_migrate(place, err) < 0) {
        source_close(source);
        return -1;
    }
    source->visits = db_sqlite_visits_map(place);
    if (!source->visits)
        log_event(LOG_LEVEL_WARN, "visits_unknown",
                  "store=%s advice=\"let the daemon write the file .visits beside it; until then "
                  "each call "
                  "reads the store anew\"",
                  log_quote(place));
    *out_source = source;
    return 0;
}

static uint64_t source_visits(const struct db_source *source)
{
    return source->visits ? __atomic_load_n(source->visits, __ATOMIC_ACQUIRE) : DB_VISITS_UNKNOWN;
}

static int source_tell_visit(const struct db_source *source, struct err *err)
{
    return db_sqlite_visits_tell(source->path, err);
}

static int check_visit(const char *path, struct err *err)
{
    struct db *db = NULL;
    int64_t version = 0;
    if (access(path, F_OK) != 0)
        return err_set(err, ERR_NOT_FOUND, errno, "there is no results database %s", path);
    if (connect_to_check(path, &db, err) < 0)
        return -1;
    db_sqlite_set_checkpoint_on_close(db, false); /* it may not be ours */
    int rc = check_ours(db, path, &version, err);
    db->ops->close(db);
    if (rc == 0 && version < sql_sqlite.migration_count)
        return err_set(err, ERR_NOT_FOUND, 0,
                       "the results database %s has schema version %lld, this program needs %d",
                       path, (long long)version, sql_sqlite.migration_count);
    return rc;
}

static int source_visit(const char *place, struct db_source **out_source, struct err *err)
{
    if (check_visit(place, err) < 0)
        return -1;
    struct db_source *source = mem_alloc(1, sizeof *source);
    source->path = mem_copy(place);
    source->lock_fd = -1;
    *out_source = source;
    return 0;
}

static int source_connect(struct db_source *source, bool read_only, struct db **out_db,
                          struct err *err)
{
    struct db *db = NULL;
    if (db_sqlite_connect(source->path, &db, err) < 0)
        return -1;
    db->is_read_only = read_only;
    if (read_only && db_run_all(db, SQL_SQLITE_QUERY_ONLY, err) < 0) {
        db->ops->close(db);
        return -1;
    }
    *out_db = db;
    return 0;
}

const struct db_driver db_sqlite_driver = {
    .scheme = "sqlite",
    .open = source_open,
    .visit = source_visit,
    .connect = source_connect,
    .visits = source_visits,
    .tell_visit = source_tell_visit,
    .close = source_close,
};
