#include "jobs/preflight.h"
#include "jobs/files.h"
#include "jobs/journal.h"
#include "jobs/measure/guards.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)

/* Bytes that `trials` backups put into one folder: stripes are spread evenly. */
static int64_t needed_in(const struct backup_settings *settings, int64_t bytes, size_t folder,
                         int64_t trials)
{
    size_t files = (size_t)settings->files;
    size_t here = files / settings->folder_count + (folder < files % settings->folder_count);
    return bytes / settings->files * (int64_t)here * trials;
}

/* A volume that backups go to, and what all folders on it take together. */
struct need {
    const char *path; /* its first folder, for people */
    char *volume;     /* NULL: not known; then it is taken for a volume of its own */
    int64_t free_bytes;
    int64_t bytes;
    bool unknown_size;
};

static int look_at_volume(struct run *run, const char *path, int64_t bytes, struct need *out,
                          struct err *err)
{
    *out = (struct need){.path = path};
    out->free_bytes = files_free_bytes(run, path, &out->volume);
    if (out->free_bytes < 0 && mssql_is_dead(run_session(run)))
        return err_set(err, ERR_UNREACHABLE, 0, "the connection was lost while looking at %s",
                       path);
    if (out->free_bytes < 0 && run->definition.assume_free_mib >= 0)
        out->free_bytes = run->definition.assume_free_mib * MIB;
    out->unknown_size = bytes < 0;
    return 0;
}

/* The need of the same volume among the first `count`, or a new one. */
static struct need *need_of(struct need *needs, size_t *count, struct need *seen)
{
    for (size_t i = 0; i < *count; i++)
        if (needs[i].volume && seen->volume && strcmp(needs[i].volume, seen->volume) == 0) {
            free(seen->volume);
            return &needs[i];
        }
    needs[*count] = *seen;
    return &needs[(*count)++];
}

/* preallocated: what a compressed backup asks for at once, all its stripes together. */
static int check_need(const struct run *run, const struct need *need, int64_t preallocated,
                      int64_t trials, struct err *err)
{
    struct guards_input input = GUARDS_INPUT;
    input.moment = GUARDS_PREFLIGHT;
    input.name = need->path;
    input.writes = true;
    input.free_bytes = need->free_bytes;
    input.bytes = need->unknown_size ? -1 : need->bytes;
    input.preallocated_bytes = preallocated;
    input.backups = trials;
    input.margin_mib = run->limits.min_free_disk_mib;
    struct guards_answer answer = guards_judge(&input);
    return answer.verdict == GUARDS_REFUSE ? err_set(err, ERR_REFUSED, 0, "%s", answer.text) : 0;
}

/* About a third of the database (domain.md 5), when it may be compressed; stripes share it. */
static int64_t preallocated_bytes(const struct run *run, const struct backup_settings *settings,
                                  size_t volumes)
{
    int64_t data = preflight_data_bytes(run, settings->database);
    bool plain = strcmp(settings->compression, "off") == 0;
    return plain || data < 0 || volumes == 0 ? 0 : data / 3 / (int64_t)volumes;
}

int preflight_space(struct run *run, const struct backup_settings *settings, int64_t trials,
                    struct err *err)
{
    struct need needs[LIMIT_STRIPES];
    int64_t bytes = preflight_bytes(run, settings->database);
    size_t count = 0;
    int rc = 0;
    if (backup_is_nul(settings))
        return 0;
    for (size_t i = 0; i < settings->folder_count && i < (size_t)settings->files && rc == 0; i++) {
        struct need seen;
        rc = look_at_volume(run, settings->folders[i], bytes, &seen, err);
        need_of(needs, &count, &seen)->bytes += needed_in(settings, bytes, i, trials);
    }
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_need(run, &needs[i], preallocated_bytes(run, settings, count), trials, err);
    for (size_t i = 0; i < count; i++)
        free(needs[i].volume);
    return rc;
}

int preflight_deletion(struct run *run, const char *folder, struct err *err)
{
    if (run->looks_only)
        return 0;
    char *path = tsql_backup_path(folder, run->row.id, "0", 1);
    struct err why = {0};
    int rc = journal_files(run, (const char *const *)&path, 1, err);
    if (rc == 0 && files_write_small(run, path, &why) < 0) {
        run_warn(run, "a small test file could not be written to %s: %s", folder, why.msg);
        run->plan.deletes = false;
    } else if (rc == 0 && files_exists(run, path, &why) != 1) {
        /* xp_fileexist may say 0 to who is no sysadmin: then "gone" would mean nothing */
        run_warn(run, "whether files exist in %s cannot be seen, so deleting cannot be checked",
                 folder);
        run->plan.blind = !mssql_is_dead(run_session(run));
        run->plan.deletes = false;
    } else if (rc == 0 && files_remove(run, path, &why) < 0) {
        run_warn(run, "the server does not delete our files: %s", why.msg);
        run->plan.deletes = false;
    }
    if (rc == 0 && mssql_is_dead(run_session(run))) /* says nothing about deleting: try again */
        rc = err_set(err, ERR_UNREACHABLE, why.detail, "try to delete a file: %s", why.msg);
    if (rc == 0)
        rc = journal_undo(run, err);
    free(path);
    return rc;
}

int preflight_budget(struct run *run, int64_t read_bytes, int64_t written_bytes, struct err *err)
{
    const struct {
        const char *name;
        int64_t limit_mib, bytes;
    } budgets[] = {{"read_mib", run->limits.read_mib, read_bytes},
                   {"written_mib", run->limits.written_mib, written_bytes}};
    run->estimate = (struct run_estimate){read_bytes / MIB, written_bytes / MIB};
    if (run->definition.design.race)
        return 0; /* it need not run to its last block: budgets end it */
    for (size_t i = 0; i < JSON_COUNT(budgets); i++)
        if (budgets[i].bytes / MIB > budgets[i].limit_mib)
            return err_set(err, ERR_REFUSED, 0,
                           "all trials together may need %" PRId64
                           " MiB, and the limit %s is %" PRId64,
                           budgets[i].bytes / MIB, budgets[i].name, budgets[i].limit_mib);
    return 0;
}
