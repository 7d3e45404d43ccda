#include "jobs/measure/rivals.h"

#include "jobs/measure/messages.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LOOK 2   /* one block knows no noise */
#define ERROR_TIMES 10 /* what each look risks, in errors asked for: see the header */
#define CONFIDENCE_LEAST 0.5

/* --- who competes -------------------------------------------------------------------------- */

static const char *target_of(const struct arm *arm)
{
    const cJSON *target = json_member(arm->settings, "target");
    return cJSON_IsString(target) ? target->valuestring : "";
}

bool rivals_compete(const struct arm *a, const struct arm *b)
{
    return strcmp(target_of(a), target_of(b)) == 0;
}

/* What a rate saturates in: the first of these that the arm sets to a number. */
static const char *const saturating[] = {"buffercount", "maxtransfersize", "blocksize"};

static const cJSON *saturating_of(const struct arm *arm)
{
    for (size_t i = 0; i < sizeof saturating / sizeof saturating[0]; i++) {
        const cJSON *value = json_member(arm->settings, saturating[i]);
        if (cJSON_IsNumber(value) && value->valuedouble > 0)
            return value;
    }
    return NULL;
}

/* True when the two differ at most in the member of that name. */
static bool differ_only_in(const struct arm *a, const struct arm *b, const char *name)
{
    const cJSON *member;
    if (cJSON_GetArraySize(a->settings) != cJSON_GetArraySize(b->settings))
        return false;
    cJSON_ArrayForEach(member, a->settings) {
        if (strcmp(member->string, name) == 0)
            continue;
        if (!cJSON_Compare(member, json_member(b->settings, member->string), true))
            return false;
    }
    return true;
}

/* Arms of one curve carry the number of its first arm, plus 1. */
static int series_of(const struct bundle *bundle, int arm, const char *name)
{
    for (int i = 0; i < arm; i++)
        if (cJSON_IsNumber(json_member(bundle->arms[i].settings, name)) &&
            differ_only_in(&bundle->arms[arm], &bundle->arms[i], name))
            return i + 1;
    return arm + 1;
}

/* The least buffer memory that ran out, or that was in use when the connection was lost for the
 * second time (the runner then fails the trial); INFINITY while none did. */
static double failed_memory(const struct bundle *bundle, int last_block)
{
    double least = INFINITY;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        if (trial->status == TRIAL_FAILED && trial->block <= last_block &&
            (trial_was_lost(trial) || message_is_memory((int)trial->error_number)))
            least = fmin(least, bundle->arms[trial->arm].buffer_memory_mib); /* NaN: passed over */
    }
    return least;
}

bool rivals_is_out(const struct bundle *bundle, int arm, int last_block)
{
    for (size_t i = 0; i < bundle->trial_count; i++)
        if (bundle->trials[i].arm == arm && bundle->trials[i].block <= last_block &&
            bundle->trials[i].status == TRIAL_FAILED)
            return true;
    return bundle->arms[arm].buffer_memory_mib >= failed_memory(bundle, last_block);
}

void rivals_of(const struct bundle *bundle, int leader, int last_block, struct sweetspot_arm *out)
{
    for (size_t i = 0; i < bundle->arm_count; i++) {
        const struct arm *arm = &bundle->arms[i];
        const cJSON *x = saturating_of(arm);
        bool competes = rivals_compete(arm, &bundle->arms[leader]) &&
                        !rivals_is_out(bundle, (int)i, last_block);
        out[i] = (struct sweetspot_arm){
            .eligible = competes,
            .is_default = (int)i == leader,
            .memory_mib = arm->buffer_memory_mib,
            .cpu_s = NAN,
            .series = competes && x ? series_of(bundle, (int)i, x->string) : 0,
            .x = competes && x ? x->valuedouble : NAN,
        };
    }
}

/* --- the race ------------------------------------------------------------------------------ */

void race_init(struct race *race, size_t arm_count)
{
    *race = (struct race){.after = mem_alloc(arm_count, sizeof *race->after),
                          .beaten_by = mem_alloc(arm_count, sizeof *race->beaten_by)};
}

void race_fini(struct race *race)
{
    if (!race)
        return;
    free(race->after);
    free(race->beaten_by);
    *race = (struct race){0};
}

/* The first arm of each target leads its race. */
static bool leads(const struct bundle *bundle, int arm)
{
    for (int i = 0; i < arm; i++)
        if (rivals_compete(&bundle->arms[i], &bundle->arms[arm]))
            return false;
    return true;
}

static double race_confidence(const struct design *design)
{
    return fmax(CONFIDENCE_LEAST, 1 - ERROR_TIMES * (1 - design->confidence));
}

static void look_at(struct race *race, const struct bundle *bundle,
                    const struct stats_point *points, size_t point_count, int leader)
{
    const struct design *design = bundle->design;
    struct sweetspot_arm *arms = mem_alloc(bundle->arm_count, sizeof *arms);
    struct sweetspot spot;
    rivals_of(bundle, leader, race->looked, arms);
    for (size_t a = 0; a < bundle->arm_count; a++)
        arms[a].eligible = arms[a].eligible && race->after[a] == 0;
    sweetspot_find(points, point_count, arms, bundle->arm_count, race_confidence(design),
                   design->tolerance, &spot);
    for (size_t a = 0; a < bundle->arm_count && spot.arm >= 0; a++) {
        if (!arms[a].eligible || spot.qualifies[a] || bundle->arms[a].baseline)
            continue;
        race->after[a] = race->looked;
        race->beaten_by[a] = spot.best;
    }
    sweetspot_fini(&spot);
    free(arms);
}

/* Points of the leader's rivals up to a block. */
static size_t choose_points(const struct bundle *bundle, const struct stats_point *points,
                            size_t point_count, int leader, int last_block, struct stats_point *out)
{
    size_t count = 0;
    for (size_t i = 0; i < point_count; i++)
        if (points[i].block <= last_block &&
            rivals_compete(&bundle->arms[points[i].arm], &bundle->arms[leader]))
            out[count++] = points[i];
    return count;
}

void race_look(struct race *race, const struct bundle *bundle, const struct stats_point *points,
               size_t point_count, int block)
{
    if (!bundle->design->race)
        return;
    struct stats_point *chosen = mem_alloc(point_count, sizeof *chosen);
    int last = block < bundle->design->repetitions ? block : (int)bundle->design->repetitions;
    while (race->looked < last) {
        race->looked++;
        for (int a = 0; a < (int)bundle->arm_count && race->looked >= FIRST_LOOK; a++) {
            if (!leads(bundle, a))
                continue;
            size_t count = choose_points(bundle, points, point_count, a, race->looked, chosen);
            look_at(race, bundle, chosen, count, a);
        }
    }
    free(chosen);
}
