#pragma once
/* What the files of the journal share; nobody else includes this. */
#include "jobs/journal.h"
#include "server/store_rows.h"

/* A store_work with this arg lists intents; journal_list_fini frees the rows. */
struct list_work {
    const char *job;      /* of this job, or (NULL) ... */
    const char *instance; /* ... of all jobs of this instance */
    const char *state;    /* NULL: all of the job, all that is not undone of the instance */
    struct intent_row *rows;
    size_t count;
};
int journal_list_work(struct db *db, void *arg, struct err *err);
void journal_list_fini(struct list_work *work);

/* The `cleanup` that intents come to: "none", "pending", "done" or "failed". */
const char *journal_cleanup_of(const struct intent_row *rows, size_t count);

/* A store_work with arg char * (a job's id): an ended job says itself that it was cleaned up after
 * its end; others say so when they run. */
int journal_tell_work(struct db *db, void *arg, struct err *err);
