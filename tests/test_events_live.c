/* How far running trials are, in streams of events: from memory, without a number. */
#include "jobs/state.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/sse_client.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct step {
    const char *id;
    const char *phase;
};

/* The job runs in a phase, which is an event. */
static int step_work(struct db *db, void *arg, struct err *err)
{
    const struct step *step = arg;
    struct job_row row = {0};
    int rc = store_job_get(db, step->id, &row, err);
    if (rc == 0 && strcmp(row.state, "running") != 0)
        job_move(&row, JOB_RUNNING, NULL, clock_wall_ms());
    mem_replace(&row.phase, step->phase);
    if (rc == 0)
        rc = store_job_update(db, &row, err);
    job_row_fini(&row);
    return rc;
}

static void take_step(struct http_kit *kit, const char *id, const char *phase)
{
    struct err err;
    struct step step = {id, phase};
    kit_ok(store_write(kit->store, step_work, &step, &err), &err);
}

static char *events_of(const char *id)
{
    return mem_format("/v1/jobs/%s/events", id);
}

/* The next stored event; what is told from memory may stand before it. Its number. */
static int64_t expect_stored(struct sse *sse, struct sse_event *event, const char *what)
{
    do {
        assert_true(sse_next_event(sse, event));
        if (event->id < 0)
            assert_string_equal(event->what, "progress");
    } while (event->id < 0);
    assert_string_equal(event->what, what);
    return event->id;
}

/* Reads up to an event from memory that says this of the job; the number of the last stored one
 * before it, -1: none. Stored ones may come between, each later than the one before. */
static int64_t expect_live(struct sse *sse, struct sse_event *event, const char *id, int percent)
{
    char *piece = mem_format("\"percent\":%d,\"id\":\"%s\"", percent, id);
    int64_t last = -1;
    do {
        assert_true(sse_next_event(sse, event));
        assert_true(event->id < 0 || event->id > last);
        last = event->id < 0 ? last : event->id;
    } while (event->id >= 0 || !strstr(event->data, piece));
    assert_string_equal(event->what, "progress");
    free(piece);
    return last;
}

/* Opens the stream of a job and reads it up to where its trial is at 30 %. */
static struct sse open_running(struct http_kit *kit, const char *id, struct sse_event *event)
{
    char *target = events_of(id);
    struct sse sse = sse_open(kit->port, target, -1);
    take_step(kit, id, "preparing");
    fake_jobs_run(kit->jobs, id, 0, 30);
    take_step(kit, id, "measuring");
    (void)expect_live(&sse, event, id, 30);
    free(target);
    return sse;
}

static void a_stream_tells_how_far_the_trial_is(void **state)
{
    struct http_kit *kit = *state;
    struct sse_event event = {0};
    char *id = http_kit_submit(kit);
    struct sse sse = open_running(kit, id, &event);
    struct sse all = sse_open(kit->port, "/v1/events", -1);
    (void)expect_live(&all, &event, id, 30); /* what stands is told to who comes later */
    fake_jobs_run(kit->jobs, id, 0, 45);
    (void)expect_live(&sse, &event, id, 45);
    (void)expect_live(&all, &event, id, 45);
    fake_jobs_run(kit->jobs, id, 1, 45); /* of another setting */
    (void)expect_live(&sse, &event, id, 45);
    sse_close(&all);
    sse_close(&sse);
    free(event.data);
    free(id);
}

static void it_leaves_numbers_and_order_alone(void **state)
{
    struct http_kit *kit = *state;
    struct sse_event event = {0};
    char *id = http_kit_submit(kit);
    char *target = events_of(id);
    take_step(kit, id, "preparing");
    fake_jobs_run(kit->jobs, id, 0, 30);
    take_step(kit, id, "measuring");
    struct sse sse = sse_open(kit->port, target, -1);
    int64_t last = expect_live(&sse, &event, id, 30); /* the last number that a browser knows */
    sse_close(&sse);
    take_step(kit, id, "restoring");
    sse = sse_open(kit->port, target, last);
    assert_int_equal(expect_stored(&sse, &event, "progress"), last + 1);
    (void)expect_live(&sse, &event, id, 30);
    fake_jobs_run(kit->jobs, NULL, 0, 0);
    fake_jobs_finish(kit->jobs, id, "{\"arms\":[]}");
    (void)expect_stored(&sse, &event, "report");
    (void)expect_stored(&sse, &event, "state");
    assert_false(sse_next_event(&sse, &event)); /* nothing comes behind the end */
    sse_close(&sse);
    free(event.data);
    free(target);
    free(id);
}

static void it_is_told_once_in_a_while_only(void **state)
{
    struct http_kit *kit = *state;
    struct sse_event event = {0};
    http_kit_stop_http(kit);
    kit->parts.progress_ms = 3600000; /* an hour */
    http_kit_start_http(kit);
    char *id = http_kit_submit(kit);
    struct sse sse = open_running(kit, id, &event);
    for (int percent = 31; percent < 90; percent++) {
        fake_jobs_run(kit->jobs, id, 0, percent);
        take_step(kit, id, percent % 2 ? "measuring" : "restoring");
    }
    fake_jobs_finish(kit->jobs, id, "{\"arms\":[]}");
    while (sse_next_event(&sse, &event))
        assert_true(event.id > 0);
    sse_close(&sse);
    free(event.data);
    free(id);
}

static void a_trial_that_says_nothing_is_not_told(void **state)
{
    struct http_kit *kit = *state;
    struct sse_event event = {0};
    char *id = http_kit_submit(kit);
    char *quiet = http_kit_submit(kit);
    struct sse sse = open_running(kit, id, &event);
    char *target = events_of(quiet);
    struct sse other = sse_open(kit->port, target, -1);
    take_step(kit, quiet, "preparing");
    fake_jobs_run(kit->jobs, quiet, 0, -1); /* SQL Server has not said how far it is */
    take_step(kit, quiet, "measuring");
    fake_jobs_run(kit->jobs, id, 0, 31); /* it was looked at meanwhile */
    (void)expect_live(&sse, &event, id, 31);
    fake_jobs_finish(kit->jobs, quiet, "{\"arms\":[]}");
    while (sse_next_event(&other, &event))
        assert_true(event.id >= 0);
    sse_close(&other);
    sse_close(&sse);
    free(event.data);
    free(target);
    free(quiet);
    free(id);
}

/* Whether it was opened with a token, or before there was any. */
static void a_stream_ends_with_what_let_it_in(void **state)
{
    struct http_kit *kit = *state;
    struct sse_event event = {0};
    char *id = http_kit_submit(kit);
    struct sse nobody = sse_open(kit->port, "/v1/events", -1);
    assert_true(sse_next(&nobody, &event)); /* it stands */
    char *token = http_kit_token(kit, "ops", SCOPE_READ);
    char *other = http_kit_token(kit, "other", SCOPE_READ);
    take_step(kit, id, "preparing");
    assert_false(sse_next_event(&nobody, &event));
    struct sse ops = sse_open_as(kit->port, token, "/v1/events");
    struct sse others = sse_open_as(kit->port, other, "/v1/events");
    assert_true(sse_next(&ops, &event));
    assert_true(sse_next(&others, &event));
    take_step(kit, id, "measuring");
    (void)expect_stored(&ops, &event, "progress");
    (void)expect_stored(&others, &event, "progress");
    http_kit_revoke(kit, "ops");
    take_step(kit, id, "restoring");
    assert_false(sse_next_event(&ops, &event));
    (void)expect_stored(&others, &event, "progress");
    sse_close(&nobody);
    sse_close(&ops);
    sse_close(&others);
    free(event.data);
    free(token);
    free(other);
    free(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_stream_tells_how_far_the_trial_is),
        HTTP_TEST(it_leaves_numbers_and_order_alone),
        HTTP_TEST(it_is_told_once_in_a_while_only),
        HTTP_TEST(a_trial_that_says_nothing_is_not_told),
        HTTP_TEST(a_stream_ends_with_what_let_it_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
