#include "jobs/peak.h"
#include "jobs/files.h"

struct peak {
    struct mssql *session; /* NULL: nothing can be seen */
    const char *folder;
    int64_t free_before;
    int64_t free_least; /* -1 before the first look */
};

static void look(void *ctx)
{
    struct peak *peak = ctx;
    int64_t free_now = files_free_bytes_seen(peak->session, peak->folder, NULL);
    if (free_now >= 0 && (peak->free_least < 0 || free_now < peak->free_least))
        peak->free_least = free_now;
}

static void begin(struct run *run, const struct backup_settings *settings, struct peak *out)
{
    struct err ignored; /* no second session, no peak: the trial itself goes on */
    *out = (struct peak){.folder = settings->folders[0], .free_least = -1};
    if (settings->folder_count != 1 || backup_is_nul(settings) ||
        run_open_session(run, &out->session, &ignored) < 0)
        return;
    out->free_before = files_free_bytes_seen(out->session, out->folder, NULL);
    if (out->free_before >= 0)
        return;
    mssql_close(out->session);
    out->session = NULL;
}

/* At its end the file has at least the size that the server records. */
static void end(const struct peak *peak, struct trial *trial)
{
    int64_t taken = peak->free_before - peak->free_least;
    if (peak->session && peak->free_least >= 0 && trial->status == TRIAL_OK)
        trial->peak_bytes = taken > trial->file_bytes ? taken : trial->file_bytes;
    mssql_close(peak->session);
}

int peak_trial(struct run *run, const struct backup_settings *settings, struct trial *trial,
               struct err *err)
{
    struct peak peak;
    struct backup_settings watched = *settings;
    begin(run, settings, &peak);
    if (peak.session) {
        watched.on_progress = look;
        watched.progress_ctx = &peak;
    }
    int rc = backup_trial(run, &watched, trial, err);
    end(&peak, trial);
    return rc;
}
