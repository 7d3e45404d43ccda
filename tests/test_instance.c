/* An instance's definition: every field with wrong values, defaults, and the way to the store and
 * back. */
#include "jobs/instance.h"
#include "server/buf.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MINIMAL "{'host':'sql01','login':'sweetspot','password':{'env':'SWEETSPOT_SECRET_X'}}"

static struct jobs_place *place_of(void **state)
{
    return *state;
}

/* Reads MINIMAL with one member changed. */
static int read_with(struct jobs_place *place, const char *pointer, const char *value,
                     struct instance *out, struct json_faults *faults)
{
    cJSON *tree = jobs_kit_json(MINIMAL);
    if (pointer)
        jobs_kit_set(tree, pointer, value);
    return instance_read(tree, place->secrets, out, faults);
}

struct wrong {
    const char *pointer, *value; /* the change; value NULL: the member is left out */
    const char *fault;           /* where it is told; NULL: at pointer */
    const char *words;           /* what it says */
};

/* clang-format off */
static const struct wrong wrongs[] = {
    {"/host", NULL, NULL, "required"},
    {"/host", "''", NULL, "1 to 255"},
    {"/host", "5", NULL, ""},
    {"/host", "'sql01,1433'", NULL, "without port or instance"},
    {"/host", "'sql01:1433'", NULL, "without port or instance"},
    {"/host", "'sql01\\\\SALES'", NULL, "without port or instance"},
    {"/host", "'tcp:sql01'", NULL, "without port or instance"},
    {"/host", "'sql 01'", NULL, "host name"},
    {"/host", "'sql01\\n'", NULL, "host name"},
    {"/host", "'a;UID=sa'", NULL, "host name"},
    {"/host", "'{a}'", NULL, "host name"},
    {"/port", "0", NULL, "1 to 65535"},
    {"/port", "65536", NULL, "1 to 65535"},
    {"/port", "1.5", NULL, ""},
    {"/port", "'1433'", NULL, ""},
    {"/login", NULL, NULL, "required"},
    {"/login", "''", NULL, "1 to 128"},
    {"/password", NULL, NULL, "required"},
    {"/password", "'Secret-1'", NULL, "{\"env\": NAME}"},
    {"/password", "{'env':'PATH'}", "/password/env", "SWEETSPOT_SECRET_"},
    {"/password", "{'file':'../x'}", "/password/file", ""},
    {"/password", "{'env':'SWEETSPOT_SECRET_X','file':'y'}", NULL, "{\"env\": NAME}"},
    {"/encryption", "'strict'", NULL, "require"},
    {"/ca_file", "''", NULL, "1 to 4096"},
    {"/verify_host", "true", NULL, "ca_file"},
    {"/verify_host", "1", NULL, ""},
    {"/environment", "'prod'", NULL, "production"},
    {"/lanes", "'san'", NULL, ""},
    {"/lanes", "['a','']", "/lanes/1", "1 to 64"},
    {"/lanes", "[7]", "/lanes/0", "1 to 64"},
    {"/windows", "'sometimes'", NULL, "always"},
    {"/windows", "{}", NULL, "always"},
    {"/windows", "[7]", "/windows/0", ""},
    {"/windows", "[{'from':'01:00','to':'02:00','time_zone':'UTC'}]", "/windows/0/days", "required"},
    {"/windows", "[{'days':[],'from':'01:00','to':'02:00','time_zone':'UTC'}]", "/windows/0/days", "1 to 7"},
    {"/windows", "[{'days':['mon','noday'],'from':'01:00','to':'02:00','time_zone':'UTC'}]", "/windows/0/days/1", "mon, tue"},
    {"/windows", "[{'days':['a','b','c','d','e','f','g'],'from':'01:00','to':'02:00','time_zone':'UTC'}]", "/windows/0/days/6", "mon, tue"},
    {"/windows", "[{'days':['a','b','c','d','e','f'],'from':'24:00','to':'02:00','time_zone':'UTC'}]", "/windows/0/from", "00:00 to 23:59"},
    {"/windows", "[{'days':['mon'],'from':'1:00','to':'02:00','time_zone':'UTC'}]", "/windows/0/from", "5"},
    {"/windows", "[{'days':['mon'],'from':'24:00','to':'02:00','time_zone':'UTC'}]", "/windows/0/from", "00:00 to 23:59"},
    {"/windows", "[{'days':['mon'],'from':'01:00','to':'02:60','time_zone':'UTC'}]", "/windows/0/to", "00:00 to 24:00"},
    {"/windows", "[{'days':['mon'],'from':'01:00','to':'24:01','time_zone':'UTC'}]", "/windows/0/to", "00:00 to 24:00"},
    {"/windows", "[{'days':['mon'],'from':'01:00','to':'01:00','time_zone':'UTC'}]", "/windows/0/to", "a whole day is \"00:00\" to \"24:00\""},
    {"/windows", "[{'days':['mon'],'from':'00:00','to':'00:00','time_zone':'UTC'}]", "/windows/0/to", "is equal to from"},
    {"/windows", "[{'days':['mon'],'from':'01:00','to':'02:00','time_zone':'Mars/Base'}]", "/windows/0/time_zone", ""},
    {"/windows", "[{'days':['mon'],'from':'01:00','to':'02:00','time_zone':'UTC','x':1}]", "/windows/0/x", ""},
    {"/limits", "{'buffer_memory_mib':0}", "/limits/buffer_memory_mib", "1 to 1048576"},
    {"/limits", "{'min_free_disk_mib':-1}", "/limits/min_free_disk_mib", "1000000000000"},
    {"/limits", "{'job_minutes':10081}", "/limits/job_minutes", "1 to 10080"},
    {"/limits", "{'read_mib':0}", "/limits/read_mib", "1 to 1000000000000"},
    {"/limits", "{'written_mib':-1}", "/limits/written_mib", "1000000000000"},
    {"/limits", "{'read':5}", "/limits/read", "read_mib"},
    {"/allow", "{'trace_flags':['3042']}", "/allow/trace_flags/0", "1 to 32767"},
    {"/allow", "{'trace_flags':[3042,0]}", "/allow/trace_flags/1", "1 to 32767"},
    {"/allow", "{'trace_flags':[40000]}", "/allow/trace_flags/0", "1 to 32767"},
    {"/allow", "{'trace_flags':[1.5]}", "/allow/trace_flags/0", "1 to 32767"},
    {"/allow", "{'paths':['Backup']}", "/allow/paths/0", "full path"},
    {"/allow", "{'paths':['/a','/b/../c']}", "/allow/paths/1", "\"..\""},
    {"/allow", "{'paths':['D:\\\\a\\\\..\\\\b']}", "/allow/paths/0", "\"..\""},
    {"/allow", "{'paths':[5]}", "/allow/paths/0", ""},
    {"/allow", "{'paths':['']}", "/allow/paths/0", "1 to 259"},
    {"/allow", "{'custom_sql':'yes'}", "/allow/custom_sql", ""},
    {"/custom_login", "'bench'", NULL, "custom_password"},
    {"/custom_password", "{'env':'SWEETSPOT_SECRET_Y'}", "/custom_login", "custom_password"},
    {"/labels", "[]", NULL, ""},
    {"/labels", "{'site':5}", "/labels/site", "200"},
    {"/labels", "{'':'x'}", "/labels/", "must have a name of 1 to 64"},
    {"/labels", "{'a:b':'x'}", "/labels/a:b", "without \":\""},
    {"/labels", "{'12345678901234567890123456789012345678901234567890123456789012345':''}", "/labels/12345678901234567890123456789012345678901234567890123456789012345", "1 to 64"},
    {"/prot", "1433", "/prot", "port"},
};
/* clang-format on */

static void refuses_each_wrong_value_where_it_stands(void **state)
{
    for (size_t i = 0; i < JSON_COUNT(wrongs); i++) {
        const struct wrong *wrong = &wrongs[i];
        struct instance instance;
        struct json_faults faults = {0};
        assert_int_equal(
            read_with(place_of(state), wrong->pointer, wrong->value, &instance, &faults), -1);
        jobs_kit_expect_fault(&faults, wrong->fault ? wrong->fault : wrong->pointer, wrong->words);
        json_faults_fini(&faults);
        instance_fini(&instance);
    }
}

static void refuses_each_member_of_a_wrong_type(void **state)
{
    static const char *const members[] = {"/host",
                                          "/port",
                                          "/login",
                                          "/password",
                                          "/encryption",
                                          "/ca_file",
                                          "/environment",
                                          "/lanes",
                                          "/windows",
                                          "/limits",
                                          "/limits/buffer_memory_mib",
                                          "/limits/min_free_disk_mib",
                                          "/limits/job_minutes",
                                          "/limits/read_mib",
                                          "/limits/written_mib",
                                          "/allow",
                                          "/allow/trace_flags",
                                          "/allow/paths",
                                          "/labels",
                                          "/custom_login",
                                          "/custom_password"};
    static const char *const bools[] = {"/verify_host", "/allow/custom_sql"};
    for (size_t i = 0; i < JSON_COUNT(members) + JSON_COUNT(bools); i++) {
        bool wants_bool = i >= JSON_COUNT(members);
        const char *member = wants_bool ? bools[i - JSON_COUNT(members)] : members[i];
        struct instance instance;
        struct json_faults faults = {0};
        assert_int_equal(
            read_with(place_of(state), member, wants_bool ? "'yes'" : "true", &instance, &faults),
            -1);
        jobs_kit_expect_fault(&faults, member, "");
        json_faults_fini(&faults);
        instance_fini(&instance);
    }
}

static void tells_all_faults_at_once_and_each_place_once(void **state)
{
    static const char *const pointers[] = {"/port",
                                           "/lanes/0",
                                           "/windows/0/days/0",
                                           "/windows/0/from",
                                           "/windows/0/to",
                                           "/windows/0/time_zone",
                                           "/windows/1/from",
                                           "/windows/1/time_zone",
                                           "/allow/paths/0"};
    struct instance instance;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(MINIMAL);
    jobs_kit_set(tree, "/port", "0");
    jobs_kit_set(tree, "/lanes", "['']");
    jobs_kit_set(tree, "/allow", "{'paths':['']}");
    jobs_kit_set(tree, "/windows",
                 "[{'days':['Sat'],'from':'24:00','to':'1:00','time_zone':'Mars/X'},"
                 "{'days':['sat'],'from':'','to':'01:00','time_zone':''}]");
    assert_int_equal(instance_read(tree, place_of(state)->secrets, &instance, &faults), -1);
    for (size_t i = 0; i < JSON_COUNT(pointers); i++)
        jobs_kit_expect_fault(&faults, pointers[i], "");
    assert_int_equal(faults.count, JSON_COUNT(pointers));
    json_faults_fini(&faults);
    instance_fini(&instance);
}

static void accepts_what_the_contract_allows(void **state)
{
    static const struct {
        const char *pointer, *value;
    } rights[] = {
        {"/host", "'2001:db8::5'"},
        {"/host", "'sql01.example.net'"},
        {"/host", "'b\xC3\xBC"
                  "cher.example'"},
        {"/port", "65535"},
        {"/ca_file", "null"},
        {"/ca_file", "'system'"},
        {"/windows", "'always'"},
        {"/windows", "null"},
        {"/windows", "[]"},
        {"/windows", "[{'days':['sat','sun'],'from':'01:00','to':'05:00','time_zone':'UTC'}]"},
        {"/windows", "[{'days':['sat'],'from':'00:00','to':'24:00','time_zone':'UTC'}]"},
        {"/allow", "{'paths':['NUL','\\\\\\\\host\\\\share','d:\\\\x','/']}"},
        {"/limits", "{'written_mib':0,'min_free_disk_mib':0}"},
    };
    for (size_t i = 0; i < JSON_COUNT(rights); i++) {
        struct instance instance;
        struct json_faults faults = {0};
        int rc = read_with(place_of(state), rights[i].pointer, rights[i].value, &instance, &faults);
        jobs_kit_expect_none(&faults);
        assert_int_equal(rc, 0);
        instance_fini(&instance);
    }
}

/* A u with dots, `count` times: two bytes each. The caller frees it. */
static char *letters(const char *before, int count, const char *after)
{
    struct buf text = {0};
    buf_add(&text, before);
    for (int i = 0; i < count; i++)
        buf_add(&text, "\xC3\xBC");
    buf_add(&text, after);
    return buf_take(&text);
}

/* The contract, as JSON Schema, counts characters. */
static void counts_characters_and_not_their_bytes(void **state)
{
    static const struct {
        const char *pointer, *before, *after;
        int most;
        const char *fault;
    } texts[] = {
        {"/lanes", "['", "']", 64, "/lanes/0"},
        {"/login", "'", "'", 128, "/login"},
        {"/labels", "{'site':'", "'}", 200, "/labels/site"},
        {"/labels", "{'", "':'x'}", 64, NULL},
        {"/allow", "{'paths':['/", "']}", 258, "/allow/paths/0"},
    };
    for (size_t i = 0; i < JSON_COUNT(texts) * 2; i++) {
        bool fits = i % 2 == 0;
        const char *pointer = texts[i / 2].pointer;
        struct instance instance;
        struct json_faults faults = {0};
        char *value = letters(texts[i / 2].before, texts[i / 2].most + !fits, texts[i / 2].after);
        int rc = read_with(place_of(state), pointer, value, &instance, &faults);
        if ((rc == 0) != fits)
            fail_msg("%s with %d letters", pointer, texts[i / 2].most + !fits);
        if (!fits && texts[i / 2].fault)
            jobs_kit_expect_fault(&faults, texts[i / 2].fault, "characters");
        free(value);
        json_faults_fini(&faults);
        instance_fini(&instance);
    }
}

static void refuses_a_certificate_without_required_encryption(void **state)
{
    static const char *const encryptions[] = {"'off'", "'request'"};
    for (size_t i = 0; i < JSON_COUNT(encryptions); i++) {
        struct instance instance;
        struct json_faults faults = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        jobs_kit_set(tree, "/ca_file", "'system'");
        jobs_kit_set(tree, "/encryption", encryptions[i]);
        assert_int_equal(instance_read(tree, place_of(state)->secrets, &instance, &faults), -1);
        jobs_kit_expect_fault(&faults, "/ca_file", "require");
        json_faults_fini(&faults);
        instance_fini(&instance);
    }
}

static void tells_all_faults_at_once(void **state)
{
    struct instance instance;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json("{'port':0,'limits':{'read_mib':0},'allow':{'paths':['x']},"
                                "'windows':[{'days':['x'],'from':'x','to':'02:00'}],'a~/b':1}");
    assert_int_equal(instance_read(tree, place_of(state)->secrets, &instance, &faults), -1);
    jobs_kit_expect_fault(&faults, "/host", "required");
    jobs_kit_expect_fault(&faults, "/port", "1 to 65535");
    jobs_kit_expect_fault(&faults, "/limits/read_mib", "1 to");
    jobs_kit_expect_fault(&faults, "/allow/paths/0", "full path");
    jobs_kit_expect_fault(&faults, "/windows/0/time_zone", "required");
    jobs_kit_expect_fault(&faults, "/a~0~1b", "");
    json_faults_fini(&faults);
    instance_fini(&instance);
}

static void refuses_more_windows_than_a_scheduler_can_look_at(void **state)
{
    struct instance instance;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(MINIMAL);
    cJSON *windows = cJSON_AddArrayToObject(tree, "windows");
    for (int i = 0; i < 51; i++)
        cJSON_AddItemToArray(
            windows,
            jobs_kit_json("{'days':['mon'],'from':'01:00','to':'02:00','time_zone':'UTC'}"));
    assert_int_equal(instance_read(tree, place_of(state)->secrets, &instance, &faults), -1);
    jobs_kit_expect_fault(&faults, "/windows", "at most 50");
    json_faults_fini(&faults);
    instance_fini(&instance);
}

static void fills_in_the_defaults_of_the_contract(void **state)
{
    struct instance instance;
    struct json_faults faults = {0};
    assert_int_equal(read_with(place_of(state), NULL, NULL, &instance, &faults), 0);
    cJSON *tree = instance_to_json(&instance);
    cJSON *wanted = jobs_kit_json(
        "{'host':'sql01','port':1433,'login':'sweetspot','password':{'env':'SWEETSPOT_SECRET_X'},"
        "'encryption':'require','ca_file':null,'verify_host':false,'environment':'production',"
        "'lanes':[],'windows':[],'limits':{'buffer_memory_mib':1024,'min_free_disk_mib':20480,"
        "'job_minutes':240,'read_mib':10000000,'written_mib':1000000},"
        "'allow':{'trace_flags':[],'paths':[],'custom_sql':false},'custom_login':null,"
        "'custom_password':null,'labels':{}}");
    assert_true(cJSON_Compare(tree, wanted, true));
    assert_true(instance_is_production(&instance));
    cJSON_Delete(wanted);
    cJSON_Delete(tree);
    instance_fini(&instance);
}

static void comes_back_from_the_store_as_it_went(void **state)
{
    struct instance instance;
    struct instance loaded;
    struct json_faults faults = {0};
    struct err err = {0};
    cJSON *tree = jobs_kit_json(
        "{'host':'h','port':1434,'login':'l','password':{'file':'pw'},'encryption':'require',"
        "'ca_file':'/ca.pem','verify_host':true,'environment':'test','lanes':['san-7'],"
        "'windows':[{'days':['sat'],'from':'23:00','to':'05:00','time_zone':'UTC'}],"
        "'limits':{'buffer_memory_mib':1,'min_free_disk_mib':0,'job_minutes':1,'read_mib':1,"
        "'written_mib':0},'allow':{'trace_flags':[3042],'paths':['/b'],'custom_sql':true},"
        "'custom_login':'c','custom_password':{'env':'SWEETSPOT_SECRET_C'},'labels':{'a':'b'}}");
    place_of(state)->config.secrets_dir = mem_copy("/nowhere");
    (void)(instance_read(tree, place_of(state)->secrets, &instance, &faults) < 0);
    free(place_of(state)->config.secrets_dir);
    cJSON *first = instance_to_json(&instance);
    char *text = json_print(first);
    assert_int_equal(instance_load(text, &loaded, &err), 0);
    cJSON *second = instance_to_json(&loaded);
    assert_true(cJSON_Compare(first, second, true));
    assert_int_equal(loaded.limits.written_mib, 0);
    assert_true(loaded.verify_host && loaded.custom_sql);
    free(text);
    cJSON_Delete(first);
    cJSON_Delete(second);
    instance_fini(&loaded);
    instance_fini(&instance);
    json_faults_fini(&faults);
}

static void says_what_it_cannot_read_in_a_stored_instance(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "[]", "{}", "{\"host\":5}"};
    for (size_t i = 0; i < JSON_COUNT(texts); i++) {
        struct instance loaded;
        struct err err = {0};
        assert_int_equal(instance_load(texts[i], &loaded, &err), -1);
        assert_int_equal(err.code, ERR_STORE);
        assert_non_null(strstr(err.msg, "cannot be read"));
    }
}

/* What a PUT would refuse today does not make an instance that is there unusable. */
static void loads_windows_that_were_good_when_they_were_stored(void **state)
{
    (void)state;
    static const char *const windows[] = {
        "[{'days':['mon'],'from':'01:00','to':'02:00','time_zone':'Gone/Away'}]",
        "[{'days':['mon'],'from':'01:00','to':'01:00','time_zone':'UTC'}]",
    };
    for (size_t i = 0; i < JSON_COUNT(windows); i++) {
        struct instance loaded;
        struct err err = {0};
        cJSON *tree = jobs_kit_json(MINIMAL);
        jobs_kit_set(tree, "/windows", windows[i]);
        char *text = json_print(tree);
        assert_int_equal(instance_load(text, &loaded, &err), 0);
        instance_fini(&loaded);
        free(text);
        cJSON_Delete(tree);
    }
}

static void knows_a_good_name(void **state)
{
    (void)state;
    char long_name[66];
    memset(long_name, 'a', 65);
    long_name[65] = '\0';
    assert_false(instance_name_is_valid(long_name));
    long_name[64] = '\0';
    assert_true(instance_name_is_valid(long_name));
    static const char *const good[] = {"a", "sql01.example-net_1", "0"};
    static const char *const bad[] = {"", "SQL01", "a b", "a/b", "\xC3\xA4", "a\n"};
    for (size_t i = 0; i < JSON_COUNT(good); i++)
        assert_true(instance_name_is_valid(good[i]));
    for (size_t i = 0; i < JSON_COUNT(bad); i++)
        assert_false(instance_name_is_valid(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(refuses_each_wrong_value_where_it_stands),
        JOBS_TEST(refuses_each_member_of_a_wrong_type),
        JOBS_TEST(tells_all_faults_at_once_and_each_place_once),
        JOBS_TEST(accepts_what_the_contract_allows),
        JOBS_TEST(counts_characters_and_not_their_bytes),
        JOBS_TEST(refuses_a_certificate_without_required_encryption),
        JOBS_TEST(tells_all_faults_at_once),
        JOBS_TEST(refuses_more_windows_than_a_scheduler_can_look_at),
        JOBS_TEST(fills_in_the_defaults_of_the_contract),
        JOBS_TEST(comes_back_from_the_store_as_it_went),
        cmocka_unit_test(says_what_it_cannot_read_in_a_stored_instance),
        cmocka_unit_test(loads_windows_that_were_good_when_they_were_stored),
        cmocka_unit_test(knows_a_good_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
