#include "jobs/window.h"

#include "jobs/timezone.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_S INT64_C(60)
#define DAY_S INT64_C(86400)
#define DAY_MINUTES 1440
#define HORIZON_DAYS 8 /* a week and a day: every window opens within it */

/* Days before and after today, in the window's zone, whose windows can matter: one that opened the
 * day before yesterday may still be open where clocks were put back; the last day of the horizon
 * may be a day later there, and what opens then decides whether an open window goes on. */
#define DAYS_BACK 2
#define DAYS_AHEAD (HORIZON_DAYS + 2)

static const char *const weekdays[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

/* A member of the list, read. */
struct window {
    unsigned days; /* bit i: it opens on weekdays[i] */
    int from_minute;
    int to_minute;         /* of the same day, or of the next when not after from_minute */
    const char *time_zone; /* borrowed from the list */
};

/* A window on one date. */
struct span {
    int64_t open_ms;
    int64_t close_ms; /* later than open_ms */
};

struct spans {
    struct span *items;
    size_t count, capacity;
};

static bool is_always(const cJSON *windows)
{
    if (!windows || cJSON_IsNull(windows))
        return true;
    if (cJSON_IsString(windows))
        return strcmp(windows->valuestring, "always") == 0;
    return cJSON_IsArray(windows) && cJSON_GetArraySize(windows) == 0;
}

/* "HH:MM" as minutes after midnight, up to `last`; -1 when it is not. */
static int read_minute(const cJSON *text, int last)
{
    static const char highest[] = "29:59";
    if (!cJSON_IsString(text) || strlen(text->valuestring) != 5 || text->valuestring[2] != ':')
        return -1;
    const char *at = text->valuestring;
    for (size_t i = 0; i < 5; i++)
        if (i != 2 && (at[i] < '0' || at[i] > highest[i]))
            return -1;
    int minute = ((at[0] - '0') * 10 + at[1] - '0') * 60 + (at[3] - '0') * 10 + at[4] - '0';
    return minute <= last ? minute : -1;
}

static unsigned read_days(const cJSON *days)
{
    unsigned set = 0;
    const cJSON *day;
    cJSON_ArrayForEach(day, days) {
        for (unsigned i = 0; i < 7; i++)
            if (cJSON_IsString(day) && strcmp(day->valuestring, weekdays[i]) == 0)
                set |= 1U << i;
    }
    return set;
}

/* jobs/instance.c checks the list when it comes in; this one is for what the store gives back. */
static int read_window(const cJSON *item, struct window *out, struct err *err)
{
    const cJSON *time_zone = json_member(item, "time_zone");
    out->days = read_days(json_member(item, "days"));
    out->from_minute = read_minute(json_member(item, "from"), DAY_MINUTES - 1);
    out->to_minute = read_minute(json_member(item, "to"), DAY_MINUTES);
    if (out->days == 0 || out->from_minute < 0 || out->to_minute < 0 || !cJSON_IsString(time_zone))
        return err_set(err, ERR_INPUT, 0, "a maintenance window cannot be read");
    out->time_zone = time_zone->valuestring;
    return 0;
}

static int64_t floor_div(int64_t number, int64_t by)
{
    return number / by - (number % by < 0);
}

/* Adds the window's spans around this moment. */
static void add_spans(struct spans *spans, const struct window *window, const struct zone *zone,
                      int64_t now_s)
{
    int64_t today = floor_div(now_s + timezone_offset(zone, now_s), DAY_S);
    int to_minute = window->to_minute + (window->to_minute > window->from_minute ? 0 : DAY_MINUTES);
    for (int64_t day = today - DAYS_BACK; day <= today + DAYS_AHEAD; day++) {
        int64_t weekday = day + 3 - 7 * floor_div(day + 3, 7); /* day 0 was a Thursday */
        if (!(window->days >> weekday & 1))
            continue;
        int64_t from_s = day * DAY_S + window->from_minute * MINUTE_S;
        int64_t to_s = day * DAY_S + to_minute * MINUTE_S;
        struct span span = {timezone_to_utc(zone, from_s, TIMEZONE_FIRST) * 1000,
                            timezone_to_utc(zone, to_s, TIMEZONE_LAST) * 1000};
        if (span.open_ms >= span.close_ms) /* all of it falls into a gap */
            continue;
        spans->items = mem_grow(spans->items, &spans->capacity, spans->count + 1, sizeof span);
        spans->items[spans->count++] = span;
    }
}

static int collect_spans(const cJSON *windows, int64_t now_s, struct spans *spans, struct err *err)
{
    int rc = -1;
    const char *name = ""; /* of zone; most lists name one zone only, which is then read once */
    struct zone *zone = NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, windows) {
        struct window window = {.time_zone = ""};
        struct err cause;
        if (read_window(item, &window, err) < 0)
            goto out;
        if (strcmp(name, window.time_zone) != 0) {
            timezone_close(zone);
            zone = NULL;
            name = window.time_zone;
        }
        if (!zone && timezone_open(name, &zone, &cause) < 0) {
            (void)err_set(err, ERR_SYSTEM, cause.detail, "maintenance window: %s", cause.msg);
            goto out;
        }
        add_spans(spans, &window, zone, now_s);
    }
    rc = 0;
out:
    timezone_close(zone);
    return rc;
}

static int by_opening(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return (a->open_ms > b->open_ms) - (a->open_ms < b->open_ms);
}

/* Spans that touch or overlap are one opening. */
static void sweep(struct spans *spans, int64_t now_ms, bool *out_open, int64_t *out_change_ms)
{
    bool is_open = false;
    int64_t end_ms = now_ms;
    int64_t next_ms = 0;
    if (spans->count > 0)
        qsort(spans->items, spans->count, sizeof *spans->items, by_opening);
    for (size_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->items[i];
        if (span->open_ms > end_ms) {
            next_ms = span->open_ms;
            break;
        }
        if (span->close_ms > end_ms) {
            is_open = true;
            end_ms = span->close_ms;
        }
    }
    int64_t change_ms = is_open ? end_ms : next_ms;
    *out_open = is_open;
    *out_change_ms = change_ms - now_ms <= HORIZON_DAYS * DAY_S * 1000 ? change_ms : 0;
}

int window_state(const cJSON *windows, int64_t wall_ms, bool *out_open, int64_t *out_change_ms,
                 struct err *err)
{
    if (is_always(windows)) {
        *out_open = true;
        *out_change_ms = 0;
        return 0;
    }
    if (!cJSON_IsArray(windows))
        return err_set(err, ERR_INPUT, 0, "maintenance windows are neither a list nor \"always\"");
    struct spans spans = {0};
    int rc = collect_spans(windows, floor_div(wall_ms, 1000), &spans, err);
    if (rc == 0)
        sweep(&spans, wall_ms, out_open, out_change_ms);
    free(spans.items);
    return rc;
}

static bool find_around(struct spans *spans, int64_t wall_ms, struct window_span *out)
{
    struct window_span whole = {0, 0};
    if (spans->count > 0)
        qsort(spans->items, spans->count, sizeof *spans->items, by_opening);
    for (size_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->items[i];
        if (i == 0 || span->open_ms > whole.closes_at) {
            if (i > 0 && wall_ms < whole.closes_at)
                break;
            whole = (struct window_span){span->open_ms, span->close_ms};
        } else if (span->close_ms > whole.closes_at) {
            whole.closes_at = span->close_ms;
        }
    }
    if (spans->count == 0 || wall_ms < whole.opens_at || wall_ms >= whole.closes_at)
        return false;
    *out = whole;
    return true;
}

int window_around(const cJSON *windows, int64_t wall_ms, bool *out_found, struct window_span *out,
                  struct err *err)
{
    struct spans spans = {0};
    *out_found = false;
    if (is_always(windows))
        return 0;
    if (!cJSON_IsArray(windows))
        return err_set(err, ERR_INPUT, 0, "maintenance windows are neither a list nor \"always\"");
    int rc = collect_spans(windows, floor_div(wall_ms, 1000), &spans, err);
    if (rc == 0)
        *out_found = find_around(&spans, wall_ms, out);
    free(spans.items);
    return rc;
}

/* A twentieth of it is lost to a job's turn, and as much as half of it to other people's work that
 * is waited for: each night anew, perhaps. */
bool window_was_whole(const struct window_span *span, int64_t began_ms, bool first,
                      int64_t ready_ms)
{
    int64_t length = span->closes_at - span->opens_at;
    bool at_once = ready_ms - span->opens_at <= length / 20;
    return began_ms - span->opens_at <= (first && at_once ? length / 2 : length / 20);
}

/* A typo must not open a server for a day, nor shut it for good. */
static void check_ends(const cJSON *window, const char *at, struct json_faults *faults)
{
    const cJSON *from = json_member(window, "from");
    const cJSON *to = json_member(window, "to");
    if (cJSON_IsString(from) && cJSON_IsString(to) &&
        strcmp(from->valuestring, to->valuestring) == 0)
        json_fault_add(faults, json_pointer(at, "to"),
                       "is equal to from; a whole day is \"00:00\" to \"24:00\"");
}

void window_check(const cJSON *windows, const char *pointer, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    if (!cJSON_IsArray(windows))
        return;
    char *base = mem_copy(pointer); /* it may be one of json_pointer's, which we use up below */
    cJSON_ArrayForEach(item, windows) {
        const char *at = json_pointer_index(base, index++);
        const cJSON *time_zone = json_member(item, "time_zone");
        struct zone *zone = NULL;
        struct err err;
        check_ends(item, at, faults);
        if (!cJSON_IsString(time_zone)) /* jobs/instance.c says so */
            continue;
        if (timezone_open(time_zone->valuestring, &zone, &err) < 0)
            json_fault_add(faults, json_pointer(at, "time_zone"), "%s", err.msg);
        timezone_close(zone);
    }
    free(base);
}
