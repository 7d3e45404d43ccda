/* The table that says whether something may be done to an instance: every row by its edges, then
 * by numbers of cases. */
#include "jobs/measure/guard.h"
#include "jobs/measure/guards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB ((int64_t)1 << 20)
#define GIB (MIB * 1024)

static struct guards_input when(enum guards_moment moment)
{
    struct guards_input input = GUARDS_INPUT;
    input.moment = moment;
    input.name = "sql01";
    input.now_ms = 1000000;
    return input;
}

/* The row that decides must be this one (NULL: none), with this verdict and words in its text. */
static void expect(const struct guards_input *input, const char *row, enum guards_verdict verdict,
                   const char *words)
{
    const char *first = NULL;
    for (size_t i = 0; i < guards_count() && !first; i++)
        if (guards_applies(i, input))
            first = guards_name(i);
    struct guards_answer answer = guards_judge(input);
    if (!row != !first || (row && strcmp(row, first) != 0))
        fail_msg("%s decides instead of %s: %s", first ? first : "nothing", row ? row : "nothing",
                 answer.text);
    assert_int_equal(answer.verdict, verdict);
    assert_int_equal(answer.verdict == GUARDS_WAIT, answer.reason != NULL);
    if (!strstr(answer.text, words))
        fail_msg("no \"%s\" in \"%s\"", words, answer.text);
}

/* Whether the row of this name would apply, were it the first. */
static bool would_apply(const char *row, const struct guards_input *input)
{
    for (size_t i = 0; i < guards_count(); i++)
        if (strcmp(guards_name(i), row) == 0)
            return guards_applies(i, input);
    fail_msg("there is no row %s", row);
    return false;
}

static void goes(const struct guards_input *input)
{
    expect(input, NULL, GUARDS_GO, "");
}

static void knows_nothing_and_lets_it_pass(void **state)
{
    (void)state;
    for (int moment = GUARDS_SUBMIT; moment <= GUARDS_RUNNING; moment *= 2) {
        struct guards_input input = when((enum guards_moment)moment);
        goes(&input);
    }
}

static void production_needs_consent_and_a_window(void **state)
{
    (void)state;
    int taken = 0;
    for (int bits = 0; bits < 64; bits++) { /* the last three have no say when a job comes in */
        struct guards_input input = when(GUARDS_SUBMIT);
        input.production = bits & 1;
        input.confirmed = bits & 2;
        input.has_windows = bits & 4;
        input.ignores_windows = bits & 8;
        input.window_open = bits & 16;
        input.exclusive = bits & 32;
        bool may = !input.production || (input.confirmed && input.has_windows);
        assert_int_equal(guards_judge(&input).verdict, may ? GUARDS_GO : GUARDS_REFUSE);
        taken += may;
    }
    assert_int_equal(taken, 40);
    struct guards_input input = when(GUARDS_SUBMIT);
    input.production = true;
    expect(&input, "consent", GUARDS_REFUSE, "\"confirm_production\": true");
    input.confirmed = true;
    expect(&input, "windows", GUARDS_REFUSE, "\"windows\": \"always\"");
}

static void a_claim_waits_for_what_is_in_the_way(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_CLAIM);
    input.instance_busy = true;
    input.lane_busy = true;
    input.cleanup_pending = true;
    goes(&input); /* what does not measure runs beside */
    input.exclusive = true;
    expect(&input, "instance_busy", GUARDS_WAIT, "another job measures on instance sql01");
    input.instance_busy = false;
    expect(&input, "cleanup_pending", GUARDS_WAIT, "what another job changed on instance sql01");
    input.cleanup_pending = false;
    expect(&input, "lane_busy", GUARDS_WAIT, "lane");
    input.lane_busy = false;
    goes(&input);
    input.paused = true;
    expect(&input, "paused", GUARDS_WAIT, "the service is paused");
    input.paused = false;
    input.lane_busy = true;
    assert_string_equal(guards_judge(&input).reason, "lane_busy");
    input.held = true;
    expect(&input, "held", GUARDS_WAIT, "refused a login");
    assert_string_equal(guards_judge(&input).reason, "unreachable");
    input = when(GUARDS_CLAIM);
    input.window_open = false;
    expect(&input, "window", GUARDS_WAIT, "window");
    input.ignores_windows = true;
    goes(&input);
}

static void a_window_ends_on_the_millisecond(void **state)
{
    (void)state;
    for (int moment = GUARDS_TRIAL; moment <= GUARDS_RUNNING; moment *= 2) {
        struct guards_input input = when((enum guards_moment)moment);
        input.closes_at = input.now_ms + 1;
        goes(&input);
        input.closes_at = input.now_ms;
        expect(&input, "window", GUARDS_WAIT, "closed");
        input.ignores_windows = true;
        goes(&input);
    }
}

static void a_trial_that_cannot_end_in_time_is_not_begun(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_TRIAL);
    input.closes_at = input.now_ms + 60000;
    input.longest_ms = 60000;
    goes(&input);
    input.longest_ms = 60001;
    expect(&input, "fit", GUARDS_WAIT, "closes in 60 s");
    input.ignores_windows = true;
    goes(&input);
    input.ignores_windows = false;
    input.closes_at = 0; /* never */
    goes(&input);
    input.closes_at = input.now_ms + 60000;
    input.moment = GUARDS_RUNNING; /* it has begun */
    goes(&input);
}

static void time_is_over_at_its_limit_and_at_the_deadline(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_RUNNING);
    input.limit_ms = 60000;
    input.used_ms = 59999;
    goes(&input);
    input.used_ms = 60000;
    expect(&input, "minutes", GUARDS_TIME_OUT, "limits.minutes allows 60 s");
    input.deadline_at = input.now_ms + 1;
    expect(&input, "minutes", GUARDS_TIME_OUT, "60 s in all");
    input.deadline_at = input.now_ms;
    expect(&input, "deadline", GUARDS_TIME_OUT, "deadline");
    input.window_open = false; /* what ends the job weighs more than what delays it */
    expect(&input, "deadline", GUARDS_TIME_OUT, "deadline");
}

static void buffers_are_held_against_the_limit_and_the_free_memory(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_TRIAL);
    input.memory_limit_mib = 4096;
    input.free_memory_mib = 9600;
    input.compression = "off";
    goes(&input); /* the server's choice */
    input.buffercount = 600;
    input.maxtransfersize = 4 * MIB;
    goes(&input); /* a quarter, exactly */
    input.free_memory_mib = 9599;
    expect(&input, "less_memory", GUARDS_FAIL,
           "600 buffers of 4194304 bytes in 1 set(s) are 2400 MiB; 25 % of the server's 9599 MiB");
    input.moment = GUARDS_PREFLIGHT;
    expect(&input, "free_memory", GUARDS_REFUSE, "of available memory are 2400 MiB");
    input.memory_limit_mib = 2399;
    expect(&input, "memory_limit", GUARDS_REFUSE, "limit buffer_memory_mib is 2399");
    input.memory_limit_mib = 2400;
    input.free_memory_mib = -1;
    expect(&input, "memory_unknown", GUARDS_WARN, "limit buffer_memory_mib alone");
    input.compression = "on";
    expect(&input, "memory_limit", GUARDS_REFUSE, "in 3 set(s) are 7200 MiB");
    input.maxtransfersize = 0; /* the server's choice counts 1 MiB */
    expect(&input, "memory_unknown", GUARDS_WARN, "");
    input.memory_limit_mib = 1799;
    expect(&input, "memory_limit", GUARDS_REFUSE, "600 buffers of 1048576 bytes in 3 set(s)");
    input.memory_limit_mib = -1;
    expect(&input, "memory_unknown", GUARDS_WARN, "");
}

static uint64_t next_random(uint64_t below) /* splitmix64, so that each run is the same */
{
    static uint64_t seed = 20261201;
    uint64_t mixed = seed += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return (mixed ^ mixed >> 31) % below;
}

static void a_million_products_never_pass_their_bound(void **state)
{
    (void)state;
    int passed = 0;
    for (int i = 0; i < 1000000; i++) {
        struct guards_input input = when(i % 2 ? GUARDS_TRIAL : GUARDS_PREFLIGHT);
        input.buffercount = (int64_t)(1 + next_random((uint64_t)1 << (1 + next_random(62))));
        input.maxtransfersize = (int64_t)(1 + next_random((uint64_t)1 << (1 + next_random(62))));
        input.compression = next_random(2) ? "on" : "off";
        input.memory_limit_mib = (int64_t)next_random(1048576);
        input.free_memory_mib = (int64_t)next_random(4194304);
        unsigned sets = strcmp(input.compression, "on") == 0 ? 3 : 1;
        unsigned __int128 bytes =
            (unsigned __int128)input.buffercount * (unsigned __int128)input.maxtransfersize * sets;
        bool fits = bytes <= (unsigned __int128)input.memory_limit_mib * MIB &&
                    bytes * 4 <= (unsigned __int128)input.free_memory_mib * MIB;
        bool goes_on = guards_judge(&input).verdict == GUARDS_GO;
        if (goes_on != fits)
            fail_msg("%lld x %lld", (long long)input.buffercount, (long long)input.maxtransfersize);
        passed += goes_on;
    }
    assert_true(passed > 100000 && passed < 900000); /* both happen */
}

static void files_need_room_and_leave_the_margin(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_TRIAL);
    input.margin_mib = 1024;
    goes(&input); /* nothing is written */
    input.writes = true;
    expect(&input, "room_unknown", GUARDS_REFUSE, "assume_free_mib");
    input.free_bytes = 3 * GIB;
    input.bytes = -1;
    expect(&input, "size_unknown", GUARDS_REFUSE, "VIEW ANY DEFINITION");
    input.bytes = 2 * GIB;
    goes(&input);
    input.bytes = 2 * GIB + 1; /* the last MiB counts whole */
    expect(&input, "room", GUARDS_REFUSE, "1 backup(s) may take 2049 MiB");
    input.bytes = GIB;
    input.preallocated_bytes = 2 * GIB;
    goes(&input);
    input.preallocated_bytes = 2 * GIB + MIB;
    expect(&input, "room", GUARDS_REFUSE, "may take 2049 MiB, and min_free_disk_mib keeps 1024");
    input.backups = 3;
    expect(&input, "room", GUARDS_REFUSE, "(the server does not delete our files)");
    input.what = "trial";
    input.bytes = 0; /* beside the margin nothing is asked for */
    input.preallocated_bytes = 0;
    input.free_bytes = GIB;
    goes(&input);
    input.free_bytes = GIB - 1;
    expect(&input, "room", GUARDS_REFUSE,
           "has 1023 MiB free, and min_free_disk_mib keeps 1024 MiB: no trial is begun");
}

static void a_running_backup_stops_at_the_margin(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_RUNNING);
    input.margin_mib = 1024;
    input.free_bytes = 0;
    goes(&input); /* nothing is written */
    input.writes = true;
    input.free_bytes = -1;
    goes(&input); /* a look that failed says nothing */
    input.free_bytes = GIB;
    goes(&input);
    input.free_bytes = GIB - 1;
    expect(&input, "margin", GUARDS_FAIL, "fell to 1023 MiB free while the backup ran");
    input.what = "trial";
    expect(&input, "margin", GUARDS_FAIL, "1024 MiB: the trial was cancelled");
}

static void others_are_waited_for_and_then_the_trial_is_repeated(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_TRIAL);
    input.foreign = "DBCC TABLE CHECK";
    input.waited_ms = GUARDS_FOREIGN_WAIT_MS - 1;
    expect(&input, "foreign_work", GUARDS_WAIT, "somebody else runs DBCC TABLE CHECK");
    assert_false(would_apply("foreign_waited", &input));
    input.waited_ms = GUARDS_FOREIGN_WAIT_MS;
    expect(&input, "foreign_waited", GUARDS_REPEAT, "for more than 60 s");
    input.moment = GUARDS_RUNNING;
    expect(&input, "foreign_within", GUARDS_REPEAT, "during this trial");
}

static void a_replica_is_judged_by_its_role(void **state)
{
    (void)state;
    struct guards_input input = when(GUARDS_PREFLIGHT);
    for (int writes = 0; writes < 2; writes++) {
        input.workload_writes = writes;
        input.role = GUARDS_PRIMARY;
        goes(&input);
        input.role = GUARDS_RESOLVING;
        expect(&input, "resolving", GUARDS_REFUSE, "resolving its role");
        assert_int_equal(guards_judge(&input).number, 983);
    }
    input.role = GUARDS_SECONDARY;
    expect(&input, "secondary_writes", GUARDS_REFUSE, "use the primary");
    input.workload_writes = false;
    expect(&input, "secondary", GUARDS_WARN, "only COPY_ONLY");
}

static void a_failover_is_seen_before_the_next_trial(void **state)
{
    (void)state;
    static const struct {
        enum guards_role before, now;
        bool writes;
        const char *row; /* NULL: it goes on */
        int number;
    } cases[] = {
        {GUARDS_PRIMARY, GUARDS_PRIMARY, true, NULL, 0},
        {GUARDS_SECONDARY, GUARDS_SECONDARY, false, NULL, 0},
        {GUARDS_PRIMARY, GUARDS_SECONDARY, true, "left_primary", 976},
        {GUARDS_PRIMARY, GUARDS_SECONDARY, false, "left_primary", 976},
        {GUARDS_SECONDARY, GUARDS_PRIMARY, false, "became_primary", 0},
        {GUARDS_PRIMARY, GUARDS_RESOLVING, false, "resolving", 983},
        {GUARDS_ROLE_NONE, GUARDS_RESOLVING, false, "resolving", 983},
        {GUARDS_ROLE_NONE, GUARDS_SECONDARY, true, "secondary_writes", 3906},
        {GUARDS_ROLE_NONE, GUARDS_SECONDARY, false, NULL, 0}, /* not known before */
        {GUARDS_PRIMARY, GUARDS_ROLE_NONE, true, NULL, 0},    /* not seen now, or in no group */
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct guards_input input = when(GUARDS_TRIAL);
        input.role_before = cases[i].before;
        input.role = cases[i].now;
        input.workload_writes = cases[i].writes;
        if (!cases[i].row) {
            goes(&input);
            continue;
        }
        expect(&input, cases[i].row, GUARDS_REFUSE, "");
        assert_int_equal(guards_judge(&input).number, cases[i].number);
    }
}

/* Names of SQL Server have up to 128 characters, paths 259: a text that is too long is cut. */
static void long_names_are_cut_and_never_overflow(void **state)
{
    (void)state;
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct guards_input inputs[] = {when(GUARDS_SUBMIT), when(GUARDS_TRIAL), when(GUARDS_TRIAL)};
    inputs[0].production = true;
    inputs[1].foreign = name;
    inputs[2].writes = true;
    for (size_t i = 0; i < JSON_COUNT(inputs); i++) {
        inputs[i].name = name;
        struct guards_answer answer = guards_judge(&inputs[i]);
        assert_true(answer.verdict != GUARDS_GO);
        assert_true(strlen(answer.text) < GUARDS_TEXT_SIZE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_nothing_and_lets_it_pass),
        cmocka_unit_test(production_needs_consent_and_a_window),
        cmocka_unit_test(a_claim_waits_for_what_is_in_the_way),
        cmocka_unit_test(a_window_ends_on_the_millisecond),
        cmocka_unit_test(a_trial_that_cannot_end_in_time_is_not_begun),
        cmocka_unit_test(time_is_over_at_its_limit_and_at_the_deadline),
        cmocka_unit_test(buffers_are_held_against_the_limit_and_the_free_memory),
        cmocka_unit_test(a_million_products_never_pass_their_bound),
        cmocka_unit_test(files_need_room_and_leave_the_margin),
        cmocka_unit_test(a_running_backup_stops_at_the_margin),
        cmocka_unit_test(others_are_waited_for_and_then_the_trial_is_repeated),
        cmocka_unit_test(a_replica_is_judged_by_its_role),
        cmocka_unit_test(a_failover_is_seen_before_the_next_trial),
        cmocka_unit_test(long_names_are_cut_and_never_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
