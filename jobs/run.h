#pragma once
/* One running job: everything that lives from the claim to its end, freed in one place.
 * Threads: the worker owns it; others only call run_stop and read the atomics. */
#include "jobs/definition.h"
#include "jobs/instance.h"
#include "jobs/jobs.h"
#include "jobs/looks.h"
#include "jobs/plan.h"
#include "jobs/probe.h"
#include "server/buf.h"
#include "server/lock.h"
#include "server/mssql.h"

#include <stdatomic.h>

/* Why a run is asked to stop. */
enum run_stop {
    RUN_GO,       /* it is not */
    RUN_CANCEL,   /* somebody cancelled the job */
    RUN_OVERTIME, /* limits.minutes or the deadline passed */
    RUN_WINDOW,   /* the maintenance window closes: it goes on in the next one */
    RUN_BUSY,     /* another service measures on the server: it is tried again later */
    RUN_SHUTDOWN, /* the daemon ends: it goes on after the next start */
};

/* What is known of the lock on the server (jobs/applock.h), for the run's session. */
enum run_lock {
    RUN_LOCK_UNASKED,
    RUN_LOCK_HELD,
    RUN_LOCK_ABSENT, /* the server has none for us */
};

/* What all trials together may need; -1 unknown. */
struct run_estimate {
    int64_t read_mib;
    int64_t written_mib;
};

struct run {
    const struct jobs_parts *parts;
    struct job_row row; /* our copy; the store's is updated from it */
    cJSON *tree;        /* the stored definition, which `definition` borrows from */
    struct definition definition;
    struct instance instance;
    struct limits limits; /* the tighter of job and instance */
    struct plan plan;
    cJSON *gathered;      /* what a kind found beside its trials, or NULL; owned */
    struct trial *trials; /* all stored ones, oldest first */
    size_t trial_count;
    size_t trial_capacity;
    int64_t next_seq;
    bool *dropped;                /* per arm: failed, so its further trials are left out */
    struct looks looks;           /* what is left out because enough is known */
    double failed_memory;         /* buffer memory that ran out; INFINITY while none did */
    int64_t bytes_read;           /* by all trials of this job */
    int64_t bytes_written;        /* to files */
    struct run_estimate estimate; /* by the preflight */
    struct probe probe;
    bool connected;      /* a login succeeded */
    bool left_session;   /* one broke or was given up, and may still work on the server */
    bool gave_up;        /* one was given up: a cancel was not answered */
    bool looks_only;     /* for a plan: nothing is changed, on the server or in the store */
    bool no_history;     /* msdb cannot be read */
    bool no_roles;       /* the server shows no availability replicas, or not to this login */
    struct buf warnings; /* one line each, for the report */
    int64_t stop_at_ns;  /* clock_mono_ns() at which limits.minutes are used up, by this and earlier
                            tries; set once before the run is shared */
    int64_t began_at;    /* wall ms, when this try of the job began. Never changes */
    int64_t began_ns;    /* the same moment of clock_mono_ns() */
    int64_t deadline_at; /* wall ms, the job's own deadline; 0: none. Never changes */
    _Atomic int64_t closes_at; /* wall ms at which the window closes; 0: it does not */
    /* ids of intents that are undone on the server and still open in the store, which could not be
       written then; owned. The ending stores them (journal_mark_work) */
    char **unmarked;
    size_t unmarked_count;
    size_t unmarked_capacity;
    bool settled;               /* its end, or that it goes on later, is stored */
    atomic_bool draining;       /* the daemon ends, whatever stopped the run first */
    atomic_int stop;            /* enum run_stop */
    atomic_int current_percent; /* of the running trial, -1 unknown */
    /* when the running trial is given up (its snapshots are too old), clock_mono_ns(); 0: never */
    _Atomic int64_t trial_until_ns;
    struct wait stopped;        /* signalled under lock when stop changes */
    struct lock lock;           /* guards the members below */
    struct job_current current; /* but for its percent */
    /* only the worker sets it, so that the worker may read it without the lock */
    struct mssql *session;
    struct mssql *second;  /* of another login, for as long as its workload runs; or NULL */
    struct mssql *looker;  /* of our own login, for looking on while `session` is busy; or NULL */
    enum run_lock applock; /* the worker's alone; anew with each session */
    bool undisturbed;      /* what is sent now cleans up: a stop does not cancel it */
};

/* Reads the row's definition and its instance from the store. Takes row over (zeroed), also on
 * failure; run_free frees *out_run. */
MUST_CHECK int run_new(const struct jobs_parts *parts, struct job_row *row, struct run **out_run,
                       struct err *err);
void run_free(struct run *run);

/* The instance as it is registered now; instance_fini frees. */
MUST_CHECK int run_read_instance(const struct run *run, struct instance *out, struct err *err);

/* From any thread: the first reason stays; a running statement is cancelled, unless it cleans up. A
 * statement that only begins just now may be missed: call it again as long as the run goes on. */
void run_stop(struct run *run, enum run_stop why);

/* From any thread: when the running trial's time is over its statement is cancelled; the run goes
 * on. To be called again as run_stop. */
void run_give_up_trial(struct run *run, int64_t mono_ns);

/* True when the running trial's time is over and the run is not asked to stop. */
bool run_trial_is_over(struct run *run);

/* From now on (true) a stop cancels nothing. Returns what it was. */
bool run_keep_undisturbed(struct run *run, bool undisturbed);

/* ERR_CANCELLED when the run is asked to stop. */
MUST_CHECK int run_go_on(struct run *run, struct err *err);

/* How long the job has run by this moment of clock_mono_ns(), over all its tries. Any thread. */
int64_t run_used_ms(const struct run *run, int64_t mono_ns);

/* Which trial runs now (arm -1: none); any thread may ask. */
void run_set_current(struct run *run, int arm);
struct job_current run_get_current(struct run *run);

/* Waits, at most until the run is asked to stop (ERR_CANCELLED then). */
MUST_CHECK int run_pause(struct run *run, int64_t ms, struct err *err);

/* Waits, at most until the daemon ends; true when it does. */
bool run_rest(struct run *run, int64_t ms);

/* Logs in (closing a dead session first), sets the session's options. */
MUST_CHECK int run_connect(struct run *run, struct err *err);
void run_disconnect(struct run *run);

/* One more session of the same login, for looking on while the run's own is busy. No stop cancels
 * it; the caller closes it. */
MUST_CHECK int run_open_session(struct run *run, struct mssql **out_session, struct err *err);
/* Such a session that lasts as long as the run: run->looker, opened when there is none or it is
 * dead. */
MUST_CHECK int run_open_looker(struct run *run, struct err *err);
/* Opens run->second, a session of another login (password: a reference). A stop cancels what runs
 * there too. run_close_second ends it, and accepts that there is none. */
MUST_CHECK int run_open_second(struct run *run, const char *login, const cJSON *password,
                               struct err *err);
void run_close_second(struct run *run);

/* The session, for the worker. */
struct mssql *run_session(struct run *run);

/* True when a session of this run was given up: the server may still be at its statement, whose
 * effects must not be touched yet. */
bool run_gave_up(const struct run *run);

/* True once a login succeeded in this run. */
bool run_session_was_open(const struct run *run);

/* Reads what kind of server this is into run->plan.facts. */
MUST_CHECK int run_read_facts(struct run *run, struct err *err);

/* Adds a line to the report's warnings, once. */
void run_warn(struct run *run, const char *format, ...) PRINTF_LIKE(2, 3);

/* Appends a finished trial (its contents move in) and counts what it read and wrote. */
void run_add_trial(struct run *run, struct trial *trial);
