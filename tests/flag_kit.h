#pragma once
/* What the tests of trace_flag against the simulator share: how a job is asked for, what goes
 * wrong, and what must hold however it ends. Failures fail the test. */
#include "tests/harness.h"

#define FLAG_FOLDER "/var/opt/mssql/backup"

/* The instance's members that let a job switch 3042 and 3226 and write there. */
#define FLAG_ALLOW                                                                                 \
    "'allow':{'paths':['" FLAG_FOLDER "'],'trace_flags':[3042,3226]},"                             \
    "'limits':{'min_free_disk_mib':1}"

/* rest: what follows the target, with the brace that closes the parameters. */
#define FLAG_JOB(databases, folder, rest)                                                          \
    "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':[" databases                \
    "],'target':{'name':'disk','paths':['" folder "']}" rest "}"

/* Four trials: off, on, on, off. */
#define FLAG_JOB_PAIR FLAG_JOB("'Sales'", FLAG_FOLDER, "},'design':{'repetitions':2,'warmups':0}")

/* sim_fault that must be accepted. */
void flag_fault(struct harness *house, const char *json);

bool flag_is_on(struct harness *house, int flag);

/* No trace flag was changed without -1, every backup was COPY_ONLY, and no file of ours is left. */
void flag_expect_tidy(struct harness *house);
