/* Time in a whole run, which the tests let pass (server/clock.h): windows that close in a trial or
 * too soon for the next, limits that count over all tries, deadlines, instances that stay away, a
 * server that ignores cancels. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/http_client.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define TWO ",'design':{'repetitions':2,'warmups':0,'order':'sequential'}"
#define HOLD(nth)                                                                                  \
    "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':" nth ",'percent':40}"

static void wait_attention(struct harness *house)
{
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_ATTENTIONS, NULL, 1, 20000), 0);
}

static int attentions(struct harness *house)
{
    return sim_count_statements(house->sim, "(attention)");
}

/* Daily, from five minutes ago, open for so many more; *out_closes is that moment. */
static void register_window(struct harness *house, int minutes, int status, int64_t *out_closes)
{
    struct tm from;
    struct tm to;
    time_t now = (time_t)(clock_wall_ms() / 60000 * 60);
    time_t begin = now - 300;
    time_t end = now + (time_t)minutes * 60;
    assert_non_null(gmtime_r(&begin, &from));
    assert_non_null(gmtime_r(&end, &to));
    char *extra = mem_format(ALLOW ",'windows':[{'days':['mon','tue','wed','thu','fri','sat',"
                                   "'sun'],'from':'%02d:%02d','to':'%02d:%02d','time_zone':"
                                   "'UTC'}]",
                             from.tm_hour, from.tm_min, to.tm_hour, to.tm_min);
    sweep_register(house, "sql01", sim_port(house->sim), extra, status);
    free(extra);
    *out_closes = (int64_t)end * 1000;
}

static cJSON *job_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s", id);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return job;
}

static void expect_running(struct harness *house, const char *id)
{
    cJSON *job = job_of(house, id);
    assert_string_equal(text_at(job, "state"), "running");
    cJSON_Delete(job);
}

/* --- windows -------------------------------------------------------------------------------- */

static void a_window_that_closes_cancels_the_backup_and_the_next_one_goes_on(void **state)
{
    struct harness *house = *state;
    int64_t closes_at;
    register_window(house, 60, 201, &closes_at);
    sweep_fault(house->sim, HOLD("2"));
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, TWO));
    harness_wait_held(house);
    clock_pass_ms(closes_at - clock_wall_ms() - 20 * SECOND);
    expect_running(house, id);
    assert_int_equal(attentions(house), 0);
    clock_pass_ms(21 * SECOND); /* one second after the end, and no more until it is cancelled */
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    assert_true(attentions(house) >= 1);
    sweep_nothing_left(house->sim);
    clock_pass_ms(22 * HOUR); /* still closed */
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 2);
    clock_pass_ms(closes_at + 23 * HOUR - clock_wall_ms());
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "cancelled"), 1);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 4);
    sweep_nothing_left(house->sim);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
}

static void a_trial_that_cannot_end_in_the_window_waits_for_the_next(void **state)
{
    struct harness *house = *state;
    int64_t closes_at;
    register_window(house, 30, 201, &closes_at);
    sweep_fault(house->sim, HOLD("1"));
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", TWO));
    harness_wait_held(house);
    clock_pass_ms(20 * MINUTE); /* so long does a trial take */
    sim_release(house->sim);
    cJSON *job = harness_wait_state(house, id, "waiting", "window");
    assert_int_equal(number_at(job, "progress/trials_done"), 1);
    assert_true(clock_wall_ms() < closes_at);
    cJSON_Delete(job);
    clock_pass_ms(5 * SECOND); /* the queue looks at it again: it does not begin over and over */
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 1);
    assert_int_equal(attentions(house), 0);
    clock_pass_ms(closes_at - clock_wall_ms() + HOUR); /* it closed */
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    clock_pass_ms(closes_at + 24 * HOUR - 33 * MINUTE - clock_wall_ms());
    cJSON_Delete(harness_wait(house, id));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 4);
    free(id);
}

/* The first night shows nothing, for the job came late; in the second it has the whole window. */
static void a_trial_that_outlasts_its_window_fails_the_job_instead_of_coming_back(void **state)
{
    struct harness *house = *state;
    int64_t closes_at;
    register_window(house, 30, 201, &closes_at);
    sweep_fault(house->sim, HOLD("2,'times':2"));
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, TWO));
    harness_wait_held(house);
    clock_pass_ms(closes_at - clock_wall_ms() + SECOND);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    harness_stop_daemon(house);
    clock_pass_ms(closes_at + 24 * HOUR - 35 * MINUTE - clock_wall_ms());
    harness_start_daemon(house);
    harness_wait_held(house);
    clock_pass_ms(closes_at + 24 * HOUR - clock_wall_ms() + SECOND);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_true(sweep_error_says(job, "one trial of BUFFERCOUNT=50"));
    assert_true(sweep_error_says(job, "takes longer than the window ("));
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 1); /* what stands is kept */
    assert_int_equal(sweep_count(trials, NULL, "cancelled"), 2);
    sweep_nothing_left(house->sim);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
}

static void windows_that_are_changed_hold_for_the_next_trial(void **state)
{
    struct harness *house = *state;
    harness_register(house, ALLOW);
    sweep_fault(house->sim, HOLD("1"));
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", TWO));
    harness_wait_held(house);
    int64_t closes_at;
    register_window(house, -2, 200, &closes_at); /* closed for two minutes */
    sim_release(house->sim);
    cJSON *job = harness_wait_state(house, id, "waiting", "window");
    assert_int_equal(number_at(job, "progress/trials_done"), 1);
    cJSON_Delete(job);
    free(id);
}

static void a_clock_that_is_set_on_stops_and_one_set_back_starts_nothing_twice(void **state)
{
    struct harness *house = *state;
    int64_t closes_at;
    register_window(house, 30, 201, &closes_at);
    sweep_fault(house->sim, HOLD("1"));
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", TWO));
    harness_wait_held(house);
    clock_set_wall_ms(HOUR);
    clock_pass_ms(SECOND);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    assert_true(attentions(house) >= 1);
    clock_set_wall_ms(-2 * HOUR); /* an hour before the window */
    clock_pass_ms(SECOND);
    cJSON_Delete(harness_wait_state(house, id, "waiting", "window"));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), 1);
    clock_set_wall_ms(HOUR);
    cJSON *job = harness_pass_until(house, id, "succeeded", SECOND);
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 4);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
}

static void a_job_that_ignores_windows_passes_one_that_waits(void **state)
{
    struct harness *house = *state;
    int64_t closes_at;
    register_window(house, -2, 201, &closes_at); /* closed for two minutes */
    char *first = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    cJSON_Delete(harness_wait_state(house, first, "waiting", "window"));
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]", SHORT ",'ignore_windows':true"),
                              "inconclusive", NULL);
    cJSON_Delete(harness_wait_state(house, first, "waiting", "window"));
    cJSON_Delete(job);
    free(first);
}

/* --- limits, deadlines, absence ------------------------------------------------------------- */

static void minutes_count_over_all_tries(void **state)
{
    struct harness *house = *state;
    harness_register(house, ALLOW);
    sweep_fault(house->sim, HOLD("2"));
    char *id =
        harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, TWO ",'limits':{'minutes':10}"));
    harness_wait_held(house);
    clock_pass_ms(6 * MINUTE);
    expect_running(house, id);
    harness_stop_daemon(house);
    clock_pass_ms(HOUR); /* nobody runs it */
    sweep_fault(house->sim, HOLD("1"));
    harness_start_daemon(house);
    harness_wait_held(house);
    clock_pass_ms(3 * MINUTE);
    expect_running(house, id);
    clock_pass_ms(MINUTE);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "timed_out");
    assert_string_equal(text_at(job, "cleanup"), "done");
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    free(id);
}

static void a_deadline_in_a_trial_cancels_and_undoes(void **state)
{
    struct harness *house = *state;
    char soon[CLOCK_TEXT_SIZE];
    harness_register(house, ALLOW);
    sweep_fault(house->sim, HOLD("2"));
    char *body = mem_format(SWEEP(",'buffercount':[50]" TO_DISK, SHORT ",'deadline':'%s'"),
                            clock_format(clock_wall_ms() + HOUR, soon));
    char *id = harness_submit(house, body);
    harness_wait_held(house);
    clock_pass_ms(59 * MINUTE);
    expect_running(house, id);
    assert_int_equal(attentions(house), 0);
    clock_pass_ms(MINUTE);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "timed_out");
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    free(body);
    free(id);
}

static void an_instance_that_stays_away_for_unreachable_minutes_fails_the_job(void **state)
{
    struct harness *house = *state;
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'stop_listening'}");
    int64_t since = clock_wall_ms();
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
    char *behind = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    cJSON_Delete(harness_wait_state(house, behind, "waiting", "unreachable"));
    /* its own reason stays, whatever the queue finds for the others */
    cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
    cJSON *job = harness_pass_until(house, id, "failed", MINUTE);
    assert_true(clock_wall_ms() - since >= HOUR);
    assert_string_equal(text_at(job, "error/step"), "connect");
    cJSON_Delete(job);
    free(behind);
    free(id);
}

/* The steady clock, which nobody sets. */
static int64_t steady_ms(void)
{
    return clock_mono_ns() / 1000000;
}

/* When the job is tried again, as soon as that is another moment than other_than; 0: it has ended.
 */
static int64_t await_retry(struct harness *house, const char *id, int64_t other_than)
{
    for (int i = 0; i < 20000; i++) {
        int64_t at_ms = 0;
        cJSON *job = job_of(house, id);
        bool waits = strcmp(text_at(job, "state"), "waiting") == 0;
        bool ended = cJSON_IsString(at(job, "finished_at"));
        if (waits)
            assert_true(clock_parse(text_at(job, "retry_at"), &at_ms));
        cJSON_Delete(job);
        if (ended || (waits && at_ms != other_than))
            return at_ms;
    }
    fail_msg("job %s is not tried", id);
    return 0;
}

/* An instance that is away: tries until it is `minutes` since the first one, or the job has ended
 * (false). *at_ms: the next one. */
static bool try_for(struct harness *house, const char *id, int64_t since_ms, int64_t minutes,
                    int64_t *at_ms)
{
    while (*at_ms != 0 && steady_ms() - since_ms < minutes * MINUTE) {
        int64_t pause_ms = *at_ms - clock_wall_ms();
        assert_true(pause_ms <= 301 * SECOND);
        clock_pass_ms(pause_ms > 0 ? pause_ms + SECOND : SECOND);
        *at_ms = await_retry(house, id, *at_ms);
    }
    return *at_ms != 0;
}

static char *go_away(struct harness *house, int64_t *out_since_ms, int64_t *out_at_ms)
{
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'stop_listening'}");
    *out_since_ms = steady_ms();
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    *out_at_ms = await_retry(house, id, 0);
    assert_true(try_for(house, id, *out_since_ms, 20, out_at_ms));
    return id;
}

static void a_clock_that_is_set_gives_nobody_up_early_and_keeps_nobody_waiting(void **state)
{
    static const int64_t by_ms[] = {-24 * HOUR, 24 * HOUR, 50 * MINUTE, -50 * MINUTE};
    struct harness *house = *state;
    for (size_t i = 0; i < sizeof by_ms / sizeof by_ms[0]; i++) {
        int64_t since_ms = 0;
        int64_t at_ms = 0;
        char *id = go_away(house, &since_ms, &at_ms);
        clock_set_wall_ms(by_ms[i]);
        clock_pass_ms(SECOND); /* the next look sees it, and moves what waits */
        at_ms = await_retry(house, id, at_ms);
        assert_true(try_for(house, id, since_ms, 54, &at_ms));  /* and five more at most */
        assert_false(try_for(house, id, since_ms, 66, &at_ms)); /* a pause later it is given up */
        cJSON *job = job_of(house, id);
        assert_string_equal(text_at(job, "state"), "failed");
        assert_true(steady_ms() - since_ms >= HOUR);
        cJSON_Delete(job);
        free(id);
        harness_stop(house);
        house = *state = harness_start(NULL);
    }
}

static void after_a_restart_a_retry_is_near_whatever_the_clock_did(void **state)
{
    struct harness *house = *state;
    int64_t since_ms = 0;
    int64_t at_ms = 0;
    char *id = go_away(house, &since_ms, &at_ms);
    harness_stop_daemon(house);
    clock_set_wall_ms(-24 * HOUR);
    sweep_fault(house->sim, "{'do':'listen'}");
    harness_start_daemon(house);
    clock_pass_ms(301 * SECOND);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "inconclusive");
    cJSON_Delete(job);
    free(id);
}

/* --- keys ---------------------------------------------------------------------------------------
 */

/* The id of the job that a submit with this key gives; to be freed. */
static char *submit_with_key(struct harness *house, int status)
{
    char *json =
        harness_json(SWEEP(",'buffercount':[50]", SHORT ",'not_before':'2999-01-01T00:00:00Z'"));
    struct reply reply =
        call(harness_port(house), "POST", "/v1/jobs", "Idempotency-Key: night\r\n", json);
    if (reply.status != status)
        fail_msg("%d: %s", reply.status, reply.body);
    assert_string_equal(reply_header(&reply, "Idempotency-Replayed"), status == 200 ? "true" : "");
    cJSON *job = cJSON_Parse(reply.body);
    char *id = mem_copy(text_at(job, "id"));
    cJSON_Delete(job);
    reply_fini(&reply);
    free(json);
    return id;
}

static void a_key_lives_for_seven_days(void **state)
{
    struct harness *house = *state;
    harness_register(house, ALLOW);
    char *first = submit_with_key(house, 202);
    clock_pass_ms(7 * 24 * HOUR - MINUTE);
    char *same = submit_with_key(house, 200);
    assert_string_equal(same, first);
    clock_pass_ms(2 * MINUTE);
    char *other = submit_with_key(house, 202);
    assert_string_not_equal(other, first);
    free(other);
    free(same);
    free(first);
}

/* --- cancels -------------------------------------------------------------------------------- */

static void a_server_that_ignores_a_cancel_is_given_up_after_half_a_minute(void **state)
{
    struct harness *house = *state;
    harness_register(house, ALLOW);
    sweep_fault(house->sim, HOLD("1"));
    sweep_fault(house->sim, "{'do':'ignore_attention','match':'BACKUP','times':-1}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT));
    harness_wait_held(house);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    wait_attention(house);
    clock_pass_ms(25 * SECOND);
    expect_running(house, id);
    clock_pass_ms(5 * SECOND);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_string_equal(text_at(job, "cleanup"), "pending"); /* the server may still write */
    cJSON_Delete(job);
    /* our side dropped the connection, and the backup ends with it */
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_BACKUPS, NULL, 0, 20000), 0);
    for (int i = 0; sweep_files_left(house->sim) > 0; i++) {
        assert_true(i < 1000);
        clock_pass_ms(MINUTE); /* leftovers are looked for once a minute */
        cJSON_Delete(job_of(house, id));
    }
    job = job_of(house, id);
    while (strcmp(text_at(job, "cleanup"), "done") != 0) {
        cJSON_Delete(job);
        job = job_of(house, id);
    }
    cJSON_Delete(job);
    free(target);
    free(id);
}

#define TIMED(name)                                                                                \
    cmocka_unit_test_setup_teardown(name, harness_set_up_timed, harness_tear_down_timed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TIMED(a_window_that_closes_cancels_the_backup_and_the_next_one_goes_on),
        TIMED(a_trial_that_cannot_end_in_the_window_waits_for_the_next),
        TIMED(a_trial_that_outlasts_its_window_fails_the_job_instead_of_coming_back),
        TIMED(windows_that_are_changed_hold_for_the_next_trial),
        TIMED(a_clock_that_is_set_on_stops_and_one_set_back_starts_nothing_twice),
        TIMED(a_job_that_ignores_windows_passes_one_that_waits),
        TIMED(minutes_count_over_all_tries),
        TIMED(a_deadline_in_a_trial_cancels_and_undoes),
        TIMED(an_instance_that_stays_away_for_unreachable_minutes_fails_the_job),
        TIMED(a_clock_that_is_set_gives_nobody_up_early_and_keeps_nobody_waiting),
        TIMED(after_a_restart_a_retry_is_near_whatever_the_clock_did),
        TIMED(a_key_lives_for_seven_days),
        TIMED(a_server_that_ignores_a_cancel_is_given_up_after_half_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
