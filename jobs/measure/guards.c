#include "jobs/measure/guards.h"

#include "jobs/measure/guard.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define MIB ((int64_t)1 << 20)

const struct guards_input GUARDS_INPUT = {
    .what = "backup",
    .window_open = true,
    .longest_ms = -1,
    .used_ms = -1,
    .limit_ms = -1,
    .memory_limit_mib = -1,
    .free_memory_mib = -1,
    .backups = 1,
    .free_bytes = -1,
    .margin_mib = -1,
};

typedef const struct guards_input input;

/* --- production, queue --------------------------------------------------------------------- */

static bool lacks_consent(input *in)
{
    return in->production && !in->confirmed;
}

static bool lacks_windows(input *in)
{
    return in->production && !in->has_windows;
}

static bool is_paused(input *in)
{
    return in->paused;
}

static bool is_held(input *in)
{
    return in->held;
}

static bool meets_another(input *in)
{
    return in->exclusive && in->instance_busy;
}

static bool meets_leftovers(input *in)
{
    return in->exclusive && in->cleanup_pending;
}

static bool meets_a_lane(input *in)
{
    return in->exclusive && in->lane_busy;
}

/* --- time ---------------------------------------------------------------------------------- */

static bool passed_its_deadline(input *in)
{
    return in->deadline_at > 0 && in->now_ms >= in->deadline_at;
}

static bool used_its_time(input *in)
{
    return in->limit_ms >= 0 && in->used_ms >= in->limit_ms;
}

static bool is_outside(input *in)
{
    bool closed = in->closes_at > 0 && in->now_ms >= in->closes_at;
    return !in->ignores_windows && (!in->window_open || closed);
}

static int64_t left_ms(input *in)
{
    return in->closes_at - in->now_ms;
}

static bool does_not_fit(input *in)
{
    return !in->ignores_windows && in->closes_at > 0 && in->longest_ms > left_ms(in);
}

/* --- memory -------------------------------------------------------------------------------- */

static double buffers_mib(input *in)
{
    return guard_buffer_memory_mib(in->buffercount, in->maxtransfersize, in->compression);
}

static bool knows_buffers(input *in)
{
    return !isnan(buffers_mib(in));
}

static bool takes_more_than_its_limit(input *in)
{
    return in->memory_limit_mib >= 0 && buffers_mib(in) > (double)in->memory_limit_mib;
}

static double share_mib(input *in)
{
    return (double)in->free_memory_mib * GUARDS_MEMORY_PERCENT / 100;
}

static bool takes_the_server_s_memory(input *in)
{
    return in->free_memory_mib >= 0 && buffers_mib(in) > share_mib(in);
}

static bool cannot_see_memory(input *in)
{
    return in->free_memory_mib < 0 && knows_buffers(in);
}

/* --- room ---------------------------------------------------------------------------------- */

/* In MiB, rounded up; without overflow for anything a server can hold. */
static double needed_mib(input *in)
{
    int64_t most = in->bytes > in->preallocated_bytes ? in->bytes : in->preallocated_bytes;
    return ceil((double)most / (double)MIB);
}

static double free_mib(input *in)
{
    return floor((double)in->free_bytes / (double)MIB);
}

static bool cannot_see_room(input *in)
{
    return in->writes && in->free_bytes < 0;
}

static bool cannot_see_size(input *in)
{
    return in->writes && in->bytes < 0;
}

static bool has_no_room(input *in)
{
    return in->writes && needed_mib(in) + (double)in->margin_mib > free_mib(in);
}

static bool fell_below_margin(input *in)
{
    return in->writes && in->free_bytes >= 0 && free_mib(in) < (double)in->margin_mib;
}

/* --- others -------------------------------------------------------------------------------- */

static bool meets_foreign_work(input *in)
{
    return in->foreign && in->waited_ms < GUARDS_FOREIGN_WAIT_MS;
}

static bool waited_long_enough(input *in)
{
    return in->foreign && in->waited_ms >= GUARDS_FOREIGN_WAIT_MS;
}

static bool has_foreign_work(input *in)
{
    return in->foreign != NULL;
}

static bool is_resolving(input *in)
{
    return in->role == GUARDS_RESOLVING;
}

static bool writes_on_a_secondary(input *in)
{
    return in->role == GUARDS_SECONDARY && in->workload_writes;
}

static bool is_secondary(input *in)
{
    return in->role == GUARDS_SECONDARY;
}

static bool left_primary(input *in)
{
    return in->role_before == GUARDS_PRIMARY && in->role == GUARDS_SECONDARY;
}

static bool became_primary(input *in)
{
    return in->role_before == GUARDS_SECONDARY && in->role == GUARDS_PRIMARY;
}

/* --- what is said -------------------------------------------------------------------------- */

typedef void say(input *in, char *out);

static void PRINTF_LIKE(2, 3) put(char *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out, GUARDS_TEXT_SIZE, format, args);
    va_end(args);
}

static void say_consent(input *in, char *out)
{
    put(out, "instance %s is a production instance; a job there needs \"confirm_production\": true",
        in->name);
}

static void say_windows(input *in, char *out)
{
    put(out,
        "instance %s is a production instance without windows; give it at least one, or "
        "\"windows\": \"always\"",
        in->name);
}

static void say_paused(input *in, char *out)
{
    (void)in;
    put(out, "the service is paused");
}

static void say_held(input *in, char *out)
{
    put(out, "instance %s refused a login", in->name);
}

static void say_busy(input *in, char *out)
{
    put(out, "another job measures on instance %s", in->name);
}

static void say_leftovers(input *in, char *out)
{
    put(out, "what another job changed on instance %s is undone first", in->name);
}

static void say_lane(input *in, char *out)
{
    put(out, "another job measures on a lane of instance %s", in->name);
}

static void say_deadline(input *in, char *out)
{
    (void)in;
    put(out, "the job's deadline passed");
}

static void say_minutes(input *in, char *out)
{
    put(out, "the job ran for %" PRId64 " s in all, and limits.minutes allows %" PRId64 " s",
        in->used_ms / 1000, in->limit_ms / 1000);
}

static void say_outside(input *in, char *out)
{
    (void)in;
    put(out, "the maintenance window closed");
}

static void say_fit(input *in, char *out)
{
    put(out,
        "the window closes in %" PRId64 " s, and the next trial takes %" PRId64
        " s by the job's own trials",
        left_ms(in) / 1000, in->longest_ms / 1000);
}

/* The arithmetic up to the equals sign's right side. */
static int put_product(input *in, char *out)
{
    int sets = guard_buffer_sets(in->compression);
    int64_t bytes = in->maxtransfersize > 0 ? in->maxtransfersize : MIB;
    return snprintf(out, GUARDS_TEXT_SIZE,
                    "%" PRId64 " buffers of %" PRId64 " bytes in %d set(s) are %.0f MiB",
                    in->buffercount, bytes, sets, buffers_mib(in));
}

static void say_memory_limit(input *in, char *out)
{
    char product[GUARDS_TEXT_SIZE];
    (void)put_product(in, product);
    put(out, "%.200s; the limit buffer_memory_mib is %" PRId64, product, in->memory_limit_mib);
}

static void say_free_memory(input *in, char *out)
{
    char product[GUARDS_TEXT_SIZE];
    (void)put_product(in, product);
    put(out, "%.200s; %d %% of the server's %" PRId64 " MiB of available memory are %.0f MiB",
        product, GUARDS_MEMORY_PERCENT, in->free_memory_mib, share_mib(in));
}

static void say_unknown_memory(input *in, char *out)
{
    (void)in;
    put(out, "how much memory the server has free cannot be seen: buffers are held against the "
             "limit buffer_memory_mib alone");
}

static void say_unknown_room(input *in, char *out)
{
    put(out, "no view of the server shows the free space of %s; say it in assume_free_mib",
        in->name);
}

static void say_unknown_size(input *in, char *out)
{
    put(out,
        "the size of the database is not visible, so a backup to %s may fill the volume; grant "
        "VIEW ANY DEFINITION",
        in->name);
}

static void say_no_room(input *in, char *out)
{
    if (needed_mib(in) <= 0) {
        put(out,
            "%.100s has %.0f MiB free, and min_free_disk_mib keeps %" PRId64 " MiB: no %s is "
            "begun",
            in->name, free_mib(in), in->margin_mib, in->what);
        return;
    }
    put(out,
        "%.100s has %.0f MiB free; %" PRId64 " backup(s) may take %.0f MiB, and min_free_disk_mib "
        "keeps %" PRId64 " MiB%s",
        in->name, free_mib(in), in->backups, needed_mib(in), in->margin_mib,
        in->backups > 1 ? " (the server does not delete our files)" : "");
}

static void say_margin(input *in, char *out)
{
    put(out,
        "%.100s fell to %.0f MiB free while the %s ran, and min_free_disk_mib keeps %" PRId64
        " MiB: the %s was cancelled",
        in->name, free_mib(in), in->what, in->margin_mib, in->what);
}

static void say_foreign(input *in, char *out)
{
    put(out, "somebody else runs %.60s on the instance", in->foreign);
}

static void say_waited(input *in, char *out)
{
    put(out, "somebody else ran %.60s for more than %" PRId64 " s: the trial was not started",
        in->foreign, in->waited_ms / 1000);
}

static void say_disturbed(input *in, char *out)
{
    put(out, "somebody else ran %.60s during this trial", in->foreign);
}

static void say_resolving(input *in, char *out)
{
    put(out,
        "the availability replica of database %s is resolving its role; ask again when it is "
        "primary or secondary",
        in->name);
}

static void say_secondary_writes(input *in, char *out)
{
    put(out, "database %s is a secondary replica here, and the workload writes; use the primary",
        in->name);
}

static void say_secondary(input *in, char *out)
{
    put(out,
        "%.100s is a secondary replica here: only COPY_ONLY full backups work on it (others give "
        "3059, a recommended statement too), and its speeds say little about the primary",
        in->name);
}

static void say_left_primary(input *in, char *out)
{
    put(out,
        "database %s was failed over: it was the primary replica here when the job was prepared "
        "and "
        "is a secondary now; measure it where it is primary",
        in->name);
}

static void say_became_primary(input *in, char *out)
{
    put(out,
        "database %s was failed over: it was a secondary replica here when the job was prepared "
        "and "
        "is the primary now; what was measured before does not compare",
        in->name);
}

/* --- the table ----------------------------------------------------------------------------- */

#define PLANNED (GUARDS_PREFLIGHT | GUARDS_TRIAL)
#define STARTED (GUARDS_TRIAL | GUARDS_RUNNING)

/* clang-format off */
static const struct {
    const char *name;
    unsigned moments; /* enum guards_moment */
    bool (*applies)(input *in);
    enum guards_verdict verdict;
    const char *reason;
    int number;
    say *say;
} rows[] = {
    {"consent",          GUARDS_SUBMIT,                lacks_consent,             GUARDS_REFUSE,   NULL,            0,    say_consent},
    {"windows",          GUARDS_SUBMIT,                lacks_windows,             GUARDS_REFUSE,   NULL,            0,    say_windows},
    {"paused",           GUARDS_CLAIM,                 is_paused,                 GUARDS_WAIT,     "paused",        0,    say_paused},
    {"held",             GUARDS_CLAIM,                 is_held,                   GUARDS_WAIT,     "unreachable",   0,    say_held},
    {"instance_busy",    GUARDS_CLAIM,                 meets_another,             GUARDS_WAIT,     "instance_busy", 0,    say_busy},
    {"cleanup_pending",  GUARDS_CLAIM,                 meets_leftovers,           GUARDS_WAIT,     "cleanup_pending", 0,  say_leftovers},
    {"lane_busy",        GUARDS_CLAIM,                 meets_a_lane,              GUARDS_WAIT,     "lane_busy",     0,    say_lane},
    {"deadline",         STARTED,                      passed_its_deadline,       GUARDS_TIME_OUT, NULL,            0,    say_deadline},
    {"minutes",          STARTED,                      used_its_time,             GUARDS_TIME_OUT, NULL,            0,    say_minutes},
    {"window",           GUARDS_CLAIM | STARTED,       is_outside,                GUARDS_WAIT,     "window",        0,    say_outside},
    {"fit",              GUARDS_TRIAL,                 does_not_fit,              GUARDS_WAIT,     "window",        0,    say_fit},
    {"resolving",        PLANNED,                      is_resolving,              GUARDS_REFUSE,   NULL,            983,  say_resolving},
    {"left_primary",     GUARDS_TRIAL,                 left_primary,              GUARDS_REFUSE,   NULL,            976,  say_left_primary},
    {"became_primary",   GUARDS_TRIAL,                 became_primary,            GUARDS_REFUSE,   NULL,            0,    say_became_primary},
    {"secondary_writes", PLANNED,                      writes_on_a_secondary,     GUARDS_REFUSE,   NULL,            3906, say_secondary_writes},
    {"memory_limit",     PLANNED,                      takes_more_than_its_limit, GUARDS_REFUSE,   NULL,            0,    say_memory_limit},
    {"free_memory",      GUARDS_PREFLIGHT,             takes_the_server_s_memory, GUARDS_REFUSE,   NULL,            0,    say_free_memory},
    {"less_memory",      GUARDS_TRIAL,                 takes_the_server_s_memory, GUARDS_FAIL,     NULL,            0,    say_free_memory},
    {"room_unknown",     PLANNED,                      cannot_see_room,           GUARDS_REFUSE,   NULL,            0,    say_unknown_room},
    {"size_unknown",     PLANNED,                      cannot_see_size,           GUARDS_REFUSE,   NULL,            0,    say_unknown_size},
    {"room",             PLANNED,                      has_no_room,               GUARDS_REFUSE,   NULL,            0,    say_no_room},
    {"margin",           GUARDS_RUNNING,               fell_below_margin,         GUARDS_FAIL,     NULL,            0,    say_margin},
    {"foreign_work",     GUARDS_TRIAL,                 meets_foreign_work,        GUARDS_WAIT,     "instance_busy", 0,    say_foreign},
    {"foreign_waited",   GUARDS_TRIAL,                 waited_long_enough,        GUARDS_REPEAT,   NULL,            0,    say_waited},
    {"foreign_within",   GUARDS_RUNNING,               has_foreign_work,          GUARDS_REPEAT,   NULL,            0,    say_disturbed},
    {"secondary",        GUARDS_PREFLIGHT,             is_secondary,              GUARDS_WARN,     NULL,            0,    say_secondary},
    {"memory_unknown",   PLANNED,                      cannot_see_memory,         GUARDS_WARN,     NULL,            0,    say_unknown_memory},
};
/* clang-format on */

size_t guards_count(void)
{
    return JSON_COUNT(rows);
}

const char *guards_name(size_t index)
{
    return rows[index].name;
}

bool guards_applies(size_t index, const struct guards_input *in)
{
    return (rows[index].moments & (unsigned)in->moment) != 0 && rows[index].applies(in);
}

struct guards_answer guards_judge(const struct guards_input *in)
{
    struct guards_answer answer = {.verdict = GUARDS_GO};
    for (size_t i = 0; i < JSON_COUNT(rows); i++) {
        if (!guards_applies(i, in))
            continue;
        answer.verdict = rows[i].verdict;
        answer.reason = rows[i].reason;
        answer.number = rows[i].number;
        rows[i].say(in, answer.text);
        break;
    }
    return answer;
}
