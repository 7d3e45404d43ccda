#pragma once
/* What the tests of snapshot_overhead against the simulator share. Failures fail the test. */
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/harness.h"

#define ROWS "40"
#define PLACES "'locations':[{'name':'disk','path':'/var/opt/mssql/backup'}]"
#define SELECT_INTO "'workload':{'select_into':{'source':'Sales.Big','rows':" ROWS "}}"

/* A job on a database in SIMPLE recovery. */
#define SNAPSHOTS(parameters, rest)                                                                \
    "{'kind':'snapshot_overhead','instance':'sql01','parameters':{" parameters "}" rest "}"
#define ON_ADVENTURE "'database':'AdventureWorks'," SELECT_INTO

#define LINUX_ALLOW                                                                                \
    "'allow':{'paths':['/var/opt/mssql/backup','/tmp']},'limits':{'min_free_disk_mib':1}"
#define ONCE ",'design':{'repetitions':1,'warmups':0}"

#define MEASURED "succeeded or inconclusive" /* where nobody asks what the figures say */

/* A simulator with Sales.Big in AdventureWorks, registered with these further members. */
struct harness *house_of(const char *scenario, const char *allow);

/* Sales.Big with a few rows in this database, whose name is written as T-SQL. */
void make_source(struct harness *house, const char *database);

void inject(struct harness *house, const char *fault);

/* To be freed with cJSON_Delete. */
cJSON *report_of(struct harness *house, const char *id);
cJSON *trials_of(struct harness *house, const char *id);
bool warns(const cJSON *report, const char *words);

/* Submits a tree as it is; the id, to be freed. */
char *submit_tree(struct harness *house, const cJSON *tree);

/* No file of ours is on the server; no snapshot, file or table is. */
void expect_no_files(struct harness *house);
void expect_clean(struct harness *house, const char *database);

/* The job at its end, which is this one, with this clean-up and nothing of ours left. */
cJSON *expect_end(struct harness *house, const char *id, const char *wanted, const char *cleanup);

/* Runs one job to this end and asks whether its JSON holds these words. */
void expect_job(struct harness *house, const char *body, const char *wanted, const char *cleanup,
                const char *words);
