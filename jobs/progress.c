#include "jobs/progress.h"
#include "jobs/member.h"
#include "server/clock.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

int progress_row_work(struct db *db, struct run *run, struct err *err)
{
    struct job_row stored = {0};
    if (store_job_get(db, run->row.id, &stored, err) < 0)
        return -1;
    run->row.version = stored.version;
    run->row.cancel_asked = stored.cancel_asked;
    job_row_fini(&stored);
    run->row.run_ms = run_used_ms(run, clock_mono_ns());
    return store_job_update(db, &run->row, err);
}

struct load_work {
    struct run *run;
    char **documents;
    size_t count;
};

static int load_work(struct db *db, void *arg, struct err *err)
{
    struct load_work *work = arg;
    return store_trial_all(db, work->run->row.id, &work->documents, &work->count, err);
}

static int load_trial(struct run *run, const char *document, struct err *err)
{
    cJSON *tree = NULL;
    struct trial trial;
    if (member_parse_own(document, &tree, err) < 0)
        return err_wrap(err, "a stored trial cannot be read");
    int rc = trial_from_json(tree, &trial, err);
    cJSON_Delete(tree);
    if (rc < 0)
        return err_wrap(err, "a stored trial cannot be read");
    run_add_trial(run, &trial);
    return 0;
}

static int load_plan(struct run *run, struct err *err)
{
    cJSON *tree = NULL;
    if (!run->row.plan)
        return 0;
    if (member_parse_own(run->row.plan, &tree, err) < 0)
        return err_wrap(err, "the stored plan cannot be read");
    plan_fini(&run->plan);
    int rc = plan_from_json(tree, &run->plan, err);
    cJSON_Delete(tree);
    return rc;
}

int progress_load(struct run *run, struct err *err)
{
    struct load_work work = {.run = run};
    if (load_plan(run, err) < 0 || store_read(run->parts->store, load_work, &work, err) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < work.count; i++) {
        if (rc == 0)
            rc = load_trial(run, work.documents[i], err);
        free(work.documents[i]);
    }
    free(work.documents);
    return rc;
}

static int row_work(struct db *db, void *arg, struct err *err)
{
    return progress_row_work(db, arg, err);
}

/* A cancel that was stored before this run was known to the pool is seen here. */
static void heed_cancel(struct run *run)
{
    if (run->row.cancel_asked)
        run_stop(run, RUN_CANCEL);
}

static int save_row(struct run *run, struct err *err)
{
    int rc = store_write(run->parts->store, row_work, run, err);
    heed_cancel(run);
    return rc;
}

int progress_store_plan(struct run *run, struct err *err)
{
    cJSON *tree = plan_to_json(&run->plan);
    free(run->row.plan);
    run->row.plan = json_print(tree);
    cJSON_Delete(tree);
    return save_row(run, err);
}

int progress_phase(struct run *run, const char *phase, struct err *err)
{
    mem_replace(&run->row.phase, phase);
    return save_row(run, err);
}

struct trial_work {
    struct run *run;
    int64_t seq;
    char *document;
    bool answered; /* a backup got through: an outage of the instance is over */
};

static int trial_work(struct db *db, void *arg, struct err *err)
{
    struct trial_work *work = arg;
    if (store_trial_insert(db, work->run->row.id, work->seq, work->document, err) < 0)
        return -1;
    if (work->answered && store_outage_end(db, work->run->row.instance, err) < 0)
        return -1;
    return progress_row_work(db, work->run, err);
}

int progress_store_trial(struct run *run, struct trial *trial, struct err *err)
{
    cJSON *tree = trial_to_json(trial);
    struct trial_work work = {run, trial->seq, json_print(tree), trial->status == TRIAL_OK};
    cJSON_Delete(tree);
    bool done = trial->status == TRIAL_OK || trial->status == TRIAL_FAILED;
    run->row.trials_done += done;
    if (trial->status == TRIAL_OK) { /* the instance answers: the count of tries begins anew */
        run->row.unreachable_since = 0;
        run->row.attempts = 0;
    }
    struct err why = {0};
    int rc = store_write(run->parts->store, trial_work, &work, &why);
    free(work.document);
    if (rc < 0)
        return *err = why, -1;
    heed_cancel(run);
    run_add_trial(run, trial);
    return 0;
}
