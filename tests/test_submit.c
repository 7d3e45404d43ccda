/* Submitting and cancelling, on a real store; the instances are never reached. */
#include "jobs/event.h"
#include "jobs/inside.h"
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

/* Only what checking and storing needs: no thread runs. */
static struct jobs face_of(struct jobs_place *place)
{
    return (struct jobs){.parts = place->parts};
}

static int check(struct jobs_place *place, const char *const *changes, struct submission *out,
                 struct json_faults *faults, struct err *err)
{
    struct jobs jobs = face_of(place);
    cJSON *body = jobs_kit_json(JOBS_KIT_JOB);
    for (; changes && changes[0]; changes += 2)
        jobs_kit_set(body, changes[0], changes[1]);
    int rc = jobs_check(&jobs, body, out, faults, err);
    cJSON_Delete(body);
    return rc;
}

static void makes_a_row_that_is_ready_to_be_stored(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const changes[] = {"/priority",
                                          "7",
                                          "/notify",
                                          "['told']",
                                          "/requested_by",
                                          "'agent'",
                                          "/deadline",
                                          "'2100-01-01T00:00:00Z'",
                                          NULL};
    struct submission submission = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    jobs_place_put_instance(place, "sql01", NULL);
    jobs_place_put_webhook(place, "told", "['*']", false);
    kit_ok(check(place, changes, &submission, &faults, &err), &err);
    const struct job_row *row = &submission.row;
    assert_string_equal(row->state, "queued");
    assert_string_equal(row->kind, "backup_sweep");
    assert_string_equal(row->instance, "sql01");
    assert_string_equal(row->cleanup, "none");
    assert_string_equal(row->requested_by, "agent");
    assert_int_equal(row->priority, 7);
    assert_int_equal(row->deadline, 4102444800000);
    assert_true(row->exclusive);
    assert_null(row->state_reason);
    assert_non_null(strstr(row->definition, "\"seed\":"));
    jobs_place_write(place, jobs_insert_work, &submission);
    jobs_place_expect_state(place, row->id, "queued", NULL);
    submission_fini(&submission);
    submission_fini(&submission); /* harmless twice */
}

static void lets_a_job_for_later_wait(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const later[] = {"/not_before", "'2100-01-01T00:00:00Z'", NULL};
    static const char *const past[] = {"/not_before", "'2020-01-01T00:00:00Z'", NULL};
    struct submission submission = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    jobs_place_put_instance(place, "sql01", NULL);
    kit_ok(check(place, later, &submission, &faults, &err), &err);
    assert_string_equal(submission.row.state, "waiting");
    assert_string_equal(submission.row.state_reason, "not_before");
    submission_fini(&submission);
    kit_ok(check(place, past, &submission, &faults, &err), &err);
    assert_string_equal(submission.row.state, "queued");
    submission_fini(&submission);
}

static void tells_all_faults_of_form_store_and_kind_at_once(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const changes[] = {
        "/notify",     "['told','nobody','No Name']",
        "/priority",   "11",
        "/parameters", "{'database':'S','buffercount':['default',0]}",
        NULL};
    struct submission submission = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    jobs_place_put_instance(place, "sql01", NULL);
    jobs_place_put_webhook(place, "told", "['*']", false);
    assert_int_equal(check(place, changes, &submission, &faults, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    jobs_kit_expect_fault(&faults, "/notify/1", "no webhook");
    jobs_kit_expect_fault(&faults, "/notify/2", "name of a webhook");
    jobs_kit_expect_fault(&faults, "/priority", "9");
    jobs_kit_expect_fault(&faults, "/parameters/buffercount/1", "positive integer");
    assert_int_equal(faults.count, 4); /* a bad name is not looked for as well */
    json_faults_fini(&faults);
    submission_fini(&submission);
}

static void tells_an_unknown_instance_where_it_stands(void **state)
{
    struct submission submission = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    assert_int_equal(check(place_of(state), NULL, &submission, &faults, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    jobs_kit_expect_fault(&faults, "/instance", "no instance");
    json_faults_fini(&faults);
    submission_fini(&submission);
}

static void asks_for_consent_and_windows_on_production(void **state)
{
    static const struct {
        const char *environment, *windows, *consent;
        bool accepted;
        const char *words;
    } cases[] = {
        {"'production'", "[]", "false", false, "confirm_production"},
        {"'production'", "'always'", "false", false, "confirm_production"},
        {"'production'", "[]", "true", false, "windows"},
        {"'production'", "'always'", "true", true, NULL},
        {"'production'", "[{'days':['sat'],'from':'01:00','to':'02:00','time_zone':'UTC'}]", "true",
         true, NULL},
        {"'test'", "[]", "false", true, NULL},
        {"'development'", "[]", "false", true, NULL},
    };
    struct jobs_place *place = place_of(state);
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        const char *instance[] = {"/environment", cases[i].environment, "/windows",
                                  cases[i].windows, NULL};
        const char *job[] = {"/confirm_production", cases[i].consent, NULL};
        struct submission submission = {0};
        struct json_faults faults = {0};
        struct err err = {0};
        jobs_place_put_instance(place, "sql01", instance);
        int rc = check(place, job, &submission, &faults, &err);
        assert_int_equal(rc, cases[i].accepted ? 0 : -1);
        if (!cases[i].accepted) {
            assert_int_equal(err.code, ERR_CONFLICT);
            assert_non_null(strstr(err.msg, cases[i].words));
        }
        submission_fini(&submission);
    }
}

/* --- idempotency --------------------------------------------------------------------------- */

static struct submission submission_of(struct jobs_place *place, const char *key,
                                       const char *fingerprint)
{
    struct submission submission = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    kit_ok(check(place, NULL, &submission, &faults, &err), &err);
    submission.key = mem_copy(key);
    submission.fingerprint = mem_copy(fingerprint);
    return submission;
}

static void answers_a_replay_with_the_first_job(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "sql01", NULL);
    struct submission first = submission_of(place, "key-1", "print");
    struct submission again = submission_of(place, "key-1", "print");
    struct submission other = submission_of(place, "key-2", "print");
    jobs_place_write(place, jobs_insert_work, &first);
    jobs_place_write(place, jobs_insert_work, &again);
    jobs_place_write(place, jobs_insert_work, &other);
    assert_false(first.replayed);
    assert_true(again.replayed);
    assert_string_equal(again.row.id, first.row.id);
    assert_false(other.replayed);
    assert_string_not_equal(other.row.id, first.row.id);
    submission_fini(&first);
    submission_fini(&again);
    submission_fini(&other);
}

static void refuses_a_key_with_another_body(void **state)
{
    struct jobs_place *place = place_of(state);
    struct err err = {0};
    jobs_place_put_instance(place, "sql01", NULL);
    struct submission first = submission_of(place, "key-1", "print");
    struct submission other = submission_of(place, "key-1", "another print");
    jobs_place_write(place, jobs_insert_work, &first);
    assert_int_equal(store_write(place->store, jobs_insert_work, &other, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.msg, first.row.id));
    submission_fini(&first);
    submission_fini(&other);
}

static int delete_instance(struct db *db, void *arg, struct err *err)
{
    return store_instance_delete(db, arg, -1, err);
}

static void keeps_a_key_free_when_its_job_could_not_be_stored(void **state)
{
    struct jobs_place *place = place_of(state);
    struct err err = {0};
    char name[] = "sql01";
    jobs_place_put_instance(place, "sql01", NULL);
    struct submission first = submission_of(place, "key-1", "print");
    struct submission again = submission_of(place, "key-1", "print");
    jobs_place_write(place, delete_instance, name);
    assert_int_equal(store_write(place->store, jobs_insert_work, &first, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    jobs_place_put_instance(place, "sql01", NULL);
    jobs_place_write(place, jobs_insert_work, &again);
    assert_false(again.replayed);
    submission_fini(&first);
    submission_fini(&again);
}

#define CALLERS 100

struct caller {
    struct jobs_place *place;
    pthread_t thread;
    struct submission submission;
    int rc;
};

static void *call(void *arg)
{
    struct caller *caller = arg;
    struct err err = {0};
    caller->rc = store_write(caller->place->store, jobs_insert_work, &caller->submission, &err);
    return NULL;
}

static int count_work(struct db *db, void *arg, struct err *err)
{
    struct store_list page = {.limit = 500};
    struct job_filter filter = {0};
    struct job_row *rows = NULL;
    size_t *count = arg;
    if (store_job_list(db, &filter, &page, &rows, count, err) < 0)
        return -1;
    kit_free_jobs(rows, *count);
    return 0;
}

static void makes_one_job_of_a_hundred_callers_with_one_key(void **state)
{
    struct jobs_place *place = place_of(state);
    struct caller *callers = mem_alloc(CALLERS, sizeof *callers);
    size_t created = 0;
    size_t stored = 0;
    struct err err = {0};
    jobs_place_put_instance(place, "sql01", NULL);
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i].place = place;
        callers[i].submission = submission_of(place, "one-key", "print");
    }
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(callers[i].rc, 0);
        created += !callers[i].submission.replayed;
        assert_string_equal(callers[i].submission.row.id, callers[0].submission.row.id);
    }
    for (size_t i = 0; i < CALLERS; i++)
        submission_fini(&callers[i].submission);
    assert_int_equal(created, 1);
    kit_ok(store_read(place->store, count_work, &stored, &err), &err);
    assert_int_equal(stored, 1);
    free(callers);
}

/* --- cancelling ---------------------------------------------------------------------------- */

static void cancels_a_job_that_has_not_started_with_its_event(void **state)
{
    static const struct {
        const char *state, *reason;
    } cases[] = {{"queued", NULL}, {"waiting", "window"}};
    struct jobs_place *place = place_of(state);
    struct jobs jobs = face_of(place);
    jobs_place_put_instance(place, "sql01", NULL);
    jobs_place_put_webhook(place, "all", "['*']", true);
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct job_row row = jobs_place_job("sql01", NULL);
        mem_replace(&row.state, cases[i].state);
        mem_replace(&row.state_reason, cases[i].reason);
        char *id = jobs_place_put_job(place, &row);
        struct cancellation cancellation = {.jobs = &jobs, .id = id};
        jobs_place_write(place, jobs_cancel_work, &cancellation);
        assert_string_equal(cancellation.row.state, "cancelled");
        jobs_place_expect_state(place, id, "cancelled", NULL);
        assert_int_equal(jobs_place_deliveries(place, "all", EVENT_JOB_FINISHED), i + 1);
        assert_int_equal(jobs_place_deliveries(place, "all", EVENT_JOB_FAILED), 0);
        job_row_fini(&cancellation.row);
        free(id);
    }
}

static void asks_a_running_job_to_stop_without_ending_it(void **state)
{
    struct jobs_place *place = place_of(state);
    struct jobs jobs = face_of(place);
    jobs_place_put_instance(place, "sql01", NULL);
    jobs_place_put_webhook(place, "all", "['*']", true);
    struct job_row row = jobs_place_job("sql01", NULL);
    mem_replace(&row.state, "running");
    char *id = jobs_place_put_job(place, &row);
    struct cancellation cancellation = {.jobs = &jobs, .id = id};
    jobs_place_write(place, jobs_cancel_work, &cancellation);
    assert_string_equal(cancellation.row.state, "running");
    assert_true(cancellation.row.cancel_asked);
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_JOB_FINISHED), 0);
    job_row_fini(&cancellation.row);
    free(id);
}

static void refuses_to_cancel_what_has_ended_or_never_was(void **state)
{
    struct jobs_place *place = place_of(state);
    struct jobs jobs = face_of(place);
    struct err err = {0};
    jobs_place_put_instance(place, "sql01", NULL);
    struct job_row row = jobs_place_job("sql01", NULL);
    mem_replace(&row.state, "succeeded");
    char *id = jobs_place_put_job(place, &row);
    struct cancellation ended = {.jobs = &jobs, .id = id};
    assert_int_equal(store_write(place->store, jobs_cancel_work, &ended, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "succeeded"));
    struct cancellation missing = {.jobs = &jobs, .id = "0193a1b2-0000-7000-8000-000000000000"};
    assert_int_equal(store_write(place->store, jobs_cancel_work, &missing, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    job_row_fini(&ended.row);
    job_row_fini(&missing.row);
    free(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(makes_a_row_that_is_ready_to_be_stored),
        JOBS_TEST(lets_a_job_for_later_wait),
        JOBS_TEST(tells_all_faults_of_form_store_and_kind_at_once),
        JOBS_TEST(tells_an_unknown_instance_where_it_stands),
        JOBS_TEST(asks_for_consent_and_windows_on_production),
        JOBS_TEST(answers_a_replay_with_the_first_job),
        JOBS_TEST(refuses_a_key_with_another_body),
        JOBS_TEST(keeps_a_key_free_when_its_job_could_not_be_stored),
        JOBS_TEST(makes_one_job_of_a_hundred_callers_with_one_key),
        JOBS_TEST(cancels_a_job_that_has_not_started_with_its_event),
        JOBS_TEST(asks_a_running_job_to_stop_without_ending_it),
        JOBS_TEST(refuses_to_cancel_what_has_ended_or_never_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
