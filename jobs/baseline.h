#pragma once
/* The earlier job that a job is compared with: `baseline` of its definition (api.md §3). */
#include "jobs/definition.h"
#include "server/store.h"
#include "server/store_rows.h"

/* Inside a store_work, at submit: adds a fault at /baseline when the id names no job, one of
 * another kind, one that has not ended, or one without figures. */
MUST_CHECK int baseline_check(struct db *db, const struct definition *definition,
                              struct json_faults *faults, struct err *err);

/* What the evidence of the job carries of its baseline (jobs/compare.h), the caller's; NULL when
 * the definition asks for none. "latest" is the newest job that has succeeded by now, of the same
 * kind, instance and parameters. A store that cannot be read leaves a warning in the report. */
cJSON *baseline_find(struct store *store, const char *job, const struct definition *definition);
