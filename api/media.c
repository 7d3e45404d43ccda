#include "api/media.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

struct media_row {
    const char *type;
    const char *subtype;
    const char *content_type;
};

/* clang-format off */
static const struct media_row rows[MEDIA_COUNT] = {
    [MEDIA_JSON]     = {"application", "json",         "application/json; charset=utf-8"},
    [MEDIA_CSV]      = {"text",        "csv",          "text/csv; charset=utf-8; header=present"},
    [MEDIA_MARKDOWN] = {"text",        "markdown",     "text/markdown; charset=utf-8"},
    [MEDIA_HTML]     = {"text",        "html",         "text/html; charset=utf-8"},
    [MEDIA_YAML]     = {"application", "yaml",         "application/yaml"},
    [MEDIA_EVENTS]   = {"text",        "event-stream", "text/event-stream; charset=utf-8"},
    [MEDIA_METRICS]  = {"text",        "plain",        "text/plain; version=0.0.4; charset=utf-8"},
    [MEDIA_PROBLEM]  = {"application", "problem+json", "application/problem+json"},
};
/* clang-format on */

/* One range of an Accept header, pointing into it. */
struct range {
    const char *type;
    size_t type_length;
    const char *subtype;
    size_t subtype_length;
    int quality; /* thousandths */
};

const char *media_type(enum media media)
{
    return rows[media].content_type;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static size_t word_length(const char *at)
{
    return strcspn(at, "/;, \t=");
}

/* "0", "0.5", "1.000" as thousandths; anything else counts as 1. */
static int read_quality(const char *at)
{
    if (at[0] != '0')
        return 1000;
    int value = 0;
    int scale = 100;
    if (at[1] == '.')
        for (at += 2; *at >= '0' && *at <= '9' && scale > 0; at++, scale /= 10)
            value += (*at - '0') * scale;
    return value;
}

/* Reads one range and moves *at behind it and its comma. False at the end. A range without a
 * slash matches nothing. */
static bool next_range(const char **at, struct range *out)
{
    const char *here = skip_blanks(*at);
    while (*here == ',')
        here = skip_blanks(here + 1);
    if (*here == '\0')
        return false;
    *out = (struct range){.type = here, .type_length = word_length(here), .quality = 1000};
    here += out->type_length;
    if (*here == '/') {
        out->subtype = here + 1;
        out->subtype_length = word_length(here + 1);
    }
    for (; *here != '\0' && *here != ','; here++) {
        if (*here != ';')
            continue;
        const char *name = skip_blanks(here + 1);
        if ((name[0] == 'q' || name[0] == 'Q') && name[1] == '=')
            out->quality = read_quality(name + 2);
    }
    *at = here;
    return true;
}

static bool word_is(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && strncasecmp(word, wanted, length) == 0;
}

/* How closely a range names a media type: 3 exactly, 2 its family, 1 everything, 0 not at all. */
static int closeness(const struct range *range, const struct media_row *row)
{
    if (!range->subtype)
        return 0;
    bool any_subtype = word_is(range->subtype, range->subtype_length, "*");
    if (word_is(range->type, range->type_length, "*"))
        return any_subtype ? 1 : 0;
    if (!word_is(range->type, range->type_length, row->type))
        return 0;
    if (any_subtype)
        return 2;
    return word_is(range->subtype, range->subtype_length, row->subtype) ? 3 : 0;
}

/* The quality that the closest range gives to a media type; 0 when none names it. */
static int quality_of(const char *accept, const struct media_row *row)
{
    struct range range;
    int best = 0;
    int quality = 0;
    while (next_range(&accept, &range)) {
        int close = closeness(&range, row);
        if (close > best) {
            best = close;
            quality = range.quality;
        }
    }
    return quality;
}

bool media_choose(const char *accept, unsigned offered, enum media *out_media)
{
    int best = 0;
    for (int i = 0; i < MEDIA_COUNT; i++) {
        if (!(offered & MEDIA_BIT(i)))
            continue;
        int quality = accept && *skip_blanks(accept) ? quality_of(accept, &rows[i]) : 1000;
        if (quality > best) {
            best = quality;
            *out_media = (enum media)i;
        }
    }
    return best > 0;
}

bool media_is_json(const char *content_type)
{
    static const char json[] = "application/json";
    static const char charset[] = "charset=";
    if (!content_type || strncasecmp(content_type, json, sizeof json - 1) != 0)
        return false;
    const char *rest = skip_blanks(content_type + sizeof json - 1);
    if (*rest == '\0')
        return true;
    if (*rest != ';')
        return false;
    rest = skip_blanks(rest + 1);
    if (*rest == '\0')
        return true;
    if (strncasecmp(rest, charset, sizeof charset - 1) != 0)
        return false;
    rest += sizeof charset - 1;
    return strcasecmp(rest, "utf-8") == 0 || strcasecmp(rest, "\"utf-8\"") == 0;
}
