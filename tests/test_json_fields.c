/* Field tables: how an object becomes a struct, and what the person who wrote it is told. */
#include "server/buf.h"
#include "server/json.h"
#include "server/limits.h"
#include "server/mem.h"
#include "server/suggest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A text with its length, since some hold a NUL. */
#define TEXT(literal) literal, sizeof(literal) - 1

struct sample {
    const char *kind;
    int64_t repetitions;
    int64_t any_int;
    double tolerance;
    bool confirm;
    const cJSON *list;
    const cJSON *labels;
    const cJSON *anything;
    const char *name;
    int64_t minutes;
};

static const char *const sample_kinds[] = {"backup_sweep", "trace_flag", NULL};
static const struct json_field sample_limits[] = {
    {"minutes", JSON_INT, offsetof(struct sample, minutes), .required = true, .min = 1, .max = 240},
};
static const struct json_field sample_fields[] = {
    {"kind", JSON_TEXT, offsetof(struct sample, kind), .required = true, .choices = sample_kinds},
    {"repetitions", JSON_INT, offsetof(struct sample, repetitions), .min = 1, .max = 100},
    {"any_int", JSON_INT, offsetof(struct sample, any_int)},
    {"tolerance", JSON_NUMBER, offsetof(struct sample, tolerance), .min = 0, .max = 0.5},
    {"confirm", JSON_BOOL, offsetof(struct sample, confirm)},
    {"list", JSON_ARRAY, offsetof(struct sample, list), .min = 1, .max = 3},
    {"labels", JSON_OBJECT, offsetof(struct sample, labels)},
    {"anything", JSON_ANY, offsetof(struct sample, anything), .nullable = true},
    {"name", JSON_TEXT, offsetof(struct sample, name), .nullable = true, .min = 2, .max = 4},
    {"limits", JSON_OBJECT, JSON_NO_OFFSET, .fields = sample_limits, .field_count = 1},
};

/* Reads text by the table; the caller frees tree and faults. */
static cJSON *read_sample(const char *text, struct sample *out, struct json_faults *faults)
{
    cJSON *tree = NULL;
    struct err err = {0};
    if (json_parse(text, strlen(text), &tree, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    json_read(tree, sample_fields, JSON_COUNT(sample_fields), "", out, faults);
    return tree;
}

static void fills_a_struct_and_keeps_the_defaults_of_what_is_absent(void **state)
{
    (void)state;
    struct sample out = {.repetitions = 5, .tolerance = 0.02, .minutes = 120, .name = "default"};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("{\"kind\":\"trace_flag\",\"any_int\":-9007199254740992,"
                              "\"confirm\":true,\"list\":[1,2],\"labels\":{\"a\":\"b\"},"
                              "\"anything\":null,\"name\":null,\"limits\":{\"minutes\":2.4e2}}",
                              &out, &faults);
    assert_int_equal(faults.count, 0);
    assert_string_equal(out.kind, "trace_flag");
    assert_true(out.any_int == -INT64_C(9007199254740992));
    assert_true(out.repetitions == 5 && out.minutes == 240 && out.confirm);
    assert_true(out.tolerance > 0.019 && out.tolerance < 0.021);
    assert_int_equal(cJSON_GetArraySize(out.list), 2);
    assert_non_null(json_member(out.labels, "a"));
    assert_null(out.anything);
    assert_string_equal(out.name, "default");
    cJSON_Delete(tree);
}

static void names_the_place_and_the_limit_of_each_wrong_value(void **state)
{
    (void)state;
    static const struct {
        const char *member; /* beside a good kind */
        const char *pointer;
        const char *detail;
    } cases[] = {
        {"\"repetitions\":0", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":101", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":1.5", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":\"5\"", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":null", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"repetitions\":true", "/repetitions", "must be a whole number from 1 to 100"},
        {"\"any_int\":1e16", "/any_int", "must be a whole number up to 2^53"},
        {"\"any_int\":[]", "/any_int", "must be a whole number up to 2^53"},
        {"\"tolerance\":0.51", "/tolerance", "must be a number from 0 to 0.5"},
        {"\"tolerance\":-1e-9", "/tolerance", "must be a number from 0 to 0.5"},
        {"\"tolerance\":\"x\"", "/tolerance", "must be a number from 0 to 0.5"},
        {"\"confirm\":1", "/confirm", "must be true or false"},
        {"\"confirm\":\"true\"", "/confirm", "must be true or false"},
        {"\"list\":[]", "/list", "must be a list of 1 to 3 items"},
        {"\"list\":[1,2,3,4]", "/list", "must be a list of 1 to 3 items"},
        {"\"list\":{}", "/list", "must be a list of 1 to 3 items"},
        {"\"labels\":[]", "/labels", "must be an object"},
        {"\"labels\":\"a\"", "/labels", "must be an object"},
        {"\"name\":\"\xC3\xA9\"", "/name", "must be a text of 2 to 4 characters, or null"},
        {"\"name\":\"abcde\"", "/name", "must be a text of 2 to 4 characters, or null"},
        {"\"name\":7", "/name", "must be a text of 2 to 4 characters, or null"},
        {"\"limits\":7", "/limits", "must be an object"},
        {"\"limits\":null", "/limits", "must be an object"},
        {"\"limits\":{}", "/limits/minutes", "is required"},
        {"\"limits\":{\"minutes\":0}", "/limits/minutes", "must be a whole number from 1 to 240"},
        {"\"limits\":{\"minutes\":1,\"minute\":1}", "/limits/minute",
         "is unknown; did you mean \"minutes\"?"},
        {"\"repetition\":5", "/repetition", "is unknown; did you mean \"repetitions\"?"},
        {"\"Kind\":5", "/Kind", "is unknown; did you mean \"kind\"?"},
        {"\"a/b~c\":5", "/a~1b~0c",
         "is unknown; known here: \"kind\", \"repetitions\", \"any_int\", \"tolerance\", "
         "\"confirm\", \"list\", \"labels\", \"anything\", \"name\", \"limits\""},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct sample out = {.repetitions = 5, .name = "kept"};
        struct json_faults faults = {0};
        char *text = mem_format("{\"kind\":\"trace_flag\",%s}", cases[i].member);
        cJSON *tree = read_sample(text, &out, &faults);
        assert_int_equal(faults.count, 1);
        assert_string_equal(faults.items[0].pointer, cases[i].pointer);
        assert_string_equal(faults.items[0].detail, cases[i].detail);
        assert_true(out.repetitions == 5 && !out.confirm && !out.list && !out.labels);
        assert_string_equal(out.name, "kept");
        json_faults_fini(&faults);
        cJSON_Delete(tree);
        free(text);
    }
}

static void tells_all_faults_at_once(void **state)
{
    (void)state;
    struct sample out = {0};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("{\"knid\":1,\"confirm\":3,\"limits\":{}}", &out, &faults);
    assert_int_equal(faults.count, 4);
    assert_string_equal(faults.items[0].detail, "is unknown; did you mean \"kind\"?");
    assert_string_equal(faults.items[1].pointer, "/kind");
    assert_string_equal(faults.items[1].detail, "is required");
    assert_string_equal(faults.items[2].pointer, "/confirm");
    assert_string_equal(faults.items[3].pointer, "/limits/minutes");
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void suggests_the_nearest_choice(void **state)
{
    (void)state;
    struct sample out = {0};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("{\"kind\":\"backup-swep\"}", &out, &faults);
    assert_int_equal(faults.count, 1);
    assert_string_equal(faults.items[0].detail, "must be one of \"backup_sweep\", \"trace_flag\"; "
                                                "did you mean \"backup_sweep\"?");
    assert_null(out.kind);
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void describes_open_ranges(void **state)
{
    (void)state;
    static const struct json_field fields[] = {
        {"low", JSON_INT, JSON_NO_OFFSET, .min = 1, .max = INFINITY},
        {"high", JSON_NUMBER, JSON_NO_OFFSET, .min = -INFINITY, .max = 7},
        {"text", JSON_TEXT, JSON_NO_OFFSET, .max = 3},
        {"pair", JSON_ARRAY, JSON_NO_OFFSET, .min = 2, .max = 2},
    };
    static const char *const details[] = {
        "must be a whole number of at least 1",
        "must be a number of at most 7",
        "must be a text of at most 3 characters",
        "must be a list of exactly 2 items",
    };
    struct json_faults faults = {0};
    cJSON *tree = NULL;
    assert_int_equal(
        json_parse(TEXT("{\"low\":0,\"high\":8,\"text\":\"long\",\"pair\":[]}"), &tree, NULL), 0);
    json_read(tree, fields, JSON_COUNT(fields), "", NULL, &faults);
    assert_int_equal(faults.count, JSON_COUNT(details));
    for (size_t i = 0; i < faults.count; i++)
        assert_string_equal(faults.items[i].detail, details[i]);
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void refuses_anything_but_an_object(void **state)
{
    (void)state;
    struct sample out = {0};
    struct json_faults faults = {0};
    cJSON *tree = read_sample("[]", &out, &faults);
    assert_int_equal(faults.count, 1);
    assert_string_equal(faults.items[0].pointer, "");
    assert_string_equal(faults.items[0].detail, "must be an object");
    json_faults_fini(&faults);
    cJSON_Delete(tree);
}

static void keeps_a_handful_of_faults(void **state)
{
    (void)state;
    struct buf text = {0};
    struct sample out = {0};
    struct json_faults faults = {0};
    buf_add(&text, "{\"kind\":\"trace_flag\"");
    for (int i = 0; i < 2 * LIMIT_JSON_FAULTS; i++)
        buf_format(&text, ",\"x%d\":0", i);
    buf_add(&text, "}");
    cJSON *tree = read_sample(buf_text(&text), &out, &faults);
    assert_int_equal(faults.count, LIMIT_JSON_FAULTS);
    json_faults_fini(&faults);
    cJSON_Delete(tree);
    buf_fini(&text);
}

static void pointers_live_until_the_fourth_later_call(void **state)
{
    (void)state;
    const char *first = json_pointer("", "parameters");
    const char *second = json_pointer(first, "a~/b");
    const char *third = json_pointer_index(second, 3);
    const char *fourth = json_pointer_index("", 0);
    assert_string_equal(first, "/parameters");
    assert_string_equal(second, "/parameters/a~0~1b");
    assert_string_equal(third, "/parameters/a~0~1b/3");
    assert_string_equal(fourth, "/0");
}

static void a_long_pointer_is_cut_at_a_character(void **state)
{
    (void)state;
    char name[1000] = "";
    for (int i = 0; i < 300; i++)
        memcpy(name + 3 * i, "\xE6\x97\xA5", 4);
    const char *pointer = json_pointer("", name);
    assert_int_equal(strlen(pointer), 1 + 166 * 3);
    assert_string_equal(json_pointer(pointer, name), json_pointer(pointer, name));
}

static void suggests_only_what_is_near(void **state)
{
    (void)state;
    static const struct {
        const char *wrong;
        const char *best; /* of submit, report, watch, cancel */
    } cases[] = {
        {"sumbit", "submit"},  {"SUBMIT", "submit"}, {"repot", "report"}, {"cancle", "cancel"},
        {"wach", "watch"},     {"delete", NULL},     {"", NULL},          {"x", NULL},
        {"reports", "report"}, {"subscribe", NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct suggest suggest = SUGGEST_FOR(cases[i].wrong);
        suggest_offer(&suggest, "submit");
        suggest_offer(&suggest, "report");
        suggest_offer(&suggest, "watch");
        suggest_offer(&suggest, "cancel");
        if (cases[i].best)
            assert_string_equal(suggest.best, cases[i].best);
        else
            assert_null(suggest.best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_a_struct_and_keeps_the_defaults_of_what_is_absent),
        cmocka_unit_test(names_the_place_and_the_limit_of_each_wrong_value),
        cmocka_unit_test(tells_all_faults_at_once),
        cmocka_unit_test(suggests_the_nearest_choice),
        cmocka_unit_test(describes_open_ranges),
        cmocka_unit_test(refuses_anything_but_an_object),
        cmocka_unit_test(keeps_a_handful_of_faults),
        cmocka_unit_test(pointers_live_until_the_fourth_later_call),
        cmocka_unit_test(a_long_pointer_is_cut_at_a_character),
        cmocka_unit_test(suggests_only_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
