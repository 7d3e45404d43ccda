#include "api/trace.h"

#include <stddef.h>
#include <string.h>

#define HEX "0123456789abcdef"
#define PARENT_BYTES 55 /* version 00: 2-32-16-2 */

static bool is_hex(const char *text, size_t length)
{
    return strspn(text, HEX) >= length;
}

static bool is_zero(const char *text, size_t length)
{
    return strspn(text, "0") >= length;
}

bool trace_id_of(const char *traceparent, char out[TRACE_ID_SIZE])
{
    const char *at = traceparent;
    size_t length = at ? strlen(at) : 0;
    if (length < PARENT_BYTES || !is_hex(at, 2) || strncmp(at, "ff", 2) == 0)
        return false;
    bool is_first_version = strncmp(at, "00", 2) == 0;
    if (is_first_version ? length != PARENT_BYTES
                         : length > PARENT_BYTES && at[PARENT_BYTES] != '-')
        return false;
    if (at[2] != '-' || !is_hex(at + 3, 32) || at[35] != '-' || !is_hex(at + 36, 16) ||
        at[52] != '-' || !is_hex(at + 53, 2) || is_zero(at + 3, 32) || is_zero(at + 36, 16))
        return false;
    memcpy(out, at + 3, TRACE_ID_SIZE - 1);
    out[TRACE_ID_SIZE - 1] = '\0';
    return true;
}
