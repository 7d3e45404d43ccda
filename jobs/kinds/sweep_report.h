#pragma once
/* What a sweep's report says beyond the common members: recommendation, curve, Pareto front,
 * confirmation. Pure. */
#include "jobs/kind.h"
#include "jobs/kinds/sweep.h"

/* Index of the sweet spot among the arms of the first target (the default counts as cheapest);
 * -1: no answer. Confirmation arms take no part. */
int sweep_winner(const struct bundle *bundle, const struct analysis *analysis);

/* job_kind.is_answered: the recommended setting is shown to be within the tolerance of all. */
bool sweep_is_answered(const struct bundle *bundle, const struct analysis *analysis);

/* What a recommended arm's figures do not say and its reader must ask or know: array of sentences,
 * often empty (sweep_notes.c). The caller frees it. */
cJSON *sweep_notes(const struct bundle *bundle, const struct analysis *analysis, int arm);

/* job_kind.report */
void sweep_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                  struct outcome *out);
