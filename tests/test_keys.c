/* sweetspotd key rotate, list, forget: with and without a running daemon, and what SIGHUP and a
 * start make of the key file. */
#include "server/clock.h"
#include "server/key_file.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_rows.h"
#include "tests/child_kit.h"
#include "tests/command_kit.h"
#include "tests/harness.h"
#include "tests/receiver.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DONE_NS ((int64_t)60 * 1000000000)

struct place {
    struct child child; /* its daemon may be stopped */
    struct receiver *receiver;
    char *key_file;
};

static int make_place(void **state)
{
    struct place *place = mem_alloc(1, sizeof *place);
    place->receiver = receiver_start();
    child_make(&place->child, NULL);
    child_start(&place->child);
    place->key_file = mem_format("%s/key", place->child.dir);
    *state = place;
    return 0;
}

static int clear_place(void **state)
{
    struct place *place = *state;
    if (place->child.pid)
        assert_int_equal(child_end(&place->child, SIGTERM), 0);
    child_remove(&place->child);
    receiver_stop(place->receiver);
    free(place->key_file);
    free(place);
    return 0;
}

static struct outcome key(struct place *place, const char *verb)
{
    char *line = mem_format("key %s", verb);
    struct outcome outcome = command_line(place->child.dir, line);
    free(line);
    return outcome;
}

static struct outcome key_well(struct place *place, const char *verb)
{
    struct outcome outcome = key(place, verb);
    if (outcome.status != 0)
        fail_msg("key %s: %d %s", verb, outcome.status, outcome.talk);
    return outcome;
}

static void expect_refusal(struct place *place, const char *verb, const char *says)
{
    struct outcome outcome = key(place, verb);
    if (outcome.status != 1 || !strstr(outcome.talk, says) || outcome.out[0])
        fail_msg("key %s: %d %s%s", verb, outcome.status, outcome.out, outcome.talk);
}

/* `key list` says this, spaces aside as they are: a line each for the keys, newest first. */
static void expect_list(struct place *place, const char *const lines[])
{
    struct outcome list = key_well(place, "list");
    const char *at = strchr(list.out, '\n') + 1;
    for (; *lines; lines++) {
        if (strncmp(at + KEY_ID_SIZE - 1, *lines, strlen(*lines)) != 0)
            fail_msg("not \"%s\" in\n%s", *lines, list.out);
        at = strchr(at, '\n') + 1;
    }
    assert_string_equal(at, "");
}
#define EXPECT_LIST(place, ...) expect_list((place), (const char *const[]){__VA_ARGS__, NULL})

static void hang_up(struct place *place)
{
    assert_int_equal(kill(place->child.pid, SIGHUP), 0);
}

static void wait_until_taken_up(struct place *place)
{
    int64_t until = clock_mono_ns() + DONE_NS;
    while (strstr(key_well(place, "list").talk, "no daemon has taken up"))
        if (clock_mono_ns() > until)
            fail_msg("the newest key is not taken up");
}

static void take_up(struct place *place)
{
    hang_up(place);
    wait_until_taken_up(place);
}

static void put_hook(struct place *place, const char *name, int status)
{
    int got;
    char *target = mem_format("/v1/webhooks/%s", name);
    char *body = mem_format("{'url':'http://127.0.0.1:%d/c4nary-%s','format':'json'}",
                            receiver_port(place->receiver), name);
    cJSON_Delete(child_ask(&place->child, "PUT", target, NULL, body, &got));
    assert_int_equal(got, status);
    free(body);
    free(target);
}

static void send_to(struct place *place, const char *name)
{
    int status;
    char *target = mem_format("/v1/webhooks/%s/test", name);
    cJSON_Delete(child_ask(&place->child, "POST", target, NULL, NULL, &status));
    assert_int_equal(status, 202);
    free(target);
}

/* Sends a message through the webhook, which must arrive. */
static void expect_delivery(struct place *place, const char *name)
{
    size_t before = receiver_count(place->receiver);
    char *path = mem_format("POST /c4nary-%s ", name);
    send_to(place, name);
    const struct delivery *came = receiver_wait(place->receiver, before);
    assert_int_equal(strncmp(came->head, path, strlen(path)), 0);
    free(path);
}

/* --- the way of a rotation ------------------------------------------------------------------- */

static void a_rotation_is_three_commands(void **state)
{
    struct place *place = *state;
    put_hook(place, "dba", 201);
    put_hook(place, "ops", 201);
    EXPECT_LIST(place, "  seals  2");
    char former[KEY_ID_SIZE + 1];
    (void)snprintf(former, sizeof former, "%.12s\n", strchr(key_well(place, "list").out, '\n') + 1);
    struct outcome rotated = key_well(place, "rotate");
    assert_non_null(strstr(rotated.talk, "SIGHUP"));
    assert_int_equal(strlen(rotated.out), KEY_ID_SIZE); /* the id of the new key, and no more */
    EXPECT_LIST(place, "  seals  0", "  opens  2");
    assert_non_null(strstr(key_well(place, "list").talk, "no daemon has taken up"));
    expect_refusal(place, "forget", "send it SIGHUP");
    take_up(place);
    EXPECT_LIST(place, "  seals  2", "  opens  0");
    struct outcome forgotten = key_well(place, "forget");
    assert_string_equal(forgotten.out, former);
    assert_non_null(strstr(forgotten.talk, "copies of the results database"));
    EXPECT_LIST(place, "  seals  2");
    assert_int_equal(strncmp(strchr(key_well(place, "list").out, '\n') + 1, rotated.out, 12), 0);
    hang_up(place);
    expect_delivery(place, "dba");
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    child_start(&place->child);
    expect_delivery(place, "ops");
    assert_non_null(strstr(key_well(place, "forget").talk, "nothing to forget"));
}

static void a_start_takes_the_newest_key_up_too(void **state)
{
    struct place *place = *state;
    put_hook(place, "dba", 201);
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    (void)key_well(place, "rotate");
    (void)key_well(place, "rotate");
    EXPECT_LIST(place, "  seals  0", "  opens  0", "  opens  1");
    expect_refusal(place, "forget", "start it");
    child_start(&place->child);
    EXPECT_LIST(place, "  seals  1", "  opens  0", "  opens  0");
    expect_delivery(place, "dba");
    (void)key_well(place, "forget");
    EXPECT_LIST(place, "  seals  1");
}

static void the_audit_trail_has_each_key(void **state)
{
    struct place *place = *state;
    char former[KEY_ID_SIZE];
    (void)snprintf(former, sizeof former, "%s", strchr(key_well(place, "list").out, '\n') + 1);
    struct outcome rotated = key_well(place, "rotate");
    take_up(place);
    (void)key_well(place, "forget");
    cJSON *trail = child_get(&place->child, "/v1/audit");
    assert_string_equal(text_at(trail, "items/0/action"), "key.forget");
    assert_string_equal(text_at(trail, "items/0/object") + 4, former);
    assert_string_equal(text_at(trail, "items/1/action"), "key.rotate");
    assert_string_equal(text_at(trail, "items/1/who"), "command line");
    assert_int_equal(strncmp(text_at(trail, "items/1/object"), "key/", 4), 0);
    assert_int_equal(strncmp(text_at(trail, "items/1/object") + 4, rotated.out, 12), 0);
    cJSON_Delete(trail);
}

static void the_ninth_key_is_refused(void **state)
{
    struct place *place = *state;
    for (int i = 1; i < LIMIT_KEYS; i++)
        (void)key_well(place, "rotate");
    expect_refusal(place, "rotate", "key forget");
    EXPECT_LIST(place, "  seals  0", "  opens  0", "  opens  0", "  opens  0", "  opens  0",
                "  opens  0", "  opens  0", "  opens  0");
    take_up(place);
    (void)key_well(place, "forget");
    (void)key_well(place, "rotate");
    EXPECT_LIST(place, "  seals  0", "  opens  0");
}

static int take_work(struct db *db, void *arg, struct err *err)
{
    struct sealed_row *out = arg;
    struct sealed_row *rows = NULL;
    size_t count = 0;
    if (store_sealed_list(db, "", NULL, 1, &rows, &count, err) < 0)
        return -1;
    assert_int_equal(count, 1);
    *out = rows[0];
    free(rows);
    return 0;
}

static int bring_back_work(struct db *db, void *arg, struct err *err)
{
    return store_sealed_put(db, arg, err);
}

/* A value of a former key comes back into the store, as from a copy of it. */
static void a_key_that_is_needed_is_not_forgotten(void **state)
{
    struct place *place = *state;
    struct sealed_row former = {0};
    struct err err;
    char *store = mem_format("sqlite:%s/sweetspot.db", place->child.dir);
    put_hook(place, "dba", 201);
    assert_int_equal(store_once(store, take_work, &former, &err), 0);
    (void)key_well(place, "rotate");
    take_up(place);
    EXPECT_LIST(place, "  seals  1", "  opens  0");
    assert_int_equal(store_once(store, bring_back_work, &former, &err), 0);
    EXPECT_LIST(place, "  seals  0", "  opens  1");
    expect_refusal(place, "forget", "is still needed: 1 stored");
    expect_delivery(place, "dba");
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    child_start(&place->child);
    (void)key_well(place, "forget");
    expect_delivery(place, "dba");
    sealed_row_fini(&former);
    free(store);
}

/* --- a key file that is lost ----------------------------------------------------------------- */

/* Starts a daemon that must not: what it says. */
static struct outcome start_in_vain(struct place *place)
{
    struct outcome outcome = command_line(place->child.dir, "--listen=127.0.0.1:0");
    assert_int_equal(outcome.status, 1);
    return outcome;
}

static void without_its_key_the_daemon_does_not_start(void **state)
{
    struct place *place = *state;
    char *kept = mem_format("%s/kept", place->child.dir);
    put_hook(place, "dba", 201);
    put_hook(place, "ops", 201);
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    assert_int_equal(rename(place->key_file, kept), 0);
    struct outcome vain = start_in_vain(place);
    assert_non_null(strstr(vain.talk, place->key_file));
    assert_non_null(strstr(vain.talk, "2 webhook URLs are sealed"));
    assert_non_null(strstr(vain.talk, "(dba, ops)"));
    assert_non_null(strstr(vain.talk, "put it back"));
    assert_int_equal(access(place->key_file, F_OK), -1); /* and none was made */
    assert_int_equal(rename(kept, place->key_file), 0);
    child_start(&place->child);
    expect_delivery(place, "dba");
    free(kept);
}

static void without_anything_sealed_a_new_key_is_made(void **state)
{
    struct place *place = *state;
    int status;
    put_hook(place, "dba", 201);
    cJSON_Delete(child_ask(&place->child, "DELETE", "/v1/webhooks/dba", NULL, NULL, &status));
    assert_int_equal(status, 204);
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    assert_int_equal(unlink(place->key_file), 0);
    child_start(&place->child);
    EXPECT_LIST(place, "  seals  0");
}

/* As the refusal advises: a new key, and the webhook PUT again. */
static void a_lost_key_costs_the_urls_and_nothing_else(void **state)
{
    struct place *place = *state;
    put_hook(place, "dba", 201);
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    assert_int_equal(unlink(place->key_file), 0);
    expect_refusal(place, "rotate", "sweetspotd key replace");
    assert_int_equal(access(place->key_file, F_OK), -1);
    struct outcome made = key_well(place, "replace");
    expect_refusal(place, "replace", "is there");
    assert_non_null(strstr(made.talk, "1 stored webhook URLs open with none"));
    assert_non_null(strstr(made.talk, "(dba)"));
    child_start(&place->child);
    cJSON *ready = child_get(&place->child, "/readyz");
    assert_true(cJSON_IsTrue(at(ready, "parts/secrets/ok")));
    assert_non_null(strstr(text_at(ready, "parts/secrets/detail"), "opens with no key"));
    cJSON_Delete(ready);
    EXPECT_LIST(place, "  seals  0");
    send_to(place, "dba");
    put_hook(place, "dba", 200);
    expect_delivery(place, "dba");
    ready = child_get(&place->child, "/readyz");
    assert_true(cJSON_IsNull(at(ready, "parts/secrets/detail")));
    cJSON_Delete(ready);
}

/* The newest delivery of the webhook once it was tried. */
static cJSON *tried_delivery(struct place *place, const char *name)
{
    char *target = mem_format("/v1/webhooks/%s/deliveries", name);
    int64_t until = clock_mono_ns() + DONE_NS;
    cJSON *list = child_get(&place->child, target);
    while (number_at(list, "items/0/attempts") < 1 && clock_mono_ns() < until) {
        cJSON_Delete(list);
        list = child_get(&place->child, target);
    }
    cJSON *row = cJSON_Duplicate(at(list, "items/0"), true);
    cJSON_Delete(list);
    free(target);
    return row;
}

/* Somebody's other key file, at SIGHUP, then for good; at last the right one comes back. */
static void what_waits_for_a_key_goes_out_when_it_comes_back(void **state)
{
    struct place *place = *state;
    char *kept = mem_format("%s/kept", place->child.dir);
    struct err err;
    put_hook(place, "dba", 201);
    assert_int_equal(rename(place->key_file, kept), 0);
    assert_int_equal(key_file_make(place->key_file, &err), 0);
    hang_up(place);
    expect_delivery(place, "dba"); /* the key before is still in use */
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    child_start(&place->child);
    send_to(place, "dba");
    cJSON *row = tried_delivery(place, "dba");
    assert_string_equal(text_at(row, "state"), "pending"); /* not dead: it is tried again */
    assert_non_null(strstr(text_at(row, "last_error"), "does not hold its key"));
    struct key_ring both = {.count = 0};
    struct key_ring lost;
    struct key_file held;
    assert_int_equal(key_file_read(kept, &lost, &err), 0);
    assert_int_equal(key_file_hold(place->key_file, &held, &err), 0);
    key_ring_add(&both, held.ring.keys[0].bytes);
    key_ring_add(&both, lost.keys[0].bytes);
    assert_int_equal(key_file_replace(&held, &both, &err), 0);
    key_file_release(&held);
    hang_up(place);
    size_t before = receiver_count(place->receiver);
    char *target = mem_format("/v1/deliveries/%s/redeliver", text_at(row, "id"));
    int64_t until = clock_mono_ns() + DONE_NS;
    while (strstr(key_well(place, "list").out, "opens  1") && clock_mono_ns() < until)
        continue;
    int status;
    cJSON_Delete(child_ask(&place->child, "POST", target, NULL, NULL, &status));
    assert_int_equal(status, 202);
    (void)receiver_wait(place->receiver, before);
    EXPECT_LIST(place, "  seals  1", "  opens  0");
    free(target);
    cJSON_Delete(row);
    free(kept);
}

/* --- the command line ------------------------------------------------------------------------ */

static void a_wrong_command_line_is_told(void **state)
{
    static const struct {
        const char *verb;
        const char *says;
    } cases[] = {
        {"", "usage"},
        {"make", "usage"},
        {"rotate now", "unexpected argument"},
        {"forget --stat-dir=/", "did you mean"},
        {"list --help", "usage"},
    };
    struct place *place = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome told = key(place, cases[i].verb);
        if (told.status != 2 || !strstr(told.talk, cases[i].says) || told.out[0])
            fail_msg("%s: %d %s%s", cases[i].verb, told.status, told.out, told.talk);
    }
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    assert_int_equal(unlink(place->key_file), 0);
    expect_refusal(place, "list", "there is no key file");
    expect_refusal(place, "forget", "there is no key file");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rotation_is_three_commands),
        TEST(a_start_takes_the_newest_key_up_too),
        TEST(the_audit_trail_has_each_key),
        TEST(the_ninth_key_is_refused),
        TEST(a_key_that_is_needed_is_not_forgotten),
        TEST(without_its_key_the_daemon_does_not_start),
        TEST(without_anything_sealed_a_new_key_is_made),
        TEST(a_lost_key_costs_the_urls_and_nothing_else),
        TEST(what_waits_for_a_key_goes_out_when_it_comes_back),
        TEST(a_wrong_command_line_is_told),
    };
    if (!getenv("SWEETSPOT_TEST_DAEMON"))
        return 77; /* skipped: the build names the program */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
