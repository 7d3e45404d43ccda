#pragma once
/* What the files of the bottleneck verdict share: the figures as words of one bit each, so that
 * verdict and advice are rows of tables. Pure. */
#include "jobs/measure/bottleneck.h"

/* The signs of one profile. Each group has exactly one bit set, the last group any. */
enum bottleneck_sign {
    /* the rate against the ceiling */
    SIGN_NEAR = 1 << 0, /* 90 % and more */
    SIGN_EDGE = 1 << 1, /* the interval holds 90 % and is narrow */
    SIGN_OPEN = 1 << 2, /* the interval holds 90 % and is wide, or there is no rate at all */
    SIGN_FAR = 1 << 3,  /* below 90 % */
    SIGN_ANY_RATE = SIGN_NEAR | SIGN_EDGE | SIGN_OPEN | SIGN_FAR,
    /* the writers */
    SIGN_WRITERS_IDLE = 1 << 4,
    SIGN_WRITERS_SOME = 1 << 5,
    SIGN_WRITERS_BUSY = 1 << 6,
    SIGN_WRITERS_FULL = 1 << 7, /* hardly a moment without waiting for the file */
    SIGN_WRITERS_UNSEEN = 1 << 8,
    SIGN_ANY_WRITERS = SIGN_WRITERS_IDLE | SIGN_WRITERS_SOME | SIGN_WRITERS_BUSY |
                       SIGN_WRITERS_FULL | SIGN_WRITERS_UNSEEN,
    /* the readers */
    SIGN_STARVING = 1 << 9, /* threads wait for buffers that reading does not fill */
    SIGN_FED = 1 << 10,
    SIGN_READERS_UNSEEN = 1 << 11,
    SIGN_ANY_READERS = SIGN_STARVING | SIGN_FED | SIGN_READERS_UNSEEN,
    /* the CPU */
    SIGN_CPU_FULL = 1 << 12,
    SIGN_CPU_DOUBTFUL = 1 << 13,
    SIGN_CPU_FREE = 1 << 14,
    SIGN_ANY_CPU = SIGN_CPU_FULL | SIGN_CPU_DOUBTFUL | SIGN_CPU_FREE,
    /* for the advice */
    SIGN_CPU_UNSEEN = 1 << 15,
    SIGN_MACHINE_FULL = 1 << 16,
    SIGN_BESIDE_DATA = 1 << 17,
    SIGN_ON_SHARE = 1 << 18,
    SIGN_LOG_BESIDE_DATA = 1 << 19,
    SIGN_ONE_VOLUME = 1 << 20,
    SIGN_SLOWEST_DRIVE = 1 << 21,
    SIGN_ONE_STRIPE = 1 << 22,
    SIGN_COMPRESSED = 1 << 23,
    SIGN_POOR_RATIO = 1 << 24,
    SIGN_TDE_RULE = 1 << 25, /* a version where TDE needs larger transfers to be compressed */
    SIGN_NO_RATE = 1 << 26,
    SIGN_ABOVE = 1 << 27, /* faster than the ceiling */
    SIGN_DISCARDS = 1 << 28,
    SIGN_GROWN = 1 << 29,        /* the data files grew in many steps */
    SIGN_LOCAL_FASTER = 1 << 30, /* a folder of this host was clearly faster than the share */
};

/* Adds what follows from a verdict. */
void bottleneck_add_advice(unsigned signs, struct bottleneck_verdict *verdict);

/* Adds the figures that the verdict rests on. */
void bottleneck_add_evidence(const struct bottleneck_profile *profile, unsigned signs,
                             struct bottleneck_verdict *verdict);

/* BACKUPIO of one writer; NaN unknown. */
double bottleneck_write_share(const struct bottleneck_profile *profile);

/* Threads that a backup keeps: one a drive it reads, one a stripe, one that leads them. */
int bottleneck_threads(const struct bottleneck_profile *profile);
