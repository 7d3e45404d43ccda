#pragma once
/* What is looked at on the server right before a trial, in one statement where the server has the
 * views for it: other people's work, and whether the database is still what it was when the job
 * was prepared. The worker's thread. */
#include "jobs/measure/guards.h"
#include "jobs/run.h"

struct moment {
    char foreign[64];      /* the command of somebody else's work; "": none, or it cannot be seen */
    enum guards_role role; /* of the database here; GUARDS_ROLE_NONE also when it is not known */
    int64_t state;         /* sys.databases.state; -1 unknown */
};

/* database may be NULL. What cannot be seen stays unknown. */
void moment_look(struct run *run, const char *database, struct moment *out);

/* sys.dm_hadr_availability_replica_states.role */
enum guards_role moment_role(int64_t number);
