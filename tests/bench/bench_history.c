/* What a long backup history costs us: bench_history [ROWS]. Feeds made-up rows of backupset, as
 * text as they come from the server, to the pure code; prints time and the peak of memory. */
#include "jobs/measure/history.h"
#include "server/clock.h"
#include "server/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define DATABASES 200
#define LARGE 3 /* databases that have half of all rows */

static long peak_kib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail for ourselves */
    return usage.ru_maxrss;
}

/* A small generator of our own: the same rows on every machine. */
static uint32_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

struct made {
    char database[32], start[CLOCK_TEXT_SIZE], finish[CLOCK_TEXT_SIZE];
};

static void make_row(int64_t i, uint64_t *random, struct made *made, struct history_row *out)
{
    static const char *const types[] = {"D", "I", "L", "L", "L", "L", "L", "L"};
    uint32_t database = next(random) % 2 ? next(random) % LARGE : next(random) % DATABASES;
    uint32_t seconds = next(random) % 90;
    int64_t start_ms = INT64_C(1700000000000) + i * 45000;
    double size = 1048576.0 * (seconds * 200.0 + next(random) % 1000 + 1);
    (void)snprintf(made->database, sizeof made->database, "Database %u", database);
    (void)clock_format(start_ms, made->start);
    (void)clock_format(start_ms + (int64_t)seconds * 1000, made->finish);
    *out = (struct history_row){.database = made->database,
                                .type = types[next(random) % 8],
                                .name = "nightly",
                                .start = made->start,
                                .finish = made->finish,
                                .zone = 4,
                                .size = size,
                                .compressed = next(random) % 5 ? size / 4 : NAN,
                                .nul = next(random) % 100 == 0};
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    struct history_filter filter = {
        .types = {true, true, true}, .since_s = INT64_MIN, .confidence = 0.95};
    struct history *history = history_new(&filter);
    uint64_t random = 42;
    int64_t making_ns = 0;
    long before_kib = peak_kib();
    int64_t began_ns = clock_mono_ns();
    for (int64_t i = 0; i < rows; i++) {
        struct made made;
        struct history_row row;
        int64_t at_ns = clock_mono_ns();
        make_row(i, &random, &made, &row);
        making_ns += clock_mono_ns() - at_ns;
        history_add(history, &row);
    }
    int64_t fed_ns = clock_mono_ns();
    cJSON *tree = history_finish(history);
    int64_t ended_ns = clock_mono_ns();
    (void)printf("%" PRId64 " rows, %.0f series: %.3f s to take them, %.3f s to finish; peak "
                 "%.1f MiB more than at the start\n",
                 rows, json_member(tree, "series")->valuedouble,
                 (double)(fed_ns - began_ns - making_ns) / 1e9, (double)(ended_ns - fed_ns) / 1e9,
                 (double)(peak_kib() - before_kib) / 1024);
    cJSON_Delete(tree);
    history_free(history);
    return 0;
}
