#include "jobs/backup.h"
#include "jobs/files.h"
#include "jobs/journal.h"
#include "jobs/measure/messages.h"
#include "jobs/member.h"
#include "jobs/preflight.h"
#include "jobs/room.h"
#include "jobs/send.h"
#include "server/clock.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WITH_COMPRESSION 10 /* SQL Server 2008 */

static char **make_paths(const struct backup_settings *settings, const char *job, const char *seq)
{
    char **paths = mem_alloc((size_t)settings->files, sizeof *paths);
    for (int i = 0; i < settings->files; i++) {
        const char *folder = settings->folders[(size_t)i % settings->folder_count];
        paths[i] =
            backup_is_nul(settings) ? mem_copy("NUL") : tsql_backup_path(folder, job, seq, i + 1);
    }
    return paths;
}

int backup_statement(const struct backup_settings *settings, const char *job, const char *seq,
                     struct buf *out, char ***out_paths, struct err *err)
{
    char **paths = make_paths(settings, job, seq);
    char *name = mem_format("sweetspot:%s:%s", job, seq);
    struct tsql_backup backup = {.database = settings->database,
                                 .devices = (const char *const *)paths,
                                 .device_count = (size_t)settings->files,
                                 .buffercount = settings->buffercount,
                                 .maxtransfersize = settings->maxtransfersize,
                                 .blocksize = settings->blocksize,
                                 .compression = settings->compression,
                                 .name = name};
    int rc = tsql_backup(&backup, out, err);
    free(name);
    if (rc == 0 && out_paths)
        *out_paths = paths;
    else
        backup_paths_free(paths, settings->files);
    return rc;
}

/* The files must be new: nothing that somebody else made is ever written to. */
static int reserve_files(struct run *run, const struct backup_settings *settings, char **paths,
                         struct err *err)
{
    if (backup_is_nul(settings))
        return 0;
    if (preflight_space(run, settings, 1, err) < 0)
        return -1;
    for (int i = 0; i < settings->files; i++)
        if (files_exists(run, paths[i], err) == 1)
            return err_set(err, ERR_REFUSED, 0, "%s exists already; nothing was written", paths[i]);
    if (mssql_is_dead(run_session(run)))
        return -1;
    return journal_files(run, (const char *const *)paths, (size_t)settings->files, err);
}

struct listener {
    struct run *run;
    struct room *room; /* NULL: nobody looks on */
    struct backup_messages messages;
};

static void on_message(void *ctx, const struct mssql_message *message)
{
    struct listener *listener = ctx;
    backup_messages_take(&listener->messages, message->number, message->severity, message->text);
    atomic_store(&listener->run->current_percent, listener->messages.percent);
    if (message->number == MESSAGE_PROGRESS)
        room_progress(listener->room);
}

/* What the messages said, into the trial. */
static void read_messages(const struct backup_messages *messages, struct trial *trial)
{
    const struct backup_line *line = &messages->line;
    if (!messages->success_seen)
        return;
    trial->pages = line->pages;
    trial->bytes = line->pages * 8192;
    trial->server_s = line->seconds;
    if (!line->consistent)
        trial_note(trial, "the printed rate does not fit the printed pages and seconds");
}

static void fail(struct trial *trial, enum trial_status status, int number, const char *text)
{
    trial->status = status;
    trial->error_number = number;
    mem_replace(&trial->error_text, text);
    mem_replace(&trial->error_step, "backup");
}

/* Decides what a failed BACKUP means: for this arm, for this trial, or for the whole run. */
static int judge_failure(struct trial *trial, const struct backup_messages *messages,
                         const struct err *why, struct err *err)
{
    int number = messages->error_number ? messages->error_number : why->detail;
    const char *text = messages->error_number ? messages->error_text : why->msg;
    *err = *why;
    if (why->code == ERR_CANCELLED) {
        fail(trial, TRIAL_CANCELLED, number, text);
        return -1;
    }
    if (why->code != ERR_SQL)
        return -1;
    if (message_is_passing(number)) {
        fail(trial, TRIAL_CONTAMINATED, number, text);
        return 0;
    }
    fail(trial, TRIAL_FAILED, number, text);
    if (message_is_refusal(number) || message_is_hopeless(number))
        return err_set(err, ERR_SQL, number, "%s", text);
    return 0;
}

/* What was seen of the room: a backup that was cancelled for it failed, and the run goes on, also
 * when the connection ended with it. Not when the server ignored the cancel: the backup may still
 * run then, and its file must not be touched yet. */
static int judge_room(struct run *run, const struct room_outcome *room, struct trial *trial, int rc,
                      const struct err *err)
{
    bool ended = err->code == ERR_CANCELLED ||
                 (err->code == ERR_UNREACHABLE && !mssql_gave_up(run_session(run)));
    if (rc == 0 || !room->cancelled || !ended || (enum run_stop)atomic_load(&run->stop) != RUN_GO)
        return rc;
    fail(trial, TRIAL_FAILED, 0, room->text);
    return 0;
}

/* At its end the files have at least the size that the server records. */
static void settle_peak(struct trial *trial)
{
    if (trial->status != TRIAL_OK)
        trial->peak_bytes = -1;
    else if (trial->peak_bytes >= 0 && trial->peak_bytes < trial->file_bytes)
        trial->peak_bytes = trial->file_bytes;
}

/* Size of the backup as msdb records it; unknown (-1) without the right to read it. */
static int64_t recorded_bytes(struct run *run, const struct backup_settings *settings, int64_t seq)
{
    char *name = mem_format("sweetspot:%s:%" PRId64, run->row.id, seq);
    struct mssql_value values[] = {{.text = name}, {.text = settings->database}};
    struct mssql_rows *rows = NULL;
    struct err why = {0};
    int64_t bytes = -1;
    if (!run->no_history &&
        send_ask(run_session(run), STATEMENT_RECORDED_SIZE, values, 2, &rows, &why) == 0)
        bytes = mssql_int(rows, 0, 0, mssql_int(rows, 0, 1, -1));
    else if (why.code == ERR_SQL && message_is_absence(why.detail))
        run->no_history = true;
    mssql_rows_free(rows);
    free(name);
    return bytes;
}

/* Nobody looks on where nothing is written. */
static int watch_room(struct run *run, const struct backup_settings *settings, struct room **out,
                      struct err *err)
{
    size_t files = (size_t)settings->files;
    struct room_scope scope = {.folders = settings->folders,
                               .count =
                                   settings->folder_count < files ? settings->folder_count : files,
                               .what = "backup",
                               .tell_peak = settings->tell_peak};
    *out = NULL;
    return backup_is_nul(settings) ? 0 : room_watch(run, &scope, out, err);
}

static int execute(struct run *run, const struct backup_settings *settings, const char *statement,
                   struct trial *trial, struct err *err)
{
    const char *database = settings->database;
    struct listener listener = {.run = run};
    struct probe_sample before;
    struct probe_sample after;
    struct err why = {0};
    if (watch_room(run, settings, &listener.room, err) < 0)
        return -1;
    probe_take(&run->probe, run_session(run), database, &before);
    int rc = run_go_on(run, err);
    if (rc < 0) {
        (void)room_end(listener.room);
        probe_sample_fini(&before);
        return -1;
    }
    trial->started_at = clock_wall_ms();
    int64_t start_ns = clock_mono_ns();
    rc = send_batch(run, STATEMENT_BACKUP, statement, on_message, &listener, &why);
    trial->elapsed_s = (double)(clock_mono_ns() - start_ns) / 1e9;
    struct room_outcome room = room_end(listener.room);
    trial->peak_bytes = room.taken_most;
    read_messages(&listener.messages, trial);
    if (rc < 0) {
        rc = judge_failure(trial, &listener.messages, &why, err);
        rc = judge_room(run, &room, trial, rc, err);
    } else if (!backup_messages_ok(&listener.messages, true))
        fail(trial, TRIAL_FAILED, listener.messages.error_number,
             "BACKUP ended without its success message (3014)");
    else
        trial->status = TRIAL_OK;
    probe_take(&run->probe, run_session(run), database, &after);
    probe_judge(&run->probe, &before, &after, trial);
    probe_sample_fini(&before);
    probe_sample_fini(&after);
    return rc;
}

/* "off" is what SQL Server 2005 does anyhow. */
struct backup_settings backup_fit_server(const struct backup_settings *settings,
                                         const struct server_facts *facts)
{
    struct backup_settings fit = *settings;
    if (facts->major > 0 && facts->major < FIRST_WITH_COMPRESSION &&
        strcmp(fit.compression, "off") == 0)
        fit.compression = "default";
    return fit;
}

int backup_trial(struct run *run, const struct backup_settings *asked, struct trial *trial,
                 struct err *err)
{
    struct backup_settings fit = backup_fit_server(asked, &run->plan.facts);
    const struct backup_settings *settings = &fit;
    struct buf statement = {0};
    char **paths = NULL;
    char *seq = mem_format("%" PRId64, trial->seq);
    int rc = backup_statement(settings, run->row.id, seq, &statement, &paths, err);
    if (rc == 0)
        rc = reserve_files(run, settings, paths, err);
    if (rc == 0)
        rc = execute(run, settings, buf_text(&statement), trial, err);
    if (rc == 0 && trial->status != TRIAL_FAILED)
        trial->file_bytes = backup_is_nul(settings) ? 0 : recorded_bytes(run, settings, trial->seq);
    settle_peak(trial);
    free(seq);
    backup_paths_free(paths, settings->files);
    buf_fini(&statement);
    return rc;
}
