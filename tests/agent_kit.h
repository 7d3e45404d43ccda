#pragma once
/* What SQL Server Agent does with a job, for the tests of `sweetspot agent-job`: the T-SQL is run
 * on the simulator by tsql, a step's command is read back from msdb, its tokens are replaced and
 * its command line is read and run as Windows reads one. Failures fail the test. */
#include "tests/harness.h"

#define WINDOWS "{'time_scale':0,'platform':'Windows','version':'17.0.1000.7'}"
#define SWEEP_OF(database, more)                                                                   \
    "{\"kind\":\"backup_sweep\",\"instance\":\"sql01\",\"parameters\":{\"database\":\"" database   \
    "\",\"buffercount\":[50]},\"design\":{\"repetitions\":3}" more "}"
#define SWEEP SWEEP_OF("Sales", "")
#define HOSTILE_SWEEP SWEEP_OF("Sales", ",\"labels\":{\"x\":\"'; $(x) \xF0\x9F\x98\x80 ]\\n%\"}")

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

/* --- for tests of a whole job: a daemon, and a SQL Server 2025 on Windows named sql01 ------- */

int agent_kit_set_up(void **state);
int agent_kit_tear_down(void **state);

extern const struct agent_run agent_kit_tonight;

/* Makes the job on the simulator; words beside --url. */
void agent_kit_put(struct harness *house, const char *definition, const char *words);

/* It ended with this status and said so; frees the output. */
void agent_kit_ends(struct step_end end, int status, const char *holds);

/* The daemon's newest job, to be deleted, and how many it has. */
cJSON *agent_kit_newest(struct harness *house);
int agent_kit_count(struct harness *house);

/* The text at this path is the same in the job and in the definition it was made of. */
void agent_kit_same_text(const cJSON *job, const char *path, const char *definition);

/* `sweetspotd token create`, its output behind `before` in a new file, as README does it. */
void agent_kit_token(struct harness *house, const char *before, const char *file);

/* Definitions whose texts hold what some reader of a step's text would act on; NULL behind the
 * last. To be freed. */
char *agent_kit_hostile(size_t at);
