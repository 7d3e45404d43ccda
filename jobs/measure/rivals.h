#pragma once
/* Which arms compete for a recommendation, and the race between them (design "search": "race").
 *
 * Arms of one target compete; other targets are other places, not other settings. After each block
 * from the second on the race asks the sweet spot's own rule, and arms that would not qualify are
 * dropped: what is known to be no answer is not run again. Baselines are never dropped: every
 * comparison needs them. Where the blocks of the first phase end, so does the race: confirmations
 * run in full. Everything follows from stored trials, so a resumed job drops the same arms. Pure.
 *
 * Why this rule: it is the one that judges in the end, so what it drops is no answer. Each look
 * risks ten times the error asked for (0.5 at 0.95): an arm goes when its estimate lies more than
 * the tolerance below the best, and it is shown, corrected for the number of arms, to be below it
 * at all. A good arm that is dropped costs little, since others as good remain. Measured
 * (tests/bench/statistics; 72 arms of which 17 lie within 3 % of the best, 10 blocks, noise 2 %,
 * warm-ups counted): the 90th percentile of trials is 46 % of the full grid at the error asked
 * for, 43 % at four times, 40 % at ten times, and what is recommended lies within 3 % of the true
 * best in 99 % of races; on drawn grids in 92 %, 95 % and 96 %. */
#include "jobs/measure/report.h"
#include "jobs/measure/sweetspot.h"

/* What is known of each arm after the trials of blocks 1..last_block, for sweetspot_find over the
 * arms that compete with arm `leader`; the others are not eligible. cpu_s stays NaN. out has room
 * for every arm. */
void rivals_of(const struct bundle *bundle, int leader, int last_block, struct sweetspot_arm *out);

/* True when both run at the same target. */
bool rivals_compete(const struct arm *a, const struct arm *b);

/* A failed arm is shown, never recommended; nor is one that needs as much memory as what ran out,
 * though its own trials came before that and went well. By trials of blocks 0..last_block. */
bool rivals_is_out(const struct bundle *bundle, int arm, int last_block);

struct race {
    int looked;     /* blocks looked at so far */
    int *after;     /* per arm: the block after which it was dropped; 0: it runs */
    int *beaten_by; /* per dropped arm: the fastest of that look */
};

void race_init(struct race *race, size_t arm_count); /* at most so many arms */
void race_fini(struct race *race);

/* Looks at what blocks race->looked + 1 .. block have shown, one after the other. Nothing for a
 * design without race, or beyond its repetitions. Points of later blocks are not seen. */
void race_look(struct race *race, const struct bundle *bundle, const struct stats_point *points,
               size_t point_count, int block);
