#pragma once
/* What a run leaves out because enough is known: settings beaten in a race, everything after an
 * early answer, everything once a race's budget is used up. Decided between blocks, from stored
 * trials alone (but for the minutes), so that a resumed job leaves out the same. Called by the
 * worker. */
#include "jobs/measure/rivals.h"

struct run;
struct design_step;

struct looks {
    struct race race;
    int looked;        /* blocks looked at */
    int stopped_after; /* the block after which the answer was known; 0: it is not */
    bool budget_over;  /* of a race */
};

void looks_init(struct looks *looks, size_t arms_max);
void looks_fini(struct looks *looks);

/* To be called before a step of this block is run or left out, in the order of the plan: looks at
 * the blocks that are complete by then. */
void looks_take(struct run *run, int block);

/* True when the step is not run because of what the looks have shown. */
bool looks_leave_out(const struct run *run, const struct design_step *step);

/* Of a race that has data: true when a budget is used up, or when the next trial would not end
 * within limits.minutes. Then nothing more is run, and the job ends with what it has. */
bool looks_budget_is_used(struct run *run);
