#include "tests/fake_mssql.h"
#include "server/mem.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 1000
#define CELLS_MAX 6

struct mssql {
    bool running, cancelled, dead; /* guarded by the server's lock */
};

struct mssql_rows {
    size_t row_count, column_count;
    char *cells[CELLS_MAX];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *files[FILES_MAX];
    size_t file_count;
    int backups, logins, cancels, overwritten;
    enum err_code login_code;
    int login_number;
    int free_memory_mib; /* 0: as in the table */
    bool keeps_files, refuses_views;
    fake_on_backup *on_backup;
    void *backup_ctx;
    fake_on_delete *on_delete;
    void *delete_ctx;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void take(void)
{
    (void)pthread_mutex_lock(&server.lock);
}

static void drop(void)
{
    (void)pthread_mutex_unlock(&server.lock);
}

/* --- what tests ask and say ---------------------------------------------------------------- */

void fake_reset(void)
{
    take();
    for (size_t i = 0; i < server.file_count; i++)
        free(server.files[i]);
    server.file_count = 0;
    server.backups = server.logins = server.cancels = server.overwritten = 0;
    server.login_code = ERR_NONE;
    server.keeps_files = server.refuses_views = false;
    server.free_memory_mib = 0;
    server.on_backup = NULL;
    server.on_delete = NULL;
    drop();
}

void fake_set_on_backup(fake_on_backup *on_backup, void *ctx)
{
    take();
    server.on_backup = on_backup;
    server.backup_ctx = ctx;
    drop();
}

void fake_set_on_delete(fake_on_delete *on_delete, void *ctx)
{
    take();
    server.on_delete = on_delete;
    server.delete_ctx = ctx;
    drop();
}

void fake_refuse_logins(enum err_code code, int number)
{
    take();
    server.login_code = code;
    server.login_number = number;
    drop();
}

void fake_keep_files(void)
{
    take();
    server.keeps_files = true;
    drop();
}

void fake_refuse_views(void)
{
    take();
    server.refuses_views = true;
    drop();
}

void fake_set_free_memory(int mib)
{
    take();
    server.free_memory_mib = mib;
    drop();
}

static int read_number(const int *number)
{
    take();
    int value = *number;
    drop();
    return value;
}

int fake_backups(void)
{
    return read_number(&server.backups);
}

int fake_logins(void)
{
    return read_number(&server.logins);
}

int fake_cancels(void)
{
    return read_number(&server.cancels);
}

int fake_overwritten(void)
{
    return read_number(&server.overwritten);
}

size_t fake_files(void)
{
    take();
    size_t count = server.file_count;
    drop();
    return count;
}

/* --- files; all under the lock ------------------------------------------------------------- */

static size_t find_file(const char *path)
{
    size_t at = 0;
    while (at < server.file_count && strcmp(server.files[at], path) != 0)
        at++;
    return at;
}

static void add_file(const char *start, size_t length)
{
    char *path = mem_format("%.*s", (int)length, start);
    if (strcmp(path, "NUL") == 0 || server.file_count == FILES_MAX) {
        free(path);
    } else if (find_file(path) < server.file_count) {
        server.overwritten++;
        free(path);
    } else {
        server.files[server.file_count++] = path;
    }
}

static void add_files_of(const char *statement)
{
    for (const char *at = statement; (at = strstr(at, "DISK = N'"));) {
        at += strlen("DISK = N'");
        const char *end = strchr(at, '\'');
        add_file(at, (size_t)(end - at));
        at = end;
    }
}

static void delete_file(const char *path)
{
    size_t at = find_file(path);
    if (at == server.file_count || server.keeps_files)
        return;
    free(server.files[at]);
    server.files[at] = server.files[--server.file_count];
}

/* --- sessions ------------------------------------------------------------------------------ */

int mssql_init(const char *conf_dir, struct err *err)
{
    (void)conf_dir;
    (void)err;
    return 0;
}

void mssql_fini(void)
{
}

const char *mssql_default_driver(void)
{
    return "fake";
}

int mssql_open(const struct mssql_target *target, struct mssql **out_session, struct err *err)
{
    take();
    server.logins++;
    enum err_code code = server.login_code;
    int number = server.login_number;
    drop();
    if (code != ERR_NONE)
        return err_set(err, code, number, "the login at %s failed", target->host);
    *out_session = mem_alloc(1, sizeof **out_session);
    return 0;
}

void mssql_close(struct mssql *session)
{
    free(session);
}

void mssql_cancel(struct mssql *session)
{
    take();
    if (session->running) {
        session->cancelled = true;
        server.cancels++;
        (void)pthread_cond_broadcast(&server.changed);
    }
    drop();
}

void mssql_set_query_seconds(struct mssql *session, int seconds)
{
    (void)session;
    (void)seconds;
}

void mssql_set_batch_seconds(struct mssql *session, int seconds)
{
    (void)session;
    (void)seconds;
}

bool mssql_gave_up(struct mssql *session)
{
    (void)session;
    return false;
}

bool mssql_is_dead(const struct mssql *session)
{
    take();
    bool dead = session->dead;
    drop();
    return dead;
}

/* --- statements ---------------------------------------------------------------------------- */

static void say(mssql_on_message *on_message, void *ctx, int number, int severity, const char *text)
{
    struct mssql_message message = {number, severity, text};
    if (on_message)
        on_message(ctx, &message);
}

static int refuse(mssql_on_message *on_message, void *ctx, int number, struct err *err)
{
    say(on_message, ctx, number, 16, "it was refused");
    say(on_message, ctx, 3013, 16, "BACKUP DATABASE is terminating abnormally.");
    return err_set(err, ERR_SQL, number, "it was refused");
}

static int break_session(struct mssql *session, struct err *err)
{
    take();
    session->dead = true;
    drop();
    return err_set(err, ERR_UNREACHABLE, 0, "the connection to SQL Server broke");
}

static int hang(struct mssql *session, struct err *err)
{
    take();
    session->running = true;
    session->cancelled = false;
    while (!session->cancelled)
        (void)pthread_cond_wait(&server.changed, &server.lock);
    session->running = false;
    drop();
    return err_set(err, ERR_CANCELLED, 0, "the request was cancelled");
}

int mssql_execute(struct mssql *session, const char *batch, mssql_on_message *on_message, void *ctx,
                  struct err *err)
{
    bool measured = strncmp(batch, "BACKUP DATABASE [Sales]", 23) == 0;
    enum fake_outcome outcome = FAKE_OK;
    take();
    int n = measured ? ++server.backups : 0;
    fake_on_backup *on_backup = server.on_backup;
    void *backup_ctx = server.backup_ctx;
    drop();
    if (measured && on_backup)
        outcome = on_backup(backup_ctx, n, batch);
    take();
    if (outcome != FAKE_NO_DEVICE)
        add_files_of(batch);
    drop();
    switch (outcome) {
    case FAKE_OK:
        say(on_message, ctx, 3211, 0, "100 percent processed.");
        say(on_message, ctx, 3014, 0,
            "BACKUP DATABASE successfully processed 131072 pages in 1.000 seconds "
            "(1024.000 MB/sec).");
        return 0;
    case FAKE_DEADLOCK:
        return refuse(on_message, ctx, 1205, err);
    case FAKE_NO_MEMORY:
        return refuse(on_message, ctx, 701, err);
    case FAKE_NO_DEVICE:
        return refuse(on_message, ctx, 3201, err);
    case FAKE_BREAK:
        return break_session(session, err);
    case FAKE_HANG:
        return hang(session, err);
    }
    return 0;
}

/* What a query gives: one row of texts, ended by NULL; "-" is NULL. A first text of "0" under
 * `rows`: no row at all. */
static const struct answer {
    const char *words; /* in the query */
    bool is_view;      /* needs the right to look at the server's state */
    const char *cells[CELLS_MAX + 1];
} answers[] = {
    {"sp_getapplock", false, {"0", NULL}},
    {"sp_releaseapplock", false, {NULL}},
    {"SERVERPROPERTY('ProductVersion')",
     false,
     {"16.0.4100.1", "3", "Developer", "1", "HOST", "Microsoft SQL Server on Linux", NULL}},
    {"dm_os_sys_memory", true, {"12000", NULL}}, /* unless the test says otherwise */
    {"physical_memory_kb", true, {"8", "16000", NULL}},
    {"host_platform", true, {"Linux", NULL}},
    {"FROM sys.databases WHERE name", false, {"0", "-", NULL}},
    {"THEN CONVERT(bigint, f.size)", false, {"1073741824", "8388608", "0", NULL}},
    {"Log File(s) Used Size", true, {"0", NULL}},
    {"differential_base_lsn", false, {"5", NULL}},
    {"last_log_backup_lsn", true, {"7", NULL}},
    {"dm_os_enumerate_fixed_drives", false, {"/", "1000000000000", NULL}},
    {"process_kernel_time_ms", true, {"100", "8", NULL}},
    {"sqlserver_start_time", true, {"2026-01-01", NULL}},
    {"dm_exec_session_wait_stats", true, {NULL}},
    {"dm_exec_requests", true, {NULL}},
    {"msdb.dbo.backupset", false, {"1000000", "2000000", NULL}},
};

static struct mssql_rows *rows_of(const char *const *cells)
{
    struct mssql_rows *rows = mem_alloc(1, sizeof *rows);
    while (cells[rows->column_count]) {
        const char *cell = cells[rows->column_count];
        rows->cells[rows->column_count++] = strcmp(cell, "-") == 0 ? NULL : mem_copy(cell);
    }
    rows->row_count = rows->column_count > 0;
    return rows;
}

static int answer(const char *const *cells, struct mssql_rows **out_rows)
{
    if (out_rows)
        *out_rows = rows_of(cells);
    return 0;
}

static int delete_by_query(struct mssql *session, const char *path, struct mssql_rows **out_rows,
                           struct err *err)
{
    static const char *const none[] = {NULL};
    take();
    session->running = true;
    session->cancelled = false;
    fake_on_delete *on_delete = server.on_delete;
    void *ctx = server.delete_ctx;
    drop();
    if (on_delete)
        on_delete(ctx, path);
    take();
    session->running = false;
    bool cancelled = session->cancelled;
    if (!cancelled)
        delete_file(path);
    drop();
    if (cancelled)
        return err_set(err, ERR_CANCELLED, 0, "the request was cancelled");
    return answer(none, out_rows);
}

/* The path stands in the statement, between N' and '. */
static int delete_by_statement(struct mssql *session, const char *sql, struct mssql_rows **out_rows,
                               struct err *err)
{
    const char *path = strstr(sql, "N'") + 2;
    char *text = mem_format("%.*s", (int)strcspn(path, "'"), path);
    int rc = delete_by_query(session, text, out_rows, err);
    free(text);
    return rc;
}

int mssql_query(struct mssql *session, const char *sql, const struct mssql_value *values,
                size_t value_count, struct mssql_rows **out_rows, struct err *err)
{
    static const char *const yes[] = {"1", NULL};
    static const char *const no[] = {"0", NULL};
    if (mssql_is_dead(session))
        return err_set(err, ERR_UNREACHABLE, 0, "the connection to SQL Server was lost before");
    if (strstr(sql, "xp_delete_files"))
        return delete_by_statement(session, sql, out_rows, err);
    if (strstr(sql, "dm_os_file_exists") && value_count == 1) {
        take();
        bool there = find_file(values[0].text) < server.file_count;
        drop();
        return answer(there ? yes : no, out_rows);
    }
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (!strstr(sql, answers[i].words))
            continue;
        take();
        bool refused = server.refuses_views && answers[i].is_view;
        int memory_mib = server.free_memory_mib;
        drop();
        if (strstr(sql, "dm_os_sys_memory") && memory_mib > 0) {
            char text[16];
            (void)snprintf(text, sizeof text, "%d", memory_mib);
            return answer((const char *const[]){text, NULL}, out_rows);
        }
        if (refused)
            return err_set(err, ERR_SQL, 300, "VIEW SERVER STATE permission was denied");
        return answer(answers[i].cells, out_rows);
    }
    return err_set(err, ERR_SQL, 208, "Invalid object name");
}

/* Nobody ever made a backup here. */
int mssql_stream(struct mssql *session, const char *sql, const struct mssql_value *values,
                 size_t value_count, mssql_on_row *on_row, void *ctx, struct err *err)
{
    (void)sql;
    (void)values;
    (void)value_count;
    (void)on_row;
    (void)ctx;
    if (mssql_is_dead(session))
        return err_set(err, ERR_UNREACHABLE, 0, "the connection to SQL Server was lost before");
    return 0;
}

size_t mssql_row_count(const struct mssql_rows *rows)
{
    return rows->row_count;
}

size_t mssql_column_count(const struct mssql_rows *rows)
{
    return rows->column_count;
}

const char *mssql_text(const struct mssql_rows *rows, size_t row, size_t column)
{
    return row < rows->row_count && column < rows->column_count ? rows->cells[column] : NULL;
}

int64_t mssql_int(const struct mssql_rows *rows, size_t row, size_t column, int64_t missing)
{
    const char *text = mssql_text(rows, row, column);
    return text ? strtoll(text, NULL, 10) : missing;
}

double mssql_real(const struct mssql_rows *rows, size_t row, size_t column)
{
    const char *text = mssql_text(rows, row, column);
    return text ? strtod(text, NULL) : NAN;
}

void mssql_rows_free(struct mssql_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; i < rows->column_count; i++)
        free(rows->cells[i]);
    free(rows);
}
