#include "server/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SEAM_LOOK_NS 5000000 /* how often waits look while a test moves the clocks */

static _Atomic int64_t passed_ms; /* by both clocks; this and the next only moved by tests */
static _Atomic int64_t wall_set_ms;
static atomic_bool is_moved;

static int64_t machine_mono_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return machine_mono_ns() + atomic_load(&passed_ms) * 1000000;
}

int64_t clock_wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    int64_t ahead_ms = atomic_load(&passed_ms) + atomic_load(&wall_set_ms);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + ahead_ms;
}

void clock_set_wall_ms(int64_t by_ms)
{
    atomic_store(&is_moved, true);
    (void)atomic_fetch_add(&wall_set_ms, by_ms);
}

void clock_pass_ms(int64_t ms)
{
    atomic_store(&is_moved, true);
    (void)atomic_fetch_add(&passed_ms, ms); /* at once by both: no look finds them apart */
}

void clock_reset(void)
{
    atomic_store(&passed_ms, 0);
    atomic_store(&wall_set_ms, 0);
    atomic_store(&is_moved, false);
}

int64_t clock_machine_ns(int64_t mono_ns)
{
    int64_t at_ns = mono_ns - atomic_load(&passed_ms) * 1000000;
    if (!atomic_load(&is_moved))
        return at_ns;
    int64_t soon_ns = machine_mono_ns() + SEAM_LOOK_NS;
    return at_ns < soon_ns ? at_ns : soon_ns;
}

const char *clock_format(int64_t wall_ms, char out[CLOCK_TEXT_SIZE])
{
    int64_t ms = wall_ms % 1000;
    if (ms < 0)
        ms += 1000;
    time_t seconds = (time_t)((wall_ms - ms) / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts))
        memset(&parts, 0, sizeof parts);
    char date[24];
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(out, CLOCK_TEXT_SIZE, "%s.%03dZ", date, (int)ms);
    return out;
}

/* Reads exactly `digits` digits; advances *text; -1 when there are fewer. */
static int read_digits(const char **text, int digits)
{
    int value = 0;
    for (int i = 0; i < digits; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return -1;
        value = value * 10 + (**text - '0');
    }
    return value;
}

static bool skip(const char **text, char wanted)
{
    if (**text != wanted)
        return false;
    (*text)++;
    return true;
}

static bool read_fraction_ms(const char **text, int *out_ms)
{
    int scale = 100;
    int ms = 0;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; (*text)++, scale /= 10)
        ms += (**text - '0') * scale;
    *out_ms = ms;
    return true;
}

static bool read_offset_minutes(const char **text, int *out_minutes)
{
    *out_minutes = 0;
    if (skip(text, 'Z') || skip(text, 'z'))
        return true;
    int sign = **text == '+' ? 1 : **text == '-' ? -1 : 0;
    if (sign == 0)
        return false;
    (*text)++;
    int hours = read_digits(text, 2);
    if (hours < 0 || hours > 23 || !skip(text, ':'))
        return false;
    int minutes = read_digits(text, 2);
    if (minutes < 0 || minutes > 59)
        return false;
    *out_minutes = sign * (hours * 60 + minutes);
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

bool clock_parse(const char *text, int64_t *out_wall_ms)
{
    int year = read_digits(&text, 4);
    if (year < 1970 || !skip(&text, '-'))
        return false;
    int month = read_digits(&text, 2);
    if (month < 1 || month > 12 || !skip(&text, '-'))
        return false;
    int day = read_digits(&text, 2);
    if (day < 1 || day > days_in_month(year, month) || (!skip(&text, 'T') && !skip(&text, 't')))
        return false;
    int hour = read_digits(&text, 2);
    if (hour < 0 || hour > 23 || !skip(&text, ':'))
        return false;
    int minute = read_digits(&text, 2);
    if (minute < 0 || minute > 59 || !skip(&text, ':'))
        return false;
    int second = read_digits(&text, 2);
    if (second < 0 || second > 60)
        return false;
    int ms = 0;
    int offset = 0;
    if (skip(&text, '.') && !read_fraction_ms(&text, &ms))
        return false;
    if (!read_offset_minutes(&text, &offset) || *text != '\0')
        return false;
    struct tm parts = {.tm_year = year - 1900,
                       .tm_mon = month - 1,
                       .tm_mday = day,
                       .tm_hour = hour,
                       .tm_min = minute,
                       .tm_sec = second};
    *out_wall_ms = ((int64_t)timegm(&parts) - (int64_t)offset * 60) * 1000 + ms;
    return true;
}
