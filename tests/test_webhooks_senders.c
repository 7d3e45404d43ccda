/* Deliveries side by side, what somebody asks to be sent, and outages that are told once. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/http_client.h"
#include "tests/receiver.h"
#include "tests/sweep_kit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN "T0kEnInThePath"
#define OTHERS 20
#define ONE SWEEP(",'buffercount':[50]", SHORT)

static void put_hook(struct harness *house, const char *name, int port, const char *members,
                     int status)
{
    char *target = mem_format("/v1/webhooks/%s", name);
    char *body = mem_format("{'url':'http://127.0.0.1:%d/hooks/" TOKEN "',%s}", port, members);
    cJSON_Delete(harness_call(house, "PUT", target, body, status));
    free(body);
    free(target);
}

static cJSON *deliveries_of(struct harness *house, const char *name)
{
    char *target = mem_format("/v1/webhooks/%s/deliveries", name);
    cJSON *list = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return list;
}

/* The newest delivery, once it is in this state and was tried so often. */
static cJSON *delivery_in(struct harness *house, const char *name, const char *state, int attempts)
{
    int64_t until = clock_mono_ns() + (int64_t)20 * 1000000000;
    for (;;) {
        cJSON *list = deliveries_of(house, name);
        cJSON *first = cJSON_DetachItemFromArray(cJSON_GetObjectItem(list, "items"), 0);
        cJSON_Delete(list);
        if (first && strcmp(text_at(first, "state"), state) == 0 &&
            (int)number_at(first, "attempts") == attempts)
            return first;
        if (clock_mono_ns() > until)
            fail_msg("no %s delivery: %s", state, first ? cJSON_PrintUnformatted(first) : "none");
        cJSON_Delete(first);
        (void)usleep(2000); /* the next look, not a guess of how long it takes */
    }
}

static cJSON *redeliver(struct harness *house, const char *id, int status)
{
    char *target = mem_format("/v1/deliveries/%s/redeliver", id);
    cJSON *answer = harness_call(house, "POST", target, NULL, status);
    free(target);
    return answer;
}

/* --- side by side --------------------------------------------------------------------------- */

/* Takes connections, as the kernel does for a listener, and never says anything. */
static int silent_listener(int *out_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    *out_port = ntohs(at.sin_port);
    return listener;
}

static void one_that_never_answers_delays_no_other(void **state)
{
    (void)state;
    int silent_port = 0;
    int silent = silent_listener(&silent_port);
    struct receiver *receiver = receiver_start();
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    put_hook(house, "a-silent", silent_port, "'format':'json','all_jobs':true", 201);
    for (int i = 0; i < OTHERS; i++) {
        char *name = mem_format("b-%02d", i);
        put_hook(house, name, receiver_port(receiver), "'format':'json','all_jobs':true", 201);
        free(name);
    }
    cJSON_Delete(sweep_run(house, ONE, NULL));
    (void)receiver_wait(receiver, OTHERS - 1);
    for (int i = 0; i < OTHERS; i++) { /* else one may be sent again after the restart */
        char *name = mem_format("b-%02d", i);
        cJSON_Delete(delivery_in(house, name, "delivered", 1));
        free(name);
    }
    cJSON_Delete(delivery_in(house, "a-silent", "pending", 0)); /* it is still being tried */

    /* and it keeps nobody from stopping: the try does not count */
    harness_stop_daemon(house);
    harness_start_daemon(house);
    cJSON_Delete(delivery_in(house, "a-silent", "pending", 0));
    assert_int_equal(receiver_count(receiver), OTHERS);
    harness_stop(house);
    receiver_stop(receiver);
    (void)close(silent);
}

/* --- asked for ------------------------------------------------------------------------------ */

static void a_test_message_goes_out_in_each_format(void **state)
{
    (void)state;
    static const struct {
        const char *format, *path, *path_in_body, *text;
    } cases[] = {
        {"slack", "POST /hooks/" TOKEN " ", "blocks/0/text/text", "Test message"},
        {"teams", "POST /hooks/" TOKEN " ", "attachments/0/content/body/0/inlines/0/text",
         "Test message"},
        {"discord", "POST /hooks/" TOKEN "?wait=true ", "embeds/0/title", "Test message"},
        {"google_chat", "POST /hooks/" TOKEN " ", "cardsV2/0/card/header/title", "Test message"},
        {"json", "POST /hooks/" TOKEN " ", "type", "webhook.test"},
    };
    struct receiver *receiver = receiver_start();
    struct harness *house = harness_start(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *members = mem_format("'format':'%s','events':['job.failed']", cases[i].format);
        put_hook(house, "dba", receiver_port(receiver), members, i == 0 ? 201 : 200);
        free(members);
        cJSON *asked = harness_call(house, "POST", "/v1/webhooks/dba/test", "{}", 202);
        assert_string_equal(text_at(asked, "event"), "webhook.test");
        assert_string_equal(text_at(asked, "state"), "pending");
        assert_true(cJSON_IsNull(at(asked, "job")));
        const struct delivery *delivery = receiver_wait(receiver, i);
        assert_int_equal(strncmp(delivery->head, cases[i].path, strlen(cases[i].path)), 0);
        cJSON *body = cJSON_Parse(delivery->body);
        assert_string_equal(text_at(body, cases[i].path_in_body), cases[i].text);
        cJSON *done = delivery_in(house, "dba", "delivered", 1);
        assert_string_equal(text_at(done, "id"), text_at(asked, "id"));
        cJSON_Delete(done);
        cJSON_Delete(body);
        cJSON_Delete(asked);
    }
    cJSON_Delete(harness_call(house, "POST", "/v1/webhooks/nobody/test", NULL, 404));
    cJSON_Delete(harness_call(house, "POST", "/v1/webhooks/dba/test", "{'x':1}", 400));
    harness_stop(house);
    receiver_stop(receiver);
}

static void a_delivery_is_sent_again_with_the_same_id(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = harness_start(NULL);
    put_hook(house, "dba", receiver_port(receiver), "'format':'json'", 201);
    cJSON_Delete(harness_call(house, "POST", "/v1/webhooks/dba/test", NULL, 202));
    cJSON *done = delivery_in(house, "dba", "delivered", 1);
    cJSON *again = redeliver(house, text_at(done, "id"), 202);
    assert_string_equal(text_at(again, "id"), text_at(done, "id"));
    assert_string_equal(text_at(again, "state"), "pending");
    assert_int_equal(number_at(again, "attempts"), 0);
    char first[200];
    char second[200];
    delivery_header(receiver_wait(receiver, 0), "webhook-id", first);
    delivery_header(receiver_wait(receiver, 1), "webhook-id", second);
    assert_string_equal(first, second);
    assert_string_equal(receiver_wait(receiver, 0)->body, receiver_wait(receiver, 1)->body);
    cJSON_Delete(delivery_in(house, "dba", "delivered", 1));

    /* one that waits for its next try goes at once */
    receiver_answer(receiver, 503, 1);
    cJSON_Delete(harness_call(house, "POST", "/v1/webhooks/dba/test", NULL, 202));
    cJSON *waiting = delivery_in(house, "dba", "pending", 1);
    cJSON_Delete(redeliver(house, text_at(waiting, "id"), 202));
    cJSON_Delete(delivery_in(house, "dba", "delivered", 1));
    cJSON_Delete(redeliver(house, "01930000-0000-7000-8000-000000000000", 404));
    cJSON_Delete(redeliver(house, "x", 404));
    cJSON_Delete(waiting);
    cJSON_Delete(again);
    cJSON_Delete(done);
    harness_stop(house);
    receiver_stop(receiver);
}

static void nothing_is_sent_where_the_receiver_is_gone(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = harness_start(NULL);
    put_hook(house, "dba", receiver_port(receiver), "'format':'slack'", 201);
    receiver_answer(receiver, 410, 1);
    cJSON_Delete(harness_call(house, "POST", "/v1/webhooks/dba/test", NULL, 202));
    cJSON *dead = delivery_in(house, "dba", "dead", 1);
    cJSON_Delete(harness_call(house, "POST", "/v1/webhooks/dba/test", NULL, 409));
    cJSON_Delete(redeliver(house, text_at(dead, "id"), 409));
    put_hook(house, "dba", receiver_port(receiver), "'format':'slack'", 200);
    cJSON_Delete(redeliver(house, text_at(dead, "id"), 202));
    cJSON_Delete(delivery_in(house, "dba", "delivered", 1));
    assert_int_equal(receiver_count(receiver), 2);
    cJSON_Delete(dead);
    harness_stop(house);
    receiver_stop(receiver);
}

/* --- outages -------------------------------------------------------------------------------- */

static void an_outage_is_told_once_however_many_jobs_meet_it(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    put_hook(house, "dba", receiver_port(receiver),
             "'format':'json','all_jobs':true,'events':['instance.unreachable']", 201);
    put_hook(house, "second", receiver_port(receiver),
             "'format':'slack','events':['instance.unreachable']", 201);
    sweep_fault(house->sim, "{'do':'stop_listening'}");
    char *first = harness_submit(house, ONE);
    cJSON_Delete(harness_wait_state(house, first, "waiting", "unreachable"));
    char *second = harness_submit(
        house, SWEEP(",'buffercount':[50]", SHORT ",'notify':['second'],'priority':9"));
    cJSON_Delete(delivery_in(house, "second", "delivered", 1)); /* its first word of it */
    cJSON *list = deliveries_of(house, "dba");
    assert_int_equal(cJSON_GetArraySize(at(list, "items")), 1);
    assert_string_equal(text_at(list, "items/0/job"), first);
    cJSON *message = cJSON_Parse(receiver_wait(receiver, 1)->body);
    assert_string_equal(text_at(message, "blocks/0/text/text"), "Instance not reached: sql01");
    cJSON_Delete(message);
    cJSON_Delete(list);
    free(second);
    free(first);
    harness_stop(house);
    receiver_stop(receiver);
}

/* --- secrets -------------------------------------------------------------------------------- */

/* Every file below the state folder, byte for byte. */
static void expect_nowhere(const char *dir, const char *name, const char *canary)
{
    struct stat status;
    char *path = mem_format("%s/%s", dir, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (file < 0 && strstr(name, "-")) /* the write-ahead log may be gone */
        return;
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    char *bytes = mem_alloc((size_t)status.st_size + 1, 1);
    assert_int_equal(pread(file, bytes, (size_t)status.st_size, 0), status.st_size);
    if (memmem(bytes, (size_t)status.st_size, canary, strlen(canary)))
        fail_msg("%s holds %s", name, canary);
    free(bytes);
    (void)close(file);
}

static void no_url_or_secret_stands_in_the_store(void **state)
{
    (void)state;
    static const char *const files[] = {"sweetspot.db", "sweetspot.db-wal", "sweetspot.db-shm"};
    static const char *const canaries[] = {TOKEN, "VDBrRW5JblRoZVBhdGg", "htaPehTnInEk0T",
                                           "c4nary-of-the-hook", "Sweetspot-1"};
    struct receiver *receiver = receiver_start();
    struct harness *house = harness_start(NULL);
    assert_int_equal(setenv("SWEETSPOT_SECRET_HOOK", "c4nary-of-the-hook", 1), 0);
    harness_register(house, ALLOW);
    put_hook(house, "dba", receiver_port(receiver),
             "'format':'json','all_jobs':true,'secret':{'env':'SWEETSPOT_SECRET_HOOK'}", 201);
    receiver_answer(receiver, 500, 1);
    cJSON_Delete(sweep_run(house, ONE, NULL));
    cJSON_Delete(delivery_in(house, "dba", "pending", 1));
    harness_stop_daemon(house);
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++)
        for (size_t c = 0; c < sizeof canaries / sizeof canaries[0]; c++)
            expect_nowhere(house->config.state_dir, files[f], canaries[c]);
    harness_start_daemon(house);
    harness_stop(house);
    receiver_stop(receiver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_never_answers_delays_no_other),
        cmocka_unit_test(a_test_message_goes_out_in_each_format),
        cmocka_unit_test(a_delivery_is_sent_again_with_the_same_id),
        cmocka_unit_test(nothing_is_sent_where_the_receiver_is_gone),
        cmocka_unit_test(an_outage_is_told_once_however_many_jobs_meet_it),
        cmocka_unit_test(no_url_or_secret_stands_in_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
