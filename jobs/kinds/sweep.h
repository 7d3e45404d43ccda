#pragma once
/* The parameters of backup_sweep, read once for everything that looks at them. Pure. */
#include "jobs/definition.h"
#include "jobs/plan.h"
#include "server/json.h"

/* What a sweep varies beside target, files and compression; each value "default" or a number. */
enum sweep_option { SWEEP_BUFFERCOUNT, SWEEP_MAXTRANSFERSIZE, SWEEP_BLOCKSIZE, SWEEP_OPTIONS };

struct sweep {
    const char *database;
    const cJSON *targets;                /* never NULL: NUL when none is given */
    const cJSON *options[SWEEP_OPTIONS]; /* NULL: not given, ["default"] */
    const cJSON *files;                  /* NULL: not given */
    const cJSON *compression;            /* NULL: not given, ["off"] */
    const cJSON *confirm_on;             /* a target, or NULL */
};

#define SWEEP_FIELD_COUNT 8
extern const struct json_field sweep_fields[SWEEP_FIELD_COUNT];
extern const char *const sweep_option_names[SWEEP_OPTIONS];

/* Reads parameters; adds faults when faults is not NULL. */
void sweep_read(const cJSON *parameters, struct sweep *out, struct json_faults *faults);

/* Everything that needs no server (job_kind.check). */
void sweep_check(const struct definition *definition, const struct instance *instance,
                 struct json_faults *faults);

/* How many arms the lists make, baselines included. */
size_t sweep_arm_count(const struct sweep *sweep);

/* Appends all arms, the baseline of each group first. */
void sweep_add_arms(const struct sweep *sweep, struct plan *plan);

/* Appends one arm with the settings of another at confirm_on; returns its index. */
int sweep_add_confirmation(const struct sweep *sweep, struct plan *plan, int like, int against);

/* The one target of sweeps that name none: NUL. Lives as long as the process. */
const cJSON *sweep_default_targets(void);
