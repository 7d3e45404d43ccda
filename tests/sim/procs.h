/* procs.h: stored procedures. A call may change its parameters for output; false after an error. */
#pragma once

#include "eval.h"

struct procedure {
    const char *name;
    int since; /* version */
    bool (*call)(struct frame *f, struct parameter *params, int n, int *status);
};

const char *sim_parameter_text(struct frame *f, const struct parameter *p); /* "" for null */
bool sim_xp_fixeddrives(struct frame *f, struct parameter *params, int n, int *status);
bool sim_xp_fileexist(struct frame *f, struct parameter *params, int n, int *status);
bool sim_xp_dirtree(struct frame *f, struct parameter *params, int n, int *status);
bool sim_xp_delete_file(struct frame *f, struct parameter *params, int n, int *status);
bool sim_xp_delete_files(struct frame *f, struct parameter *params, int n, int *status);
/* EXEC sweetspot_sim.dbo.control N'{…}', files, statements */
bool sim_proc_control(struct frame *f, struct parameter *params, int n, int *status);
bool sim_proc_control_files(struct frame *f, struct parameter *params, int n, int *status);
bool sim_proc_control_statements(struct frame *f, struct parameter *params, int n, int *status);

/* procs_rest.c */
bool sim_sp_invoke_rest(struct frame *f, struct parameter *params, int n, int *status);

/* procs_agent.c: jobs of SQL Server Agent */
bool sim_sp_add_job(struct frame *f, struct parameter *params, int n, int *status);
bool sim_sp_add_jobstep(struct frame *f, struct parameter *params, int n, int *status);
bool sim_sp_add_jobserver(struct frame *f, struct parameter *params, int n, int *status);
