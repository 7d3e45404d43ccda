#include "jobs/measure/guard.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void ranges_are_those_of_the_documentation(void **state)
{
    (void)state;
    static const struct {
        char option; /* b buffercount, t maxtransfersize on disk, n on NUL, k blocksize */
        int64_t value;
        bool legal;
    } cases[] = {
        {'b', 1, true},          {'b', 600, true},        {'b', 0, false},
        {'b', -7, false},        {'b', 2147483647, true}, {'b', 2147483648, false},
        {'t', 65536, true},      {'t', 1048576, true},    {'t', 4194304, true},
        {'t', 4259840, false},   {'t', 65537, false},     {'t', 0, false},
        {'t', -65536, false},    {'t', 32768, false},     {'n', 4194304, true},
        {'n', 20971520, false},  {'k', 512, true},        {'k', 65536, true},
        {'k', 4096, true},       {'k', 256, false},       {'k', 131072, false},
        {'k', 1000, false},      {'k', 0, false},         {'k', -512, false},
        {'k', INT64_MIN, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = cases[i].value;
        const char *rule = cases[i].option == 'b'   ? guard_buffercount(value)
                           : cases[i].option == 't' ? guard_maxtransfersize(value, DEVICE_DISK)
                           : cases[i].option == 'n' ? guard_maxtransfersize(value, DEVICE_NUL)
                                                    : guard_blocksize(value);
        if ((rule == NULL) != cases[i].legal)
            fail_msg("%c %lld: %s", cases[i].option, (long long)value, rule ? rule : "legal");
    }
}

static void compression_follows_version_and_edition(void **state)
{
    (void)state;
    static char version_2008[] = "10.0.6000.29";
    static char version_2008_r2[] = "10.50.6000.34";
    static const struct {
        const char *word;
        int major, engine;
        int64_t edition;
        char *version;
        const char *rule; /* a word of it; NULL: legal */
    } cases[] = {
        {"default", 9, 2, -1, NULL, NULL},
        {"off", 9, 3, -1, NULL, NULL},
        {"on", 9, 3, -1, NULL, "2008"},
        {"on", 10, 3, -1, version_2008, NULL},
        {"on", 10, 2, -1534726760, version_2008, "Enterprise"},
        {"on", 10, 2, -1534726760, version_2008_r2, NULL},
        {"on", 16, 2, -1534726760, NULL, NULL},
        {"on", 17, 2, -1785266663, NULL, NULL},
        {"on", 16, 2, 1293598313, NULL, "Web"},
        {"on", 16, 2, -1, NULL, NULL}, /* unknown: the server will say */
        {"on", 16, 4, -1592396055, NULL, "Express"},
        {"off", 16, 4, -1592396055, NULL, NULL},
        {"on", 16, 8, -1, NULL, NULL},
        {"MS_XPRESS", 15, 3, -1, NULL, "2022"},
        {"MS_XPRESS", 16, 3, -1, NULL, NULL},
        {"MS_XPRESS", 16, 4, -1, NULL, "Express"},
        {"QAT_DEFLATE", 15, 3, -1, NULL, "2022"},
        {"QAT_DEFLATE", 16, 3, -1, NULL, NULL},
        {"ZSTD", 16, 3, -1, NULL, "2025"},
        {"ZSTD", 17, 3, -1, NULL, NULL},
        {"ZSTD", -1, -1, -1, NULL, NULL},
        {"zstd", 17, 3, -1, NULL, "must be"},
        {"default", 12, 5, -1, NULL, "Azure"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct server_facts facts = {.major = cases[i].major,
                                     .engine_edition = cases[i].engine,
                                     .edition_id = cases[i].edition,
                                     .version = cases[i].version};
        const char *rule = guard_compression(cases[i].word, &facts);
        bool right = cases[i].rule ? rule && strstr(rule, cases[i].rule) : rule == NULL;
        if (!right)
            fail_msg("%zu %s on %d: %s", i, cases[i].word, cases[i].major, rule ? rule : "legal");
    }
}

static void memory_counts_every_set_of_buffers(void **state)
{
    (void)state;
    static const struct {
        int64_t buffers, transfer;
        const char *compression;
        double mib;
    } cases[] = {
        {7, 0, "off", 7},
        {7, 1048576, "on", 21},
        {100, 0, "default", 300},
        {600, 4194304, "on", 7200},
        {600, 4194304, "off", 2400},
        {50, 65536, "off", 3.125},
        {150, 1048576, "ZSTD", 450},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(guard_buffer_memory_mib(cases[i].buffers, cases[i].transfer,
                                            cases[i].compression) == cases[i].mib);
    assert_true(isnan(guard_buffer_memory_mib(0, 1048576, "on")));
    assert_true(isinf(guard_buffer_memory_mib(INT64_MAX / 2, 4194304, "off")));
    assert_true(isinf(guard_buffer_memory_mib(INT64_MAX / 1048576, 1048576, "on")));
}

static void facts_survive_being_stored(void **state)
{
    (void)state;
    char version[] = "16.0.4100.1";
    char edition[] = "Developer Edition (64-bit)";
    char platform[] = "Linux";
    struct server_facts facts = {.major = 16,
                                 .engine_edition = 3,
                                 .edition_id = -2117995310,
                                 .version = version,
                                 .edition = edition,
                                 .platform = platform,
                                 .cpu_count = 8,
                                 .memory_mib = -1,
                                 .started_at = 1796093588123,
                                 .simulated = true};
    struct server_facts again;
    cJSON *tree = server_facts_to_json(&facts);
    server_facts_from_json(tree, &again);
    assert_int_equal(again.major, 16);
    assert_int_equal(again.engine_edition, 3);
    assert_true(again.edition_id == -2117995310);
    assert_string_equal(again.version, version);
    assert_string_equal(again.edition, edition);
    assert_string_equal(again.platform, platform);
    assert_null(again.host_name);
    assert_true(again.cpu_count == 8 && again.memory_mib == -1);
    assert_true(again.started_at == 1796093588123);
    assert_true(again.simulated && !again.windows);
    server_facts_fini(&again);
    cJSON_Delete(tree);
}

static void facts_that_cannot_be_read_stay_unknown(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null", "[]", "{}", "{\"major\": \"x\", \"cpu_count\": 1e300}", "{\"major\": 9e15}"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        cJSON *tree = cJSON_Parse(texts[i]);
        struct server_facts facts;
        server_facts_from_json(tree, &facts);
        assert_int_equal(facts.major, -1);
        assert_true(facts.cpu_count == -1);
        assert_null(facts.version);
        server_facts_fini(&facts);
        cJSON_Delete(tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_those_of_the_documentation),
        cmocka_unit_test(compression_follows_version_and_edition),
        cmocka_unit_test(memory_counts_every_set_of_buffers),
        cmocka_unit_test(facts_survive_being_stored),
        cmocka_unit_test(facts_that_cannot_be_read_stay_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
