#pragma once
/* What each database file and each drive delivered while an arm ran, over all its counted trials.
 * The slowest drive is the ceiling of seed 0: the others wait for it at the end. Pure. */
#include "jobs/measure/report.h"
#include "server/json.h"

struct throughput_reads {
    cJSON *files;              /* [{"file", "volume", "log", "mib_s", "stall_ms_per_mib"}], owned */
    cJSON *drives;             /* [{"volume", "data_files", "mib_s", "stall_ms_per_mib"}], owned */
    const char *slowest_drive; /* borrowed from drives; NULL: there is one only, or all are alike */
    bool log_beside_data;
};

/* Empty lists where nothing was sampled. throughput_reads_fini frees. */
void throughput_reads_make(const struct bundle *bundle, int arm, struct throughput_reads *out);
void throughput_reads_fini(struct throughput_reads *reads);

/* True when a folder is on a drive that holds data files. "/" says nothing: what else is mounted
 * below it is not known. */
bool throughput_is_beside_data(const struct throughput_reads *reads, const char *folder);
