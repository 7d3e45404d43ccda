#pragma once
/* One BACKUP as a trial: fresh file names, written down before they are made, the statement,
 * its messages by number, what was sampled around it. Shared by every kind that backs up. */
#include "jobs/backup_settings.h"
#include "jobs/measure/tsql.h"
#include "jobs/run.h"

/* The statement with job and seq filled in ("{job}" and "{seq}" for a template). out_paths: heap
 * array of settings->files heap paths ("NUL" each for NUL); may be NULL; backup_paths_free frees.
 */
MUST_CHECK int backup_statement(const struct backup_settings *settings, const char *job,
                                const char *seq, struct buf *out, char ***out_paths,
                                struct err *err);

/* Runs it as trial->seq. As job_kind.trial. The files stay until journal_undo. */
MUST_CHECK int backup_trial(struct run *run, const struct backup_settings *settings,
                            struct trial *trial, struct err *err);
