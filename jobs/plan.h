#pragma once
/* What a job is going to do: its arms, the whole order of trials, and what was found out about
 * the instance when it was made. Stored with the job before the first trial. Pure. */
#include "jobs/measure/design.h"
#include "jobs/measure/guard.h"
#include "jobs/measure/trial.h"

/* What was found out about a database before the first trial. */
struct plan_database {
    int role; /* of its availability replica here: enum guards_role; 0 none or unknown */
    char *name;
    int64_t bytes;      /* an upper bound of what one full backup reads; -1 unknown */
    int64_t data_bytes; /* of the data files: what a snapshot may grow to; -1 unknown */
    cJSON *chain;       /* LSNs (probe_chain), owned; NULL unknown */
};

struct plan {
    struct arm *arms;
    size_t arm_count;
    size_t arm_capacity;
    struct design_step *steps;
    size_t step_count;
    size_t reserved; /* trials that a later phase may add */
    struct server_facts facts;
    bool authenticated; /* the server's certificate was checked */
    bool blind;         /* files cannot be seen: "gone" means nothing */
    bool deletes;       /* whether the server deletes our files (tried before trial 1) */
    struct plan_database *databases; /* every one that an arm names */
    size_t database_count;
    size_t database_capacity;
};

/* A new database by its name, its size unknown, or the one that is there already. Moves the
 * array. */
struct plan_database *plan_add_database(struct plan *plan, const char *name);

/* NULL when the plan does not know it; valid until the next plan_add_database. */
const struct plan_database *plan_database(const struct plan *plan, const char *name);

void plan_fini(struct plan *plan);

/* A new arm, zeroed but for its index, to be filled by the kind. Moves the array. */
struct arm *plan_add_arm(struct plan *plan);

/* Appends the steps of arms first_arm..first_arm+count-1 by the design. */
void plan_add_steps(struct plan *plan, const struct design *design, int first_arm, int count);

cJSON *plan_to_json(const struct plan *plan);
MUST_CHECK int plan_from_json(const cJSON *tree, struct plan *out, struct err *err);
