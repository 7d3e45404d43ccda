#include "server/mssql.h"
#include "server/mem.h"
#include "server/mssql_conf.h"
#include "server/mssql_inner.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static SQLHENV environment; /* set up before threads, gone after them */
static char default_driver[512];

/* Where distributions put FreeTDS's driver, seen from the folder of the driver manager: that
 * folder has the architecture of this process. */
static const char *const driver_files[] = {
    "odbc/libtdsodbc.so", /* Debian, Ubuntu */
    "libtdsodbc.so.0",    /* Fedora, SUSE */
    "libtdsodbc.so",
};

static void find_default_driver(void)
{
    Dl_info manager;
    (void)snprintf(default_driver, sizeof default_driver, "FreeTDS");
    if (dladdr(dlsym(RTLD_DEFAULT, "SQLAllocHandle"), &manager) == 0 || !manager.dli_fname)
        return;
    const char *slash = strrchr(manager.dli_fname, '/');
    if (!slash)
        return;
    int folder = (int)(slash - manager.dli_fname) + 1;
    for (size_t i = 0; i < sizeof driver_files / sizeof driver_files[0]; i++) {
        char *path = mem_format("%.*s%s", folder, manager.dli_fname, driver_files[i]);
        bool found = strlen(path) < sizeof default_driver && access(path, R_OK) == 0;
        if (found)
            (void)snprintf(default_driver, sizeof default_driver, "%s", path);
        free(path);
        if (found)
            return;
    }
}

int mssql_init(const char *conf_dir, struct err *err)
{
    assert(!environment);
    if (mssql_conf_init(conf_dir, err) < 0)
        return -1;
    find_default_driver();
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment)))
        return err_set(err, ERR_SYSTEM, 0, "the ODBC driver manager could not be set up");
    /* version 3 is also what makes the driver report messages result by result */
    if (SQL_SUCCEEDED(
            SQLSetEnvAttr(environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0)))
        return 0;
    mssql_fini();
    return err_set(err, ERR_SYSTEM, 0, "the ODBC driver manager does not know version 3");
}

void mssql_fini(void)
{
    if (environment)
        (void)SQLFreeHandle(SQL_HANDLE_ENV, environment); /* fails only while sessions are open */
    environment = SQL_NULL_HANDLE;
    mssql_conf_fini();
}

SQLHENV mssql_environment(void)
{
    return environment;
}

const char *mssql_default_driver(void)
{
    if (default_driver[0] == '\0')
        find_default_driver();
    return default_driver;
}

void mssql_free(struct mssql *session)
{
    if (session->connection) {
        (void)SQLDisconnect(session->connection); /* fails when it is gone already */
        (void)SQLFreeHandle(SQL_HANDLE_DBC, session->connection);
    }
    wait_fini(&session->changed);
    lock_fini(&session->lock);
    free(session);
}

void mssql_close(struct mssql *session)
{
    if (!session)
        return;
    lock_take(&session->lock);
    session->closed = true;
    bool in_use = session->abandoned;
    lock_drop(&session->lock);
    if (!in_use)
        mssql_free(session);
}

void mssql_set_query_seconds(struct mssql *session, int seconds)
{
    session->query_s = seconds;
    session->stream_s = seconds;
    session->cancel_s = seconds;
}

void mssql_set_batch_seconds(struct mssql *session, int seconds)
{
    session->batch_s = seconds;
}

bool mssql_gave_up(struct mssql *session)
{
    lock_take(&session->lock);
    bool gave_up = session->gave_up;
    lock_drop(&session->lock);
    return gave_up;
}

bool mssql_is_dead(const struct mssql *session)
{
    return atomic_load(&session->dead);
}
