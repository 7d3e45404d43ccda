#include "jobs/effects.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is being collected. */
struct effects {
    cJSON *effects, *undecided;
    int effects_more, undecided_more;
};

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static void add_text(cJSON *list, int *more, const char *text)
{
    if (cJSON_GetArraySize(list) < EFFECTS_MOST)
        cJSON_AddItemToArray(list, json_text(text));
    else
        ++*more;
}

/* Where an effect's numbers stand, and under which names. */
struct place {
    const cJSON *values;
    const char *value, *low, *high;
};

/* Takes `what` over. */
static void add_effect(struct effects *out, char *what, const char *measure,
                       const struct place *place, const cJSON *row)
{
    const char *verdict = member_text(row, "verdict");
    bool open = verdict && (strcmp(verdict, "inconclusive") == 0 || strcmp(verdict, "unsure") == 0);
    if (open)
        add_text(out->undecided, &out->undecided_more, what);
    if (cJSON_GetArraySize(out->effects) == EFFECTS_MOST) {
        out->effects_more++;
        free(what);
        return;
    }
    cJSON *effect = cJSON_CreateObject();
    cJSON_AddItemToObject(effect, "what", json_text(what));
    cJSON_AddStringToObject(effect, "measure", measure);
    cJSON_AddItemToObject(effect, "value", json_number(number_of(place->values, place->value)));
    cJSON_AddItemToObject(effect, "low", json_number(number_of(place->values, place->low)));
    cJSON_AddItemToObject(effect, "high", json_number(number_of(place->values, place->high)));
    cJSON_AddItemToObject(effect, "level", json_number(number_of(row, "level")));
    cJSON_AddItemToObject(effect, "verdict", json_text(verdict));
    cJSON_AddItemToArray(out->effects, effect);
    free(what);
}

static const char *text_or(const cJSON *object, const char *name, const char *fallback)
{
    const char *text = member_text(object, name);
    return text ? text : fallback;
}

/* --- kinds that know times with and without ------------------------------------------------- */

static char *overhead_name(const cJSON *row)
{
    double snapshots = number_of(row, "snapshots");
    if (isfinite(snapshots))
        return mem_format("%.0f snapshot%s at %s", snapshots, snapshots > 1 ? "s" : "",
                          text_or(row, "location", "?"));
    return mem_format("Trace flag %.0f on %s", number_of(row, "flag"),
                      text_or(row, "database", "?"));
}

static void add_overhead(struct effects *out, const cJSON *report)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, json_member(report, "overhead")) {
        struct place place = {row, "ratio", "low", "high"};
        add_effect(out, overhead_name(row), "time", &place, row);
    }
}

/* --- what holds a backup back --------------------------------------------------------------- */

static void add_bottlenecks(struct effects *out, const cJSON *report)
{
    const cJSON *row;
    const cJSON *target;
    cJSON_ArrayForEach(row, json_member(report, "bottleneck"))
        cJSON_ArrayForEach(target, json_member(row, "targets")) {
            struct place place = {target, "fraction_of_ceiling", "low", "high"};
            add_effect(
                out,
                mem_format("%s to %s", text_or(row, "database", "?"), text_or(target, "name", "?")),
                "fraction_of_ceiling", &place, target);
        }
}

/* --- what msdb remembers -------------------------------------------------------------------- */

static void add_history(struct effects *out, const cJSON *report)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, json_member(report, "history")) {
        struct place place = {json_member(row, "logical_mib_s"), "median", "p5", "p95"};
        add_effect(out,
                   mem_format("%s %s", text_or(row, "database", "?"), text_or(row, "type", "?")),
                   "mib_s", &place, row);
    }
}

/* --- speeds against a baseline -------------------------------------------------------------- */

static const char *label_of(const cJSON *report, const char *arm)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(report, "arms"))
        if (strcmp(text_or(item, "arm", ""), arm) == 0)
            return text_or(item, "label", arm);
    return arm;
}

/* The recommended arm's effect; of the others only what is not decided. */
static void add_comparisons(struct effects *out, const cJSON *report)
{
    const char *best = text_or(json_member(report, "recommendation"), "arm", "");
    const cJSON *confirmation = json_member(report, "confirmation");
    const cJSON *row;
    cJSON_ArrayForEach(row, json_member(report, "comparisons")) {
        const char *arm = text_or(row, "arm", "?");
        struct place place = {row, "ratio", "low", "high"};
        if (strcmp(arm, best) == 0)
            add_effect(out, mem_copy(label_of(report, arm)), "speed", &place, row);
        else if (strcmp(text_or(row, "verdict", ""), "inconclusive") == 0)
            add_text(out->undecided, &out->undecided_more, label_of(report, arm));
    }
    struct place place = {confirmation, "ratio", "low", "high"};
    if (cJSON_IsObject(confirmation))
        add_effect(out, mem_format("Confirmed on %s", text_or(confirmation, "target", "?")),
                   "speed", &place, confirmation);
}

void effects_add(cJSON *data, const cJSON *report)
{
    /* The first member a report has is what its kind is about. */
    static const struct {
        const char *member;
        void (*add)(struct effects *out, const cJSON *report);
    } sources[] = {
        {"overhead", add_overhead},
        {"bottleneck", add_bottlenecks},
        {"history", add_history},
        {"comparisons", add_comparisons},
    };
    struct effects out = {.effects = cJSON_CreateArray(), .undecided = cJSON_CreateArray()};
    size_t i = 0;
    while (i < JSON_COUNT(sources) && !cJSON_IsArray(json_member(report, sources[i].member)))
        i++;
    if (i < JSON_COUNT(sources))
        sources[i].add(&out, report);
    cJSON_AddItemToObject(data, "effects", out.effects);
    cJSON_AddNumberToObject(data, "effects_more", out.effects_more);
    cJSON_AddItemToObject(data, "undecided", out.undecided);
    cJSON_AddNumberToObject(data, "undecided_more", out.undecided_more);
}

/* --- words ---------------------------------------------------------------------------------- */

struct measure {
    const char *name;
    double factor;
    const char *unit;     /* behind the value */
    const char *range;    /* what low and high are when there is no level */
    const char *end_unit; /* behind high */
};

static const struct measure measures[] = {
    {"speed", 1, "x the speed", "", ""},
    {"time", 1, "x the time", "", ""},
    {"fraction_of_ceiling", 100, " % of what reading gives", "", " %"},
    {"mib_s", 1, " MiB/s (median", "5 to 95 %: ", ""},
};

static const struct {
    const char *verdict, *words;
} verdicts[] = {
    {"faster", "faster"},
    {"slower", "slower"},
    {"no_difference", "no difference"},
    {"inconclusive", "not decided"},
    {"unsure", "not decided"},
    {"read", "held back by reading"},
    {"write", "held back by writing"},
    {"cpu", "held back by the processor"},
    {"balanced", "nothing holds it back alone"},
};

static const struct measure *measure_of(const cJSON *effect)
{
    const char *name = text_or(effect, "measure", "");
    for (size_t i = 0; i < JSON_COUNT(measures); i++)
        if (strcmp(measures[i].name, name) == 0)
            return &measures[i];
    return &measures[0];
}

static void add_interval(struct buf *out, const cJSON *effect, const struct measure *measure)
{
    double low = number_of(effect, "low") * measure->factor;
    double high = number_of(effect, "high") * measure->factor;
    double level = number_of(effect, "level") * 100;
    bool median = strcmp(measure->name, "mib_s") == 0;
    if (!isfinite(low) || !isfinite(high)) {
        buf_add(out, median ? ")" : "");
        return;
    }
    buf_add(out, median ? "; " : " (");
    if (isfinite(level))
        buf_format(out, "%.4g %%: ", level);
    else
        buf_add(out, measure->range);
    buf_format(out, "%.3g to %.3g%s)", low, high, measure->end_unit);
}

char *effects_words(const cJSON *effect)
{
    struct buf out = {0};
    const struct measure *measure = measure_of(effect);
    double value = number_of(effect, "value") * measure->factor;
    const char *verdict = text_or(effect, "verdict", "");
    buf_format(&out, "%s: ", text_or(effect, "what", "?"));
    if (isfinite(value)) {
        buf_format(&out, "%.3g%s", value, measure->unit);
        add_interval(&out, effect, measure);
    } else {
        buf_add(&out, "no figure");
    }
    for (size_t i = 0; i < JSON_COUNT(verdicts); i++)
        if (strcmp(verdicts[i].verdict, verdict) == 0)
            buf_format(&out, ", %s", verdicts[i].words);
    return buf_take(&out);
}
