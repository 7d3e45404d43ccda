/* Any JSON as a report: its page is well formed, holds no script, no handler of events and nothing
 * that is fetched, and no character that acts on a terminal or turns text around. */
#include "jobs/measure/report.h"
#include "server/json.h"
#include "server/unseen.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEEPEST 64
#define NAME_SIZE 24

struct open {
    char names[DEEPEST][NAME_SIZE];
    size_t count;
};

static const char *read_name(const char *at, char name[NAME_SIZE])
{
    size_t length = strcspn(at, " \t\n/>=\"<");
    assert(length > 0 && length < NAME_SIZE);
    memcpy(name, at, length);
    name[length] = '\0';
    return at + length;
}

/* name="value" or name='value' */
static const char *skip_attribute(const char *at)
{
    static const char *const fetches[] = {"src", "href", "action", "data", "srcdoc"};
    char name[NAME_SIZE];
    at = read_name(at, name);
    assert(strncasecmp(name, "on", 2) != 0);
    assert(at[0] == '=' && (at[1] == '"' || at[1] == '\''));
    const char *end = strchr(at + 2, at[1]);
    assert(end && !memchr(at + 2, '<', (size_t)(end - at - 2)));
    for (size_t i = 0; i < sizeof fetches / sizeof fetches[0]; i++)
        assert(strcasecmp(name, fetches[i]) != 0 || at[2] == '#'); /* a place in the page itself */
    return end + 1;
}

static const char *take_tag(const char *at, struct open *open)
{
    char name[NAME_SIZE];
    if (*at == '!' || *at == '?')
        return strchr(at, '>') + 1;
    if (*at == '/') {
        at = read_name(at + 1, name);
        assert(open->count > 0 && strcmp(open->names[--open->count], name) == 0 && *at == '>');
        return at + 1;
    }
    at = read_name(at, name);
    assert(strcasecmp(name, "script") != 0 && strcasecmp(name, "iframe") != 0);
    for (at += strspn(at, " \n"); *at != '>' && *at != '/'; at += strspn(at, " \n"))
        at = skip_attribute(at);
    if (*at == '/') {
        assert(at[1] == '>');
        return at + 2;
    }
    assert(open->count < DEEPEST);
    memcpy(open->names[open->count++], name, sizeof name);
    return at + 1;
}

static void check_page(const char *page)
{
    struct open open = {.count = 0};
    bool unseen;
    for (const char *at = page; *at;) {
        if (*at == '<') {
            at = take_tag(at + 1, &open);
            continue;
        }
        bool blank = *at == '\n' || *at == '\t';
        size_t step = unseen_step(at, &unseen);
        bool width = unseen && step > 1 && (unsigned char)at[0] != 0xC2; /* of no width: harmless */
        assert(blank || !unseen || width);
        at += step;
    }
    assert(open.count == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    cJSON *report = NULL;
    struct err err = {0};
    if (json_parse((const char *)data, size, &report, &err) < 0)
        return 0;
    char *page = report_html(report);
    check_page(page);
    free(page);
    cJSON_Delete(report);
    return 0;
}
