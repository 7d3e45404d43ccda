#include "tests/flag_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

void flag_fault(struct harness *house, const char *json)
{
    char error[SIM_ERROR_SIZE];
    if (sim_fault(house->sim, json, error) < 0)
        fail_msg("%s: %s", json, error);
}

bool flag_is_on(struct harness *house, int flag)
{
    int flags[16];
    size_t count = sim_flags(house->sim, flags, 16);
    for (size_t i = 0; i < count && i < 16; i++)
        if (flags[i] == flag)
            return true;
    return false;
}

void flag_expect_tidy(struct harness *house)
{
    size_t count = 0;
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        if (strncasecmp(texts[i], "DBCC TRACEO", 11) == 0)
            assert_non_null(strstr(texts[i], ", -1)"));
        if (strncasecmp(texts[i], "BACKUP", 6) == 0)
            assert_non_null(strstr(texts[i], "COPY_ONLY"));
    }
    sim_texts_free(texts, count);
    struct sim_left *files = sim_files(house->sim, &count);
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(files[i].path, "sweetspot_"));
    sim_files_free(files, count);
}
