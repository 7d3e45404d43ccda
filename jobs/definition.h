#pragma once
/* A job's definition (api.md §3): read, checked, and with its defaults written out. Pure. */
#include "jobs/instance.h"
#include "jobs/measure/design.h"
#include "server/json.h"

#include <stdbool.h>
#include <stdint.h>

struct job_kind;

/* Texts and trees are borrowed from `tree`. */
struct definition {
    const char *kind_name;
    const struct job_kind *kind; /* NULL when the name is unknown */
    const char *instance;
    const cJSON *parameters;
    struct design design;
    bool order_given;        /* else the kind's own order is used */
    bool seed_drawn;         /* by us: a retry draws another */
    struct limits limits;    /* the job's own; -1: not given. min_free_disk_mib is always -1 */
    int64_t assume_free_mib; /* -1: not given */
    int64_t priority;
    int64_t not_before; /* wall ms, 0: at once */
    int64_t deadline;   /* wall ms, 0: none */
    bool confirm_production;
    bool ignore_windows;
    const char *baseline; /* job id, "latest" or NULL */
    const cJSON *notify;  /* array or NULL */
    const cJSON *labels;  /* object or NULL */
    const char *requested_by;
    const cJSON *tree; /* borrowed */
};

/* Fills *out from tree (which must outlive it). Checks form and ranges of everything but the
 * kind's parameters and what only the store knows. Returns 0 when no fault was added. */
MUST_CHECK int definition_read(const cJSON *tree, struct definition *out,
                               struct json_faults *faults);

/* The definition as stored: every member, defaults and the seed written out. Caller frees it. */
cJSON *definition_to_json(const struct definition *definition);

/* Limits that hold for a run: the job's where given and tighter, else the instance's. */
struct limits definition_limits(const struct definition *definition,
                                const struct instance *instance);
