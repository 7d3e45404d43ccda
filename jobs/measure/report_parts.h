#pragma once
/* What the files that make a report share. Pure. */
#include "jobs/measure/report.h"

/* Adds the warnings that follow from the trials themselves, worst first. */
void report_add_warnings(cJSON *report, const struct bundle *bundle,
                         const struct analysis *analysis);

/* The highest block that a counted trial ran in: how many blocks there really were. */
int report_block_count(const struct bundle *bundle);
