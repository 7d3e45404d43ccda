#include "api/target.h"
#include "server/json_scan.h"
#include "server/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/* One byte of [*at, end), decoded; moves *at behind it. -1 for a broken % or a control byte. */
static int decode_byte(const char **at, const char *end)
{
    const char *here = *at;
    int byte = (unsigned char)*here++;
    if (byte == '%') {
        int high = end - here >= 2 ? hex_value(here[0]) : -1;
        int low = high >= 0 ? hex_value(here[1]) : -1;
        if (low < 0)
            return -1;
        byte = high * 16 + low;
        here += 2;
    }
    *at = here;
    return byte < 0x20 || byte == 0x7F ? -1 : byte;
}

/* Decodes [from, end) to *to, which is moved behind the NUL; in queries + is a blank. Returns the
 * text, or NULL when it is broken. */
static const char *decode(const char *from, const char *end, bool is_query, char **to)
{
    char *text = *to;
    char *out = text;
    while (from < end) {
        bool blank = is_query && *from == '+';
        int byte = decode_byte(&from, end);
        if (byte < 0)
            return NULL;
        *out++ = (char)(blank ? ' ' : byte);
    }
    *out++ = '\0';
    *to = out;
    return text;
}

static bool is_utf8(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t bytes = json_utf8_length(text, left);
        if (bytes == 0)
            return false;
        text += bytes;
        left -= bytes;
    }
    return true;
}

/* What must not be there before anything is decoded. */
static const char *raw_fault(const char *raw)
{
    size_t path_length = strcspn(raw, "?");
    if (raw[0] != '/')
        return "does not begin with a slash";
    for (const char *at = raw; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte <= ' ' || byte >= 0x7F || byte == '#' || byte == '\\')
            return "holds a byte that must be percent-encoded";
        if (strncmp(at, "%00", 3) == 0)
            return "holds %00";
        if ((size_t)(at - raw) >= path_length)
            continue;
        if (strncasecmp(at, "%2f", 3) == 0 || strncasecmp(at, "%5c", 3) == 0)
            return "hides a slash";
        if (at[0] == '/' && at[1] == '/')
            return "has an empty segment";
    }
    return NULL;
}

static const char *read_path(struct target *target, char **to)
{
    const char *at = target->raw + 1;
    const char *path_end = target->raw + strcspn(target->raw, "?");
    if (at == path_end)
        return NULL;
    for (;;) {
        size_t length = strcspn(at, "/?");
        const char *segment = decode(at, at + length, false, to);
        if (!segment || !is_utf8(segment))
            return "is not well encoded";
        if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
            return "has a dot segment";
        if (target->segment_count < TARGET_SEGMENTS)
            target->segments[target->segment_count] = segment;
        target->segment_count++;
        at += length;
        if (at >= path_end)
            return NULL;
        at++;
    }
}

static const char *read_queries(struct target *target, char **to)
{
    const char *at = strchr(target->raw, '?');
    for (at = at ? at + 1 : ""; *at;) {
        size_t length = strcspn(at, "&");
        size_t name_length = strcspn(at, "=&");
        bool has_value = name_length < length;
        if (length == 0) {
            at++;
            continue;
        }
        if (target->query_count == TARGET_QUERIES)
            return "has too many parameters";
        const char *name = decode(at, at + name_length, true, to);
        const char *value = decode(at + name_length + (has_value ? 1 : 0), at + length, true, to);
        if (!name || !value || !is_utf8(name) || !is_utf8(value))
            return "is not well encoded";
        target->queries[target->query_count++] = (struct target_query){name, value};
        at += length;
        if (*at == '&')
            at++;
    }
    return NULL;
}

/* The length of "http://" or "https://" when the target is a whole URL, else 0. */
static size_t scheme_length(const char *raw)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncasecmp(raw, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    return 0;
}

/* Takes the authority off a whole URL; *raw is then what stands behind it. */
static const char *take_authority(const char **raw, char **out)
{
    size_t scheme = scheme_length(*raw);
    if (scheme == 0)
        return NULL;
    const char *from = *raw + scheme;
    size_t length = strcspn(from, "/?#");
    *out = mem_format("%.*s", (int)length, from);
    *raw = from[length] == '\0' ? "/" : from + length;
    for (const char *at = *out; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7F || strchr("@\\%", *at))
            return "names no host";
    return length == 0 ? "names no host" : NULL;
}

const char *target_read(const char *raw, struct target *out)
{
    *out = (struct target){0};
    const char *fault = take_authority(&raw, &out->authority);
    out->raw = mem_copy(raw);
    if (!fault)
        fault = raw_fault(raw);
    if (fault)
        return fault;
    /* Decoding never lengthens; a part without its separator (the last, a missing value) needs
     * one byte more for its NUL. */
    out->text = mem_alloc(strlen(raw) + TARGET_QUERIES + 3, 1);
    char *to = out->text;
    fault = read_path(out, &to);
    return fault ? fault : read_queries(out, &to);
}

void target_fini(struct target *target)
{
    free(target->raw);
    free(target->authority);
    free(target->text);
    *target = (struct target){0};
}
