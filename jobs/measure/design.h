#pragma once
/* The design of an experiment: which arm runs when. Pure; the same seed gives the same order on
 * every machine (own integer generator, no floating point). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum design_order { DESIGN_RANDOM_BLOCKS, DESIGN_ABBA, DESIGN_SEQUENTIAL };

struct design {
    enum design_order order;
    int64_t repetitions; /* blocks, 1..100; ABBA rounds odd ones up */
    int64_t warmups;     /* per arm, 0..10 */
    int64_t seed;        /* 0..2^53 */
    bool race;           /* search "race": beaten arms are dropped after each block */
    bool stop_early;
    double confidence;       /* 0.5..0.999 */
    double tolerance;        /* 0..0.5: what counts as no difference */
    int64_t max_repetitions; /* bound of repeats of contaminated trials per arm */
};

/* One planned trial. */
struct design_step {
    int arm;
    int block; /* from 1; 0 for warm-ups */
    bool warmup;
};

const char *design_order_name(enum design_order order); /* "random_blocks", "abba", "sequential" */

/* How many blocks the design runs: its repetitions, an odd number rounded up for ABBA. */
int design_blocks(const struct design *design);

/* The whole order, warm-ups (arms shuffled too, unless sequential) before block 1. ABBA: arms
 * first_arm and first_arm + 1 are a pair (off, on), so are the next two, and so on; each pair runs
 * off, on, on, off over two blocks before the next pair does. Sequential: every block in the order
 * of the arms. The caller frees the array. first_arm..first_arm+arm_count-1 are the arms;
 * first_block is the first block's number less one (a confirmation phase goes on counting). */
struct design_step *design_steps(const struct design *design, int first_arm, int arm_count,
                                 int first_block, size_t *out_count);
