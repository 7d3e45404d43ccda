#include "jobs/measure/design.h"

#include "server/mem.h"

#include <assert.h>
#include <stdlib.h>

static const char *const order_names[] = {
    [DESIGN_RANDOM_BLOCKS] = "random_blocks",
    [DESIGN_ABBA] = "abba",
    [DESIGN_SEQUENTIAL] = "sequential",
};

const char *design_order_name(enum design_order order)
{
    return order_names[order];
}

int design_blocks(const struct design *design)
{
    int blocks = (int)design->repetitions;
    return design->order == DESIGN_ABBA ? blocks + blocks % 2 : blocks;
}

/* SplitMix64 (Steele, Lea, Flood, 2014): 64 bits of state, whole numbers only, so that every
 * machine draws the same order. */
static uint64_t draw(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

/* Uniform in 0..bound-1. What lies in the last, incomplete run of bounds is drawn again: without
 * that the first arms would run early a little more often than the others. */
static size_t draw_below(uint64_t *state, size_t bound)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t number = draw(state);
    while (number >= limit)
        number = draw(state);
    return (size_t)(number % bound);
}

static void shuffle(int *numbers, size_t count, uint64_t *state)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = draw_below(state, i);
        int kept = numbers[i - 1];
        numbers[i - 1] = numbers[other];
        numbers[other] = kept;
    }
}

/* What is being laid out. */
struct layout {
    struct design_step *steps;
    size_t count;
    uint64_t random;
    int first_arm;
};

static void put(struct layout *layout, int arm, int block, bool warmup)
{
    layout->steps[layout->count++] =
        (struct design_step){.arm = layout->first_arm + arm, .block = block, .warmup = warmup};
}

static void put_all(struct layout *layout, const int *order, int arm_count, int block)
{
    for (int i = 0; i < arm_count; i++)
        put(layout, order[i], block, block == 0);
}

/* Two blocks at once: each pair of neighbours runs A B B A, so that a steady drift weighs on both
 * alike and a flag is switched as seldom as can be. The pairs take turns in random order. */
static void put_abba(struct layout *layout, const int *pairs, int arm_count, int block)
{
    for (int i = 0; i < (arm_count + 1) / 2; i++) {
        int one = 2 * pairs[i];
        int other = one + 1 < arm_count ? one + 1 : -1; /* the last of an odd number runs alone */
        put(layout, one, block, false);
        if (other >= 0) {
            put(layout, other, block, false);
            put(layout, other, block + 1, false);
        }
        put(layout, one, block + 1, false);
    }
}

struct design_step *design_steps(const struct design *design, int first_arm, int arm_count,
                                 int first_block, size_t *out_count)
{
    bool abba = design->order == DESIGN_ABBA;
    bool shuffled = design->order != DESIGN_SEQUENTIAL;
    int warmups = (int)design->warmups;
    int blocks = design_blocks(design);
    assert(arm_count >= 0 && warmups >= 0 && blocks >= 0);
    size_t total = (size_t)arm_count * (size_t)(warmups + blocks);
    struct layout layout = {.steps = mem_alloc(total, sizeof *layout.steps),
                            .random = (uint64_t)design->seed,
                            .first_arm = first_arm};
    int *order = mem_alloc((size_t)arm_count, sizeof *order);

    for (int i = 0; i < arm_count; i++)
        order[i] = i;
    for (int i = 0; i < warmups; i++) {
        if (shuffled)
            shuffle(order, (size_t)arm_count, &layout.random);
        put_all(&layout, order, arm_count, 0);
    }
    for (int i = 0; abba && i < arm_count; i++)
        order[i] = i; /* from here on numbers of pairs */
    for (int i = 1; i <= blocks; i += abba ? 2 : 1) {
        if (shuffled)
            shuffle(order, (size_t)(abba ? (arm_count + 1) / 2 : arm_count), &layout.random);
        if (abba)
            put_abba(&layout, order, arm_count, first_block + i);
        else
            put_all(&layout, order, arm_count, first_block + i);
    }
    assert(layout.count == total);
    free(order);
    *out_count = total;
    return layout.steps;
}
