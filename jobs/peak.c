#include "jobs/peak.h"
#include "jobs/files.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

/* A volume that stripes go to. */
struct peak_volume {
    const char *folder; /* by which it is asked for */
    char *name;         /* heap */
    int64_t free_before;
};

struct peak {
    struct mssql *session; /* NULL: nothing can be seen */
    struct peak_volume volumes[LIMIT_STRIPES];
    size_t count;
    int64_t taken_most; /* -1 before the first look */
};

/* What all volumes together have given away since the beginning; -1 when one cannot be seen. */
static int64_t taken_now(const struct peak *peak)
{
    int64_t taken = 0;
    for (size_t i = 0; i < peak->count; i++) {
        int64_t free_now = files_free_bytes_seen(peak->session, peak->volumes[i].folder, NULL);
        if (free_now < 0)
            return -1;
        taken += peak->volumes[i].free_before - free_now;
    }
    return taken;
}

static void look(void *ctx)
{
    struct peak *peak = ctx;
    int64_t taken = taken_now(peak);
    if (taken > peak->taken_most)
        peak->taken_most = taken;
}

/* False when the folder's volume cannot be seen, or told from those of other folders. */
static bool add_volume(struct peak *peak, const char *folder, bool alone)
{
    struct peak_volume volume = {.folder = folder};
    volume.free_before = files_free_bytes_seen(peak->session, folder, &volume.name);
    if (volume.free_before < 0 || (!volume.name && !alone)) {
        free(volume.name);
        return false;
    }
    for (size_t i = 0; i < peak->count; i++)
        if (strcmp(peak->volumes[i].name, volume.name) == 0) {
            free(volume.name);
            return true;
        }
    peak->volumes[peak->count++] = volume;
    return true;
}

static void close_session(struct peak *peak)
{
    for (size_t i = 0; i < peak->count; i++)
        free(peak->volumes[i].name);
    mssql_close(peak->session);
    peak->session = NULL;
    peak->count = 0;
}

static void begin(struct run *run, const struct backup_settings *settings, struct peak *out)
{
    struct err ignored; /* no second session, no peak: the trial itself goes on */
    *out = (struct peak){.taken_most = -1};
    if (backup_is_nul(settings) || run_open_session(run, &out->session, &ignored) < 0)
        return;
    bool seen = true;
    for (size_t i = 0; i < settings->folder_count && i < (size_t)settings->files && seen; i++)
        seen = add_volume(out, settings->folders[i], settings->folder_count == 1);
    if (!seen)
        close_session(out);
}

/* At its end the files have at least the size that the server records. */
static void end(struct peak *peak, struct trial *trial)
{
    int64_t taken = peak->taken_most;
    if (peak->session && taken >= 0 && trial->status == TRIAL_OK)
        trial->peak_bytes = taken > trial->file_bytes ? taken : trial->file_bytes;
    close_session(peak);
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
