/* others.h: what somebody else does on the server, at moments that the scenario gives: requests,
 * sets of VSS tools, files that grow. All of it is behind sim->lock. */
#pragma once

#include <cjson/cJSON.h>

#include "world.h"

enum sim_foreign_kind {
    SIM_FOREIGN_BACKUP,
    SIM_FOREIGN_BACKUP_LOG,
    SIM_FOREIGN_CHECKDB,
    SIM_FOREIGN_SHRINK,
    SIM_FOREIGN_RESTORE,
};

struct sim_foreign {
    int spid;
    enum sim_foreign_kind kind;
    char *database;
    int64_t start_us, end_us; /* simulated; end 0 = until it is ended */
    double percent;           /* of one without an end; else it follows the clock */
    bool ended;
};

struct sim_growth { /* of a file, as the default trace has it */
    char *database, *file;
    int database_id;
    bool log;
    int64_t start_us, took_us, pages;
    int trace_file; /* number of the trace file that it is in */
};

struct sim_moment { /* a fault that waits for its time */
    int64_t at_us;  /* 0: for a backup */
    int backup;     /* the n-th BACKUP since the start … */
    double percent;
    cJSON *fault;
    bool done;
};

/* The command of dm_exec_requests and what it waits for. */
const char *sim_foreign_command(enum sim_foreign_kind kind);
const char *sim_foreign_wait(enum sim_foreign_kind kind);
double sim_foreign_percent(const struct sim_foreign *f, int64_t now_us);
/* -1 when the kind is not known: backup, backup_log, checkdb, shrink, restore. */
int sim_foreign_kind(const char *text);
struct sim_foreign *sim_foreign_start_locked(struct sim *sim, enum sim_foreign_kind kind,
                                             const char *database, int64_t at_us, double seconds);
/* Ends those of the kind in the database, NULL = in all; a backup that ends is in msdb. */
void sim_foreign_end_locked(struct sim *sim, enum sim_foreign_kind kind, const char *database,
                            int64_t at_us);
bool sim_foreign_kill_locked(struct sim *sim, int spid); /* false if it is none of them */
struct sim_foreign_set {
    char type; /* D, L */
    bool vss, copy_only;
    int64_t start_us, end_us;
};
/* A set that somebody else made. Without copy_only it moves the differential base or the log. */
void sim_foreign_set_locked(struct sim *sim, const char *database,
                            const struct sim_foreign_set *made);
/* -1 when there is no such database or file. Without `grow` it only is in the trace. */
int sim_growth_add_locked(struct sim *sim, const char *database, const char *file,
                          const struct sim_growth *growth, bool grow);
void sim_moment_add_locked(struct sim *sim, const struct sim_moment *moment); /* takes the fault */
/* Does what is due by the simulated clock; with a backup, what its percentage brings too. */
void sim_moments_run_locked(struct sim *sim, int backup, double percent);
/* Ends what others did, without a trace of it in msdb. */
void sim_others_restart_locked(struct sim *sim);
int sim_new_spid_locked(struct sim *sim); /* over 50, as users' sessions have it */
void sim_others_free_locked(struct sim *sim);
