#include "jobs/files.h"
#include "jobs/measure/messages.h"
#include "jobs/measure/tsql.h"
#include "jobs/send.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

static int look(struct run *run, enum statement statement, const char *path, struct err *err)
{
    struct mssql_value value = {.text = path};
    struct mssql_rows *rows = NULL;
    if (send_ask(run_session(run), statement, &value, 1, &rows, err) < 0)
        return -1;
    int64_t there = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    if (there < 0)
        return err_set(err, ERR_REFUSED, 0, "the server did not say whether %s exists", path);
    return there ? 1 : 0;
}

int files_exists(struct run *run, const char *path, struct err *err)
{
    int there = -1;
    if (run->plan.facts.major >= statement_first_major(STATEMENT_FILE_EXISTS))
        there = look(run, STATEMENT_FILE_EXISTS, path, err);
    if (there < 0 && !mssql_is_dead(run_session(run)))
        there = look(run, STATEMENT_FILE_EXISTS_OLD, path, err);
    return there;
}

/* The statement's text with the file's path; the caller frees it. NULL: it cannot be written. */
char *files_deletion(enum statement statement, const char *path)
{
    struct buf batch = {0};
    const char *text = statement_text(statement);
    const char *slot = strchrnul(text, '{');
    buf_add_bytes(&batch, text, (size_t)(slot - text));
    if (tsql_add_text(&batch, path))
        return buf_take(&batch);
    buf_fini(&batch);
    return NULL;
}

/* As a query, which is given up when the server falls silent: nothing cancels a clean-up. What the
 * procedures answer is not to be trusted; xp_delete_file skips what is no whole backup, silently.
 */
static void delete_by(struct run *run, enum statement statement, const char *path, struct err *err)
{
    char *text = files_deletion(statement, path);
    if (text)
        (void)(send_query(run, statement, text, NULL, 0, NULL, err) < 0);
    free(text);
}

/* As files_exists; on a server that does not show files nothing it says counts. */
static int look_again(struct run *run, const char *path, struct err *err)
{
    if (run->plan.blind)
        return err_set(err, ERR_REFUSED, 0, "the server does not show files to this login");
    return files_exists(run, path, err);
}

int files_remove(struct run *run, const char *path, struct err *err)
{
    static const enum statement ways[] = {STATEMENT_DELETE_FILES, STATEMENT_DELETE_FILE};
    if (!tsql_is_own_file(path))
        return err_set(err, ERR_REFUSED, 0, "%s is not named as a file of ours", path);
    struct err why = {0};
    int there = look_again(run, path, &why);
    for (size_t i = 0; i < JSON_COUNT(ways) && there != 0; i++) {
        if (run->plan.facts.major >= 0 && run->plan.facts.major < statement_first_major(ways[i]))
            continue;
        delete_by(run, ways[i], path, &why);
        if (mssql_is_dead(run_session(run)))
            return err_set(err, ERR_UNREACHABLE, why.detail, "delete %s: %s", path, why.msg);
        there = look_again(run, path, &why);
    }
    if (there == 0)
        return 0;
    bool unanswered = why.code == ERR_TIMEOUT || why.code == ERR_CANCELLED; /* says nothing */
    enum err_code code = unanswered ? why.code : ERR_REFUSED;
    if (there < 0)
        return err_set(err, code, why.detail, "whether %s was deleted cannot be seen: %s", path,
                       why.msg);
    return err_set(err, code, why.detail, "%s is still there%s%s", path,
                   why.msg[0] ? ": " : ", and the server named no reason", why.msg);
}

/* Each gives (mount point or drive, free bytes); facts: domain.md 1.8, api of the views. */
static const enum statement space_queries[] = {STATEMENT_ROOM_OF_DRIVES, STATEMENT_ROOM_OF_VOLUMES};

/* How many characters of path the mount point covers; 0 when it is not on it. */
static size_t covers(const char *mount, const char *path)
{
    size_t length = strlen(mount);
    bool windows = tsql_path_is_windows(path);
    int differs = windows ? strncasecmp(mount, path, length) : strncmp(mount, path, length);
    if (length == 0 || differs)
        return 0;
    bool ends = mount[length - 1] == '/' || mount[length - 1] == '\\';
    bool whole = ends || path[length] == '\0' || path[length] == '/' || path[length] == '\\';
    return whole ? length : 0;
}

/* out_mount is borrowed from rows. */
static int64_t free_by(const struct mssql_rows *rows, const char *path, const char **out_mount)
{
    size_t best = 0;
    int64_t bytes = -1;
    for (size_t i = 0; i < mssql_row_count(rows); i++) {
        const char *mount = mssql_text(rows, i, 0);
        size_t length = mount ? covers(mount, path) : 0;
        if (length > best) {
            best = length;
            bytes = mssql_int(rows, i, 1, -1);
            *out_mount = mount;
        }
    }
    return bytes;
}

/* Windows before 2017: drive letter and free MiB. */
static int64_t free_by_fixed_drives(struct mssql *session, const char *path)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* absent or not permitted: not known */
    int64_t bytes = -1;
    if (!tsql_path_is_windows(path) || path[1] != ':' ||
        send_ask(session, STATEMENT_ROOM_OLD, NULL, 0, &rows, &ignored) < 0)
        return -1;
    for (size_t i = 0; i < mssql_row_count(rows); i++) {
        const char *drive = mssql_text(rows, i, 0);
        int64_t mib = mssql_int(rows, i, 1, -1);
        if (drive && strncasecmp(drive, path, 1) == 0 && mib >= 0)
            bytes = mib << 20;
    }
    mssql_rows_free(rows);
    return bytes;
}

int64_t files_free_bytes_seen(struct mssql *session, const char *path, char **out_volume)
{
    int64_t bytes = -1;
    char *volume = NULL;
    for (size_t i = 0; i < JSON_COUNT(space_queries) && bytes < 0; i++) {
        struct mssql_rows *rows = NULL;
        const char *mount = NULL;
        struct err ignored; /* absent on this version or not permitted: ask the next one */
        if (send_ask(session, space_queries[i], NULL, 0, &rows, &ignored) == 0)
            bytes = free_by(rows, path, &mount);
        if (bytes >= 0)
            volume = mem_copy(mount);
        mssql_rows_free(rows);
        if (i == 0 && bytes < 0 && (bytes = free_by_fixed_drives(session, path)) >= 0)
            volume = mem_format("%c:", path[0] & ~0x20); /* D and d are one drive */
    }
    if (out_volume && volume)
        *out_volume = volume;
    else
        free(volume);
    return bytes;
}

int64_t files_free_bytes(struct run *run, const char *path, char **out_volume)
{
    return files_free_bytes_seen(run_session(run), path, out_volume);
}

const char *const files_small_databases[FILES_SMALL_DATABASES] = {"model", "master"};

int files_small_statement(const char *database, const char *path, const char *job, const char *seq,
                          struct buf *out, struct err *err)
{
    char *name = mem_format("sweetspot:%s:%s", job, seq); /* history tells it is ours */
    struct tsql_backup backup = {.database = database,
                                 .devices = &path,
                                 .device_count = 1,
                                 .compression = "default", /* small, and in every version */
                                 .name = name};
    int rc = tsql_backup(&backup, out, err);
    free(name);
    return rc;
}

static void on_message(void *ctx, const struct mssql_message *message)
{
    backup_messages_take(ctx, message->number, message->severity, message->text);
}

/* As with a trial: what did not fail was not written yet, only 3014 says so. */
int files_write_small(struct run *run, const char *path, struct err *err)
{
    int rc = -1;
    for (size_t i = 0; i < FILES_SMALL_DATABASES && rc < 0; i++) {
        struct buf batch = {0};
        struct backup_messages messages = {0};
        rc = files_small_statement(files_small_databases[i], path, run->row.id, "0", &batch, err);
        if (rc == 0)
            rc = send_batch(run, STATEMENT_BACKUP, buf_text(&batch), on_message, &messages, err);
        if (rc == 0 && !backup_messages_ok(&messages, true))
            rc = err_set(err, ERR_REFUSED, messages.error_number,
                         "BACKUP ended without its success message (3014)");
        buf_fini(&batch);
    }
    return rc;
}
