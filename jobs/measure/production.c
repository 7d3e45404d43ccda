#include "jobs/measure/production.h"

#include <inttypes.h>
#include <string.h>

#define ENGINE_ENTERPRISE 3 /* Developer and Evaluation say so, too */

typedef const struct production_look look;

/* --- names ---------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A word without the digits at its end. */
struct word {
    const char *start;
    size_t length;
};

/* The next word at or behind *at, which moves behind it; length 0: none is left. */
static struct word next_word(const char **at)
{
    struct word word = {0};
    while (**at && !is_letter(**at) && !is_digit(**at) && (unsigned char)**at < 0x80)
        (*at)++;
    word.start = *at;
    while (is_letter(**at) || is_digit(**at) || (unsigned char)**at >= 0x80)
        (*at)++;
    word.length = (size_t)(*at - word.start);
    while (word.length > 1 && is_digit(word.start[word.length - 1]))
        word.length--;
    return word;
}

static bool is_one_of(const struct word *word, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == word->length && strncasecmp(word->start, *list, word->length) == 0)
            return true;
    return false;
}

bool production_name(const char *name)
{
    static const char *const words[] = {"prod", "prd", "production", NULL};
    static const char *const denials[] = {"non", "no", "not", "pre", NULL};
    bool denied = false;
    for (struct word word = next_word(&name); word.length > 0; word = next_word(&name)) {
        if (is_one_of(&word, words) && !denied)
            return true;
        denied = is_one_of(&word, denials);
    }
    return false;
}

/* --- signs ---------------------------------------------------------------------------------- */

static bool is_primary(look *seen)
{
    return seen->primaries > 0;
}

static void say_primary(look *seen, struct buf *out)
{
    buf_format(out, "it is the primary replica of %" PRId64 " database%s of availability groups",
               seen->primaries, seen->primaries == 1 ? "" : "s");
}

/* Enterprise is bought; Enterprise Developer and Enterprise Evaluation are not. */
static bool is_in_use(look *seen)
{
    static const char paid[] = "Enterprise";
    return seen->engine_edition == ENGINE_ENTERPRISE && seen->edition &&
           strncmp(seen->edition, paid, strlen(paid)) == 0 && !strstr(seen->edition, "Developer") &&
           !strstr(seen->edition, "Evaluation") && seen->sessions > PRODUCTION_SESSIONS;
}

static void say_in_use(look *seen, struct buf *out)
{
    buf_format(out, "it is %.60s with %" PRId64 " sessions of others", seen->edition,
               seen->sessions);
}

static const char *telling_name(look *seen)
{
    const char *const names[] = {seen->name, seen->host, seen->host_name};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i] && production_name(names[i]))
            return names[i];
    return NULL;
}

static bool is_named_so(look *seen)
{
    return telling_name(seen) != NULL;
}

static void say_name(look *seen, struct buf *out)
{
    buf_format(out, "it is called %.100s", telling_name(seen));
}

static const struct {
    const char *name;
    bool (*is_seen)(look *seen);
    void (*say)(look *seen, struct buf *out);
} signs[] = {
    {"primary", is_primary, say_primary},
    {"in_use", is_in_use, say_in_use},
    {"name", is_named_so, say_name},
};

#define SIGN_COUNT (sizeof signs / sizeof signs[0])

size_t production_sign_count(void)
{
    return SIGN_COUNT;
}

const char *production_sign_name(size_t index)
{
    return signs[index].name;
}

bool production_sign_is_seen(size_t index, const struct production_look *seen)
{
    return signs[index].is_seen(seen);
}

bool production_doubt(const struct production_look *seen, struct buf *out)
{
    size_t count = 0;
    if (strcmp(seen->environment, "production") == 0)
        return false;
    for (size_t i = 0; i < SIGN_COUNT; i++) {
        if (!signs[i].is_seen(seen))
            continue;
        if (count++ == 0)
            buf_format(out, "the instance is registered as %.20s and looks like production: ",
                       seen->environment);
        else
            buf_add(out, ", ");
        signs[i].say(seen, out);
    }
    if (count > 0)
        buf_add(out, "; if it is, register it with \"environment\": \"production\", so that jobs "
                     "need consent and a window");
    return count > 0;
}
