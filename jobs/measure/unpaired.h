#pragma once
/* One setting in two jobs: speeds that share no block. Welch's interval for the difference of the
 * mean logarithms, each job with its own noise. Chosen by simulation (tests/bench/bench_series,
 * 1,000 experiments a row): it covers 95 to 97 % under every noise tried, where one pooled variance
 * comes down to 93 % when one job is noisier than the other, and it finds 10 % under noise of 5 %
 * with five runs in 80 %, where the rank sum's finds 71 %. The rank sum bears outliers better
 * (77 % against 61 %); who calls this has set them aside. The interval knows the noise within the
 * jobs alone: that two days differ is what it shows, not what it allows for. Pure. */
#include "jobs/measure/stats.h"

/* base and now: speeds > 0. out's ratio is now / base (above 1: faster than before), its pairs is
 * the smaller count; low, high, level and p are NaN when one side has fewer than 2; without any
 * noise the interval is the point and p is NaN. arm and against are 0. */
void unpaired_compare(const double *base, size_t base_count, const double *now, size_t now_count,
                      double confidence, double tolerance, struct stats_comparison *out);
