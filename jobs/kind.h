#pragma once
/* The kinds of job: one file in jobs/kinds/ and one row in kind.c and in
 * kinds/reports.c each; nothing else changes when a kind is added. */
#include "jobs/definition.h"
#include "jobs/kinds/reports.h"
#include "jobs/measure/report.h"
#include "jobs/measure/statement.h"
#include "jobs/state.h"
#include "server/json.h"

#include <stdbool.h>

struct run;

struct job_kind {
    const char *name;
    const char *summary;            /* one line for people */
    bool exclusive;                 /* measures: alone on its instance */
    enum design_order order;        /* when the definition names none */
    enum statement_user statements; /* which rows of measure/statement.c are its own */
    const struct json_field *parameters;
    size_t parameter_count;
    bool races;          /* looks for the best of its arms: search "race" is offered */
    bool stops_early;    /* its answer is its comparisons, or what is_answered says */
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

    /* For stop_early: whether a look at these trials answers the kind's question. NULL: it does
     * when every comparison is decided. Pure. */
    bool (*is_answered)(const struct bundle *bundle, const struct analysis *analysis);

    /* The same function that kind_report_of finds by the name. */
    kind_report *report;
};

/* NULL when there is no such kind. */
const struct job_kind *kind_by_name(const char *name);

/* All names, comma-separated, for messages. */
const char *kind_names(void);

/* All kinds; out_count is their number. */
const struct job_kind *const *kind_all(size_t *out_count);
