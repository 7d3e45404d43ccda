#pragma once
/* What a run found: evidence and the report made from it, as they are stored when the job ends.
 * Called by the worker. */
#include "jobs/kinds/reports.h"
#include "jobs/run.h"

struct findings {
    char *evidence; /* text, heap; NULL: nothing was measured */
    char *report;   /* text, heap; NULL: the same */
    bool regressed; /* against its baseline */
    struct outcome outcome;
};

/* complete: the job ran to its end; else nothing is recommended. left_behind: what could not be
 * cleaned up, array or NULL. Asks the server once more whether the backup chain is as it was. */
struct findings findings_make(struct run *run, bool complete, const cJSON *left_behind);
void findings_fini(struct findings *findings);
