/* How a run ends or goes back, decided without a server: no trial left anything to clean up. */
#include "jobs/ending.h"
#include "jobs/event.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MINUTE ((int64_t)60000)

static struct jobs_place *place_of(void **state)
{
    return *state;
}

/* A running job on instance "a" that tells the webhook "all". */
static struct run *start(struct jobs_place *place)
{
    struct err err = {0};
    struct run *run = NULL;
    jobs_place_put_instance(place, "a", NULL);
    jobs_place_put_webhook(
        place, "all",
        "['job.finished','job.failed','job.regressed','job.cleanup_failed','instance.unreachable']",
        true);
    jobs_place_put_webhook(place, "star", "['*']", true);
    struct job_row row = jobs_place_job("a", NULL);
    mem_replace(&row.state, "running");
    mem_replace(&row.phase, "preparing");
    char *id = jobs_place_put_job(place, &row);
    row = jobs_place_get_job(place, id);
    kit_ok(run_new(&place->parts, &row, &run, &err), &err);
    free(id);
    return run;
}

static void settle_with(struct run *run, enum err_code code, int number)
{
    struct err err = {0};
    (void)err_set(&err, code, number, "something happened");
    ending_settle(run, -1, &err);
    assert_true(run->settled);
}

static void expect_events(struct jobs_place *place, size_t finished, size_t failed,
                          size_t unreachable)
{
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_JOB_FINISHED), finished);
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_JOB_FAILED), failed);
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_INSTANCE_UNREACHABLE), unreachable);
    /* one message an end, of the event that says most */
    assert_int_equal(jobs_place_deliveries(place, "star", EVENT_JOB_FINISHED), finished - failed);
    assert_int_equal(jobs_place_deliveries(place, "star", EVENT_JOB_FAILED), failed);
    assert_int_equal(jobs_place_deliveries(place, "star", EVENT_INSTANCE_UNREACHABLE), unreachable);
}

static int held_work(struct db *db, void *arg, struct err *err)
{
    struct instance_row row = {0};
    bool *held = arg;
    if (store_instance_get(db, "a", &row, err) < 0)
        return -1;
    *held = row.held != NULL;
    instance_row_fini(&row);
    return 0;
}

static bool is_held(struct jobs_place *place)
{
    struct err err = {0};
    bool held = false;
    kit_ok(store_read(place->store, held_work, &held, &err), &err);
    return held;
}

static void waits_and_tries_again_where_that_may_help(void **state)
{
    static const struct {
        enum err_code code;
        int number;
    } cases[] = {{ERR_UNREACHABLE, 0}, {ERR_TIMEOUT, 0}, {ERR_SQL, 18401}, {ERR_SQL, 6005}};
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        if (i > 0) {
            (void)jobs_place_tear_down(state);
            (void)jobs_place_set_up(state);
        }
        struct jobs_place *place = place_of(state);
        struct run *run = start(place);
        int64_t before = clock_wall_ms();
        settle_with(run, cases[i].code, cases[i].number);
        struct job_row row = jobs_place_get_job(place, run->row.id);
        assert_string_equal(row.state, "waiting");
        assert_string_equal(row.state_reason, "unreachable");
        assert_in_range(row.retry_at, before + 5000, clock_wall_ms() + 5000);
        assert_int_equal(row.attempts, 1);
        assert_true(row.unreachable_since >= before);
        assert_non_null(strstr(row.error, "something happened"));
        expect_events(place, 0, 0, 1);
        assert_false(is_held(place));
        job_row_fini(&row);
        run_free(run);
    }
}

static void doubles_the_distance_up_to_five_minutes(void **state)
{
    static const struct {
        int64_t attempts, pause_s;
    } cases[] = {{1, 10}, {2, 20}, {3, 40}, {5, 160}, {6, 300}, {7, 300}, {1000, 300}};
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        int64_t now = clock_wall_ms();
        mem_replace(&run->row.state, "running");
        mem_replace(&run->row.state_reason, NULL);
        run->row.attempts = cases[i].attempts;
        run->row.unreachable_since = now - MINUTE;
        run->row.retry_at = now;
        settle_with(run, ERR_UNREACHABLE, 0);
        assert_int_equal(run->row.attempts, cases[i].attempts + 1);
        assert_in_range(run->row.retry_at, now + cases[i].pause_s * 1000,
                        clock_wall_ms() + cases[i].pause_s * 1000);
    }
    expect_events(place, 0, 0, 0); /* told once, when it began */
    run_free(run);
}

static void fails_when_an_instance_stays_away_too_long(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    run->row.attempts = 20;
    run->row.unreachable_since = clock_wall_ms() - 61 * MINUTE;
    run->row.retry_at = clock_wall_ms();
    settle_with(run, ERR_UNREACHABLE, 0);
    jobs_place_expect_state(place, run->row.id, "failed", NULL);
    expect_events(place, 1, 1, 0);
    run_free(run);
}

static void begins_to_count_anew_when_a_try_was_kept_back(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    run->row.attempts = 3;
    run->row.unreachable_since = clock_wall_ms() - 24 * 60 * MINUTE; /* the window before */
    run->row.retry_at = clock_wall_ms() - 23 * 60 * MINUTE;
    settle_with(run, ERR_UNREACHABLE, 0);
    jobs_place_expect_state(place, run->row.id, "waiting", "unreachable");
    assert_int_equal(run->row.attempts, 1);
    run_free(run);
}

static void holds_the_instance_after_a_refused_login_or_right(void **state)
{
    static const int numbers[] = {18456, 18486, 18487, 18488, 4060, 916, 262, 229};
    for (size_t i = 0; i < JSON_COUNT(numbers); i++) {
        if (i > 0) {
            (void)jobs_place_tear_down(state);
            (void)jobs_place_set_up(state);
        }
        struct jobs_place *place = place_of(state);
        struct run *run = start(place);
        settle_with(run, ERR_SQL, numbers[i]);
        struct job_row row = jobs_place_get_job(place, run->row.id);
        assert_string_equal(row.state, "failed");
        cJSON *error = NULL;
        struct err err = {0};
        assert_int_equal(json_parse(row.error, strlen(row.error), &error, &err), 0);
        assert_int_equal(cJSON_GetNumberValue(json_member(error, "number")), numbers[i]);
        assert_string_equal(cJSON_GetStringValue(json_member(error, "step")), "connect");
        assert_true(is_held(place));
        expect_events(place, 1, 1, 0);
        cJSON_Delete(error);
        job_row_fini(&row);
        run_free(run);
    }
}

/* A full disk on our side says nothing about the job: its stored trials stay. */
static void goes_back_into_the_queue_when_the_store_failed(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    settle_with(run, ERR_STORE, 13);
    jobs_place_expect_state(place, run->row.id, "queued", NULL);
    expect_events(place, 0, 0, 0);
    run_free(run);
}

static void fails_without_holding_the_instance_for_other_errors(void **state)
{
    static const struct {
        enum err_code code;
        int number;
    } cases[] = {{ERR_SQL, 911}, {ERR_REFUSED, 0}, {ERR_INPUT, 0}, {ERR_STORE, 0}, {ERR_SYSTEM, 2}};
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        if (i > 0) {
            (void)jobs_place_tear_down(state);
            (void)jobs_place_set_up(state);
        }
        struct jobs_place *place = place_of(state);
        struct run *run = start(place);
        settle_with(run, cases[i].code, cases[i].number);
        jobs_place_expect_state(place, run->row.id, "failed", NULL);
        assert_false(is_held(place));
        expect_events(place, 1, 1, 0);
        run_free(run);
    }
}

struct stop_case {
    enum run_stop why;
    const char *state, *reason;
    size_t finished;
};

static void ends_or_goes_back_by_the_reason_it_was_stopped_for(void **state)
{
    static const struct stop_case cases[] = {
        {RUN_CANCEL, "cancelled", NULL, 1},
        {RUN_OVERTIME, "timed_out", NULL, 1},
        {RUN_WINDOW, "waiting", "window", 0},
        {RUN_SHUTDOWN, "queued", NULL, 0},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        if (i > 0) {
            (void)jobs_place_tear_down(state);
            (void)jobs_place_set_up(state);
        }
        struct jobs_place *place = place_of(state);
        struct run *run = start(place);
        run_stop(run, cases[i].why);
        run_stop(run, RUN_SHUTDOWN); /* the first reason stays */
        settle_with(run, ERR_CANCELLED, 0);
        jobs_place_expect_state(place, run->row.id, cases[i].state, cases[i].reason);
        expect_events(place, cases[i].finished, 0, 0);
        run_free(run);
    }
}

static void forgets_that_it_was_unreachable_when_it_goes_back_for_another_reason(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    run->row.error = mem_copy("{\"message\":\"not reached\"}");
    run_stop(run, RUN_WINDOW);
    settle_with(run, ERR_CANCELLED, 0);
    struct job_row row = jobs_place_get_job(place, run->row.id);
    assert_null(row.error);
    job_row_fini(&row);
    run_free(run);
}

static void add_arm(struct run *run)
{
    struct arm *arm = plan_add_arm(&run->plan);
    arm->label = mem_copy("default");
    arm->settings = jobs_kit_json("{'target':'NUL','database':'Sales'}");
    arm->baseline = true;
}

static void add_trial(struct run *run, int block, enum trial_status status)
{
    struct trial trial = trial_new(block, block, 0, false);
    trial.status = status;
    trial.started_at = 1;
    trial.server_s = trial.elapsed_s = 1 + 0.001 * block;
    trial.pages = 1000;
    trial.bytes = 8192000;
    if (status == TRIAL_FAILED) {
        trial.pages = trial.bytes = -1;
        trial.error_number = 3201;
        trial.error_text = mem_format("cannot open %d", block);
    }
    run_add_trial(run, &trial);
}

static int report_work(struct db *db, void *arg, struct err *err)
{
    char **report = arg;
    char *id = *report;
    *report = NULL;
    return store_report_get(db, id, report, err);
}

/* The stored report, NULL when there is none. The caller deletes it. */
static cJSON *report_of(struct jobs_place *place, const char *id)
{
    struct err err = {0};
    char *id_copy = mem_copy(id);
    char *text = id_copy;
    cJSON *tree = NULL;
    if (store_read(place->store, report_work, &text, &err) == 0)
        assert_int_equal(json_parse(text, strlen(text), &tree, &err), 0);
    free(text);
    free(id_copy);
    return tree;
}

static void ends_well_with_report_and_summary(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    struct err err = {0};
    add_arm(run);
    for (int block = 1; block <= 3; block++)
        add_trial(run, block, TRIAL_OK);
    ending_settle(run, 0, &err);
    struct job_row row = jobs_place_get_job(place, run->row.id);
    cJSON *report = report_of(place, run->row.id);
    assert_string_equal(row.state, "succeeded"); /* "keep the default" is an answer */
    assert_non_null(row.summary);
    assert_null(row.error);
    assert_string_equal(row.cleanup, "none");
    assert_int_equal(cJSON_GetArraySize(json_member(report, "left_behind")), 0);
    assert_true(cJSON_IsObject(json_member(report, "chain")));
    expect_events(place, 1, 0, 0);
    cJSON_Delete(report);
    job_row_fini(&row);
    run_free(run);
}

static void fails_with_the_first_error_when_no_trial_gave_a_figure(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    struct err err = {0};
    add_arm(run);
    add_trial(run, 1, TRIAL_FAILED);
    add_trial(run, 2, TRIAL_FAILED);
    ending_settle(run, 0, &err);
    struct job_row row = jobs_place_get_job(place, run->row.id);
    assert_string_equal(row.state, "failed");
    assert_non_null(strstr(row.error, "3201"));
    assert_non_null(strstr(row.error, "cannot open 1"));
    expect_events(place, 1, 1, 0);
    job_row_fini(&row);
    run_free(run);
}

static void keeps_what_was_measured_when_it_is_cancelled(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    add_arm(run);
    add_trial(run, 1, TRIAL_OK);
    run_stop(run, RUN_CANCEL);
    settle_with(run, ERR_CANCELLED, 0);
    cJSON *report = report_of(place, run->row.id);
    assert_non_null(report);
    assert_true(cJSON_IsNull(json_member(report, "recommendation")));
    cJSON_Delete(report);
    run_free(run);
}

static int intent_work(struct db *db, void *arg, struct err *err)
{
    return store_intent_insert(db, arg, err);
}

static void add_intent(struct jobs_place *place, const char *job, const char *state)
{
    char id[IDS_TEXT_SIZE];
    struct intent_row row = {.id = mem_copy(ids_new(id)),
                             .job = mem_copy(job),
                             .instance = mem_copy("a"),
                             .action = mem_copy("file"),
                             .object = mem_copy("/backup/sweetspot_x_1_1.bak"),
                             .state = mem_copy(state),
                             .detail = mem_copy("it is in use")};
    jobs_place_write(place, intent_work, &row);
    intent_row_fini(&row);
}

static void tells_what_could_not_be_cleaned_up(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    struct err err = {0};
    add_arm(run);
    add_trial(run, 1, TRIAL_OK);
    add_trial(run, 2, TRIAL_OK);
    add_intent(place, run->row.id, "undone");
    add_intent(place, run->row.id, "failed");
    add_intent(place, run->row.id, "failed");
    ending_settle(run, 0, &err);
    struct job_row row = jobs_place_get_job(place, run->row.id);
    cJSON *report = report_of(place, run->row.id);
    assert_string_equal(row.cleanup, "failed");
    const cJSON *left = json_member(report, "left_behind");
    assert_int_equal(cJSON_GetArraySize(left), 2);
    assert_string_equal(cJSON_GetStringValue(json_member(cJSON_GetArrayItem(left, 0), "object")),
                        "/backup/sweetspot_x_1_1.bak");
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_CLEANUP_FAILED), 1);
    cJSON_Delete(report);
    job_row_fini(&row);
    run_free(run);
}

static void says_that_clean_up_is_pending_where_the_instance_is_away(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    add_intent(place, run->row.id, "open");
    settle_with(run, ERR_UNREACHABLE, 0);
    struct job_row row = jobs_place_get_job(place, run->row.id);
    assert_string_equal(row.state, "waiting");
    assert_string_equal(row.cleanup, "pending");
    job_row_fini(&row);
    run_free(run);
}

static int cancel_work(struct db *db, void *arg, struct err *err)
{
    struct job_row row = {0};
    if (store_job_get(db, arg, &row, err) < 0)
        return -1;
    row.cancel_asked = true;
    int rc = store_job_update(db, &row, err);
    job_row_fini(&row);
    return rc;
}

static void heeds_a_cancel_that_others_stored_meanwhile(void **state)
{
    struct jobs_place *place = place_of(state);
    struct run *run = start(place);
    jobs_place_write(place, cancel_work, run->row.id);
    settle_with(run, ERR_UNREACHABLE, 0);
    jobs_place_expect_state(place, run->row.id, "cancelled", NULL);
    struct job_row row = jobs_place_get_job(place, run->row.id);
    assert_true(row.cancel_asked);
    assert_int_not_equal(row.finished_at, 0);
    expect_events(place, 1, 0, 1);
    job_row_fini(&row);
    run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(waits_and_tries_again_where_that_may_help),
        JOBS_TEST(doubles_the_distance_up_to_five_minutes),
        JOBS_TEST(fails_when_an_instance_stays_away_too_long),
        JOBS_TEST(begins_to_count_anew_when_a_try_was_kept_back),
        JOBS_TEST(holds_the_instance_after_a_refused_login_or_right),
        JOBS_TEST(goes_back_into_the_queue_when_the_store_failed),
        JOBS_TEST(fails_without_holding_the_instance_for_other_errors),
        JOBS_TEST(ends_or_goes_back_by_the_reason_it_was_stopped_for),
        JOBS_TEST(forgets_that_it_was_unreachable_when_it_goes_back_for_another_reason),
        JOBS_TEST(ends_well_with_report_and_summary),
        JOBS_TEST(fails_with_the_first_error_when_no_trial_gave_a_figure),
        JOBS_TEST(keeps_what_was_measured_when_it_is_cancelled),
        JOBS_TEST(tells_what_could_not_be_cleaned_up),
        JOBS_TEST(says_that_clean_up_is_pending_where_the_instance_is_away),
        JOBS_TEST(heeds_a_cancel_that_others_stored_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
