#pragma once
/* What jobs left on an instance, held against a change that would forget it: a DELETE, or a PUT of
 * another server under the name. Threads: any. */
#include "api/request.h"
#include "server/store_rows.h"

/* Lives in the request's memory. */
struct left {
    bool forget; /* the caller says that what the server refused to undo is to be forgotten */
    char *text;  /* owned: what is left, for a refusal; NULL: nothing */
};

/* Reads ?forget=; answers 400 and returns -1 when it is not "true". */
MUST_CHECK int left_read(struct req *req, struct left *out);
void left_fini(struct left *left);

/* For a store_work, before the guard of the change: what the server once refused to undo is not
 * tried any more, when the caller says so. Rolled back with the change. */
MUST_CHECK int left_forget(struct db *db, const struct left *left, const char *instance,
                           struct err *err);

/* For a store_work whose change was refused (err, which stays): fills the text. */
void left_note(struct db *db, struct left *left, const char *instance);

/* Answers a change that was refused: err, then what is left and how to go on. */
void left_answer(struct req *req, const struct left *left, const struct err *err);
