/* JSON from outside: what is taken, what is refused, and what the person who wrote it is told. */
#include "server/buf.h"
#include "server/json.h"
#include "server/json_scan.h"
#include "server/limits.h"
#include "server/mem.h"
#include "server/suggest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A text with its length, since some hold a NUL. */
#define TEXT(literal) literal, sizeof(literal) - 1

static void takes_every_form_of_rfc_8259(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *printed;
    } cases[] = {
        {TEXT("null"), "null"},
        {TEXT("true"), "true"},
        {TEXT("false"), "false"},
        {TEXT("0"), "0"},
        {TEXT("-0"), "-0"},
        {TEXT("-12.5e-1"), "-1.25"},
        {TEXT("1E+2"), "100"},
        {TEXT("123e45"), "1.23e+47"},
        {TEXT("1e-999"), "0"},
        {TEXT("9007199254740992"), "9007199254740992"},
        {TEXT("-9007199254740992"), "-9007199254740992"},
        {TEXT("-9007199254740991"), "-9007199254740991"},
        {TEXT("{\"seed\":8007199254740993}"), "{\"seed\":8007199254740993}"},
        {TEXT("12666666666666666.2"), "1.2666666666666666e+16"},
        {TEXT("\"\""), "\"\""},
        {TEXT(" \t\r\n[ ] \t\r\n"), "[]"},
        {TEXT("{}"), "{}"},
        {TEXT("{\"\":0,\"a\":[1,{\"b\":null}]}"), "{\"\":0,\"a\":[1,{\"b\":null}]}"},
        {TEXT("{\"a\":1,\"A\":2}"), "{\"a\":1,\"A\":2}"},
        {TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {TEXT("\"\\u0041\\u00e9\\uD834\\udd1e\""), "\"A\xC3\xA9\xF0\x9D\x84\x9E\""},
        {TEXT("\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\""),
         "\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\""},
        {TEXT("\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\x7F\""),
         "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\x7F\""},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        cJSON *tree = NULL;
        struct err err = {0};
        if (json_parse(cases[i].text, cases[i].length, &tree, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.msg);
        char *printed = json_print(tree);
        assert_string_equal(printed, cases[i].printed);
        free(printed);
        cJSON_Delete(tree);
    }
}

static void refuses_what_is_not_json_and_says_where(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *told; /* a part of the message */
    } cases[] = {
        /* structure */
        {TEXT(""), "at byte 0 (line 1, byte 1 of it): the text ends where a value was expected"},
        {TEXT("  "), "at byte 2"},
        {TEXT("["), "the text ends"},
        {TEXT("[1"), "expected a comma or ]"},
        {TEXT("[1,"), "the text ends"},
        {TEXT("[1,]"), "at byte 3 (line 1, byte 4 of it): expected a value"},
        {TEXT("[,1]"), "expected a value"},
        {TEXT("[1 2]"), "expected a comma or ]"},
        {TEXT("[1:2]"), "expected a comma or ]"},
        {TEXT("]"), "expected a value"},
        {TEXT("{"), "expected the name of a member in double quotes"},
        {TEXT("{\"a\"}"), "expected a colon"},
        {TEXT("{\"a\":}"), "expected a value"},
        {TEXT("{\"a\":1,}"), "expected the name of a member"},
        {TEXT("{\"a\":1 \"b\":2}"), "expected a comma or }"},
        {TEXT("{\"a\":1]"), "expected a comma or }"},
        {TEXT("{a:1}"), "expected the name of a member"},
        {TEXT("{'a':1}"), "expected the name of a member"},
        {TEXT("{1:1}"), "expected the name of a member"},
        {TEXT("{\n\n  \"a\" 1}"), "(line 3, byte 7 of it)"},
        {TEXT("1 2"), "something follows the value"},
        {TEXT("{}}"), "something follows the value"},
        {TEXT("[]\0"), "something follows the value"},
        {TEXT("null\x00\x01"), "something follows the value"},
        {TEXT("[1]//x"), "something follows the value"},
        {TEXT("/* x */[1]"), "expected a value"},
        {TEXT("\f[]"), "expected a value"},
        {TEXT("\x01[]"), "expected a value"},
        {TEXT("\xC2\xA0[]"), "expected a value"},
        {TEXT("\xEF\xBB\xBF{}"), "a byte order mark is not allowed"},
        {TEXT("\xFE\xFF\0{\0}"), "expected a value"},
        /* words */
        {TEXT("nul"), "expected a value"},
        {TEXT("True"), "expected a value"},
        {TEXT("truth"), "expected a value"},
        {TEXT("NaN"), "expected a value"},
        {TEXT("Infinity"), "expected a value"},
        {TEXT("undefined"), "expected a value"},
        /* numbers */
        {TEXT("01"), "a number must not begin with 0"},
        {TEXT("-01"), "a number must not begin with 0"},
        {TEXT("+1"), "expected a value"},
        {TEXT(".5"), "expected a value"},
        {TEXT("-"), "a digit is missing"},
        {TEXT("-NaN"), "a digit is missing"},
        {TEXT("1."), "a digit is missing after the point"},
        {TEXT("1.e1"), "a digit is missing after the point"},
        {TEXT("1e"), "a digit is missing in the exponent"},
        {TEXT("1e+"), "a digit is missing in the exponent"},
        {TEXT("0x10"), "something follows the value"},
        {TEXT("1_000"), "something follows the value"},
        {TEXT("1e999"), "a number too large"},
        {TEXT("-1e999"), "a number too large"},
        {TEXT("9007199254740993"), "beyond 2^53"},
        {TEXT("-9007199254740993"), "beyond 2^53"},
        {TEXT("18446744073709551617"), "beyond 2^53"},
        {TEXT("0."
              "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
              "000000000000000000000000000000000000000000000001"),
         "more than 127 characters"},
        /* strings */
        {TEXT("\"a"), "the text ends inside a string"},
        {TEXT("\"a\\"), "unknown escape"},
        {TEXT("\"\\x41\""), "unknown escape"},
        {TEXT("\"\\'\""), "unknown escape"},
        {TEXT("\"\\\0\""), "unknown escape"},
        {TEXT("\"\\u12\""), "four hexadecimal digits"},
        {TEXT("\"\\uqqqq\""), "four hexadecimal digits"},
        {TEXT("\"\\u0000\""), "the character NUL"},
        {TEXT("\"x\0y\""), "a control character"},
        {TEXT("\"a\tb\""), "a control character"},
        {TEXT("\"a\nb\""), "a control character"},
        {TEXT("\"\x1F\""), "a control character"},
        {TEXT("\"\\uD800\""), "a high surrogate"},
        {TEXT("\"\\uD800x\""), "a high surrogate"},
        {TEXT("\"\\uD800\\n\""), "a high surrogate"},
        {TEXT("\"\\uD800\\u0041\""), "a high surrogate"},
        {TEXT("\"\\uD800\\uD800\""), "a high surrogate"},
        {TEXT("\"\\uDC00\""), "a low surrogate"},
        /* UTF-8 */
        {TEXT("\"\x80\""), "invalid UTF-8"},
        {TEXT("\"\xC0\x80\""), "invalid UTF-8"},
        {TEXT("\"\xC1\xBF\""), "invalid UTF-8"},
        {TEXT("\"\xC3\""), "invalid UTF-8"},
        {TEXT("\"\xC3"), "invalid UTF-8"},
        {TEXT("\"\xE0\x80\x80\""), "invalid UTF-8"},
        {TEXT("\"\xE2\x82\""), "invalid UTF-8"},
        {TEXT("\"\xED\xA0\x80\""), "invalid UTF-8"},
        {TEXT("\"\xF0\x8F\xBF\xBF\""), "invalid UTF-8"},
        {TEXT("\"\xF4\x90\x80\x80\""), "invalid UTF-8"},
        {TEXT("\"\xFC\x80\x80\x80\x80\x80\""), "invalid UTF-8"},
        {TEXT("\"\xE9\""), "invalid UTF-8"},
        /* members */
        {TEXT("{\"a\":1,\"a\":1}"), "the member \"a\" stands twice"},
        {TEXT("{\"a\":1,\"\\u0061\":2}"), "the member \"a\" stands twice"},
        {TEXT("[{\"b\":{\"x\":1,\"y\":2,\"x\":3}}]"), "the member \"x\" stands twice"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        cJSON *tree = NULL;
        struct err err = {0};
        /* an exact copy: the address sanitizer then sees a read beyond its end */
        char *copy = malloc(cases[i].length);
        memcpy(copy, cases[i].text, cases[i].length);
        if (json_parse(copy, cases[i].length, &tree, &err) == 0)
            fail_msg("%s was taken", cases[i].text);
        free(copy);
        assert_null(tree);
        assert_int_equal(err.code, ERR_INPUT);
        if (!strstr(err.msg, cases[i].told))
            fail_msg("%s: %s", cases[i].text, err.msg);
    }
}

static bool repeated_is_taken(const char *before, const char *part, size_t times, const char *after)
{
    struct buf text = {0};
    cJSON *tree = NULL;
    buf_add(&text, before);
    for (size_t i = 0; i < times; i++)
        buf_add(&text, part);
    buf_add(&text, after);
    bool taken = json_parse(buf_text(&text), text.length, &tree, NULL) == 0;
    cJSON_Delete(tree);
    buf_fini(&text);
    return taken;
}

static void bounds_depth_and_number_of_values(void **state)
{
    (void)state;
    char closing[LIMIT_JSON_DEPTH + 2] = "";
    memset(closing, ']', LIMIT_JSON_DEPTH + 1);
    assert_true(repeated_is_taken("", "[", LIMIT_JSON_DEPTH, closing + 1));
    assert_false(repeated_is_taken("", "[", LIMIT_JSON_DEPTH + 1, closing));
    assert_false(repeated_is_taken("", "[", LIMIT_BODY_BYTES, ""));
    assert_false(repeated_is_taken("", "{\"a\":", LIMIT_BODY_BYTES / 5, ""));
    assert_true(repeated_is_taken("[0", ",1", LIMIT_JSON_TOKENS - 2, "]"));
    assert_false(repeated_is_taken("[0", ",1", LIMIT_JSON_TOKENS - 1, "]"));
}

static void finds_members_by_exact_case(void **state)
{
    (void)state;
    cJSON *tree = NULL;
    assert_int_equal(json_parse(TEXT("{\"A\":1}"), &tree, NULL), 0);
    assert_null(json_member(tree, "a"));
    assert_non_null(json_member(tree, "A"));
    cJSON_Delete(tree);
}

/* --- field tables -------------------------------------------------------------------------- */

struct sample {
    const char *kind;
    int64_t repetitions;
    int64_t any_int;
    double tolerance;
    bool confirm;
    const cJSON *list;
    const cJSON *labels;
    const cJSON *anything;
    const char *name;
    int64_t minutes;
};

static const char *const sample_kinds[] = {"backup_sweep", "trace_flag", NULL};
static const struct json_field sample_limits[] = {
    {"minutes", JSON_INT, offsetof(struct sample, minutes), .required = true, .min = 1, .max = 240},
};
static const struct json_field sample_fields[] = {
    {"kind", JSON_TEXT, offsetof(struct sample, kind), .required = true, .choices = sample_kinds},
    {"repetitions", JSON_INT, offsetof(struct sample, repetitions), .min = 1, .max = 100},
    {"any_int", JSON_INT, offsetof(struct sample, any_int)},
    {"tolerance", JSON_NUMBER, offsetof(struct sample, tolerance), .min = 0, .max = 0.5},
    {"confirm", JSON_BOOL, offsetof(struct sample, confirm)},
    {"list", JSON_ARRAY, offsetof(struct sample, list), .min = 1, .max = 3},
    {"labels", JSON_OBJECT, offsetof(struct sample, labels)},
    {"anything", JSON_ANY, offsetof(struct sample, anything), .nullable = true},
    {"name", JSON_TEXT, offsetof(struct sample, name), .nullable = true, .min = 2, .max = 4},
    {"limits", JSON_OBJECT, JSON_NO_OFFSET, .fields = sample_limits, .field_count = 1},
};

/* Reads text by the table; the caller frees tree and faults. */
static cJSON *read_sample(const char *text, struct sample *out, struct json_faults *faults)
{
    cJSON *tree = NULL;
    struct err err = {0};
    if (json_parse(text, strlen(text), &tree, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    json_read(tree, sample_fields, JSON_COUNT(sample_fields), "", out, faults);
    return tree;
}

static void fills_a_struct_and_keeps_the_defaults_of_what_is_absent(void **state)
{
    (void)state;
    struct sample out = {.repetitions = 5, .tolerance = 0.02, .minutes = 120, .name = "default"};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("{\"kind\":\"trace_flag\",\"any_int\":-9007199254740992,"
                              "\"confirm\":true,\"list\":[1,2],\"labels\":{\"a\":\"b\"},"
                              "\"anything\":null,\"name\":null,\"limits\":{\"minutes\":2.4e2}}",
                              &out, &faults);
    assert_int_equal(faults.count, 0);
    assert_string_equal(out.kind, "trace_flag");
    assert_true(out.any_int == -INT64_C(9007199254740992));
    assert_true(out.repetitions == 5 && out.minutes == 240 && out.confirm);
    assert_true(out.tolerance > 0.019 && out.tolerance < 0.021);
    assert_int_equal(cJSON_GetArraySize(out.list), 2);
    assert_non_null(json_member(out.labels, "a"));
    assert_null(out.anything);
    assert_string_equal(out.name, "default");
    cJSON_Delete(tree);
}

static void names_the_place_and_the_limit_of_each_wrong_value(void **state)
{
    (void)state;
    static const struct {
        const char *member; /* beside a good kind */
        const char *pointer;
        const char *detail;
    } cases[] = {
        {"\"repetitions\":0", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":101", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":1.5", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":\"5\"", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":null", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":true", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"any_int\":1e16", "/any_int", "must be a whole number up to 2^53"},
        {"\"any_int\":[]", "/any_int", "must be a whole number up to 2^53"},
        {"\"tolerance\":0.51", "/tolerance", "must be a number from 0 to 0.5"},
        {"\"tolerance\":-1e-9", "/tolerance", "must be a number from 0 to 0.5"},
        {"\"tolerance\":\"x\"", "/tolerance", "must be a number from 0 to 0.5"},
        {"\"confirm\":1", "/confirm", "must be true or false"},
        {"\"confirm\":\"true\"", "/confirm", "must be true or false"},
        {"\"list\":[]", "/list", "must be a list of 1 to 3 items"},
        {"\"list\":[1,2,3,4]", "/list", "must be a list of 1 to 3 items"},
        {"\"list\":{}", "/list", "must be a list of 1 to 3 items"},
        {"\"labels\":[]", "/labels", "must be an object"},
        {"\"labels\":\"a\"", "/labels", "must be an object"},
        {"\"name\":\"\xC3\xA9\"", "/name", "must be a text of 2 to 4 characters, or null"},
        {"\"name\":\"abcde\"", "/name", "must be a text of 2 to 4 characters, or null"},
        {"\"name\":7", "/name", "must be a text of 2 to 4 characters, or null"},
        {"\"limits\":7", "/limits", "must be an object"},
        {"\"limits\":null", "/limits", "must be an object"},
        {"\"limits\":{}", "/limits/minutes", "is required"},
        {"\"limits\":{\"minutes\":0}", "/limits/minutes", "must be a whole number from 1 to 240"},
        {"\"limits\":{\"minutes\":1,\"minute\":1}", "/limits/minute",
         "is unknown; did you mean \"minutes\"?"},
        {"\"repetition\":5", "/repetition", "is unknown; did you mean \"repetitions\"?"},
        {"\"Kind\":5", "/Kind", "is unknown; did you mean \"kind\"?"},
        {"\"a/b~c\":5", "/a~1b~0c",
         "is unknown; known here: \"kind\", \"repetitions\", \"any_int\", \"tolerance\", "
         "\"confirm\", \"list\", \"labels\", \"anything\", \"name\", \"limits\""},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct sample out = {.repetitions = 5, .name = "kept"};
        struct json_faults faults = {0};
        char *text = mem_format("{\"kind\":\"trace_flag\",%s}", cases[i].member);
        cJSON *tree = read_sample(text, &out, &faults);
        assert_int_equal(faults.count, 1);
        assert_string_equal(faults.items[0].pointer, cases[i].pointer);
        assert_string_equal(faults.items[0].detail, cases[i].detail);
        assert_true(out.repetitions == 5 && !out.confirm && !out.list && !out.labels);
        assert_string_equal(out.name, "kept");
        json_faults_fini(&faults);
        cJSON_Delete(tree);
        free(text);
    }
}

static void tells_all_faults_at_once(void **state)
{
    (void)state;
    struct sample out = {0};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("{\"knid\":1,\"confirm\":3,\"limits\":{}}", &out, &faults);
    assert_int_equal(faults.count, 4);
    assert_string_equal(faults.items[0].detail, "is unknown; did you mean \"kind\"?");
    assert_string_equal(faults.items[1].pointer, "/kind");
    assert_string_equal(faults.items[1].detail, "is required");
    assert_string_equal(faults.items[2].pointer, "/confirm");
    assert_string_equal(faults.items[3].pointer, "/limits/minutes");
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void suggests_the_nearest_choice(void **state)
{
    (void)state;
    struct sample out = {0};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("{\"kind\":\"backup-swep\"}", &out, &faults);
    assert_int_equal(faults.count, 1);
    assert_string_equal(faults.items[0].detail, "must be one of \"backup_sweep\", \"trace_flag\"; "
                                                "did you mean \"backup_sweep\"?");
    assert_null(out.kind);
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void describes_open_ranges(void **state)
{
    (void)state;
    static const struct json_field fields[] = {
        {"low", JSON_INT, JSON_NO_OFFSET, .min = 1, .max = INFINITY},
        {"high", JSON_NUMBER, JSON_NO_OFFSET, .min = -INFINITY, .max = 7},
        {"text", JSON_TEXT, JSON_NO_OFFSET, .max = 3},
        {"pair", JSON_ARRAY, JSON_NO_OFFSET, .min = 2, .max = 2},
    };
    static const char *const details[] = {
        "must be a whole number of at least 1",
        "must be a number of at most 7",
        "must be a text of at most 3 characters",
        "must be a list of exactly 2 items",
    };
    struct json_faults faults = {0};
    cJSON *tree = NULL;
    assert_int_equal(
        json_parse(TEXT("{\"low\":0,\"high\":8,\"text\":\"long\",\"pair\":[]}"), &tree, NULL), 0);
    json_read(tree, fields, JSON_COUNT(fields), "", NULL, &faults);
    assert_int_equal(faults.count, JSON_COUNT(details));
    for (size_t i = 0; i < faults.count; i++)
        assert_string_equal(faults.items[i].detail, details[i]);
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void refuses_anything_but_an_object(void **state)
{
    (void)state;
    struct sample out = {0};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("[]", &out, &faults);
    assert_int_equal(faults.count, 1);
    assert_string_equal(faults.items[0].pointer, "");
    assert_string_equal(faults.items[0].detail, "must be an object");
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void keeps_a_handful_of_faults(void **state)
{
    (void)state;
    struct buf text = {0};
    struct sample out = {0};
    struct json_faults faults = {0};
    buf_add(&text, "{\"kind\":\"trace_flag\"");
    for (int i = 0; i < 2 * LIMIT_JSON_FAULTS; i++)
        buf_format(&text, ",\"x%d\":0", i);
    buf_add(&text, "}");
    cJSON *tree = read_sample(buf_text(&text), &out, &faults);
    assert_int_equal(faults.count, LIMIT_JSON_FAULTS);
    json_faults_fini(&faults);
    cJSON_Delete(tree);
    buf_fini(&text);
}

static void pointers_live_until_the_fourth_later_call(void **state)
{
    (void)state;
    const char *first = json_pointer("", "parameters");
    const char *second = json_pointer(first, "a~/b");
    const char *third = json_pointer_index(second, 3);
    const char *fourth = json_pointer_index("", 0);
    assert_string_equal(first, "/parameters");
    assert_string_equal(second, "/parameters/a~0~1b");
    assert_string_equal(third, "/parameters/a~0~1b/3");
    assert_string_equal(fourth, "/0");
}

static void a_long_pointer_is_cut_at_a_character(void **state)
{
    (void)state;
    char name[1000] = "";
    for (int i = 0; i < 300; i++)
        memcpy(name + 3 * i, "\xE6\x97\xA5", 4);
    const char *pointer = json_pointer("", name);
    assert_int_equal(strlen(pointer), 1 + 166 * 3);
    assert_string_equal(json_pointer(pointer, name), json_pointer(pointer, name));
}

/* --- output -------------------------------------------------------------------------------- */

static void no_nan_or_infinity_leaves_us(void **state)
{
    (void)state;
    cJSON *list = cJSON_CreateArray();
    cJSON_AddItemToArray(list, json_number(1.5));
    cJSON_AddItemToArray(list, json_number((double)NAN));
    cJSON_AddItemToArray(list, json_number((double)-INFINITY));
    cJSON_AddItemToArray(list, json_rounded((double)NAN, 3));
    cJSON_AddItemToArray(list, json_rounded(1234567.0, 3));
    cJSON_AddItemToArray(list, json_rounded(0.123456, 3));
    cJSON_AddItemToArray(list, json_rounded(9007199254740991.0, 17));
    char *text = json_print(list);
    assert_string_equal(text, "[1.5,null,null,null,1230000,0.123,9007199254740991]");
    free(text);
    cJSON_Delete(list);
}

static void foreign_bytes_do_not_make_an_answer_unreadable(void **state)
{
    (void)state;
    cJSON *list = cJSON_CreateArray();
    cJSON_AddItemToArray(list, json_text(NULL));
    cJSON_AddItemToArray(list, json_text("\xC3\xA9\x01\""));
    cJSON_AddItemToArray(list, json_text("a\xFFz\xC3"));
    char *text = json_print(list);
    assert_string_equal(text, "[null,\"\xC3\xA9\\u0001\\\"\",\"a\xEF\xBF\xBDz\xEF\xBF\xBD\"]");
    free(text);
    cJSON_Delete(list);
}

static void suggests_only_what_is_near(void **state)
{
    (void)state;
    static const struct {
        const char *wrong;
        const char *best; /* of submit, report, watch, cancel */
    } cases[] = {
        {"sumbit", "submit"},  {"SUBMIT", "submit"}, {"repot", "report"}, {"cancle", "cancel"},
        {"wach", "watch"},     {"delete", NULL},     {"", NULL},          {"x", NULL},
        {"reports", "report"}, {"subscribe", NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct suggest suggest = SUGGEST_FOR(cases[i].wrong);
        suggest_offer(&suggest, "submit");
        suggest_offer(&suggest, "report");
        suggest_offer(&suggest, "watch");
        suggest_offer(&suggest, "cancel");
        if (cases[i].best)
            assert_string_equal(suggest.best, cases[i].best);
        else
            assert_null(suggest.best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_form_of_rfc_8259),
        cmocka_unit_test(refuses_what_is_not_json_and_says_where),
        cmocka_unit_test(bounds_depth_and_number_of_values),
        cmocka_unit_test(finds_members_by_exact_case),
        cmocka_unit_test(fills_a_struct_and_keeps_the_defaults_of_what_is_absent),
        cmocka_unit_test(names_the_place_and_the_limit_of_each_wrong_value),
        cmocka_unit_test(tells_all_faults_at_once),
        cmocka_unit_test(suggests_the_nearest_choice),
        cmocka_unit_test(describes_open_ranges),
        cmocka_unit_test(refuses_anything_but_an_object),
        cmocka_unit_test(keeps_a_handful_of_faults),
        cmocka_unit_test(pointers_live_until_the_fourth_later_call),
        cmocka_unit_test(a_long_pointer_is_cut_at_a_character),
        cmocka_unit_test(no_nan_or_infinity_leaves_us),
        cmocka_unit_test(foreign_bytes_do_not_make_an_answer_unreadable),
        cmocka_unit_test(suggests_only_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
