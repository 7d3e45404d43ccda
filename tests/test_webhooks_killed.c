/* What was accepted is delivered, under its one id, however often the daemon is killed (T-52). 20
 * kills; 200 with SWEETSPOT_TEST_LONG in the environment. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/child_kit.h"
#include "tests/harness.h"
#include "tests/receiver.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MESSAGES_A_ROUND 2
#define DONE_NS ((int64_t)60 * 1000000000)

/* The id of a message that was accepted. */
static char *send_message(const struct child *child)
{
    int status;
    cJSON *row = child_ask(child, "POST", "/v1/webhooks/dba/test", NULL, NULL, &status);
    assert_int_equal(status, 202);
    char *id = mem_copy(text_at(row, "id"));
    cJSON_Delete(row);
    return id;
}

static void wait_until_all_are_delivered(const struct child *child)
{
    int64_t until = clock_mono_ns() + DONE_NS;
    for (bool pending = true; pending;) {
        cJSON *list = child_get(child, "/v1/webhooks/dba/deliveries?limit=500");
        const cJSON *row;
        pending = false;
        cJSON_ArrayForEach(row, at(list, "items")) {
            pending |= strcmp(text_at(row, "state"), "delivered") != 0;
        }
        cJSON_Delete(list);
        if (clock_mono_ns() > until)
            fail_msg("not all were delivered");
        (void)usleep(2000); /* the next look, not a guess of how long it takes */
    }
}

/* How often the receiver was sent this id. */
static int times_sent(struct receiver *receiver, const char *id)
{
    int times = 0;
    size_t count = receiver_count(receiver);
    for (size_t i = 0; i < count; i++) {
        char sent[200];
        delivery_header(receiver_wait(receiver, i), "webhook-id", sent);
        times += strcmp(sent, id) == 0;
    }
    return times;
}

static void what_was_accepted_is_delivered_through_any_kill(void **state)
{
    (void)state;
    int kills = getenv("SWEETSPOT_TEST_LONG") ? 200 : 20;
    int status;
    struct child child = {0};
    struct receiver *receiver = receiver_start();
    char **ids = mem_alloc((size_t)kills * MESSAGES_A_ROUND, sizeof *ids);
    size_t count = 0;
    char *hook =
        mem_format("{'url':'http://127.0.0.1:%d/hook','format':'json'}", receiver_port(receiver));
    child_make(&child, NULL);
    child_start(&child);
    cJSON_Delete(child_ask(&child, "PUT", "/v1/webhooks/dba", NULL, hook, &status));
    assert_int_equal(status, 201);
    for (int round = 0; round < kills; round++) {
        size_t before = receiver_count(receiver);
        for (int i = 0; i < MESSAGES_A_ROUND; i++)
            ids[count++] = send_message(&child);
        if (round % 3 == 1) /* while the first is on its way, or just stored */
            (void)receiver_wait(receiver, before);
        (void)child_end(&child, SIGKILL);
        child_start(&child);
    }
    wait_until_all_are_delivered(&child);
    size_t sent = receiver_count(receiver);
    size_t counted = 0;
    for (size_t i = 0; i < count; i++) {
        int times = times_sent(receiver, ids[i]);
        if (times < 1)
            fail_msg("%s was never sent", ids[i]);
        counted += (size_t)times;
        free(ids[i]);
    }
    assert_int_equal(counted, sent); /* nothing was sent under an id of its own */
    print_message("kills: %d, accepted: %zu, sent: %zu\n", kills, count, sent);
    assert_int_equal(child_end(&child, SIGTERM), 0);
    child_remove(&child);
    receiver_stop(receiver);
    free(hook);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_accepted_is_delivered_through_any_kill),
    };
    if (!getenv("SWEETSPOT_TEST_DAEMON"))
        return 77; /* skipped: the build names the program */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
