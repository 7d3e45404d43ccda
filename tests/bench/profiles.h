#pragma once
/* Backups drawn from a model of a pipeline, with what would be seen of them: to measure how often
 * the bottleneck verdict is right. All chance comes from chance.h. */
#include "jobs/measure/bottleneck.h"

/* A host whose backups are limited by this, seen through five noisy runs. Not for
 * BOTTLENECK_UNSURE. */
struct bottleneck_profile profile_labelled(enum bottleneck label);

#define AMBIGUOUS_KINDS 6
/* One of which nobody could tell what limits it; which: 0..AMBIGUOUS_KINDS-1. */
struct bottleneck_profile profile_ambiguous(int which);
