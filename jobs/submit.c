#include "jobs/baseline.h"
#include "jobs/definition.h"
#include "jobs/event.h"
#include "jobs/inside.h"
#include "jobs/jobs.h"
#include "jobs/kind.h"
#include "jobs/measure/guards.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void submission_fini(struct submission *submission)
{
    job_row_fini(&submission->row);
    free(submission->key);
    free(submission->fingerprint);
    *submission = (struct submission){0};
}

/* --- what only the store knows ------------------------------------------------------------- */

struct look {
    const struct definition *definition;
    struct json_faults *faults;
    struct instance instance;
    bool found;
};

static int look_at_webhooks(struct db *db, struct look *look, struct err *err)
{
    size_t index = 0;
    const cJSON *name;
    cJSON_ArrayForEach(name, look->definition->notify) {
        struct webhook_row row = {0};
        const char *at = json_pointer_index("/notify", index++);
        if (!cJSON_IsString(name) || !instance_name_is_valid(name->valuestring))
            continue; /* definition_read told it */
        if (store_webhook_get(db, name->valuestring, &row, err) == 0)
            webhook_row_fini(&row);
        else if (err->code == ERR_NOT_FOUND)
            json_fault_add(look->faults, at, "there is no webhook of this name");
        else
            return -1;
    }
    return 0;
}

static int look_work(struct db *db, void *arg, struct err *err)
{
    struct look *look = arg;
    struct instance_row row = {0};
    if (look->definition->instance) {
        if (store_instance_get(db, look->definition->instance, &row, err) == 0) {
            int rc = instance_load(row.definition, &look->instance, err);
            instance_row_fini(&row);
            look->found = rc == 0;
            if (rc < 0)
                return -1;
        } else if (err->code == ERR_NOT_FOUND) {
            json_fault_add(look->faults, "/instance", "there is no instance of this name");
        } else {
            return -1;
        }
    }
    if (baseline_check(db, look->definition, look->faults, err) < 0)
        return -1;
    return look_at_webhooks(db, look, err);
}

/* api.md §2: a production instance needs consent and at least one window. */
static int check_production(const struct definition *definition, const struct instance *instance,
                            struct err *err)
{
    const cJSON *windows = instance->windows;
    struct guards_input input = GUARDS_INPUT;
    input.moment = GUARDS_SUBMIT;
    input.name = definition->instance;
    input.production = instance_is_production(instance);
    input.confirmed = definition->confirm_production;
    /* a text: only "always" passes the check of instances */
    input.has_windows = cJSON_IsString(windows) || cJSON_GetArraySize(windows) > 0;
    struct guards_answer answer = guards_judge(&input);
    return answer.verdict == GUARDS_REFUSE ? err_set(err, ERR_CONFLICT, 0, "%s", answer.text) : 0;
}

/* api.md §3: the member of the definition that needs the scope admin; NULL: none does. */
static const char *admin_only(const struct definition *definition)
{
    const struct job_kind *kind = definition->kind;
    if (definition->ignore_windows)
        return "ignore_windows";
    return kind->runs_custom_sql && kind->runs_custom_sql(definition) ? "parameters.workload.sql"
                                                                      : NULL;
}

static void fill_row(const struct definition *definition, struct job_row *row)
{
    char id[IDS_TEXT_SIZE];
    cJSON *tree = definition_to_json(definition);
    int64_t now = clock_wall_ms();
    bool later = definition->not_before > now;
    assert(definition->kind); /* no fault was found */
    *row = (struct job_row){
        .id = mem_copy(ids_new(id)),
        .kind = mem_copy(definition->kind_name),
        .instance = mem_copy(definition->instance),
        .state = mem_copy(job_state_name(later ? JOB_WAITING : JOB_QUEUED)),
        .state_reason = mem_copy(later ? "not_before" : NULL),
        .cleanup = mem_copy("none"),
        .priority = definition->priority,
        .not_before = definition->not_before,
        .deadline = definition->deadline,
        .exclusive = definition->kind->exclusive,
        .ignores_windows = definition->ignore_windows,
        .created_at = now,
        .requested_by = mem_copy(definition->requested_by),
        .definition = json_print(tree),
    };
    cJSON_Delete(tree);
}

int jobs_check(struct jobs *jobs, const cJSON *body, struct submission *out,
               struct json_faults *faults, struct err *err)
{
    struct definition definition;
    (void)(definition_read(body, &definition, faults) < 0); /* all faults are told at once */
    struct look look = {.definition = &definition, .faults = faults};
    int rc = store_read(jobs->parts.store, look_work, &look, err);
    if (rc == 0 && definition.kind && definition.parameters && look.found)
        definition.kind->check(&definition, &look.instance, faults);
    if (rc == 0 && faults->count > 0)
        rc = err_set(err, ERR_INPUT, 0, "the job has %zu fault%s", faults->count,
                     faults->count == 1 ? "" : "s");
    if (rc == 0) {
        fill_row(&definition, &out->row);
        out->admin_only = admin_only(&definition);
    }
    if (rc == 0)
        rc = check_production(&definition, &look.instance, err);
    if (look.found)
        instance_fini(&look.instance);
    return rc;
}

/* --- storing ------------------------------------------------------------------------------- */

/* The key is known: its job is the answer, unless the body differs. */
static int replay(struct db *db, struct submission *submission, const char *job,
                  const char *fingerprint, struct err *err)
{
    if (strcmp(fingerprint, submission->fingerprint) != 0)
        return err_set(err, ERR_REFUSED, 0,
                       "this Idempotency-Key was used with another request for job %s", job);
    job_row_fini(&submission->row);
    submission->replayed = true;
    return store_job_get(db, job, &submission->row, err);
}

int jobs_insert_work(struct db *db, void *arg, struct err *err)
{
    struct submission *submission = arg;
    struct job_row *row = &submission->row;
    struct instance_row instance = {0};
    if (submission->key) {
        char *job = NULL;
        char *fingerprint = NULL;
        int64_t now = clock_wall_ms();
        int rc = store_key_expire(db, now - (int64_t)LIMIT_IDEMPOTENCY_DAYS * 86400000, err);
        if (rc == 0)
            rc = store_key_claim(db, submission->key, submission->fingerprint, row->id, now, &job,
                                 &fingerprint, err);
        bool is_new = rc == 1;
        if (rc == 0)
            rc = replay(db, submission, job, fingerprint, err);
        free(job);
        free(fingerprint);
        if (!is_new)
            return rc;
    }
    if (store_instance_get(db, row->instance, &instance, err) < 0)
        return -1; /* it was there when the job was checked */
    instance_row_fini(&instance);
    return store_job_insert(db, row, err);
}

/* --- cancelling ---------------------------------------------------------------------------- */

int jobs_cancel_work(struct db *db, void *arg, struct err *err)
{
    struct cancellation *cancellation = arg;
    struct job_row *row = &cancellation->row;
    int64_t now = clock_wall_ms();
    if (store_job_get(db, cancellation->id, row, err) < 0)
        return -1;
    if (job_is_done(row))
        return err_set(err, ERR_CONFLICT, 0, "the job has ended already: %s", row->state);
    row->cancel_asked = true;
    bool runs = job_state_by_name(row->state) == JOB_RUNNING;
    if (!runs)
        job_move(row, JOB_CANCELLED, NULL, now);
    if (store_job_update(db, row, err) < 0)
        return -1;
    return runs ? 0 : event_write_end(db, row, NULL, false, now, err);
}
