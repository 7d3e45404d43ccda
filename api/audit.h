#pragma once
/* The audit trail: who changed what, and when. req_write stores its line in the transaction of the
 * change itself, so there is no change without a line and no line without a change. Which calls
 * leave one, and under which name, stands in one table. Threads: any. */
#include "api/request.h"

/* What a call of this method and route leaves in the trail ("instance.put"); NULL: nothing. */
const char *audit_action(const char *method, const char *path);

/* Calls that take a body and change nothing, so that none is forgotten: "POST /v1/plans". */
bool audit_is_exempt(const char *method, const char *path);

/* For a store_work, after its change: the line of this request. Does nothing for calls that leave
 * none. Handlers that write by req_write need not call it. */
MUST_CHECK int audit_note(struct db *db, const struct req *req, struct err *err);
