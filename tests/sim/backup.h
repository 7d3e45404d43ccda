/* backup.h: one BACKUP statement, from its options to its row in msdb. */
#pragma once

#include "eval.h"

#define BACKUP_DEVICES 260 /* 64 and three mirrors, and some to be refused */

enum target_kind { TARGET_NUL, TARGET_DISK, TARGET_URL, TARGET_VIRTUAL };

struct target {
    enum target_kind kind;
    const char *path;
    int mirror;
    int64_t base_bytes; /* what was in the file before an append */
    int64_t size_bytes; /* now */
    bool created;       /* by this statement, so that an abort leaves a part */
};

struct plan {
    struct frame *frame;
    struct session *session;
    struct sim *sim;
    const char *verb; /* BACKUP DATABASE, BACKUP LOG */
    const char *database;
    int db_id;
    bool log, differential, copy_only, checksum, init, format, skip, encrypt, page_blob;
    bool given_compression, compression;
    const char *algorithm, *level;
    int64_t buffers, transfer, block; /* 0 = left out */
    int stats;
    const char *name, *description;
    struct target *targets;
    int target_count, stripes;
    /* of the run */
    int64_t pages[64]; /* of the files in order, log last */
    const char *files[64];
    int file_ids[64];
    int file_count;
    int64_t total_pages, cut_bytes; /* cut: of the last log page */
    int64_t allocated_bytes;        /* size of the database's data files */
    int64_t written_bytes;          /* to the devices at the end, all stripes of one mirror */
    int64_t took_ms;
    int64_t start_us;
    int position, media_id;
    int number; /* of the backups since the start */
    int64_t cpu_ms;
    double starved, write_share;
    bool started;
};

/* backup_options.c: false after an error. */
bool sim_backup_options(struct plan *p, const struct stmt *st);
/* backup_check.c: the database, rights, memory; then the devices. */
bool sim_backup_check(struct plan *p);
bool sim_backup_open(struct plan *p); /* takes the lock; creates the files */
/* surface.c: fills took_ms, written_bytes, cpu_ms … for the pages in the plan. */
void sim_surface_locked(struct plan *p, double slow);
/* backup_record.c */
void sim_backup_finish_locked(struct plan *p);
void sim_backup_abort_locked(struct plan *p);
