/* A webhook's definition: faults, what may be shown and stored, and which events it wants. */
#include "jobs/event.h"
#include "jobs/webhook.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MINIMAL "{'url':'https://chat.example.net/hooks/abcdefgh','format':'slack'}"

static struct jobs_place *place_of(void **state)
{
    return *state;
}

static void refuses_each_wrong_value_where_it_stands(void **state)
{
    static const struct {
        const char *pointer, *value, *fault, *words;
    } wrongs[] = {
        {"/url", NULL, NULL, "required"},
        {"/url", "null", NULL, ""},
        {"/url", "5", NULL, "must be a URL or a reference {\"env\": NAME} or {\"file\": NAME}"},
        {"/url", "''", NULL, ""},
        {"/url", "'ftp://x/y'", NULL, "http"},
        {"/url", "'https://user:pw@x/y'", NULL, ""},
        {"/url", "{'env':'PATH'}", "/url/env", "SWEETSPOT_SECRET_"},
        {"/format", NULL, NULL, "required"},
        {"/format", "'pigeon'", NULL, "slack"},
        {"/format", "5", NULL, ""},
        {"/events", "'*'", NULL, ""},
        {"/events", "{}", NULL, ""},
        {"/secret", "5", NULL, ""},
        {"/secret", "{'file':'../x'}", "/secret/file", ""},
        {"/all_jobs", "1", NULL, ""},
        {"/events", "[]", NULL, "1 to 16"},
        {"/events", "['job.started']", "/events/0", "job.finished"},
        {"/events", "['*',5]", "/events/1", "job.finished"},
        {"/secret", "'whsec_abc'", NULL, "{\"env\": NAME}"},
        {"/secret", "{'env':'HOME'}", "/secret/env", "SWEETSPOT_SECRET_"},
        {"/all_jobs", "'yes'", NULL, ""},
        {"/channel", "'#dba'", NULL, ""},
    };
    for (size_t i = 0; i < JSON_COUNT(wrongs); i++) {
        struct webhook webhook;
        struct json_faults faults = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        jobs_kit_set(tree, wrongs[i].pointer, wrongs[i].value);
        assert_int_equal(webhook_read(tree, place_of(state)->secrets, &webhook, &faults), -1);
        jobs_kit_expect_fault(&faults, wrongs[i].fault ? wrongs[i].fault : wrongs[i].pointer,
                              wrongs[i].words);
        for (size_t f = 0; f < faults.count; f++)
            assert_null(strstr(faults.items[f].detail, "pw@"));
        json_faults_fini(&faults);
        webhook_fini(&webhook);
    }
}

static void shows_and_stores_a_url_only_redacted_and_sealed(void **state)
{
    struct webhook webhook;
    struct webhook loaded;
    struct webhook_row row = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    const struct secrets *secrets = place_of(state)->secrets;
    assert_int_equal(webhook_read(jobs_kit_json(MINIMAL), secrets, &webhook, &faults), 0);
    assert_int_equal(webhook_to_row(&webhook, "dba-chat", secrets, &row, &err), 0);
    assert_null(strstr(row.definition, "abcd"));
    assert_non_null(strstr(row.definition, "efgh"));
    assert_null(strstr(row.url_sealed, "chat.example"));
    char *plain = NULL;
    assert_int_equal(secrets_unseal(secrets, row.url_sealed, "dba-chat", &plain, &err), 0);
    assert_string_equal(plain, "https://chat.example.net/hooks/abcdefgh");
    secrets_free(plain);
    assert_int_equal(secrets_unseal(secrets, row.url_sealed, "other", &plain, &err), -1);
    assert_int_equal(webhook_load(row.definition, &loaded, &err), 0);
    assert_true(webhook_wants(&loaded, "x", EVENT_JOB_FINISHED, NULL) == false);
    assert_string_equal(loaded.format, "slack");
    webhook_fini(&loaded);
    webhook_row_fini(&row);
    webhook_fini(&webhook);
}

static void keeps_a_reference_as_it_is(void **state)
{
    struct webhook webhook;
    struct webhook loaded;
    struct webhook_row row = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    const struct secrets *secrets = place_of(state)->secrets;
    cJSON *tree = jobs_kit_json("{'url':{'env':'SWEETSPOT_SECRET_URL'},'format':'json',"
                                "'secret':{'env':'SWEETSPOT_SECRET_KEY'},'all_jobs':true}");
    assert_int_equal(webhook_read(tree, secrets, &webhook, &faults), 0);
    assert_int_equal(webhook_to_row(&webhook, "siem", secrets, &row, &err), 0);
    assert_null(row.url_sealed);
    assert_int_equal(webhook_load(row.definition, &loaded, &err), 0);
    assert_non_null(loaded.url_reference);
    assert_non_null(loaded.secret);
    assert_true(loaded.all_jobs);
    webhook_fini(&loaded);
    webhook_row_fini(&row);
    webhook_fini(&webhook);
}

static void wants_what_its_events_and_the_jobs_list_say(void **state)
{
    (void)state;
    static const struct {
        const char *events;
        bool all_jobs;
        const char *event, *notify;
        bool wants;
    } cases[] = {
        {"['job.finished']", false, "job.finished", "['w']", true},
        {"['job.finished']", false, "job.finished", "['v','w']", true},
        {"['job.finished']", false, "job.finished", "['v']", false},
        {"['job.finished']", false, "job.finished", NULL, false},
        {"['job.finished']", true, "job.finished", NULL, true},
        {"['job.finished']", true, "job.failed", NULL, false},
        {"['job.failed','job.regressed']", true, "job.regressed", NULL, true},
        {"['*']", true, "instance.unreachable", NULL, true},
        {"['*']", false, "instance.unreachable", "['w']", true},
        {"['*']", false, "instance.unreachable", "[]", false},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct webhook webhook;
        struct err err = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        jobs_kit_set(tree, "/events", cases[i].events);
        jobs_kit_set(tree, "/all_jobs", cases[i].all_jobs ? "true" : "false");
        char *text = json_print(tree);
        cJSON *notify = cases[i].notify ? jobs_kit_json(cases[i].notify) : NULL;
        assert_int_equal(webhook_load(text, &webhook, &err), 0);
        assert_int_equal(webhook_wants(&webhook, "w", cases[i].event, notify), cases[i].wants);
        webhook_fini(&webhook);
        cJSON_Delete(notify);
        cJSON_Delete(tree);
        free(text);
    }
}

static void gets_the_end_of_jobs_when_it_names_no_events(void **state)
{
    struct webhook webhook;
    struct webhook loaded;
    struct webhook_row row = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    const struct secrets *secrets = place_of(state)->secrets;
    cJSON *tree = jobs_kit_json(MINIMAL);
    jobs_kit_set(tree, "/all_jobs", "true");
    assert_int_equal(webhook_read(tree, secrets, &webhook, &faults), 0);
    assert_int_equal(webhook_to_row(&webhook, "w", secrets, &row, &err), 0);
    assert_int_equal(webhook_load(row.definition, &loaded, &err), 0);
    assert_true(webhook_wants(&loaded, "w", EVENT_JOB_FINISHED, NULL));
    assert_false(webhook_wants(&loaded, "w", EVENT_JOB_FAILED, NULL));
    webhook_fini(&loaded);
    webhook_row_fini(&row);
    webhook_fini(&webhook);
}

static void says_what_it_cannot_read_in_a_stored_webhook(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "{}", "{\"url\":\"x\",\"format\":\"pigeon\"}"};
    for (size_t i = 0; i < JSON_COUNT(texts); i++) {
        struct webhook webhook;
        struct err err = {0};
        assert_int_equal(webhook_load(texts[i], &webhook, &err), -1);
        assert_int_equal(err.code, ERR_STORE);
    }
}

static void names_every_event(void **state)
{
    (void)state;
    static const char *const events[] = {EVENT_JOB_FINISHED, EVENT_JOB_FAILED, EVENT_JOB_REGRESSED,
                                         EVENT_CLEANUP_FAILED, EVENT_INSTANCE_UNREACHABLE};
    for (size_t i = 0; i < JSON_COUNT(events); i++) {
        assert_true(event_is_known(events[i]));
        assert_non_null(strstr(event_names(), events[i]));
    }
    assert_true(event_is_known("*"));
    assert_false(event_is_known("job"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(refuses_each_wrong_value_where_it_stands),
        JOBS_TEST(shows_and_stores_a_url_only_redacted_and_sealed),
        JOBS_TEST(keeps_a_reference_as_it_is),
        cmocka_unit_test(wants_what_its_events_and_the_jobs_list_say),
        JOBS_TEST(gets_the_end_of_jobs_when_it_names_no_events),
        cmocka_unit_test(says_what_it_cannot_read_in_a_stored_webhook),
        cmocka_unit_test(names_every_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
