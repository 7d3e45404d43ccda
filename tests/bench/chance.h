#pragma once
/* Chance for simulations: the same numbers from the same seed on every machine. One thread. */
#include <stdint.h>

void chance_seed(uint64_t seed);
double chance(void); /* uniform in (0, 1) */
double chance_between(double low, double high);
double chance_normal(void); /* mean 0, standard deviation 1 */
