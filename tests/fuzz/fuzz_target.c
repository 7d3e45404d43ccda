/* Whatever bytes come as the target of a request, they are refused or cut into parts
 * that hold no slash, no control byte and no dot segment, and lead to at most one route. */
#include "api/target.h"
#include "server/mem.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void check_text(const char *text)
{
    for (const char *at = text; *at; at++)
        assert((unsigned char)*at >= ' ' && *at != 0x7F);
}

static void check(const struct target *target)
{
    assert(target->raw[0] == '/');
    for (size_t i = 0; i < target->segment_count && i < TARGET_SEGMENTS; i++) {
        const char *segment = target->segments[i];
        check_text(segment);
        assert(!strpbrk(segment, "/\\"));
        assert(strcmp(segment, ".") != 0 && strcmp(segment, "..") != 0);
    }
    for (size_t i = 0; i < target->query_count; i++) {
        check_text(target->queries[i].name);
        check_text(target->queries[i].value);
    }
    if (target->authority)
        assert(target->authority[0] && !strpbrk(target->authority, "/?#@\\% "));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct target target;
    char *raw = mem_alloc(size + 1, 1);
    memcpy(raw, data, size);
    const char *fault = target_read(raw, &target);
    if (!fault)
        check(&target);
    else
        assert(fault[0]);
    target_fini(&target);
    free(raw);
    return 0;
}
