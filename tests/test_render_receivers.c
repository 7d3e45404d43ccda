/* What each chat service is sent, in its own shape: hostile names, limits counted as the service
 * counts, links only of ours. */
#include "jobs/render.h"
#include "server/buf.h"
#include "server/json.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#define URL "https://sweetspot.example.net"

/* Every fact a message can have is in it; a text for '@' is put everywhere a name from outside may
 * stand. */
#define EVENT                                                                                      \
    "{'type':'job.finished','timestamp':'2026-12-01T00:00:00.000Z','data':{'job':{'id':'@',"       \
    "'kind':'@','instance':'@','state':'succeeded','summary':'@',"                                 \
    "'started_at':'2026-12-01T00:00:00.000Z','finished_at':'2026-12-01T01:12:30.000Z',"            \
    "'definition':{'parameters':{'databases':['@','@']}},"                                         \
    "'error':{'number':911,'message':'@','advice':'@'}},"                                          \
    "'effects':[{'what':'@','measure':'speed','value':1.84,'low':1.79,'high':1.9,'level':0.95,"    \
    "'verdict':'faster'}],'undecided':['@'],'left_behind':[{'action':'file','object':'@'}],"       \
    "'baseline':{'job':'@','ratio':0.97,'low':0.94,'high':1,'verdict':'no_difference'},"           \
    "'recommendation':{'arm':'a2','keep_default':false,'tsql':'@'},'warnings':[]}}"

static void put_everywhere(cJSON *tree, const char *text)
{
    cJSON *child;
    cJSON_ArrayForEach(child, tree) {
        if (cJSON_IsString(child) && strcmp(child->valuestring, "@") == 0)
            (void)cJSON_SetValuestring(child, text);
        put_everywhere(child, text);
    }
}

static char *body_with(const char *format, const char *text, bool statement)
{
    struct err err = {0};
    char *body = NULL;
    cJSON *event = jobs_kit_json(EVENT);
    put_everywhere(event, text);
    if (!statement)
        jobs_kit_set(event, "/data/recommendation/tsql", NULL);
    char *payload = json_print(event);
    if (render_event(format, payload, "0193-id", URL, &body, &err) < 0)
        fail_msg("%s: %s", format, err.msg);
    free(payload);
    cJSON_Delete(event);
    return body;
}

static char *body_of(const char *format, const char *text)
{
    return body_with(format, text, true);
}

/* Without a statement, in which names stand as they are. */
static char *unquoted_body_of(const char *format, const char *text)
{
    return body_with(format, text, false);
}

static cJSON *message_of(const char *format, const char *text)
{
    struct err err = {0};
    cJSON *tree = NULL;
    char *body = body_of(format, text);
    if (json_parse(body, strlen(body), &tree, &err) < 0)
        fail_msg("%s: %s: %.300s", format, err.msg, body);
    free(body);
    return tree;
}

static const cJSON *at_path(const cJSON *tree, const char *path)
{
    char *copy = mem_copy(path);
    char *rest = copy;
    for (char *part = strsep(&rest, "/"); part && tree; part = strsep(&rest, "/"))
        tree = cJSON_IsArray(tree) ? cJSON_GetArrayItem(tree, (int)strtol(part, NULL, 10))
                                   : cJSON_GetObjectItemCaseSensitive(tree, part);
    free(copy);
    return tree;
}

static size_t utf16(const char *text)
{
    size_t count = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        count += (*at & 0xC0) == 0x80 ? 0 : *at >= 0xF0 ? 2 : 1;
    return count;
}

static const char *const chats[] = {"slack", "teams", "discord", "google_chat"};

/* --- shape ---------------------------------------------------------------------------------- */

static void each_receiver_gets_its_shape(void **state)
{
    (void)state;
    static const struct {
        const char *format, *path, *text;
    } cases[] = {
        {"slack", "blocks/0/type", "header"},
        {"slack", "blocks/0/text/text", "Sweet spot found: Sales"},
        {"slack", "blocks/3/text/text", "<" URL "/v1/jobs/0193/report|Open in Sweetspot>"},
        {"teams", "type", "message"},
        {"teams", "attachments/0/contentType", "application/vnd.microsoft.card.adaptive"},
        {"teams", "attachments/0/content/type", "AdaptiveCard"},
        {"teams", "attachments/0/content/version", "1.2"},
        {"teams", "attachments/0/content/body/0/inlines/0/text", "Sweet spot found: Sales"},
        {"teams", "attachments/0/content/body/1/inlines/0/text", "Sales"},
        {"teams", "attachments/0/content/body/2/inlines/0/text", "Instance: "},
        {"teams", "attachments/0/content/body/4/inlines/0/text", "Effect: "},
        {"teams", "attachments/0/content/body/4/inlines/1/text",
         "Sales: 1.84x the speed (95 %: 1.79 to 1.9), faster"},
        {"teams", "attachments/0/content/actions/0/url", URL "/v1/jobs/0193/report"},
        {"discord", "embeds/0/title", "Sweet spot found: Sales"},
        {"discord", "embeds/0/url", URL "/v1/jobs/0193/report"},
        {"discord", "embeds/0/description", "Sales\n```sql\nSales\n```"},
        {"discord", "embeds/0/fields/0/name", "Instance"},
        {"discord", "embeds/0/fields/1/value", "Sales, Sales"},
        {"discord", "embeds/0/fields/3/value", "Sales: 0.97x the speed (0.94 to 1), no difference"},
        {"google_chat", "cardsV2/0/card/header/title", "Sweet spot found: Sales"},
        {"google_chat", "cardsV2/0/card/sections/0/widgets/0/textParagraph/text", "Sales"},
        {"google_chat", "cardsV2/0/card/sections/0/widgets/1/decoratedText/topLabel", "Instance"},
        {"google_chat", "cardsV2/0/card/sections/0/widgets/8/decoratedText/text", "1 h 12 min"},
        {"google_chat",
         "cardsV2/0/card/sections/0/widgets/12/buttonList/buttons/0/onClick/openLink/url",
         URL "/v1/jobs/0193/report"},
        {"json", "data/url", URL "/v1/jobs/0193/report"},
        {"json", "id", "0193-id"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct err err = {0};
        char *body = NULL;
        cJSON *event = jobs_kit_json(EVENT);
        put_everywhere(event, "Sales");
        jobs_kit_set(event, "/data/job/id", "'0193'");
        char *payload = json_print(event);
        assert_int_equal(render_event(cases[i].format, payload, "0193-id", URL "/", &body, &err),
                         0);
        cJSON *message = cJSON_Parse(body);
        const char *found = cJSON_GetStringValue(at_path(message, cases[i].path));
        if (!found || strcmp(found, cases[i].text) != 0)
            fail_msg("%s %s: %s", cases[i].format, cases[i].path, body);
        cJSON_Delete(message);
        cJSON_Delete(event);
        free(payload);
        free(body);
    }
}

static void discord_may_call_nobody(void **state)
{
    (void)state;
    cJSON *message = message_of("discord", "@everyone");
    const cJSON *parse = at_path(message, "allowed_mentions/parse");
    assert_true(cJSON_IsArray(parse));
    assert_int_equal(cJSON_GetArraySize(parse), 0);
    cJSON_Delete(message);
}

/* --- hostile names -------------------------------------------------------------------------- */

static void no_name_calls_anybody_or_becomes_a_link(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *live[3]; /* what must stand in no message */
    } hostile[] = {
        {"@everyone @here @all @channel", {"@everyone", "@here", "@all"}},
        {"<!channel> <!here> <!everyone>", {"<!channel", "<!here", "<!everyone"}},
        {"<@U012AB> <@&81384788765712384> <@!42>", {"<@U", "<@&", "<@!"}},
        {"<users/all> <users/123>", {"<users/all", "<users/123", NULL}},
        {"<#C024BE7LR> <!subteam^S1|x>", {"<#C0", "<!subteam", NULL}},
        {"<at>Everyone</at>", {"<at>", "</at>", NULL}},
        {"https://evil.example/x", {"https://evil", NULL, NULL}},
        {"HTTP://EVIL.EXAMPLE", {"HTTP://EVIL", NULL, NULL}},
        {"WWW.evil.example", {"WWW.evil", NULL, NULL}},
        {"<https://evil.example|click>", {"<https://evil", "https://evil", NULL}},
        {"[click](//evil.example)", {"](//evil", NULL, NULL}},
        {"![x](https://evil.example/p.png)", {"](https", "https://evil", NULL}},
        {"<a href=\"https://evil.example\">x</a>", {"<a href", "https://evil", NULL}},
        {"<img src=x onerror=alert(1)>", {"<img", NULL, NULL}},
        {"a\n*Result:* all fine", {"\\n*Result", NULL, NULL}},
        {"\xE2\x80\xAE"
         "elas",
         {"\xE2\x80\xAE", NULL, NULL}},
        {"x\xF3\xA0\x81\x81y", {"\xF3\xA0\x81\x81", NULL, NULL}},
    };
    for (size_t c = 0; c < JSON_COUNT(chats); c++)
        for (size_t i = 0; i < JSON_COUNT(hostile); i++) {
            char *body = unquoted_body_of(chats[c], hostile[i].name);
            for (size_t l = 0; l < 3 && hostile[i].live[l]; l++)
                if (strstr(body, hostile[i].live[l]))
                    fail_msg("%s lets %s through: %s", chats[c], hostile[i].live[l], body);
            free(body);
        }
}

/* A statement stands where nothing is read as a mention; what could end that place is replaced. */
static void a_statement_cannot_leave_its_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *format, *path, *wanted;
    } cases[] = {
        {"slack", "blocks/2/text/text", "```'''&lt;!here&gt; @all```"},
        {"discord", "embeds/0/description", "?\n```sql\n'''<!here> @all\n```"},
        {"teams", "attachments/0/content/body/12/inlines/0/text", "```<!here> @all"},
        {"google_chat", "cardsV2/0/card/sections/0/widgets/11/textParagraph/text",
         "```&lt;!here&gt; @all"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        cJSON *event = jobs_kit_json(EVENT);
        char *body = NULL;
        struct err err = {0};
        put_everywhere(event, " ");
        jobs_kit_set(event, "/data/recommendation/tsql", "'```<!here> @all'");
        char *payload = json_print(event);
        assert_int_equal(render_event(cases[i].format, payload, "i", "", &body, &err), 0);
        cJSON *message = cJSON_Parse(body);
        const char *found = cJSON_GetStringValue(at_path(message, cases[i].path));
        if (!found || strcmp(found, cases[i].wanted) != 0)
            fail_msg("%s: %s", cases[i].format, body);
        cJSON_Delete(message);
        free(body);
        free(payload);
        cJSON_Delete(event);
    }
}

static void readable_names_stay_as_they_are(void **state)
{
    (void)state;
    static const char *const names[] = {"SQL-01.corp:1433 (prod), 50 %",
                                        "M\xC3\xBCller & S\xC3\xB6hne", "\xE6\x97\xA5\xE6\x9C\xAC",
                                        "a + b = c; d/e {f} $g ^h!"};
    static const char *const shown[] = {NULL, "M\xC3\xBCller &amp; S\xC3\xB6hne", NULL, NULL};
    for (size_t i = 0; i < JSON_COUNT(names); i++)
        for (size_t c = 0; c < JSON_COUNT(chats); c++) {
            bool escapes = strcmp(chats[c], "slack") == 0 || strcmp(chats[c], "google_chat") == 0;
            char *body = body_of(chats[c], names[i]);
            if (!strstr(body, escapes && shown[i] ? shown[i] : names[i]))
                fail_msg("%s: %s", chats[c], body);
            free(body);
        }
}

/* Some receivers refuse a whole message for one empty text in it. */
static void what_would_be_nothing_is_a_question_mark(void **state)
{
    (void)state;
    static const char *const nothings[] = {" ", "\t\n", "\xE2\x80\x8B", "\x01\x02",
                                           "\xE2\x80\xAE "};
    for (size_t i = 0; i < JSON_COUNT(nothings); i++) {
        cJSON *message = message_of("discord", nothings[i]);
        const cJSON *field;
        cJSON_ArrayForEach(field, at_path(message, "embeds/0/fields")) {
            const char *value = cJSON_GetStringValue(json_member(field, "value"));
            assert_true(strspn(value, " ") < strlen(value));
        }
        cJSON_Delete(message);
    }
}

/* --- limits --------------------------------------------------------------------------------- */

static void expect_most(const char *format, const cJSON *text, size_t most, size_t *sum)
{
    const char *value = cJSON_GetStringValue(text);
    assert_non_null(value);
    size_t units = utf16(value);
    if (units < 1 || units > most)
        fail_msg("%s: %zu units where %zu may be: %.200s", format, units, most, value);
    *sum += units;
}

static void check_slack(const cJSON *message, size_t bytes)
{
    size_t sum = 0;
    const cJSON *block;
    (void)bytes;
    assert_in_range(cJSON_GetArraySize(json_member(message, "blocks")), 1, 50);
    cJSON_ArrayForEach(block, json_member(message, "blocks")) {
        bool header = strcmp(cJSON_GetStringValue(json_member(block, "type")), "header") == 0;
        expect_most("slack", at_path(block, "text/text"), header ? 150 : 3000, &sum);
    }
    expect_most("slack", json_member(message, "text"), 4000, &sum);
}

static void check_bytes_20000(const cJSON *message, size_t bytes)
{
    (void)message;
    assert_in_range(bytes, 1, 20000);
}

static void check_bytes_32000(const cJSON *message, size_t bytes)
{
    assert_in_range(bytes, 1, 32000);
    assert_in_range(cJSON_GetArraySize(at_path(message, "cardsV2/0/card/sections/0/widgets")), 1,
                    100);
}

static void check_discord(const cJSON *message, size_t bytes)
{
    size_t sum = 0;
    const cJSON *embed = at_path(message, "embeds/0");
    const cJSON *field;
    (void)bytes;
    expect_most("discord", json_member(embed, "title"), 256, &sum);
    expect_most("discord", json_member(embed, "description"), 4096, &sum);
    assert_in_range(cJSON_GetArraySize(json_member(embed, "fields")), 1, 25);
    cJSON_ArrayForEach(field, json_member(embed, "fields")) {
        expect_most("discord", json_member(field, "name"), 256, &sum);
        expect_most("discord", json_member(field, "value"), 1024, &sum);
    }
    assert_in_range(sum, 1, 6000);
}

static const struct {
    const char *format;
    void (*check)(const cJSON *message, size_t bytes);
} limits[] = {
    {"slack", check_slack},
    {"teams", check_bytes_20000},
    {"discord", check_discord},
    {"google_chat", check_bytes_32000},
};

static char *repeat(const char *piece, size_t bytes)
{
    size_t length = strlen(piece);
    char *text = mem_alloc(bytes + length + 1, 1);
    for (size_t i = 0; i + length <= bytes; i += length)
        memcpy(text + i, piece, length);
    return text;
}

static void check_limits(const char *text, bool cut)
{
    for (size_t i = 0; i < JSON_COUNT(limits); i++) {
        char *body = body_of(limits[i].format, text);
        cJSON *message = message_of(limits[i].format, text);
        limits[i].check(message, strlen(body));
        if (cut && !strstr(body, "\xE2\x80\xA6"))
            fail_msg("%s does not say that it cut", limits[i].format);
        cJSON_Delete(message);
        free(body);
    }
}

static void no_limit_is_passed_by_names_of_any_kind(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "a",
        "&",
        "<",
        "@",
        "\\",
        "\"",
        "*",
        "`",
        "[x](",
        "www.",
        "://",
        "\n",
        "a\x01",
        "\xC3\xA4",
        "\xE6\x97\xA5",
        "\xF0\x9F\x98\x80",
        "<@&1>\\\"",
        "@\xF0\x9F\x98\x80",
    };
    for (size_t i = 0; i < JSON_COUNT(pieces); i++) {
        char *text = repeat(pieces[i], 100000);
        check_limits(text, true);
        free(text);
    }
}

/* Names made of what has a meaning somewhere; the same ones in each run. */
static void fill_name(struct buf *name, uint64_t *seed)
{
    static const char *const pieces[] = {
        "a", "@everyone",    "<!channel>", "<users/all>", "<@&1>", "\\",   "\xF0\x9F\x98\x80",
        "`", "\xE2\x80\xAE", "\n",         "http://e",    "](",    "www.", "&",
    };
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    size_t count = 1 + (*seed >> 33) % 300;
    buf_clear(name);
    for (size_t i = 0; i < count; i++) {
        *seed = *seed * 6364136223846793005U + 1442695040888963407U;
        buf_add(name, pieces[(*seed >> 33) % JSON_COUNT(pieces)]);
    }
}

/* 10,000 names with SWEETSPOT_TEST_LONG in the environment: half a minute of computing. */
static void names_of_chance_pass_no_limit_and_call_nobody(void **state)
{
    (void)state;
    int rounds = getenv("SWEETSPOT_TEST_LONG") ? 10000 : 500;
    static const char *const live[] = {"@everyone", "<!channel", "<users/all", "<@&1", "http://e"};
    struct buf name = {0};
    uint64_t seed = 20261201;
    for (int round = 0; round < rounds; round++) {
        fill_name(&name, &seed);
        for (size_t i = 0; i < JSON_COUNT(limits); i++) {
            char *body = body_of(limits[i].format, buf_text(&name));
            cJSON *message = cJSON_Parse(body);
            limits[i].check(message, strlen(body));
            cJSON_Delete(message);
            free(body);
            body = unquoted_body_of(limits[i].format, buf_text(&name));
            for (size_t l = 0; l < JSON_COUNT(live); l++)
                if (strstr(body, live[l]))
                    fail_msg("%s lets %s through: %s", limits[i].format, live[l], body);
            free(body);
        }
    }
    print_message("names: %d for each of %zu receivers\n", rounds, JSON_COUNT(limits));
    buf_fini(&name);
}

/* Our own event must pass what lies between: what makes it too long is left out by name. */
static void an_event_is_cut_to_what_receivers_take(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        const char *left_out; /* the first member; NULL: none */
    } cases[] = {{1000, NULL}, {20000, "/data/job/definition"}, {100000, "/data/job/definition"}};
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        char *text = repeat("a", cases[i].bytes);
        cJSON *event = jobs_kit_json(EVENT);
        struct err err = {0};
        char *body = NULL;
        put_everywhere(event, text);
        static const char *const short_ones[] = {"/data/job/id", "/data/job/kind",
                                                 "/data/job/instance"};
        for (size_t n = 0; n < JSON_COUNT(short_ones); n++)
            jobs_kit_set(event, short_ones[n], "'x'");
        char *payload = json_print(event);
        assert_int_equal(render_event("json", payload, "i", "", &body, &err), 0);
        assert_in_range(strlen(body), 1, 64 << 10);
        cJSON *sent = cJSON_Parse(body);
        const char *first = cJSON_GetStringValue(at_path(sent, "truncated/0"));
        assert_true(cases[i].left_out ? first && strcmp(first, cases[i].left_out) == 0 : !first);
        assert_string_equal(cJSON_GetStringValue(at_path(sent, "data/job/state")), "succeeded");
        cJSON_Delete(sent);
        cJSON_Delete(event);
        free(payload);
        free(body);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_receiver_gets_its_shape),
        cmocka_unit_test(discord_may_call_nobody),
        cmocka_unit_test(no_name_calls_anybody_or_becomes_a_link),
        cmocka_unit_test(a_statement_cannot_leave_its_quotes),
        cmocka_unit_test(readable_names_stay_as_they_are),
        cmocka_unit_test(what_would_be_nothing_is_a_question_mark),
        cmocka_unit_test(no_limit_is_passed_by_names_of_any_kind),
        cmocka_unit_test(names_of_chance_pass_no_limit_and_call_nobody),
        cmocka_unit_test(an_event_is_cut_to_what_receivers_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
