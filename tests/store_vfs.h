#pragma once
/* A disk that fails: a SQLite VFS in front of the system's that counts flushes, makes writes and
 * flushes fail, and at a chosen moment ends the process as kill -9 or as a power cut would (what
 * was not flushed is lost or torn). Counts are over all files. Threads: any. */
#include <stdatomic.h>

enum vfs_death {
    VFS_KILL,  /* SIGKILL before the operation */
    VFS_POWER, /* the same, after undoing a random half of the writes that were not flushed */
};

struct vfs_faults {
    atomic_int log_syncs;      /* flushes of the log so far: commits */
    atomic_int operations;     /* writes, truncations and flushes so far */
    atomic_int fail_at;        /* this operation fails; 0: none */
    atomic_int fail_count;     /* and this many after it fail too */
    atomic_int fail_only_sync; /* writes do not count for fail_at */
    atomic_int die_at;         /* at this operation the process ends; 0: never */
    enum vfs_death death;
    unsigned seed; /* what is lost in a power cut */
    /* Called once, when the next writer gives its lock back: what it committed can be seen, and it
     * knows nothing of that yet. NULL: not. In the writer's thread, which it keeps waiting. */
    void (*_Atomic committed)(void *ctx);
    void *committed_ctx; /* set before it */
};
extern struct vfs_faults vfs_faults;

/* Makes it the default for all databases opened from now on. */
void vfs_install(void);

/* Counts from zero, without faults. */
void vfs_reset(void);
