#pragma once
/* Do no harm, as one table: what is known before a job is taken, claimed, planned, before each of
 * its trials and while it runs, and what follows from that. The first row that applies decides.
 * Pure: whoever asks brings the clock and the figures. (reliability.md §5, Q6 to Q10) */
#include "server/json.h"

#include <stdbool.h>
#include <stdint.h>

/* When a row is asked. */
enum guards_moment {
    GUARDS_SUBMIT = 1,    /* a job comes in */
    GUARDS_CLAIM = 2,     /* it may start */
    GUARDS_PREFLIGHT = 4, /* what the server is and has, before the first trial */
    GUARDS_TRIAL = 8,     /* before each trial */
    GUARDS_RUNNING = 16,  /* again and again while a trial runs */
};

enum guards_verdict {
    GUARDS_GO,
    GUARDS_WARN,     /* goes on, and the report says it */
    GUARDS_WAIT,     /* not now */
    GUARDS_REPEAT,   /* the trial is contaminated, and repeated as often as the design allows */
    GUARDS_FAIL,     /* the trial fails, and with it its arm */
    GUARDS_TIME_OUT, /* the job is over */
    GUARDS_REFUSE,   /* the job fails, or is not taken */
};

enum guards_role { GUARDS_ROLE_NONE, GUARDS_PRIMARY, GUARDS_SECONDARY, GUARDS_RESOLVING };

/* What is known; start from GUARDS_INPUT. Unknown numbers are -1. Texts are borrowed. */
struct guards_input {
    enum guards_moment moment;
    const char *name; /* what the answer is about: an instance, a database, a folder; or NULL */
    const char *what; /* writes into the folder: "backup", "trial" */

    /* production: api.md §2 */
    bool production, confirmed, has_windows;

    /* who else is there: api.md §2 */
    bool paused;    /* POST /v1/mode: nothing starts */
    bool held;      /* a login was refused: nothing starts until somebody has looked */
    bool exclusive; /* the job measures */
    bool instance_busy, lane_busy;
    bool cleanup_pending; /* something that another job changed there is not undone yet */

    /* time; wall milliseconds */
    bool ignores_windows;
    bool window_open;
    int64_t now_ms;
    int64_t closes_at;         /* when the window closes; 0: it does not */
    int64_t deadline_at;       /* of the job; 0: none */
    int64_t longest_ms;        /* what the next trial takes by the job's own trials; -1 unknown */
    int64_t used_ms, limit_ms; /* of limits.minutes, over all tries of the job */

    /* memory for buffers: domain.md 1.4 */
    int64_t buffercount;     /* 0: the server's choice, which is not judged */
    int64_t maxtransfersize; /* bytes; 0: the server's choice, counted as 1 MiB */
    const char *compression;
    int64_t memory_limit_mib; /* the tighter of the job's and the instance's */
    int64_t free_memory_mib;  /* available on the server now */

    /* room on one volume: domain.md 5 */
    bool writes;                /* something is written there */
    int64_t bytes;              /* what may stand there at once, nothing compressed; -1 unknown */
    int64_t preallocated_bytes; /* asked for at once by a compressed backup; 0: nothing */
    int64_t backups;            /* of so many backups */
    int64_t free_bytes;
    int64_t margin_mib; /* limits.min_free_disk_mib: stays free */

    /* others' work on the instance: BACKUP, RESTORE, DBCC (CHECKDB, shrinks) */
    const char *foreign; /* its command, or NULL */
    int64_t waited_ms;   /* for it, before this trial */

    /* availability groups */
    enum guards_role role;
    enum guards_role role_before; /* when the job was prepared */
    bool workload_writes;         /* into the database itself */
};

/* Nothing known and nothing in the way. */
extern const struct guards_input GUARDS_INPUT;

/* How long a trial waits for somebody else's work before it counts as contaminated. */
#define GUARDS_FOREIGN_WAIT_MS 60000

/* Of the available memory, buffers get at most this part. */
#define GUARDS_MEMORY_PERCENT 25

#define GUARDS_TEXT_SIZE 320

struct guards_answer {
    enum guards_verdict verdict;
    const char *reason;          /* of GUARDS_WAIT: a state_reason of api.md §3; else NULL */
    int number;                  /* the SQL Server message that tells the same; 0: none */
    char text[GUARDS_TEXT_SIZE]; /* a sentence for people, with the figures; "" for GUARDS_GO */
};

struct guards_answer guards_judge(const struct guards_input *input);

/* How many rows there are, and the name of one, for tests. */
size_t guards_count(void);
const char *guards_name(size_t index);
/* Whether this row alone applies. */
bool guards_applies(size_t index, const struct guards_input *input);
