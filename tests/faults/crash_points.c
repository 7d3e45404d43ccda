/* A point before and after each statement a worker sends, within a BACKUP when it speaks, and
 * before, in and after each of a worker's commits. At the chosen one the process kills itself. */
#include "tests/faults/crash_points.h"
#include "server/mssql.h"
#include "server/store.h"
#include "server/store_rows.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROGRESS 3211 /* comes often; the other messages are points enough */

/* The linker's names: wrapped ones are called in place of the real ones. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
int __real_mssql_open(const struct mssql_target *target, struct mssql **out, struct err *err);
int __real_mssql_execute(struct mssql *session, const char *batch, mssql_on_message *on_message,
                         void *ctx, struct err *err);
int __real_mssql_query(struct mssql *session, const char *sql, const struct mssql_value *values,
                       size_t count, struct mssql_rows **out, struct err *err);
int __real_mssql_stream(struct mssql *session, const char *sql, const struct mssql_value *values,
                        size_t count, mssql_on_row *on_row, void *ctx, struct err *err);
int __real_store_write(struct store *store, store_work *work, void *arg, struct err *err);
int __real_store_intent_insert(struct db *db, const struct intent_row *row, struct err *err);
int __real_store_intent_close(struct db *db, const char *id, const char *state, const char *detail,
                              struct err *err);
int __wrap_mssql_open(const struct mssql_target *target, struct mssql **out, struct err *err);
int __wrap_mssql_execute(struct mssql *session, const char *batch, mssql_on_message *on_message,
                         void *ctx, struct err *err);
int __wrap_mssql_query(struct mssql *session, const char *sql, const struct mssql_value *values,
                       size_t count, struct mssql_rows **out, struct err *err);
int __wrap_mssql_stream(struct mssql *session, const char *sql, const struct mssql_value *values,
                        size_t count, mssql_on_row *on_row, void *ctx, struct err *err);
int __wrap_store_write(struct store *store, store_work *work, void *arg, struct err *err);
int __wrap_store_intent_insert(struct db *db, const struct intent_row *row, struct err *err);
int __wrap_store_intent_close(struct db *db, const char *id, const char *state, const char *detail,
                              struct err *err);

static struct crash_points *shared; /* NULL: nobody counts */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void map(void)
{
    const char *path = getenv("SWEETSPOT_DRILL");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    shared = at == MAP_FAILED ? NULL : at;
    (void)close(fd);
}

static bool is_worker(void)
{
    char name[16] = "";
    (void)pthread_getname_np(pthread_self(), name, sizeof name);
    return strncmp(name, "worker-", 7) == 0;
}

static void pass(const char *when, const char *what)
{
    (void)pthread_once(&once, map);
    if (!shared)
        return;
    int64_t number = atomic_fetch_add(&shared->count, 1) + 1;
    if (number != atomic_load(&shared->crash_at))
        return;
    (void)snprintf(shared->last, sizeof shared->last, "%s %s", when, what);
    (void)raise(SIGKILL);
    for (;;)
        (void)pause();
}

static void point(const char *when, const char *what)
{
    if (is_worker())
        pass(when, what);
}

int __wrap_mssql_open(const struct mssql_target *target, struct mssql **out, struct err *err)
{
    point("before", "a login");
    int rc = __real_mssql_open(target, out, err);
    point("after", "a login");
    return rc;
}

struct listener {
    mssql_on_message *on_message;
    void *ctx;
    const char *batch;
};

static void hear(void *ctx, const struct mssql_message *message)
{
    const struct listener *listener = ctx;
    if (message->number != PROGRESS)
        point("within", listener->batch);
    listener->on_message(listener->ctx, message);
}

int __wrap_mssql_execute(struct mssql *session, const char *batch, mssql_on_message *on_message,
                         void *ctx, struct err *err)
{
    struct listener listener = {on_message, ctx, batch};
    point("before", batch);
    int rc = __real_mssql_execute(session, batch, on_message ? hear : NULL, &listener, err);
    point("after", batch);
    return rc;
}

int __wrap_mssql_query(struct mssql *session, const char *sql, const struct mssql_value *values,
                       size_t count, struct mssql_rows **out, struct err *err)
{
    point("before", sql);
    int rc = __real_mssql_query(session, sql, values, count, out, err);
    point("after", sql);
    return rc;
}

int __wrap_mssql_stream(struct mssql *session, const char *sql, const struct mssql_value *values,
                        size_t count, mssql_on_row *on_row, void *ctx, struct err *err)
{
    point("before", sql);
    int rc = __real_mssql_stream(session, sql, values, count, on_row, ctx, err);
    point("after", sql);
    return rc;
}

int __wrap_store_write(struct store *store, store_work *work, void *arg, struct err *err)
{
    point("before", "a commit");
    int rc = __real_store_write(store, work, arg, err);
    point("after", "a commit");
    return rc;
}

/* In the store's own thread, with the transaction open; only a job's worker asks for these. */
int __wrap_store_intent_insert(struct db *db, const struct intent_row *row, struct err *err)
{
    int rc = __real_store_intent_insert(db, row, err);
    pass("in the commit of", row->object);
    return rc;
}

int __wrap_store_intent_close(struct db *db, const char *id, const char *state, const char *detail,
                              struct err *err)
{
    int rc = __real_store_intent_close(db, id, state, detail, err);
    pass("in the commit of", state);
    return rc;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
