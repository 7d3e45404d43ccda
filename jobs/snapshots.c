#include "jobs/snapshots.h"
#include "jobs/measure/own_name.h"
#include "jobs/measure/tsql_text.h"
#include "jobs/send.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A drop waits for what reads the snapshot; each try gives up after LIMIT_QUERY_S of silence. */
#define DROP_TRIES 3

/* --- the source's files --------------------------------------------------------------------- */

void snapshot_files_fini(struct snapshot_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].name);
    free(files->items);
    *files = (struct snapshot_files){0};
}

int snapshot_files_read(struct run *run, const char *database, struct snapshot_files *out,
                        struct err *err)
{
    struct mssql_value value = {.text = database};
    struct mssql_rows *rows = NULL;
    if (send_ask(run_session(run), STATEMENT_DATA_FILES, &value, 1, &rows, err) < 0)
        return err_wrap(err, "list the data files");
    struct snapshot_files files = {.items = mem_alloc(mssql_row_count(rows), sizeof *files.items)};
    for (size_t i = 0; i < mssql_row_count(rows); i++)
        files.items[files.count++] = (struct snapshot_file){
            .name = mem_copy(mssql_text(rows, i, 0)), .id = mssql_int(rows, i, 1, -1)};
    mssql_rows_free(rows);
    if (files.count == 0) {
        snapshot_files_fini(&files);
        return err_set(err, ERR_REFUSED, 0,
                       "the data files of %s are not visible; grant VIEW ANY DEFINITION, or "
                       "CREATE ANY DATABASE, which snapshots need too",
                       database);
    }
    *out = files;
    return 0;
}

/* --- making --------------------------------------------------------------------------------- */

char *snapshot_name(const char *job, const char *seq, int number)
{
    return mem_format(OWN_NAME_PREFIX "%s_%s_%d", job, seq, number);
}

bool snapshot_is_own(const char *name)
{
    return own_name_matches(name, OWN_SNAPSHOT_NUMBERS);
}

/* The file id makes it unique where two data files share a base name. */
static char *path_of(const struct snapshot_order *order, const struct snapshot_file *file)
{
    size_t length = strlen(order->folder);
    while (length > 0 && strchr("/\\", order->folder[length - 1]))
        length--;
    return mem_format("%.*s%c" OWN_NAME_PREFIX "%s_%s_%d_%" PRId64 ".ss", (int)length,
                      order->folder, tsql_path_is_windows(order->folder) ? '\\' : '/', order->job,
                      order->seq, order->number, file->id);
}

static bool add_file(const struct snapshot_order *order, const struct snapshot_file *file,
                     struct buf *text)
{
    size_t utf16 = 0;
    char *path = path_of(order, file);
    buf_add(text, "(NAME = ");
    bool good = file->name && tsql_add_name(text, file->name);
    buf_add(text, ", FILENAME = ");
    good = good && tsql_path_is_full(path) && tsql_text_is_clean(path, &utf16) &&
           utf16 <= LIMIT_PATH_UTF16 && tsql_add_text(text, path);
    buf_add(text, ")");
    free(path);
    return good;
}

int snapshot_statement(const struct snapshot_order *order, struct buf *out, struct err *err)
{
    struct buf text = {0};
    char *name = snapshot_name(order->job, order->seq, order->number);
    buf_add(&text, "CREATE DATABASE ");
    bool good = tsql_add_name(&text, name);
    buf_add(&text, " ON ");
    for (size_t i = 0; i < order->files->count && good; i++) {
        buf_add(&text, i > 0 ? ", " : "");
        good = add_file(order, &order->files->items[i], &text);
    }
    buf_add(&text, " AS SNAPSHOT OF ");
    good = good && tsql_add_name(&text, order->database);
    free(name);
    if (good)
        return tsql_finish(&text, out, err);
    buf_fini(&text);
    return err_set(
        err, ERR_INPUT, 0,
        "a snapshot of %s in %s cannot be written down: a name or a path is too long, or "
        "holds control characters",
        order->database, order->folder);
}

int snapshot_create(struct run *run, const struct snapshot_order *order, double *out_s,
                    struct err *err)
{
    struct buf batch = {0};
    char *name = snapshot_name(order->job, order->seq, order->number);
    int rc = snapshot_statement(order, &batch, err);
    if (rc == 0)
        rc = journal_write(run, JOURNAL_SNAPSHOT, name, NULL, err);
    if (rc == 0)
        rc = run_go_on(run, err);
    if (rc == 0) {
        int64_t start_ns = clock_mono_ns();
        rc = send_batch(run, STATEMENT_CREATE_SNAPSHOT, buf_text(&batch), NULL, NULL, err);
        *out_s = (double)(clock_mono_ns() - start_ns) / 1e9;
    }
    free(name);
    buf_fini(&batch);
    return rc;
}

/* --- looking -------------------------------------------------------------------------------- */

void snapshot_state_fini(struct snapshot_state *state)
{
    free(state->suspect);
    *state = (struct snapshot_state){0};
}

/* -1 when the view cannot be had. */
static int64_t ask_number(struct run *run, enum statement statement, const char *pattern)
{
    struct mssql_value value = {.text = pattern};
    struct mssql_rows *rows = NULL;
    struct err ignored; /* absent or not permitted: not known */
    int64_t number = -1;
    if (!mssql_is_dead(run_session(run)) &&
        send_ask(run_session(run), statement, &value, 1, &rows, &ignored) == 0)
        number = mssql_int(rows, 0, 0, -1);
    mssql_rows_free(rows);
    return number;
}

static void judge_states(const struct mssql_rows *rows, struct snapshot_state *out)
{
    for (size_t i = 0; i < mssql_row_count(rows); i++) {
        const char *name = mssql_text(rows, i, 0);
        if (!name || !snapshot_is_own(name)) /* _ in a pattern is any character */
            continue;
        if (mssql_int(rows, i, 1, 0) == 0)
            out->online++;
        else
            mem_replace(&out->suspect, name);
    }
}

int snapshot_look(struct run *run, const char *seq, struct snapshot_state *out, struct err *err)
{
    char *pattern = mem_format(OWN_NAME_PREFIX "%s_%s_%%", run->row.id, seq);
    struct mssql_value value = {.text = pattern};
    struct mssql_rows *rows = NULL;
    int rc = send_ask(run_session(run), STATEMENT_SNAPSHOT_STATES, &value, 1, &rows, err);
    if (rc == 0) {
        *out = (struct snapshot_state){0};
        judge_states(rows, out);
        out->bytes = ask_number(run, STATEMENT_SNAPSHOT_SIZES, pattern);
        out->every_file_sparse = ask_number(run, STATEMENT_SNAPSHOT_SPARSE, pattern) != 0;
    }
    mssql_rows_free(rows);
    free(pattern);
    return rc;
}

/* --- dropping ------------------------------------------------------------------------------- */

/* 1: our snapshot is there, 0: nothing of this name is. ERR_REFUSED when it is no snapshot. */
static int look_for(struct run *run, const char *name, struct err *err)
{
    struct mssql_value value = {.text = name};
    struct mssql_rows *rows = NULL;
    if (send_ask(run_session(run), STATEMENT_IS_SNAPSHOT, &value, 1, &rows, err) < 0)
        return -1;
    bool there = mssql_row_count(rows) > 0;
    bool is_snapshot = there && mssql_text(rows, 0, 0);
    mssql_rows_free(rows);
    if (there && !is_snapshot)
        return err_set(err, ERR_REFUSED, 0, "%s is a database and no snapshot; it was not touched",
                       name);
    return there;
}

bool snapshot_drop_statement(const char *name, struct buf *out)
{
    buf_add(out, "DROP DATABASE ");
    return tsql_add_name(out, name);
}

int snapshot_undo(struct run *run, const struct intent_row *intent, struct err *err)
{
    const char *name = intent->object;
    struct err why = {0};
    struct buf batch = {0};
    if (!snapshot_is_own(name))
        return err_set(err, ERR_REFUSED, 0, "%s is not named as a snapshot of ours", name);
    bool named = snapshot_drop_statement(name, &batch);
    int there = look_for(run, name, err);
    for (int i = 0; i < DROP_TRIES && named && there > 0; i++) {
        bool refused =
            send_query(run, STATEMENT_DROP_SNAPSHOT, buf_text(&batch), NULL, 0, NULL, &why) < 0 &&
            why.code == ERR_SQL;
        there = mssql_is_dead(run_session(run)) ? err_set(err, why.code, why.detail, "%s", why.msg)
                                                : look_for(run, name, err);
        if (refused)
            break; /* it would say the same again */
    }
    buf_fini(&batch);
    bool unanswered = why.code == ERR_TIMEOUT || why.code == ERR_CANCELLED;
    if (there > 0) /* silence is no answer: it is tried again later */
        return err_set(err, unanswered ? ERR_UNREACHABLE : ERR_REFUSED, why.detail,
                       "%s is still there%s%s", name, why.msg[0] ? ": " : "", why.msg);
    if (there < 0 && err->code == ERR_TIMEOUT)
        err->code = ERR_UNREACHABLE;
    return there;
}
