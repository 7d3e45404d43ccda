#pragma once
/* What a driver of the results database gives (private to the store and its drivers). A source is
 * where a database lives: opened once, checked and migrated, locked against a second process where
 * that is needed; it makes connections. Threads: a source any, a connection one at a time. */
#include "server/db.h"
#include "server/err.h"
#include "sql_ids.h"

struct sql_statement {
    const char *name;
    const char *text; /* NULL: not of this dialect */
};

/* Made by schema/embed.py from schema/DIALECT. */
struct sql_dialect {
    const char *const *migrations; /* [0] leads from an empty database to version 1, and so on */
    int migration_count;
    struct sql_statement statements[SQL_COUNT];
};
extern const struct sql_dialect sql_sqlite;

/* The functions of db.h, in its order, and what the writer needs besides. */
struct db_ops {
    struct db_use *(*use)(struct db *db, enum sql_id id);
    void (*bind_text)(struct db_use *use, int index, const char *text);
    void (*bind_int)(struct db_use *use, int index, int64_t value);
    void (*bind_real)(struct db_use *use, int index, double value);
    void (*bind_null)(struct db_use *use, int index);
    int (*step)(struct db_use *use, struct err *err);
    bool (*is_null)(const struct db_use *use, int column);
    int64_t (*get_int)(const struct db_use *use, int column);
    double (*get_real)(const struct db_use *use, int column);
    const char *(*get_text)(const struct db_use *use, int column);
    int64_t (*changed)(const struct db_use *use); /* rows changed by the statement stepped last */
    void (*done)(struct db_use *use);
    bool (*in_transaction)(const struct db *db);   /* false after the driver gave one up itself */
    int64_t (*total_changed)(const struct db *db); /* rows since the connection was made */
    bool (*is_disk_failure)(int detail);           /* of an ERR_STORE */
    void (*close)(struct db *db);
};

/* The beginning of every driver's connection and of every driver's statement in use. */
struct db {
    const struct db_ops *ops;
    bool is_read_only;
    int uses; /* statements in use: 0 between works, else one was not ended */
};
struct db_use {
    struct db *db;
    enum sql_id id;
};

#define DB_VISITS_UNKNOWN UINT64_MAX

struct db_source;
struct db_driver {
    const char *scheme; /* "sqlite" of "sqlite:PLACE" */
    int (*open)(const char *place, struct db_source **out_source, struct err *err);
    /* The same for a short visit to one that a living process may have open: takes no lock file,
     * changes nothing. ERR_NOT_FOUND: it is not there, or must be migrated first: open it. */
    int (*visit)(const char *place, struct db_source **out_source, struct err *err);
    int (*connect)(struct db_source *source, bool read_only, struct db **out_db, struct err *err);
    /* A number that is another one after a visit was told of; DB_VISITS_UNKNOWN when that cannot be
     * known. Of an opened source; costs next to nothing. */
    uint64_t (*visits)(const struct db_source *source);
    /* A visitor's, after its commit: who has it open sees another number from now on. */
    int (*tell_visit)(const struct db_source *source, struct err *err);
    void (*close)(struct db_source *source); /* after its connections; accepts NULL */
};
extern const struct db_driver db_sqlite_driver;

/* The driver of "SCHEME:PLACE"; out_place points into url. NULL with ERR_INPUT when there is none.
 */
const struct db_driver *db_driver_of(const char *url, const char **out_place, struct err *err);

/* Steps one statement without parameters to its end, whatever rows it gives. */
MUST_CHECK int db_run_all(struct db *db, enum sql_id id, struct err *err);

/* Gives up the transaction if there still is one; that a rollback fails changes nothing more. */
void db_roll_back(struct db *db);
