#pragma once
/* What instances and webhooks share: documents that are stored as text under a name and changed
 * by PUT and DELETE under preconditions. Threads: any. */
#include "api/etag.h"
#include "api/request.h"

/* {"name": …, then the members of definition}; the caller adds the rest. */
cJSON *resource_new(const char *name, const char *definition);

/* Adds a time as RFC 3339, null for 0. */
void resource_add_time(cJSON *tree, const char *name, int64_t wall_ms);

/* If-Match and If-None-Match of a PUT or DELETE. */
struct precondition resource_precondition(struct req *req);

/* What the work of a PUT or DELETE needs besides its row. */
struct resource_change {
    struct precondition wanted;
    bool stale;   /* out: the precondition did not hold: 412 */
    bool created; /* out, of a PUT */
};

/* For a store_work: holds the change against the ETag found (NULL: none); returns -1 with
 * ERR_CONFLICT and sets stale when it must not be made. */
MUST_CHECK int resource_check(struct resource_change *change, const char *etag, struct err *err);

/* Answers what a write came to when rc is -1. */
void resource_failed(struct req *req, const struct resource_change *change, const struct err *err);
