/* Any bytes as a TZif file: refused with a reason, or a zone whose answers keep their bounds. */
#include "jobs/timezone.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const int64_t moments[] = {
        INT64_MIN, -5000000000, -1, 0, 951782400, 1774746000, 2000000000, 4102444800, INT64_MAX,
    };
    struct zone *zone = NULL;
    struct err err = {0};
    if (timezone_parse(data, size, &zone, &err) < 0) {
        assert(err.code == ERR_SYSTEM && err.msg[0]);
        return 0;
    }
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        int offset_s = timezone_offset(zone, moments[i]);
        assert(offset_s > -90000 && offset_s < 93600);
        int64_t first = timezone_to_utc(zone, moments[i], TIMEZONE_FIRST);
        int64_t last = timezone_to_utc(zone, moments[i], TIMEZONE_LAST);
        assert(first <= last);
    }
    timezone_close(zone);
    return 0;
}
