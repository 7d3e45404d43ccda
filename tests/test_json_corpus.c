/* Texts that a parser of JSON must refuse, and texts that it must take: one of each kind that the
 * best-known public suite of such texts has (188 and 95). The texts are our own. */
#include "server/buf.h"
#include "server/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REFUSED_KINDS 188
#define TAKEN_KINDS 95

struct text {
    const char *kind;
    const char *bytes;
    size_t length;    /* some hold a NUL */
    const char *rule; /* it is JSON, but a rule of ours refuses it with these words */
};

#define TEXT(literal) literal, sizeof(literal) - 1

/* clang-format off */
static const struct text refused[] = {
    /* arrays */
    {"two values without a comma",          TEXT("[7 false]")},
    {"a letter and a cut sequence",         TEXT("[b\xE6]")},
    {"a colon for a comma",                 TEXT("[\"x\": 2]")},
    {"a comma after the end",               TEXT("[\"x\"],")},
    {"a comma before a number",             TEXT("[,7]")},
    {"two commas",                          TEXT("[7,,8]")},
    {"two commas at the end",               TEXT("[\"y\",,]")},
    {"closed twice",                        TEXT("[\"y\"]]")},
    {"a comma at the end",                  TEXT("[\"y\",]")},
    {"not closed",                          TEXT("[\"y\"")},
    {"not closed behind a letter",          TEXT("[y")},
    {"an array behind a number",            TEXT("[7[8]]")},
    {"a byte that is no UTF-8",             TEXT("[\xFE]")},
    {"a semicolon for a comma",             TEXT("[7;8]")},
    {"only a comma",                        TEXT("[,]")},
    {"only a minus",                        TEXT("[-]")},
    {"a value is missing",                  TEXT("[   , \"z\"]")},
    {"not closed over lines",               TEXT("[\"b\",\n5\n,7,")},
    {"a number and a comma",                TEXT("[7,]")},
    {"a number and commas",                 TEXT("[7,,]")},
    {"vertical tab and form feed",          TEXT("[\"\vb\"\f]")},
    {"a star",                              TEXT("[*]")},
    {"not closed, empty text",              TEXT("[\"\"")},
    {"not closed behind a comma",           TEXT("[7,")},
    {"not closed, numbers on lines",        TEXT("[7,\n8\n,9")},
    {"not closed behind an object",         TEXT("[{\"k\":[]}")},
    /* words */
    {"false is cut",                        TEXT("[fals]")},
    {"null is cut",                         TEXT("[nul]")},
    {"true is cut",                         TEXT("[tru]")},
    {"NUL behind digits",                   TEXT("456\0")},
    /* numbers */
    {"two plus signs",                      TEXT("[++45]")},
    {"a plus sign",                         TEXT("[+7]")},
    {"+Inf",                                TEXT("[+Inf]")},
    {"-0 and a digit",                      TEXT("[-07]")},
    {"two points",                          TEXT("[-3.5.]")},
    {"a point at the end",                  TEXT("[-7.]")},
    {"-NaN",                                TEXT("[-NaN]")},
    {"a point and a minus",                 TEXT("[.-7]")},
    {"a point first, with exponent",        TEXT("[.5e-4]")},
    {"two fractions",                       TEXT("[0.5.6]")},
    {"fraction, e and a plus",              TEXT("[0.7e+]")},
    {"fraction and e",                      TEXT("[0.7e]")},
    {"a point, then e",                     TEXT("[0.e7]")},
    {"0E+",                                 TEXT("[0E+]")},
    {"0E",                                  TEXT("[0E]")},
    {"0e+",                                 TEXT("[0e+]")},
    {"0e",                                  TEXT("[0e]")},
    {"e+ without digits",                   TEXT("[7.0e+]")},
    {"e- without digits",                   TEXT("[7.0e-]")},
    {"e without digits",                    TEXT("[7.0e]")},
    {"a blank between thousands",           TEXT("[7 000.0]")},
    {"e twice",                             TEXT("[7eE3]")},
    {"a point, then e+",                    TEXT("[7.e+4]")},
    {"a point, then e-",                    TEXT("[7.e-4]")},
    {"a point, then e and digits",          TEXT("[7.e4]")},
    {"a point, then e+ and no digit",       TEXT("[8.e+]")},
    {"Inf",                                 TEXT("[Inf]")},
    {"NaN",                                 TEXT("[NaN]")},
    {"a full-width digit",                  TEXT("[\xEF\xBC\x95]")},
    {"a sum",                               TEXT("[7+8]")},
    {"one hexadecimal digit",               TEXT("[0x7]")},
    {"two hexadecimal digits",              TEXT("[0x7F]")},
    {"Infinity",                            TEXT("[Infinity]")},
    {"a plus and a minus",                  TEXT("[0e+-7]")},
    {"letters behind a negative fraction",  TEXT("[-456.456xyz]")},
    {"a bad byte behind digits",            TEXT("[456\xE6]")},
    {"a bad byte in an exponent",           TEXT("[7e7\xE6]")},
    {"a bad byte behind one digit",         TEXT("[7\xE6]\n")},
    {"-Infinity",                           TEXT("[-Infinity]")},
    {"a minus and letters",                 TEXT("[-xyz]")},
    {"a minus and a blank",                 TEXT("[- 7]")},
    {"a negative number with a 0 first",    TEXT("[-045]")},
    {"a negative fraction without 0",       TEXT("[-.456]")},
    {"a letter behind a negative number",   TEXT("[-7y]")},
    {"a letter behind e",                   TEXT("[7eb]")},
    {"a bad byte behind e",                 TEXT("[7e\xE6]")},
    {"no digit behind the point",           TEXT("[7.]")},
    {"a point first",                       TEXT("[.456]")},
    {"letters behind a fraction",           TEXT("[7.8b-]")},
    {"letters behind a number",             TEXT("[7.8bc9]")},
    {"a 0 first",                           TEXT("[045]")},
    /* objects */
    {"a word as a value",                   TEXT("[\"k\", truht]")},
    {"a bracket as a name",                 TEXT("{[: \"k\"}\n")},
    {"a comma for a colon",                 TEXT("{\"k\", null}")},
    {"two colons",                          TEXT("{\"k\"::\"v\"}")},
    {"characters beyond the BMP as a name", TEXT("{\xF0\x9F\x8D\xAF\xF0\x9F\x8D\xAF}")},
    {"words behind a member",               TEXT("{\"k\":\"v\" 456}")},
    {"a name in single quotes",             TEXT("{'k':0}")},
    {"a lone continuation byte in a name",  TEXT("{\"\xA5\":\"0\",}")},
    {"no colon, a value",                   TEXT("{\"k\" v}")},
    {"no name",                             TEXT("{:\"v\"}")},
    {"no colon, a text",                    TEXT("{\"k\" \"v\"}")},
    {"no value",                            TEXT("{\"k\":")},
    {"neither colon nor value",             TEXT("{\"k\"")},
    {"a number as a name",                  TEXT("{7:7}")},
    {"a huge number as a name",             TEXT("{8888E8888:7}")},
    {"null as names, twice",                TEXT("{null:null,null:null}")},
    {"many commas at the end",              TEXT("{\"k\":0,,,,}")},
    {"a single quote",                      TEXT("{'k'}")},
    {"a comma behind the last member",      TEXT("{\"k\":0,}")},
    {"a comment at the end",                TEXT("{\"k\":\"v\"}/**/")},
    {"a comment that stays open",           TEXT("{\"k\":\"v\"}/**//")},
    {"a comment of two slashes",            TEXT("{\"k\":\"v\"}//")},
    {"one slash at the end",                TEXT("{\"k\":\"v\"}/")},
    {"two commas between members",          TEXT("{\"k\":\"v\",,\"l\":\"w\"}")},
    {"a name without quotes",               TEXT("{k: \"v\"}")},
    {"a value that is not closed",          TEXT("{\"k\":\"v")},
    {"a text alone in an object",           TEXT("{ \"k\" : \"v\", \"l\" }")},
    {"a sign behind an object",             TEXT("{\"k\":\"v\"}#")},
    {"a single blank",                      TEXT(" ")},
    /* texts */
    {"a surrogate, then an escape",         TEXT("[\"\\uD801\\\"]")},
    {"a surrogate, then \\u",               TEXT("[\"\\uD801\\u\"]")},
    {"a surrogate, then \\u and a digit",   TEXT("[\"\\uD801\\u2\"]")},
    {"a surrogate, then \\u, digit, x",     TEXT("[\"\\uD801\\u2x\"]")},
    {"an accented letter without quotes",   TEXT("[\xC3\xA8]")},
    {"a backslash and NUL",                 TEXT("[\"\\\0\"]")},
    {"\\x",                                 TEXT("[\"\\x01\"]")},
    {"three backslashes",                   TEXT("[\"\\\\\\\"]")},
    {"a backslash and a tab",               TEXT("[\"\\\t\"]")},
    {"a backslash before a character",      TEXT("[\"\\\xF0\x9F\x8D\xAF\"]")},
    {"a backslash at the end",              TEXT("[\"\\\"]")},
    {"\\u with three digits",               TEXT("[\"\\u01B\"]")},
    {"a second surrogate that is cut",      TEXT("[\"\\uD835\\uDe\"]")},
    {"a surrogate, then \\x",               TEXT("[\"\\uD801\\uD801\\x\"]")},
    {"a bad byte in \\u",                   TEXT("[\"\\u\xE6\"]")},
    {"\\b and a letter that is no escape",  TEXT("[\"\\b\\c\"]")},
    {"\\u with letters",                    TEXT("[\"\\uzzzz\"]")},
    {"a bad byte behind a backslash",       TEXT("[\"\\\xE6\"]")},
    {"\\u outside of quotes",               TEXT("[\\u0021\"abc\"]")},
    {"an escape without quotes",            TEXT("[\\t]")},
    {"one double quote",                    TEXT("\"")},
    {"single quotes",                       TEXT("['single']")},
    {"letters without quotes",              TEXT("xyz")},
    {"an escape, not closed",               TEXT("[\"\\")},
    {"a control character",                 TEXT("[\"b\0b\"]")},
    {"a raw newline",                       TEXT("[\"first\nsecond\"]")},
    {"a raw tab",                           TEXT("[\"\t\"]")},
    {"\\U",                                 TEXT("\"\\UB77B\"")},
    {"a letter behind a text",              TEXT("\"\"y")},
    /* structure */
    {"a word joiner in brackets",           TEXT("[\xE2\x81\xA0]")},
    {"only a byte order mark",              TEXT("\xEF\xBB\xBF")},
    {"an angle bracket",                    TEXT("<->")},
    {"null in angle brackets",              TEXT("[<nil>]")},
    {"a letter behind an array",            TEXT("[7]y")},
    {"a bracket behind an array",           TEXT("[7]]")},
    {"a text that is not closed, in array", TEXT("[\"zxcv]")},
    {"an identifier",                       TEXT("b\xC3\xA8")},
    {"True",                                TEXT("[True]")},
    {"a bracket that was not opened",       TEXT("7]")},
    {"a comma for a brace",                 TEXT("{\"y\": false,")},
    {"two arrays",                          TEXT("[][]")},
    {"only a closing bracket",              TEXT("]")},
    {"a byte order mark that is cut",       TEXT("\xEF\xBB{}")},
    {"only a bad byte",                     TEXT("\xE6")},
    {"only an opening bracket",             TEXT("[")},
    {"nothing",                             TEXT("")},
    {"NUL in an array",                     TEXT("[\0]")},
    {"a sign behind a number",              TEXT("3@")},
    {"a brace behind an object",            TEXT("{}}")},
    {"an object without a value, open",     TEXT("{\"\":")},
    {"a comment in an object",              TEXT("{\"k\":/*note*/\"v\"}")},
    {"words behind an object",              TEXT("{\"k\": false} \"l\"")},
    {"array, apostrophe",                   TEXT("['")},
    {"array, comma",                        TEXT("[,")},
    {"array, object",                       TEXT("[{")},
    {"array, text that is open",            TEXT("[\"k")},
    {"array, text",                         TEXT("[\"k\"")},
    {"only an opening brace",               TEXT("{")},
    {"object, bracket",                     TEXT("{]")},
    {"object, comma",                       TEXT("{,")},
    {"object, array",                       TEXT("{[")},
    {"object, text that is open",           TEXT("{\"k")},
    {"object, apostrophes",                 TEXT("{'k'")},
    {"escapes in brackets and braces",      TEXT("[\"\\{[\"\\{[\"\\{[\"\\{")},
    {"only an accented letter",             TEXT("\xC3\xA8")},
    {"only a star",                         TEXT("*")},
    {"a hash behind an object",             TEXT("{\"k\":\"v\"}#{}")},
    {"a newline as an escape, no quotes",   TEXT("[\\u000A\"k\"]")},
    {"a number, not closed",                TEXT("[7")},
    {"null, cut and not closed",            TEXT("[ true, nul")},
    {"false, cut and not closed",           TEXT("[ null, fals")},
    {"true, cut and not closed",            TEXT("[ false, tru")},
    {"an object that is not closed",        TEXT("{\"zxcv\":\"zxcv\"")},
    {"an identifier of two bytes",          TEXT("\xC3\xA8\xC3\xA8")},
    {"a word joiner as white space",        TEXT("\xE2\x81\xA0[]")},
    {"a form feed as white space",          TEXT("[\f]")},
};

static const struct text taken[] = {
    /* arrays */
    {"arrays with blanks",                  TEXT("[[]   ]")},
    {"an empty text",                       TEXT("[\"\"]")},
    {"an empty array",                      TEXT("[]")},
    {"a newline behind the last",           TEXT("[\"b\"\n]")},
    {"false",                               TEXT("[false]")},
    {"values of all types",                 TEXT("[null, 7, \"7\", {}, [true]]")},
    {"null",                                TEXT("[null]")},
    {"a number and a newline",              TEXT("[7\n]")},
    {"a blank before it",                   TEXT(" [7]")},
    {"nulls between numbers",               TEXT("[7,null,null,null,8]")},
    {"a blank behind it",                   TEXT("[8] ")},
    /* numbers */
    {"an exponent",                         TEXT("[456e34]")},
    {"0 with e+",                           TEXT("[0e+4]")},
    {"0 with e",                            TEXT("[0e4]")},
    {"a number behind a blank",             TEXT("[ 7]")},
    {"nearly 0",                            TEXT("[-0.0000000000000000000000000000000000000000000000000000000000000000000000000004]")},
    {"a whole number with an exponent",     TEXT("[40e1]")},
    {"-0 in brackets",                      TEXT("[-0]")},
    {"a negative number",                   TEXT("[-456]")},
    {"-1",                                  TEXT("[-1]")},
    {"-0.0",                                TEXT("[-0.0]")},
    {"E",                                   TEXT("[7E21]")},
    {"E-",                                  TEXT("[7E-3]")},
    {"E+",                                  TEXT("[7E+3]")},
    {"a fraction, e and digits",            TEXT("[456e67]")},
    {"a fraction with an exponent",         TEXT("[456.456e67]")},
    {"e-",                                  TEXT("[7e-3]")},
    {"e+",                                  TEXT("[7e+3]")},
    {"a whole number",                      TEXT("[456]")},
    {"a fraction",                          TEXT("[456.456789]")},
    /* objects */
    {"two members",                         TEXT("{\"zxcv\":\"fghj\", \"qwer\":\"uiop\"}")},
    {"one member",                          TEXT("{\"zxcv\":\"fghj\"}")},
    {"a name twice",                        TEXT("{\"k\":\"v\",\"k\":\"w\"}"), "stands twice"},
    {"a member twice",                      TEXT("{\"k\":\"v\",\"k\":\"v\"}"), "stands twice"},
    {"an empty object",                     TEXT("{}")},
    {"an empty name",                       TEXT("{\"\":7}")},
    {"NUL in a name",                       TEXT("{\"zxcv\\u0000qwer\":7}"), "the character NUL"},
    {"extreme numbers",                     TEXT("{ \"low\": -2.0e+30, \"high\": 2.0e+30 }")},
    {"long texts",                          TEXT("{\"k\":[{\"id\": \"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww\"}], \"id\": \"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww\"}")},
    {"an array in it",                      TEXT("{\"k\":[]}")},
    {"escapes of letters",                  TEXT("{\"title\":\"\\u0411\\u0430\\u0437\\u0430 \\u0434\\u0430\\u043d\\u043d\\u044b\\u0445\" }")},
    {"newlines between",                    TEXT("{\n\"k\": \"v\"\n}")},
    /* texts */
    {"sequences of one to three bytes",     TEXT("[\"\\u0061\\u012b\\u13ac\"]")},
    {"a pair of surrogates",                TEXT("[\"\\uD802\\udc38\"]")},
    {"two pairs of surrogates",             TEXT("[\"\\ud83d\\ude3a\\ud83d\\udc4e\"]")},
    {"every escape",                        TEXT("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]")},
    {"a backslash before u0000",            TEXT("[\"\\\\u0000\"]")},
    {"an escaped quote",                    TEXT("[\"\\\"\"]")},
    {"what looks like comments",            TEXT("[\"b/*c*/d/*e//f\"]")},
    {"a backslash before a letter a",       TEXT("[\"\\\\a\"]")},
    {"a backslash before a letter n",       TEXT("[\"\\\\n\"]")},
    {"an escaped control character",        TEXT("[\"\\u0013\"]")},
    {"an escaped noncharacter",             TEXT("[\"\\uFFFF\"]")},
    {"a text in an array",                  TEXT("[\"zxcv\"]")},
    {"a text behind a blank",               TEXT("[ \"zxcv\"]")},
    {"the last pair of surrogates",         TEXT("[\"\\uDBff\\uDFff\"]")},
    {"an escaped no-break space",           TEXT("[\"new\\u00A0row\"]")},
    {"U+10FFFF as it is",                   TEXT("[\"\xF4\x8F\xBF\xBF\"]")},
    {"U+FFFF as it is",                     TEXT("[\"\xEF\xBF\xBF\"]")},
    {"an escaped NUL",                      TEXT("[\"\\u0000\"]"), "the character NUL"},
    {"an escape of one byte",               TEXT("[\"\\u002d\"]")},
    {"a Greek letter",                      TEXT("[\"\xCF\x83\"]")},
    {"U+1BFFF as it is",                    TEXT("[\"zxcv\xF0\x9B\xBF\xBF\"]")},
    {"letters",                             TEXT("[\"zxcv \"]")},
    {"a blank",                             TEXT("\" \"")},
    {"U+1D11F by surrogates",               TEXT("[\"\\uD834\\uDd1f\"]")},
    {"an escape of three bytes",            TEXT("[\"\\u0822\"]")},
    {"an escape of two bytes",              TEXT("[\"\\u0124\"]")},
    {"U+2028 as it is",                     TEXT("[\"\xE2\x80\xA8\"]")},
    {"U+2029 as it is",                     TEXT("[\"\xE2\x80\xA9\"]")},
    {"an escaped letter and more",          TEXT("[\"\\u0062\\u30af\\u30EA\\u30b9\"]")},
    {"an escaped newline",                  TEXT("[\"new\\u000Arow\"]")},
    {"DEL as it is",                        TEXT("[\"\x7F\"]")},
    {"an escape of a letter beyond Latin",  TEXT("[\"\\uB77B\"]")},
    {"an escaped backslash",                TEXT("[\"\\u005c\"]")},
    {"letters beyond Latin as they are",    TEXT("[\"\xE2\x8D\x83\xE3\x88\xB4\xE2\x8D\x82\"]")},
    {"an escaped U+10FFFE",                 TEXT("[\"\\uDBFF\\uDFFE\"]")},
    {"an escaped U+1FFFE",                  TEXT("[\"\\uD83F\\uDFFE\"]")},
    {"an escaped U+200B",                   TEXT("[\"\\u200b\"]")},
    {"an escaped U+2064",                   TEXT("[\"\\u2064\"]")},
    {"an escaped U+FDD0",                   TEXT("[\"\\uFdD0\"]")},
    {"an escaped U+FFFE",                   TEXT("[\"\\uFFfE\"]")},
    {"an escaped double quote",             TEXT("[\"\\u0022\"]")},
    {"four bytes as they are",              TEXT("[\"\xE2\x82\xAC\xF0\x9D\x84\x9F\"]")},
    {"DEL among letters",                   TEXT("[\"b\x7F" "b\"]")},
    /* values that stand alone */
    {"false alone",                         TEXT("false")},
    {"a number alone",                      TEXT("24")},
    {"a negative fraction alone",           TEXT("-0.2")},
    {"null alone",                          TEXT("null")},
    {"a text alone",                        TEXT("\"zxcv\"")},
    {"true alone",                          TEXT("true")},
    {"an empty text alone",                 TEXT("\"\"")},
    {"a newline at the end",                TEXT("[\"b\"]\n")},
    {"true in an array",                    TEXT("[true]")},
    {"white space around",                  TEXT(" \t\r\n[] \n")},
};
/* clang-format on */

/* Parses an exact copy: the address sanitizer then sees a read beyond its end. */
static int parse(const struct text *text, cJSON **out_tree, struct err *err)
{
    char *copy = malloc(text->length ? text->length : 1);
    assert_non_null(copy);
    memcpy(copy, text->bytes, text->length);
    int rc = json_parse(copy, text->length, out_tree, err);
    free(copy);
    return rc;
}

/* Refuses the part, repeated without an end. */
static size_t refuses_nesting(const char *part, size_t times)
{
    struct buf deep = {0};
    struct err err = {0};
    cJSON *tree = NULL;
    for (size_t i = 0; i < times; i++)
        buf_add(&deep, part);
    assert_int_equal(json_parse(buf_text(&deep), deep.length, &tree, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    buf_fini(&deep);
    return 1;
}

static void every_kind_that_is_no_json_is_refused(void **state)
{
    (void)state;
    size_t count = refuses_nesting("[", 100000) + refuses_nesting("[{\"\":", 50000);
    for (size_t i = 0; i < JSON_COUNT(refused); i++, count++) {
        cJSON *tree = NULL;
        struct err err = {0};
        if (parse(&refused[i], &tree, &err) == 0)
            fail_msg("%s was taken", refused[i].kind);
        assert_int_equal(err.code, ERR_INPUT);
        assert_null(tree);
    }
    print_message("%zu kinds of text that are no JSON are refused\n", count);
    assert_int_equal(count, REFUSED_KINDS);
}

/* A name that stands twice could hide a limit, and our texts end at a NUL: these two are refused
 * though the grammar allows them, by a rule that names itself. */
static void every_kind_that_is_json_is_taken(void **state)
{
    (void)state;
    size_t by_rule = 0;
    for (size_t i = 0; i < JSON_COUNT(taken); i++) {
        cJSON *tree = NULL;
        cJSON *again = NULL;
        struct err err = {0};
        int rc = parse(&taken[i], &tree, &err);
        if (taken[i].rule) {
            if (rc == 0 || !strstr(err.msg, taken[i].rule))
                fail_msg("%s: %s", taken[i].kind, rc == 0 ? "taken" : err.msg);
            by_rule++;
            continue;
        }
        if (rc < 0)
            fail_msg("%s: %s", taken[i].kind, err.msg);
        char *printed = json_print(tree);
        assert_int_equal(json_parse(printed, strlen(printed), &again, &err), 0);
        if (!cJSON_Compare(tree, again, true))
            fail_msg("%s: printed as %s", taken[i].kind, printed);
        free(printed);
        cJSON_Delete(again);
        cJSON_Delete(tree);
    }
    print_message("%zu kinds of JSON: %zu are taken, %zu refused by a rule of ours\n",
                  JSON_COUNT(taken), JSON_COUNT(taken) - by_rule, by_rule);
    assert_int_equal(JSON_COUNT(taken), TAKEN_KINDS);
    assert_int_equal(by_rule, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_that_is_no_json_is_refused),
        cmocka_unit_test(every_kind_that_is_json_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
