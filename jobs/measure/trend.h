#pragma once
/* Change points of a series, by the divisive half of E-divisive (Matteson and James, 2014): the cut
 * whose two sides differ most by energy distance is taken when few shuffles of the stretch give a
 * larger one, then both sides are looked at alone. It sees steps up and down and needs no model of
 * the noise, which is long-tailed here. The shuffles are seeded: the same series gives the same
 * answer everywhere. Pure. */
#include <stddef.h>
#include <stdint.h>

#define TREND_LEVEL 0.01 /* a stretch without a change is cut so often, at most */
#define TREND_SHORTEST 3 /* points on each side of a cut */

struct trend_change {
    size_t at;    /* index of the first point after it */
    double ratio; /* median of the stretch after it (up to the next) / median before it */
    double p;     /* of the shuffles */
};

/* values: > 0, in the order of time. out has room for count; returns how many, in order. */
size_t trend_changes(const double *values, size_t count, uint64_t seed, struct trend_change *out);
