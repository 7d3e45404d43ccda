#include "tests/bench/chance.h"

#include <math.h>

static uint64_t state;

void chance_seed(uint64_t seed)
{
    state = seed;
}

double chance(void) /* SplitMix64, as jobs/measure/design.c has it */
{
    state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    mixed ^= mixed >> 31;
    return ((double)(mixed >> 11) + 0.5) / 9007199254740992.0;
}

double chance_between(double low, double high)
{
    return low + (high - low) * chance();
}

double chance_normal(void) /* Box and Muller */
{
    double radius = sqrt(-2 * log(chance()));
    return radius * cos(2 * acos(-1) * chance());
}
