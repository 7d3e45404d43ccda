#pragma once
/* What limits a backup: reading, writing, the CPU, or nothing that these figures tell. From the
 * rate against the read ceiling (the same backup to NUL) first, then from waits and CPU, which
 * alone are hints only. At the ceiling the write side is never blamed. Pure; unknown is NaN. */
#include "server/json.h"

#include <stdbool.h>

enum bottleneck {
    BOTTLENECK_READ,
    BOTTLENECK_WRITE,
    BOTTLENECK_CPU,
    BOTTLENECK_BALANCED,
    BOTTLENECK_UNSURE,
};
const char *bottleneck_name(enum bottleneck bottleneck); /* "read", "write", … */

/* A figure with its interval. Where a rate has none, the fraction is taken to be within 3 %. */
struct bottleneck_range {
    double value, low, high;
};

/* Where things lie, for the advice. */
struct bottleneck_layout {
    bool beside_data;          /* a folder of the target is on a drive with data files */
    bool on_share;             /* a folder of the target is a network share */
    bool log_beside_data;      /* the log file is on a drive with data files */
    int data_volumes;          /* drives with data files; 0 unknown */
    const char *slowest_drive; /* of the data, when one stands out; NULL */
    int64_t growths;           /* of data files, by the default trace; 0 none or unknown */
    const char *growths_since; /* when the trace begins; NULL unknown */
    double local_mib_s;        /* what a folder of the server's own took in the same job, where this
                                  target is on a share and that was clearly faster; 0: none was */
};

struct bottleneck_profile {
    struct bottleneck_range rate;     /* MiB/s of data to the target */
    struct bottleneck_range ceiling;  /* MiB/s to NUL */
    struct bottleneck_range fraction; /* of both, compared block by block; low NaN: taken from
                                         the two */
    /* shares of the backup's time, threads added up: two threads waiting all along make 2 */
    double write_wait;    /* BACKUPIO: for the backup file */
    double buffer_wait;   /* BACKUPBUFFER: for a buffer */
    double read_wait;     /* ASYNC_IO_COMPLETION: for the data files */
    double cpu_cores;     /* cores that the whole server process kept busy */
    int cpu_count;        /* of the machine; below 1: unknown */
    int writers;          /* stripes: one writing thread each; at least 1 */
    int ceiling_files;    /* of the backup to NUL; 0 counts as 1 */
    bool discards;        /* the target is NUL itself: nothing is written */
    bool compressed;      /* or may be */
    double ratio;         /* data / backup file; NaN: unknown, nothing written */
    int server_major;     /* 9 = 2005 …; 0 unknown */
    int64_t server_build; /* the third part of the version; below 1 unknown */
    struct bottleneck_layout layout;
};

struct bottleneck_verdict {
    enum bottleneck bottleneck;
    double fraction, low, high; /* of the ceiling; NaN unknown */
    cJSON *evidence;            /* texts: figures, and what was concluded from them; owned */
    cJSON *advice;              /* texts: what to do or to measure, each with its reason; owned */
};

/* Fills *out. */
void bottleneck_judge(const struct bottleneck_profile *profile, struct bottleneck_verdict *out);
void bottleneck_verdict_fini(struct bottleneck_verdict *verdict);
