#include "jobs/kinds/sweep_report.h"
#include "jobs/backup.h"
#include "jobs/measure/rivals.h"
#include "jobs/measure/stopping.h"
#include "jobs/member.h"
#include "server/mem.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_text(const cJSON *object, const char *name, const char *wanted)
{
    const char *text = member_text(object, name);
    return text && wanted && strcmp(text, wanted) == 0;
}

/* Arms of the first target compete; other targets are other places, not other settings. */
static bool competes(const struct bundle *bundle, int arm)
{
    return rivals_compete(&bundle->arms[arm], &bundle->arms[0]);
}

/* The sweet spot among the arms of the first target. */
static void find_at(const struct bundle *bundle, const struct analysis *analysis, double confidence,
                    struct sweetspot *out)
{
    struct sweetspot_arm *arms = mem_alloc(bundle->arm_count, sizeof *arms);
    struct stats_point *points = mem_alloc(analysis->point_count, sizeof *points);
    size_t count = 0;
    rivals_of(bundle, 0, INT_MAX, arms);
    for (size_t i = 0; i < bundle->arm_count; i++) {
        arms[i].eligible = arms[i].eligible && analysis->dropped_after[i] == 0;
        arms[i].cpu_s = analysis->cpu_s[i];
    }
    for (size_t i = 0; i < analysis->point_count; i++) /* variance of competitors only */
        if (competes(bundle, analysis->points[i].arm))
            points[count++] = analysis->points[i];
    sweetspot_find(points, count, arms, bundle->arm_count, confidence, bundle->design->tolerance,
                   out);
    free(arms);
    free(points);
}

/* At the level of this look at the data; where that does not settle it and yet no more comes (a
 * budget ended), the error that is left is spent on it. */
static void find(const struct bundle *bundle, const struct analysis *analysis,
                 struct sweetspot *out)
{
    const struct design *design = bundle->design;
    double at_the_end = stopping_confidence(design, design_blocks(design));
    find_at(bundle, analysis, analysis->confidence, out);
    if (out->settled || !(analysis->confidence > at_the_end))
        return;
    sweetspot_fini(out);
    find_at(bundle, analysis, at_the_end, out);
}

bool sweep_is_answered(const struct bundle *bundle, const struct analysis *analysis)
{
    struct sweetspot spot;
    find_at(bundle, analysis, analysis->confidence, &spot);
    bool settled = spot.settled;
    sweetspot_fini(&spot);
    return settled;
}

int sweep_winner(const struct bundle *bundle, const struct analysis *analysis)
{
    struct sweetspot spot;
    find(bundle, analysis, &spot);
    int arm = spot.arm;
    sweetspot_fini(&spot);
    return arm;
}

static const struct stats_comparison *comparison_of(const struct analysis *analysis, int arm)
{
    for (size_t i = 0; i < analysis->comparison_count; i++)
        if (analysis->comparisons[i].arm == arm)
            return &analysis->comparisons[i];
    return NULL;
}

/* True when two arms differ at most in this one option. */
static bool differ_only_in(const struct arm *a, const struct arm *b, const char *option)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, a->settings) {
        if (strcmp(member->string, option) == 0)
            continue;
        if (!cJSON_Compare(member, json_member(b->settings, member->string), true))
            return false;
    }
    return true;
}

/* What arms that differ from the winner in one option only set it to. */
struct setting {
    double value;
    bool qualifies;
};

static int by_setting(const void *left, const void *right)
{
    double a = ((const struct setting *)left)->value;
    double b = ((const struct setting *)right)->value;
    return (a > b) - (a < b);
}

static size_t settings_along(const struct bundle *bundle, const struct sweetspot *spot,
                             const char *option, struct setting *out)
{
    size_t count = 0;
    for (size_t i = 0; i < bundle->arm_count; i++) {
        const cJSON *value = json_member(bundle->arms[i].settings, option);
        if (cJSON_IsNumber(value) && competes(bundle, (int)i) &&
            differ_only_in(&bundle->arms[spot->arm], &bundle->arms[i], option))
            out[count++] = (struct setting){value->valuedouble, spot->qualifies[i]};
    }
    qsort(out, count, sizeof *out, by_setting);
    return count;
}

/* The run of settings round the winner's own (the default: from the smallest that qualifies) all of
 * which qualify: one that does not ends it. NULL when there is none. */
static cJSON *run_of(const struct setting *settings, size_t count, const cJSON *own)
{
    size_t at = 0;
    while (at < count &&
           (cJSON_IsNumber(own) ? settings[at].value < own->valuedouble : !settings[at].qualifies))
        at++;
    if (at == count)
        return NULL;
    size_t first = at;
    size_t last = at;
    while (first > 0 && settings[first - 1].qualifies)
        first--;
    while (last + 1 < count && settings[last + 1].qualifies)
        last++;
    const double ends[2] = {settings[first].value, settings[last].value};
    return cJSON_CreateDoubleArray(ends, 2);
}

/* For each swept number: from where to where the data cannot tell settings apart. */
static cJSON *interval_of(const struct sweep *sweep, const struct bundle *bundle,
                          const struct sweetspot *spot)
{
    struct setting *settings = mem_alloc(bundle->arm_count, sizeof *settings);
    cJSON *interval = cJSON_CreateObject();
    for (int option = 0; option < SWEEP_OPTIONS; option++) {
        const char *name = sweep_option_names[option];
        const cJSON *own = json_member(bundle->arms[spot->arm].settings, name);
        if (!sweep->options[option])
            continue;
        size_t count = settings_along(bundle, spot, name, settings);
        cJSON *run = run_of(settings, count, own);
        if (run)
            cJSON_AddItemToObject(interval, name, run);
    }
    free(settings);
    return interval;
}

static void add_commands(const struct sweep *sweep, const struct arm *arm, cJSON *recommendation)
{
    static const struct {
        const char *name;
        int (*write)(const struct tsql_backup *, struct buf *, struct err *);
    } commands[] = {{"tsql", tsql_recommendation},
                    {"ola", tsql_recommendation_ola},
                    {"dbatools", tsql_recommendation_dbatools}};
    struct backup_settings settings;
    if (!backup_settings_read(arm->settings, sweep->targets, sweep->confirm_on, &settings))
        return;
    /* files, of which the commands show the folders: a folder itself would lose its last part */
    char **devices = mem_alloc((size_t)settings.files, sizeof *devices);
    for (int i = 0; i < settings.files; i++) {
        const char *folder = settings.folders[(size_t)i % settings.folder_count];
        devices[i] = tsql_backup_path(folder, "{job}", "{seq}", i + 1); /* "NUL" stays so */
    }
    struct tsql_backup backup = {.database = settings.database,
                                 .devices = (const char *const *)devices,
                                 .device_count = (size_t)settings.files,
                                 .buffercount = settings.buffercount,
                                 .maxtransfersize = settings.maxtransfersize,
                                 .blocksize = settings.blocksize,
                                 .compression = settings.compression};
    for (size_t i = 0; i < JSON_COUNT(commands); i++) {
        struct buf text = {0};
        struct err ignored; /* a name that one of the three cannot carry: null there */
        int rc = commands[i].write(&backup, &text, &ignored);
        cJSON_AddItemToObject(recommendation, commands[i].name,
                              rc == 0 ? json_text(buf_text(&text)) : cJSON_CreateNull());
        buf_fini(&text);
    }
    backup_paths_free(devices, settings.files);
}

static char *reason_of(const struct bundle *bundle, const struct sweetspot *spot)
{
    const char *best = bundle->arms[spot->best].label;
    double percent = 100 * bundle->design->tolerance;
    if (spot->keep_default)
        return mem_format("The data do not show that any setting is more than %g %% faster than "
                          "the default.",
                          percent);
    return mem_format("The cheapest setting for which the data do not show that it is more than "
                      "%g %% below the best one measured (%s).",
                      percent, best);
}

static cJSON *recommendation_of(const struct sweep *sweep, const struct bundle *bundle,
                                const struct analysis *analysis, const struct sweetspot *spot)
{
    const struct arm *arm = &bundle->arms[spot->arm];
    char name[ARM_NAME_SIZE];
    char *reason = reason_of(bundle, spot);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "arm", arm_name(arm->index, name));
    cJSON_AddItemToObject(tree, "settings", cJSON_Duplicate(arm->settings, true));
    cJSON_AddItemToObject(tree, "interval", interval_of(sweep, bundle, spot));
    cJSON_AddBoolToObject(tree, "keep_default", spot->keep_default);
    cJSON_AddStringToObject(tree, "reason", reason);
    cJSON_AddItemToObject(tree, "buffer_memory_mib", json_number(arm->buffer_memory_mib));
    cJSON_AddItemToObject(tree, "notes", sweep_notes(bundle, analysis, arm->index));
    add_commands(sweep, arm, tree);
    free(reason);
    return tree;
}

/* The first swept number is the curve's x. */
static const char *curve_option(const struct sweep *sweep)
{
    for (int option = 0; option < SWEEP_OPTIONS; option++)
        if (sweep->options[option])
            return sweep_option_names[option];
    return sweep_option_names[SWEEP_BUFFERCOUNT];
}

static cJSON *curve_of(const struct sweep *sweep, const struct bundle *bundle,
                       const struct analysis *analysis)
{
    const char *option = curve_option(sweep);
    cJSON *curve = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->arm_count; i++) {
        const struct stats_summary *rate = &analysis->rates[i];
        const cJSON *x = json_member(bundle->arms[i].settings, option);
        char name[ARM_NAME_SIZE];
        if (!competes(bundle, (int)i))
            continue;
        cJSON *point = cJSON_CreateObject();
        cJSON_AddStringToObject(point, "arm", arm_name((int)i, name));
        cJSON_AddItemToObject(point, "x",
                              cJSON_IsNumber(x) ? cJSON_Duplicate(x, false) : cJSON_CreateNull());
        cJSON_AddItemToObject(point, "rate_mib_s", json_rounded(rate->median, 6));
        cJSON_AddItemToObject(point, "low", json_rounded(rate->low, 6));
        cJSON_AddItemToObject(point, "high", json_rounded(rate->high, 6));
        cJSON_AddItemToArray(curve, point);
    }
    return curve;
}

static cJSON *pareto_of(const struct bundle *bundle, const struct analysis *analysis)
{
    struct pareto_arm *arms = mem_alloc(bundle->arm_count, sizeof *arms);
    bool *front = mem_alloc(bundle->arm_count, sizeof *front);
    for (size_t i = 0; i < bundle->arm_count; i++)
        arms[i] = (struct pareto_arm){.eligible = competes(bundle, (int)i) &&
                                                  !rivals_is_out(bundle, (int)i, INT_MAX) &&
                                                  analysis->rates[i].n > 0,
                                      .rate = analysis->rates[i].median,
                                      .memory_mib = bundle->arms[i].buffer_memory_mib,
                                      .cpu_s_per_gib = analysis->cpu_s_per_gib[i],
                                      .file_bytes = analysis->file_bytes[i]};
    sweetspot_pareto(arms, bundle->arm_count, front);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->arm_count; i++) {
        char name[ARM_NAME_SIZE];
        if (front[i])
            cJSON_AddItemToArray(list, cJSON_CreateString(arm_name((int)i, name)));
    }
    free(arms);
    free(front);
    return list;
}

/* The winner's comparison at confirm_on; NULL when it did not run there. */
static const struct stats_comparison *confirmation_of(const struct sweep *sweep,
                                                      const struct bundle *bundle,
                                                      const struct analysis *analysis)
{
    const char *name = member_text(sweep->confirm_on, "name");
    for (size_t i = 0; name && i < bundle->arm_count; i++) {
        const struct arm *arm = &bundle->arms[i];
        if (!arm->baseline && same_text(arm->settings, "target", name))
            return comparison_of(analysis, arm->index);
    }
    return NULL;
}

static cJSON *confirmation_json(const struct sweep *sweep, const struct stats_comparison *found)
{
    if (!found)
        return cJSON_CreateNull();
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "target", member_text(sweep->confirm_on, "name"));
    cJSON_AddItemToObject(tree, "ratio", json_rounded(found->ratio, 5));
    cJSON_AddItemToObject(tree, "low", json_rounded(found->low, 5));
    cJSON_AddItemToObject(tree, "high", json_rounded(found->high, 5));
    cJSON_AddStringToObject(tree, "verdict", verdict_name(found->verdict));
    return tree;
}

static char *summary_of(const struct bundle *bundle, const struct analysis *analysis,
                        const struct sweetspot *spot)
{
    const struct arm *arm = &bundle->arms[spot->arm];
    const struct stats_comparison *found = comparison_of(analysis, arm->index);
    if (spot->keep_default)
        return mem_format("Keep the default: no setting measured is shown to be more than %g %% "
                          "faster",
                          100 * bundle->design->tolerance);
    struct buf text = {0};
    buf_add(&text, arm->label);
    if (found && isfinite(found->ratio))
        buf_format(&text, ": %.2fx the default", found->ratio);
    if (found && isfinite(found->low))
        buf_format(&text, " (%g %% %.2f-%.2f)", 100 * found->level, found->low, found->high);
    if (isfinite(arm->buffer_memory_mib))
        buf_format(&text, ", %.0f MiB of buffers", arm->buffer_memory_mib);
    return buf_take(&text);
}

/* True when a budget ended a race before a second setting was measured. */
static bool is_race_of_one(const struct bundle *bundle, const struct analysis *analysis)
{
    size_t measured = 0;
    for (size_t i = 0; i < bundle->arm_count; i++)
        measured += analysis->elapsed[i].n > 0 && competes(bundle, (int)i);
    return bundle->design->race && measured < 2;
}

/* NULL when there is a recommendation. The caller frees it. */
static char *why_nothing(const struct sweep *sweep, const struct bundle *bundle,
                         const struct analysis *analysis, const struct sweetspot *spot)
{
    const struct stats_comparison *confirmed = confirmation_of(sweep, bundle, analysis);
    if (spot->arm < 0 || is_race_of_one(bundle, analysis))
        return mem_copy("too little was measured to tell settings apart");
    if (confirmed && confirmed->verdict == VERDICT_SLOWER)
        return mem_format("%s won the sweep, but is slower than the default on %s",
                          bundle->arms[spot->arm].label, member_text(sweep->confirm_on, "name"));
    return NULL;
}

void sweep_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                  struct outcome *out)
{
    struct sweep sweep;
    struct sweetspot spot;
    sweep_read(bundle->parameters, &sweep, NULL);
    find(bundle, analysis, &spot);
    const struct stats_comparison *confirmed = confirmation_of(&sweep, bundle, analysis);
    char *why_not = why_nothing(&sweep, bundle, analysis, &spot);
    if (why_not) {
        spot.arm = -1;
        out->summary = mem_format("No recommendation: %s", why_not);
        report_warn(report, "%s", out->summary);
        cJSON_DeleteItemFromObject(report, "no_recommendation");
        cJSON_AddItemToObject(report, "no_recommendation", json_text(why_not));
        free(why_not);
    } else {
        out->summary = summary_of(bundle, analysis, &spot);
    }
    out->state = spot.arm >= 0 ? JOB_SUCCEEDED : JOB_INCONCLUSIVE;
    cJSON_DeleteItemFromObject(report, "recommendation");
    cJSON_AddItemToObject(report, "recommendation",
                          spot.arm >= 0 ? recommendation_of(&sweep, bundle, analysis, &spot)
                                        : cJSON_CreateNull());
    report_add_compression(report, bundle, analysis);
    cJSON_AddItemToObject(report, "pareto", pareto_of(bundle, analysis));
    cJSON_AddItemToObject(report, "curve", curve_of(&sweep, bundle, analysis));
    cJSON_AddItemToObject(report, "confirmation", confirmation_json(&sweep, confirmed));
    sweetspot_fini(&spot);
}
