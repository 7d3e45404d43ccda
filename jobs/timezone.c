#include "jobs/timezone.h"

#include "server/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A TZif file holds the moments at which a zone's offset changes, and in its last line a POSIX TZ
 * text with the rule for all later years ("CET-1CEST,M3.5.0,M10.5.0/3"). Files come "fat" (with
 * moments until 2037) or "slim" (the rule takes over at the last change of law). */

#define ZONE_DIRECTORY "/usr/share/zoneinfo"

#define DAY_S 86400
#define MEAN_YEAR_S 31556952      /* 365.2425 days */
#define OFFSET_MIN_S (-89999)     /* RFC 9636, 3.2: more than -25 h, less than 26 h */
#define OFFSET_MAX_S 93599        /* which also bounds what a POSIX TZ text can say */
#define MOMENT_MAX_S (1LL << 40)  /* keeps all sums far from overflow */
#define NAME_CHARS_MAX 64         /* the longest of tzdata has 32 */
#define FILE_BYTES_MAX (64 << 10) /* the largest of tzdata has 4 KiB */
#define FOOTER_CHARS_MAX 127      /* the longest of tzdata has 45 */
#define OFFSET_HOURS_MAX 24       /* POSIX */
#define RULE_HOURS_MAX 167        /* RFC 9636, 3.3.2: a rule's time may be a week away */
#define RULE_TIME_DEFAULT_S 7200  /* POSIX: 02:00 */

/* A day of the year as a POSIX TZ text names it, and the local time on it. */
struct rule_day {
    enum { DAY_OF_MONTH_WEEK, DAY_WITHOUT_LEAP, DAY_FROM_ZERO } form;
    int month;   /* 1..12; with DAY_OF_MONTH_WEEK only, as week and weekday */
    int week;    /* 1..5; 5 is the last */
    int weekday; /* 0 is Sunday */
    int day;     /* 1..365, never 29 February; DAY_FROM_ZERO: 0..365 */
    int time_s;  /* after midnight, may be negative */
};

/* What holds after the last moment of the file. */
struct rule {
    bool given;     /* else the last moment's offset holds for ever */
    bool has_dst;   /* else standard_s holds all year */
    int standard_s; /* east of UTC is positive */
    int dst_s;
    struct rule_day start; /* in standard time */
    struct rule_day end;   /* in daylight saving time */
};

struct zone {
    int first_s;      /* the offset before moments[0] */
    size_t count;     /* of moments and offsets */
    int64_t *moments; /* UTC seconds, each later than the one before */
    int *offsets_s;   /* from this moment on */
    struct rule rule;
};

static int64_t floor_div(int64_t number, int64_t by)
{
    return number / by - (number % by < 0);
}

static int64_t clamp_moment(int64_t seconds)
{
    return seconds > MOMENT_MAX_S    ? MOMENT_MAX_S
           : seconds < -MOMENT_MAX_S ? -MOMENT_MAX_S
                                     : seconds;
}

/* --- the POSIX TZ text: STD offset [DST [offset] , start [/time] , end [/time]] ------------ */

static bool skip(const char **text, char wanted)
{
    if (**text != wanted)
        return false;
    (*text)++;
    return true;
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

static bool read_number(const char **text, int min, int max, int *out_number)
{
    int number = 0;
    if (!is_digit(**text))
        return false;
    for (; is_digit(**text); (*text)++) {
        number = number * 10 + (**text - '0');
        if (number > max)
            return false;
    }
    *out_number = number;
    return number >= min;
}

/* Skips an abbreviation: three letters or more, or in <> three letters, digits or signs or more. */
static bool skip_abbreviation(const char **text)
{
    bool is_quoted = skip(text, '<');
    const char *start = *text;
    while (is_letter(**text) || (is_quoted && (is_digit(**text) || **text == '+' || **text == '-')))
        (*text)++;
    return *text - start >= 3 && (!is_quoted || skip(text, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool read_time(const char **text, int hours_max, int *out_seconds)
{
    int sign = skip(text, '-') ? -1 : 1;
    if (sign == 1)
        (void)skip(text, '+'); /* it changes nothing */
    int hours, minutes = 0, seconds = 0;
    if (!read_number(text, 0, hours_max, &hours))
        return false;
    if (skip(text, ':') && !read_number(text, 0, 59, &minutes))
        return false;
    if (skip(text, ':') && !read_number(text, 0, 59, &seconds))
        return false;
    *out_seconds = sign * (hours * 3600 + minutes * 60 + seconds);
    return true;
}

/* POSIX counts offsets to the west. */
static bool read_offset(const char **text, int *out_offset_s)
{
    int west_s;
    if (!read_time(text, OFFSET_HOURS_MAX, &west_s))
        return false;
    *out_offset_s = -west_s;
    return true;
}

/* ",M3.5.0/2", ",J60" or ",59/-1:30" */
static bool read_rule_day(const char **text, struct rule_day *out)
{
    bool valid;
    if (!skip(text, ','))
        return false;
    if (skip(text, 'M')) {
        out->form = DAY_OF_MONTH_WEEK;
        valid = read_number(text, 1, 12, &out->month) && skip(text, '.') &&
                read_number(text, 1, 5, &out->week) && skip(text, '.') &&
                read_number(text, 0, 6, &out->weekday);
    } else if (skip(text, 'J')) {
        out->form = DAY_WITHOUT_LEAP;
        valid = read_number(text, 1, 365, &out->day);
    } else {
        out->form = DAY_FROM_ZERO;
        valid = read_number(text, 0, 365, &out->day);
    }
    out->time_s = RULE_TIME_DEFAULT_S;
    return valid && (!skip(text, '/') || read_time(text, RULE_HOURS_MAX, &out->time_s));
}

/* POSIX lets the rule's days be absent and then means whatever the system likes; zic always writes
 * them, so that such a text is refused. */
static bool read_rule(const char *text, struct rule *out)
{
    out->given = true;
    if (!skip_abbreviation(&text) || !read_offset(&text, &out->standard_s))
        return false;
    out->has_dst = *text != '\0';
    if (!out->has_dst)
        return true;
    if (!skip_abbreviation(&text))
        return false;
    out->dst_s = out->standard_s + 3600;
    if (*text != ',' && !read_offset(&text, &out->dst_s))
        return false;
    return read_rule_day(&text, &out->start) && read_rule_day(&text, &out->end) && *text == '\0';
}

/* --- what the rule says about a moment --------------------------------------------------- */

/* Days from 1970-01-01 to 1 January of this year. */
static int64_t year_start_day(int64_t year)
{
    int64_t last = year - 1;
    int64_t leap_days = floor_div(last, 4) - floor_div(last, 100) + floor_div(last, 400);
    return 365 * (year - 1970) + leap_days - 477; /* 477 of them before 1970 */
}

static int64_t month_week_day(const struct rule_day *rule, int64_t year_start, bool is_leap)
{
    static const int starts[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    int64_t first = year_start + starts[rule->month - 1] + (is_leap && rule->month > 2);
    int64_t next = year_start + starts[rule->month] + (is_leap && rule->month >= 2);
    int64_t weekday = first + 4 - 7 * floor_div(first + 4, 7); /* day 0 was a Thursday */
    int64_t day = first + (rule->weekday - weekday + 7) % 7 + INT64_C(7) * (rule->week - 1);
    return day < next ? day : day - 7;
}

/* The local time at which the rule's day and time come in this year. */
static int64_t rule_day_local_s(const struct rule_day *rule, int64_t year)
{
    int64_t day = year_start_day(year);
    bool is_leap = year_start_day(year + 1) - day == 366;
    switch (rule->form) {
    case DAY_OF_MONTH_WEEK:
        day = month_week_day(rule, day, is_leap);
        break;
    case DAY_WITHOUT_LEAP:
        day += rule->day - 1 + (is_leap && rule->day >= 60);
        break;
    case DAY_FROM_ZERO:
        day += rule->day;
        break;
    }
    return day * DAY_S + rule->time_s;
}

/* The offset at this moment and until when it holds at least. */
static int rule_offset(const struct rule *rule, int64_t utc_s, int64_t *out_until_s)
{
    *out_until_s = INT64_MAX;
    if (!rule->has_dst)
        return rule->standard_s;
    /* The mean year is at most one off, and a rule's time may lie a week outside of its year. */
    int64_t around = 1970 + floor_div(utc_s, MEAN_YEAR_S);
    for (int64_t year = around - 2; year <= around + 2; year++) {
        int64_t start = rule_day_local_s(&rule->start, year) - rule->standard_s;
        int64_t end = rule_day_local_s(&rule->end, year) - rule->dst_s;
        if (end <= start) /* in the south it ends in the next year */
            end = rule_day_local_s(&rule->end, year + 1) - rule->dst_s;
        if (start <= utc_s && utc_s < end) {
            *out_until_s = end;
            return rule->dst_s;
        }
        if (start > utc_s && start < *out_until_s)
            *out_until_s = start;
    }
    return rule->standard_s;
}

/* --- the TZif file ------------------------------------------------------------------------
 * header, data with 32-bit moments, header, data with 64-bit moments, "\n" TZ text "\n" */

#define HEADER_BYTES 44
#define TYPE_BYTES ((size_t)6) /* offset, is daylight saving time, abbreviation */

/* The counts of a header, in the file's order. */
enum { UT_COUNT, STANDARD_COUNT, LEAP_COUNT, MOMENT_COUNT, TYPE_COUNT, CHARACTER_COUNT, COUNTS };

static uint64_t read_big_endian(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* Reads the header at *at and checks that its data, too, lie before end. *at moves to the data;
 * returns their size, or 0 when the bytes are no such file. */
static size_t read_header(const uint8_t **at, const uint8_t *end, size_t moment_bytes,
                          size_t counts[COUNTS])
{
    const uint8_t *header = *at;
    if (end - header < HEADER_BYTES || memcmp(header, "TZif", 4) != 0 || header[4] < '2')
        return 0;
    for (size_t i = 0; i < COUNTS; i++)
        counts[i] = (size_t)read_big_endian(header + 20 + 4 * i, 4);
    if (counts[TYPE_COUNT] == 0)
        return 0;
    uint64_t bytes = (uint64_t)counts[MOMENT_COUNT] * (moment_bytes + 1) +
                     (uint64_t)counts[TYPE_COUNT] * TYPE_BYTES + counts[CHARACTER_COUNT] +
                     (uint64_t)counts[LEAP_COUNT] * (moment_bytes + 4) + counts[STANDARD_COUNT] +
                     counts[UT_COUNT];
    *at += HEADER_BYTES;
    return bytes <= (uint64_t)(end - *at) ? (size_t)bytes : 0;
}

/* data: moments, for each the number of its type, types, and what we do not need. */
static int read_data(struct zone *zone, const uint8_t *data, const size_t counts[COUNTS],
                     struct err *err)
{
    const uint8_t *numbers = data + counts[MOMENT_COUNT] * sizeof(int64_t);
    const uint8_t *types = numbers + counts[MOMENT_COUNT];
    if (counts[LEAP_COUNT] > 0) /* the zones below right/: their clock is not ours */
        return err_set(err, ERR_SYSTEM, 0, "the file counts leap seconds");
    for (size_t i = 0; i < counts[TYPE_COUNT]; i++) {
        int offset_s = (int32_t)read_big_endian(types + i * TYPE_BYTES, 4);
        if (offset_s < OFFSET_MIN_S || offset_s > OFFSET_MAX_S)
            return err_set(err, ERR_SYSTEM, 0, "the file has an offset of %d s", offset_s);
    }
    zone->first_s = (int32_t)read_big_endian(types, 4);
    zone->count = counts[MOMENT_COUNT];
    zone->moments = mem_alloc(zone->count, sizeof *zone->moments);
    zone->offsets_s = mem_alloc(zone->count, sizeof *zone->offsets_s);
    for (size_t i = 0; i < zone->count; i++) {
        zone->moments[i] = (int64_t)read_big_endian(data + i * sizeof(int64_t), sizeof(int64_t));
        if (i > 0 && zone->moments[i] <= zone->moments[i - 1])
            return err_set(err, ERR_SYSTEM, 0, "the file's moments are not in order");
        if (numbers[i] >= counts[TYPE_COUNT])
            return err_set(err, ERR_SYSTEM, 0, "the file names a local time it does not have");
        zone->offsets_s[i] = (int32_t)read_big_endian(types + numbers[i] * TYPE_BYTES, 4);
    }
    return 0;
}

static int read_footer(struct zone *zone, const uint8_t *at, const uint8_t *end, struct err *err)
{
    char text[FOOTER_CHARS_MAX + 1];
    size_t length = 0;
    if (at == end || *at++ != '\n')
        return err_set(err, ERR_SYSTEM, 0, "the file has no rule");
    for (; at < end && *at != '\n' && length < FOOTER_CHARS_MAX; at++)
        text[length++] = (char)*at;
    text[length] = '\0';
    if (at == end || *at != '\n')
        return err_set(err, ERR_SYSTEM, 0, "the file's rule does not end");
    if (length > 0 && !read_rule(text, &zone->rule))
        return err_set(err, ERR_SYSTEM, 0, "the file's rule cannot be read");
    return 0;
}

int timezone_parse(const void *bytes, size_t length, struct zone **out_zone, struct err *err)
{
    const uint8_t *at = bytes;
    const uint8_t *end = at + length;
    size_t counts[COUNTS];
    size_t data_bytes = read_header(&at, end, sizeof(int32_t), counts);
    at += data_bytes;
    if (data_bytes > 0)
        data_bytes = read_header(&at, end, sizeof(int64_t), counts);
    if (data_bytes == 0)
        return err_set(err, ERR_SYSTEM, 0,
                       "the file is not a whole TZif file of version 2 or later");
    struct zone *zone = mem_alloc(1, sizeof *zone);
    if (read_data(zone, at, counts, err) < 0 || read_footer(zone, at + data_bytes, end, err) < 0) {
        timezone_close(zone);
        return -1;
    }
    *out_zone = zone;
    return 0;
}

static bool is_zone_name(const char *name)
{
    size_t length =
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                     "0123456789_+-/"); /* no dots: the name stays below the directory */
    return length > 0 && length <= NAME_CHARS_MAX && name[length] == '\0' && name[0] != '/';
}

/* Reads at most FILE_BYTES_MAX into bytes. */
static int read_file(const char *name, uint8_t *bytes, size_t *out_length, struct err *err)
{
    char path[sizeof ZONE_DIRECTORY + 1 + NAME_CHARS_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", ZONE_DIRECTORY, name); /* it fits: is_zone_name */
    FILE *file = fopen(path, "rbe");
    int failure = file ? 0 : errno;
    if (file) {
        *out_length = fread(bytes, 1, FILE_BYTES_MAX, file);
        failure = ferror(file) ? errno : 0;
        (void)fclose(file); /* it was only read */
    }
    if (failure == ENOENT || failure == ENOTDIR || failure == EISDIR)
        return err_set(err, ERR_NOT_FOUND, failure, "this machine has no time zone %s", name);
    if (failure != 0)
        return err_set(err, ERR_SYSTEM, failure, "read %s: %s", path, strerrordesc_np(failure));
    return 0;
}

int timezone_open(const char *name, struct zone **out_zone, struct err *err)
{
    if (!is_zone_name(name))
        return err_set(err, ERR_INPUT, 0,
                       "a time zone's name has 1 to %d letters, digits, _ + - /, as Europe/Berlin",
                       NAME_CHARS_MAX);
    if (strcmp(name, "UTC") == 0) {
        *out_zone = mem_alloc(1, sizeof **out_zone); /* all zero is UTC */
        return 0;
    }
    size_t length = 0;
    uint8_t *bytes = mem_alloc(FILE_BYTES_MAX, 1);
    int rc = read_file(name, bytes, &length, err);
    if (rc == 0) {
        rc = timezone_parse(bytes, length, out_zone, err);
        if (rc < 0)
            (void)err_wrap(err, name);
    }
    free(bytes);
    return rc;
}

void timezone_close(struct zone *zone)
{
    if (!zone)
        return;
    free(zone->moments);
    free(zone->offsets_s);
    free(zone);
}

/* --- questions --------------------------------------------------------------------------- */

/* The offset at this moment and until when it holds at least. */
static int offset_until(const struct zone *zone, int64_t utc_s, int64_t *out_until_s)
{
    size_t low = 0, high = zone->count; /* low: how many moments are not after utc_s */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->moments[middle] <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == zone->count && zone->rule.given)
        return rule_offset(&zone->rule, utc_s, out_until_s);
    *out_until_s = low < zone->count ? zone->moments[low] : INT64_MAX;
    return low > 0 ? zone->offsets_s[low - 1] : zone->first_s;
}

int timezone_offset(const struct zone *zone, int64_t utc_s)
{
    int64_t until_s;
    return offset_until(zone, clamp_moment(utc_s), &until_s);
}

/* Walks the spans of equal offset that local_s can lie in. Within one, local time runs evenly; when
 * it is already past local_s where a span begins, local_s was skipped there. */
int64_t timezone_to_utc(const struct zone *zone, int64_t local_s, enum timezone_pick pick)
{
    bool is_found = false;
    int64_t found_s = 0;
    local_s = clamp_moment(local_s);
    int64_t begin_s = local_s - OFFSET_MAX_S;
    while (begin_s <= local_s - OFFSET_MIN_S) {
        int64_t until_s;
        int64_t utc_s = local_s - offset_until(zone, begin_s, &until_s);
        if (begin_s <= utc_s && utc_s < until_s) {
            is_found = true;
            found_s = utc_s;
            if (pick == TIMEZONE_FIRST)
                break;
        } else if (!is_found && utc_s < begin_s) {
            is_found = true;
            found_s = begin_s;
        }
        begin_s = until_s;
    }
    assert(is_found); /* each span ends after it begins, and the last one ends after local_s */
    return found_s;
}
