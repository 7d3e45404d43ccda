#pragma once
/* What a report of backup_history says beyond the common members: the series, and what was left
 * out. Pure. */
#include "jobs/kind.h"

/* job_kind.report */
void history_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                    struct outcome *out);
