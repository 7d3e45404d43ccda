#pragma once
/* What tests of a whole sweep share: bodies that read well, and questions to its results and to
 * what it left on the simulator. Failures fail the test. */
#include "tests/harness.h"

/* A body for POST /v1/jobs; parameters begin after the database. */
#define SWEEP_OF(instance, database, parameters, rest)                                             \
    "{'kind':'backup_sweep','instance':'" instance "','parameters':{'database':'" database         \
    "'" parameters "}" rest "}"
#define SWEEP(parameters, rest) SWEEP_OF("sql01", "Sales", parameters, rest)

/* The default and one other setting, once each and nothing else: the shortest sweep. */
#define SHORT ",'design':{'repetitions':1,'warmups':0,'order':'sequential','max_repetitions':2}"

/* Below this folder the simulator's default scenario lets backups be written. */
#define ALLOW "'allow':{'paths':['/var/opt/mssql/backup']},'limits':{'min_free_disk_mib':1}"
#define TO_DISK ",'targets':[{'name':'disk','paths':['/var/opt/mssql/backup']}]"

/* Submits, waits for the end, frees the id unless out_id takes it; the job. */
cJSON *sweep_run(struct harness *house, const char *body, char **out_id);

/* The same, and the state must be this. */
cJSON *sweep_run_to(struct harness *house, const char *body, const char *state, char **out_id);

/* PUT /v1/instances/NAME for any port; the status must be `status`. */
void sweep_register(struct harness *house, const char *name, int port, const char *extra,
                    int status);

cJSON *sweep_report_of(struct harness *house, const char *id);
cJSON *sweep_trials_of(struct harness *house, const char *id); /* at most 500, as a list answer */

/* How many trials have this status; arm may be NULL for any. */
int sweep_count(const cJSON *trials, const char *arm, const char *status);

/* The report's arm with this label. */
const cJSON *sweep_arm(const cJSON *report, const char *label);

void sweep_fault(struct sim *sim, const char *fault);

/* Files named by us that are on the simulator. */
int sweep_files_left(struct sim *sim);

/* Nothing of ours is on the simulator: no file, no trace flag. */
void sweep_nothing_left(struct sim *sim);

/* Every statement that begins with the prefix contains (or does not contain) the text. */
void sweep_all_say(struct sim *sim, const char *prefix, const char *text);
void sweep_none_says(struct sim *sim, const char *prefix, const char *text);

/* True when the text of the job's error contains this. */
bool sweep_error_says(const cJSON *job, const char *text);
