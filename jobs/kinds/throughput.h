#pragma once
/* The parameters of backup_throughput, read once for everything that looks at them. Pure. */
#include "jobs/definition.h"
#include "jobs/plan.h"
#include "server/json.h"

#define THROUGHPUT_NUL "NUL" /* the name of the target that every database is read to */

struct throughput {
    const cJSON *databases;
    const cJSON *given;      /* the targets of the definition; NULL: none, only reading */
    const char *compression; /* "default", "off" or "on" */
    cJSON *targets;          /* NUL first, then what was given beside it; owned */
};

#define THROUGHPUT_FIELD_COUNT 3
extern const struct json_field throughput_fields[THROUGHPUT_FIELD_COUNT];

/* Reads parameters; adds faults when faults is not NULL. throughput_fini frees. */
void throughput_read(const cJSON *parameters, struct throughput *out, struct json_faults *faults);
void throughput_fini(struct throughput *throughput);

/* Everything that needs no server (job_kind.check). */
void throughput_check(const struct definition *definition, const struct instance *instance,
                      struct json_faults *faults);

/* How many arms the lists make, baselines included. */
size_t throughput_arm_count(const struct throughput *throughput);

/* Appends all arms: per database NUL, the baseline, then each target. */
void throughput_add_arms(const struct throughput *throughput, struct plan *plan);
