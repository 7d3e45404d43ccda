#include "tests/fake_jobs.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/lock.h"
#include "server/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jobs_watch {
    char *id;
    jobs_on_end *on_end;
    void *ctx;
    struct jobs_watch *next;
};

struct jobs {
    struct store *store;
    atomic_int wakes;
    struct lock lock;           /* guards the list; held while on_end is called */
    struct jobs_watch *first;   /* all watches */
    struct job_running running; /* its id is "": none */
};

struct jobs *fake_jobs_new(struct store *store)
{
    struct jobs *jobs = mem_alloc(1, sizeof *jobs);
    jobs->store = store;
    lock_init(&jobs->lock);
    return jobs;
}

void fake_jobs_free(struct jobs *jobs)
{
    lock_fini(&jobs->lock);
    free(jobs);
}

void jobs_wake(struct jobs *jobs)
{
    atomic_fetch_add(&jobs->wakes, 1);
}

int fake_jobs_wakes(struct jobs *jobs)
{
    return atomic_load(&jobs->wakes);
}

int jobs_free(struct jobs *jobs)
{
    (void)jobs;
    return 4;
}

int jobs_busy(struct jobs *jobs)
{
    lock_take(&jobs->lock);
    bool runs = jobs->running.id[0] != '\0';
    lock_drop(&jobs->lock);
    return runs;
}

/* --- submitting ---------------------------------------------------------------------------- */

struct fields {
    const char *kind;
    const char *instance;
    const cJSON *parameters;
    const cJSON *labels;
};

#define AT(member) offsetof(struct fields, member)
static const struct json_field fields[] = {
    {.name = "kind", .type = JSON_TEXT, .offset = AT(kind), .required = true, .max = 64},
    {.name = "instance", .type = JSON_TEXT, .offset = AT(instance), .required = true, .max = 64},
    {.name = "parameters", .type = JSON_OBJECT, .offset = AT(parameters), .required = true},
    {.name = "labels", .type = JSON_OBJECT, .offset = AT(labels)},
};

void submission_fini(struct submission *submission)
{
    job_row_fini(&submission->row);
    free(submission->key);
    free(submission->fingerprint);
}

static int find_instance(struct db *db, void *arg, struct err *err)
{
    struct instance_row row = {0};
    int rc = store_instance_get(db, arg, &row, err);
    instance_row_fini(&row);
    return rc;
}

int jobs_check(struct jobs *jobs, const cJSON *body, struct submission *out,
               struct json_faults *faults, struct err *err)
{
    struct fields wanted = {0};
    char id[IDS_TEXT_SIZE];
    json_read(body, fields, JSON_COUNT(fields), "", &wanted, faults);
    if (wanted.instance) {
        char *name = mem_copy(wanted.instance);
        if (store_read(jobs->store, find_instance, name, err) < 0)
            json_fault_add(faults, "/instance", "names no instance");
        free(name);
    }
    if (faults->count > 0)
        return err_set(err, ERR_INPUT, 0, "the job has faults");
    if (strcmp(wanted.kind, "forbidden") == 0)
        return err_set(err, ERR_CONFLICT, 0, "production without confirm_production");
    char *definition = json_print(body);
    out->row = (struct job_row){.id = mem_copy(ids_new(id)),
                                .kind = mem_copy(wanted.kind),
                                .instance = mem_copy(wanted.instance),
                                .state = mem_copy("queued"),
                                .cleanup = mem_copy("none"),
                                .definition = definition,
                                .created_at = clock_wall_ms(),
                                .version = 1};
    return 0;
}

int jobs_insert_work(struct db *db, void *arg, struct err *err)
{
    struct submission *submission = arg;
    char *job = NULL;
    char *fingerprint = NULL;
    int claimed = 1;
    if (submission->key)
        claimed = store_key_claim(db, submission->key, submission->fingerprint, submission->row.id,
                                  clock_wall_ms(), &job, &fingerprint, err);
    int rc = claimed < 0 ? -1 : 0;
    if (claimed == 1) {
        rc = store_job_insert(db, &submission->row, err);
    } else if (claimed == 0 && strcmp(fingerprint, submission->fingerprint) != 0) {
        rc = err_set(err, ERR_REFUSED, 0, "the key belongs to another body");
    } else if (claimed == 0) {
        job_row_fini(&submission->row);
        submission->row = (struct job_row){0};
        submission->replayed = true;
        rc = store_job_get(db, job, &submission->row, err);
    }
    free(job);
    free(fingerprint);
    return rc;
}

/* --- ending -------------------------------------------------------------------------------- */

static void tell_watchers(struct jobs *jobs, const char *id)
{
    lock_take(&jobs->lock);
    for (struct jobs_watch *watch = jobs->first; watch; watch = watch->next)
        if (strcmp(watch->id, id) == 0)
            watch->on_end(watch->ctx, id);
    lock_drop(&jobs->lock);
}

struct finish {
    const char *id;
    const char *report;
};

static int finish_work(struct db *db, void *arg, struct err *err)
{
    const struct finish *finish = arg;
    struct job_row row = {0};
    int rc = store_job_get(db, finish->id, &row, err);
    if (rc == 0 && finish->report)
        rc = store_report_put(db, finish->id, finish->report, err);
    if (rc == 0) {
        if (job_state_by_name(row.state) != JOB_RUNNING)
            job_move(&row, JOB_RUNNING, NULL, clock_wall_ms());
        job_move(&row, JOB_SUCCEEDED, NULL, clock_wall_ms());
        rc = store_job_update(db, &row, err);
    }
    job_row_fini(&row);
    return rc;
}

void fake_jobs_finish(struct jobs *jobs, const char *id, const char *report)
{
    struct err err;
    struct finish finish = {.id = id, .report = report};
    if (store_write(jobs->store, finish_work, &finish, &err) < 0)
        abort();
    tell_watchers(jobs, id);
}

int jobs_cancel_work(struct db *db, void *arg, struct err *err)
{
    struct cancellation *cancellation = arg;
    if (store_job_get(db, cancellation->id, &cancellation->row, err) < 0)
        return -1;
    if (job_is_done(&cancellation->row))
        return err_set(err, ERR_CONFLICT, 0, "the job has ended");
    job_move(&cancellation->row, JOB_CANCELLED, NULL, clock_wall_ms());
    return store_job_update(db, &cancellation->row, err);
}

void jobs_cancelled(struct jobs *jobs, const char *id)
{
    tell_watchers(jobs, id);
}

/* --- watching ------------------------------------------------------------------------------ */

bool jobs_current(struct jobs *jobs, const char *id, struct job_current *out)
{
    struct job_running running;
    size_t count = jobs_running(jobs, &running, 1);
    bool found = count > 0 && strcmp(running.id, id) == 0;
    if (found)
        *out = running.current;
    return found;
}

size_t jobs_running(struct jobs *jobs, struct job_running *out, size_t max)
{
    lock_take(&jobs->lock);
    *out = jobs->running;
    lock_drop(&jobs->lock);
    return max > 0 && out->id[0] != '\0';
}

void fake_jobs_run(struct jobs *jobs, const char *id, int arm, int percent)
{
    lock_take(&jobs->lock);
    (void)snprintf(jobs->running.id, sizeof jobs->running.id, "%s", id ? id : "");
    jobs->running.current = (struct job_current){.arm = arm, .percent = percent};
    lock_drop(&jobs->lock);
}

struct jobs_watch *jobs_watch_add(struct jobs *jobs, const char *id, jobs_on_end *on_end, void *ctx)
{
    struct jobs_watch *watch = mem_alloc(1, sizeof *watch);
    *watch = (struct jobs_watch){.id = mem_copy(id), .on_end = on_end, .ctx = ctx};
    lock_take(&jobs->lock);
    watch->next = jobs->first;
    jobs->first = watch;
    lock_drop(&jobs->lock);
    return watch;
}

void jobs_watch_remove(struct jobs *jobs, struct jobs_watch *watch)
{
    if (!watch)
        return;
    lock_take(&jobs->lock);
    struct jobs_watch **link = &jobs->first;
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
    lock_drop(&jobs->lock);
    free(watch->id);
    free(watch);
}

int fake_jobs_watchers(struct jobs *jobs)
{
    int count = 0;
    lock_take(&jobs->lock);
    for (struct jobs_watch *watch = jobs->first; watch; watch = watch->next)
        count++;
    lock_drop(&jobs->lock);
    return count;
}

/* --- checking ------------------------------------------------------------------------------ */

struct jobs_checking {
    const char *answer; /* JSON; NULL: it never comes */
};

/* As the instance's host says: "busy" takes no check, "answers" does at once, others never. */
struct jobs_checking *jobs_check_begin(struct jobs *jobs, const struct instance_row *row,
                                       jobs_on_check *on_check, void *ctx)
{
    (void)jobs;
    if (strstr(row->definition, "\"busy\""))
        return NULL;
    struct jobs_checking *checking = mem_alloc(1, sizeof *checking);
    if (strstr(row->definition, "\"answers\"")) {
        checking->answer = "{\"reachable\":true}";
        on_check(ctx);
    }
    return checking;
}

/* Tests of plans and clean-ups have the real ones. */
struct jobs_checking *jobs_plan_begin(struct jobs *jobs, struct job_row *row, const char *refusal,
                                      jobs_on_check *on_check, void *ctx)
{
    (void)jobs;
    (void)row;
    (void)refusal;
    (void)on_check;
    (void)ctx;
    return NULL;
}

cJSON *jobs_plan_unasked(struct jobs *jobs, struct job_row *row, const char *refusal,
                         const char *why)
{
    (void)jobs;
    (void)row;
    (void)refusal;
    (void)why;
    return NULL;
}

struct jobs_checking *jobs_reconcile_begin(struct jobs *jobs, const char *instance, bool dry_run,
                                           jobs_on_check *on_check, void *ctx)
{
    (void)jobs;
    (void)instance;
    (void)dry_run;
    (void)on_check;
    (void)ctx;
    return NULL;
}

cJSON *jobs_reconcile_unasked(struct jobs *jobs, const char *instance, const char *why)
{
    (void)jobs;
    (void)instance;
    (void)why;
    return NULL;
}

cJSON *jobs_check_end(struct jobs *jobs, struct jobs_checking *checking)
{
    (void)jobs;
    cJSON *answer = checking && checking->answer ? cJSON_Parse(checking->answer) : NULL;
    free(checking);
    return answer;
}

/* --- JSON ---------------------------------------------------------------------------------- */

cJSON *job_to_json(const struct job_row *row, const struct job_current *current)
{
    cJSON *tree = cJSON_CreateObject();
    if (current)
        cJSON_AddNumberToObject(tree, "percent", current->percent);
    cJSON_AddItemToObject(tree, "id", json_text(row->id));
    cJSON_AddItemToObject(tree, "kind", json_text(row->kind));
    cJSON_AddItemToObject(tree, "instance", json_text(row->instance));
    cJSON_AddItemToObject(tree, "state", json_text(row->state));
    return tree;
}

char *job_report_markdown(const char *report)
{
    return mem_format("# Report\n\n%s\n", report);
}

char *job_report_html(const char *report)
{
    (void)report;
    return mem_copy("<p>Report</p>\n");
}

char *job_report_policy(void)
{
    return mem_copy("default-src 'none'");
}
