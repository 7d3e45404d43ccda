/* value_time.c: the part of value.h about dates and times. */
#include "value.h"

#include <stdlib.h>
#include <string.h>

/* Days from 0001-01-01, after Howard Hinnant's days_from_civil. */
static int64_t days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 306;
}

struct civil sim_civil(int64_t ticks)
{
    int64_t days = ticks / TICKS_PER_DAY;
    int64_t rest = ticks % TICKS_PER_DAY;
    if (rest < 0) {
        rest += TICKS_PER_DAY;
        days--;
    }
    int64_t z = days + 306;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    struct civil c = {.day = (int)(doy - (153 * mp + 2) / 5 + 1),
                      .month = (int)(mp < 10 ? mp + 3 : mp - 9)};
    c.year = (int)(yoe + era * 400 + (c.month <= 2));
    c.fraction = (int)(rest % TICKS_PER_SECOND);
    int64_t seconds = rest / TICKS_PER_SECOND;
    c.hour = (int)(seconds / 3600);
    c.minute = (int)(seconds / 60 % 60);
    c.second = (int)(seconds % 60);
    return c;
}

int64_t sim_ticks(const struct civil *c)
{
    int64_t seconds = days_from_civil(c->year, c->month, c->day) * 86400 + c->hour * 3600 +
                      c->minute * 60 + c->second;
    return seconds * TICKS_PER_SECOND + c->fraction;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month == 2 && (year % 4 == 0 && (year % 100 || year % 400 == 0)))
        return 29;
    return days[month - 1];
}

bool sim_civil_valid(const struct civil *c)
{
    return c->year >= 1 && c->year <= 9999 && c->month >= 1 && c->month <= 12 && c->day >= 1 &&
           c->day <= days_in_month(c->year, c->month) && c->hour >= 0 && c->hour < 24 &&
           c->minute >= 0 && c->minute < 60 && c->second >= 0 && c->second < 60;
}

int64_t sim_time_round(enum vt base, int scale, int64_t ticks)
{
    if (base == VT_DATETIME) { /* three hundredths of a second, given back in whole ms */
        int64_t day = ticks - ticks % TICKS_PER_DAY;
        int64_t units = (ticks % TICKS_PER_DAY * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
        int64_t ms = (units * 10 + 1) / 3;
        return day + ms * 10000;
    }
    if (base == VT_SMALLDATETIME) {
        int64_t minute = 60 * TICKS_PER_SECOND;
        return (ticks + minute / 2) / minute * minute;
    }
    if (base == VT_DATE)
        return ticks - ticks % TICKS_PER_DAY;
    int64_t unit = 1;
    for (int i = scale; i < 7; i++)
        unit *= 10;
    return (ticks + unit / 2) / unit * unit;
}

/* Digits at *p, at least one and at most `most`; -1 if none. */
static int digits(const char **p, int most)
{
    int v = 0, n = 0;
    while (n < most && **p >= '0' && **p <= '9') {
        v = v * 10 + (*(*p)++ - '0');
        n++;
    }
    return n ? v : -1;
}

static bool parse_clock(const char **p, struct civil *c)
{
    c->hour = digits(p, 2);
    if (c->hour < 0 || **p != ':')
        return false;
    ++*p;
    c->minute = digits(p, 2);
    if (**p == ':') {
        ++*p;
        c->second = digits(p, 2);
        if (**p == '.' || **p == ':') {
            ++*p;
            int unit = (int)TICKS_PER_SECOND / 10;
            while (**p >= '0' && **p <= '9') {
                c->fraction += unit * (*(*p)++ - '0');
                unit /= 10;
            }
        }
    }
    *p += strspn(*p, " ");
    if (sim_text_is_n(*p, "pm", 2) && c->hour < 12)
        c->hour += 12, *p += 2;
    else if (sim_text_is_n(*p, "am", 2))
        c->hour %= 12, *p += 2;
    return true;
}

static bool parse_date(const char **p, struct civil *c)
{
    const char *start = *p;
    int first = digits(p, 8);
    if (first < 0)
        return false;
    if (*p - start == 8) { /* yyyymmdd */
        c->year = first / 10000;
        c->month = first / 100 % 100;
        c->day = first % 100;
        return true;
    }
    char mark = **p;
    if (mark != '-' && mark != '/' && mark != '.') {
        *p = start;
        return false;
    }
    ++*p;
    int second = digits(p, 2);
    if (**p != mark)
        return false;
    ++*p;
    int third = digits(p, 4);
    if (first > 31) {
        c->year = first, c->month = second, c->day = third;
    } else { /* us_english: month/day/year */
        c->month = first, c->day = second, c->year = third;
    }
    return true;
}

int sim_time_parse(const char *text, struct type to, struct value *out)
{
    struct civil c = {.year = 1900, .month = 1, .day = 1};
    const char *p = text + strspn(text, " ");
    int offset = 0;

    if (*p && strchr(p, ':') != p + 2 && strchr(p, ':') != p + 1) {
        if (!parse_date(&p, &c))
            return 241;
        p += *p == 'T' ? 1 : strspn(p, " ");
    }
    if (*p >= '0' && *p <= '9' && !parse_clock(&p, &c))
        return 241;
    p += strspn(p, " ");
    if (*p == 'Z') {
        p++;
    } else if (*p == '+' || *p == '-') {
        bool negative = *p++ == '-';
        int h = digits(&p, 2);
        int m = *p == ':' ? (p++, digits(&p, 2)) : 0;
        if (h < 0 || m < 0)
            return 241;
        offset = negative ? -(h * 60 + m) : h * 60 + m;
    }
    if (p[strspn(p, " ")])
        return 241;
    if (!sim_civil_valid(&c))
        return to.base == VT_DATETIME || to.base == VT_SMALLDATETIME ? 242 : 241;
    int64_t ticks = sim_ticks(&c);
    if (to.base == VT_TIME)
        ticks %= TICKS_PER_DAY;
    if (to.base == VT_DATETIMEOFFSET) {
        ticks -= offset * 60 * TICKS_PER_SECOND;
        out->offset_min = offset;
    }
    out->i = sim_time_round(to.base, to.scale, ticks);
    return 0;
}

static const char *fraction_text(struct arena *arena, int fraction, int scale)
{
    if (!scale)
        return "";
    return sim_arena_printf(arena, ".%.*s", scale, sim_arena_printf(arena, "%07d", fraction));
}

static const char *old_style(struct arena *arena, struct civil c, int style)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int h12 = c.hour % 12 ? c.hour % 12 : 12;
    const char *half = c.hour < 12 ? "AM" : "PM";
    const char *month = months + 3 * (c.month - 1);

    if (style == 1 || style == 101)
        return style == 1 ? sim_arena_printf(arena, "%02d/%02d/%02d", c.month, c.day, c.year % 100)
                          : sim_arena_printf(arena, "%02d/%02d/%04d", c.month, c.day, c.year);
    if (style == 103)
        return sim_arena_printf(arena, "%02d/%02d/%04d", c.day, c.month, c.year);
    if (style == 104)
        return sim_arena_printf(arena, "%02d.%02d.%04d", c.day, c.month, c.year);
    if (style == 8 || style == 108)
        return sim_arena_printf(arena, "%02d:%02d:%02d", c.hour, c.minute, c.second);
    if (style == 9 || style == 109)
        return sim_arena_printf(arena, "%.3s %2d %d %2d:%02d:%02d:%03d%s", month, c.day, c.year,
                                h12, c.minute, c.second, c.fraction / 10000, half);
    if (style == 12 || style == 112)
        return style == 12 ? sim_arena_printf(arena, "%02d%02d%02d", c.year % 100, c.month, c.day)
                           : sim_arena_printf(arena, "%04d%02d%02d", c.year, c.month, c.day);
    return sim_arena_printf(arena, "%.3s %2d %d %2d:%02d%s", month, c.day, c.year, h12, c.minute,
                            half);
}

const char *sim_time_text(struct arena *arena, const struct value *v, int style)
{
    bool zoned = v->type.base == VT_DATETIMEOFFSET;
    struct civil c = sim_civil(v->i + (zoned ? v->offset_min * 60 * TICKS_PER_SECOND : 0));
    bool newer =
        v->type.base == VT_DATETIME2 || zoned || v->type.base == VT_DATE || v->type.base == VT_TIME;
    const char *fraction = fraction_text(arena, c.fraction, newer ? v->type.scale : 3);
    const char *zone = "";

    if (zoned)
        zone = sim_arena_printf(arena, "%s%c%02d:%02d", style == 126 || style == 127 ? "" : " ",
                                v->offset_min < 0 ? '-' : '+', abs(v->offset_min) / 60,
                                abs(v->offset_min) % 60);
    if (style == 0 && newer)
        style = 121;
    if (style == 25 || style == 21)
        style = 121;
    if (style == 20)
        style = 120;
    if (style == 23)
        return sim_arena_printf(arena, "%04d-%02d-%02d", c.year, c.month, c.day);
    if (style != 120 && style != 121 && style != 126 && style != 127)
        return old_style(arena, c, style);
    if (style == 120)
        fraction = "";
    if ((style == 126 || style == 127) && c.fraction == 0 && !newer)
        fraction = "";
    const char *date = sim_arena_printf(arena, "%04d-%02d-%02d", c.year, c.month, c.day);
    const char *clock =
        sim_arena_printf(arena, "%02d:%02d:%02d%s", c.hour, c.minute, c.second, fraction);
    if (v->type.base == VT_DATE)
        return date;
    if (v->type.base == VT_TIME)
        return clock;
    return sim_arena_printf(arena, "%s%c%s%s", date, style == 126 || style == 127 ? 'T' : ' ',
                            clock, zone);
}

enum part {
    P_YEAR,
    P_QUARTER,
    P_MONTH,
    P_DAYOFYEAR,
    P_DAY,
    P_WEEK,
    P_WEEKDAY,
    P_HOUR,
    P_MINUTE,
    P_SECOND,
    P_MS,
    P_US,
    P_NS,
    P_TZ
};

int sim_datepart(const char *name)
{
    static const struct {
        const char *name;
        enum part part;
    } names[] = {{"year", P_YEAR},     {"yy", P_YEAR},
                 {"yyyy", P_YEAR},     {"quarter", P_QUARTER},
                 {"qq", P_QUARTER},    {"q", P_QUARTER},
                 {"month", P_MONTH},   {"mm", P_MONTH},
                 {"m", P_MONTH},       {"dayofyear", P_DAYOFYEAR},
                 {"dy", P_DAYOFYEAR},  {"day", P_DAY},
                 {"dd", P_DAY},        {"d", P_DAY},
                 {"week", P_WEEK},     {"wk", P_WEEK},
                 {"ww", P_WEEK},       {"weekday", P_WEEKDAY},
                 {"dw", P_WEEKDAY},    {"hour", P_HOUR},
                 {"hh", P_HOUR},       {"minute", P_MINUTE},
                 {"mi", P_MINUTE},     {"n", P_MINUTE},
                 {"second", P_SECOND}, {"ss", P_SECOND},
                 {"s", P_SECOND},      {"millisecond", P_MS},
                 {"ms", P_MS},         {"microsecond", P_US},
                 {"mcs", P_US},        {"nanosecond", P_NS},
                 {"ns", P_NS},         {"tzoffset", P_TZ},
                 {"tz", P_TZ}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (sim_text_is(names[i].name, name))
            return (int)names[i].part;
    return -1;
}

int64_t sim_datepart_get(int part, const struct value *v)
{
    int64_t ticks = v->i + v->offset_min * 60 * TICKS_PER_SECOND;
    struct civil c = sim_civil(ticks);
    int64_t days = ticks / TICKS_PER_DAY;
    int64_t values[] = {c.year,
                        (c.month + 2) / 3,
                        c.month,
                        days - days_from_civil(c.year, 1, 1) + 1,
                        c.day,
                        0,
                        (days + 1) % 7 + 1,
                        c.hour,
                        c.minute,
                        c.second,
                        c.fraction / 10000,
                        c.fraction / 10,
                        c.fraction * INT64_C(100),
                        v->offset_min};
    if (part == P_WEEK)
        return (days - days_from_civil(c.year, 1, 1) + (days_from_civil(c.year, 1, 1) + 1) % 7) /
                   7 +
               1;
    return values[part];
}

static int64_t part_ticks(int part)
{
    static const int64_t units[] = {[P_DAYOFYEAR] = TICKS_PER_DAY,
                                    [P_DAY] = TICKS_PER_DAY,
                                    [P_WEEK] = 7 * TICKS_PER_DAY,
                                    [P_WEEKDAY] = TICKS_PER_DAY,
                                    [P_HOUR] = 3600 * TICKS_PER_SECOND,
                                    [P_MINUTE] = 60 * TICKS_PER_SECOND,
                                    [P_SECOND] = TICKS_PER_SECOND,
                                    [P_MS] = 10000,
                                    [P_US] = 10,
                                    [P_NS] = 1,
                                    [P_TZ] = 1};
    return units[part];
}

int sim_dateadd(int part, int64_t n, const struct value *v, struct value *out)
{
    *out = *v;
    if (part > P_MONTH) {
        int64_t by = 0;
        if (part == P_NS)
            by = n / 100;
        else if (__builtin_mul_overflow(part_ticks(part), n, &by))
            return 517;
        out->i = v->i + by;
    } else {
        struct civil c = sim_civil(v->i);
        int64_t months = c.year * INT64_C(12) + c.month - 1 +
                         n * (part == P_YEAR      ? 12
                              : part == P_QUARTER ? 3
                                                  : 1);
        if (months < 12 || months >= 120000)
            return 517;
        c.year = (int)(months / 12);
        c.month = (int)(months % 12) + 1;
        if (c.day > days_in_month(c.year, c.month))
            c.day = days_in_month(c.year, c.month);
        out->i = sim_ticks(&c);
    }
    if (out->i < 0 || out->i >= INT64_C(3652059) * TICKS_PER_DAY)
        return 517;
    out->i = sim_time_round(v->type.base, v->type.scale, out->i);
    return 0;
}

int64_t sim_datediff(int part, int64_t from, int64_t to)
{
    struct civil a = sim_civil(from), b = sim_civil(to);

    if (part == P_YEAR)
        return b.year - a.year;
    if (part == P_QUARTER)
        return (b.year - a.year) * 4 + (b.month - 1) / 3 - (a.month - 1) / 3;
    if (part == P_MONTH)
        return (b.year - a.year) * 12 + b.month - a.month;
    if (part == P_NS)
        return (to - from) * 100;
    int64_t unit = part_ticks(part);
    if (part == P_WEEK) /* weeks begin on Sunday */
        return (to + TICKS_PER_DAY) / unit - (from + TICKS_PER_DAY) / unit;
    return to / unit - from / unit;
}
