#pragma once
/* Every statement that may go to a measured instance, as one allow-list: a row holds the text with
 * slots in braces, and each slot has its check. What is not an instance of its row is not sent
 * (jobs/send.h); plans show the rows. Pure. */
#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
enum statement {
    /* a session */
    STATEMENT_LANGUAGE, STATEMENT_TRANSACTIONS, STATEMENT_TAKE_LOCK, STATEMENT_DROP_LOCK,
    /* what the server is */
    STATEMENT_VERSION, STATEMENT_HARDWARE, STATEMENT_HARDWARE_OLD, STATEMENT_CPU_COUNT,
    STATEMENT_PLATFORM, STATEMENT_UTC,
    /* what the login may do */
    STATEMENT_MAY_BACKUP, STATEMENT_MAY_DELETE_FILE, STATEMENT_MAY_DELETE_FILES,
    STATEMENT_MAY_SEE_STATE, STATEMENT_MAY_SEE_PERFORMANCE, STATEMENT_MAY_READ_MSDB,
    STATEMENT_IS_SYSADMIN, STATEMENT_MAY_CREATE, STATEMENT_MAY_TRACE,
    /* what an instance holds, for its check */
    STATEMENT_DATABASES, STATEMENT_REPLICAS, STATEMENT_MIRRORS, STATEMENT_FREE_MEMORY,
    STATEMENT_USER_SESSIONS,
    /* a database */
    STATEMENT_DATABASE, STATEMENT_MIRRORING_ROLE, STATEMENT_REPLICA_ROLE, STATEMENT_DATABASE_SIZE,
    STATEMENT_STREAM_SIZE,
    STATEMENT_LOG_USED, STATEMENT_ENCRYPTED, STATEMENT_GROWTH, STATEMENT_DIFFERENTIAL_BASE, STATEMENT_LAST_LOG_BACKUP,
    /* files and room */
    STATEMENT_FILE_EXISTS, STATEMENT_FILE_EXISTS_OLD, STATEMENT_ROOM_OF_DRIVES,
    STATEMENT_ROOM_OF_VOLUMES, STATEMENT_ROOM_OLD, STATEMENT_RECORDED_SIZE,
    STATEMENT_DELETE_FILES, STATEMENT_DELETE_FILE,
    /* around a trial */
    STATEMENT_CPU, STATEMENT_STARTED, STATEMENT_SESSION_WAITS, STATEMENT_INSTANCE_WAITS,
    STATEMENT_READS, STATEMENT_READS_PLAIN, STATEMENT_FOREIGN_WORK, STATEMENT_MOMENT,
    STATEMENT_FOREIGN_BACKUP,
    STATEMENT_FORMER_WORK,
    /* backups */
    STATEMENT_BACKUP,
    /* trace flags */
    STATEMENT_FLAG_STATUS, STATEMENT_FLAG_ON, STATEMENT_FLAG_OFF, STATEMENT_COMPRESSION_DEFAULT,
    /* snapshots */
    STATEMENT_FILEGROUPS, STATEMENT_RECOVERY, STATEMENT_FOREIGN_SNAPSHOTS,
    STATEMENT_DATA_FILES, STATEMENT_FILE_PATHS, STATEMENT_SNAPSHOT_STATES, STATEMENT_SNAPSHOT_SIZES,
    STATEMENT_SNAPSHOT_SPARSE, STATEMENT_IS_SNAPSHOT, STATEMENT_TABLE, STATEMENT_TABLE_SIZE,
    STATEMENT_TABLE_SIZE_OLD, STATEMENT_CREATE_SNAPSHOT, STATEMENT_SELECT_INTO,
    STATEMENT_DROP_SNAPSHOT, STATEMENT_DROP_TABLE,
    STATEMENT_CUSTOM_DATABASE, STATEMENT_CUSTOM_ROLES, STATEMENT_CUSTOM,
    /* history */
    STATEMENT_LAST_SPEEDS, STATEMENT_ZONE, STATEMENT_HISTORY, STATEMENT_HISTORY_OLD,
    STATEMENT_COUNT
};

/* Who sends a statement: one bit a kind of job, and the check of an instance; and plans, beside what
 * their kind sends before its first trial. */
enum statement_user {
    BY_SWEEP = 1, BY_THROUGHPUT = 2, BY_FLAG = 4, BY_SNAPSHOT = 8, BY_HISTORY = 16, BY_CHECK = 32,
    BY_PLAN = 64,
    BY_BACKUPS = BY_SWEEP | BY_THROUGHPUT | BY_FLAG,
    BY_TRIALS = BY_BACKUPS | BY_SNAPSHOT,
    BY_ALL = BY_TRIALS | BY_HISTORY | BY_CHECK | BY_PLAN
};
/* clang-format on */

/* The text with slots; ? marks stand for bound values. */
const char *statement_text(enum statement statement);

/* True when it changes nothing on the server (it may set options of its own session, or take a lock
 * that ends with it). */
bool statement_only_reads(enum statement statement);

/* True when this user sends it to a server of this version; major -1: to any. */
bool statement_is_for(enum statement statement, unsigned user, int major);

/* The version it is made for; 0: all of them. */
int statement_first_major(enum statement statement);

/* True when the text has slots, so that texts are built from it. */
bool statement_has_slots(enum statement statement);

/* What a slot is held against. */
struct statement_rules {
    const char *const *paths; /* the instance's allow.paths */
    size_t path_count;
};

/* A changed object that a text names: action as in jobs/measure/action.h. */
typedef void statement_on_object(void *ctx, const char *action, const char *object);

/* True when text is the row with every slot filled by what its check takes. on_object (may be
 * NULL) is called for each object on the way, also when the rest does not match. */
bool statement_matches(enum statement statement, const char *text,
                       const struct statement_rules *rules, statement_on_object *on_object,
                       void *ctx);

/* The row with every {database} as this name in brackets. The caller frees it. */
char *statement_in(enum statement statement, const char *database);

/* A text as the server sees it: bound values as @P1, @P2, … The caller frees it. */
char *statement_shown(const char *text);
