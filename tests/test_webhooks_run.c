/* Webhooks from the end of a job to a receiver on the loopback. */
#include "server/clock.h"
#include "server/log.h"
#include "server/mem.h"
#include "tests/receiver.h"
#include "tests/sweep_kit.h"

#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECRET "hush-hush-0123456789"
#define PATH "/hooks/T0kEnInThePath"
#define ONE SWEEP(",'buffercount':[50]", SHORT ",'notify':['dba']")

static struct harness *house_with_hook(struct receiver *receiver, const char *members)
{
    struct harness *house = harness_start(NULL);
    assert_int_equal(setenv("SWEETSPOT_SECRET_HOOK", SECRET, 1), 0);
    harness_register(house, ALLOW);
    char *body =
        mem_format("{'url':'http://127.0.0.1:%d" PATH "',%s}", receiver_port(receiver), members);
    cJSON_Delete(harness_call(house, "PUT", "/v1/webhooks/dba", body, 201));
    free(body);
    return house;
}

/* Waits until the newest delivery has been tried; it. */
static cJSON *tried_delivery(struct harness *house, const char *state)
{
    int64_t until = clock_mono_ns() + (int64_t)20 * 1000000000;
    for (;;) {
        cJSON *list = harness_call(house, "GET", "/v1/webhooks/dba/deliveries", NULL, 200);
        cJSON *first = cJSON_DetachItemFromArray(cJSON_GetObjectItem(list, "items"), 0);
        cJSON_Delete(list);
        if (first && number_at(first, "attempts") > 0 &&
            strcmp(text_at(first, "state"), state) == 0)
            return first;
        if (clock_mono_ns() > until)
            fail_msg("no %s delivery: %s", state, first ? cJSON_PrintUnformatted(first) : "none");
        cJSON_Delete(first);
        (void)usleep(2000); /* the next look, not a guess of how long it takes */
    }
}

/* What the receiver's owner would do with webhook-signature, by GnuTLS alone. */
static void check_signature(const struct delivery *delivery)
{
    char id[200];
    char when[200];
    char given[200];
    unsigned char digest[32];
    gnutls_datum_t raw = {digest, sizeof digest};
    gnutls_datum_t text = {0};
    delivery_header(delivery, "webhook-id", id);
    delivery_header(delivery, "webhook-timestamp", when);
    delivery_header(delivery, "webhook-signature", given);
    char *content = mem_format("%s.%s.%s", id, when, delivery->body);
    assert_int_equal(gnutls_hmac_fast(GNUTLS_MAC_SHA256, SECRET, strlen(SECRET), content,
                                      strlen(content), digest),
                     0);
    assert_int_equal(gnutls_base64_encode2(&raw, &text), 0);
    char *expected = mem_format("v1,%.*s", (int)text.size, text.data);
    assert_string_equal(given, expected);
    int64_t age = clock_wall_ms() / 1000 - strtoll(when, NULL, 10);
    assert_true(age >= 0 && age < 60);
    gnutls_free(text.data);
    free(expected);
    free(content);
}

static void a_finished_job_is_told_with_a_signature(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(receiver, "'format':'json','events':['job.finished'],"
                                                      "'secret':{'env':'SWEETSPOT_SECRET_HOOK'}");
    char *id = NULL;
    cJSON *job = sweep_run_to(
        house, SWEEP(",'buffercount':[100]", ",'design':{'repetitions':6},'notify':['dba']"),
        "succeeded", &id);
    const struct delivery *delivery = receiver_wait(receiver, 0);
    check_signature(delivery);
    assert_int_equal(strncmp(delivery->head, "POST " PATH " HTTP/1.1", strlen("POST " PATH)), 0);
    cJSON *event = cJSON_Parse(delivery->body);
    assert_string_equal(text_at(event, "type"), "job.finished");
    assert_string_equal(text_at(event, "data/job/id"), id);
    assert_string_equal(text_at(event, "data/job/state"), "succeeded");
    assert_int_equal(number_at(event, "data/recommendation/settings/buffercount"), 100);
    cJSON *row = tried_delivery(house, "delivered");
    char webhook_id[200];
    delivery_header(delivery, "webhook-id", webhook_id);
    assert_string_equal(text_at(row, "id"), webhook_id);
    assert_string_equal(text_at(row, "job"), id);
    assert_string_equal(text_at(row, "webhook"), "dba");
    assert_string_equal(text_at(row, "event"), "job.finished");
    assert_true(cJSON_IsNull(at(row, "last_error")) && cJSON_IsNull(at(row, "next_at")));
    assert_int_equal(number_at(row, "attempts"), 1);
    assert_int_equal(number_at(row, "last_status"), 200);
    assert_int_equal(receiver_count(receiver), 1);
    cJSON_Delete(row);
    cJSON_Delete(event);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
    receiver_stop(receiver);
}

static void a_chat_is_told_in_its_own_words(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(receiver, "'format':'slack','events':['job.finished']");
    cJSON *job = sweep_run(
        house, SWEEP(",'buffercount':[100]", ",'design':{'repetitions':6},'notify':['dba']"), NULL);
    const struct delivery *delivery = receiver_wait(receiver, 0);
    cJSON *message = cJSON_Parse(delivery->body);
    const char *text = text_at(message, "text");
    assert_int_equal(strncmp(text, "SIMULATED: Sweet spot found: sql01\n", 35), 0);
    assert_non_null(strstr(text, "\n*Database:* Sales\n*Effect:* BUFFERCOUNT=100: "));
    assert_non_null(strstr(text, "x the speed (95 %: "));
    assert_non_null(strstr(text, ", faster\n"));
    assert_non_null(strstr(text, "\n*Took:* "));
    assert_non_null(strstr(text, "```BACKUP DATABASE"));
    cJSON_Delete(message);
    cJSON_Delete(job);
    harness_stop(house);
    receiver_stop(receiver);
}

static void a_failing_receiver_is_tried_again_with_the_same_id(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(receiver, "'format':'json','events':['*'],"
                                                      "'secret':{'env':'SWEETSPOT_SECRET_HOOK'}");
    receiver_answer(receiver, 500, 1);
    cJSON_Delete(sweep_run(house, ONE, NULL));
    cJSON *row = tried_delivery(house, "pending");
    assert_int_equal(number_at(row, "attempts"), 1);
    assert_int_equal(number_at(row, "last_status"), 500);
    assert_non_null(strstr(text_at(row, "last_error"), "500"));
    assert_true(strcmp(text_at(row, "next_at"), text_at(row, "created_at")) > 0);
    harness_stop_daemon(house); /* it is still there after a restart, and tried when it is due */
    harness_start_daemon(house);
    cJSON *done = tried_delivery(house, "delivered");
    assert_string_equal(text_at(done, "id"), text_at(row, "id"));
    char first[200];
    char second[200];
    delivery_header(receiver_wait(receiver, 0), "webhook-id", first);
    delivery_header(receiver_wait(receiver, 1), "webhook-id", second);
    assert_string_equal(first, second);
    check_signature(receiver_wait(receiver, 1));
    cJSON_Delete(done);
    cJSON_Delete(row);
    harness_stop(house);
    receiver_stop(receiver);
}

static void a_receiver_that_is_gone_is_never_asked_again(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(receiver, "'format':'json','events':['*']");
    receiver_answer(receiver, 410, 1);
    cJSON_Delete(sweep_run(house, ONE, NULL));
    cJSON *row = tried_delivery(house, "dead");
    assert_int_equal(number_at(row, "last_status"), 410);
    cJSON_Delete(row);
    cJSON *hook = harness_call(house, "GET", "/v1/webhooks/dba", NULL, 200);
    assert_true(cJSON_IsTrue(at(hook, "disabled")));
    cJSON_Delete(hook);
    cJSON_Delete(sweep_run(house, ONE, NULL));
    cJSON *list = harness_call(house, "GET", "/v1/webhooks/dba/deliveries", NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(list, "items")), 1);
    assert_int_equal(receiver_count(receiver), 1);
    cJSON_Delete(list);
    harness_stop(house);
    receiver_stop(receiver);
}

static void a_receiver_that_does_not_listen_is_tried_again(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(receiver, "'format':'json','events':['*']");
    receiver_stop(receiver);
    cJSON *job = sweep_run(house, ONE, NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON *row = tried_delivery(house, "pending");
    assert_true(cJSON_IsNull(at(row, "last_status")));
    assert_true(cJSON_IsString(at(row, "next_at")));
    assert_null(strstr(text_at(row, "last_error"), "T0kEn"));
    cJSON_Delete(row);
    cJSON_Delete(job);
    harness_stop(house);
}

static void an_address_inside_is_refused_for_good(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(receiver, "'format':'json','events':['*']");
    /* in a body it is refused at once; behind a reference it is seen when something is sent */
    assert_int_equal(setenv("SWEETSPOT_SECRET_INSIDE", "http://169.254.169.254/latest", 1), 0);
    cJSON_Delete(harness_call(house, "PUT", "/v1/webhooks/dba",
                              "{'url':'http://169.254.169.254/latest','format':'json'}", 400));
    cJSON_Delete(harness_call(house, "PUT", "/v1/webhooks/dba",
                              "{'url':{'env':'SWEETSPOT_SECRET_INSIDE'},'format':'json',"
                              "'events':['*']}",
                              200));
    cJSON_Delete(sweep_run(house, ONE, NULL));
    cJSON *row = tried_delivery(house, "dead");
    assert_true(cJSON_IsString(at(row, "last_error")));
    cJSON_Delete(row);
    harness_stop(house);
    receiver_stop(receiver);
}

static void each_event_goes_to_those_who_asked_for_it(void **state)
{
    (void)state;
    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(
        receiver, "'format':'json','all_jobs':true,"
                  "'events':['job.failed','job.cleanup_failed','instance.unreachable']");
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL)); /* nothing to tell */
    cJSON_Delete(
        sweep_run(house, SWEEP_OF("sql01", "Nowhere", ",'buffercount':[50]", SHORT), NULL));
    cJSON *event = cJSON_Parse(receiver_wait(receiver, 0)->body);
    assert_string_equal(text_at(event, "type"), "job.failed");
    assert_int_equal(number_at(event, "data/job/error/number"), 911);
    cJSON_Delete(event);
    sweep_fault(house->sim, "{'do':'delete_nothing'}");
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT), NULL));
    event = cJSON_Parse(receiver_wait(receiver, 1)->body);
    assert_string_equal(text_at(event, "type"), "job.cleanup_failed");
    assert_string_equal(text_at(event, "data/job/cleanup"), "failed");
    cJSON_Delete(event);
    sweep_fault(house->sim, "{'do':'stop_listening'}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    event = cJSON_Parse(receiver_wait(receiver, 2)->body);
    assert_string_equal(text_at(event, "type"), "instance.unreachable");
    assert_string_equal(text_at(event, "data/job/id"), id);
    cJSON_Delete(event);
    free(id);
    harness_stop(house);
    receiver_stop(receiver);
}

static void holds_no_secret(const char *what, const char *text)
{
    static const char *const secrets[] = {"Sweetspot-1", SECRET, "T0kEnInThePath"};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        if (strstr(text, secrets[i]))
            fail_msg("%s shows %s: %s", what, secrets[i], text);
}

static void no_secret_stands_in_any_answer_or_log(void **state)
{
    (void)state;
    char log_path[] = "/tmp/sweetspot-log.XXXXXX";
    int log = mkstemp(log_path);
    int saved = dup(STDERR_FILENO);
    assert_true(log >= 0 && saved >= 0);
    assert_true(dup2(log, STDERR_FILENO) >= 0);

    struct receiver *receiver = receiver_start();
    struct harness *house = house_with_hook(receiver, "'format':'json','events':['*'],"
                                                      "'secret':{'env':'SWEETSPOT_SECRET_HOOK'}");
    log_set_level(LOG_LEVEL_DEBUG);
    receiver_answer(receiver, 500, 1);
    char *id = NULL;
    cJSON_Delete(sweep_run(house, ONE, &id));
    cJSON_Delete(tried_delivery(house, "pending"));
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIM", "Sweetspot-1-wrong", 1), 0);
    cJSON_Delete(sweep_run_to(house, ONE, "failed", NULL)); /* 18456 */
    char *job = mem_format("/v1/jobs/%s", id);
    char *report = mem_format("%s/report", job);
    char *trials = mem_format("%s/trials", job);
    const char *targets[] = {"/v1/instances",
                             "/v1/instances/sql01",
                             "/v1/webhooks",
                             "/v1/jobs",
                             "/v1/webhooks/dba/deliveries",
                             "/v1/webhooks/dba",
                             job,
                             report,
                             trials};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        char *text = harness_text(house, targets[i], "application/json", 200);
        holds_no_secret(targets[i], text);
        free(text);
    }
    harness_stop(house);
    receiver_stop(receiver);
    log_set_level(LOG_LEVEL_ERROR);

    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    off_t size = lseek(log, 0, SEEK_END);
    char *text = mem_alloc((size_t)size + 1, 1);
    assert_int_equal(pread(log, text, (size_t)size, 0), size);
    assert_non_null(strstr(text, "delivery"));
    holds_no_secret("the log", text);
    (void)close(log);
    (void)unlink(log_path);
    free(text);
    free(job);
    free(report);
    free(trials);
    free(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_job_is_told_with_a_signature),
        cmocka_unit_test(a_chat_is_told_in_its_own_words),
        cmocka_unit_test(a_failing_receiver_is_tried_again_with_the_same_id),
        cmocka_unit_test(a_receiver_that_is_gone_is_never_asked_again),
        cmocka_unit_test(a_receiver_that_does_not_listen_is_tried_again),
        cmocka_unit_test(an_address_inside_is_refused_for_good),
        cmocka_unit_test(each_event_goes_to_those_who_asked_for_it),
        cmocka_unit_test(no_secret_stands_in_any_answer_or_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
