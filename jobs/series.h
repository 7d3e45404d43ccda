#pragma once
/* The speeds of one instance over many jobs of one kind (GET /v1/trends): points, changes, and
 * where the series begins anew because it is no longer the same thing that is measured. Pure. */
#include "server/json.h"

#include <stddef.h>
#include <stdint.h>

/* One job that succeeded; all borrowed. */
struct series_job {
    const char *id;
    int64_t at;          /* wall ms of its end */
    const cJSON *report; /* as stored */
};

/* {"points", "change_points", "splits"} of jobs in the order of time. A job gives the arm that it
 * recommends, or, where it recommends none, the first baseline of each database. database, target:
 * only these; NULL: all, each database a series of its own. Databases are the same whatever the
 * case of their names (member_is_same_database). The caller deletes it. */
cJSON *series_make(const struct series_job *jobs, size_t count, const char *database,
                   const char *target);
