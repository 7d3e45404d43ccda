#pragma once
/* Backup speeds from what msdb remembers (domain.md §3): rows in, series per database and type out.
 * What tells no speed is left out and counted by its reason. Memory is 16 bytes a row that counts,
 * whatever the rows are. Pure. */
#include "server/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum history_type { HISTORY_FULL, HISTORY_DIFF, HISTORY_LOG, HISTORY_TYPES };

/* "full", "diff", "log"; and the letter msdb has for it. */
const char *history_type_name(enum history_type type);
char history_type_letter(enum history_type type);
/* HISTORY_TYPES when the name is none of them. */
enum history_type history_type_by_name(const char *name);

/* Why a row tells no speed, in the order in which it is asked: one row has one reason. */
enum history_reason {
    HISTORY_COUNTS, /* it does */
    HISTORY_OWN,
    HISTORY_ELSEWHERE,
    HISTORY_VIRTUAL,
    HISTORY_NUL,
    HISTORY_PARTIAL,
    HISTORY_COPY_ONLY,
    HISTORY_NO_DATES,
    HISTORY_NO_SIZE,
    HISTORY_NEGATIVE,
    HISTORY_CLOCK,
    HISTORY_SHORT,
    HISTORY_REASONS
};
/* The word in a report, and the reason for people. */
const char *history_reason_name(enum history_reason reason);
const char *history_reason_words(enum history_reason reason);

#define HISTORY_ZONE_UNKNOWN 127 /* as msdb writes it */

/* One row of backupset. Texts are borrowed during history_add, NULL is unknown. */
struct history_row {
    const char *database;
    const char *type;   /* D, I, L; F, G, P, Q: parts of a database */
    const char *name;   /* NAME of the backup; its first 10 characters are enough */
    const char *start;  /* the server's local time, "2024-05-06 07:08:09" */
    const char *finish; /* the same */
    int64_t zone;       /* quarters of an hour that this local time is ahead of UTC */
    double size;        /* bytes; NaN unknown */
    double compressed;  /* bytes; NaN: as msdb leaves it for uncompressed ones */
    bool copy_only;
    bool snapshot;       /* is_snapshot */
    bool virtual_device; /* device_type 7: VDI, VSS */
    bool nul;            /* went to NUL */
    bool elsewhere;      /* made on another server, restored here */
};

/* What is asked for. */
struct history_filter {
    bool types[HISTORY_TYPES];
    bool copy_only;    /* those, too */
    int64_t since_s;   /* began at or after, seconds since 1970 in UTC; INT64_MIN: always */
    int64_t here_zone; /* quarters of an hour, for rows that do not know theirs */
    double confidence; /* of the trends */
};

struct history;
struct history *history_new(const struct history_filter *filter);
void history_free(struct history *history);

/* Takes a row, in the order in which backups ended (backup_set_id): a change of the clock shows
 * between neighbours. */
void history_add(struct history *history, const struct history_row *row);

/* {"rows", "series", "history": [...], "excluded": [{"reason", "n", "detail"}]} as api.md §4 has
 * them. rows: all that were taken, in scope or not; series: how many there are, of which those with
 * most backups are listed. Call it once, after the last row. The caller frees it. */
cJSON *history_finish(struct history *history);

/* --- its parts, for tests ------------------------------------------------------------------- */

/* Seconds from 1970-01-01T00:00:00 as a calendar counts them; false when text is no such time. */
bool history_read_time(const char *text, int64_t *out_s);

/* How wrong a rate can be because both ends were cut to whole seconds, for a backup that really
 * took so long: 1.421 s is recorded as 1 or 2 s, so high is +0.421 and low -0.2895. high is NaN
 * below a second: it may be recorded as none. */
void history_rounding(double real_s, double *out_low, double *out_high);
