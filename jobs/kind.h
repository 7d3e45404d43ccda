#pragma once
/* The kinds of job: one file in jobs/kinds/ and one row in kind.c each; nothing else changes when
 * a kind is added. */
#include "jobs/definition.h"
#include "jobs/measure/report.h"
#include "jobs/measure/statement.h"
#include "jobs/state.h"
#include "server/json.h"

#include <stdbool.h>

struct run;

/* How a job ended, as its kind judges it. */
struct outcome {
    enum job_state state; /* JOB_SUCCEEDED or JOB_INCONCLUSIVE */
    char *summary;        /* one line for people, heap */
};

struct job_kind {
    const char *name;
    const char *summary;            /* one line for people */
    bool exclusive;                 /* measures: alone on its instance */
    enum design_order order;        /* when the definition names none */
    enum statement_user statements; /* which rows of measure/statement.c are its own */
    const struct json_field *parameters;
    size_t parameter_count;
    const char *example; /* JSON of parameters that pass every check */

    /* At submit: everything about the parameters that needs no server. Adds faults. */
    void (*check)(const struct definition *definition, const struct instance *instance,
                  struct json_faults *faults);

    /* True when it runs T-SQL of the job's own, which only an admin may submit. May be NULL. */
    bool (*runs_custom_sql)(const struct definition *definition);

    /* Arms, steps and reserved trials into run->plan, which is empty before; by the definition
     * alone. NULL for a kind without trials. */
    void (*arms)(struct run *run);

    /* After the first login and `arms`: refuses what this server is not or does not allow, and
     * fills run->plan.databases. Not called again when a job is resumed. Where run->looks_only it
     * changes nothing on the server. */
    int (*preflight)(struct run *run, struct err *err);

    /* Every statement that changes something for an arm, with {job} and {seq} for what is not known
     * yet, appended to the array; nothing else is sent for it. The run need not be connected. NULL
     * when nothing is changed. */
    void (*templates)(struct run *run, const struct arm *arm, cJSON *statements);

    /* The reading statements whose text depends on the definition, appended to the array; all
     * others stand in the table. May be NULL. */
    void (*probes)(struct run *run, cJSON *probes);

    /* Before the first trial of each try, resumed ones too: reads what trials need. */
    int (*prepare)(struct run *run, struct err *err);

    /* One trial; its clock starts and ends inside. 0: trial->status says how it went. -1: the run
     * cannot go on (cancelled, unreachable, refused). */
    int (*trial)(struct run *run, const struct design_step *step, struct trial *trial,
                 struct err *err);

    /* Instead of `trial`, for a kind that only reads: no arms, no steps, no trials. What it found
     * goes as JSON into run->gathered, which the bundle shows to `report`. Repeated from the start
     * when the job is resumed. */
    int (*gather)(struct run *run, struct err *err);

    /* When all steps are done: may append arms and steps (a confirmation) to run->plan and return
     * 1; 0: nothing to add. Asked again after those. Deterministic from the stored trials. */
    int (*extend)(struct run *run, const struct bundle *bundle, const struct analysis *analysis,
                  struct err *err);

    /* Adds the kind's members to the report and judges. */
    void (*report)(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                   struct outcome *out);
};

/* NULL when there is no such kind. */
const struct job_kind *kind_by_name(const char *name);

/* All names, comma-separated, for messages. */
const char *kind_names(void);

/* All kinds; out_count is their number. */
const struct job_kind *const *kind_all(size_t *out_count);
