/* What holds for every list: 50 items unless asked otherwise, a Link to the next page, newest first
 * (trials oldest first), and pages that nothing moves which is made meanwhile. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE 50              /* when no limit is given */
#define COUNT (2 * PAGE + 3) /* three pages */
#define HOOK "{\"url\":\"http://10.1.0.1/x\",\"format\":\"json\"}"

/* --- what fills them ----------------------------------------------------------------------- */

/* What a list tells an item by; the caller frees it. */
typedef char *make_item(struct http_kit *kit, const char *job, int number);

static char *put(struct http_kit *kit, const char *folder, const char *body, int number)
{
    char *name = mem_format("n%03d", number * 37 % 211); /* the order of names is another one */
    char *target = mem_format("/v1/%s/%s", folder, name);
    struct reply reply = call(kit->port, "PUT", target, NULL, body);
    assert_int_equal(reply.status, 201);
    reply_fini(&reply);
    free(target);
    return name;
}

static char *make_instance(struct http_kit *kit, const char *job, int number)
{
    (void)job;
    return put(kit, "instances", http_kit_instance, number);
}

static char *make_webhook(struct http_kit *kit, const char *job, int number)
{
    (void)job;
    return put(kit, "webhooks", HOOK, number);
}

static char *make_job(struct http_kit *kit, const char *job, int number)
{
    (void)job;
    (void)number;
    return http_kit_submit(kit);
}

static char *make_delivery(struct http_kit *kit, const char *job, int number)
{
    (void)job;
    (void)number;
    struct reply reply = call(kit->port, "POST", "/v1/webhooks/chat/test", NULL, NULL);
    assert_int_equal(reply.status, 202);
    char *id = json_text_of(reply.body, "id");
    reply_fini(&reply);
    return id;
}

static char *make_change(struct http_kit *kit, const char *job, int number)
{
    char *id = mem_format("change-%d", number);
    char *header = mem_format("X-Request-Id: %s\r\n", id);
    struct reply reply = call(kit->port, "PUT", "/v1/webhooks/chat", header, HOOK);
    assert_int_equal(reply.status, 200);
    reply_fini(&reply);
    free(header);
    (void)job;
    return id;
}

struct trial_write {
    const char *job;
    int seq;
};

static int trial_work(struct db *db, void *arg, struct err *err)
{
    const struct trial_write *write = arg;
    char *document = mem_format("{\"seq\":%d,\"arm\":\"a%d\"}", write->seq, write->seq);
    int rc = store_trial_insert(db, write->job, write->seq, document, err);
    free(document);
    return rc;
}

static char *make_trial(struct http_kit *kit, const char *job, int number)
{
    struct err err;
    struct trial_write write = {job, number + 1};
    kit_ok(store_write(kit->store, trial_work, &write, &err), &err);
    return mem_format("a%d", number + 1);
}

static const struct list {
    const char *path; /* %s: the job */
    const char *told; /* the member that tells an item */
    make_item *make;
    bool oldest_first;
} lists[] = {
    {"/v1/jobs", "id", make_job, false},
    {"/v1/instances", "name", make_instance, false},
    {"/v1/webhooks", "name", make_webhook, false},
    {"/v1/webhooks/chat/deliveries", "id", make_delivery, false},
    {"/v1/audit", "request_id", make_change, false},
    {"/v1/jobs/%s/trials", "arm", make_trial, true},
};
#define LISTS (sizeof lists / sizeof lists[0])

/* --- reading them -------------------------------------------------------------------------- */

static cJSON *page_of(struct http_kit *kit, const char *target, char **out_next)
{
    struct reply reply = call(kit->port, "GET", target, NULL, NULL);
    if (reply.status != 200)
        fail_msg("%s: %d %s", target, reply.status, reply.body);
    const char *link = reply_header(&reply, "Link");
    size_t length = strcspn(link, ">");
    *out_next = *link ? mem_format("%.*s", (int)length - 1, link + 1) : NULL;
    if (*link)
        assert_string_equal(link + length, ">; rel=\"next\"");
    cJSON *page = cJSON_Parse(reply.body);
    const cJSON *cursor = json_member(page, "next_cursor");
    assert_int_equal(cJSON_IsString(cursor), *out_next != NULL);
    if (*out_next && !strstr(*out_next, cursor->valuestring))
        fail_msg("%s does not lead to %s", link, cursor->valuestring);
    reply_fini(&reply);
    return page;
}

/* Reads page after page by their links, and makes an item between two pages. Every item that was
 * there at first comes once and in order, and none twice. */
static void expect_all_once(struct http_kit *kit, const struct list *list, const char *path,
                            const char *job, char *const *told)
{
    char *target = mem_copy(path);
    int seen = 0;
    int pages = 0;
    for (; target; pages++) {
        char *next = NULL;
        cJSON *page = page_of(kit, target, &next);
        const cJSON *items = json_member(page, "items");
        assert_int_equal(cJSON_GetArraySize(items) <= PAGE, 1);
        if (next)
            assert_int_equal(cJSON_GetArraySize(items), PAGE);
        const cJSON *item;
        cJSON_ArrayForEach(item, items) {
            const cJSON *is = json_member(item, list->told);
            int place = list->oldest_first ? seen : COUNT - 1 - seen;
            if (seen >= COUNT)
                continue; /* older than all of ours, or made meanwhile */
            if (!cJSON_IsString(is) || strcmp(is->valuestring, told[place]) != 0)
                fail_msg("%s: item %d is %s instead of %s", path, seen,
                         cJSON_IsString(is) ? is->valuestring : "-", told[place]);
            seen++;
        }
        clock_pass_ms(1);
        free(list->make(kit, job, COUNT + pages));
        cJSON_Delete(page);
        free(target);
        target = next;
    }
    assert_int_equal(seen, COUNT);
    assert_true(pages >= 3); /* the trail is longer: it has every change */
}

static void every_list_comes_in_pages_that_nothing_moves(void **state)
{
    struct http_kit *kit = *state;
    static const struct line put_chat[] = {{"PUT", "/v1/webhooks/chat", NULL, HOOK, 201, NULL}};
    SPEAK(kit->port, put_chat);
    char *job = http_kit_submit(kit);
    for (size_t i = 0; i < LISTS; i++) {
        char *told[COUNT];
        char *path = mem_format(lists[i].oldest_first ? "/v1/jobs/%s/trials" : "%s",
                                lists[i].oldest_first ? job : lists[i].path);
        for (int number = 0; number < COUNT; number++) {
            clock_pass_ms(1);
            told[number] = lists[i].make(kit, job, number);
        }
        expect_all_once(kit, &lists[i], path, job, told);
        for (int number = 0; number < COUNT; number++)
            free(told[number]);
        free(path);
    }
    free(job);
}

static void a_link_keeps_what_was_asked_for(void **state)
{
    struct http_kit *kit = *state;
    for (int i = 0; i < 3; i++)
        free(http_kit_submit(kit));
    char *next = NULL;
    cJSON_Delete(page_of(kit, "/v1/jobs?state=queued&limit=2&kind=backup_sweep", &next));
    if (!next || strncmp(next, "/v1/jobs?state=queued&limit=2&kind=backup_sweep&cursor=", 55) != 0)
        fail_msg("%s", next ? next : "no link");
    char *last = NULL;
    cJSON_Delete(page_of(kit, next, &last));
    assert_null(last);
    free(next);
}

static void every_list_takes_a_limit_of_1_to_500(void **state)
{
    struct http_kit *kit = *state;
    static const struct line put_chat[] = {{"PUT", "/v1/webhooks/chat", NULL, HOOK, 201, NULL}};
    SPEAK(kit->port, put_chat);
    char *job = http_kit_submit(kit);
    for (size_t i = 0; i < LISTS; i++) {
        char *path =
            lists[i].oldest_first ? mem_format("/v1/jobs/%s/trials", job) : mem_copy(lists[i].path);
        char *targets[] = {mem_format("%s?limit=0", path), mem_format("%s?limit=1", path),
                           mem_format("%s?limit=500", path), mem_format("%s?limit=501", path),
                           mem_format("%s?cursor=%%20", path)};
        const struct line lines[] = {
            {"GET", targets[0], NULL, NULL, 400, "from 1 to 500"},
            {"GET", targets[1], NULL, NULL, 200, "\"items\":["},
            {"GET", targets[2], NULL, NULL, 200, "\"items\":["},
            {"GET", targets[3], NULL, NULL, 400, "\"parameter\":\"limit\""},
            {"GET", targets[4], NULL, NULL, 400, "\"parameter\":\"cursor\""},
        };
        SPEAK(kit->port, lines);
        for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++)
            free(targets[t]);
        free(path);
    }
    free(job);
}

static int set_up(void **state)
{
    clock_pass_ms(0);
    return http_kit_set_up(state);
}

static int tear_down(void **state)
{
    int rc = http_kit_tear_down(state);
    clock_reset();
    return rc;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_list_comes_in_pages_that_nothing_moves),
        TEST(a_link_keeps_what_was_asked_for),
        TEST(every_list_takes_a_limit_of_1_to_500),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
