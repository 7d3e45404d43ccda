#include "jobs/evidence.h"
#include "jobs/compare.h"
#include "jobs/evidence_form.h"
#include "jobs/evidence_seal.h"
#include "jobs/member.h"
#include "server/limits.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- writing ------------------------------------------------------------------------------- */

static cJSON *trials_to_json(const struct bundle *bundle)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->trial_count; i++)
        cJSON_AddItemToArray(list, trial_to_json(&bundle->trials[i]));
    return list;
}

static cJSON *arms_to_json(const struct bundle *bundle)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < bundle->arm_count; i++)
        cJSON_AddItemToArray(list, arm_to_json(&bundle->arms[i]));
    return list;
}

static cJSON *copy_or_null(const cJSON *tree)
{
    return member_copy_or(tree, cJSON_CreateNull());
}

char *evidence_write(const struct evidence_parts *parts)
{
    const struct bundle *bundle = &parts->bundle;
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddNumberToObject(tree, "format", EVIDENCE_FORMAT);
    cJSON_AddItemToObject(tree, "kind", json_text(bundle->kind));
    cJSON_AddItemToObject(tree, "instance", json_text(bundle->instance));
    cJSON_AddItemToObject(tree, "job", json_text(bundle->job));
    cJSON_AddItemToObject(tree, "definition", copy_or_null(parts->definition));
    cJSON_AddItemToObject(tree, "server", server_facts_to_json(bundle->facts));
    cJSON_AddBoolToObject(tree, "authenticated", bundle->authenticated);
    cJSON_AddItemToObject(tree, "arms", arms_to_json(bundle));
    cJSON_AddItemToObject(tree, "trials", trials_to_json(bundle));
    cJSON_AddItemToObject(tree, "gathered", copy_or_null(bundle->gathered));
    cJSON_AddBoolToObject(tree, "complete", parts->complete);
    cJSON_AddNumberToObject(tree, "trials_done", (double)parts->trials_done);
    cJSON_AddNumberToObject(tree, "trials_planned", (double)parts->trials_planned);
    cJSON_AddItemToObject(tree, "baseline", copy_or_null(parts->baseline));
    cJSON_AddItemToObject(tree, "chain", copy_or_null(parts->chain));
    cJSON_AddItemToObject(tree, "warnings", member_copy_or(parts->warnings, cJSON_CreateArray()));
    cJSON_AddItemToObject(tree, "left_behind",
                          member_copy_or(parts->left_behind, cJSON_CreateArray()));
    char *text = json_print(tree);
    cJSON_Delete(tree);
    return evidence_seal(text);
}

/* --- reading ------------------------------------------------------------------------------- */

/* A whole number of a design, from low to high; -1 and err filled when it is none. */
static int64_t whole_of(const cJSON *tree, const char *name, double low, double high,
                        struct err *err)
{
    const cJSON *member = json_member(tree, name);
    bool good = cJSON_IsNumber(member) && member->valuedouble >= low && member->valuedouble <= high;
    if (good)
        return (int64_t)member->valuedouble;
    return err_set(err, ERR_INPUT, 0, "/definition/design/%s is not a number from %.0f to %.0f",
                   name, low, high);
}

static int read_order(const cJSON *tree, struct design *out, struct err *err)
{
    static const enum design_order orders[] = {DESIGN_RANDOM_BLOCKS, DESIGN_ABBA,
                                               DESIGN_SEQUENTIAL};
    const char *name = member_text(tree, "order");
    for (size_t i = 0; name && i < JSON_COUNT(orders); i++) {
        if (strcmp(design_order_name(orders[i]), name) == 0) {
            out->order = orders[i];
            return 0;
        }
    }
    return err_set(err, ERR_INPUT, 0, "/definition/design/order is none that is known");
}

/* A share such as the confidence. */
static int read_share(const cJSON *tree, const char *name, double *out, struct err *err)
{
    const cJSON *member = json_member(tree, name);
    if (!cJSON_IsNumber(member) || !(member->valuedouble >= 0) || !(member->valuedouble < 1))
        return err_set(err, ERR_INPUT, 0, "/definition/design/%s is not a number from 0 to 1",
                       name);
    *out = member->valuedouble;
    return 0;
}

static int read_design(const cJSON *tree, struct design *out, struct err *err)
{
    const cJSON *search = json_member(tree, "search");
    out->repetitions = whole_of(tree, "repetitions", 1, LIMIT_TRIALS, err);
    if (out->repetitions < 0)
        return -1;
    out->warmups = whole_of(tree, "warmups", 0, LIMIT_TRIALS, err);
    if (out->warmups < 0)
        return -1;
    out->seed = whole_of(tree, "seed", 0, 9007199254740991.0, err);
    if (out->seed < 0)
        return -1;
    out->max_repetitions = whole_of(tree, "max_repetitions", 0, LIMIT_TRIALS, err);
    if (out->max_repetitions < 0)
        return -1;
    out->race = cJSON_IsString(search) && strcmp(search->valuestring, "race") == 0;
    out->stop_early = cJSON_IsTrue(json_member(tree, "stop_early"));
    if (read_order(tree, out, err) < 0 || read_share(tree, "confidence", &out->confidence, err) < 0)
        return -1;
    return read_share(tree, "tolerance", &out->tolerance, err);
}

static int read_arms(struct evidence *evidence, struct err *err)
{
    const cJSON *list = json_member(evidence->tree, "arms");
    size_t count = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    struct bundle *bundle = &evidence->bundle;
    if (!cJSON_IsArray(list) || count > LIMIT_TRIALS)
        return err_set(err, ERR_INPUT, 0, "/arms is not an array of at most %d", LIMIT_TRIALS);
    bundle->arms = evidence->arms = mem_alloc(count, sizeof *evidence->arms);
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        struct arm *arm = &evidence->arms[bundle->arm_count];
        if (arm_from_json(item, arm, err) < 0)
            return -1;
        size_t index = bundle->arm_count++;
        if ((size_t)arm->index != index || arm->against < 0 || (size_t)arm->against >= count)
            return err_set(err, ERR_INPUT, 0,
                           "/arms/%zu is out of order, or compared with an arm "
                           "that is not there",
                           index);
    }
    return 0;
}

static int read_trials(struct evidence *evidence, struct err *err)
{
    const cJSON *list = json_member(evidence->tree, "trials");
    struct bundle *bundle = &evidence->bundle;
    if (!cJSON_IsArray(list))
        return err_set(err, ERR_INPUT, 0, "/trials is not an array");
    bundle->trials = evidence->trials =
        mem_alloc((size_t)cJSON_GetArraySize(list), sizeof *evidence->trials);
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        struct trial *trial = &evidence->trials[bundle->trial_count];
        if (trial_from_json(item, trial, err) < 0)
            return -1;
        size_t index = bundle->trial_count++;
        if ((size_t)trial->arm >= bundle->arm_count)
            return err_set(err, ERR_INPUT, 0, "/trials/%zu is of an arm that is not there", index);
    }
    return 0;
}

static int fill(struct evidence *evidence, struct err *err)
{
    const cJSON *tree = evidence->tree;
    const cJSON *definition = json_member(tree, "definition");
    const cJSON *gathered = json_member(tree, "gathered");
    if (evidence_check_form(tree, err) < 0 ||
        read_design(json_member(definition, "design"), &evidence->design, err) < 0)
        return -1;
    server_facts_from_json(json_member(tree, "server"), &evidence->facts);
    evidence->bundle = (struct bundle){
        .job = member_text(tree, "job"),
        .kind = member_text(tree, "kind"),
        .instance = member_text(tree, "instance"),
        .facts = &evidence->facts,
        .authenticated = cJSON_IsTrue(json_member(tree, "authenticated")),
        .design = &evidence->design,
        .parameters = json_member(definition, "parameters"),
        .gathered = cJSON_IsObject(gathered) ? gathered : NULL,
    };
    if (read_arms(evidence, err) < 0)
        return -1;
    return read_trials(evidence, err);
}

int evidence_read(const char *text, size_t length, bool check, struct evidence *out,
                  struct err *err)
{
    *out = (struct evidence){0};
    if (json_parse_large(text, length, LIMIT_EVIDENCE_TOKENS, &out->tree, err) == 0 &&
        (!check || evidence_check_seal(text, length, err) == 0) && fill(out, err) == 0)
        return 0;
    evidence_fini(out);
    return -1;
}

void evidence_fini(struct evidence *evidence)
{
    if (!evidence)
        return;
    arms_free(evidence->arms, evidence->bundle.arm_count);
    trials_free(evidence->trials, evidence->bundle.trial_count);
    server_facts_fini(&evidence->facts);
    cJSON_Delete(evidence->tree);
    *evidence = (struct evidence){0};
}

/* --- the report ---------------------------------------------------------------------------- */

static void replace(cJSON *report, const char *name, const cJSON *with)
{
    if (with && !cJSON_IsNull(with))
        cJSON_ReplaceItemInObjectCaseSensitive(report, name, cJSON_Duplicate(with, true));
}

static void add_chain(const cJSON *tree, cJSON *report)
{
    const cJSON *unchanged;
    const cJSON *chain = json_member(tree, "chain");
    cJSON_ArrayForEach(unchanged, chain) {
        if (cJSON_IsFalse(unchanged) && unchanged->string)
            report_warn(report,
                        "%s is false: a backup that is not ours moved it while this job ran",
                        unchanged->string);
    }
    replace(report, "chain", chain);
}

cJSON *evidence_report(const struct evidence *evidence, struct outcome *out_outcome)
{
    const cJSON *tree = evidence->tree;
    struct analysis analysis;
    *out_outcome = (struct outcome){.state = JOB_INCONCLUSIVE};
    analysis_make(&evidence->bundle, &analysis);
    cJSON *report = report_make(&evidence->bundle, &analysis);
    if (cJSON_IsTrue(json_member(tree, "complete")))
        kind_report_of(evidence->bundle.kind)(&evidence->bundle, &analysis, report, out_outcome);
    else
        report_warn(report,
                    "The job did not run to its end (%" PRId64 " of %" PRId64
                    " trials), so nothing is recommended.",
                    member_int(tree, "trials_done", 0), member_int(tree, "trials_planned", 0));
    compare_add_baseline(&evidence->bundle, &analysis, json_member(tree, "baseline"), report,
                         out_outcome);
    analysis_fini(&analysis);
    add_chain(tree, report);
    const cJSON *warning;
    cJSON_ArrayForEach(warning, json_member(tree, "warnings")) {
        if (cJSON_IsString(warning))
            report_warn(report, "%s", warning->valuestring);
    }
    replace(report, "left_behind", json_member(tree, "left_behind"));
    return report;
}
