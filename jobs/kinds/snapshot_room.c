/* Where a trial of snapshot_overhead writes: the source's own files grow with its workload, and
 * the sparse files of its snapshots with every page that is written first. All of their volumes
 * are looked at. */
#include "jobs/kinds/snapshot.h"
#include "jobs/send.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define WHAT "trial"

static void add(struct snapshot_watch *watch, const char *folder, size_t length)
{
    for (size_t i = 0; i < watch->count; i++)
        if (strlen(watch->folders[i]) == length && strncmp(watch->folders[i], folder, length) == 0)
            return;
    watch->folders =
        mem_grow(watch->folders, &watch->capacity, watch->count + 1, sizeof *watch->folders);
    watch->folders[watch->count++] = mem_format("%.*s", (int)length, folder);
}

/* Up to and with the last separator: of "C:\x.mdf" the rest would be no folder without it. */
static size_t folder_length(const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && !strchr("/\\", path[length - 1]))
        length--;
    return length;
}

/* The folders of the database's files, and the location of its snapshots (NULL: none). */
static void find_folders(struct run *run, const char *database, const char *location,
                         struct snapshot_watch *out)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    struct err why = {0};
    *out = (struct snapshot_watch){0};
    if (send_ask(run_session(run), STATEMENT_FILE_PATHS, &value, 1, &rows, &why) == 0) {
        for (size_t i = 0; i < mssql_row_count(rows); i++) {
            const char *path = mssql_text(rows, i, 0);
            if (path)
                add(out, path, folder_length(path));
        }
    }
    mssql_rows_free(rows);
    if (out->count == 0)
        run_warn(run,
                 "free space was not watched where the files of %s lie: they cannot be seen%s%s",
                 database, why.msg[0] ? ": " : "", why.msg);
    if (location)
        add(out, location, strlen(location));
}

static struct room_scope scope_of(const struct snapshot_watch *watch)
{
    return (struct room_scope){
        .folders = (const char *const *)watch->folders, .count = watch->count, .what = WHAT};
}

static void watch_fini(struct snapshot_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        free(watch->folders[i]);
    free(watch->folders);
    *watch = (struct snapshot_watch){0};
}

int snapshot_check_margin(struct run *run, const char *database, struct err *err)
{
    struct snapshot_watch watch;
    find_folders(run, database, NULL, &watch);
    struct room_scope scope = scope_of(&watch);
    int rc = room_check(run, &scope, err);
    watch_fini(&watch);
    return rc;
}

int snapshot_watch_begin(struct run *run, const char *database, const char *location,
                         struct snapshot_watch *out, struct err *err)
{
    find_folders(run, database, location, out);
    struct room_scope scope = scope_of(out);
    int rc = room_watch(run, &scope, &out->room, err);
    if (rc < 0)
        watch_fini(out);
    return rc;
}

struct room_outcome snapshot_watch_end(struct snapshot_watch *watch)
{
    struct room_outcome outcome = room_end(watch->room);
    watch_fini(watch);
    return outcome;
}
