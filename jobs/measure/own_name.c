#include "jobs/measure/own_name.h"

#include "server/ids.h"

#include <string.h>

#define DIGITS_MAX 19 /* of an int64_t */

bool own_name_matches(const char *name, int numbers)
{
    char id[IDS_TEXT_SIZE];
    size_t prefix = strlen(OWN_NAME_PREFIX);
    if (strncmp(name, OWN_NAME_PREFIX, prefix) != 0 || strlen(name + prefix) < sizeof id - 1)
        return false;
    memcpy(id, name + prefix, sizeof id - 1);
    id[sizeof id - 1] = '\0';
    if (!ids_is_valid(id))
        return false;
    name += prefix + sizeof id - 1;
    for (int i = 0; i < numbers; i++) {
        size_t digits = *name == '_' ? strspn(name + 1, "0123456789") : 0;
        if (digits == 0 || digits > DIGITS_MAX)
            return false;
        name += 1 + digits;
    }
    return *name == '\0';
}
