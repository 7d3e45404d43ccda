/* What is kept to be shown again is never older than what was committed. */
#include "api/callers.h"
#include "api/kept.h"
#include "jobs/state.h"
#include "server/clock.h"
#include "server/hash.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/store_kit.h"

#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHANGES 50 /* each waits for the disk */

struct step {
    const char *id;
    char phase[32];
};

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
    struct step step = {.id = id};
    (void)snprintf(step.phase, sizeof step.phase, "%s", phase);
    kit_ok(store_write(kit->store, step_work, &step, &err), &err);
}

/* The tag tells which state is shown. */
static void expect_tag(struct http_kit *kit, const char *path, const char *tag)
{
    struct reply reply = call(kit->port, "GET", path, NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "ETag"), tag);
    reply_fini(&reply);
}

static void expect_shown(struct http_kit *kit, const char *path, const char *piece)
{
    struct reply reply = call(kit->port, "GET", path, NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, piece));
    reply_fini(&reply);
}

struct poller {
    pthread_t thread;
    int port;
    const char *path;
    atomic_bool stop;
    int polls;
};

static void *poll_on(void *arg)
{
    struct poller *poller = arg;
    struct client client = client_open(poller->port);
    char *ask = mem_format("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", poller->path);
    while (!atomic_load(&poller->stop)) {
        client_send(&client, ask);
        struct reply reply = client_read(&client, true);
        poller->polls += reply.status == 200;
        reply_fini(&reply);
    }
    free(ask);
    client_close(&client);
    return NULL;
}

static void a_change_that_was_stored_is_shown_at_once(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s", id);
    struct poller pollers[2] = {{.port = kit->port, .path = path},
                                {.port = kit->port, .path = path}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&pollers[i].thread, NULL, poll_on, &pollers[i]), 0);
    for (int i = 0; i < CHANGES; i++) {
        char tag[24];
        take_step(kit, id, i % 2 ? "measuring" : "restoring");
        (void)snprintf(tag, sizeof tag, "\"%d\"", i + 2); /* its version */
        expect_tag(kit, path, tag);
    }
    for (int i = 0; i < 2; i++) {
        atomic_store(&pollers[i].stop, true);
        assert_int_equal(pthread_join(pollers[i].thread, NULL), 0);
        assert_true(pollers[i].polls > 0);
    }
    free(path);
    free(id);
}

static void a_running_trial_is_shown_as_it_goes(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s", id);
    take_step(kit, id, "measuring");
    expect_tag(kit, path, "\"2\"");
    for (int percent = 31; percent < 34; percent++) { /* which is not stored */
        char tag[24];
        (void)snprintf(tag, sizeof tag, "\"2.0.%d\"", percent);
        fake_jobs_run(kit->jobs, id, 0, percent);
        expect_tag(kit, path, tag);
        expect_tag(kit, path, tag);
    }
    fake_jobs_run(kit->jobs, id, 1, 33);
    expect_tag(kit, path, "\"2.1.33\"");
    fake_jobs_run(kit->jobs, NULL, 0, 0);
    expect_tag(kit, path, "\"2\"");
    free(path);
    free(id);
}

/* A person with sqlite3: nothing tells us. */
static void who_writes_behind_our_back_is_seen_a_second_later(void **state)
{
    struct http_kit *kit = *state;
    sqlite3 *handle = NULL;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s", id);
    char *file = kit_path(kit->folder, "store.db");
    expect_shown(kit, path, "\"state\":\"queued\"");
    assert_int_equal(sqlite3_open_v2(file, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(handle, 5000);
    assert_int_equal(sqlite3_exec(handle, "UPDATE job SET state = 'cancelled'", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    clock_pass_ms(STORE_MARK_MS);
    expect_shown(kit, path, "\"state\":\"cancelled\"");
    clock_reset();
    free(file);
    free(path);
    free(id);
}

static void expect_status(struct http_kit *kit, const char *token, const char *target, int status)
{
    struct reply reply = http_kit_call_as(kit, token, "GET", target, NULL, NULL);
    assert_int_equal(reply.status, status);
    reply_fini(&reply);
}

static void each_token_is_known_as_long_as_it_is_one(void **state)
{
    struct http_kit *kit = *state;
    char *other = http_kit_token(kit, "other", SCOPE_ADMIN);
    for (int i = 0; i < 4; i++) { /* fewer than the wrong ones that are answered one by one */
        char *token = http_kit_token(kit, "ops", SCOPE_READ);
        expect_status(kit, token, "/v1/jobs", 200);
        expect_status(kit, token, "/v1/jobs", 200);
        expect_status(kit, token, "/v1/audit", 403);
        expect_status(kit, other, "/v1/audit", 200);
        http_kit_revoke(kit, "ops");
        expect_status(kit, token, "/v1/jobs", 401);
        expect_status(kit, NULL, "/v1/jobs", 401);
        expect_status(kit, other, "/v1/audit", 200);
        free(token);
    }
    http_kit_revoke(kit, "other");
    expect_status(kit, NULL, "/v1/audit", 200);  /* without tokens the loopback is admin, */
    expect_status(kit, other, "/v1/audit", 401); /* but not with one that was revoked */
    free(other);
}

static int64_t used_at(struct callers *callers, const char *digest)
{
    struct err err;
    struct caller caller;
    kit_ok(callers_look(callers, digest, &caller, &err), &err);
    assert_true(caller.found);
    return caller.last_used_at;
}

/* Else each request would send it again while the store is slow. */
static void a_use_on_its_way_is_known_until_the_next_look(void **state)
{
    struct http_kit *kit = *state;
    char digest[HASH_HEX_SIZE];
    struct callers *callers = callers_new(kit->store);
    char *token = http_kit_token(kit, "ops", SCOPE_READ);
    (void)hash_hex(token, digest);
    clock_pass_ms(0);
    assert_int_equal(used_at(callers, digest), 0);
    callers_used(callers, digest, 77);
    assert_int_equal(used_at(callers, digest), 77);
    clock_pass_ms(STORE_MARK_MS);
    assert_int_equal(used_at(callers, digest), 0); /* it was not stored */
    clock_reset();
    free(token);
    callers_free(callers);
}

/* --- the slots ----------------------------------------------------------------------------- */

static struct kept *make(struct http_kit *kit, const char *id, size_t length)
{
    char *body = mem_alloc(length + 1, 1);
    memset(body, 'x', length);
    struct kept *kept = kept_new(id, body);
    kept->mark = store_mark(kit->store);
    return kept;
}

static void what_is_too_large_is_not_kept(void **state)
{
    struct http_kit *kit = *state;
    struct keeping *keeping = keeping_new();
    struct kept *largest = make(kit, "a", KEPT_BYTES);
    struct kept *larger = make(kit, "b", KEPT_BYTES + 1);
    keeping_put(keeping, largest);
    keeping_put(keeping, larger);
    struct kept *found = keeping_find(keeping, kit->store, "a");
    assert_ptr_equal(found, largest);
    kept_drop(found);
    assert_null(keeping_find(keeping, kit->store, "b"));
    kept_drop(largest);
    kept_drop(larger);
    keeping_free(keeping);
}

static void two_jobs_of_one_slot_are_not_mistaken(void **state)
{
    struct http_kit *kit = *state;
    struct keeping *keeping = keeping_new();
    char other[24];
    int i = 0;
    do
        (void)snprintf(other, sizeof other, "job %d", i++);
    while (hash_spread(other) % KEPT_SLOTS != hash_spread("first") % KEPT_SLOTS);
    struct kept *first = make(kit, "first", 5);
    struct kept *second = make(kit, other, 6);
    keeping_put(keeping, first);
    keeping_put(keeping, second);
    assert_null(keeping_find(keeping, kit->store, "first"));
    struct kept *found = keeping_find(keeping, kit->store, other);
    assert_ptr_equal(found, second);
    keeping_free(keeping); /* who holds one still has it */
    assert_int_equal(found->length, 6);
    kept_drop(found);
    kept_drop(first);
    kept_drop(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_change_that_was_stored_is_shown_at_once),
        HTTP_TEST(a_running_trial_is_shown_as_it_goes),
        HTTP_TEST(who_writes_behind_our_back_is_seen_a_second_later),
        HTTP_TEST(each_token_is_known_as_long_as_it_is_one),
        HTTP_TEST(a_use_on_its_way_is_known_until_the_next_look),
        HTTP_TEST(what_is_too_large_is_not_kept),
        HTTP_TEST(two_jobs_of_one_slot_are_not_mistaken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
