/* Jobs as clients meet them: submits, keys, lists, trials, reports. */
#include "server/buf.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"
#include "tests/http_kit.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- jobs ---------------------------------------------------------------------------------- */

static void a_job_is_accepted_with_its_address(void **state)
{
    struct http_kit *kit = *state;
    struct reply reply = call(kit->port, "POST", "/v1/jobs", NULL, http_kit_job);
    char *id = json_text_of(reply.body, "id");
    char *path = mem_format("/v1/jobs/%s", id);
    assert_int_equal(reply.status, 202);
    assert_string_equal(reply_header(&reply, "Location"), path);
    reply_fini(&reply);
    reply = call(kit->port, "GET", path, NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "ETag"), "\"1\"");
    assert_string_equal(reply_header(&reply, "Cache-Control"), "no-cache");
    reply_fini(&reply);
    reply = call(kit->port, "GET", path, "If-None-Match: \"1\"\r\n", NULL);
    assert_int_equal(reply.status, 304);
    assert_string_equal(reply.body, "");
    reply_fini(&reply);
    free(path);
    free(id);
}

static void a_key_makes_a_submit_repeatable(void **state)
{
    static const char other[] =
        "{\"kind\":\"backup_sweep\",\"instance\":\"sql01\",\"parameters\":{\"a\":1}}";
    static const char spaced[] =
        "{ \"kind\":\"backup_sweep\", \"instance\":\"sql01\", \"parameters\":{} }";
    const struct http_kit *kit = *state;
    struct reply first =
        call(kit->port, "POST", "/v1/jobs", "Idempotency-Key: k1\r\n", http_kit_job);
    struct reply again = call(kit->port, "POST", "/v1/jobs", "Idempotency-Key: k1\r\n", spaced);
    assert_int_equal(first.status, 202);
    assert_int_equal(again.status, 200);
    assert_string_equal(reply_header(&first, "Idempotency-Replayed"), "");
    assert_string_equal(reply_header(&again, "Idempotency-Replayed"), "true");
    assert_string_equal(first.body, again.body);
    reply_fini(&first);
    reply_fini(&again);
    const struct line lines[] = {
        {"POST", "/v1/jobs", "Idempotency-Key: k1\r\n", other, 422, "idempotency-key"},
        {"POST", "/v1/jobs", "Idempotency-Key: a b\r\n", http_kit_job, 400, "visible ASCII"},
        {"POST", "/v1/jobs", "Idempotency-Key:\r\n", http_kit_job, 400, NULL},
    };
    SPEAK(kit->port, lines);
}

static void a_key_has_1_to_200_visible_characters(void **state)
{
    static const struct {
        int length;
        int status;
    } cases[] = {{1, 202}, {200, 202}, {201, 400}, {400, 400}};
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *header = mem_format("Idempotency-Key: %0*d\r\n", cases[i].length, 0);
        struct reply reply = call(kit->port, "POST", "/v1/jobs", header, http_kit_job);
        if (reply.status != cases[i].status)
            fail_msg("%d characters: %d", cases[i].length, reply.status);
        reply_fini(&reply);
        free(header);
    }
    static const char *const odd[] = {"!~", "a\tb", "a\x7F", "\xC3\xA9"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char *header = mem_format("Idempotency-Key: %s\r\n", odd[i]);
        struct reply reply = call(kit->port, "POST", "/v1/jobs", header, http_kit_job);
        assert_int_equal(reply.status, i == 0 ? 202 : 400);
        reply_fini(&reply);
        free(header);
    }
}

static void a_replay_needs_no_instance_any_more(void **state)
{
    struct http_kit *kit = *state;
    struct reply first =
        call(kit->port, "POST", "/v1/jobs", "Idempotency-Key: k1\r\n", http_kit_job);
    char *id = json_text_of(first.body, "id");
    fake_jobs_finish(kit->jobs, id, NULL);
    struct reply gone = call(kit->port, "DELETE", "/v1/instances/sql01", NULL, NULL);
    struct reply again = call(kit->port, "POST", "/v1/jobs",
                              "Idempotency-Key: k1\r\nPrefer: wait=300\r\n", http_kit_job);
    assert_int_equal(gone.status, 204);
    assert_int_equal(again.status, 200);
    assert_non_null(strstr(again.body, id));
    assert_non_null(strstr(again.body, "succeeded"));
    reply_fini(&first);
    reply_fini(&gone);
    reply_fini(&again);
    free(id);
}

static void a_job_can_be_cancelled_once(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s/cancel", id);
    const struct line lines[] = {
        {"POST", path, NULL, NULL, 202, "cancelled"},
        {"POST", path, NULL, NULL, 409, NULL},
        {"POST", "/v1/jobs/0193a1b2-0000-7000-8000-000000000000/cancel", NULL, NULL, 404, NULL},
        {"POST", "/v1/jobs/1/cancel", NULL, NULL, 404, NULL},
    };
    SPEAK(kit->port, lines);
    free(path);
    free(id);
}

static void lists_come_in_pages(void **state)
{
    struct http_kit *kit = *state;
    struct client client = client_open(kit->port);
    char *newest = NULL;
    for (int i = 0; i < 5; i++) {
        free(newest);
        newest = http_kit_submit(kit);
    }
    char *target = mem_copy("/v1/jobs?limit=2&state=queued");
    int pages = 0;
    while (target) {
        struct reply reply = client_call(&client, "GET", target, NULL, NULL);
        assert_int_equal(reply.status, 200);
        if (pages == 0)
            assert_non_null(strstr(reply.body, newest));
        const char *link = reply_header(&reply, "Link");
        free(target);
        target = link[0] == '<' ? mem_format("%.*s", (int)strcspn(link + 1, ">"), link + 1) : NULL;
        assert_int_equal(target == NULL, strstr(reply.body, "\"next_cursor\":null") != NULL);
        pages++;
        reply_fini(&reply);
    }
    assert_int_equal(pages, 3);
    client_close(&client);
    free(newest);
}

/* How many jobs a list of these filters has. */
static int count_of(const struct http_kit *kit, const char *filters)
{
    char *target = mem_format("/v1/jobs?%s", filters);
    struct reply reply = call(kit->port, "GET", target, NULL, NULL);
    assert_int_equal(reply.status, 200);
    cJSON *list = cJSON_Parse(reply.body);
    int count = cJSON_GetArraySize(json_member(list, "items"));
    cJSON_Delete(list);
    reply_fini(&reply);
    free(target);
    return count;
}

#define LABELLED(kind, instance, labels)                                                           \
    "{\"kind\":\"" kind "\",\"instance\":\"" instance "\",\"parameters\":{},\"labels\":" labels "}"

static void each_filter_leaves_out_what_does_not_match(void **state)
{
    static const struct line made[] = {
        {"PUT", "/v1/instances/sql02", NULL, http_kit_instance, 201, NULL},
        {"POST", "/v1/jobs", NULL, LABELLED("backup_sweep", "sql01", "{\"site\":\"fra\"}"), 202,
         NULL},
        {"POST", "/v1/jobs", NULL, LABELLED("backup_sweep", "sql02", "{\"site\":\"fra:1\"}"), 202,
         NULL},
        {"POST", "/v1/jobs", NULL,
         LABELLED("trace_flag", "sql02", "{\"site\":\"ams\",\"a\":\"b\"}"), 202, NULL},
    };
    static const struct {
        const char *filters;
        int count;
    } cases[] = {
        {"state=queued", 3},    {"state=running", 0},
        {"kind=trace_flag", 1}, {"kind=backup_sweep", 2},
        {"instance=sql02", 2},  {"instance=sql02&kind=backup_sweep", 1},
        {"label=site:fra", 1},  {"label=site:fra:1", 1},
        {"label=a:b", 1},       {"label=a:b&instance=sql01", 0},
        {"label=site:lon", 0},
    };
    const struct http_kit *kit = *state;
    SPEAK(kit->port, made);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (count_of(kit, cases[i].filters) != cases[i].count)
            fail_msg("%s: %d", cases[i].filters, count_of(kit, cases[i].filters));
}

static void filters_are_checked(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    const struct line lines[] = {
        {"GET", "/v1/jobs?state=queued&kind=backup_sweep&instance=sql01", NULL, NULL, 200, id},
        {"GET", "/v1/jobs?state=failed", NULL, NULL, 200, "\"items\":[]"},
        {"GET", "/v1/jobs?since=2020-01-01T00:00:00Z", NULL, NULL, 200, id},
        {"GET", "/v1/jobs?since=2020-01-01T00:00:00+02:00", NULL, NULL, 200, id},
        {"GET", "/v1/jobs?since=2120-01-01T00:00:00Z", NULL, NULL, 200, "\"items\":[]"},
        {"GET", "/v1/jobs?label=a:b", NULL, NULL, 200, "\"items\":[]"},
        {"GET", "/v1/jobs?label=ab", NULL, NULL, 400, "\"parameter\":\"label\""},
        {"GET", "/v1/jobs?since=yesterday", NULL, NULL, 400, "\"parameter\":\"since\""},
        {"GET", "/v1/jobs?state=quued", NULL, NULL, 400, "\"parameter\":\"state\""},
        {"GET", "/v1/jobs?kind=sweep", NULL, NULL, 400, "\"parameter\":\"kind\""},
        {"GET", "/v1/trends?instance=sql01&kind=sweep", NULL, NULL, 400, "\"parameter\":\"kind\""},
        {"GET", "/v1/jobs?stat=queued", NULL, NULL, 400, "\"parameter\":\"stat\""},
        {"GET", "/v1/jobs?limit=1&limit=2", NULL, NULL, 400, "twice"},
        {"GET", "/v1/jobs?limit=0", NULL, NULL, 400, "\"parameter\":\"limit\""},
        {"GET", "/v1/jobs?limit=501", NULL, NULL, 400, NULL},
        {"GET", "/v1/jobs?limit=500", NULL, NULL, 200, NULL},
        {"GET", "/v1/jobs?limit=x", NULL, NULL, 400, NULL},
        {"GET", "/v1/jobs?cursor=x", NULL, NULL, 400, "\"parameter\":\"cursor\""},
        {"GET", "/v1/instances?cursor=X", NULL, NULL, 400, NULL},
        {"GET", "/v1/instances?&&limit=1&", NULL, NULL, 200, "sql01"},
    };
    SPEAK(kit->port, lines);
    free(id);
}

/* --- trials and reports -------------------------------------------------------------------- */

static int put_trials(struct db *db, void *arg, struct err *err)
{
    static const char *const trials[] = {
        "{\"seq\":1,\"arm\":\"a0\",\"warmup\":true,\"status\":\"ok\",\"rate_mib_s\":287.5,"
        "\"notes\":[\"a \\\"quoted\\\" one\",\"two\"],\"error\":null}",
        "{\"seq\":2,\"arm\":\"=1+2\",\"warmup\":false,\"status\":\"@x\",\"rate_mib_s\":-1,"
        "\"notes\":[],\"error\":{\"number\":3013,\"message\":\"-a,\\r\\nb\",\"step\":\"backup\"}}",
    };
    for (int i = 0; i < 2; i++)
        if (store_trial_insert(db, arg, i + 1, trials[i], err) < 0)
            return -1;
    return 0;
}

static void trials_come_as_json_or_csv(void **state)
{
    struct http_kit *kit = *state;
    struct err err;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s/trials", id);
    char *page = mem_format("%s?limit=1", path);
    assert_int_equal(store_write(kit->store, put_trials, id, &err), 0);
    const struct line lines[] = {
        {"GET", path, NULL, NULL, 200, "{\"items\":[{\"seq\":1,"},
        {"GET", page, NULL, NULL, 200, "\"next_cursor\":\"1\""},
        {"GET", "/v1/jobs/0193a1b2-0000-7000-8000-000000000000/trials", NULL, NULL, 404, NULL},
        {"GET", path, "Accept: text/markdown\r\n", NULL, 406, NULL},
    };
    SPEAK(kit->port, lines);
    struct reply reply = call(kit->port, "GET", path, "Accept: text/csv\r\n", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(
        reply.body, "seq,block,arm,warmup,status,started_at,elapsed_s,server_s,pages,bytes,"
                    "rate_mib_s,file_bytes,cpu_s,cpu_percent,create_s,error_number,error_step,"
                    "error_message,notes\r\n"
                    "1,,\"a0\",true,\"ok\",,,,,,287.5,,,,,,,,\"a \"\"quoted\"\" one; two\"\r\n"
                    "2,,\"'=1+2\",false,\"'@x\",,,,,,-1,,,,,3013,\"backup\",\"'-a,\r\nb\",\r\n");
    reply_fini(&reply);
    free(page);
    free(path);
    free(id);
}

static void a_report_is_there_when_the_job_ended(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s/report", id);
    const struct line before[] = {
        {"GET", path, NULL, NULL, 404, "no report yet: it is queued"},
        {"GET", "/v1/jobs/0193a1b2-0000-7000-8000-000000000000/report", NULL, NULL, 404,
         "no job has this id"},
    };
    SPEAK(kit->port, before);
    fake_jobs_finish(kit->jobs, id, "{\"kind\":\"backup_sweep\"}");
    const struct line after[] = {
        {"GET", path, NULL, NULL, 200, "{\"kind\""},
        {"GET", path, "Accept: text/markdown\r\n", NULL, 200, "# Report"},
        {"GET", path, "Accept: text/markdown;q=0.5, application/json\r\n", NULL, 200, "{\"kind\""},
        {"GET", path, "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n", NULL, 200,
         "<p>Report</p>"},
        {"GET", path, "If-None-Match: *\r\n", NULL, 304, ""},
    };
    SPEAK(kit->port, after);
    struct reply page = call(kit->port, "GET", path, "Accept: text/html\r\n", NULL);
    assert_string_equal(reply_header(&page, "Content-Type"), "text/html; charset=utf-8");
    assert_string_equal(reply_header(&page, "Content-Security-Policy"),
                        "default-src 'none'; frame-ancestors 'none'");
    assert_string_equal(reply_header(&page, "X-Content-Type-Options"), "nosniff");
    reply_fini(&page);
    free(path);
    free(id);
}

static void a_report_that_will_never_be_there_is_told_so(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *cancel = mem_format("/v1/jobs/%s/cancel", id);
    char *path = mem_format("/v1/jobs/%s/report", id);
    const struct line lines[] = {
        {"POST", cancel, NULL, NULL, 202, NULL},
        {"GET", path, NULL, NULL, 404, "this job ended without a report: cancelled"},
    };
    SPEAK(kit->port, lines);
    free(path);
    free(cancel);
    free(id);
}

static void an_id_may_come_in_capitals(void **state)
{
    struct http_kit *kit = *state;
    char *id = http_kit_submit(kit);
    char *path = mem_format("/v1/jobs/%s", id);
    for (char *at = path + strlen("/v1/jobs/"); *at; at++)
        if (*at >= 'a' && *at <= 'f')
            *at = (char)(*at - 'a' + 'A');
    const struct line lines[] = {
        {"GET", path, NULL, NULL, 200, id},
        {"GET", path, "Prefer: wait=0\r\n", NULL, 200, id},
    };
    SPEAK(kit->port, lines);
    free(path);
    free(id);
}

static void a_number_that_is_too_large_is_told_as_such(void **state)
{
    static const char body[] = "{\"kind\":\"backup_sweep\",\"x\":18446744073709551616}";
    const struct http_kit *kit = *state;
    const struct line lines[] = {
        {"POST", "/v1/jobs", NULL, body, 400,
         "it cannot be read: byte 28: the number 18446744073709551616 is beyond 2^53"},
        {"POST", "/v1/jobs", NULL, "{\n  kind}", 400,
         "it cannot be read: line 2, byte 3: expected"},
    };
    SPEAK(kit->port, lines);
}

/* --- many at once -------------------------------------------------------------------------- */

#define CROWD 32
#define CROWD_CALLS 25

struct crowd {
    int port;
    atomic_int created;
    atomic_int replayed;
    atomic_int failed;
};

static void *crowd_member(void *arg)
{
    struct crowd *crowd = arg;
    struct client client = client_open(crowd->port);
    for (int i = 0; i < CROWD_CALLS; i++) {
        char *key = mem_format("Idempotency-Key: crowd-%d\r\n", i);
        struct reply reply = client_call(&client, "POST", "/v1/jobs", key, http_kit_job);
        atomic_fetch_add(reply.status == 202   ? &crowd->created
                         : reply.status == 200 ? &crowd->replayed
                                               : &crowd->failed,
                         1);
        reply_fini(&reply);
        free(key);
    }
    client_close(&client);
    return NULL;
}

static void many_callers_with_one_key_get_one_job(void **state)
{
    const struct http_kit *kit = *state;
    struct crowd crowd = {.port = kit->port};
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_member, &crowd), 0);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&crowd.failed), 0);
    assert_int_equal(atomic_load(&crowd.created), CROWD_CALLS);
    assert_int_equal(atomic_load(&crowd.replayed), CROWD * CROWD_CALLS - CROWD_CALLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_job_is_accepted_with_its_address),
        HTTP_TEST(a_key_makes_a_submit_repeatable),
        HTTP_TEST(a_key_has_1_to_200_visible_characters),
        HTTP_TEST(a_replay_needs_no_instance_any_more),
        HTTP_TEST(a_job_can_be_cancelled_once),
        HTTP_TEST(lists_come_in_pages),
        HTTP_TEST(each_filter_leaves_out_what_does_not_match),
        HTTP_TEST(filters_are_checked),
        HTTP_TEST(trials_come_as_json_or_csv),
        HTTP_TEST(a_report_is_there_when_the_job_ended),
        HTTP_TEST(a_report_that_will_never_be_there_is_told_so),
        HTTP_TEST(an_id_may_come_in_capitals),
        HTTP_TEST(a_number_that_is_too_large_is_told_as_such),
        HTTP_TEST(many_callers_with_one_key_get_one_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
