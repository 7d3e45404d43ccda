#pragma once
/* snapshot_overhead: its parameters, read once for everything that looks at them, and what its
 * files share. */
#include "jobs/kind.h"
#include "jobs/plan.h"
#include "jobs/room.h"
#include "jobs/run.h"
#include "jobs/snapshots.h"
#include "server/json.h"

/* For tests: how old the snapshots of a trial may get; LIMIT_SNAPSHOT_S else. */
void snapshot_set_longest(int64_t ms);

/* For tests: after how much silence a teardown of the job's own is given up; LIMIT_TEARDOWN_S else.
 */
void snapshot_set_teardown_seconds(int seconds);

#define SNAPSHOT_MOST 8   /* snapshots of one trial: each multiplies the writes */
#define SNAPSHOT_PLACES 8 /* locations of a job */

/* Everything is borrowed from the definition. */
struct snapshot_parameters {
    const char *database;
    const cJSON *snapshots; /* array of counts, or NULL: [0, 1, 2] */
    const cJSON *locations; /* [{"name", "path"}] */
    const cJSON *workload;
    bool confirm_log_growth;
    const cJSON *select_into; /* the built-in workload, or NULL */
    const char *source;       /* "Sales.Big" */
    int64_t rows;
    const char *sql; /* the job's own workload, or NULL */
    const char *setup;
    const char *teardown;
};

struct snapshot_location {
    const char *name;
    const char *path;
};
#define SNAPSHOT_LOCATION_FIELD_COUNT 2
extern const struct json_field snapshot_location_fields[SNAPSHOT_LOCATION_FIELD_COUNT];

#define SNAPSHOT_FIELD_COUNT 5
extern const struct json_field snapshot_fields[SNAPSHOT_FIELD_COUNT];

/* Reads parameters; adds faults when faults is not NULL. */
void snapshot_read(const cJSON *parameters, struct snapshot_parameters *out,
                   struct json_faults *faults);

/* Everything that needs no server (job_kind.check). */
void snapshot_check(const struct definition *definition, const struct instance *instance,
                    struct json_faults *faults);

/* --- arms: the baseline is a0, then location by location ----------------------------------- */

/* The counts above 0, ascending, into counts (room for SNAPSHOT_MOST); how many. */
size_t snapshot_counts(const struct snapshot_parameters *parameters, int *counts);
void snapshot_add_arms(const struct snapshot_parameters *parameters, struct plan *plan);

/* The path of a location by its name; NULL when there is none. */
const char *snapshot_path(const struct snapshot_parameters *parameters, const char *location);

/* --- the built-in workload ----------------------------------------------------------------- */

/* A two-part name, "Sales.Big" or "[Sales].[Big table]", in its parts, which the caller frees.
 * False when it is none. */
bool snapshot_source_parts(const char *source, char **out_schema, char **out_table);

/* SELECT TOP (rows) * INTO [database].[dbo].[sweetspot_<job>_<seq>] FROM the source. */
MUST_CHECK int snapshot_workload(const struct snapshot_parameters *parameters, const char *job,
                                 const char *seq, struct buf *out, struct err *err);

/* job_kind.templates and .probes */
void snapshot_templates(struct run *run, const struct arm *arm, cJSON *statements);
void snapshot_probes(struct run *run, cJSON *probes);

/* --- what this server is and allows -------------------------------------------------------- */

/* What one run of the workload is expected to write. */
struct snapshot_estimate {
    int64_t data_bytes; /* of the table; the source's size for a workload of the job's own */
    int64_t log_bytes;  /* 0 where SELECT INTO is minimally logged */
    bool full_recovery;
    bool counted;        /* the row's size comes from the server, and is no upper bound */
    int64_t source_rows; /* -1 unknown */
};

/* Editions, state of the database, in-memory filegroups, the source, the log: ERR_REFUSED names
 * what stands against it. Adds the database to run->plan. */
MUST_CHECK int snapshot_preflight(struct run *run, const struct snapshot_parameters *parameters,
                                  struct err *err);

/* ERR_REFUSED unless a location holds `count` snapshots that all have grown to their largest. */
MUST_CHECK int snapshot_check_space(struct run *run, const struct snapshot_parameters *parameters,
                                    const char *path, int count, struct err *err);

/* ERR_REFUSED when a volume of the database's own files has less than the margin already. */
MUST_CHECK int snapshot_check_margin(struct run *run, const char *database, struct err *err);

/* When the plan stands: room at each location and beside the source, and what all trials write and
 * read. */
MUST_CHECK int snapshot_check_plan(struct run *run, const struct snapshot_parameters *parameters,
                                   struct err *err);

/* Before the first trial of a try: what a reader of the report must know. Looks at the log once
 * more. */
MUST_CHECK int snapshot_warn(struct run *run, const struct snapshot_parameters *parameters,
                             struct err *err);

/* Makes one snapshot at each location, looks at it and drops it again. */
MUST_CHECK int snapshot_try_locations(struct run *run, const struct snapshot_parameters *parameters,
                                      struct err *err);

/* Opens run->second for a workload of the job's own, in the database. ERR_REFUSED when its login
 * is more than it may be. */
MUST_CHECK int snapshot_open_custom(struct run *run, const struct snapshot_parameters *parameters,
                                    struct err *err);

/* --- room while a trial runs --------------------------------------------------------------- */

struct snapshot_watch {
    struct room *room; /* NULL: nothing can be seen */
    char **folders;
    size_t count, capacity;
};

/* Looks on at the volumes of the database's files and of the location (NULL: the baseline), from
 * now on until snapshot_watch_end, which must follow when this is 0. As room_watch. */
MUST_CHECK int snapshot_watch_begin(struct run *run, const char *database, const char *location,
                                    struct snapshot_watch *out, struct err *err);
struct room_outcome snapshot_watch_end(struct snapshot_watch *watch);

/* --- trials and report --------------------------------------------------------------------- */

/* Wait types that every configuration shows; NULL-terminated. */
extern const char *const snapshot_waits[];

int snapshot_trial(struct run *run, const struct design_step *step, struct trial *trial,
                   struct err *err);
void snapshot_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                     struct outcome *out);
