#pragma once
/* The rows of jobs/kind.c: one constant a kind, defined in its own file. */
#include "jobs/kind.h"

extern const struct job_kind kind_backup_sweep;
extern const struct job_kind kind_backup_throughput;
extern const struct job_kind kind_trace_flag;
extern const struct job_kind kind_snapshot_overhead;
extern const struct job_kind kind_backup_history;
