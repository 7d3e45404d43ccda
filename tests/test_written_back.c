/* What GET shows of an instance or a webhook may be changed and PUT back. */
#include "server/json.h"
#include "server/store_rows.h"
#include "tests/http_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void an_instance_that_was_read_may_be_written_back(void **state)
{
    const struct http_kit *kit = *state;
    struct reply got = call(kit->port, "GET", "/v1/instances/sql01", NULL, NULL);
    struct reply put = call(kit->port, "PUT", "/v1/instances/sql01", NULL, got.body);
    assert_int_equal(put.status, 200);
    reply_fini(&put);
    put = call(kit->port, "PUT", "/v1/instances/other", NULL, got.body);
    assert_int_equal(put.status, 400); /* its name says sql01 */
    assert_non_null(strstr(put.body, "/name must be \\\"other\\\", as in the path"));
    assert_null(strstr(put.body, "more"));
    reply_fini(&put);
    reply_fini(&got);
}

static int sealed_of(struct db *db, void *arg, struct err *err)
{
    return store_webhook_get(db, "chat", arg, err);
}

/* The URL that deliveries of the webhook "chat" go to. */
static void expect_url(const struct http_kit *kit, const char *url)
{
    struct err err;
    struct webhook_row row = {0};
    char *plain = NULL;
    assert_int_equal(store_read(kit->parts.store, sealed_of, &row, &err), 0);
    assert_int_equal(secrets_unseal(kit->parts.secrets, row.url_sealed, "chat", &plain, &err), 0);
    assert_string_equal(plain, url);
    secrets_free(plain);
    webhook_row_fini(&row);
}

/* The URL is shown cut; written back so it stays what it was. */
static void a_webhook_that_was_read_may_be_written_back(void **state)
{
    static const char url[] = "https://chat.example.net:8443/hooks/abcdefgh";
    static const char hook[] = "{\"url\":\"https://chat.example.net:8443/hooks/abcdefgh\","
                               "\"format\":\"slack\"}";
    const struct http_kit *kit = *state;
    const struct line made[] = {{"PUT", "/v1/webhooks/chat", NULL, hook, 201, NULL}};
    SPEAK(kit->port, made);
    struct reply got = call(kit->port, "GET", "/v1/webhooks/chat", NULL, NULL);
    cJSON *tree = cJSON_Parse(got.body);
    cJSON_ReplaceItemInObjectCaseSensitive(tree, "all_jobs", cJSON_CreateTrue());
    char *edited = json_print(tree);
    cJSON_ReplaceItemInObjectCaseSensitive(
        tree, "url", cJSON_CreateString("https://elsewhere.example.net/…efgh"));
    cJSON_ReplaceItemInObjectCaseSensitive(tree, "name", cJSON_CreateNumber(5));
    char *wrong = json_print(tree);
    cJSON_ReplaceItemInObjectCaseSensitive(tree, "name", cJSON_CreateString("chat"));
    char *moved = json_print(tree);
    cJSON_ReplaceItemInObjectCaseSensitive(tree, "name", cJSON_CreateString("other"));
    char *other = json_print(tree);
    const struct line lines[] = {
        {"PUT", "/v1/webhooks/chat", NULL, edited, 200, "\"all_jobs\":true"},
        {"GET", "/v1/webhooks/chat", NULL, NULL, 200, "https://chat.example.net/…efgh"},
        {"PUT", "/v1/webhooks/chat", NULL, wrong, 400,
         "/name must be \\\"chat\\\", as in the path"},
        {"PUT", "/v1/webhooks/chat", NULL, moved, 400, "/url is cut as GET shows it"},
        {"PUT", "/v1/webhooks/other", NULL, other, 400, "/url is cut as GET shows it"},
    };
    SPEAK(kit->port, lines);
    expect_url(kit, url);
    free(other);
    free(moved);
    free(wrong);
    free(edited);
    cJSON_Delete(tree);
    reply_fini(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(an_instance_that_was_read_may_be_written_back),
        HTTP_TEST(a_webhook_that_was_read_may_be_written_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
