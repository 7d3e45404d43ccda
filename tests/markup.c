#include "tests/markup.h"
#include "server/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEPTH 32
#define NAME 32

static const char *const elements[] = {
    "html",  "head",  "meta",       "title",   "style", "body",   "main",   "p",   "span", "bdi",
    "h1",    "h2",    "dl",         "dt",      "dd",    "div",    "ul",     "li",  "svg",  "desc",
    "g",     "line",  "polyline",   "polygon", "text",  "circle", "figure", "pre", "code", "table",
    "thead", "tbody", "figcaption", "tr",      "th",    "td",     "strong", NULL};
static const char *const attributes[] = {
    "lang",        "charset", "http-equiv", "content",    "name",       "class",
    "role",        "scope",   "id",         "viewBox",    "xmlns",      "x1",
    "x2",          "y1",      "y2",         "x",          "y",          "cx",
    "cy",          "r",       "points",     "data-title", "aria-label", "aria-labelledby",
    "aria-hidden", NULL};

struct reader {
    const char *page;
    const char *at;
    char open[DEPTH][NAME];
    size_t depth;
};

static void wrong(const struct reader *reader, const char *what)
{
    fail_msg("%s at byte %zu: %.80s", what, (size_t)(reader->at - reader->page), reader->at);
}

static bool is_in(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static void read_name(struct reader *reader, char out[NAME])
{
    size_t length =
        strspn(reader->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    if (length == 0 || length >= NAME)
        wrong(reader, "a name is missing");
    (void)snprintf(out, NAME, "%.*s", (int)length, reader->at);
    reader->at += length;
}

static void expect(struct reader *reader, const char *text)
{
    if (strncmp(reader->at, text, strlen(text)) != 0)
        wrong(reader, text);
    reader->at += strlen(text);
}

static void read_entity(struct reader *reader)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
        if (strncmp(reader->at, entities[i], strlen(entities[i])) != 0)
            continue;
        reader->at += strlen(entities[i]);
        return;
    }
    wrong(reader, "an unknown entity");
}

/* One character of text or of a value. */
static void read_character(struct reader *reader)
{
    unsigned char byte = (unsigned char)*reader->at;
    size_t length = json_utf8_length(reader->at, strlen(reader->at));
    bool no_character =
        strncmp(reader->at, "\xEF\xBF\xBE", 3) == 0 || strncmp(reader->at, "\xEF\xBF\xBF", 3) == 0;
    if (byte == '&') {
        read_entity(reader);
        return;
    }
    if (length == 0 || byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t'))
        wrong(reader, "a byte that is no text");
    if (no_character || (byte == 0xC2 && (unsigned char)reader->at[1] < 0xA0))
        wrong(reader, "a character that is none");
    reader->at += length;
}

static void read_attribute(struct reader *reader)
{
    char name[NAME];
    read_name(reader, name);
    if (!is_in(attributes, name))
        fail_msg("the attribute %s", name);
    expect(reader, "=\"");
    while (*reader->at != '"') {
        if (*reader->at == '<' || *reader->at == '\n')
            wrong(reader, "a value without end");
        read_character(reader);
    }
    reader->at++;
}

static void read_tag(struct reader *reader)
{
    char name[NAME];
    if (reader->at[1] == '/') {
        reader->at += 2;
        read_name(reader, name);
        if (reader->depth == 0 || strcmp(reader->open[reader->depth - 1], name) != 0)
            wrong(reader, "the end of something else");
        reader->depth--;
        expect(reader, ">");
        return;
    }
    reader->at++;
    read_name(reader, name);
    if (!is_in(elements, name))
        fail_msg("the element %s", name);
    while (*reader->at == ' ' && reader->at[1] != '/') {
        reader->at++;
        read_attribute(reader);
    }
    if (*reader->at == ' ') {
        expect(reader, " />");
        return;
    }
    expect(reader, ">");
    assert_in_range(reader->depth, 0, DEPTH - 1);
    (void)snprintf(reader->open[reader->depth++], NAME, "%s", name);
}

/* Of a text between tags. */
static void check_words(const struct reader *reader, const char *from)
{
    static const char *const words[] = {"nan", "inf", "null", "-nan", "NaN"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (const char *found = strstr(from, words[i]); found && found < reader->at;
             found = strstr(found + 1, words[i])) {
            bool begins = found == from || strchr(" ,.(:\n\"", found[-1]);
            if (begins && strchr(" ,.):<\n%&;\"\xC3", found[strlen(words[i])]))
                fail_msg("%s in: %.60s", words[i], from);
        }
}

void markup_check(const char *page)
{
    struct reader reader = {.page = page, .at = page};
    expect(&reader, "<!DOCTYPE html>\n<html ");
    reader.at -= strlen("<html ");
    while (*reader.at) {
        const char *from = reader.at;
        if (*reader.at == '<')
            read_tag(&reader);
        while (*reader.at && *reader.at != '<')
            read_character(&reader);
        check_words(&reader, from);
        if (reader.depth == 0 && strcmp(reader.at, "\n") == 0)
            break;
    }
    assert_int_equal(reader.depth, 0);
}
