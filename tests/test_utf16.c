/* UTF-8 to UTF-16 and back. */
#include "server/mem.h"
#include "server/utf16.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void text_becomes_utf16_and_comes_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
    } cases[] = {
        {"", 0},
        {"a", 1},
        {"Verkäufe", 8},
        {"\xE6\x97\xA5\xE6\x9C\xAC", 2},      /* two kanji */
        {"\xF0\x9F\x98\x80", 2},              /* an emoji is a pair */
        {"\xEF\xBF\xBF", 1},                  /* U+FFFF, the last single unit */
        {"\xF0\x90\x80\x80", 2},              /* U+10000, the first pair */
        {"\xF4\x8F\xBF\xBF", 2},              /* U+10FFFF, the last character */
        {"\xEE\x80\x80\xED\x9F\xBF", 2},      /* around the surrogates */
        {"x\xC2\x80\xDF\xBF\xE0\xA0\x80", 4}, /* the ends of the shorter forms */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count = SIZE_MAX;
        struct buf back = {0};
        uint16_t *units = utf16_from_text(cases[i].text, &count);
        assert_non_null(units);
        assert_int_equal(count, cases[i].count);
        assert_int_equal(utf16_count(cases[i].text), cases[i].count);
        assert_int_equal(units[count], 0);
        utf16_append_to(&back, units, count);
        assert_string_equal(buf_text(&back), cases[i].text);
        buf_fini(&back);
        free(units);
    }
}

static void every_character_survives_the_way_there_and_back(void **state)
{
    (void)state;
    struct buf text = {0};
    struct buf back = {0};
    for (uint32_t value = 1; value <= 0x10FFFF; value++) {
        if (value >= 0xD800 && value <= 0xDFFF)
            continue;
        uint16_t units[2] = {(uint16_t)value};
        size_t count = 1;
        if (value > 0xFFFF) {
            units[0] = (uint16_t)(0xD800 + ((value - 0x10000) >> 10));
            units[1] = (uint16_t)(0xDC00 + ((value - 0x10000) & 0x3FF));
            count = 2;
        }
        utf16_append_to(&text, units, count);
    }
    size_t count;
    uint16_t *units = utf16_from_text(buf_text(&text), &count);
    assert_non_null(units);
    assert_int_equal(count, 0xFFFF - 0x800 + 2 * 0x100000);
    utf16_append_to(&back, units, count);
    assert_string_equal(buf_text(&back), buf_text(&text));
    free(units);
    buf_fini(&text);
    buf_fini(&back);
}

static void what_is_not_utf8_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\x80",             /* a continuation alone */
        "a\xC3",            /* ends in the middle */
        "\xE2\x82",         /* the same, longer */
        "\xF0\x9F\x98",     /* the same, longest */
        "\xC3(",            /* no continuation */
        "\xC0\xAF",         /* overlong / */
        "\xC1\xBF",         /* overlong */
        "\xE0\x80\xAF",     /* overlong */
        "\xF0\x80\x80\xAF", /* overlong */
        "\xED\xA0\x80",     /* a surrogate */
        "\xED\xBF\xBF",     /* the last surrogate */
        "\xF4\x90\x80\x80", /* U+110000 */
        "\xF8\x88\x80\x80\x80",
        "\xFE",
        "\xFF",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(utf16_from_text(cases[i], NULL));
        assert_int_equal(utf16_count(cases[i]), SIZE_MAX);
    }
}

static void lone_surrogates_and_nul_are_shown_as_replacements(void **state)
{
    (void)state;
    static const uint16_t units[] = {'a', 0xD83D, 'b', 0xDE00, 0, 0xD83D, 0xDE00, 0xD83D};
    struct buf text = {0};
    utf16_append_to(&text, units, sizeof units / sizeof units[0]);
    assert_string_equal(buf_text(&text), "a\xEF\xBF\xBD"
                                         "b\xEF\xBF\xBD\xEF\xBF\xBD\xF0\x9F\x98\x80\xEF\xBF\xBD");
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_utf16_and_comes_back),
        cmocka_unit_test(every_character_survives_the_way_there_and_back),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(lone_surrogates_and_nul_are_shown_as_replacements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
