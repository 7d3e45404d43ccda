#pragma once
/* A SQL Server that lives in this process, linked in place of server/mssql: just enough of one that
 * a sweep can run, and told by the test how each BACKUP goes. Threads: any. */
#include "server/mssql.h"

#include <stddef.h>

enum fake_outcome {
    FAKE_OK,
    FAKE_DEADLOCK,  /* error 1205: contaminated */
    FAKE_NO_MEMORY, /* error 701 */
    FAKE_NO_DEVICE, /* error 3201 */
    FAKE_BREAK,     /* the connection breaks; the file stays */
    FAKE_HANG,      /* until it is cancelled */
};

/* Starts with an empty server on which everything goes well. */
void fake_reset(void);

/* Decides how the n-th BACKUP of the measured database goes (from 1, all sessions counted); called
 * in the thread that sends it, before it can be cancelled. NULL: all go well. */
typedef enum fake_outcome fake_on_backup(void *ctx, int n, const char *statement);
void fake_set_on_backup(fake_on_backup *on_backup, void *ctx);

/* Called in the thread that deletes a file, before that is done, while it can be cancelled. */
typedef void fake_on_delete(void *ctx, const char *path);
void fake_set_on_delete(fake_on_delete *on_delete, void *ctx);

/* Logins fail with this code and number; ERR_NONE: they work again. */
void fake_refuse_logins(enum err_code code, int number);
void fake_keep_files(void);   /* deleting does nothing */
void fake_refuse_views(void); /* no right to look at the server's state */
/* The server's available memory from now on; 12000 at first. */
void fake_set_free_memory(int mib);

int fake_backups(void); /* of the measured database, so far */
int fake_logins(void);
int fake_cancels(void);     /* that reached something */
size_t fake_files(void);    /* that exist */
int fake_overwritten(void); /* backups into a file that was there already */
