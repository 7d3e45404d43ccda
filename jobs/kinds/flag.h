#pragma once
/* The parameters of trace_flag, read once for everything that looks at them. Pure. */
#include "jobs/kind.h"
#include "jobs/plan.h"

struct flag_parameters {
    const cJSON *flags; /* never NULL: [3042] when none is given */
    const cJSON *databases;
    const cJSON *target;
    const char *compression; /* "on" when it is not given */
    bool flags_given;
};

#define FLAG_FIELD_COUNT 4
extern const struct json_field flag_fields[FLAG_FIELD_COUNT];

/* Reads parameters; adds faults when faults is not NULL. */
void flag_read(const cJSON *parameters, struct flag_parameters *out, struct json_faults *faults);

/* job_kind.check */
void flag_check(const struct definition *definition, const struct instance *instance,
                struct json_faults *faults);

/* True when the flag changes nothing but how the files of compressed backups grow (3042). */
bool flag_is_about_compressed_files(int64_t flag);

/* Appends off and on, side by side, for each database and flag. */
void flag_add_arms(const struct flag_parameters *parameters, struct plan *plan);

/* What an arm stands for. */
int flag_of_arm(const struct arm *arm);
bool flag_arm_is_on(const struct arm *arm);

/* job_kind.report */
void flag_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                 struct outcome *out);
