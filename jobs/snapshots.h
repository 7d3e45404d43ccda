#pragma once
/* Database snapshots of ours on the measured server: their names and files, the statement that
 * makes one, what became of them, and dropping them. Only a snapshot, and only one named by us, is
 * ever dropped; nothing is ever reverted to one (that resets the log and undoes other people's
 * changes). The worker's thread. */
#include "jobs/journal.h"
#include "jobs/run.h"
#include "server/buf.h"

/* The data files of a source, every one of which a snapshot must name (else 5127). */
struct snapshot_file {
    char *name; /* logical */
    int64_t id;
};
struct snapshot_files {
    struct snapshot_file *items;
    size_t count;
};

/* ERR_REFUSED when none is visible. snapshot_files_fini frees. */
MUST_CHECK int snapshot_files_read(struct run *run, const char *database,
                                   struct snapshot_files *out, struct err *err);
void snapshot_files_fini(struct snapshot_files *files);

/* What one snapshot is made from; all borrowed. */
struct snapshot_order {
    const char *database;
    const struct snapshot_files *files;
    const char *folder; /* as the server sees it */
    const char *job;    /* or "{job}" */
    const char *seq;    /* or "{seq}" */
    int number;         /* from 1 within its trial */
};

/* "sweetspot_<job>_<seq>_<number>"; the caller frees it. */
char *snapshot_name(const char *job, const char *seq, int number);
bool snapshot_is_own(const char *name);

/* CREATE DATABASE … AS SNAPSHOT OF …, on one line; ERR_INPUT when a name or a path is too long or
 * cannot be written down. */
MUST_CHECK int snapshot_statement(const struct snapshot_order *order, struct buf *out,
                                  struct err *err);

/* DROP DATABASE of a snapshot by its name; false when it cannot be written down. */
bool snapshot_drop_statement(const char *name, struct buf *out);

/* Writes it down in the journal, then makes it. *out_s: seconds it took (not 0 when it failed). */
MUST_CHECK int snapshot_create(struct run *run, const struct snapshot_order *order, double *out_s,
                               struct err *err);

/* What became of the snapshots of one trial. */
struct snapshot_state {
    int online;             /* how many are there and usable */
    char *suspect;          /* the name of one that is not (its volume was full), heap; or NULL */
    int64_t bytes;          /* on disk, all of them; -1 unknown */
    bool every_file_sparse; /* true also when it cannot be seen */
};
MUST_CHECK int snapshot_look(struct run *run, const char *seq, struct snapshot_state *out,
                             struct err *err);
void snapshot_state_fini(struct snapshot_state *state);

/* Drops one of ours, suspect or not; found gone is good. As journal_undo_one. */
MUST_CHECK int snapshot_undo(struct run *run, const struct intent_row *intent, struct err *err);
