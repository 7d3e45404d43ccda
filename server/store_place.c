#include "server/mem.h"
#include "server/store_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 15 /* of a moment in milliseconds: until the year 33658 */

/* The name in a place, NULL when it is none. */
static const char *name_in(const char *place)
{
    size_t digits = strspn(place, "0123456789");
    bool good = digits >= 1 && digits <= DIGITS_MAX && place[digits] == '.' && place[digits + 1];
    return good ? place + digits + 1 : NULL;
}

char *store_place(int64_t created_at, const char *name)
{
    return mem_format("%" PRId64 ".%s", created_at, name);
}

bool store_place_is_valid(const char *place)
{
    return name_in(place) != NULL;
}

void store_place_read(const char *place, int64_t *out_created_at, const char **out_name)
{
    const char *name = place ? name_in(place) : NULL;
    *out_name = name ? name : "";
    *out_created_at = name ? strtoll(place, NULL, 10) : INT64_MAX;
}
