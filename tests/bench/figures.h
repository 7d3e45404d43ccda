#pragma once
/* The figures of experiments.md §4, each measured over simulated experiments that go through the
 * same design, looks, comparison, sweet spot and verdict as real ones. A share of the experiments,
 * where nothing else is said. */
#include "tests/bench/worlds.h"

/* Two arms, or twelve; arm 1 is the other one. */
double figure_coverage(const struct world *world, int experiments);
double figure_excludes_one(const struct world *world, int experiments); /* equal arms */
double figure_says_different(const struct world *world, int experiments);
double figure_says_faster(const struct world *world, int experiments);

/* Arms in the order of their cost, the default first. */
double figure_spot_within_a_step(const struct world *world, int experiments);
double figure_spot_memory(const struct world *world, int experiments); /* median, of the least */
double figure_keeps_default(const struct world *world, int experiments);

/* Races between 72 settings; the worlds are drawn, `world` tells blocks and noise. */
double figure_race_trials_grid(const struct world *world, int experiments); /* 90th percentile */
double figure_race_trials_top(const struct world *world, int experiments);
double figure_race_best_grid(const struct world *world, int experiments);
double figure_race_best_top(const struct world *world, int experiments);
double figure_race_spot_grid(const struct world *world, int experiments);
double figure_race_spot_top(const struct world *world, int experiments);

/* Bottleneck verdicts; `world` is not looked at. */
double figure_labelled(const struct world *world, int experiments);
double figure_ambiguous(const struct world *world, int experiments);
