#include "jobs/measure/history.h"

#include "jobs/measure/history_parts.h"
#include "server/hash.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0
#define ZONE_S 900      /* time_zone counts quarters of an hour */
#define SERIES_MAX 2000 /* of a report: more nobody reads, and reports are stored whole */
#define OWN_PREFIX "sweetspot:"

static const struct {
    const char *name;
    char letter;
} types[HISTORY_TYPES] = {
    [HISTORY_FULL] = {"full", 'D'},
    [HISTORY_DIFF] = {"diff", 'I'},
    [HISTORY_LOG] = {"log", 'L'},
};

/* clang-format off */
static const struct {
    const char *name, *words;
} reasons[HISTORY_REASONS] = {
    [HISTORY_COUNTS]    = {"none", "it counts"},
    [HISTORY_OWN]       = {"own", "backups that Sweetspot made to measure"},
    [HISTORY_ELSEWHERE] = {"other_server", "made on another server and restored here"},
    [HISTORY_VIRTUAL]   = {"virtual_device", "snapshots (VSS) and tools on virtual devices: msdb holds an estimate of the size, and no writing"},
    [HISTORY_NUL]       = {"nul", "to NUL: nothing was written"},
    [HISTORY_PARTIAL]   = {"partial", "of files, filegroups or parts of a database"},
    [HISTORY_COPY_ONLY] = {"copy_only", "COPY_ONLY, which was not asked for"},
    [HISTORY_NO_DATES]  = {"no_dates", "without a date of start or end"},
    [HISTORY_NO_SIZE]   = {"no_size", "without a size"},
    [HISTORY_NEGATIVE]  = {"negative_duration", "ended before they began: the clock was set back"},
    [HISTORY_CLOCK]     = {"clock_changed", "next to a change of the server's offset from UTC (daylight saving): an hour too long or too short"},
    [HISTORY_SHORT]     = {"zero_seconds", "began and ended within the same second: msdb keeps whole seconds, so their speed is unknown"},
};
/* clang-format on */

/* A row that was judged and waits for its neighbour. */
struct pending {
    struct history_series *series; /* NULL: nothing waits */
    enum history_reason reason;
    struct history_sample sample;
};

struct history {
    struct history_filter filter;
    struct history_series **series; /* open addressing by database and type */
    size_t slots;                   /* a power of two */
    size_t series_count;
    size_t rows;
    size_t excluded[HISTORY_REASONS];
    struct pending pending;
    int64_t last_zone; /* of the last row that knew its own */
};

const char *history_type_name(enum history_type type)
{
    return types[type].name;
}

char history_type_letter(enum history_type type)
{
    return types[type].letter;
}

enum history_type history_type_by_name(const char *name)
{
    enum history_type type = HISTORY_FULL;
    while (type < HISTORY_TYPES && strcmp(types[type].name, name) != 0)
        type++;
    return type;
}

const char *history_reason_name(enum history_reason reason)
{
    return reasons[reason].name;
}

const char *history_reason_words(enum history_reason reason)
{
    return reasons[reason].words;
}

/* --- time ---------------------------------------------------------------------------------- */

/* Two or four digits; -1 when they are none. */
static int digits(const char *text, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* Days from 1970-01-01 in the Gregorian calendar: years from March on, so that the leap day is the
 * last one; 146097 days are 400 years. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;
    int64_t of_era = y % 400 * 365 + y % 400 / 4 - y % 400 / 100;
    return y / 400 * 146097 + of_era + (153 * m + 2) / 5 + day - 1 - 719468;
}

bool history_read_time(const char *text, int64_t *out_s)
{
    static const struct {
        size_t at;
        int count;
        int min, max;
    } parts[] = {{0, 4, 1, 9999}, {5, 2, 1, 12},  {8, 2, 1, 31},
                 {11, 2, 0, 23},  {14, 2, 0, 59}, {17, 2, 0, 59}};
    int64_t values[6];
    if (!text || strlen(text) < 19 || text[4] != '-' || text[7] != '-' ||
        (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':')
        return false;
    for (size_t i = 0; i < JSON_COUNT(parts); i++) {
        values[i] = digits(text + parts[i].at, parts[i].count);
        if (values[i] < parts[i].min || values[i] > parts[i].max)
            return false;
    }
    *out_s = days_of(values[0], values[1], values[2]) * 86400 + values[3] * 3600 + values[4] * 60 +
             values[5];
    return true;
}

void history_rounding(double real_s, double *out_low, double *out_high)
{
    double shortest = floor(real_s);
    *out_low = real_s / ceil(real_s) - 1;
    *out_high = shortest > 0 ? real_s / shortest - 1 : NAN;
}

/* --- series -------------------------------------------------------------------------------- */

struct history *history_new(const struct history_filter *filter)
{
    struct history *history = mem_alloc(1, sizeof *history);
    history->filter = *filter;
    history->slots = 64;
    history->series = mem_alloc(history->slots, sizeof(struct history_series *));
    history->last_zone = HISTORY_ZONE_UNKNOWN;
    return history;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    for (size_t i = 0; i < history->slots; i++) {
        if (!history->series[i])
            continue;
        free(history->series[i]->database);
        free(history->series[i]->samples);
        free(history->series[i]);
    }
    free(history->series);
    free(history);
}

/* Nobody gains by collisions of databases' names. */
static size_t hash_of(const char *database, enum history_type type)
{
    uint64_t hash = hash_spread(database) + (uint64_t)type;
    return (size_t)(hash ^ (hash >> 32));
}

/* Where the series is, or the free slot where it belongs. */
static struct history_series **slot_of(const struct history *history, const char *database,
                                       enum history_type type)
{
    size_t at = hash_of(database, type) & (history->slots - 1);
    while (history->series[at] && (history->series[at]->type != type ||
                                   strcmp(history->series[at]->database, database) != 0))
        at = (at + 1) & (history->slots - 1);
    return &history->series[at];
}

static void grow_table(struct history *history)
{
    struct history_series **old = history->series;
    size_t count = history->slots;
    history->slots *= 2;
    history->series = mem_alloc(history->slots, sizeof(struct history_series *));
    for (size_t i = 0; i < count; i++)
        if (old[i])
            *slot_of(history, old[i]->database, old[i]->type) = old[i];
    free(old);
}

static struct history_series *find_series(struct history *history, const char *database,
                                          enum history_type type)
{
    if (history->series_count * 2 >= history->slots)
        grow_table(history);
    struct history_series **slot = slot_of(history, database, type);
    if (!*slot) {
        *slot = mem_alloc(1, sizeof **slot);
        **slot = (struct history_series){.database = mem_copy(database), .type = type};
        history->series_count++;
    }
    return *slot;
}

/* --- rows ---------------------------------------------------------------------------------- */

/* Hands the waiting row over to its series, or to what is left out. */
static void settle_pending(struct history *history)
{
    struct pending *pending = &history->pending;
    struct history_series *series = pending->series;
    if (!series)
        return;
    history->excluded[pending->reason]++;
    if (pending->reason == HISTORY_SHORT)
        series->short_count++;
    if (pending->reason == HISTORY_COUNTS) {
        series->samples = mem_grow(series->samples, &series->capacity, series->count + 1,
                                   sizeof *series->samples);
        series->samples[series->count++] = pending->sample;
    }
    pending->series = NULL;
}

/* HISTORY_TYPES: a part of a database. */
static enum history_type type_of(const struct history_row *row)
{
    enum history_type type = HISTORY_FULL;
    while (type < HISTORY_TYPES && (!row->type || row->type[0] != types[type].letter))
        type++;
    return type;
}

static enum history_reason judge_origin(const struct history *history,
                                        const struct history_row *row)
{
    if (row->name && strncmp(row->name, OWN_PREFIX, sizeof OWN_PREFIX - 1) == 0)
        return HISTORY_OWN;
    if (row->elsewhere)
        return HISTORY_ELSEWHERE;
    if (row->snapshot || row->virtual_device)
        return HISTORY_VIRTUAL;
    if (row->nul)
        return HISTORY_NUL;
    if (type_of(row) == HISTORY_TYPES)
        return HISTORY_PARTIAL;
    return row->copy_only && !history->filter.copy_only ? HISTORY_COPY_ONLY : HISTORY_COUNTS;
}

/* What the figures themselves say; fills the sample when they are good. */
static enum history_reason judge_figures(const struct history_row *row, bool dated, int64_t start_s,
                                         int64_t finish_s, struct history_sample *out)
{
    if (!dated)
        return HISTORY_NO_DATES;
    if (!(row->size > 0) || !isfinite(row->size))
        return HISTORY_NO_SIZE;
    if (finish_s < start_s)
        return HISTORY_NEGATIVE;
    if (finish_s == start_s)
        return HISTORY_SHORT;
    bool compressed = row->compressed > 0 && isfinite(row->compressed);
    int64_t seconds = finish_s - start_s;
    out->mib = (float)(row->size / MIB);
    out->device_mib = (float)((compressed ? row->compressed : row->size) / MIB);
    out->seconds = seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
    return HISTORY_COUNTS;
}

/* Rows of our own server tell its offset from UTC. When that changed between two of them, either
 * may have the change within it. */
static bool clock_changed(struct history *history, const struct history_row *row)
{
    if (row->elsewhere || row->zone == HISTORY_ZONE_UNKNOWN)
        return false;
    bool changed = history->last_zone != HISTORY_ZONE_UNKNOWN && history->last_zone != row->zone;
    history->last_zone = row->zone;
    return changed;
}

static void mark_clock(enum history_reason *reason)
{
    if (*reason == HISTORY_COUNTS || *reason == HISTORY_SHORT)
        *reason = HISTORY_CLOCK;
}

/* True when the row is asked for: it is of a wanted type and not too old. */
static bool is_in_scope(const struct history *history, const struct history_row *row, bool dated,
                        int64_t start_utc_s)
{
    enum history_type type = type_of(row);
    if (!row->database || (type < HISTORY_TYPES && !history->filter.types[type]))
        return false;
    return !dated || start_utc_s >= history->filter.since_s;
}

void history_add(struct history *history, const struct history_row *row)
{
    int64_t start_s = 0;
    int64_t finish_s = 0;
    bool dated =
        history_read_time(row->start, &start_s) && history_read_time(row->finish, &finish_s);
    bool changed = clock_changed(history, row);
    int64_t zone = row->zone == HISTORY_ZONE_UNKNOWN ? history->filter.here_zone : row->zone;
    int64_t start_utc_s = start_s - zone * ZONE_S;
    if (changed)
        mark_clock(&history->pending.reason);
    settle_pending(history);
    history->rows++;
    if (!is_in_scope(history, row, dated, start_utc_s))
        return;
    struct history_sample sample = {.minute = start_utc_s > 0 && start_utc_s / 60 < UINT32_MAX
                                                  ? (uint32_t)(start_utc_s / 60)
                                                  : 0};
    enum history_reason reason = judge_origin(history, row);
    if (reason == HISTORY_COUNTS)
        reason = judge_figures(row, dated, start_s, finish_s, &sample);
    if (changed)
        mark_clock(&reason);
    enum history_type type = type_of(row);
    if (type == HISTORY_TYPES) { /* it has no series */
        history->excluded[reason]++;
        return;
    }
    history->pending = (struct pending){
        .series = find_series(history, row->database, type), .reason = reason, .sample = sample};
}

/* --- the answer ---------------------------------------------------------------------------- */

static int by_count(const void *left, const void *right)
{
    const struct history_series *a = *(struct history_series *const *)left;
    const struct history_series *b = *(struct history_series *const *)right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    int order = strcmp(a->database, b->database);
    return order ? order : (int)a->type - (int)b->type;
}

static int by_name(const void *left, const void *right)
{
    const struct history_series *a = *(struct history_series *const *)left;
    const struct history_series *b = *(struct history_series *const *)right;
    int order = strcmp(a->database, b->database);
    return order ? order : (int)a->type - (int)b->type;
}

static cJSON *excluded_to_json(const struct history *history)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = HISTORY_COUNTS + 1; i < HISTORY_REASONS; i++) {
        if (history->excluded[i] == 0)
            continue;
        cJSON *item = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(item, "reason", reasons[i].name);
        (void)cJSON_AddNumberToObject(item, "n", (double)history->excluded[i]);
        (void)cJSON_AddStringToObject(item, "detail", reasons[i].words);
        (void)cJSON_AddItemToArray(list, item);
    }
    return list;
}

/* The series that have backups that count, those with most first; returns how many. */
static size_t collect(const struct history *history, struct history_series **out)
{
    size_t count = 0;
    for (size_t i = 0; i < history->slots; i++)
        if (history->series[i] && history->series[i]->count > 0)
            out[count++] = history->series[i];
    if (count > 0)
        qsort(out, count, sizeof(struct history_series *), by_count);
    return count;
}

cJSON *history_finish(struct history *history)
{
    settle_pending(history);
    struct history_series **all = mem_alloc(history->series_count, sizeof(struct history_series *));
    size_t count = collect(history, all);
    size_t listed = count < SERIES_MAX ? count : SERIES_MAX;
    cJSON *tree = cJSON_CreateObject();
    cJSON *list = cJSON_CreateArray();
    if (listed > 0)
        qsort(all, listed, sizeof(struct history_series *), by_name);
    for (size_t i = 0; i < listed; i++)
        (void)cJSON_AddItemToArray(list,
                                   history_series_to_json(all[i], history->filter.confidence));
    free(all);
    (void)cJSON_AddNumberToObject(tree, "rows", (double)history->rows);
    (void)cJSON_AddNumberToObject(tree, "series", (double)count);
    (void)cJSON_AddItemToObject(tree, "history", list);
    (void)cJSON_AddItemToObject(tree, "excluded", excluded_to_json(history));
    return tree;
}
