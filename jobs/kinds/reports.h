#pragma once
/* The reports of all kinds, by name. Apart from the kinds themselves, which talk to servers:
 * whoever analyses a bundle again needs this half alone. Pure. */
#include "jobs/measure/report.h"
#include "jobs/state.h"

/* How a job ended, as its kind judges it. */
struct outcome {
    enum job_state state; /* JOB_SUCCEEDED or JOB_INCONCLUSIVE */
    char *summary;        /* one line for people, heap */
};

/* Adds the kind's members to the report and judges. */
typedef void kind_report(const struct bundle *bundle, const struct analysis *analysis,
                         cJSON *report, struct outcome *out);

/* NULL when there is no such kind. */
kind_report *kind_report_of(const char *kind);
