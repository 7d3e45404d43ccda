#include "server/db_sqlite.h"
#include "server/mem.h"

#include <assert.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>

struct sqlite_use {
    struct db_use base;
    sqlite3_stmt *stmt; /* prepared at the first use, kept until the connection closes */
    int failed;         /* what preparing or binding answered; told by the next step */
    bool in_use;
};

struct sqlite_db {
    struct db base;
    sqlite3 *handle;
    struct sqlite_use uses[SQL_COUNT];
};

static struct sqlite_db *sqlite_of(struct db *db)
{
    return (struct sqlite_db *)db;
}

static const struct sqlite_use *use_of(const struct db_use *use)
{
    return (const struct sqlite_use *)use;
}

/* Which failures mean the disk or the file and not the statement. */
static bool is_disk_failure(int detail)
{
    switch (detail & 0xFF) {
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_BUSY: /* after the time-out: something holds the file */
    case SQLITE_PROTOCOL:
        return true;
    default:
        return false;
    }
}

static bool is_conflict(int code)
{
    return code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY ||
           code == SQLITE_CONSTRAINT_ROWID || code == SQLITE_CONSTRAINT_FOREIGNKEY;
}

static int fail(const struct sqlite_use *use, int code, struct err *err)
{
    sqlite3 *handle = sqlite_of(use->base.db)->handle;
    return err_set(err, is_conflict(code) ? ERR_CONFLICT : ERR_STORE, code,
                   "results database, statement %s: %s (SQLite %d)",
                   sql_sqlite.statements[use->base.id].name, sqlite3_errmsg(handle), code);
}

static struct db_use *use_begin(struct db *db, enum sql_id id)
{
    struct sqlite_use *use = &sqlite_of(db)->uses[id];
    assert(!use->in_use); /* the same statement cannot be walked twice at a time */
    use->base.db = db;
    use->base.id = id;
    use->in_use = true;
    use->failed = SQLITE_OK;
    if (!use->stmt)
        use->failed = sqlite3_prepare_v3(sqlite_of(db)->handle, sql_sqlite.statements[id].text, -1,
                                         SQLITE_PREPARE_PERSISTENT, &use->stmt, NULL);
    return &use->base;
}

/* Without a statement binding cannot go wrong any more; a wrong index is a bug. */
static void note(struct db_use *base, int code)
{
    struct sqlite_use *use = (struct sqlite_use *)base;
    assert(code != SQLITE_RANGE || !use->stmt);
    if (code != SQLITE_OK && use->failed == SQLITE_OK)
        use->failed = code;
}

static void bind_text(struct db_use *use, int index, const char *text)
{
    if (use_of(use)->stmt)
        note(use, sqlite3_bind_text(use_of(use)->stmt, index, text, -1, SQLITE_STATIC));
}

static void bind_int(struct db_use *use, int index, int64_t value)
{
    if (use_of(use)->stmt)
        note(use, sqlite3_bind_int64(use_of(use)->stmt, index, value));
}

static void bind_real(struct db_use *use, int index, double value)
{
    if (use_of(use)->stmt)
        note(use, sqlite3_bind_double(use_of(use)->stmt, index, value));
}

static void bind_null(struct db_use *use, int index)
{
    if (use_of(use)->stmt)
        note(use, sqlite3_bind_null(use_of(use)->stmt, index));
}

static int step(struct db_use *base, struct err *err)
{
    const struct sqlite_use *use = use_of(base);
    if (use->failed != SQLITE_OK)
        return fail(use, use->failed, err);
    int code = sqlite3_step(use->stmt);
    if (code == SQLITE_ROW)
        return 1;
    if (code == SQLITE_DONE)
        return 0;
    return fail(use, sqlite3_extended_errcode(sqlite_of(base->db)->handle), err);
}

static bool is_null(const struct db_use *use, int column)
{
    return sqlite3_column_type(use_of(use)->stmt, column) == SQLITE_NULL;
}

static int64_t get_int(const struct db_use *use, int column)
{
    return sqlite3_column_int64(use_of(use)->stmt, column);
}

static double get_real(const struct db_use *use, int column)
{
    return sqlite3_column_double(use_of(use)->stmt, column);
}

static const char *get_text(const struct db_use *use, int column)
{
    return (const char *)sqlite3_column_text(use_of(use)->stmt, column);
}

static int64_t changed(const struct db_use *use)
{
    return sqlite3_changes64(sqlite_of(use->db)->handle);
}

static void done(struct db_use *base)
{
    struct sqlite_use *use = (struct sqlite_use *)base;
    use->in_use = false;
    if (!use->stmt)
        return;
    (void)sqlite3_reset(use->stmt); /* repeats the error that step has told already */
    (void)sqlite3_clear_bindings(use->stmt);
}

static bool in_transaction(const struct db *db)
{
    return !sqlite3_get_autocommit(((const struct sqlite_db *)db)->handle);
}

static int64_t total_changed(const struct db *db)
{
    return sqlite3_total_changes64(((const struct sqlite_db *)db)->handle);
}

static void close_connection(struct db *base)
{
    struct sqlite_db *db = sqlite_of(base);
    for (int i = 0; i < SQL_COUNT; i++)
        (void)sqlite3_finalize(db->uses[i].stmt); /* repeats the error of its last step */
    int code = sqlite3_close(db->handle);
    assert(code == SQLITE_OK); /* else a statement was not finalized */
    free(db);
}

static const struct db_ops sqlite_ops = {
    .use = use_begin,
    .bind_text = bind_text,
    .bind_int = bind_int,
    .bind_real = bind_real,
    .bind_null = bind_null,
    .step = step,
    .is_null = is_null,
    .get_int = get_int,
    .get_real = get_real,
    .get_text = get_text,
    .changed = changed,
    .done = done,
    .in_transaction = in_transaction,
    .total_changed = total_changed,
    .is_disk_failure = is_disk_failure,
    .close = close_connection,
};

/* SQLite counts its memory under one lock for all threads; nobody asks for the count. */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* too late when SQLite runs: no harm */
}

/* None of these writes: the file may turn out to be another program's. */
static const enum sql_id connection_pragmas[] = {
    SQL_SQLITE_BUSY_TIMEOUT,       SQL_SQLITE_FOREIGN_KEYS,       SQL_SQLITE_TRUSTED_SCHEMA,
    SQL_SQLITE_CELL_SIZE_CHECK,    SQL_SQLITE_SYNCHRONOUS,        SQL_SQLITE_SECURE_DELETE,
    SQL_SQLITE_JOURNAL_SIZE_LIMIT, SQL_SQLITE_WAL_AUTOCHECKPOINT, SQL_SQLITE_TEMP_STORE,
};

int db_sqlite_connect(const char *path, struct db **out_db, struct err *err)
{
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    (void)pthread_once(&configured, configure);
    struct sqlite_db *db = mem_alloc(1, sizeof *db);
    db->base.ops = &sqlite_ops;
    int code =
        sqlite3_open_v2(path, &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        (void)err_set(err, ERR_STORE, code, "open the results database %s: %s (SQLite %d)", path,
                      db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code), code);
        goto failed;
    }
    (void)sqlite3_extended_result_codes(db->handle, 1);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    for (size_t i = 0; i < sizeof connection_pragmas / sizeof connection_pragmas[0]; i++) {
        if (db_run_all(&db->base, connection_pragmas[i], err) < 0)
            goto failed;
    }
    *out_db = &db->base;
    return 0;
failed:
    close_connection(&db->base);
    return -1;
}

int db_sqlite_run_script(struct db *db, const char *text, struct err *err)
{
    char *message = NULL;
    int code = sqlite3_exec(sqlite_of(db)->handle, text, NULL, NULL, &message);
    if (code == SQLITE_OK)
        return 0;
    (void)err_set(err, ERR_STORE, code, "%s (SQLite %d)", message ? message : "failed", code);
    sqlite3_free(message);
    return -1;
}

void db_sqlite_set_checkpoint_on_close(struct db *db, bool allowed)
{
    (void)sqlite3_db_config(sqlite_of(db)->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !allowed,
                            NULL);
}
