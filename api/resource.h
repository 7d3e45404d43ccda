#pragma once
/* What instances and webhooks share: documents that are stored as text under a name and changed
 * by PUT and DELETE under preconditions. Threads: any. */
#include "api/etag.h"
#include "api/left.h"
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
    bool stale;       /* out: the precondition did not hold: 412 */
    bool created;     /* out, of a PUT */
    struct left left; /* of instances */
};

/* One kind of such documents; both functions are for a store_work. */
struct resource_kind {
    const char *word; /* as in "no instance has this name" */
    /* The stored ETag; -1 with ERR_NOT_FOUND when there is none of this name. */
    int (*etag)(struct db *db, const char *name, char out[ETAG_SIZE], struct err *err);
    /* As store_instance_delete. */
    int (*delete)(struct db *db, const char *name, int64_t if_version, struct err *err);
    /* Members that GET shows beyond the definition but for the name; NULL at the end. */
    const char *const *shown;
    bool is_left_on; /* jobs may leave something there: a refused change names it (left.h) */
};

/* Before a PUT's body is read: what GET shows beyond the definition may come back, so that whoever
 * reads, changes a member and writes need not know which members are ours; it is left out. A `name`
 * that is not the path's is a fault. */
void resource_drop_shown(cJSON *tree, const struct resource_kind *kind, const char *name,
                         struct json_faults *faults);

/* For a store_work: holds the change against what is stored under name, when the change asks for
 * it; returns -1 with ERR_CONFLICT and sets stale when it must not be made. */
MUST_CHECK int resource_check(struct db *db, const struct resource_kind *kind, const char *name,
                              struct resource_change *change, struct err *err);

/* Answers 404: none of this kind has the name. */
void resource_unknown(struct req *req, const struct resource_kind *kind);

/* DELETE of the one that the path names; kind must last as long as the daemon. */
void resource_delete(struct req *req, const struct resource_kind *kind);

/* Answers what a write came to when rc is -1; change->left.text is then the request's to free. */
void resource_failed(struct req *req, const struct resource_change *change, const struct err *err);
