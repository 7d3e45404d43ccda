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
/* The settings as this server takes them: 2005 compresses nothing and knows neither word. */
struct backup_settings backup_fit_server(const struct backup_settings *settings,
                                         const struct server_facts *facts);

/* Every statement that changes something for one such trial and for trying its folders, with {job}
 * and {seq}, appended to the array unless it stands there already. */
void backup_templates(struct run *run, const struct backup_settings *settings, cJSON *statements);

/* Runs it as trial->seq. As job_kind.trial. The files stay until journal_undo. */
MUST_CHECK int backup_trial(struct run *run, const struct backup_settings *settings,
                            struct trial *trial, struct err *err);
