/* JSON from outside and to outside: what is taken, what is refused, what is printed. */
#include "server/buf.h"
#include "server/json.h"
#include "server/limits.h"

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
        {TEXT(""), "byte 1: the text ends where a value was expected"},
        {TEXT("  "), "byte 3: "},
        {TEXT("["), "the text ends"},
        {TEXT("[1"), "expected a comma or ]"},
        {TEXT("[1,"), "the text ends"},
        {TEXT("[1,]"), "byte 4: expected a value"},
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
        {TEXT("{\n\n  \"a\" 1}"), "line 3, byte 7: "},
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
        {TEXT("1e999"), "the number 1e999 is beyond 2^53"},
        {TEXT("-1e999"), "byte 1: the number -1e999 is beyond"},
        {TEXT("9007199254740993"), "beyond 2^53"},
        {TEXT("-9007199254740993"), "beyond 2^53"},
        {TEXT("[18446744073709551617]"), "byte 2: the number 18446744073709551617 is beyond 2^53; "
                                         "give it as text, or a smaller one"},
        {TEXT("[\n\n 01]"), "line 3, byte 4: a number must not begin with 0"},
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
        char *copy = malloc(cases[i].length ? cases[i].length : 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_form_of_rfc_8259),
        cmocka_unit_test(refuses_what_is_not_json_and_says_where),
        cmocka_unit_test(bounds_depth_and_number_of_values),
        cmocka_unit_test(finds_members_by_exact_case),
        cmocka_unit_test(no_nan_or_infinity_leaves_us),
        cmocka_unit_test(foreign_bytes_do_not_make_an_answer_unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
