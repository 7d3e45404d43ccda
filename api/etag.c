#include "api/etag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *etag_of_version(int64_t version, char out[ETAG_SIZE])
{
    (void)snprintf(out, ETAG_SIZE, "\"%" PRId64 "\"", version);
    return out;
}

const char *etag_of_named(int64_t version, int64_t created_at, char out[ETAG_SIZE])
{
    (void)snprintf(out, ETAG_SIZE, "\"%" PRId64 "-%" PRId64 "\"", version, created_at);
    return out;
}

bool etag_in(const char *list, const char *etag, bool weak)
{
    size_t length = strlen(etag);
    if (strcmp(list, "*") == 0)
        return true;
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, " \t,");
        bool is_weak = at[0] == 'W' && at[1] == '/';
        if (is_weak)
            at += 2;
        size_t end = 0;
        if (at[0] == '"')
            end = 1 + strcspn(at + 1, "\"") + 1;
        if ((!is_weak || weak) && end == length && strncmp(at, etag, length) == 0)
            return true;
        at += strcspn(at, ","); /* a tag of ours holds no comma; one of others cannot match */
    }
    return false;
}

bool precondition_is_set(const struct precondition *wanted)
{
    return wanted->if_match || wanted->if_none_match;
}

bool precondition_holds(const struct precondition *wanted, const char *etag)
{
    if (!etag)
        return !wanted->if_match;
    if (wanted->if_match && !etag_in(wanted->if_match, etag, false))
        return false;
    return !wanted->if_none_match || !etag_in(wanted->if_none_match, etag, true);
}
