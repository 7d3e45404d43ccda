#pragma once
/* One job against another: the settings that both measured, each as an unpaired comparison of
 * speeds. Databases are the same whatever the case of their names (member_is_same_database), unless
 * a job measured one that is written so, too. Pure. */
#include "jobs/evidence.h"

#define COMPARE_REGRESSED 0.05 /* api.md §4: slower by more than max(tolerance, this) */

/* What the evidence of a later job keeps of `base`, the job it is compared with: the runs of its
 * recommended setting, or of a0 where it recommends none. The caller deletes it. A job without
 * arms gives NULL. */
cJSON *compare_baseline(const struct evidence *base);

/* The same where there is no such job: the report then warns, and says why (a sentence). */
cJSON *compare_no_baseline(const char *why);

/* Sets the report's `baseline` from what compare_baseline gave (NULL or null: nothing is done):
 * the same setting in this job, its ratio, and whether it regressed. Warns where that setting is
 * missing here, or the server is not what it was. Adds a few words to the outcome's summary. */
void compare_add_baseline(const struct bundle *bundle, const struct analysis *analysis,
                          const cJSON *baseline, cJSON *report, struct outcome *outcome);

/* True when the report says that the job regressed against its baseline. */
bool compare_is_regressed(const cJSON *report);

/* The members of GET /v1/compare but for the ids: comparable, reasons, arms. The caller deletes
 * it. Verdicts are by the candidate's confidence and tolerance. */
cJSON *compare_jobs(const struct evidence *base, const struct evidence *candidate);
