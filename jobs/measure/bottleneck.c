#include "jobs/measure/bottleneck.h"

#include "jobs/measure/bottleneck_parts.h"
#include "jobs/measure/guard.h"

#include <math.h>

/* What counts as what. Shares of time are of one thread unless they say otherwise. */
#define AT_CEILING 0.90     /* domain.md 9, S0: 94 % of the ceiling is no fault of the target */
#define ASSUMED_SPREAD 0.03 /* of one run without any repeat */
#define WIDE 0.15           /* an interval this wide around 90 % tells nothing */
#define WRITERS_IDLE 0.20   /* all writers together */
#define WRITERS_BUSY 0.35
#define WRITERS_FULL 0.72
#define STARVING 0.30     /* BACKUPBUFFER */
#define READING 0.50      /* ASYNC_IO_COMPLETION, without which BACKUPBUFFER means other things */
#define THREADS_FULL 0.85 /* cores for each thread of the backup */
#define THREADS_MORE 1.50 /* more than its threads can use: others work too */
#define THREADS_FREE 0.60
#define MACHINE_FULL 0.90
#define ABOVE_CEILING 1.03 /* clearly: within the spread of equal arms it would mean nothing */
#define POOR_RATIO 1.1     /* domain.md 8, report 10 */
#define MANY_GROWTHS 100   /* as many pieces on the volume, at most: worth a look, no proof */

static const char *const names[] = {
    [BOTTLENECK_READ] = "read",         [BOTTLENECK_WRITE] = "write",   [BOTTLENECK_CPU] = "cpu",
    [BOTTLENECK_BALANCED] = "balanced", [BOTTLENECK_UNSURE] = "unsure",
};

const char *bottleneck_name(enum bottleneck bottleneck)
{
    return names[bottleneck];
}

/* --- the rules ------------------------------------------------------------------------------ */

#define FULL_OR_BUSY (SIGN_WRITERS_BUSY | SIGN_WRITERS_FULL)
#define FREE_OR_DOUBTFUL (SIGN_CPU_FREE | SIGN_CPU_DOUBTFUL)

/* The first row whose every group holds the profile's sign decides. */
static const struct rule {
    unsigned rate, writers, readers, cpu;
    enum bottleneck verdict;
    const char *reason;
} rules[] = {
    /* clang-format off */
    {SIGN_NEAR, SIGN_ANY_WRITERS,    SIGN_ANY_READERS, SIGN_CPU_FULL,     BOTTLENECK_CPU,      "It is as fast as reading alone, and both are held by the CPU."},
    {SIGN_NEAR, SIGN_ANY_WRITERS,    SIGN_ANY_READERS, SIGN_CPU_DOUBTFUL, BOTTLENECK_UNSURE,   "It is as fast as reading alone, but the figures do not tell reading from the CPU's work on what is read."},
    {SIGN_NEAR, SIGN_WRITERS_FULL,   SIGN_ANY_READERS, SIGN_CPU_FREE,     BOTTLENECK_BALANCED, "It is as fast as reading alone, and the writers are as busy: both sides keep pace."},
    {SIGN_ABOVE, SIGN_ANY_WRITERS,   SIGN_ANY_READERS, SIGN_CPU_FREE,     BOTTLENECK_READ,     "It takes more than reading to NUL gave with fewer files: as far as that ceiling tells, the target is not the slower side."},
    {SIGN_NEAR, SIGN_ANY_WRITERS,    SIGN_ANY_READERS, SIGN_CPU_FREE,     BOTTLENECK_READ,     "It is as fast as reading alone: a faster target would change nothing."},

    {SIGN_FAR,  SIGN_WRITERS_IDLE,   SIGN_ANY_READERS, SIGN_CPU_FULL,     BOTTLENECK_CPU,      "It stays below the ceiling with the CPU used up and writers that hardly wait."},
    {SIGN_FAR,  SIGN_ANY_WRITERS,    SIGN_ANY_READERS, SIGN_CPU_FULL,     BOTTLENECK_UNSURE,   "It stays below the ceiling; the CPU is used up and the writers wait too, or are not seen."},
    {SIGN_FAR,  FULL_OR_BUSY,        SIGN_ANY_READERS, FREE_OR_DOUBTFUL,  BOTTLENECK_WRITE,    "It stays below the ceiling and the writers wait for the backup file: the target is the slower side."},
    {SIGN_FAR,  SIGN_WRITERS_SOME,   SIGN_ANY_READERS, SIGN_CPU_FREE,     BOTTLENECK_WRITE,    "It stays below the ceiling, the target is all that differs, and the writers do wait for it."},
    {SIGN_FAR,  SIGN_WRITERS_UNSEEN, SIGN_ANY_READERS, SIGN_CPU_FREE,     BOTTLENECK_WRITE,    "It stays below the ceiling, and the target is all that differs."},
    {SIGN_FAR,  SIGN_WRITERS_IDLE,   SIGN_STARVING,    SIGN_CPU_FREE,     BOTTLENECK_READ,     "It stays below the ceiling, but the writers hardly wait while threads wait for data: reading is slower beside this target."},
    {SIGN_FAR,  SIGN_ANY_WRITERS,    SIGN_ANY_READERS, SIGN_ANY_CPU,      BOTTLENECK_UNSURE,   "It stays below the ceiling, and neither waits nor CPU say why."},

    {SIGN_EDGE, SIGN_WRITERS_FULL,   SIGN_ANY_READERS, SIGN_CPU_FREE,     BOTTLENECK_BALANCED, "It is close below the ceiling, and the writers are busy all the time: both sides keep pace."},
    {SIGN_EDGE | SIGN_OPEN, SIGN_WRITERS_IDLE, SIGN_ANY_READERS, SIGN_CPU_FULL, BOTTLENECK_CPU, "The CPU is used up and the writers hardly wait."},
    {SIGN_EDGE | SIGN_OPEN, SIGN_WRITERS_IDLE, SIGN_STARVING, SIGN_CPU_FREE, BOTTLENECK_READ,  "The writers hardly wait while threads wait for data."},
    {SIGN_ANY_RATE, SIGN_ANY_WRITERS, SIGN_ANY_READERS, SIGN_ANY_CPU,     BOTTLENECK_UNSURE,   "The interval holds both sides of 90 % of the ceiling: it may be near or far."},
    /* clang-format on */
};

static const struct rule no_rate = {.verdict = BOTTLENECK_UNSURE,
                                    .reason = "One of the two rates is missing."};

static const struct rule *rule_for(unsigned signs)
{
    const struct rule *rule = rules;
    if (signs & SIGN_NO_RATE)
        return &no_rate;
    while (!(rule->rate & signs) || !(rule->writers & signs) || !(rule->readers & signs) ||
           !(rule->cpu & signs))
        rule++; /* the last row holds everything */
    return rule;
}

/* --- signs ---------------------------------------------------------------------------------- */

/* NaN throughout when a rate is missing. */
static struct bottleneck_range fraction_of(const struct bottleneck_profile *profile)
{
    const struct bottleneck_range *rate = &profile->rate;
    const struct bottleneck_range *ceiling = &profile->ceiling;
    if (!(rate->value > 0) || !(ceiling->value > 0))
        return (struct bottleneck_range){NAN, NAN, NAN};
    struct bottleneck_range made = {.value = rate->value / ceiling->value,
                                    .low = profile->fraction.low,
                                    .high = profile->fraction.high};
    if (isnan(made.low) || isnan(made.high)) {
        made.low = rate->low / ceiling->high;
        made.high = rate->high / ceiling->low;
    }
    if (isnan(made.low) || isnan(made.high)) {
        made.low = made.value * (1 - ASSUMED_SPREAD);
        made.high = made.value * (1 + ASSUMED_SPREAD);
    }
    return made;
}

/* fewer: the ceiling was measured with fewer files. */
static unsigned rate_sign(const struct bottleneck_range *fraction, bool fewer)
{
    if (isnan(fraction->value))
        return SIGN_OPEN | SIGN_NO_RATE;
    if (fraction->low >= AT_CEILING)
        return SIGN_NEAR | (fewer && fraction->low > ABOVE_CEILING ? SIGN_ABOVE : 0);
    if (fraction->high < AT_CEILING)
        return SIGN_FAR;
    return fraction->high - fraction->low <= WIDE ? SIGN_EDGE : SIGN_OPEN;
}

double bottleneck_write_share(const struct bottleneck_profile *profile)
{
    return profile->write_wait / (profile->writers > 1 ? profile->writers : 1);
}

static unsigned writers_sign(const struct bottleneck_profile *profile)
{
    double share = bottleneck_write_share(profile);
    if (profile->discards)
        return SIGN_WRITERS_IDLE;
    if (isnan(share))
        return SIGN_WRITERS_UNSEEN;
    if (share >= WRITERS_FULL)
        return SIGN_WRITERS_FULL;
    if (share >= WRITERS_BUSY)
        return SIGN_WRITERS_BUSY;
    return profile->write_wait < WRITERS_IDLE ? SIGN_WRITERS_IDLE : SIGN_WRITERS_SOME;
}

static unsigned readers_sign(const struct bottleneck_profile *profile)
{
    if (isnan(profile->buffer_wait) || isnan(profile->read_wait))
        return SIGN_READERS_UNSEEN;
    return profile->buffer_wait >= STARVING && profile->read_wait >= READING ? SIGN_STARVING
                                                                             : SIGN_FED;
}

int bottleneck_threads(const struct bottleneck_profile *profile)
{
    int readers = profile->layout.data_volumes > 1 ? profile->layout.data_volumes : 1;
    int writers = profile->writers > 1 ? profile->writers : 1;
    return readers + writers + 1;
}

/* The process works for others too, so what is between free and full decides nothing, and so does
 * a full thread where nothing is compressed. */
static unsigned cpu_sign(const struct bottleneck_profile *profile)
{
    if (isnan(profile->cpu_cores) || profile->cpu_count < 1)
        return SIGN_CPU_UNSEEN | (profile->compressed ? SIGN_CPU_DOUBTFUL : SIGN_CPU_FREE);
    if (profile->cpu_cores >= MACHINE_FULL * profile->cpu_count)
        return SIGN_CPU_FULL | SIGN_MACHINE_FULL;
    double used = profile->cpu_cores / bottleneck_threads(profile);
    bool fits = used >= THREADS_FULL && used <= THREADS_MORE;
    if (!profile->compressed)
        return fits ? SIGN_CPU_DOUBTFUL : SIGN_CPU_FREE;
    if (fits)
        return SIGN_CPU_FULL;
    return used < THREADS_FREE ? SIGN_CPU_FREE : SIGN_CPU_DOUBTFUL;
}

static unsigned layout_signs(const struct bottleneck_profile *profile)
{
    const struct bottleneck_layout *layout = &profile->layout;
    enum guard_tde tde = guard_tde(profile->server_major, profile->server_build);
    const struct {
        bool holds;
        unsigned sign;
    } rows[] = {
        {layout->beside_data, SIGN_BESIDE_DATA},
        {layout->on_share, SIGN_ON_SHARE},
        {layout->log_beside_data, SIGN_LOG_BESIDE_DATA},
        {layout->data_volumes == 1, SIGN_ONE_VOLUME},
        {layout->slowest_drive != NULL, SIGN_SLOWEST_DRIVE},
        {profile->writers <= 1, SIGN_ONE_STRIPE},
        {profile->compressed, SIGN_COMPRESSED},
        {profile->compressed && profile->ratio < POOR_RATIO, SIGN_POOR_RATIO},
        {tde == GUARD_TDE_LARGE_TRANSFERS, SIGN_TDE_RULE},
        {layout->local_mib_s > 0, SIGN_LOCAL_FASTER},
        {profile->discards, SIGN_DISCARDS},
        {layout->growths >= MANY_GROWTHS, SIGN_GROWN},
    };
    unsigned signs = 0;
    for (size_t i = 0; i < JSON_COUNT(rows); i++)
        signs |= rows[i].holds ? rows[i].sign : 0;
    return signs;
}

/* --- the verdict ---------------------------------------------------------------------------- */

void bottleneck_judge(const struct bottleneck_profile *profile, struct bottleneck_verdict *out)
{
    struct bottleneck_range fraction = fraction_of(profile);
    int ceiling_files = profile->ceiling_files > 1 ? profile->ceiling_files : 1;
    unsigned signs = rate_sign(&fraction, profile->writers > ceiling_files) |
                     writers_sign(profile) | readers_sign(profile) | cpu_sign(profile) |
                     layout_signs(profile);
    const struct rule *rule = rule_for(signs);
    *out = (struct bottleneck_verdict){.bottleneck = rule->verdict,
                                       .fraction = fraction.value,
                                       .low = fraction.low,
                                       .high = fraction.high,
                                       .evidence = cJSON_CreateArray(),
                                       .advice = cJSON_CreateArray()};
    bottleneck_add_evidence(profile, signs, out);
    (void)cJSON_AddItemToArray(out->evidence, json_text(rule->reason));
    bottleneck_add_advice(signs, out);
}

void bottleneck_verdict_fini(struct bottleneck_verdict *verdict)
{
    cJSON_Delete(verdict->evidence);
    cJSON_Delete(verdict->advice);
    *verdict = (struct bottleneck_verdict){0};
}
