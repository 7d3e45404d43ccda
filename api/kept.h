#pragma once
/* Answers that were made a moment ago and still hold, since nothing was committed meanwhile: who
 * polls a job that stands still costs no read of the store. At most KEPT_SLOTS of them, none larger
 * than KEPT_BYTES. Threads: any. */
#include "api/etag.h"
#include "jobs/jobs.h"
#include "server/store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define KEPT_SLOTS 256
#define KEPT_BYTES (16 << 10)

/* A job as it is shown; not changed once it was made, and freed with its last holder. */
struct kept {
    atomic_int holders;
    struct store_mark mark; /* taken before the job was read */
    char id[JOB_ID_SIZE];
    bool may_run;           /* its state says so: then only together with what runs now */
    bool runs;              /* a worker has it here */
    struct job_current now; /* when it runs */
    char etag[ETAG_SIZE];
    size_t length;
    char *body;
};

/* Takes body over. The caller holds it. */
struct kept *kept_new(const char *id, char *body);
struct kept *kept_hold(struct kept *kept);
/* The last one frees it. Accepts NULL; void, so that libmicrohttpd can call it. */
void kept_drop(void *what);

struct keeping;
struct keeping *keeping_new(void);
void keeping_free(struct keeping *keeping); /* accepts NULL */

/* What is kept of this job and still holds, which the caller drops; else NULL. */
struct kept *keeping_find(struct keeping *keeping, const struct store *store, const char *id);
/* Keeps it, unless it is too large, instead of what had its slot. */
void keeping_put(struct keeping *keeping, struct kept *kept);
