/* Who may run: decided on a real store, with rows and clocks that the tests set. */
#include "jobs/event.h"
#include "jobs/scheduler.h"
#include "jobs/upkeep.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jobs_place *place_of(void **state)
{
    return *state;
}

static char *put(struct jobs_place *place, const char *instance, int64_t priority)
{
    struct job_row row = jobs_place_job(instance, NULL);
    row.priority = priority;
    return jobs_place_put_job(place, &row);
}

/* Claims at this moment; fails the test when it fails. */
static struct claim claim_at(struct jobs_place *place, int64_t now_ms)
{
    struct claim claim = {.now_ms = now_ms};
    jobs_place_claim(place, &claim);
    return claim;
}

/* Fails the test unless exactly this job (NULL: none) is claimed now. */
static void expect_claim(struct jobs_place *place, const char *id)
{
    struct claim claim = claim_at(place, clock_wall_ms());
    assert_int_equal(claim.found, id != NULL);
    if (!claim.found)
        return;
    assert_string_equal(claim.row.id, id);
    assert_string_equal(claim.row.state, "running");
    assert_string_equal(claim.row.phase, "preparing");
    assert_true(claim.row.started_at > 0);
    jobs_place_expect_state(place, id, "running", NULL);
    job_row_fini(&claim.row);
}

static void end_job(struct jobs_place *place, const char *id)
{
    struct job_row row = jobs_place_get_job(place, id);
    mem_replace(&row.state, "succeeded");
    jobs_place_update_job(place, &row);
    job_row_fini(&row);
}

static void hands_out_the_highest_priority_then_the_oldest(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "a", NULL);
    jobs_place_put_instance(place, "b", NULL);
    char *old_low = put(place, "a", 3);
    char *old = put(place, "a", 5);
    char *young = put(place, "b", 5);
    char *high = put(place, "b", 9);
    expect_claim(place, high);
    expect_claim(place, old);
    expect_claim(place, NULL); /* one job an instance */
    end_job(place, high);
    end_job(place, old);
    expect_claim(place, young);
    expect_claim(place, old_low);
    free(old_low);
    free(old);
    free(young);
    free(high);
}

static void lets_one_job_measure_on_an_instance(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "a", NULL);
    char *first = put(place, "a", 5);
    char *second = put(place, "a", 5);
    expect_claim(place, first);
    expect_claim(place, NULL);
    jobs_place_expect_state(place, second, "waiting", "instance_busy");
    end_job(place, first);
    expect_claim(place, second);
    free(first);
    free(second);
}

static void lets_reading_kinds_run_beside_a_measurement(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "a", NULL);
    char *first = put(place, "a", 5);
    struct job_row row = jobs_place_job("a", NULL);
    row.exclusive = false;
    char *history = jobs_place_put_job(place, &row);
    expect_claim(place, first);
    expect_claim(place, history);
    free(first);
    free(history);
}

static void lets_one_job_measure_on_a_lane(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const shared[] = {"/lanes", "['san-7','rack 1']", NULL};
    static const char *const other[] = {"/lanes", "['san-8']", NULL};
    jobs_place_put_instance(place, "a", shared);
    jobs_place_put_instance(place, "b", shared);
    jobs_place_put_instance(place, "c", other);
    char *on_a = put(place, "a", 5);
    char *on_b = put(place, "b", 5);
    char *on_c = put(place, "c", 5);
    expect_claim(place, on_a);
    expect_claim(place, on_c);
    expect_claim(place, NULL);
    jobs_place_expect_state(place, on_b, "waiting", "lane_busy");
    end_job(place, on_a);
    expect_claim(place, on_b);
    free(on_a);
    free(on_b);
    free(on_c);
}

#define HOUR ((int64_t)3600000)
#define SATURDAY ((int64_t)1764979200000) /* 2025-12-06T00:00:00Z */
#define NIGHT "[{'days':['sat'],'from':'01:00','to':'05:00','time_zone':'UTC'}]"

static void starts_jobs_only_inside_a_window_and_tells_when_it_closes(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const windows[] = {"/windows", NIGHT, NULL};
    jobs_place_put_instance(place, "a", windows);
    char *id = put(place, "a", 5);
    struct claim before = claim_at(place, SATURDAY + HOUR - 1);
    assert_false(before.found);
    jobs_place_expect_state(place, id, "waiting", "window");
    struct claim inside = claim_at(place, SATURDAY + HOUR);
    assert_true(inside.found);
    assert_int_equal(inside.closes_at, SATURDAY + 5 * HOUR);
    job_row_fini(&inside.row);
    free(id);
}

static void starts_nothing_after_a_window_closed(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const windows[] = {"/windows", NIGHT, NULL};
    jobs_place_put_instance(place, "a", windows);
    char *id = put(place, "a", 5);
    assert_false(claim_at(place, SATURDAY + 5 * HOUR).found);
    free(id);
}

static void lets_a_job_ignore_windows_that_was_allowed_to(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const windows[] = {"/windows", NIGHT, NULL};
    static const char *const ignores[] = {"/ignore_windows", "true", NULL};
    jobs_place_put_instance(place, "a", windows);
    struct job_row row = jobs_place_job("a", ignores);
    char *id = jobs_place_put_job(place, &row);
    struct claim claim = claim_at(place, SATURDAY);
    assert_true(claim.found);
    assert_int_equal(claim.closes_at, 0);
    job_row_fini(&claim.row);
    free(id);
}

static void waits_for_not_before(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "a", NULL);
    struct job_row row = jobs_place_job("a", NULL);
    row.not_before = SATURDAY;
    mem_replace(&row.state, "waiting");
    mem_replace(&row.state_reason, "not_before");
    char *id = jobs_place_put_job(place, &row);
    assert_false(claim_at(place, SATURDAY - 1).found);
    jobs_place_expect_state(place, id, "waiting", "not_before");
    struct claim claim = claim_at(place, SATURDAY);
    assert_true(claim.found);
    job_row_fini(&claim.row);
    free(id);
}

static void tries_an_unreachable_instance_again_when_it_is_time(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "a", NULL);
    struct job_row row = jobs_place_job("a", NULL);
    row.retry_at = SATURDAY;
    mem_replace(&row.state, "waiting");
    mem_replace(&row.state_reason, "unreachable");
    char *id = jobs_place_put_job(place, &row);
    assert_false(claim_at(place, SATURDAY - 1).found);
    struct claim claim = claim_at(place, SATURDAY);
    assert_true(claim.found);
    job_row_fini(&claim.row);
    free(id);
}

struct hold {
    const char *name, *reason;
};

static int hold_work(struct db *db, void *arg, struct err *err)
{
    const struct hold *hold = arg;
    return store_instance_hold(db, hold->name, hold->reason, err);
}

static void holds_all_jobs_of_an_instance_that_refused_a_login(void **state)
{
    struct jobs_place *place = place_of(state);
    struct hold hold = {"a", "login failed"};
    struct hold release = {"a", NULL};
    jobs_place_put_instance(place, "a", NULL);
    jobs_place_put_instance(place, "b", NULL);
    char *first = put(place, "a", 5);
    char *second = put(place, "a", 4);
    char *other = put(place, "b", 1);
    jobs_place_write(place, hold_work, &hold);
    expect_claim(place, other);
    expect_claim(place, NULL);
    jobs_place_expect_state(place, first, "waiting", "unreachable");
    jobs_place_expect_state(place, second, "waiting", "unreachable");
    jobs_place_write(place, hold_work, &release);
    expect_claim(place, first);
    free(first);
    free(second);
    free(other);
}

static void is_not_stopped_by_an_instance_that_cannot_be_read(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_raw_instance(place, "a", "{\"host\":5}");
    jobs_place_put_instance(place, "b", NULL);
    char *broken = put(place, "a", 5);
    char *sound = put(place, "b", 4);
    expect_claim(place, broken); /* its run says what is wrong and fails */
    expect_claim(place, sound);
    expect_claim(place, NULL);
    free(broken);
    free(sound);
}

static void keeps_windows_shut_whose_time_zone_went_missing(void **state)
{
    struct jobs_place *place = place_of(state);
    cJSON *tree = jobs_kit_json(JOBS_KIT_INSTANCE);
    jobs_kit_set(tree, "/windows",
                 "[{'days':['mon','tue','wed','thu','fri','sat','sun'],'from':'00:00',"
                 "'to':'00:00','time_zone':'Gone/Away'}]");
    char *text = json_print(tree);
    jobs_place_put_raw_instance(place, "a", text);
    jobs_place_put_instance(place, "b", NULL);
    char *shut = put(place, "a", 5);
    char *open = put(place, "b", 4);
    expect_claim(place, open);
    jobs_place_expect_state(place, shut, "waiting", "window");
    free(shut);
    free(open);
    free(text);
    cJSON_Delete(tree);
}

static void ends_jobs_whose_deadline_passed_before_they_started(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const notify[] = {"/notify", "['told']", NULL};
    jobs_place_put_instance(place, "a", NULL);
    jobs_place_put_webhook(place, "told", "['job.finished']", false);
    jobs_place_put_webhook(place, "untold", "['*']", false);
    struct job_row row = jobs_place_job("a", notify);
    row.deadline = SATURDAY;
    char *late = jobs_place_put_job(place, &row);
    row = jobs_place_job("a", NULL);
    row.deadline = SATURDAY + 1;
    char *in_time = jobs_place_put_job(place, &row);
    struct overdue overdue = {.now_ms = SATURDAY};
    jobs_place_write(place, upkeep_overdue_work, &overdue);
    assert_int_equal(overdue.count, 1);
    assert_string_equal(overdue.ids[0], late);
    jobs_place_expect_state(place, late, "timed_out", NULL);
    jobs_place_expect_state(place, in_time, "queued", NULL);
    struct job_row ended = jobs_place_get_job(place, late);
    assert_int_equal(ended.finished_at, SATURDAY);
    assert_non_null(strstr(ended.error, "deadline"));
    job_row_fini(&ended);
    assert_int_equal(jobs_place_deliveries(place, "told", EVENT_JOB_FINISHED), 1);
    assert_int_equal(jobs_place_deliveries(place, "untold", EVENT_JOB_FINISHED), 0);
    jobs_place_write(place, upkeep_overdue_work, &overdue);
    assert_int_equal(overdue.count, 0);
    free(late);
    free(in_time);
}

static void queues_again_what_ran_when_the_process_died(void **state)
{
    struct jobs_place *place = place_of(state);
    int64_t now = clock_wall_ms();
    jobs_place_put_instance(place, "a", NULL);
    char *ran = put(place, "a", 5);
    expect_claim(place, ran);
    struct job_row row = jobs_place_get_job(place, ran);
    row.trials_done = 7;
    row.cancel_asked = true;
    int64_t started_at = row.started_at;
    jobs_place_update_job(place, &row);
    job_row_fini(&row);
    jobs_place_write(place, upkeep_recover_work, &now);
    jobs_place_expect_state(place, ran, "queued", NULL);
    row = jobs_place_get_job(place, ran);
    assert_int_equal(row.trials_done, 7);
    assert_int_equal(row.started_at, started_at);
    assert_true(row.cancel_asked);
    assert_null(row.phase);
    job_row_fini(&row);
    expect_claim(place, ran);
    free(ran);
}

static int many_webhooks_work(struct db *db, void *arg, struct err *err)
{
    struct webhook_row row = *(struct webhook_row *)arg;
    bool created;
    for (int i = 0; i < 600; i++) {
        row.name = mem_format("hook-%03d", i);
        int rc = store_webhook_put(db, &row, -1, &created, err);
        free(row.name);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static void tells_every_webhook_however_many_there_are(void **state)
{
    struct jobs_place *place = place_of(state);
    char *definition =
        jobs_kit_text("{'url':'https://x/...','format':'json','events':['*'],'all_jobs':true}");
    struct webhook_row webhook = {.definition = definition};
    jobs_place_put_instance(place, "a", NULL);
    jobs_place_write(place, many_webhooks_work, &webhook);
    struct job_row row = jobs_place_job("a", NULL);
    row.deadline = SATURDAY;
    char *late = jobs_place_put_job(place, &row);
    struct overdue overdue = {.now_ms = SATURDAY};
    jobs_place_write(place, upkeep_overdue_work, &overdue);
    assert_int_equal(jobs_place_deliveries(place, "hook-000", EVENT_JOB_FINISHED), 1);
    assert_int_equal(jobs_place_deliveries(place, "hook-599", EVENT_JOB_FINISHED), 1);
    free(late);
    free(definition);
}

/* Two names may stand for one server: it measures one job at a time all the same. */
static void one_server_under_two_names_is_one_server(void **state)
{
    struct jobs_place *place = *state;
    static const char *const lower[] = {"/host", "'sql01.example.net'", NULL};
    static const char *const upper[] = {"/host", "'SQL01.example.net'", NULL};
    jobs_place_put_instance(place, "one", lower);
    jobs_place_put_instance(place, "two", upper);
    struct job_row row = jobs_place_job("one", NULL);
    char *first = jobs_place_put_job(place, &row);
    row = jobs_place_job("two", NULL);
    char *second = jobs_place_put_job(place, &row);
    struct claim claim = {.now_ms = clock_wall_ms()};
    jobs_place_claim(place, &claim);
    assert_true(claim.found);
    assert_string_equal(claim.row.id, first);
    job_row_fini(&claim.row);
    jobs_place_claim(place, &claim);
    assert_false(claim.found);
    jobs_place_expect_state(place, second, "waiting", "lane_busy");
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(hands_out_the_highest_priority_then_the_oldest),
        JOBS_TEST(lets_one_job_measure_on_an_instance),
        JOBS_TEST(lets_reading_kinds_run_beside_a_measurement),
        JOBS_TEST(lets_one_job_measure_on_a_lane),
        JOBS_TEST(starts_jobs_only_inside_a_window_and_tells_when_it_closes),
        JOBS_TEST(starts_nothing_after_a_window_closed),
        JOBS_TEST(lets_a_job_ignore_windows_that_was_allowed_to),
        JOBS_TEST(waits_for_not_before),
        JOBS_TEST(tries_an_unreachable_instance_again_when_it_is_time),
        JOBS_TEST(holds_all_jobs_of_an_instance_that_refused_a_login),
        JOBS_TEST(is_not_stopped_by_an_instance_that_cannot_be_read),
        JOBS_TEST(keeps_windows_shut_whose_time_zone_went_missing),
        JOBS_TEST(ends_jobs_whose_deadline_passed_before_they_started),
        JOBS_TEST(queues_again_what_ran_when_the_process_died),
        JOBS_TEST(one_server_under_two_names_is_one_server),
        JOBS_TEST(tells_every_webhook_however_many_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
