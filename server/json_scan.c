#include "server/json_scan.h"
#include "server/limits.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_MAX INT64_C(9007199254740992) /* 2^53: up to here a double is exact */
#define WHOLE_DIGITS 16                     /* of WHOLE_MAX */

#define QUOTED(value) #value
#define TEXT_OF(value) QUOTED(value)
#define TOO_DEEP "nested more than " TEXT_OF(LIMIT_JSON_DEPTH) " levels deep"

#define NUMBER_BYTES 127 /* a double needs 24; JSONTestSuite's longest is 82 */

struct scan {
    const char *text;
    size_t length;
    size_t at; /* of the byte to be looked at next */
    size_t token_count;
    size_t token_max;
    struct err *err;
};

static int scan_value(struct scan *scan, int depth);

static int fail_at(struct scan *scan, size_t at, const char *what)
{
    size_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < at; i++) {
        if (scan->text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    size_t byte = at - line_start + 1;
    if (line == 1)
        return err_set(scan->err, ERR_INPUT, 0, "byte %zu: %s", byte, what);
    return err_set(scan->err, ERR_INPUT, 0, "line %zu, byte %zu: %s", line, byte, what);
}

static int fail(struct scan *scan, const char *what)
{
    return fail_at(scan, scan->at, what);
}

/* The next byte, or -1 at the end: a raw NUL inside the text is a byte like any other. */
static int peek(const struct scan *scan)
{
    return scan->at < scan->length ? (unsigned char)scan->text[scan->at] : -1;
}

static bool take(struct scan *scan, char wanted)
{
    if (peek(scan) != wanted)
        return false;
    scan->at++;
    return true;
}

static void skip_space(struct scan *scan)
{
    while (take(scan, ' ') || take(scan, '\t') || take(scan, '\n') || take(scan, '\r'))
        continue;
}

static int count_token(struct scan *scan)
{
    if (++scan->token_count > scan->token_max)
        return fail(scan, "too many values");
    return 0;
}

/* --- text ---------------------------------------------------------------------------------- */

size_t json_utf8_length(const char *text, size_t left)
{
    /* The well-formed sequences of Unicode's table 3-7: the second byte has its own range. */
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0x00, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    const unsigned char *bytes = (const unsigned char *)text;
    size_t row = 0;
    while (left > 0 && row < sizeof forms / sizeof forms[0] &&
           (bytes[0] < forms[row].first_low || bytes[0] > forms[row].first_high))
        row++;
    if (left == 0 || row == sizeof forms / sizeof forms[0] || left < forms[row].length)
        return 0;
    if (forms[row].length == 1)
        return 1;
    if (bytes[1] < forms[row].second_low || bytes[1] > forms[row].second_high)
        return 0;
    for (size_t i = 2; i < forms[row].length; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    }
    return forms[row].length;
}

static int hex_value(int character)
{
    if (character >= '0' && character <= '9')
        return character - '0';
    if (character >= 'a' && character <= 'f')
        return character - 'a' + 10;
    if (character >= 'A' && character <= 'F')
        return character - 'A' + 10;
    return -1;
}

/* The four digits after \u; -1 when they are not there. */
static int32_t scan_hex4(struct scan *scan)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(peek(scan));
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
        scan->at++;
    }
    return unit;
}

static int scan_unicode_escape(struct scan *scan, size_t start)
{
    int32_t unit = scan_hex4(scan);
    if (unit < 0)
        return fail_at(scan, start, "\\u needs four hexadecimal digits");
    if (unit == 0)
        return fail_at(scan, start, "the character NUL is not allowed");
    if (unit >= 0xDC00 && unit <= 0xDFFF)
        return fail_at(scan, start, "a low surrogate without the high one before it");
    if (unit < 0xD800 || unit > 0xDBFF)
        return 0;
    int32_t low = take(scan, '\\') && take(scan, 'u') ? scan_hex4(scan) : -1;
    if (low < 0xDC00 || low > 0xDFFF)
        return fail_at(scan, start, "a high surrogate without the low one after it");
    return 0;
}

static int scan_escape(struct scan *scan)
{
    size_t start = scan->at++; /* the backslash */
    int character = peek(scan);
    if (character <= 0 || !strchr("\"\\/bfnrtu", character))
        return fail_at(scan, start, "unknown escape in a string");
    scan->at++;
    return character == 'u' ? scan_unicode_escape(scan, start) : 0;
}

static int scan_text(struct scan *scan)
{
    scan->at++; /* the quote */
    while (!take(scan, '"')) {
        int character = peek(scan);
        if (character < 0)
            return fail(scan, "the text ends inside a string");
        if (character < 0x20)
            return fail(scan, "a control character inside a string must be escaped");
        if (character == '\\') {
            if (scan_escape(scan) < 0)
                return -1;
            continue;
        }
        size_t bytes = json_utf8_length(scan->text + scan->at, scan->length - scan->at);
        if (bytes == 0)
            return fail(scan, "invalid UTF-8");
        scan->at += bytes;
    }
    return 0;
}

/* --- numbers ------------------------------------------------------------------------------- */

/* Returns how many digits stood there. */
static size_t skip_digits(struct scan *scan)
{
    size_t start = scan->at;
    while (peek(scan) >= '0' && peek(scan) <= '9')
        scan->at++;
    return scan->at - start;
}

/* The grammar of a number; out_whole tells that it has neither fraction nor exponent. */
static int scan_number_form(struct scan *scan, bool *out_whole)
{
    bool whole = true;
    (void)take(scan, '-');
    if (take(scan, '0')) {
        if (skip_digits(scan) > 0)
            return fail(scan, "a number must not begin with 0");
    } else if (skip_digits(scan) == 0) {
        return fail(scan, "a digit is missing");
    }
    if (take(scan, '.')) {
        whole = false;
        if (skip_digits(scan) == 0)
            return fail(scan, "a digit is missing after the point");
    }
    if (take(scan, 'e') || take(scan, 'E')) {
        whole = false;
        if (!take(scan, '+'))
            (void)take(scan, '-');
        if (skip_digits(scan) == 0)
            return fail(scan, "a digit is missing in the exponent");
    }
    *out_whole = whole;
    return 0;
}

/* No number of ours is that large, so whoever sends one made a slip or means a name. */
static int fail_large(struct scan *scan, size_t at, const char *number)
{
    char what[NUMBER_BYTES + 64];
    (void)snprintf(what, sizeof what,
                   "the number %s is beyond 2^53; give it as text, or a smaller one", number);
    return fail_at(scan, at, what);
}

static int scan_number(struct scan *scan)
{
    size_t start = scan->at;
    bool whole = false;
    if (scan_number_form(scan, &whole) < 0)
        return -1;
    size_t bytes = scan->at - start;
    if (bytes > NUMBER_BYTES)
        return fail_at(scan, start, "a number of more than 127 characters");
    char copy[NUMBER_BYTES + 1] = {0};
    memcpy(copy, scan->text + start, bytes);
    bool negative = copy[0] == '-';
    bool inexact =
        whole && (bytes - negative > WHOLE_DIGITS || llabs(strtoll(copy, NULL, 10)) > WHOLE_MAX);
    if (inexact || !isfinite(strtod(copy, NULL)))
        return fail_large(scan, start, copy);
    return 0;
}

/* --- structure ----------------------------------------------------------------------------- */

static int scan_word(struct scan *scan, const char *word)
{
    size_t bytes = strlen(word);
    if (scan->length - scan->at < bytes || memcmp(scan->text + scan->at, word, bytes) != 0)
        return fail(scan, "expected a value");
    scan->at += bytes;
    return 0;
}

static int scan_member(struct scan *scan, int depth)
{
    skip_space(scan);
    if (peek(scan) != '"')
        return fail(scan, "expected the name of a member in double quotes");
    if (count_token(scan) < 0 || scan_text(scan) < 0)
        return -1;
    skip_space(scan);
    if (!take(scan, ':'))
        return fail(scan, "expected a colon after the member's name");
    return scan_value(scan, depth);
}

/* An object or array: `depth` is that of what stands inside. */
static int scan_list(struct scan *scan, char close, int depth)
{
    if (depth > LIMIT_JSON_DEPTH)
        return fail(scan, TOO_DEEP);
    scan->at++; /* the opening bracket */
    skip_space(scan);
    if (take(scan, close))
        return 0;
    do {
        if ((close == '}' ? scan_member(scan, depth) : scan_value(scan, depth)) < 0)
            return -1;
        skip_space(scan);
    } while (take(scan, ','));
    if (!take(scan, close))
        return fail(scan, close == '}' ? "expected a comma or }" : "expected a comma or ]");
    return 0;
}

static int scan_value(struct scan *scan, int depth) /* recursion: at most LIMIT_JSON_DEPTH deep */
{
    skip_space(scan);
    if (count_token(scan) < 0)
        return -1;
    switch (peek(scan)) {
    case -1:
        return fail(scan, "the text ends where a value was expected");
    case '{':
        return scan_list(scan, '}', depth + 1);
    case '[':
        return scan_list(scan, ']', depth + 1);
    case '"':
        return scan_text(scan);
    case 't':
        return scan_word(scan, "true");
    case 'f':
        return scan_word(scan, "false");
    case 'n':
        return scan_word(scan, "null");
    default:
        break;
    }
    if (peek(scan) != '-' && (peek(scan) < '0' || peek(scan) > '9'))
        return fail(scan, "expected a value");
    return scan_number(scan);
}

int json_scan(const char *text, size_t length, size_t token_max, struct err *err)
{
    struct scan scan = {.text = text, .length = length, .token_max = token_max, .err = err};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return fail(&scan, "a byte order mark is not allowed");
    if (scan_value(&scan, 0) < 0)
        return -1;
    skip_space(&scan);
    if (scan.at < length)
        return fail(&scan, "something follows the value");
    return 0;
}
