#include "jobs/series.h"
#include "jobs/measure/trend.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1 /* of the shuffles: the same question gets the same answer */
#define DIGITS 6

/* All borrowed from the jobs. */
struct point {
    const struct series_job *job;
    const cJSON *arm;
    const char *database; /* "" where its arms name none */
    bool recommended;
    double rate;  /* MiB/s; NaN for a workload that moves no counted pages */
    double speed; /* the same, or runs per second */
};

struct points {
    struct point *items;
    size_t count, capacity;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static double median_of(const cJSON *arm, const char *member)
{
    const cJSON *median = json_member(json_member(arm, member), "median");
    return cJSON_IsNumber(median) && median->valuedouble > 0 ? median->valuedouble : NAN;
}

static const cJSON *arm_by_name(const cJSON *report, const char *name)
{
    const cJSON *arm;
    cJSON_ArrayForEach(arm, json_member(report, "arms")) {
        if (strcmp(or_empty(member_text(arm, "arm")), name) == 0)
            return arm;
    }
    return NULL;
}

/* --- points --------------------------------------------------------------------------------- */

struct wanted {
    const char *database, *target; /* or NULL */
};

static bool is_wanted(const struct wanted *wanted, const cJSON *settings)
{
    const char *target = member_text(settings, "target");
    return (!wanted->database ||
            member_is_same_database(or_empty(member_text(settings, "database")),
                                    wanted->database)) &&
           (!wanted->target || (target && strcmp(target, wanted->target) == 0));
}

static void add_point(struct points *points, const struct wanted *wanted,
                      const struct series_job *job, const cJSON *arm, bool recommended)
{
    const cJSON *settings = json_member(arm, "settings");
    double rate = median_of(arm, "rate_mib_s");
    double elapsed = median_of(arm, "elapsed_s");
    struct point point = {.job = job,
                          .arm = arm,
                          .database = or_empty(member_text(settings, "database")),
                          .recommended = recommended,
                          .rate = rate,
                          .speed = isnan(rate) ? 1 / elapsed : rate};
    if (isnan(point.speed) || !is_wanted(wanted, settings))
        return;
    points->items =
        mem_grow(points->items, &points->capacity, points->count + 1, sizeof *points->items);
    points->items[points->count++] = point;
}

static bool has_database(const struct points *points, size_t from, const char *database)
{
    for (size_t i = from; i < points->count; i++)
        if (member_is_same_database(points->items[i].database, database))
            return true;
    return false;
}

static void add_job(struct points *points, const struct wanted *wanted,
                    const struct series_job *job)
{
    size_t from = points->count;
    const char *name = member_text(json_member(job->report, "recommendation"), "arm");
    const cJSON *arm;
    if (name) {
        add_point(points, wanted, job, arm_by_name(job->report, name), true);
        return;
    }
    cJSON_ArrayForEach(arm, json_member(job->report, "arms")) {
        const char *database = or_empty(member_text(json_member(arm, "settings"), "database"));
        if (cJSON_IsTrue(json_member(arm, "baseline")) && !has_database(points, from, database))
            add_point(points, wanted, job, arm, false);
    }
}

static cJSON *point_to_json(const struct point *point)
{
    const cJSON *rate = json_member(point->arm, "rate_mib_s");
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "at", member_time_or_null(point->job->at));
    cJSON_AddItemToObject(tree, "job", json_text(point->job->id));
    cJSON_AddItemToObject(tree, "database", json_text(point->database));
    cJSON_AddItemToObject(tree, "arm", json_text(member_text(point->arm, "arm")));
    cJSON_AddStringToObject(tree, "role", point->recommended ? "recommended" : "baseline");
    cJSON_AddItemToObject(
        tree, "settings",
        member_copy_or(json_member(point->arm, "settings"), cJSON_CreateObject()));
    cJSON_AddItemToObject(tree, "rate_mib_s", json_number(point->rate));
    cJSON_AddItemToObject(tree, "low",
                          member_copy_or(json_member(rate, "low"), cJSON_CreateNull()));
    cJSON_AddItemToObject(tree, "high",
                          member_copy_or(json_member(rate, "high"), cJSON_CreateNull()));
    cJSON_AddItemToObject(tree, "elapsed_s", json_number(median_of(point->arm, "elapsed_s")));
    return tree;
}

/* --- splits --------------------------------------------------------------------------------- */

/* What makes a speed another one, whoever changed it. */
static const cJSON *trait_of(const struct point *point, const char *name)
{
    const cJSON *settings = json_member(point->arm, "settings");
    const cJSON *found = json_member(json_member(point->job->report, "instance"), name);
    return found ? found : json_member(settings, name);
}

static void add_value(struct buf *out, const cJSON *value)
{
    if (!value)
        return; /* it was or is not said */
    char *text = cJSON_IsString(value) ? mem_copy(value->valuestring) : json_print(value);
    buf_add(out, text);
    free(text);
}

/* Why a point does not go on with the one before; "" when it does. */
static void why_split(const struct point *before, const struct point *after, struct buf *out)
{
    static const struct {
        const char *name, *words;
    } traits[] = {
        {"version", "version"},         {"edition", "edition"},         {"cpu_count", "cores"},
        {"memory_mib", "memory (MiB)"}, {"platform", "platform"},       {"simulated", "simulated"},
        {"target", "target"},           {"compression", "compression"}, {"location", "location"},
    };
    for (size_t i = 0; i < JSON_COUNT(traits); i++) {
        const cJSON *was = trait_of(before, traits[i].name);
        const cJSON *is = trait_of(after, traits[i].name);
        if ((!was && !is) || cJSON_Compare(was, is, true))
            continue;
        buf_format(out, "%s%s: ", out->length > 0 ? "; " : "", traits[i].words);
        add_value(out, was);
        buf_add(out, " -> ");
        add_value(out, is);
    }
    if (before->recommended != after->recommended)
        buf_format(out, "%swhat is shown: %s", out->length > 0 ? "; " : "",
                   after->recommended ? "baseline -> recommended" : "recommended -> baseline");
}

static cJSON *at_point(const struct point *point)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "at", member_time_or_null(point->job->at));
    cJSON_AddItemToObject(tree, "job", json_text(point->job->id));
    cJSON_AddItemToObject(tree, "database", json_text(point->database));
    return tree;
}

/* --- changes -------------------------------------------------------------------------------- */

/* Of a stretch without a split. */
static void add_changes(struct point *const *points, size_t count, cJSON *changes)
{
    double *speeds = mem_alloc(count + 1, sizeof *speeds);
    struct trend_change *found = mem_alloc(count + 1, sizeof *found);
    for (size_t i = 0; i < count; i++)
        speeds[i] = points[i]->speed;
    size_t found_count = trend_changes(speeds, count, SEED, found);
    for (size_t i = 0; i < found_count; i++) {
        cJSON *tree = at_point(points[found[i].at]);
        cJSON_AddItemToObject(tree, "ratio", json_rounded(found[i].ratio, DIGITS));
        cJSON_AddItemToObject(tree, "p", json_rounded(found[i].p, DIGITS));
        cJSON_AddItemToArray(changes, tree);
    }
    free(found);
    free(speeds);
}

/* One database's points. */
static void add_series(struct point *const *points, size_t count, cJSON *changes, cJSON *splits)
{
    size_t from = 0;
    for (size_t i = 1; i <= count; i++) {
        struct buf why = {0};
        if (i < count)
            why_split(points[i - 1], points[i], &why);
        if (why.length > 0) {
            cJSON *tree = at_point(points[i]);
            cJSON_AddItemToObject(tree, "why", json_text(buf_text(&why)));
            cJSON_AddItemToArray(splits, tree);
        }
        if (i == count || why.length > 0) {
            add_changes(points + from, i - from, changes);
            from = i;
        }
        buf_fini(&why);
    }
}

cJSON *series_make(const struct series_job *jobs, size_t count, const char *database,
                   const char *target)
{
    struct points points = {0};
    struct wanted wanted = {database, target};
    cJSON *list = cJSON_CreateArray();
    cJSON *changes = cJSON_CreateArray();
    cJSON *splits = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++)
        add_job(&points, &wanted, &jobs[i]);
    struct point **series = mem_alloc(points.count + 1, sizeof(struct point *));
    bool *done = mem_alloc(points.count + 1, sizeof *done);
    for (size_t i = 0; i < points.count; i++)
        cJSON_AddItemToArray(list, point_to_json(&points.items[i]));
    for (size_t i = 0; i < points.count; i++) {
        size_t length = 0;
        for (size_t k = i; k < points.count && !done[i]; k++)
            if (member_is_same_database(points.items[k].database, points.items[i].database))
                series[length++] = &points.items[k];
        for (size_t k = 0; k < length; k++)
            done[series[k] - points.items] = true;
        add_series(series, length, changes, splits);
    }
    free(done);
    free(series);
    free(points.items);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "points", list);
    cJSON_AddItemToObject(tree, "change_points", changes);
    cJSON_AddItemToObject(tree, "splits", splits);
    return tree;
}
