/* What a run leaves out: budgets of a race, dropped settings, what follows an early answer. */
#include "jobs/looks.h"
#include "jobs/run.h"
#include "server/clock.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB ((int64_t)1 << 20)
#define HOUR_NS ((int64_t)3600 * 1000000000)

static struct run *run_of_race(void)
{
    struct run *run = mem_alloc(1, sizeof *run);
    run->definition.design = (struct design){.repetitions = 5, .race = true, .stop_early = true};
    run->limits = (struct limits){.job_minutes = 60, .read_mib = 100, .written_mib = 100};
    run->stop_at_ns = clock_mono_ns() + HOUR_NS;
    run->warnings = BUF_WITH_MAX(4096);
    looks_init(&run->looks, 4);
    return run;
}

static void run_end(struct run *run)
{
    looks_fini(&run->looks);
    trials_free(run->trials, run->trial_count);
    buf_fini(&run->warnings);
    free(run);
}

static void add_trial(struct run *run, int64_t mib, double seconds)
{
    struct trial trial = trial_new(1, 1, 0, false);
    trial.status = TRIAL_OK;
    trial.pages = mib * 128;
    trial.bytes = mib * MIB;
    trial.file_bytes = 0;
    trial.elapsed_s = seconds;
    run_add_trial(run, &trial);
}

static void a_budget_is_used_when_its_last_mib_is(void **state)
{
    (void)state;
    struct run *run = run_of_race();
    add_trial(run, 99, 1);
    assert_false(looks_budget_is_used(run));
    add_trial(run, 1, 1);
    assert_true(looks_budget_is_used(run));
    assert_non_null(strstr(buf_text(&run->warnings), "read_mib 100"));
    struct design_step step = {.arm = 0, .block = 9};
    assert_true(looks_leave_out(run, &step)); /* no confirmation either */
    run_end(run);
}

static void nothing_written_needs_no_budget_for_it(void **state)
{
    (void)state;
    struct run *run = run_of_race();
    run->limits.written_mib = 0;
    add_trial(run, 10, 1);
    assert_false(looks_budget_is_used(run));
    run->bytes_written = 1;
    assert_true(looks_budget_is_used(run));
    run_end(run);
}

static void a_trial_that_would_outlast_the_minutes_is_not_begun(void **state)
{
    (void)state;
    struct run *run = run_of_race();
    add_trial(run, 1, 600);
    assert_false(looks_budget_is_used(run));
    run->stop_at_ns = clock_mono_ns() + HOUR_NS / 6; /* ten minutes, and it may take longer */
    assert_true(looks_budget_is_used(run));
    assert_non_null(strstr(buf_text(&run->warnings), "minutes 60"));
    run_end(run);
}

static void a_grid_and_a_race_without_data_fail_by_their_limits_instead(void **state)
{
    (void)state;
    struct run *run = run_of_race();
    run->bytes_read = 1000 * MIB;
    assert_false(looks_budget_is_used(run)); /* there is nothing to end with */
    add_trial(run, 1, 1);
    run->definition.design.race = false;
    assert_false(looks_budget_is_used(run));
    run_end(run);
}

static void blocks_after_a_drop_or_an_answer_are_left_out(void **state)
{
    (void)state;
    static const struct {
        int arm, block, stopped_after;
        bool left_out;
    } rows[] = {
        {1, 2, 0, false}, {1, 3, 0, true},  {2, 3, 0, false}, {2, 4, 3, true},
        {2, 3, 3, false}, {1, 6, 0, false}, {2, 6, 3, false}, /* a later phase */
    };
    struct run *run = run_of_race();
    run->looks.race.after[1] = 2;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct design_step step = {.arm = rows[i].arm, .block = rows[i].block};
        run->looks.stopped_after = rows[i].stopped_after;
        if (looks_leave_out(run, &step) != rows[i].left_out)
            fail_msg("row %zu", i);
    }
    run_end(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_is_used_when_its_last_mib_is),
        cmocka_unit_test(nothing_written_needs_no_budget_for_it),
        cmocka_unit_test(a_trial_that_would_outlast_the_minutes_is_not_begun),
        cmocka_unit_test(a_grid_and_a_race_without_data_fail_by_their_limits_instead),
        cmocka_unit_test(blocks_after_a_drop_or_an_answer_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
