#include "jobs/definition.h"
#include "jobs/kind.h"
#include "jobs/member.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"

#include <math.h>
#include <string.h>

/* cJSON prints numbers of more than 15 digits with an exponent when they end in 0, and people copy
 * the seed. */
#define DRAWN_SEEDS 1000000000000000

static const char *const orders[] = {"random_blocks", "abba", "sequential", NULL};
static const char *const searches[] = {"grid", "race", NULL};

/* What the table fills before it is taken apart further. */
struct raw {
    struct definition definition;
    const char *order;
    const char *search;
    const char *not_before;
    const char *deadline;
    int64_t seed;
};

#define AT(member) offsetof(struct raw, definition.member)
#define RAW(member) offsetof(struct raw, member)
#define TABLE(table) .fields = (table), .field_count = JSON_COUNT(table)

/* clang-format off */
static const struct json_field design_fields[] = {
    {"repetitions",     JSON_INT,    AT(design.repetitions),     .min = 1, .max = LIMIT_REPETITIONS, .help = "blocks: how often each arm runs"},
    {"warmups",         JSON_INT,    AT(design.warmups),         .min = 0, .max = 10, .help = "uncounted runs of each arm before block 1"},
    {"order",           JSON_TEXT,   RAW(order),                 .max = 32, .choices = orders, .help = "random_blocks, abba or sequential"},
    {"seed",            JSON_INT,    RAW(seed),                  .nullable = true, .min = 0, .max = 9007199254740991.0, .help = "of the order; random when absent"},
    {"seed_drawn",      JSON_BOOL,   AT(seed_drawn),             .help = "the service drew the seed, so that a retry draws another"},
    {"search",          JSON_TEXT,   RAW(search),                .max = 32, .choices = searches, .help = "grid or race"},
    {"confidence",      JSON_NUMBER, AT(design.confidence),      .min = 0.5, .max = 0.999, .help = "of intervals and verdicts"},
    {"tolerance",       JSON_NUMBER, AT(design.tolerance),       .min = 0, .max = 0.5, .help = "a difference that does not matter"},
    {"max_repetitions", JSON_INT,    AT(design.max_repetitions), .min = 1, .max = 1000, .help = "bound of repeats of contaminated trials"},
    {"stop_early",      JSON_BOOL,   AT(design.stop_early),      .help = "end as soon as the answer is known"},
};
static const struct json_field limit_fields[] = {
    {"minutes",           JSON_INT, AT(limits.job_minutes),       .nullable = true, .min = 1, .max = 10080, .help = "longest run"},
    {"buffer_memory_mib", JSON_INT, AT(limits.buffer_memory_mib), .nullable = true, .min = 1, .max = 1048576, .help = "most memory for buffers"},
    {"read_mib",          JSON_INT, AT(limits.read_mib),          .nullable = true, .min = 1, .max = 1e12, .help = "most data read"},
    {"written_mib",       JSON_INT, AT(limits.written_mib),       .nullable = true, .min = 0, .max = 1e12, .help = "most data written"},
};
static const struct json_field fields[] = {
    {"kind",               JSON_TEXT,   AT(kind_name),          .required = true, .min = 1, .max = 64, .help = "what is measured"},
    {"instance",           JSON_TEXT,   AT(instance),           .required = true, .min = 1, .max = LIMIT_NAME_CHARS, .help = "a registered instance"},
    {"parameters",         JSON_OBJECT, AT(parameters),         .required = true, .help = "of the kind"},
    {"design",             JSON_OBJECT, JSON_NO_OFFSET, TABLE(design_fields), .help = "of the experiment"},
    {"limits",             JSON_OBJECT, JSON_NO_OFFSET, TABLE(limit_fields), .help = "tighter than the instance's"},
    {"assume_free_mib",    JSON_INT,    AT(assume_free_mib),    .nullable = true, .min = 0, .max = 1e12, .help = "free space where no view shows it"},
    {"priority",           JSON_INT,    AT(priority),           .min = 0, .max = 9, .help = "higher first"},
    {"not_before",         JSON_TEXT,   RAW(not_before),        .nullable = true, .max = 40, .help = "RFC 3339 time"},
    {"deadline",           JSON_TEXT,   RAW(deadline),          .nullable = true, .max = 40, .help = "RFC 3339 time"},
    {"confirm_production", JSON_BOOL,   AT(confirm_production), .help = "consent to run on production"},
    {"ignore_windows",     JSON_BOOL,   AT(ignore_windows),     .help = "run outside of windows (admin)"},
    {"baseline",           JSON_TEXT,   AT(baseline),           .nullable = true, .min = 1, .max = 64, .help = "a job id or \"latest\""},
    {"notify",             JSON_ARRAY,  AT(notify),             .max = LIMIT_NOTIFY, .help = "webhooks to tell"},
    {"labels",             JSON_OBJECT, AT(labels),             .help = "text members, for people and filters"},
    {"requested_by",       JSON_TEXT,   AT(requested_by),       .nullable = true, .max = 200, .help = "who or what asked"},
};
/* clang-format on */

static void read_time(const char *text, const char *pointer, int64_t *out,
                      struct json_faults *faults)
{
    /* 0 and what lies before it would mean "none" everywhere else */
    if (text && (!clock_parse(text, out) || *out <= 0))
        json_fault_add(faults, pointer,
                       "must be a time such as 2026-12-05T01:00:00Z or 2026-12-05T01:00:00+01:00");
}

static void read_order(const struct raw *raw, struct definition *out)
{
    out->order_given = raw->order != NULL;
    for (int i = 0; raw->order && orders[i]; i++)
        if (strcmp(raw->order, orders[i]) == 0)
            out->design.order = (enum design_order)i; /* the enum is in the list's order */
    out->design.race = raw->search && strcmp(raw->search, "race") == 0;
}

static void check_notify(const cJSON *notify, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *name;
    cJSON_ArrayForEach(name, notify) {
        const char *at = json_pointer_index("/notify", index++);
        if (!cJSON_IsString(name) || !instance_name_is_valid(name->valuestring))
            json_fault_add(faults, at, "must be the name of a webhook");
    }
}

static void check_kind(struct definition *out, struct json_faults *faults)
{
    out->kind = out->kind_name ? kind_by_name(out->kind_name) : NULL;
    if (out->kind_name && !out->kind)
        json_fault_add(faults, "/kind", "must be one of %s", kind_names());
    if (out->kind && !out->order_given)
        out->design.order = out->kind->order;
}

static void check_design(const struct definition *out, struct json_faults *faults)
{
    if (!out->kind)
        return; /* told already */
    if (out->design.stop_early && !out->kind->stops_early)
        json_fault_add(faults, "/design/stop_early",
                       "is not offered for %s: no look at part of its trials answers it",
                       out->kind_name);
    if (out->design.race && !out->kind->races)
        json_fault_add(faults, "/design/search",
                       "\"race\" looks for the best setting, and %s compares each with its own "
                       "baseline: use \"grid\"",
                       out->kind_name);
    else if (out->design.race && out->design.order == DESIGN_ABBA)
        json_fault_add(faults, "/design/search",
                       "\"race\" drops settings after each block, and \"abba\" runs two at a "
                       "time: use \"random_blocks\"");
}

static void check_baseline(const char *baseline, struct json_faults *faults)
{
    if (baseline && strcmp(baseline, "latest") != 0 && !ids_is_valid(baseline))
        json_fault_add(faults, "/baseline", "must be the id of a job, or \"latest\"");
}

static void check_times(const struct definition *out, struct json_faults *faults)
{
    if (out->deadline && out->not_before && out->deadline <= out->not_before)
        json_fault_add(faults, "/deadline", "must be after not_before");
}

static void set_defaults(struct raw *raw)
{
    *raw = (struct raw){.seed = -1,
                        .definition = {
                            .design = {.repetitions = 5,
                                       .warmups = 1,
                                       .confidence = 0.95,
                                       .tolerance = 0.02,
                                       .max_repetitions = -1},
                            .limits = {-1, -1, -1, -1, -1},
                            .assume_free_mib = -1,
                            .priority = 5,
                        }};
}

int definition_read(const cJSON *tree, struct definition *out, struct json_faults *faults)
{
    size_t before = faults->count;
    struct raw raw;
    set_defaults(&raw);
    json_read(tree, fields, JSON_COUNT(fields), "", &raw, faults);
    *out = raw.definition;
    out->tree = tree;
    out->seed_drawn |= raw.seed < 0;
    out->design.seed = raw.seed >= 0 ? raw.seed : ids_random_seed() % DRAWN_SEEDS;
    if (out->design.max_repetitions < 0)
        out->design.max_repetitions = 2 * out->design.repetitions;
    read_order(&raw, out);
    read_time(raw.not_before, "/not_before", &out->not_before, faults);
    read_time(raw.deadline, "/deadline", &out->deadline, faults);
    check_kind(out, faults);
    check_design(out, faults);
    check_baseline(out->baseline, faults);
    check_times(out, faults);
    member_check_labels(out->labels, faults);
    check_notify(out->notify, faults);
    return faults->count == before ? 0 : -1;
}

static cJSON *design_to_json(const struct definition *definition)
{
    const struct design *design = &definition->design;
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddNumberToObject(tree, "repetitions", (double)design->repetitions);
    cJSON_AddNumberToObject(tree, "warmups", (double)design->warmups);
    cJSON_AddStringToObject(tree, "order", design_order_name(design->order));
    cJSON_AddNumberToObject(tree, "seed", (double)design->seed);
    if (definition->seed_drawn)
        cJSON_AddTrueToObject(tree, "seed_drawn");
    cJSON_AddStringToObject(tree, "search", design->race ? "race" : "grid");
    cJSON_AddNumberToObject(tree, "confidence", design->confidence);
    cJSON_AddNumberToObject(tree, "tolerance", design->tolerance);
    cJSON_AddNumberToObject(tree, "max_repetitions", (double)design->max_repetitions);
    cJSON_AddBoolToObject(tree, "stop_early", design->stop_early);
    return tree;
}

cJSON *definition_to_json(const struct definition *definition)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "kind", definition->kind_name);
    cJSON_AddStringToObject(tree, "instance", definition->instance);
    cJSON_AddItemToObject(tree, "parameters", cJSON_Duplicate(definition->parameters, true));
    cJSON_AddItemToObject(tree, "design", design_to_json(definition));
    cJSON *limits = cJSON_AddObjectToObject(tree, "limits");
    cJSON_AddItemToObject(limits, "minutes", member_number_or_null(definition->limits.job_minutes));
    cJSON_AddItemToObject(limits, "buffer_memory_mib",
                          member_number_or_null(definition->limits.buffer_memory_mib));
    cJSON_AddItemToObject(limits, "read_mib", member_number_or_null(definition->limits.read_mib));
    cJSON_AddItemToObject(limits, "written_mib",
                          member_number_or_null(definition->limits.written_mib));
    cJSON_AddItemToObject(tree, "assume_free_mib",
                          member_number_or_null(definition->assume_free_mib));
    cJSON_AddNumberToObject(tree, "priority", (double)definition->priority);
    cJSON_AddItemToObject(tree, "not_before", member_time_or_null(definition->not_before));
    cJSON_AddItemToObject(tree, "deadline", member_time_or_null(definition->deadline));
    cJSON_AddBoolToObject(tree, "confirm_production", definition->confirm_production);
    cJSON_AddBoolToObject(tree, "ignore_windows", definition->ignore_windows);
    cJSON_AddItemToObject(tree, "baseline", json_text(definition->baseline));
    cJSON_AddItemToObject(tree, "notify", member_copy_or(definition->notify, cJSON_CreateArray()));
    cJSON_AddItemToObject(tree, "labels", member_copy_or(definition->labels, cJSON_CreateObject()));
    cJSON_AddItemToObject(tree, "requested_by", json_text(definition->requested_by));
    return tree;
}

static int64_t tighter(int64_t own, int64_t instance)
{
    return own >= 0 && own < instance ? own : instance;
}

struct limits definition_limits(const struct definition *definition,
                                const struct instance *instance)
{
    const struct limits *own = &definition->limits;
    struct limits limits = instance->limits;
    limits.buffer_memory_mib = tighter(own->buffer_memory_mib, limits.buffer_memory_mib);
    limits.job_minutes = tighter(own->job_minutes, limits.job_minutes);
    limits.read_mib = tighter(own->read_mib, limits.read_mib);
    limits.written_mib = tighter(own->written_mib, limits.written_mib);
    return limits;
}
