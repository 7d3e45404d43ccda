/* sim.h: a SQL Server simulator for tests, in the test's own process.
 * It speaks TDS 7.4 on a loopback port and behaves like the server in what backup benchmarks use;
 * it is a test double and its @@VERSION says so. All functions may be called from any thread.
 * Login "sa", password "Sweetspot-1" unless the scenario has others. Scenarios and faults are JSON;
 * a text without any double quote may use single quotes instead. README.md lists their members. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim;

#define SIM_ERROR_SIZE 240

/* Starts a server on 127.0.0.1 with a free port. `scenario` is JSON, NULL = the default one.
 * Returns 0 and the server in *out_sim, to be ended by sim_stop; or -1 and a sentence in error
 * (room for SIM_ERROR_SIZE bytes). */
int sim_start(const char *scenario, struct sim **out_sim, char *error);
/* The same with a port (0 = a free one) and statements printed on standard error when asked. */
int sim_start_at(const char *scenario, const char *address, int port, bool print_statements,
                 struct sim **out_sim, char *error);
/* Closes every connection, joins all threads, frees everything. NULL is fine. */
void sim_stop(struct sim *sim);
int sim_port(const struct sim *sim);

/* Every statement received so far, in order: the text of batches; of sp_executesql and its like
 * the statement followed by its parameters in a comment; "(attention)" for a cancel. The caller
 * frees the array and each text with sim_texts_free. */
char **sim_statements(struct sim *sim, size_t *out_count);
void sim_texts_free(char **texts, size_t count);
/* How many of them begin with the prefix, case and leading blanks left out. */
int sim_count_statements(struct sim *sim, const char *prefix);
/* Forgets the statements. */
void sim_forget_statements(struct sim *sim);

struct sim_left {
    char *path;
    int64_t size_bytes;
    bool whole; /* a complete native backup; else aborted, foreign or sparse */
};
/* The files that are on the simulated disks: backups, aborted ones, what the scenario put there.
 * The caller frees with sim_files_free. */
struct sim_left *sim_files(struct sim *sim, size_t *out_count);
void sim_files_free(struct sim_left *files, size_t count);

/* Global trace flags that are on: the number of them, the first `most` in flags. */
size_t sim_flags(struct sim *sim, int *flags, size_t most);
/* The differential base's LSN of the database's first data file, 0 if it has none or is missing. */
uint64_t sim_differential_base(struct sim *sim, const char *database);
/* last_log_backup_lsn: 0 when there is no chain. */
uint64_t sim_last_log_lsn(struct sim *sim, const char *database);
/* Rows in msdb.dbo.backupset; databases, snapshots included. */
int sim_history_count(struct sim *sim);
int sim_database_count(struct sim *sim);

/* The most sessions that backed up at one time, each from its first BACKUP to the end of its last
 * one, so also between two of them. */
int sim_most_backing_up(struct sim *sim);

/* One fault as JSON: {"do": verb, …}. 0, or -1 and a sentence in error (SIM_ERROR_SIZE). */
int sim_fault(struct sim *sim, const char *json, char *error);
/* Forgets all faults and releases what is held. */
void sim_fault_clear(struct sim *sim);
/* Lets every BACKUP or statement that a hold_… fault has stopped go on. */
void sim_release(struct sim *sim);

enum sim_event {
    SIM_EVENT_STATEMENTS, /* at least count statements with the prefix `text` have arrived */
    SIM_EVENT_HELD,       /* at least count sessions are held by a fault */
    SIM_EVENT_ATTENTIONS, /* at least count cancels have arrived */
    SIM_EVENT_SESSIONS,   /* exactly count sessions are logged in */
    SIM_EVENT_BACKUPS,    /* exactly count BACKUP or RESTORE statements run */
};
/* Waits until it is so. 0, or -1 after timeout_ms. `text` may be NULL. */
int sim_wait_for(struct sim *sim, enum sim_event event, const char *text, int count,
                 int timeout_ms);
