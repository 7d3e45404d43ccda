#include "jobs/compare.h"
#include "jobs/measure/unpaired.h"
#include "jobs/member.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 6
#define P_DIGITS 4

/* --- runs ----------------------------------------------------------------------------------- */

struct speeds {
    double *items;
    size_t count;
};

/* An arm's speeds, but for those that the job's own comparisons set aside. */
static struct speeds speeds_of(const struct analysis *analysis, int arm)
{
    struct speeds out = {.items = mem_alloc(analysis->point_count + 1, sizeof *out.items)};
    for (size_t i = 0; i < analysis->point_count; i++)
        if (analysis->points[i].arm == arm && !analysis->outlier[i])
            out.items[out.count++] = analysis->points[i].rate;
    return out;
}

static struct speeds speeds_from_json(const cJSON *list)
{
    struct speeds out = {.items =
                             mem_alloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *out.items)};
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (cJSON_IsNumber(item) && item->valuedouble > 0)
            out.items[out.count++] = item->valuedouble;
    }
    return out;
}

static bool is_same_database(const cJSON *settings, const cJSON *others)
{
    const char *name = member_text(settings, "database");
    const char *other = member_text(others, "database");
    return name && other ? member_is_same_database(name, other)
                         : cJSON_Compare(json_member(settings, "database"),
                                         json_member(others, "database"), true);
}

static bool are_same_settings(const cJSON *settings, const cJSON *others)
{
    const cJSON *item;
    if (cJSON_GetArraySize(settings) != cJSON_GetArraySize(others))
        return false;
    cJSON_ArrayForEach(item, settings) {
        bool is_database = strcmp(item->string, "database") == 0;
        if (is_database ? !is_same_database(settings, others)
                        : !cJSON_Compare(item, json_member(others, item->string), true))
            return false;
    }
    return true;
}

static int find_settings(const struct bundle *bundle, const cJSON *settings)
{
    for (size_t i = 0; i < bundle->arm_count; i++)
        if (cJSON_Compare(bundle->arms[i].settings, settings, true))
            return (int)i;
    for (size_t i = 0; i < bundle->arm_count; i++)
        if (are_same_settings(bundle->arms[i].settings, settings))
            return (int)i;
    return -1;
}

/* --- what kind of server ------------------------------------------------------------------- */

/* A fact as text, the caller's; NULL when it is not known. */
static char *fact_text(const cJSON *item)
{
    if (cJSON_IsString(item))
        return mem_copy(item->valuestring);
    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? mem_format("%.0f", item->valuedouble)
                                                          : NULL;
}

static void add_reason(cJSON *reasons, const char *what, const char *base, const char *now)
{
    if (strcmp(base, now) == 0)
        return;
    char *text = mem_format("the %s differs: %s, then %s", what, base, now);
    cJSON_AddItemToArray(reasons, json_text(text));
    free(text);
}

/* What differs between two servers as far as speeds depend on it, a sentence each. */
static void add_server_reasons(const cJSON *base, const cJSON *now, cJSON *reasons)
{
    static const struct {
        const char *member, *words;
    } facts[] = {
        {"version", "version of SQL Server"},
        {"edition", "edition"},
        {"platform", "platform"},
        {"host_name", "host"},
        {"cpu_count", "number of cores"},
        {"memory_mib", "memory (MiB)"},
    };
    for (size_t i = 0; i < JSON_COUNT(facts); i++) {
        char *was = fact_text(json_member(base, facts[i].member));
        char *is = fact_text(json_member(now, facts[i].member));
        if (was && is)
            add_reason(reasons, facts[i].words, was, is);
        free(was);
        free(is);
    }
    if (cJSON_IsTrue(json_member(base, "simulated")) != cJSON_IsTrue(json_member(now, "simulated")))
        cJSON_AddItemToArray(reasons,
                             json_text("one of the servers is simulated, the other is not"));
}

/* --- baseline ------------------------------------------------------------------------------- */

/* The arm a report recommends; 0, the first baseline, where it recommends none. */
static int recommended_arm(const struct evidence *evidence, bool *out_recommended)
{
    struct outcome outcome;
    cJSON *report = evidence_report(evidence, &outcome);
    const char *name = member_text(json_member(report, "recommendation"), "arm");
    int arm = name ? arm_index(name) : -1;
    *out_recommended = arm >= 0;
    cJSON_Delete(report);
    free(outcome.summary);
    return arm >= 0 ? arm : 0;
}

cJSON *compare_baseline(const struct evidence *base)
{
    char name[ARM_NAME_SIZE];
    struct analysis analysis;
    bool recommended;
    if (base->bundle.arm_count == 0)
        return NULL;
    int arm = recommended_arm(base, &recommended);
    analysis_make(&base->bundle, &analysis);
    struct speeds speeds = speeds_of(&analysis, arm);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "job", json_text(base->bundle.job));
    cJSON_AddItemToObject(tree, "arm", json_text(arm_name(arm, name)));
    cJSON_AddBoolToObject(tree, "recommended", recommended);
    cJSON_AddItemToObject(tree, "label", json_text(base->bundle.arms[arm].label));
    cJSON_AddItemToObject(tree, "settings",
                          member_copy_or(base->bundle.arms[arm].settings, cJSON_CreateObject()));
    cJSON *list = cJSON_AddArrayToObject(tree, "speeds");
    for (size_t i = 0; i < speeds.count; i++)
        cJSON_AddItemToArray(list, json_number(speeds.items[i]));
    cJSON_AddItemToObject(tree, "server", server_facts_to_json(base->bundle.facts));
    free(speeds.items);
    analysis_fini(&analysis);
    return tree;
}

cJSON *compare_no_baseline(const char *why)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddNullToObject(tree, "job");
    cJSON_AddItemToObject(tree, "missing", json_text(why));
    return tree;
}

static bool has_regressed(const struct stats_comparison *it, double tolerance)
{
    return it->verdict == VERDICT_SLOWER && it->ratio < 1 - fmax(tolerance, COMPARE_REGRESSED);
}

static void add_figures(cJSON *tree, const struct stats_comparison *it)
{
    cJSON_AddItemToObject(tree, "ratio", json_rounded(it->ratio, DIGITS));
    cJSON_AddItemToObject(tree, "low", json_rounded(it->low, DIGITS));
    cJSON_AddItemToObject(tree, "high", json_rounded(it->high, DIGITS));
    cJSON_AddItemToObject(tree, "level", json_rounded(it->level, DIGITS));
    cJSON_AddItemToObject(tree, "p", json_rounded(it->p, P_DIGITS));
    cJSON_AddItemToObject(tree, "verdict", json_text(verdict_name(it->verdict)));
}

/* This job's arm of the same settings, or -1, and how it compares. */
static int compare_with(const struct bundle *bundle, const struct analysis *analysis,
                        const cJSON *baseline, size_t counts[2], struct stats_comparison *out)
{
    int arm = find_settings(bundle, json_member(baseline, "settings"));
    struct speeds base = speeds_from_json(json_member(baseline, "speeds"));
    struct speeds now = {0};
    if (arm >= 0)
        now = speeds_of(analysis, arm);
    unpaired_compare(base.items, base.count, now.items, now.count, bundle->design->confidence,
                     bundle->design->tolerance, out);
    counts[0] = base.count;
    counts[1] = now.count;
    free(base.items);
    free(now.items);
    return arm;
}

static void warn(const struct bundle *bundle, const cJSON *baseline, int arm, cJSON *report)
{
    cJSON *reasons = cJSON_CreateArray();
    cJSON *facts = server_facts_to_json(bundle->facts);
    add_server_reasons(json_member(baseline, "server"), facts, reasons);
    const cJSON *reason;
    cJSON_ArrayForEach(reason, reasons) {
        report_warn(report, "Against the baseline job %s.", reason->valuestring);
    }
    const char *label = member_text(baseline, "label");
    if (arm < 0)
        report_warn(report,
                    "The baseline job's setting (%s) was not measured here, so there is nothing to "
                    "compare with it.",
                    label ? label : "unnamed");
    cJSON_Delete(facts);
    cJSON_Delete(reasons);
}

static void add_words(const struct stats_comparison *it, bool regressed, struct outcome *outcome)
{
    char *summary = outcome->summary;
    if (!summary || !isfinite(it->ratio))
        return;
    if (isfinite(it->low))
        outcome->summary = mem_format("%s; %s%.2fx the baseline job (%g %% %.2f-%.2f)", summary,
                                      regressed ? "REGRESSED: " : "", it->ratio, 100 * it->level,
                                      it->low, it->high);
    else
        outcome->summary = mem_format("%s; %.2fx the baseline job", summary, it->ratio);
    free(summary);
}

void compare_add_baseline(const struct bundle *bundle, const struct analysis *analysis,
                          const cJSON *baseline, cJSON *report, struct outcome *outcome)
{
    struct stats_comparison it;
    char name[ARM_NAME_SIZE];
    size_t counts[2];
    const char *job = member_text(baseline, "job");
    const char *missing = member_text(baseline, "missing");
    if (missing)
        report_warn(report, "%s", missing);
    if (!job)
        return;
    int arm = compare_with(bundle, analysis, baseline, counts, &it);
    bool regressed = has_regressed(&it, bundle->design->tolerance);
    warn(bundle, baseline, arm, report);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "job", json_text(job));
    cJSON_AddItemToObject(tree, "arm",
                          arm < 0 ? cJSON_CreateNull() : json_text(arm_name(arm, name)));
    cJSON_AddItemToObject(tree, "settings",
                          member_copy_or(json_member(baseline, "settings"), cJSON_CreateNull()));
    cJSON_AddBoolToObject(tree, "recommended", cJSON_IsTrue(json_member(baseline, "recommended")));
    cJSON_AddNumberToObject(tree, "n", (double)counts[1]);
    cJSON_AddNumberToObject(tree, "baseline_n", (double)counts[0]);
    add_figures(tree, &it);
    cJSON_AddBoolToObject(tree, "regressed", regressed);
    cJSON_ReplaceItemInObjectCaseSensitive(report, "baseline", tree);
    add_words(&it, regressed, outcome);
}

bool compare_is_regressed(const cJSON *report)
{
    return cJSON_IsTrue(json_member(json_member(report, "baseline"), "regressed"));
}

/* --- two jobs ------------------------------------------------------------------------------- */

/* True when an arm of each names the same database; kinds whose arms name none have it, too. */
static bool shares_database(const struct bundle *base, const struct bundle *now)
{
    for (size_t i = 0; i < base->arm_count; i++)
        for (size_t k = 0; k < now->arm_count; k++)
            if (is_same_database(base->arms[i].settings, now->arms[k].settings))
                return true;
    return false;
}

static cJSON *arms_of(const struct evidence *base, const struct evidence *candidate)
{
    struct analysis before;
    struct analysis after;
    cJSON *list = cJSON_CreateArray();
    analysis_make(&base->bundle, &before);
    analysis_make(&candidate->bundle, &after);
    for (size_t i = 0; i < candidate->bundle.arm_count; i++) {
        const cJSON *settings = candidate->bundle.arms[i].settings;
        int arm = find_settings(&base->bundle, settings);
        if (arm < 0)
            continue;
        struct stats_comparison it;
        struct speeds was = speeds_of(&before, arm);
        struct speeds is = speeds_of(&after, (int)i);
        unpaired_compare(was.items, was.count, is.items, is.count, candidate->design.confidence,
                         candidate->design.tolerance, &it);
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToObject(row, "settings", cJSON_Duplicate(settings, true));
        cJSON_AddNumberToObject(row, "base_n", (double)was.count);
        cJSON_AddNumberToObject(row, "n", (double)is.count);
        add_figures(row, &it);
        cJSON_AddBoolToObject(row, "regressed", has_regressed(&it, candidate->design.tolerance));
        cJSON_AddItemToArray(list, row);
        free(was.items);
        free(is.items);
    }
    analysis_fini(&before);
    analysis_fini(&after);
    return list;
}

cJSON *compare_jobs(const struct evidence *base, const struct evidence *candidate)
{
    const struct bundle *was = &base->bundle;
    const struct bundle *is = &candidate->bundle;
    cJSON *reasons = cJSON_CreateArray();
    bool same_kind = strcmp(was->kind, is->kind) == 0;
    add_reason(reasons, "kind", was->kind, is->kind);
    add_reason(reasons, "instance", was->instance, is->instance);
    add_server_reasons(json_member(base->tree, "server"), json_member(candidate->tree, "server"),
                       reasons);
    cJSON *arms = same_kind ? arms_of(base, candidate) : cJSON_CreateArray();
    if (was->arm_count == 0 || is->arm_count == 0)
        cJSON_AddItemToArray(reasons, json_text("a kind without trials has nothing to compare"));
    else if (!shares_database(was, is))
        cJSON_AddItemToArray(reasons, json_text("the database differs"));
    else if (same_kind && cJSON_GetArraySize(arms) == 0)
        cJSON_AddItemToArray(reasons, json_text("they have no setting in common"));
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddBoolToObject(tree, "comparable", cJSON_GetArraySize(reasons) == 0);
    cJSON_AddItemToObject(tree, "reasons", reasons);
    cJSON_AddItemToObject(tree, "arms", arms);
    return tree;
}
