/* GET /v1/kinds: its schemas say what the service really takes. */
#include "server/json.h"
#include "server/mem.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ALLOW "'allow':{'paths':['D:\\\\Backup','/tmp'],'trace_flags':[3042]}"

/* --- a validator of the few words that our schemas use; an unknown word fails the test ------ */

static bool is_valid(const cJSON *schema, const cJSON *value);

static bool has_type(const char *type, const cJSON *value)
{
    if (strcmp(type, "integer") == 0)
        return cJSON_IsNumber(value) && trunc(value->valuedouble) == value->valuedouble;
    return (strcmp(type, "string") == 0 && cJSON_IsString(value)) ||
           (strcmp(type, "number") == 0 && cJSON_IsNumber(value)) ||
           (strcmp(type, "boolean") == 0 && cJSON_IsBool(value)) ||
           (strcmp(type, "object") == 0 && cJSON_IsObject(value)) ||
           (strcmp(type, "array") == 0 && cJSON_IsArray(value)) ||
           (strcmp(type, "null") == 0 && cJSON_IsNull(value));
}

static bool type_fits(const cJSON *types, const cJSON *value)
{
    if (cJSON_IsString(types))
        return has_type(types->valuestring, value);
    const cJSON *type;
    cJSON_ArrayForEach(type, types) {
        if (has_type(type->valuestring, value))
            return true;
    }
    return false;
}

static bool is_listed(const cJSON *list, const cJSON *value)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (cJSON_Compare(item, value, true))
            return true;
    }
    return false;
}

static bool required_are_there(const cJSON *names, const cJSON *value)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, names) {
        if (cJSON_IsObject(value) && !json_member(value, name->valuestring))
            return false;
    }
    return true;
}

static bool members_fit(const cJSON *schema, const cJSON *value)
{
    const cJSON *member;
    if (!cJSON_IsObject(value))
        return true;
    cJSON_ArrayForEach(member, value) {
        const cJSON *known = json_member(json_member(schema, "properties"), member->string);
        if (known ? !is_valid(known, member)
                  : cJSON_IsFalse(json_member(schema, "additionalProperties")))
            return false;
    }
    return true;
}

static bool items_fit(const cJSON *schema, const cJSON *value)
{
    const cJSON *item;
    if (!cJSON_IsArray(value))
        return true;
    cJSON_ArrayForEach(item, value) {
        if (!is_valid(schema, item))
            return false;
    }
    return true;
}

static bool any_fits(const cJSON *schemas, const cJSON *value)
{
    const cJSON *schema;
    cJSON_ArrayForEach(schema, schemas) {
        if (is_valid(schema, value))
            return true;
    }
    return false;
}

static bool limit_holds(const cJSON *word, const cJSON *value)
{
    static const struct {
        const char *word;
        bool is_low;
    } limits[] = {{"minimum", true},  {"minLength", true},  {"minItems", true},
                  {"maximum", false}, {"maxLength", false}, {"maxItems", false}};
    double size = 0;
    if (cJSON_IsNumber(value))
        size = value->valuedouble;
    else if (cJSON_IsString(value))
        size = (double)strlen(value->valuestring);
    else if (cJSON_IsArray(value))
        size = cJSON_GetArraySize(value);
    else
        return true; /* null, beside its type */
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (strcmp(limits[i].word, word->string) == 0)
            return limits[i].is_low ? size >= word->valuedouble : size <= word->valuedouble;
    fail_msg("the schema uses %s", word->string);
    return false;
}

static bool word_holds(const cJSON *schema, const cJSON *word, const cJSON *value)
{
    static const char *const silent[] = {"$schema", "description", "properties",
                                         "additionalProperties"};
    const char *name = word->string;
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
        if (strcmp(name, silent[i]) == 0)
            return strcmp(name, "properties") != 0 || members_fit(schema, value);
    if (strcmp(name, "type") == 0)
        return type_fits(word, value);
    if (strcmp(name, "enum") == 0)
        return is_listed(word, value);
    if (strcmp(name, "const") == 0)
        return cJSON_Compare(word, value, true);
    if (strcmp(name, "required") == 0)
        return required_are_there(word, value);
    if (strcmp(name, "items") == 0)
        return items_fit(word, value);
    if (strcmp(name, "anyOf") == 0)
        return any_fits(word, value);
    return limit_holds(word, value);
}

static bool is_valid(const cJSON *schema, const cJSON *value)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, schema) {
        if (!word_holds(schema, word, value))
            return false;
    }
    return true;
}

/* --- the tests ------------------------------------------------------------------------------ */

static cJSON *kinds(struct harness *house)
{
    return harness_call(house, "GET", "/v1/kinds", NULL, 200);
}

static const cJSON *kind_of(const cJSON *answer, const char *name)
{
    const cJSON *kind;
    cJSON_ArrayForEach(kind, at(answer, "items")) {
        if (strcmp(text_at(kind, "kind"), name) == 0)
            return kind;
    }
    fail_msg("no kind %s", name);
    return NULL;
}

static void every_kind_tells_its_schema_example_and_permissions(void **state)
{
    static const char *const names[] = {"backup_sweep", "backup_throughput", "trace_flag",
                                        "snapshot_overhead", "backup_history"};
    cJSON *answer = kinds(*state);
    assert_int_equal(cJSON_GetArraySize(at(answer, "items")), 5);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *kind = kind_of(answer, names[i]);
        assert_non_null(strstr(text_at(kind, "parameters/$schema"), "2020-12"));
        assert_true(cJSON_GetArraySize(at(kind, "permissions")) > 0);
        if (!is_valid(at(kind, "parameters"), at(kind, "example")))
            fail_msg("the schema of %s refuses its example", names[i]);
    }
    assert_string_equal(text_at(kind_of(answer, "trace_flag"), "permissions/0"),
                        "sysadmin (DBCC TRACEON)");
    cJSON_Delete(answer);
}

/* Submits the parameters of a kind and gives the status. */
static int submit(struct harness *house, const char *kind, const cJSON *parameters)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "kind", kind);
    cJSON_AddStringToObject(body, "instance", "sql01");
    cJSON_AddItemToObject(body, "parameters", cJSON_Duplicate(parameters, true));
    cJSON_AddStringToObject(body, "not_before", "2999-01-01T00:00:00Z");
    char *text = json_print(body);
    struct reply reply = call(harness_port(house), "POST", "/v1/jobs", NULL, text);
    int status = reply.status;
    cJSON_Delete(body);
    free(text);
    reply_fini(&reply);
    return status;
}

static void every_example_is_accepted(void **state)
{
    cJSON *answer = kinds(*state);
    const cJSON *kind;
    cJSON_ArrayForEach(kind, at(answer, "items")) {
        if (submit(*state, text_at(kind, "kind"), at(kind, "example")) != 202)
            fail_msg("the example of %s is refused", text_at(kind, "kind"));
    }
    cJSON_Delete(answer);
}

#define A8 "aaaaaaaa"
#define A64 A8 A8 A8 A8 A8 A8 A8 A8
#define A128 A64 A64

/* Schema and service say the same of these. */
static void the_schema_and_the_service_agree(void **state)
{
    static const struct {
        const char *kind;
        const char *parameters;
        bool good;
    } cases[] = {
        {"backup_sweep", "{'database':'Sales','buffercount':[50]}", true},
        {"backup_sweep", "{'database':'Sales','buffercount':['default',7]}", true},
        {"backup_sweep", "{'database':'Sales','blocksize':[512],'confirm_on':null}", true},
        {"backup_sweep", "{'database':'Sales','buffercount':[0]}", false},
        {"backup_sweep", "{'database':'Sales','buffercount':['many']}", false},
        {"backup_sweep", "{'database':'Sales','buffercount':[7.5]}", false},
        {"backup_sweep", "{'database':'Sales','buffercount':[]}", false},
        {"backup_sweep", "{'database':'Sales','buffercounts':[7]}", false},
        {"backup_sweep", "{'database':'Sales','maxtransfersize':[4194305]}", false},
        {"backup_sweep", "{'database':'Sales','compression':['zip']}", false},
        {"backup_sweep", "{'database':'Sales','files':[65]}", false},
        {"backup_sweep", "{'database':'Sales','targets':[{'name':'x'}]}", false},
        {"backup_sweep", "{'database':'Sales','targets':[{'name':'x','paths':['NUL'],'file':1}]}",
         false},
        {"backup_sweep", "{'database':'Sales','confirm_on':{'name':'x','paths':['NUL'],'y':1}}",
         false},
        {"backup_sweep", "{}", false},
        {"backup_throughput", "{'databases':['Sales'],'compression':'ZSTD'}", false},
        {"backup_throughput", "{'databases':[7]}", false},
        {"trace_flag", "{'databases':['Sales'],'target':{'name':'t','paths':['/tmp']}}", true},
        {"trace_flag", "{'databases':['Sales'],'target':{'name':'t','paths':['/tmp'],'p':1}}",
         false},
        {"trace_flag",
         "{'databases':['Sales'],'target':{'name':'t','paths':['/tmp']},"
         "'compression':'gz'}",
         false},
        {"trace_flag", "{'databases':['Sales'],'target':{'name':'t','paths':['/tmp']},'flags':[0]}",
         false},
        {"snapshot_overhead",
         "{'database':'Sales','locations':[{'name':'t','path':'/tmp','q':1}],"
         "'workload':{'select_into':{'source':'dbo.T','rows':1}}}",
         false},
        {"snapshot_overhead",
         "{'database':'Sales','locations':[{'name':'t','path':'/tmp'}],"
         "'workload':{'select_into':{'source':'dbo.T','rows':1}}}",
         true},
        {"snapshot_overhead",
         "{'database':'Sales','locations':[{'name':'t','path':'/tmp'}],"
         "'workload':{'select_into':{'source':'dbo.T','rows':1}},"
         "'snapshots':[9]}",
         false},
        {"snapshot_overhead",
         "{'database':'Sales','locations':[{'name':'t','path':'/tmp'}],"
         "'workload':{'select_into':{'source':'dbo.T','row':1}}}",
         false},
        {"backup_history", "{'databases':null,'types':['log'],'include_copy_only':true}", true},
        {"backup_history", "{'types':['file']}", false},
        {"backup_history", "{'databases':['" A128 "']}", true},
        {"backup_history", "{'databases':['" A128 "a']}", false},
        {"backup_history", "{'include_copy_only':1}", false},
    };
    cJSON *answer = kinds(*state);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = harness_json(cases[i].parameters);
        cJSON *parameters = cJSON_Parse(text);
        assert_non_null(parameters);
        bool schema = is_valid(at(kind_of(answer, cases[i].kind), "parameters"), parameters);
        int status = submit(*state, cases[i].kind, parameters);
        if (schema != cases[i].good || status != (cases[i].good ? 202 : 400))
            fail_msg("%s %s: the schema says %d, the service %d", cases[i].kind, text, schema,
                     status);
        cJSON_Delete(parameters);
        free(text);
    }
    cJSON_Delete(answer);
}

static int set_up(void **state)
{
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    *state = house;
    return 0;
}

static int tear_down(void **state)
{
    harness_stop(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_tells_its_schema_example_and_permissions),
        TEST(every_example_is_accepted),
        TEST(the_schema_and_the_service_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
