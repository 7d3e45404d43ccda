#pragma once
/* What is sampled around a trial, always as the difference of two samples and never by clearing
 * anything on the server: CPU of the server's process, waits (of our session from 2016 on, else of
 * the instance), reads of each database file, foreign work, restarts. What a server lacks or does
 * not permit is learned once and then left out. One worker's. */
#include "jobs/measure/trial.h"
#include "server/mssql.h"

#include <stdbool.h>
#include <stdint.h>

enum probe_query {
    PROBE_CPU,
    PROBE_STARTED,
    PROBE_WAITS,          /* of our session */
    PROBE_INSTANCE_WAITS, /* of everybody, where the session's cannot be had */
    PROBE_FOREIGN,
    PROBE_FOREIGN_BACKUP, /* the last one in msdb */
    PROBE_READS,          /* per file of one database, with its volume */
    PROBE_READS_PLAIN,    /* the same without */
    PROBE_QUERY_COUNT
};

struct probe {
    bool absent[PROBE_QUERY_COUNT]; /* asked once: not there, or not for this login */
    const char *const *always;      /* wait types shown also when they are 0; NULL-terminated list
                                       of the kind's, or NULL */
};

struct probe_wait {
    char type[64];
    int64_t ms;
    int64_t count;
};

struct probe_file {
    char name[132];   /* logical */
    char volume[264]; /* "" unknown */
    int64_t bytes;
    int64_t stall_ms;
    bool log; /* of the transaction log */
};

struct probe_sample {
    int64_t cpu_ms;      /* -1 unknown */
    int64_t cpu_count;   /* -1 unknown */
    char started[40];    /* the server's start time as text; "" unknown */
    char foreign[64];    /* somebody else's BACKUP, RESTORE or DBCC running now; "" none */
    int64_t foreign_set; /* backup_set_id of somebody else's last backup; 0 none, -1 unknown */
    bool foreign_frozen; /* it was a VSS snapshot: all writes stood still */
    struct probe_wait *waits;
    size_t wait_count;
    bool instance_waits; /* they are everybody's, not our session's */
    struct probe_file *files;
    size_t file_count;
};

void probe_fini(struct probe *probe);

/* Samples now; never fails: what cannot be had stays unknown. database: whose files' reads are
 * sampled, or NULL. */
void probe_take(struct probe *probe, struct mssql *session, const char *database,
                struct probe_sample *out);
void probe_sample_fini(struct probe_sample *sample);

/* Fills cpu_s, cpu_count, waits and reads_by_file of the trial from two samples; a counter that
 * went backwards leaves its figure unknown. A restart or foreign work makes an ok trial
 * contaminated, with a note that says which. */
void probe_judge(const struct probe *probe, const struct probe_sample *before,
                 const struct probe_sample *after, struct trial *trial);

/* The LSNs that must not move: {"differential_base_lsn", "last_log_backup_lsn"}, each absent when
 * it cannot be read. The caller frees it. */
cJSON *probe_chain(struct mssql *session, const char *database);

/* {"differential_base_unchanged", "log_chain_unchanged"}: true, false, or null (not known). */
cJSON *probe_chain_compare(const cJSON *before, const cJSON *after);
