#pragma once
/* One BACKUP as a trial: fresh file names, written down before they are made, the statement,
 * its messages by number, what was sampled around it. Shared by every kind that backs up. */
#include "jobs/measure/tsql.h"
#include "jobs/run.h"
#include "server/limits.h"

/* What an arm of a backup kind sends. Texts are borrowed from the arm and the definition. */
struct backup_settings {
    const char *database;
    const char *folders[LIMIT_STRIPES]; /* full paths, or the one "NUL" */
    size_t folder_count;
    int files;               /* stripes, round the folders in turn */
    int64_t buffercount;     /* 0: not sent */
    int64_t maxtransfersize; /* bytes, 0: not sent */
    int64_t blocksize;       /* bytes, 0: not sent */
    const char *compression; /* default, off, on, an algorithm */
    bool tell_peak;          /* the most that its files took goes into trial->peak_bytes */
};

/* Reads an arm's settings (api.md §4 "Arms"); targets: the array that names are looked up in, and
 * extra: one more target (confirm_on) or NULL. False when the target is not there. */
bool backup_settings_read(const cJSON *settings, const cJSON *targets, const cJSON *extra,
                          struct backup_settings *out);

bool backup_is_nul(const struct backup_settings *settings);

/* The statement with job and seq filled in ("{job}" and "{seq}" for a template). out_paths: heap
 * array of settings->files heap paths ("NUL" each for NUL); may be NULL. */
MUST_CHECK int backup_statement(const struct backup_settings *settings, const char *job,
                                const char *seq, struct buf *out, char ***out_paths,
                                struct err *err);
/* The settings as this server takes them: 2005 compresses nothing and knows neither word. */
struct backup_settings backup_fit_server(const struct backup_settings *settings,
                                         const struct server_facts *facts);

/* Every statement that changes something for one such trial and for trying its folders, with {job}
 * and {seq}, appended to the array unless it stands there already. */
void backup_templates(struct run *run, const struct backup_settings *settings, cJSON *statements);
void backup_paths_free(char **paths, int count);

/* Runs it as trial->seq. As job_kind.trial. The files stay until journal_undo. */
MUST_CHECK int backup_trial(struct run *run, const struct backup_settings *settings,
                            struct trial *trial, struct err *err);
