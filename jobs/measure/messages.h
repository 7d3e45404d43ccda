#pragma once
/* Reading what BACKUP says, by message number and digits, never by words (domain.md §2).
 * Pure; works in any language. */
#include <stdbool.h>
#include <stdint.h>

/* The numbers we know, each named once. */
enum message_number {
    MESSAGE_FILE_PAGES = 4035,
    MESSAGE_PROGRESS = 3211,
    MESSAGE_SUCCESS = 3014,
    MESSAGE_TERMINATED = 3013,
    MESSAGE_ABORTED = 3204,
    MESSAGE_NO_MEMORY = 701,
    MESSAGE_NO_BUFFER = 802,
    MESSAGE_NOT_IN_EDITION = 1844,
    MESSAGE_LOGIN_FAILED = 18456,
};

/* True when the login or a right is missing (18456, 18486-18488, 4060, 916, 262, 229, …): trying
 * again would only lock the login out (api.md §2). */
bool message_is_refusal(int number);

/* True when the database itself cannot be backed up now (missing, offline, restoring, suspect, in a
 * transaction …): no arm would do better, so the run ends (domain.md 2.2). */
bool message_is_hopeless(int number);

/* True when a retry may help (deadlock 1205, lock time-out 1222, serialised file change 3023). */
bool message_is_passing(int number);

/* True when what was asked for is not there, or not for this login: a view, a column or a procedure
 * of other versions, or a right to read it. Asking again would not help. */
bool message_is_absence(int number);

/* True when memory is short (701, 802, 8645): nothing above this memory size is tried. */
bool message_is_memory(int number);

enum printed_unit { UNIT_UNKNOWN, UNIT_MIB, UNIT_MB };

/* Numbers of a 3014 line. */
struct backup_line {
    int64_t pages;
    double seconds;         /* one millisecond resolution */
    double printed_rate;    /* as printed, in `unit` */
    enum printed_unit unit; /* 2^20 or 10^6 by the range rule of domain.md 2.3; UNKNOWN: open */
    bool consistent;        /* the printed rate fits pages and seconds in some unit */
};

/* Scans digits: the first whole number is pages, then N.NNN seconds, then N.NNN rate. Digits in
 * the statement's own words (none in practice) or database names are not in 3014. False when the
 * three numbers are not there. */
bool message_read_success(const char *text, struct backup_line *out);

/* Percent of a 3211 line in any language (0..100), or -1. */
int message_read_percent(const char *text);

/* Collects one BACKUP: feed every message, then ask. Zero it first. */
struct backup_messages {
    bool success_seen; /* 3014 */
    struct backup_line line;
    int percent;          /* last progress, 0 at first */
    int error_number;     /* first error above severity 10 that is not 3013; else 3013; 0 none */
    char error_text[480]; /* its text */
    int errors;           /* how many above severity 10 */
};
void backup_messages_take(struct backup_messages *messages, int number, int severity,
                          const char *text);
/* Success = 3014 seen, no error above severity 10, and the batch itself ended well. */
bool backup_messages_ok(const struct backup_messages *messages, bool batch_ok);
