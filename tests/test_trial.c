#include "jobs/measure/trial.h"
#include "server/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static cJSON *parse(const char *text)
{
    cJSON *tree = NULL;
    struct err err;
    if (json_parse(text, strlen(text), &tree, &err) < 0)
        fail_msg("%s", err.msg);
    return tree;
}

static void arms_are_named_by_their_number(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int index;
    } cases[] = {{"a0", 0},     {"a7", 7},
                 {"a255", 255}, {"a", -1},
                 {"", -1},      {"b1", -1},
                 {"a-1", -1},   {"a01", -1},
                 {"a1 ", -1},   {"a+1", -1},
                 {"A1", -1},    {"a1x", -1},
                 {NULL, -1},    {"a99999999999999999999", -1},
                 {"a 1", -1}};
    char name[ARM_NAME_SIZE];
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(arm_index(cases[i].name), cases[i].index);
    assert_string_equal(arm_name(12, name), "a12");
}

static void arms_survive_being_stored(void **state)
{
    (void)state;
    const char *text =
        "{\"arm\":\"a3\",\"label\":\"BUFFERCOUNT=50\",\"settings\":{\"buffercount\":50,"
        "\"target\":\"NUL\",\"database\":\"Verkäufe\"},\"baseline\":false,"
        "\"against\":\"a0\",\"buffer_memory_mib\":50}";
    cJSON *tree = parse(text);
    struct arm arm;
    struct err err;
    assert_int_equal(arm_from_json(tree, &arm, &err), 0);
    assert_int_equal(arm.index, 3);
    assert_int_equal(arm.against, 0);
    assert_true(arm.buffer_memory_mib == 50);
    cJSON *again = arm_to_json(&arm);
    char *printed = json_print(again);
    assert_string_equal(printed, text);
    free(printed);
    cJSON_Delete(again);
    arm_fini(&arm);
    cJSON_Delete(tree);
}

static void an_arm_may_lack_memory_and_baseline(void **state)
{
    (void)state;
    cJSON *tree = parse("{\"arm\":\"a0\",\"label\":\"default\",\"settings\":{},\"baseline\":true,"
                        "\"against\":null,\"buffer_memory_mib\":null,\"statements\":[\"x\"]}");
    struct arm arm;
    struct err err;
    assert_int_equal(arm_from_json(tree, &arm, &err), 0);
    assert_int_equal(arm.against, -1);
    assert_true(isnan(arm.buffer_memory_mib));
    arm_fini(&arm);
    cJSON_Delete(tree);
}

static void broken_arms_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"arm\":\"x\",\"label\":\"l\",\"settings\":{},\"baseline\":true}",
        "{\"arm\":\"a1\",\"label\":\"l\",\"settings\":[],\"baseline\":true}",
        "{\"arm\":\"a1\",\"label\":\"l\",\"settings\":{},\"baseline\":true,\"against\":\"b\"}",
        "{\"arm\":\"a1\",\"label\":5,\"settings\":{},\"baseline\":true}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        cJSON *tree = parse(texts[i]);
        struct arm arm;
        struct err err;
        assert_int_equal(arm_from_json(tree, &arm, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        cJSON_Delete(tree);
    }
}

static const char full_trial[] =
    "{\"seq\":7,\"block\":2,\"arm\":\"a3\",\"warmup\":false,\"status\":\"ok\","
    "\"started_at\":\"2026-12-01T02:53:08.123Z\",\"elapsed_s\":12.345678,\"server_s\":12.341,"
    "\"pages\":454146,\"bytes\":3720364032,\"rate_mib_s\":287.498,\"file_bytes\":828375040,"
    "\"cpu_s\":9.1,\"cpu_count\":8,\"cpu_percent\":9.21375,"
    "\"waits\":[{\"type\":\"BACKUPIO\",\"ms\":812,\"count\":90}],"
    "\"reads_by_file\":[{\"file\":\"AW_Data\",\"volume\":\"D:\\\\\",\"bytes\":0,\"stall_ms\":0}],"
    "\"create_s\":null,\"notes\":[],\"error\":null}";

static void trials_survive_being_stored(void **state)
{
    (void)state;
    cJSON *tree = parse(full_trial);
    struct trial trial;
    struct err err;
    assert_int_equal(trial_from_json(tree, &trial, &err), 0);
    assert_true(trial_counts(&trial));
    cJSON *again = trial_to_json(&trial);
    char *printed = json_print(again);
    assert_string_equal(printed, full_trial);
    free(printed);
    cJSON_Delete(again);
    trial_fini(&trial);
    cJSON_Delete(tree);
}

static void a_failed_trial_keeps_its_error(void **state)
{
    (void)state;
    struct trial trial = trial_new(3, 1, 0, false);
    trial.status = TRIAL_FAILED;
    trial.error_number = 701;
    trial.error_text = mem_copy("There is insufficient system memory.");
    trial.error_step = mem_copy("backup");
    trial_note(&trial, "first");
    trial_note(&trial, "second");
    cJSON *tree = trial_to_json(&trial);
    struct trial again;
    struct err err;
    assert_int_equal(trial_from_json(tree, &again, &err), 0);
    assert_int_equal(again.status, TRIAL_FAILED);
    assert_true(again.error_number == 701);
    assert_string_equal(again.error_step, "backup");
    assert_int_equal(cJSON_GetArraySize(again.notes), 2);
    assert_true(isnan(again.elapsed_s) && again.pages == -1 && again.bytes == -1);
    assert_true(cJSON_IsNull(json_member(tree, "rate_mib_s")));
    assert_true(cJSON_IsNull(json_member(tree, "started_at")));
    assert_false(trial_counts(&again));
    cJSON_Delete(tree);
    trial_fini(&again);
    trial_fini(&trial);
}

static void computed_members_are_never_read(void **state)
{
    (void)state;
    cJSON *tree = parse(full_trial);
    struct trial trial;
    struct err err;
    (void)cJSON_ReplaceItemInObjectCaseSensitive(tree, "rate_mib_s", cJSON_CreateNumber(9999));
    (void)cJSON_ReplaceItemInObjectCaseSensitive(tree, "bytes", cJSON_CreateNumber(1));
    assert_int_equal(trial_from_json(tree, &trial, &err), 0);
    assert_true(fabs(trial_rate(&trial) - 287.498) < 0.001);
    trial_fini(&trial);
    cJSON_Delete(tree);
}

static void broken_trials_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *member, *value;
    } cases[] = {
        {"seq", "0"},         {"seq", "1.5"},
        {"seq", "\"7\""},     {"block", "-1"},
        {"block", "1000000"}, {"arm", "\"b3\""},
        {"arm", "null"},      {"warmup", "0"},
        {"status", "\"OK\""}, {"started_at", "\"now\""},
        {"pages", "9e15"},    {"elapsed_s", "\"1\""},
        {"waits", "{}"},      {"notes", "null"},
        {"error", "[]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cJSON *tree = parse(full_trial);
        struct trial trial;
        struct err err;
        (void)cJSON_ReplaceItemInObjectCaseSensitive(tree, cases[i].member,
                                                     cJSON_Parse(cases[i].value));
        if (trial_from_json(tree, &trial, &err) != -1)
            fail_msg("%s: %s", cases[i].member, cases[i].value);
        assert_int_equal(err.code, ERR_INPUT);
        cJSON_Delete(tree);
    }
}

static void rates_use_the_servers_clock_when_it_has_one(void **state)
{
    (void)state;
    static const struct {
        int64_t pages;
        double elapsed, server, rate, speed;
    } cases[] = {
        {1280, 2, NAN, 5, 5},    {1280, 2, 1, 10, 10},       {0, 2, 1, NAN, NAN},
        {1280, 2, 0, NAN, NAN},  {1280, NAN, NAN, NAN, NAN}, {1280, 0, NAN, NAN, NAN},
        {-1, 4, NAN, NAN, 0.25}, {-1, NAN, NAN, NAN, NAN},   {-1, 0, NAN, NAN, NAN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct trial trial = trial_new(1, 1, 0, false);
        trial.pages = cases[i].pages;
        trial.bytes = cases[i].pages < 0 ? -1 : cases[i].pages * 8192;
        trial.elapsed_s = cases[i].elapsed;
        trial.server_s = cases[i].server;
        double rate = trial_rate(&trial);
        double speed = trial_speed(&trial);
        assert_true(isnan(cases[i].rate) ? isnan(rate) : rate == cases[i].rate);
        assert_true(isnan(cases[i].speed) ? isnan(speed) : speed == cases[i].speed);
        assert_int_equal(trial_counts(&trial), !isnan(cases[i].speed));
    }
}

static void only_good_trials_that_are_no_warmups_count(void **state)
{
    (void)state;
    static const struct {
        enum trial_status status;
        bool warmup, counts;
    } cases[] = {{TRIAL_OK, false, true},
                 {TRIAL_OK, true, false},
                 {TRIAL_FAILED, false, false},
                 {TRIAL_CONTAMINATED, false, false},
                 {TRIAL_CANCELLED, false, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct trial trial = trial_new(1, 1, 0, cases[i].warmup);
        trial.status = cases[i].status;
        trial.bytes = 8192;
        trial.pages = 1;
        trial.elapsed_s = 1;
        assert_int_equal(trial_counts(&trial), cases[i].counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arms_are_named_by_their_number),
        cmocka_unit_test(arms_survive_being_stored),
        cmocka_unit_test(an_arm_may_lack_memory_and_baseline),
        cmocka_unit_test(broken_arms_are_refused),
        cmocka_unit_test(trials_survive_being_stored),
        cmocka_unit_test(a_failed_trial_keeps_its_error),
        cmocka_unit_test(computed_members_are_never_read),
        cmocka_unit_test(broken_trials_are_refused),
        cmocka_unit_test(rates_use_the_servers_clock_when_it_has_one),
        cmocka_unit_test(only_good_trials_that_are_no_warmups_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
