/* Streams of events: in order, each once, over any number of connections. */
#include "api/http_events.h"
#include "api/http_inner.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/limits.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/sse_client.h"
#include "tests/store_kit.h"

#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* --- what happens --------------------------------------------------------------------------- */

struct step {
    const char *id;
    int64_t seq;       /* of the trial that is stored */
    const char *phase; /* the job runs in this phase; NULL: as it was */
    int64_t done;
};

static int step_work(struct db *db, void *arg, struct err *err)
{
    const struct step *step = arg;
    struct job_row row = {0};
    char *document = mem_format("{\"seq\":%" PRId64 ",\"status\":\"ok\"}", step->seq);
    int rc = store_job_get(db, step->id, &row, err);
    if (rc == 0 && step->seq > 0)
        rc = store_trial_insert(db, step->id, step->seq, document, err);
    if (rc == 0 && strcmp(row.state, "running") != 0)
        job_move(&row, JOB_RUNNING, NULL, clock_wall_ms());
    if (rc == 0 && step->phase)
        mem_replace(&row.phase, step->phase);
    row.trials_done = step->done;
    row.trials_planned = 3;
    if (rc == 0)
        rc = store_job_update(db, &row, err);
    job_row_fini(&row);
    free(document);
    return rc;
}

static void take_step(struct http_kit *kit, struct step step)
{
    struct err err;
    kit_ok(store_write(kit->store, step_work, &step, &err), &err);
}

/* A job that goes from its start to its end: ten events behind its creation. */
static void live(struct http_kit *kit, const char *id)
{
    take_step(kit, (struct step){id, 0, "preparing", 0}); /* state */
    take_step(kit, (struct step){id, 0, "measuring", 0}); /* progress */
    for (int64_t seq = 1; seq <= 3; seq++)
        take_step(kit, (struct step){id, seq, NULL, seq}); /* trial, progress */
    char *report = mem_format("{\"job\":\"%s\",\"arms\":[]}", id);
    fake_jobs_finish(kit->jobs, id, report); /* report, state */
    free(report);
}

static const char *const life[] = {"state",    "state", "progress", "trial",  "progress", "trial",
                                   "progress", "trial", "progress", "report", "state"};
#define LIFE (sizeof life / sizeof life[0])

static char *events_of(const char *id)
{
    return mem_format("/v1/jobs/%s/events", id);
}

/* --- one job -------------------------------------------------------------------------------- */

/* Reads to the end and holds it against a whole life from event `from` on. */
static void assert_life(struct sse *sse, const char *id, size_t from)
{
    struct sse_event event = {0};
    int64_t last = -1;
    size_t at = from;
    while (sse_next_event(sse, &event)) {
        assert_true(at < LIFE);
        assert_string_equal(event.what, life[at++]);
        assert_true(event.id > last);
        last = event.id;
        assert_non_null(strstr(event.data, id));
    }
    assert_int_equal(at, LIFE);
    assert_false(sse->broke);
    free(event.data);
}

static void a_job_is_told_from_its_first_event_to_its_last(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *target = events_of(id);
    struct sse before = sse_open(kit->port, target, -1);
    live(kit, id);
    struct sse after = sse_open(kit->port, target, -1);
    assert_life(&before, id, 0);
    assert_life(&after, id, 0);
    sse_close(&before);
    sse_close(&after);
    free(target);
    free(id);
}

static void a_stream_resumes_anywhere_without_loss_or_doubling(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *other = http_kit_submit(kit);
    char *target = events_of(id);
    int64_t ids[LIFE];
    live(kit, other);
    live(kit, id);
    struct sse whole = sse_open(kit->port, target, -1);
    struct sse_event event = {0};
    for (size_t i = 0; i < LIFE; i++) {
        assert_true(sse_next_event(&whole, &event));
        ids[i] = event.id;
    }
    sse_close(&whole);
    for (size_t i = 0; i + 1 < LIFE; i++) {
        struct sse rest = sse_open(kit->port, target, ids[i]);
        assert_life(&rest, id, i + 1);
        sse_close(&rest);
    }
    free(event.data);
    free(target);
    free(other);
    free(id);
}

static void who_has_seen_the_end_is_told_not_to_come_again(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *target = events_of(id);
    live(kit, id);
    struct reply reply =
        call(kit->port, "GET", target, "Last-Event-ID: 999999999999999999\r\n", NULL);
    assert_int_equal(reply.status, 204);
    reply_fini(&reply);
    free(target);
    free(id);
}

static int forget_work(struct db *db, void *arg, struct err *err)
{
    (void)arg;
    return store_event_expire(db, INT64_MAX / 2, err);
}

static void a_job_whose_events_are_forgotten_still_has_an_end(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *other = http_kit_submit(kit);
    char *target = events_of(id);
    struct err err;
    live(kit, id);
    take_step(kit, (struct step){other, 0, "preparing", 0}); /* the newest event always stays */
    kit_ok(store_write(kit->store, forget_work, NULL, &err), &err);
    struct sse sse = sse_open(kit->port, target, -1);
    struct sse_event event = {0};
    assert_true(sse_next_event(&sse, &event));
    assert_int_equal(event.id, 0);
    assert_true(sse_next_event(&sse, &event));
    assert_int_equal(event.id, -1); /* no number: nobody resumes from here */
    assert_non_null(strstr(event.data, "\"state\":\"succeeded\""));
    assert_false(sse_next_event(&sse, &event));
    sse_close(&sse);
    free(target);
    free(other);
    free(id);
}

/* --- all jobs ------------------------------------------------------------------------------- */

static void all_jobs_are_told_from_now_on(void **state)
{
    struct http_kit *kit = *state;
    char *early = http_kit_submit(kit);
    struct sse sse = sse_open(kit->port, "/v1/events", -1);
    char *late = http_kit_submit(kit);
    live(kit, late);
    struct sse_event event = {0};
    int64_t last = -1;
    for (size_t i = 0; i < LIFE; i++) {
        assert_true(sse_next_event(&sse, &event));
        assert_string_equal(event.what, life[i]);
        assert_null(strstr(event.data, early));
        assert_non_null(strstr(event.data, late));
        assert_true(event.id > last);
        last = event.id;
    }
    sse_close(&sse);
    live(kit, early); /* while nobody listens */
    sse = sse_open(kit->port, "/v1/events", last);
    for (size_t i = 1; i < LIFE; i++) {
        assert_true(sse_next_event(&sse, &event));
        assert_string_equal(event.what, life[i]);
        assert_non_null(strstr(event.data, early));
    }
    sse_close(&sse);
    free(event.data);
    free(early);
    free(late);
}

static void a_resumed_stream_goes_over_from_the_store_to_what_comes(void **state)
{
    enum { JOBS = 40 }; /* more than a page of the store */
    struct http_kit *kit = *state;
    struct sse live_one = sse_open(kit->port, "/v1/events", -1);
    for (int i = 0; i < JOBS; i++)
        free(http_kit_submit(kit));
    struct sse resumed = sse_open(kit->port, "/v1/events", 0);
    for (int i = 0; i < JOBS; i++)
        free(http_kit_submit(kit));
    struct sse_event left = {0};
    struct sse_event right = {0};
    for (int i = 0; i < 2 * JOBS; i++) {
        assert_true(sse_next_event(&live_one, &left));
        assert_true(sse_next_event(&resumed, &right));
        assert_int_equal(left.id, right.id);
        assert_string_equal(left.data, right.data);
        assert_int_equal(left.id, i + 1);
    }
    free(left.data);
    free(right.data);
    sse_close(&live_one);
    sse_close(&resumed);
}

/* --- connections ---------------------------------------------------------------------------- */

static void a_quiet_stream_gets_comments(void **state)
{
    (void)state;
    struct http_kit *kit = http_kit_start_streams(1, 0);
    struct sse sse = sse_open(kit->port, "/v1/events", -1);
    struct sse_event event = {0};
    for (int comments = 0; comments < 3; comments += event.is_comment)
        assert_true(sse_next(&sse, &event));
    assert_null(event.data);
    sse_close(&sse);
    http_kit_stop(kit);
}

static void a_comment_comes_every_15_seconds(void **state)
{
    (void)state;
    assert_int_equal(EVENTS_COMMENT_MS, 15000);
    clock_pass_ms(0);
    struct http_kit *kit = http_kit_start(0);
    struct sse sse = sse_open(kit->port, "/v1/events", -1);
    struct sse_event event = {0};
    assert_true(sse_next(&sse, &event)); /* what a client may rely on for the way back */
    for (int comments = 0; comments < 3; comments++) {
        while (events_idle_count(kit->http->events) == 0)
            (void)sched_yield();
        clock_pass_ms(EVENTS_COMMENT_MS);
        assert_true(sse_next(&sse, &event));
        assert_true(event.is_comment);
    }
    sse_close(&sse);
    http_kit_stop(kit);
    clock_reset();
}

/* What it missed it gets, each event once, however often it was cut off. */
static void who_does_not_read_is_cut_off_and_resumes(void **state)
{
    enum { JOBS = 60, REPORT_BYTES = 400000 };
    (void)state;
    struct http_kit *kit = http_kit_start_streams(0, 50);
    struct line put[] = {{"PUT", "/v1/instances/sql01", NULL, http_kit_instance, 201, NULL}};
    SPEAK(kit->port, put);
    struct sse lazy = sse_open(kit->port, "/v1/events", -1);
    char *report = mem_alloc(1, REPORT_BYTES + 16);
    int head = snprintf(report, 16, "{\"filler\":\"");
    memset(report + head, 'x', REPORT_BYTES);
    (void)snprintf(report + head + REPORT_BYTES, 4, "\"}");
    for (int i = 0; i < JOBS; i++) { /* 24 MB: no socket buffer takes them */
        char *id = http_kit_submit(kit);
        fake_jobs_finish(kit->jobs, id, report);
        free(id);
    }
    while (events_count(kit->http->events) > 0)
        continue; /* the service lets go of it by itself */
    struct sse_event event = {0};
    int64_t last = 0;
    int reports = 0;
    int connections = 1;
    while (reports < JOBS) {
        if (!sse_next_event(&lazy, &event)) {
            assert_true(lazy.broke);
            sse_close(&lazy);
            lazy = sse_open(kit->port, "/v1/events", last);
            connections++;
            continue;
        }
        assert_int_equal(event.id, last + 1);
        last = event.id;
        reports += strcmp(event.what, "report") == 0;
    }
    assert_true(connections > 1);
    free(event.data);
    free(report);
    sse_close(&lazy);
    http_kit_stop(kit);
}

static void a_stop_ends_streams_in_order(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *target = events_of(id);
    struct sse all = sse_open(kit->port, "/v1/events", -1);
    struct sse one = sse_open(kit->port, target, -1);
    struct sse_event event = {0};
    assert_true(sse_next_event(&one, &event));
    http_kit_stop_http(kit);
    assert_false(sse_next_event(&all, &event));
    assert_false(sse_next_event(&one, &event));
    assert_false(all.broke);
    assert_false(one.broke);
    sse_close(&all);
    sse_close(&one);
    free(target);
    free(id);
}

static void a_thousand_streams_leave_room_for_calls(void **state)
{
    enum { STREAMS = 1000, ROUNDS = 3 };
    struct http_kit *kit = *state;
    struct sse *streams = mem_alloc(STREAMS, sizeof *streams);
    for (int i = 0; i < STREAMS; i++)
        streams[i] = sse_open(kit->port, "/v1/events", -1);
    assert_int_equal(events_count(kit->http->events), STREAMS);
    for (int i = 0; i < ROUNDS; i++)
        free(http_kit_submit(kit)); /* answered, with all of them open */
    struct sse_event event = {0};
    for (int i = 0; i < STREAMS; i++) {
        for (int64_t round = 1; round <= ROUNDS; round++) {
            assert_true(sse_next_event(&streams[i], &event));
            assert_int_equal(event.id, round);
        }
        sse_close(&streams[i]);
    }
    free(event.data);
    free(streams);
}

static void there_is_a_most_of_streams(void **state)
{
    (void)state;
    struct http_kit *kit = http_kit_start(0);
    struct stream *streams[LIMIT_STREAMS];
    struct stream_place place = {0};
    struct buf head = {0};
    http_kit_stop_http(kit);
    kit->parts.connections = 2 * LIMIT_STREAMS; /* whatever number of files we may open */
    http_kit_start_http(kit);
    for (int i = 0; i < LIMIT_STREAMS; i++) {
        streams[i] = stream_open(kit->http->events, &place, &head);
        assert_non_null(streams[i]);
    }
    struct line lines[] = {
        {"GET", "/v1/events", NULL, NULL, 503, "too many streams"},
        {"GET", "/livez", NULL, NULL, 200, "ok"},
    };
    SPEAK(kit->port, lines);
    struct reply reply = call(kit->port, "GET", "/v1/events", NULL, NULL);
    assert_string_equal(reply_header(&reply, "Retry-After"), "5");
    reply_fini(&reply);
    for (int i = 0; i < LIMIT_STREAMS; i++)
        stream_free(streams[i]);
    http_kit_stop(kit);
}

static void what_is_asked_wrongly_is_told(void **state)
{
    struct http_kit *kit = *state;
    struct line lines[] = {
        {"GET", "/v1/events", "Last-Event-ID: x\r\n", NULL, 400, "must be the id of an event"},
        {"GET", "/v1/events", "Last-Event-ID: -1\r\n", NULL, 400, "must be the id of an event"},
        {"GET", "/v1/events", "Last-Event-ID: 9999999999999999999\r\n", NULL, 400, "must be"},
        {"GET", "/v1/events", "Accept: application/json\r\n", NULL, 406, NULL},
        {"GET", "/v1/jobs/7/events", NULL, NULL, 404, "no job has this id"},
        {"GET", "/v1/jobs/01981c5e-7a10-7000-8000-000000000001/events", NULL, NULL, 404, NULL},
        {"POST", "/v1/events", NULL, NULL, 405, "GET, HEAD"},
    };
    SPEAK(kit->port, lines);
}

/* Both ends of a thousand streams are here. */
static int raise_files(void **state)
{
    struct rlimit files;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < 8192)
        files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
    return setrlimit(RLIMIT_NOFILE, &files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_job_is_told_from_its_first_event_to_its_last),
        HTTP_TEST(a_stream_resumes_anywhere_without_loss_or_doubling),
        HTTP_TEST(who_has_seen_the_end_is_told_not_to_come_again),
        HTTP_TEST(a_job_whose_events_are_forgotten_still_has_an_end),
        HTTP_TEST(all_jobs_are_told_from_now_on),
        HTTP_TEST(a_resumed_stream_goes_over_from_the_store_to_what_comes),
        cmocka_unit_test(a_quiet_stream_gets_comments),
        cmocka_unit_test(a_comment_comes_every_15_seconds),
        cmocka_unit_test(who_does_not_read_is_cut_off_and_resumes),
        HTTP_TEST(a_stop_ends_streams_in_order),
        HTTP_TEST(a_thousand_streams_leave_room_for_calls),
        cmocka_unit_test(there_is_a_most_of_streams),
        HTTP_TEST(what_is_asked_wrongly_is_told),
    };
    return cmocka_run_group_tests(tests, raise_files, NULL);
}
