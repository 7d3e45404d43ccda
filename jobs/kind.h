#pragma once
/* The kinds of job: one file in jobs/kinds/ and one row in kind.c and in
 * kinds/reports.c each; nothing else changes when a kind is added. */
#include "jobs/definition.h"
#include "jobs/kinds/reports.h"
#include "jobs/measure/report.h"
#include "jobs/state.h"
#include "server/json.h"

#include <stdbool.h>

struct run;

struct job_kind {
    const char *name;
    const char *summary;     /* one line for people */
    bool exclusive;          /* measures: alone on its instance */
    enum design_order order; /* when the definition names none */
    const struct json_field *parameters;
    size_t parameter_count;

    /* At submit: everything about the parameters that needs no server. Adds faults. */
    void (*check)(const struct definition *definition, const struct instance *instance,
                  struct json_faults *faults);

    /* After the first login: arms into run->plan (empty before), and whatever must be refused by
     * what this server is or allows. Not called again when a job is resumed. */
    int (*plan)(struct run *run, struct err *err);

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

    /* The same function that kind_report_of finds by the name. */
    kind_report *report;
};

/* NULL when there is no such kind. */
const struct job_kind *kind_by_name(const char *name);

/* All names, comma-separated, for messages. */
const char *kind_names(void);

/* All kinds; out_count is their number. */
const struct job_kind *const *kind_all(size_t *out_count);
