/* From the backups of one series to its figures. */
#include "jobs/measure/history_parts.h"
#include "jobs/measure/stats.h"
#include "server/clock.h"
#include "server/mem.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 6            /* as in all reports */
#define TREND_POINTS 64     /* all pairs of more take too long; more backups are put together */
#define TREND_LEAST 10      /* points */
#define TREND_LEAST_DAYS 28 /* a change per month is not told from less */
#define MINUTES_A_DAY 1440.0
#define MINUTES_A_MONTH (30.4375 * MINUTES_A_DAY)
#define MANY_FREEDOM 1e7 /* of Student's t: the normal distribution */

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* The value that would stand at `place` if the values were sorted; afterwards none before it is
 * larger and none behind it smaller (Hoare's FIND as Wirth wrote it: linear on average, and few
 * steps where values are nearly sorted). */
static double select_value(double *values, size_t count, size_t place)
{
    ptrdiff_t at = (ptrdiff_t)place;
    ptrdiff_t low = 0;
    ptrdiff_t high = (ptrdiff_t)count - 1;
    while (low < high) {
        double pivot = values[at];
        ptrdiff_t i = low;
        ptrdiff_t j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i <= j)
                swap(&values[i++], &values[j--]);
        }
        if (j < at)
            low = i;
        if (at < i)
            high = j;
    }
    return values[at];
}

/* Between the two nearest values; brings them into another order. */
static double quantile(double *values, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    double value = select_value(values, count, below);
    if (!(part > 0) || below + 1 >= count)
        return value;
    double next = select_value(values + below + 1, count - below - 1, 0);
    return (1 - part) * value + part * next;
}

/* --- rates --------------------------------------------------------------------------------- */

/* A rate in MiB/s of what a sample moved in `seconds`; infinite for none. */
static double rate_of(const struct history_sample *sample, bool device, double seconds)
{
    double mib = device ? (double)sample->device_mib : (double)sample->mib;
    return seconds > 0 ? mib / seconds : INFINITY;
}

/* All rates of a series as if each backup had taken `more` seconds longer. */
static void fill_rates(const struct history_series *series, bool device, double more, double *out)
{
    for (size_t i = 0; i < series->count; i++)
        out[i] = rate_of(&series->samples[i], device, (double)series->samples[i].seconds + more);
}

static void add_rounded(cJSON *tree, const char *name, double value)
{
    (void)cJSON_AddItemToObject(tree, name, json_rounded(value, DIGITS)); /* null: no number */
}

/* low..high: where the median is whatever the fractions of seconds were that msdb cut off. A
 * recorded time of n seconds was more than n - 1 and less than n + 1. */
static cJSON *spread_to_json(const struct history_series *series, bool device, double *room)
{
    cJSON *tree = cJSON_CreateObject();
    size_t count = series->count;
    fill_rates(series, device, 0, room);
    add_rounded(tree, "median", quantile(room, count, 0.5));
    add_rounded(tree, "p5", quantile(room, count, 0.05));
    add_rounded(tree, "p95", quantile(room, count, 0.95));
    fill_rates(series, device, 1, room);
    add_rounded(tree, "low", quantile(room, count, 0.5));
    fill_rates(series, device, -1, room);
    add_rounded(tree, "high", quantile(room, count, 0.5));
    return tree;
}

/* What all data came to against all that was written. */
static double ratio_of(const struct history_series *series)
{
    double data = 0;
    double written = 0;
    for (size_t i = 0; i < series->count; i++) {
        data += (double)series->samples[i].mib;
        written += (double)series->samples[i].device_mib;
    }
    return data / written;
}

/* --- trend --------------------------------------------------------------------------------- */

/* Points in the order of time: month (of 30.4 days) and logarithm of the rate. */
struct points {
    double x[TREND_POINTS];
    double y[TREND_POINTS];
    size_t count;
};

static int by_minute(const void *left, const void *right)
{
    const struct history_sample *a = left;
    const struct history_sample *b = right;
    return (a->minute > b->minute) - (a->minute < b->minute);
}

/* They came in the order in which they ended, which mostly is this one. */
static void sort_by_time(struct history_series *series)
{
    size_t sorted = 1;
    while (sorted < series->count &&
           series->samples[sorted - 1].minute <= series->samples[sorted].minute)
        sorted++;
    if (sorted < series->count)
        qsort(series->samples, series->count, sizeof *series->samples, by_minute);
}

/* Neighbours in time are put together: their median rate at their mean time. */
static void fill_points(const struct history_series *series, double *room, struct points *out)
{
    size_t count = series->count;
    out->count = count < TREND_POINTS ? count : TREND_POINTS;
    for (size_t p = 0; p < out->count; p++) {
        size_t first = p * count / out->count;
        size_t end = (p + 1) * count / out->count;
        double minutes = 0;
        for (size_t i = first; i < end; i++) {
            const struct history_sample *sample = &series->samples[i];
            room[i - first] = rate_of(sample, false, (double)sample->seconds);
            minutes += (double)(sample->minute - series->samples[0].minute);
        }
        out->x[p] = minutes / (double)(end - first) / MINUTES_A_MONTH;
        out->y[p] = log(quantile(room, end - first, 0.5));
    }
}

/* All slopes between two points of different times; returns how many. */
static size_t fill_slopes(const struct points *points, double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < points->count; i++)
        for (size_t j = i + 1; j < points->count; j++)
            if (points->x[j] > points->x[i])
                out[count++] = (points->y[j] - points->y[i]) / (points->x[j] - points->x[i]);
    return count;
}

/* Half the width, in ranks, of Sen's interval: the normal quantile times the standard deviation of
 * Kendall's S, less what points of one time take away (Sen 1968; Hollander and Wolfe). */
static double half_width(const struct points *points, double confidence)
{
    double n = (double)points->count;
    double variance = n * (n - 1) * (2 * n + 5);
    for (size_t i = 0; i < points->count;) {
        size_t end = i + 1;
        while (end < points->count && !(points->x[end] > points->x[i]))
            end++;
        double ties = (double)(end - i);
        variance -= ties * (ties - 1) * (2 * ties + 5);
        i = end;
    }
    return stats_t_quantile(0.5 + confidence / 2, MANY_FREEDOM) * sqrt(variance / 18);
}

static double percent_of(double slope)
{
    return 100 * expm1(slope);
}

static cJSON *slope_to_json(double *slopes, size_t count, double width, double confidence)
{
    double below = ((double)count - width) / 2;
    double above = ((double)count + width) / 2;
    size_t low = below > 1 ? (size_t)below - 1 : 0;
    size_t high = above < (double)count - 1 ? (size_t)ceil(above) : count - 1;
    cJSON *tree = cJSON_CreateObject();
    add_rounded(tree, "percent_per_month", percent_of(quantile(slopes, count, 0.5)));
    add_rounded(tree, "low", percent_of(select_value(slopes, count, low)));
    add_rounded(tree, "high", percent_of(select_value(slopes, count, high)));
    add_rounded(tree, "level", confidence);
    return tree;
}

/* The median of all slopes (Theil and Sen): a third of the backups may be anything. Null when
 * there are too few or over too short a time. */
static cJSON *trend_to_json(const struct history_series *series, double *room, double confidence)
{
    const struct history_sample *samples = series->samples;
    double days = (double)(samples[series->count - 1].minute - samples[0].minute) / MINUTES_A_DAY;
    if (series->count < TREND_LEAST || days < TREND_LEAST_DAYS)
        return cJSON_CreateNull();
    struct points *points = mem_alloc(1, sizeof *points);
    fill_points(series, room, points);
    double *slopes = mem_alloc(points->count * points->count / 2, sizeof *slopes);
    size_t count = fill_slopes(points, slopes);
    cJSON *tree = count >= TREND_LEAST
                      ? slope_to_json(slopes, count, half_width(points, confidence), confidence)
                      : cJSON_CreateNull();
    free(slopes);
    free(points);
    return tree;
}

/* --- the series ---------------------------------------------------------------------------- */

static void add_time(cJSON *tree, const char *name, uint32_t minute)
{
    char text[CLOCK_TEXT_SIZE];
    (void)cJSON_AddStringToObject(tree, name, clock_format((int64_t)minute * 60000, text));
}

cJSON *history_series_to_json(struct history_series *series, double confidence)
{
    cJSON *tree = cJSON_CreateObject();
    double *room = mem_alloc(series->count, sizeof *room);
    sort_by_time(series);
    (void)cJSON_AddItemToObject(tree, "database", json_text(series->database));
    (void)cJSON_AddStringToObject(tree, "type", history_type_name(series->type));
    (void)cJSON_AddNumberToObject(tree, "n", (double)series->count);
    (void)cJSON_AddNumberToObject(tree, "zero_seconds", (double)series->short_count);
    (void)cJSON_AddItemToObject(tree, "logical_mib_s", spread_to_json(series, false, room));
    (void)cJSON_AddItemToObject(tree, "device_mib_s", spread_to_json(series, true, room));
    add_rounded(tree, "ratio", ratio_of(series));
    (void)cJSON_AddItemToObject(tree, "trend", trend_to_json(series, room, confidence));
    add_time(tree, "first_at", series->samples[0].minute);
    add_time(tree, "last_at", series->samples[series->count - 1].minute);
    free(room);
    return tree;
}
