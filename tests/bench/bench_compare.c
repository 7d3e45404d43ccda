/* Whether the time of a wrong token tells how nearly it was right, run by hand, in the manner of
 * dudect (Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?", 2017):
 * `bench_compare [MEASUREMENTS [SEED]]`, 1000000 of each row when nothing is said. Measured is what
 * the product calls: the comparison with the stored digest, and the whole look-up of a shown token.
 *
 * The two classes of a row are drawn at random, call by call, so that a slower minute of this
 * machine meets both. A call's input is made before, and copied to one place by the same
 * instructions for both classes; then it is timed alone. Interrupts make some calls long: Welch's t
 * is taken over all of them and over those below each of 100 percentiles, and the largest counts.
 * Two rows are controls, with a difference that has to be found. Exit status 1 when a control is
 * below 4.5, or anything else reaches it. */
#include "server/clock.h"
#include "server/hash.h"
#include "server/ids.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_access.h"
#include "server/tokens.h"
#include "tests/bench/chance.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#define T_BOUND 4.5
#define CROPS 100
#define CHUNK 4096 /* calls whose inputs are made at once: they stay in the cache */
#define CALLS_MIN 10000
#define CALLS_MAX 100000000
#define TOKENS 100     /* in the store */
#define TAIL_CHARS 10  /* of a token that is right but for its end */
#define SHOWN_BYTES 72 /* room for a digest or a token: whole words */

_Static_assert(SHOWN_BYTES >= HASH_HEX_SIZE && SHOWN_BYTES >= TOKEN_TEXT_SIZE, "too small");

struct shown {
    char text[SHOWN_BYTES];
};

/* What is shown to a unit, and what it compares with. One for the whole program. */
struct place {
    struct store *store;
    char token[TOKEN_TEXT_SIZE]; /* one that the store knows */
    struct shown digest;         /* of that one */
    struct shown fixed;          /* another digest, the same all the time */
    struct shown shown;          /* where each call finds its input */
};

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_compare: %s\n", what);
    exit(1);
}

/* --- time ---------------------------------------------------------------------------------- */

#ifdef __x86_64__
#define UNIT "cycles"
/* Nothing of the call may begin before the first reading, or end after the second. */
static inline int64_t now(void)
{
    _mm_lfence();
    int64_t cycles = (int64_t)__rdtsc();
    _mm_lfence();
    return cycles;
}
#else
#define UNIT "ns"
static inline int64_t now(void)
{
    return clock_mono_ns();
}
#endif

/* A move to the other core would be a jump of the clock and an empty cache. */
static void stay_on_this_core(void)
{
    cpu_set_t set;
    int core = sched_getcpu();
    CPU_ZERO(&set);
    CPU_SET(core < 0 ? 0 : core, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        die("the core cannot be chosen");
    (void)printf("core %d, ", core);
}

/* --- what is timed ------------------------------------------------------------------------- */

typedef int unit(struct place *place);

/* Called through a pointer that may change, or the compiler would write a comparison of its own
 * for these 64 bytes in place of the library's. */
static int (*volatile plain)(const void *, const void *, size_t) = memcmp;

/* As hash_equal, with the comparison that must not be used. */
static int by_memcmp(struct place *place)
{
    const size_t length = HASH_HEX_SIZE - 1;
    const char *one = place->digest.text;
    const char *other = place->shown.text;
    return strlen(one) == length && strlen(other) == length && plain(one, other, length) == 0;
}

static int by_hash_equal(struct place *place)
{
    return hash_equal(place->digest.text, place->shown.text);
}

/* As the gate looks a token up: its digest, whether there are any, and the row. */
static int look_work(struct db *db, void *arg, struct err *err)
{
    char digest[HASH_HEX_SIZE];
    struct token_row row = {0};
    bool any = false;
    if (store_token_any(db, &any, err) < 0)
        return -1;
    int found = store_token_find(db, hash_hex(arg, digest), &row, err);
    token_row_fini(&row);
    return found < 0 ? -1 : 0;
}

static int by_look_up(struct place *place)
{
    struct err err;
    if (store_read(place->store, look_work, place->shown.text, &err) < 0)
        die(err.msg);
    return 0;
}

/* --- what is shown ------------------------------------------------------------------------- */

typedef void fill(const struct place *place, struct shown *out);

static void draw(char *out, size_t count, const char *digits)
{
    size_t base = strlen(digits);
    for (size_t i = 0; i < count; i++)
        out[i] = digits[(size_t)(chance() * (double)base)];
}

#define HEX "0123456789abcdef"
#define BASE64URL "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

static void random_digest(const struct place *place, struct shown *out)
{
    (void)place;
    *out = (struct shown){0};
    draw(out->text, HASH_HEX_SIZE - 1, HEX);
}

/* All digits right but the last. */
static void near_digest(const struct place *place, struct shown *out)
{
    *out = place->digest;
    char *last = &out->text[HASH_HEX_SIZE - 2];
    do
        draw(last, 1, HEX);
    while (*last == place->digest.text[HASH_HEX_SIZE - 2]);
}

static void fixed_digest(const struct place *place, struct shown *out)
{
    *out = place->fixed;
}

static void right_digest(const struct place *place, struct shown *out)
{
    *out = place->digest;
}

static void fill_token(const struct place *place, size_t drawn, struct shown *out)
{
    const size_t length = TOKEN_TEXT_SIZE - 1;
    *out = (struct shown){0};
    memcpy(out->text, place->token, length);
    draw(out->text + length - drawn, drawn, BASE64URL);
}

static void random_token(const struct place *place, struct shown *out)
{
    fill_token(place, TOKEN_TEXT_SIZE - 1 - strlen("sweetspot_"), out);
}

/* Another end each time: one text would have one place in the index, which says nothing of how
 * right it is. */
static void near_token(const struct place *place, struct shown *out)
{
    fill_token(place, TAIL_CHARS, out);
}

static void right_token(const struct place *place, struct shown *out)
{
    fill_token(place, 0, out);
}

/* clang-format off */
static const struct row {
    const char *what;
    const char *classes;
    unit *call;
    fill *fill[2];
    bool is_control;
} rows[] = {
    {"memcmp",     "63 of 64 digits right | random",   by_memcmp,     {near_digest,  random_digest}, true},
    {"hash_equal", "63 of 64 digits right | random",   by_hash_equal, {near_digest,  random_digest}, false},
    {"hash_equal", "one wrong digest | random",        by_hash_equal, {fixed_digest, random_digest}, false},
    {"hash_equal", "the right digest | random",        by_hash_equal, {right_digest, random_digest}, false},
    {"look-up",    "a known token | random",           by_look_up,    {right_token,  random_token},  true},
    {"look-up",    "token but for 10 letters | random", by_look_up,   {near_token,   random_token},  false},
};
/* clang-format on */

/* --- measuring ----------------------------------------------------------------------------- */

struct sample {
    int64_t took;
    int class;
};

/* Copies through words, whatever the class; the call finds its input in the nearest cache. */
static int64_t time_call(struct place *place, unit *call, const struct shown *input)
{
    memcpy(&place->shown, input, sizeof place->shown);
    int64_t began = now();
    (void)call(place);
    return now() - began;
}

static void measure(struct place *place, const struct row *row, struct sample *samples, size_t n)
{
    static struct shown inputs[CHUNK];
    for (size_t done = 0; done < n;) {
        size_t count = n - done < CHUNK ? n - done : CHUNK;
        struct sample *here = samples + done;
        for (size_t i = 0; i < count; i++) {
            here[i].class = chance() < 0.5;
            row->fill[here[i].class](place, &inputs[i]);
        }
        for (size_t i = 0; i < count; i++)
            here[i].took = time_call(place, row->call, &inputs[i]);
        done += count;
    }
}

/* --- Welch's t ----------------------------------------------------------------------------- */

/* Number, mean and sum of squared differences of each class (Welford). */
struct moments {
    double n[2];
    double mean[2];
    double squares[2];
};

static struct moments moments_below(const struct sample *samples, size_t n, int64_t limit)
{
    struct moments all = {0};
    for (size_t i = 0; i < n; i++) {
        if (samples[i].took > limit)
            continue;
        int class = samples[i].class;
        double difference = (double)samples[i].took - all.mean[class];
        all.mean[class] += difference / ++all.n[class];
        all.squares[class] += difference * ((double)samples[i].took - all.mean[class]);
    }
    return all;
}

/* 0 when there is nothing to compare. */
static double welch(const struct moments *all)
{
    if (all->n[0] < 2 || all->n[1] < 2)
        return 0;
    double variance = all->squares[0] / (all->n[0] - 1) / all->n[0] +
                      all->squares[1] / (all->n[1] - 1) / all->n[1];
    return variance > 0 ? (all->mean[0] - all->mean[1]) / sqrt(variance) : 0;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The times below which the calls are taken, as dudect spaces them: close together where the
 * interrupts are. */
static void find_limits(const struct sample *samples, size_t n, int64_t limits[CROPS])
{
    int64_t *sorted = mem_alloc(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = samples[i].took;
    qsort(sorted, n, sizeof *sorted, compare);
    for (int i = 0; i < CROPS; i++) {
        double share = 1 - pow(0.5, 10.0 * (i + 1) / CROPS);
        limits[i] = sorted[(size_t)(share * (double)(n - 1))];
    }
    free(sorted);
}

/* Prints the row; returns whether it is as it should be. */
static bool judge(const struct row *row, const struct sample *samples, size_t n)
{
    int64_t limits[CROPS];
    struct moments all = moments_below(samples, n, INT64_MAX);
    double whole = welch(&all);
    double most = whole;
    find_limits(samples, n, limits);
    for (int i = 0; i < CROPS; i++) {
        struct moments some = moments_below(samples, n, limits[i]);
        double t = welch(&some);
        most = fabs(t) > fabs(most) ? t : most;
    }
    bool differs = fabs(most) >= T_BOUND;
    (void)printf("%-10s  %-33s  %8.1f  %8.1f  %8.2f  %8.2f  %s\n", row->what, row->classes,
                 all.mean[0], all.mean[1], whole, most,
                 row->is_control ? (differs ? "found (control)" : "NOT FOUND (control)")
                                 : (differs ? "DIFFERS" : "no difference"));
    (void)fflush(stdout);
    return differs == row->is_control;
}

/* --- the whole ----------------------------------------------------------------------------- */

static void fill_store(struct place *place)
{
    struct err err;
    for (int i = 0; i < TOKENS; i++) {
        char name[16];
        char digest[HASH_HEX_SIZE];
        (void)snprintf(name, sizeof name, "t%d", i);
        token_new(place->token); /* the last one is kept */
        struct token_change change = {
            .name = name, .scope = SCOPE_READ, .digest = hash_hex(place->token, digest)};
        if (store_write(place->store, token_create_work, &change, &err) < 0)
            die(err.msg);
    }
    (void)hash_hex(place->token, place->digest.text);
    random_digest(place, &place->fixed);
}

static bool run(struct place *place, size_t n)
{
    bool good = true;
    struct sample *samples = mem_alloc(n, sizeof *samples);
    (void)printf("%-10s  %-33s  %8s  %8s  %8s  %8s\n", "what", "classes", UNIT, "|", "t", "most t");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        measure(place, &rows[i], samples, n);
        good = judge(&rows[i], samples, n) && good;
    }
    free(samples);
    (void)printf("T-46: %zu rows of %zu calls, |t| below %.1f: %s\n", sizeof rows / sizeof rows[0],
                 n, T_BOUND, good ? "yes, and both controls above" : "NO");
    return good;
}

static size_t number(const char *text, size_t least, size_t most)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < least || value > most)
        die("bench_compare [MEASUREMENTS (10000 to 100000000) [SEED]]");
    return (size_t)value;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"store.db", "store.db.lock"};
    struct place place = {0};
    struct err err;
    size_t n = argc > 1 ? number(argv[1], CALLS_MIN, CALLS_MAX) : 1000000;
    size_t seed = argc > 2 ? number(argv[2], 0, SIZE_MAX) : (size_t)clock_wall_ms();
    char *folder = mem_copy("/var/tmp/sweetspot-bench-XXXXXX");
    if (!mkdtemp(folder))
        die("the folder cannot be made");
    char *url = mem_format("sqlite:%s/store.db", folder);
    stay_on_this_core();
    (void)printf("seed %zu, %zu calls a row\n", seed, n);
    chance_seed(seed);
    if (store_open(url, &place.store, &err) < 0)
        die(err.msg);
    fill_store(&place);
    bool good = run(&place, n);
    store_close(place.store);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = mem_format("%s/%s", folder, names[i]);
        (void)unlink(path);
        free(path);
    }
    (void)rmdir(folder);
    free(folder);
    free(url);
    return good ? 0 : 1;
}
