/* What receivers are sent: nothing from outside becomes a mention, a link or a line of its own, and
 * no limit of a receiver is passed, whatever the names are. */
#include "jobs/render.h"
#include "server/json.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENT                                                                                      \
    "{'type':'job.finished','timestamp':'2026-12-01T00:00:00.000Z','data':{'job':{'id':'0193',"    \
    "'kind':'backup_sweep','instance':'sql01','state':'succeeded','summary':'BUFFERCOUNT=100',"    \
    "'definition':{'parameters':{'database':'Sales'}},'error':null},"                              \
    "'recommendation':{'arm':'a2','keep_default':false,'tsql':'BACKUP DATABASE [Sales]'},"         \
    "'warnings':[]}}"

static cJSON *render(const cJSON *event, const char *format)
{
    char *payload = json_print(event);
    char *body = NULL;
    cJSON *tree = NULL;
    struct err err = {0};
    assert_int_equal(render_event(format, payload, "0193-id", "", &body, &err), 0);
    assert_int_equal(json_parse(body, strlen(body), &tree, &err), 0);
    free(body);
    free(payload);
    return tree;
}

static const char *text_of(const cJSON *message, int block)
{
    const cJSON *blocks = json_member(message, "blocks");
    const cJSON *text = json_member(cJSON_GetArrayItem(blocks, block), "text");
    return cJSON_GetStringValue(json_member(text, "text"));
}

/* Renders EVENT for Slack with one text replaced. */
static cJSON *slack_with(const char *pointer, const char *text)
{
    cJSON *event = jobs_kit_json(EVENT);
    char *path = mem_copy(pointer);
    char *name = strrchr(path, '/');
    jobs_kit_set(event, pointer, "''");
    *name++ = '\0';
    cJSON *parent = event;
    char *rest = path + 1;
    for (char *part = strsep(&rest, "/"); part; part = strsep(&rest, "/"))
        parent = cJSON_GetObjectItemCaseSensitive(parent, part);
    cJSON_ReplaceItemInObjectCaseSensitive(parent, name, cJSON_CreateString(text));
    cJSON *message = render(event, "slack");
    free(path);
    cJSON_Delete(event);
    return message;
}

static const char *const places[] = {
    "/data/job/summary",
    "/data/job/instance",
    "/data/job/kind",
    "/data/job/id",
    "/data/job/definition/parameters/database",
    "/data/recommendation/tsql",
};

static void sends_a_standard_webhooks_body_with_its_id(void **state)
{
    (void)state;
    cJSON *event = jobs_kit_json(EVENT);
    cJSON *body = render(event, "json");
    assert_string_equal(cJSON_GetStringValue(json_member(body, "type")), "job.finished");
    assert_string_equal(cJSON_GetStringValue(json_member(body, "timestamp")),
                        "2026-12-01T00:00:00.000Z");
    assert_string_equal(cJSON_GetStringValue(json_member(body, "id")), "0193-id");
    assert_true(cJSON_Compare(json_member(body, "data"), json_member(event, "data"), true));
    cJSON_Delete(body);
    cJSON_Delete(event);
}

static void says_the_verdict_first(void **state)
{
    (void)state;
    static const struct {
        const char *pointer, *value, *title;
    } cases[] = {
        {"/data/job/state", "'succeeded'", "Sweet spot found: sql01"},
        {"/data/recommendation/keep_default", "true", "Keep the default: sql01"},
        {"/data/recommendation", "null", "Benchmark done: sql01"},
        {"/type", "'job.cleanup_failed'", "Clean-up failed: sql01"},
        {"/type", "'instance.unreachable'", "Instance not reached: sql01"},
        {"/type", "'job.regressed'", "Slower than its baseline: sql01"},
        {"/data", "{'job':{'instance':'sql01','state':'failed'}}", "Benchmark failed: sql01"},
        {"/data", "{'job':{'instance':'sql01','state':'inconclusive'}}", "No answer: sql01"},
        {"/data", "{'job':{'instance':'sql01','state':'cancelled'}}", "Benchmark cancelled: sql01"},
        {"/data", "{'job':{'instance':'sql01','state':'timed_out'}}",
         "Benchmark out of time: sql01"},
        {"/data", "{}", "Benchmark: ?"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        cJSON *event = jobs_kit_json(EVENT);
        jobs_kit_set(event, cases[i].pointer, cases[i].value);
        cJSON *message = render(event, "slack");
        assert_string_equal(text_of(message, 0), cases[i].title);
        cJSON_Delete(message);
        cJSON_Delete(event);
    }
}

static void shows_summary_facts_and_statement(void **state)
{
    (void)state;
    cJSON *event = jobs_kit_json(EVENT);
    cJSON *message = render(event, "slack");
    assert_string_equal(text_of(message, 1),
                        "BUFFERCOUNT=100\n*Instance:* sql01\n*Database:* Sales\n"
                        "*Kind:* backup_sweep\n*Job:* 0193");
    assert_string_equal(text_of(message, 2), "```BACKUP DATABASE [Sales]```");
    assert_string_equal(cJSON_GetStringValue(json_member(message, "text")),
                        "Sweet spot found: sql01\nBUFFERCOUNT=100\n*Instance:* sql01\n"
                        "*Database:* Sales\n*Kind:* backup_sweep\n*Job:* 0193\n"
                        "```BACKUP DATABASE [Sales]```");
    cJSON_Delete(message);
    cJSON_Delete(event);
}

static void escapes_what_would_be_markup_in_every_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *forbidden;
    } cases[] = {
        {"<!channel>", "<!"}, {"<@U123>", "<@"},   {"<https://evil.example|click>", "<http"},
        {"a & b", "a & b"},   {"```x```", "```x"},
    };
    for (size_t place = 0; place < JSON_COUNT(places); place++)
        for (size_t i = 0; i < JSON_COUNT(cases); i++) {
            cJSON *message = slack_with(places[place], cases[i].text);
            char *body = json_print(message);
            assert_null(strstr(body, cases[i].forbidden));
            free(body);
            cJSON_Delete(message);
        }
}

static void calls_nobody_by_a_bare_name(void **state)
{
    (void)state;
    for (size_t place = 0; place + 1 < JSON_COUNT(places); place++) { /* but a statement: quoted */
        cJSON *message = slack_with(places[place], "@all @here @channel");
        char *body = json_print(message);
        assert_null(strstr(body, "@all"));
        assert_null(strstr(body, "@here"));
        assert_null(strstr(body, "@channel"));
        assert_non_null(strstr(body, "@\xE2\x81\xA0"
                                     "all"));
        free(body);
        cJSON_Delete(message);
    }
}

static void drops_what_is_not_seen_but_changes_what_is(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "\xE2\x80\xAE", "\xE2\x80\xAA", "\xE2\x81\xA6", "\xE2\x81\xA9", "\xE2\x80\xA8",
        "\xE2\x80\x8B", "\xE2\x80\x8E", "\xE2\x80\x8F", "\xD8\x9C",     "\xEF\xBB\xBF",
        "\xC2\x85",     "\x01",         "\x7F",         "\x1B",
    };
    for (size_t i = 0; i < JSON_COUNT(hidden); i++) {
        char *name = mem_format("ab%scd", hidden[i]);
        cJSON *message = slack_with("/data/job/definition/parameters/database", name);
        assert_non_null(strstr(text_of(message, 1), "*Database:* abcd\n"));
        cJSON_Delete(message);
        free(name);
    }
    cJSON *message = slack_with("/data/job/summary", "M\xC3\xBC"
                                                     "ller \xE2\x80\x93 \xD8\xB9 \xE2\x9C\x85");
    assert_int_equal(strncmp(text_of(message, 1),
                             "M\xC3\xBC"
                             "ller \xE2\x80\x93 \xD8\xB9 \xE2\x9C\x85\n",
                             17),
                     0);
    cJSON_Delete(message);
}

static void lets_no_name_write_a_line_of_its_own(void **state)
{
    (void)state;
    for (size_t place = 0; place + 1 < JSON_COUNT(places); place++) {
        cJSON *message = slack_with(places[place], "x\n*Result:* all fine");
        assert_null(strstr(text_of(message, 1), "\n*Result:*"));
        cJSON_Delete(message);
    }
}

/* Length in UTF-16 units, the strictest way a receiver may count. */
static size_t units(const char *text)
{
    size_t count = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        count += (*at & 0xC0) == 0x80 ? 0 : *at >= 0xF0 ? 2 : 1;
    return count;
}

static char *repeat(const char *piece, size_t bytes)
{
    size_t length = strlen(piece);
    char *text = mem_alloc(bytes + length + 1, 1);
    for (size_t i = 0; i + length <= bytes; i += length)
        memcpy(text + i, piece, length);
    return text;
}

static void keeps_to_the_limits_of_slack_for_names_of_a_mebibyte(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",        "&",           "@", "\n", "\xF0\x9F\x98\x80",
                                         "\xC3\xA4", "\xE2\x80\xAE"};
    for (size_t i = 0; i < JSON_COUNT(pieces); i++) {
        char *name = repeat(pieces[i], 1 << 20);
        cJSON *event = jobs_kit_json(EVENT);
        static const char *const members[] = {"summary", "instance", "kind", "id"};
        cJSON *data = cJSON_GetObjectItemCaseSensitive(event, "data");
        cJSON *job = cJSON_GetObjectItemCaseSensitive(data, "job");
        for (size_t m = 0; m < JSON_COUNT(members); m++)
            cJSON_ReplaceItemInObjectCaseSensitive(job, members[m], cJSON_CreateString(name));
        jobs_kit_set(event, "/data/job/definition", "{'parameters':{}}");
        cJSON *definition = cJSON_GetObjectItemCaseSensitive(job, "definition");
        cJSON_AddStringToObject(cJSON_GetObjectItemCaseSensitive(definition, "parameters"),
                                "database", name);
        cJSON_ReplaceItemInObjectCaseSensitive(
            cJSON_GetObjectItemCaseSensitive(data, "recommendation"), "tsql",
            cJSON_CreateString(name));
        cJSON *message = render(event, "slack");
        assert_in_range(units(text_of(message, 0)), 1, 150);
        assert_in_range(units(text_of(message, 1)), 1, 3000);
        assert_in_range(units(text_of(message, 2)), 1, 3000);
        assert_in_range(cJSON_GetArraySize(json_member(message, "blocks")), 1, 50);
        assert_in_range(units(cJSON_GetStringValue(json_member(message, "text"))), 1, 4000);
        cJSON_Delete(message);
        cJSON_Delete(event);
        free(name);
    }
}

static void shows_that_something_was_cut(void **state)
{
    (void)state;
    char *name = repeat("a", 5000);
    for (size_t place = 0; place < JSON_COUNT(places); place++) {
        cJSON *message = slack_with(places[place], name);
        const char *cut =
            strstr(cJSON_GetStringValue(json_member(message, "text")), "\xE2\x80\xA6");
        assert_non_null(cut);
        assert_int_equal(cut[-1], 'a');
        cJSON_Delete(message);
    }
    free(name);
}

static void fits_the_last_character_exactly(void **state)
{
    (void)state;
    char *name = repeat("a", 200);
    cJSON *message = slack_with("/data/job/definition/parameters/database", name);
    assert_null(strstr(text_of(message, 1), "\xE2\x80\xA6"));
    cJSON_Delete(message);
    free(name);
}

static void says_what_it_cannot_render(void **state)
{
    (void)state;
    char *body = NULL;
    struct err err = {0};
    assert_int_equal(render_event("slack", "{", "i", "", &body, &err), -1);
    assert_int_equal(err.code, ERR_STORE);
    assert_int_equal(render_event("pigeon", "{}", "i", "", &body, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_null(body);
    for (size_t i = 0; render_formats[i]; i++) {
        assert_int_equal(render_event(render_formats[i], "{}", "i", "", &body, &err), 0);
        free(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_a_standard_webhooks_body_with_its_id),
        cmocka_unit_test(says_the_verdict_first),
        cmocka_unit_test(shows_summary_facts_and_statement),
        cmocka_unit_test(escapes_what_would_be_markup_in_every_place),
        cmocka_unit_test(calls_nobody_by_a_bare_name),
        cmocka_unit_test(drops_what_is_not_seen_but_changes_what_is),
        cmocka_unit_test(lets_no_name_write_a_line_of_its_own),
        cmocka_unit_test(keeps_to_the_limits_of_slack_for_names_of_a_mebibyte),
        cmocka_unit_test(shows_that_something_was_cut),
        cmocka_unit_test(fits_the_last_character_exactly),
        cmocka_unit_test(says_what_it_cannot_render),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
