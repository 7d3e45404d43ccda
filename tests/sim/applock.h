/* applock.h: locks that applications name: sp_getapplock, sp_releaseapplock. */
#pragma once

#include "procs.h"

/* One owner's lock on one resource, or its wait for it; guarded by sim->lock. */
struct sim_applock {
    struct sim_applock *next; /* who asked later */
    int db_id;
    char *principal, *resource;
    struct session *session;
    bool of_transaction; /* its owner; else the session */
    unsigned held;       /* modes granted so far, one bit each; they go all at once */
    unsigned wanted;     /* one that is waited for; 0 = none */
    int count;           /* how often it was granted and not released */
};

bool sim_sp_getapplock(struct frame *f, struct parameter *params, int n, int *status);
bool sim_sp_releaseapplock(struct frame *f, struct parameter *params, int n, int *status);
