#pragma once
/* The data of an experiment: arms (one setting each) and trials (one timed execution of an arm),
 * and their JSON as api.md §3 and §4 give it. Pure: no clock, I/O or thread.
 * Unknown numbers are NaN (double) or -1 (int64_t, where the quantity cannot be negative). */
#include "server/err.h"
#include "server/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arm {
    int index;                /* 0, 1, … in the order of the plan; "a0", "a1" … outside */
    char *label;              /* "BUFFERCOUNT=50", heap */
    cJSON *settings;          /* api.md §4 "Arms", owned */
    bool baseline;            /* every swept option "default" */
    int against;              /* index of the baseline of its group; its own index for a baseline */
    double buffer_memory_mib; /* NaN: unknown (BUFFERCOUNT is the server's choice) */
};

void arm_fini(struct arm *arm);
void arms_free(struct arm *arms, size_t count);

#define ARM_NAME_SIZE 16
/* "a7" for 7; returns out. */
const char *arm_name(int index, char out[ARM_NAME_SIZE]);
/* 7 for "a7"; -1 when text is no arm's name. */
int arm_index(const char *name);

/* One arm as stored in a plan: arm, label, settings, baseline, against (names: "a0"),
 * buffer_memory_mib. Members from_json does not know are left alone. */
cJSON *arm_to_json(const struct arm *arm);
MUST_CHECK int arm_from_json(const cJSON *tree, struct arm *out, struct err *err);

enum trial_status { TRIAL_OK, TRIAL_FAILED, TRIAL_CONTAMINATED, TRIAL_CANCELLED };

struct trial {
    int64_t seq; /* from 1, in the order of execution; a repeat gets the next one */
    int block;   /* from 1; 0 for warm-ups */
    int arm;     /* index */
    bool warmup;
    enum trial_status status;
    int64_t started_at;   /* wall milliseconds */
    double elapsed_s;     /* our monotonic clock, from send to the last DONE */
    double server_s;      /* as 3014 reports it; NaN when it reports none */
    int64_t pages;        /* 8 KiB each */
    int64_t bytes;        /* pages * 8192 */
    int64_t file_bytes;   /* size of the backup as the server records it; 0 on NUL */
    int64_t peak_bytes;   /* most that its files took on disk while it ran; -1 not watched */
    double cpu_s;         /* user + kernel of the whole SQL Server process */
    int64_t cpu_count;    /* of the server, for cpu_percent; -1 unknown */
    cJSON *waits;         /* array, owned; NULL means [] */
    cJSON *reads_by_file; /* array, owned; NULL means [] */
    double create_s;      /* snapshots; NaN */
    cJSON *notes;         /* array of texts, owned; NULL means [] */
    int64_t error_number; /* 0: none */
    char *error_text;     /* heap, or NULL */
    char *error_step;     /* "backup", "delete", heap, or NULL */
};

/* The note of a trial whose printed rate does not follow from its pages and seconds; the report
 * warns of it. */
#define TRIAL_NOTE_PRINTED_RATE "the printed rate does not fit the printed pages and seconds"

/* A trial with every number unknown. */
struct trial trial_new(int64_t seq, int block, int arm, bool warmup);
void trial_fini(struct trial *trial);
void trials_free(struct trial *trials, size_t count);
void trial_note(struct trial *trial, const char *text);

/* Bytes / server_s, else bytes / elapsed_s, in MiB/s (2^20); NaN when there is none, also for
 * zero pages or zero seconds (a success without data is no rate). */
double trial_rate(const struct trial *trial);

/* What comparisons are made of: the rate, or, where the statement moves no counted pages (pages
 * -1: a workload of snapshots), runs per second of the server's clock or ours. NaN: none. */
double trial_speed(const struct trial *trial);

/* True when it enters statistics: ok, no warm-up, a speed. */
bool trial_counts(const struct trial *trial);

#define TRIAL_LOST_STEP "connection" /* error_step of a trial whose connection was lost */
bool trial_was_lost(const struct trial *trial);

/* The members of api.md §3 "Trials", `peak_file_bytes` where known, and `cpu_count`, without which
 * cpu_percent could not be computed again; seconds rounded to microseconds, rates to 6 significant
 * digits. from_json reads what to_json wrote (rate_mib_s and cpu_percent are computed again, never
 * read); members it does not know are left alone. */
cJSON *trial_to_json(const struct trial *trial);
MUST_CHECK int trial_from_json(const cJSON *tree, struct trial *out, struct err *err);
