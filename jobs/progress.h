#pragma once
/* What a running job stores on its way: plan, phase, trials. Each store is one commit that also
 * carries the job row. Called by the worker. */
#include "jobs/run.h"

/* Loads a stored plan and trials (after a resume); nothing when there is none. */
MUST_CHECK int progress_load(struct run *run, struct err *err);

MUST_CHECK int progress_store_plan(struct run *run, struct err *err);
MUST_CHECK int progress_phase(struct run *run, const char *phase, struct err *err);

/* Stores the trial and moves it into run->trials. A cancelled or contaminated one does not count
 * as done. */
MUST_CHECK int progress_store_trial(struct run *run, struct trial *trial, struct err *err);

/* A store_work piece: writes the run's row over the stored one, keeping what others may have
 * changed meanwhile (cancel_asked). Use inside of other works. */
MUST_CHECK int progress_row_work(struct db *db, struct run *run, struct err *err);
