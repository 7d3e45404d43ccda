#include "tests/bench/profiles.h"

#include "tests/bench/chance.h"

#include <math.h>
#include <stdlib.h>

static const struct bottleneck_range unknown = {NAN, NAN, NAN};

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Five runs: their median, and all of them as its interval. */
static struct bottleneck_range runs_of(double rate, double noise)
{
    double runs[5];
    for (size_t i = 0; i < JSON_COUNT(runs); i++)
        runs[i] = rate * exp(noise * chance_normal());
    qsort(runs, JSON_COUNT(runs), sizeof runs[0], by_value);
    return (struct bottleneck_range){runs[2], runs[0], runs[4]};
}

/* Stages of a pipeline disturb each other when they are close. */
static double slower(double a, double b)
{
    return pow(pow(a, -8) + pow(b, -8), -1.0 / 8);
}

/* What a host can do, as shares of its reading. */
struct host {
    double write, cpu;    /* capacity of the target and of the CPU */
    double read_beside;   /* reading while this target is written: 1 undisturbed */
    double cached_writes; /* share of the writing that a cache takes at once */
    double noise;
};

/* A writer waits as long as the target works, a buffer is missed while reading is what the others
 * wait for, the CPU is used as its share of capacity. */
static struct bottleneck_profile observe(const struct host *host, bool compressed)
{
    double scale = chance_between(50, 3000);
    double ceiling = slower(1, host->cpu);
    double reading = slower(host->read_beside, host->cpu);
    double rate = slower(reading, host->write);
    double busy = rate / host->write * (1 - host->cached_writes);
    double hungry = fmax(0, rate / reading - busy);
    int writers = (int)chance_between(1, 8.99);
    int volumes = (int)chance_between(1, 3.99);
    struct bottleneck_profile profile = {
        .rate = runs_of(scale * rate, host->noise),
        .ceiling = runs_of(scale * ceiling, host->noise),
        .fraction = unknown,
        .write_wait = 0.9 * busy * writers * chance_between(0.9, 1.1),
        .buffer_wait = 0.8 * hungry * chance_between(0.9, 1.1),
        .read_wait = chance_between(0.9, 1),
        .cpu_count = 64,
        .writers = writers,
        .compressed = compressed,
        .ratio = compressed ? chance_between(1.5, 6) : 1,
        .server_major = 16,
        .layout = {.data_volumes = volumes},
    };
    profile.cpu_cores = (volumes + writers + 1) * rate / host->cpu * chance_between(0.95, 1.05);
    return profile;
}

static struct host draw(enum bottleneck label)
{
    struct host host = {.write = chance_between(1.4, 6),
                        .cpu = chance_between(2.2, 20),
                        .read_beside = 1,
                        .noise = chance_between(0.005, 0.03)};
    switch (label) {
    case BOTTLENECK_READ:
        if (chance_between(0, 1) < 0.2) { /* writes vanish in a cache and come back as slow reads */
            host.read_beside = chance_between(0.3, 0.75);
            host.cached_writes = 0.95;
        }
        break;
    case BOTTLENECK_WRITE:
        host.write = chance_between(0.08, 0.75);
        break;
    case BOTTLENECK_CPU:
        host.cpu = chance_between(0.2, 0.7);
        break;
    case BOTTLENECK_BALANCED:
        host.write = chance_between(0.98, 1.06);
        host.cpu = chance_between(3, 20);
        break;
    case BOTTLENECK_UNSURE:
        break;
    }
    return host;
}

struct bottleneck_profile profile_labelled(enum bottleneck label)
{
    struct host host = draw(label);
    bool compressed = label == BOTTLENECK_CPU || chance_between(0, 1) < 0.5;
    return observe(&host, compressed);
}

/* Where the figures cannot tell: nobody could say more. */
struct bottleneck_profile profile_ambiguous(int which)
{
    struct host host = draw(BOTTLENECK_READ);
    host.read_beside = 1;
    host.cached_writes = 0;
    struct bottleneck_profile profile;
    switch (which) {
    case 0: /* too much noise to know on which side of the line it is */
        host.write = chance_between(0.9, 1.05);
        host.noise = chance_between(0.12, 0.3);
        return observe(&host, false);
    case 1: /* compressed, and the CPU not seen */
        profile = observe(&host, true);
        profile.cpu_cores = NAN;
        return profile;
    case 2: /* reading and compressing are alike */
        host.cpu = chance_between(1.25, 1.45);
        return observe(&host, true);
    case 3: /* slow, and nobody waits for anything */
        host.read_beside = chance_between(0.3, 0.7);
        profile = observe(&host, false);
        profile.write_wait = chance_between(0, 0.1);
        profile.buffer_wait = chance_between(0, 0.2);
        return profile;
    case 4: /* slow, the writers wait, and others use up the machine */
        host.write = chance_between(0.2, 0.7);
        profile = observe(&host, false);
        profile.cpu_cores = chance_between(59, 64);
        return profile;
    default: /* one side was never measured */
        profile = observe(&host, false);
        *(chance_between(0, 1) < 0.5 ? &profile.rate : &profile.ceiling) = unknown;
        return profile;
    }
}
