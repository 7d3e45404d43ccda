#pragma once
/* The results database. One writer thread owns the write connection: every write of every kind
 * goes through its queue, one transaction takes what is there, and every caller is answered after
 * the COMMIT that holds its row (group commit; nobody waits for a batch to fill). Reads use
 * read-only connections. Durable: what was answered survives kill -9 and power loss.
 * Threads: any. */
#include "server/db.h"
#include "server/err.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/* Work inside one transaction (or on one read connection). It uses the operations of
 * store_jobs.h and its neighbours. Returning -1 rolls back this work alone, not its neighbours
 * in the same commit. It must not block, log, or call the store again. */
typedef int store_work(struct db *db, void *arg, struct err *err);

/* Called once by the writer thread after the COMMIT (rc 0) or when the work or the commit failed
 * (rc -1, err filled; err lives during the call only). It must only hand on. */
typedef void store_done(void *ctx, int rc, const struct err *err);

/* Opens "sqlite:PATH" (made, with its folder's lock file, when absent; migrated when older) and
 * starts the writer. Refused with advice: newer than this program, another program's file, damaged
 * (quick_check), on a network file system, already open by a living process (its pid is named). */
MUST_CHECK int store_open(const char *url, struct store **out_store, struct err *err);

/* Writes what is queued, stops the writer, closes. Accepts NULL. */
void store_close(struct store *store);

/* Runs work in the writer's next transaction; returns after its COMMIT. */
MUST_CHECK int store_write(struct store *store, store_work *work, void *arg, struct err *err);

/* The same without waiting: done is called later. work's arg must live until then. */
void store_write_later(struct store *store, store_work *work, void *arg, store_done *done,
                       void *ctx);

/* Runs work on a read connection; sees everything committed before the call. */
MUST_CHECK int store_read(struct store *store, store_work *work, void *arg, struct err *err);

/* The state of the whole store, so that what was read from it can be kept for as long as it holds:
 * mark, then read; while store_is_unchanged the read would give the same. It costs no lock and no
 * call of the system. Commits of ours end it before anybody can read what they change, and none
 * holds that was taken meanwhile; those of store_once end it before they are answered; who else
 * writes into the database (or dies, or is stopped, between its commit and its end) is seen within
 * STORE_MARK_MS, as no mark holds for longer. */
#define STORE_MARK_MS 1000
struct store_mark {
    uint64_t turns;   /* of the writer, until then */
    uint64_t visits;  /* of others: another number after each */
    int64_t until_ns; /* of clock_mono_ns(); 0: it never holds */
};
struct store_mark store_mark(const struct store *store);
bool store_is_unchanged(const struct store *store, const struct store_mark *mark);

/* Calls changed(ctx) in the writer's thread after each commit that changed something; it must only
 * hand on. One may listen at a time; NULL ends it, and after that returns changed is not and will
 * not be called. */
typedef void store_changed(void *ctx);
void store_listen(struct store *store, store_changed *changed, void *ctx);

/* How long commits took, their flush included. */
struct histogram;
const struct histogram *store_commits(struct store *store);

/* False once a write failed for a reason of the disk (I/O error, full): then writes answer
 * ERR_STORE until one succeeds again, and readyz says so. */
bool store_is_healthy(struct store *store);

/* Runs one work in a transaction of its own and returns after its COMMIT, without a store_open: for
 * a command that a person types, also while a daemon has the database open (SQLite's own locks keep
 * the two apart; the lock file only keeps a second daemon away). Makes and migrates the database
 * when that is needed and nobody has it open. The daemon sees what was written with its next read,
 * and its marks end.
 * Errors as store_open, besides those of the work. */
MUST_CHECK int store_once(const char *url, store_work *work, void *arg, struct err *err);
