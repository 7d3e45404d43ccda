#pragma once
/* What a throughput report says beyond the common members: per database the read ceiling, what
 * files and drives delivered, and for each target the slower side. Pure. */
#include "jobs/kind.h"

/* job_kind.report */
void throughput_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                       struct outcome *out);
