#pragma once
/* What SQL Server Agent does with a job, for the tests of `sweetspot agent-job`: the T-SQL is run
 * on the simulator by tsql, a step's command is read back from msdb, its tokens are replaced and
 * its command line is read and run as Windows reads one. Failures fail the test. */
#include "tests/harness.h"

struct agent_run { /* one start of the job */
    const char *date;
    const char *time;
};

struct step_end {
    int status;   /* of the process, 0 good */
    char *output; /* both streams; the caller frees */
};

/* A line for sh: what it printed, to be freed, and its exit status. */
char *agent_kit_shell(const char *line, int *out_status);

/* A new file with this text. */
void agent_kit_write(const char *path, const char *text);

/* `sweetspot agent-job FILE` with these further words, and the definition in FILE; what it printed
 * on standard output, to be freed. talk (may be NULL) gets standard error. */
char *agent_kit_make(const char *dir, const char *definition, const char *words, int status,
                     char **out_talk);

/* Runs T-SQL on the simulator; what tsql printed, to be freed. */
char *agent_kit_sql(struct harness *house, const char *sql);

/* The command of a step as msdb has it, of the job made last; to be freed. */
char *agent_kit_command(struct harness *house, int step);

/* The same with Agent's tokens replaced; fails when one has no escape macro or is not known. */
char *agent_kit_tokens(const char *command, const struct agent_run *run, int step,
                       const char *job_id);

/* The job's id as Agent has it in JOBID: 0x and 32 digits; to be freed. */
char *agent_kit_job_id(struct harness *house);

/* A command line that cmd.exe, a Windows program and sh all read alike, run without any of them.
 * on_line (may be NULL) sees each line as it comes. */
struct step_end agent_kit_cmdexec(const char *dir, const char *line,
                                  void (*on_line)(const char *line, void *arg), void *arg);

/* The command of this step, its tokens replaced, run. */
struct step_end agent_kit_step(struct harness *house, const struct agent_run *run, int step);
