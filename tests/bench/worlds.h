#pragma once
/* Simulated experiments with a known truth, as points that the analysis takes. All chance comes
 * from chance.h. */
#include "jobs/measure/design.h"
#include "jobs/measure/stats.h"
#include "jobs/measure/trial.h"

#include <stddef.h>

#define WORLD_ARMS 72
#define WORLD_CONFIDENCE 0.95
#define WORLD_TOLERANCE 0.02

/* One world to measure in. Arm 0 is the default. */
struct world {
    int arm_count;
    double truth[WORLD_ARMS];  /* true rate of each arm */
    double memory[WORLD_ARMS]; /* what it costs; of the default too, though nobody is told */
    int blocks;
    enum design_order order;
    double noise;    /* standard deviation of the logarithm */
    double drift;    /* change of the rate over the whole session, 0.2: ends 20 % higher */
    double outliers; /* share of trials slowed 1.5 to 3 times */
    bool stop_early;
};

/* The design of one experiment in it, with a drawn seed. */
struct design world_design(const struct world *world);

/* What a trial of arm measures when `when` (0 to 1) of the session is over. */
double world_measure(const struct world *world, int arm, double when);

/* All counted trials of one experiment; the caller frees them. */
struct stats_point *world_run(const struct world *world, size_t *out_count);

/* --- worlds with two swept options, for races --- */

enum field {
    FIELD_GRID, /* 12 buffer counts x 6 transfer sizes on a drawn saturating surface */
    FIELD_TOP,  /* as many as allowed within 3 % of the best, the others from there down to half */
};

#define FIELD_TOP_MOST 17 /* settings within 3 % of the best, at most */

/* Draws the truths of 72 settings; memory is that of the grid. Settings that go with arms as in a
 * sweep's plan: settings (owned by the caller: world_settings_free). */
void world_draw_field(enum field field, struct world *out, struct arm *out_arms);
void world_settings_free(struct arm *arms, int count);
