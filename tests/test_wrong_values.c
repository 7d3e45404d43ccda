/* Every member of every body that is taken, with each of twelve values in its place: it is taken,
 * or told at that very place (or in it, or at the object it belongs to). */
#include "jobs/kind.h"
#include "jobs/webhook.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REST                                                                                       \
    "'design':{'repetitions':3,'warmups':1,'order':'random_blocks','seed':42,'search':'grid',"     \
    "'confidence':0.95,'tolerance':0.02,'max_repetitions':10,'stop_early':false},"                 \
    "'limits':{'minutes':60,'buffer_memory_mib':512,'read_mib':1000,'written_mib':1000},"          \
    "'assume_free_mib':1000,'priority':5,'not_before':'2026-12-01T00:00:00Z',"                     \
    "'deadline':'2999-12-01T00:00:00Z','confirm_production':true,'ignore_windows':true,"           \
    "'baseline':'latest','notify':['dba'],'labels':{'a':'b'},'requested_by':'me'}"
#define JOB(kind, parameters)                                                                      \
    "{'kind':'" kind "','instance':'sql01','parameters':{" parameters "}," REST
#define TARGETS "'targets':[{'name':'disk','paths':['/backup']},{'name':'NUL','paths':['NUL']}]"

#define INSTANCE                                                                                   \
    "{'host':'127.0.0.1','port':1,'login':'sweetspot','password':{'env':'SWEETSPOT_SECRET_TEST'}," \
    "'environment':'development','allow':{'paths':['/backup'],'trace_flags':[3042]}}"

enum reader { READ_JOB, READ_INSTANCE, READ_WEBHOOK };

static const struct {
    const char *name;
    enum reader reader;
    const char *body;
} bodies[] = {
    {"backup_sweep", READ_JOB,
     JOB("backup_sweep", "'database':'Sales'," TARGETS
                         ",'buffercount':['default',50],'maxtransfersize':['default',1048576],"
                         "'blocksize':[65536],'files':[1,2],'compression':['off','on']")},
    {"backup_throughput", READ_JOB,
     JOB("backup_throughput", "'databases':['Sales','Big']," TARGETS ",'compression':'off'")},
    {"trace_flag", READ_JOB,
     JOB("trace_flag",
         "'flags':[3042],'databases':['Sales'],'target':{'name':'disk','paths':['/backup'],"
         "'files':1},'compression':'on'")},
    {"snapshot_overhead", READ_JOB,
     JOB("snapshot_overhead", "'database':'Sales','snapshots':[0,1,2],"
                              "'locations':[{'name':'a','path':'/backup'}],"
                              "'workload':{'select_into':{'source':'dbo.Big','rows':1000}},"
                              "'confirm_log_growth':true")},
    {"backup_history", READ_JOB,
     JOB("backup_history", "'databases':['Sales'],'since':'2026-01-01T00:00:00Z',"
                           "'types':['full'],'include_copy_only':false")},
    {"instance", READ_INSTANCE,
     "{'host':'127.0.0.1','port':1433,'login':'sweetspot','password':{'env':"
     "'SWEETSPOT_SECRET_TEST'},'encryption':'require','ca_file':null,'verify_host':false,"
     "'environment':'production','lanes':['san-7'],'windows':[{'days':['mon','tue'],'from':'22:00',"
     "'to':'04:00','time_zone':'Europe/Berlin'}],'limits':{'buffer_memory_mib':1024,"
     "'min_free_disk_mib':20480,'job_minutes':240,'read_mib':1000,'written_mib':1000},'allow':{"
     "'trace_flags':[3042],'paths':['/backup'],'custom_sql':false},'labels':{'a':'b'}}"},
    {"webhook", READ_WEBHOOK,
     "{'url':{'env':'SWEETSPOT_SECRET_TEST'},'format':'slack','events':['job.finished'],"
     "'secret':{'env':'SWEETSPOT_SECRET_TEST'},'all_jobs':true}"},
};

static const char *const values[] = {
    "null",  "true",
    "-1",    "1.5",
    "1e300", "9007199254740992",
    "''",    "'\\u001b[2J; DROP TABLE x --'",
    "[]",    "[[[]]]",
    "{}",    "{'x':{'y':1}}",
};

static long tried;
static long refused;

static void read_one(struct jobs_place *place, enum reader reader, cJSON *tree,
                     struct json_faults *faults)
{
    struct definition definition = {0};
    struct instance instance = {0};
    struct webhook webhook = {0};
    switch (reader) {
    case READ_INSTANCE:
        (void)(instance_read(tree, place->secrets, &instance, faults) < 0); /* faults tell */
        instance_fini(&instance);
        break;
    case READ_WEBHOOK:
        (void)(webhook_read(tree, place->secrets, &webhook, faults) < 0);
        webhook_fini(&webhook);
        break;
    case READ_JOB:
        (void)(instance_read(jobs_kit_json(INSTANCE), place->secrets, &instance, faults) < 0);
        if (definition_read(tree, &definition, faults) == 0)
            definition.kind->check(&definition, &instance, faults);
        instance_fini(&instance);
        cJSON_Delete(tree);
        break;
    }
}

/* At the pointer, in it, or at what it is a member or an item of. */
static bool is_near(const char *fault, const char *pointer)
{
    size_t length = strlen(pointer);
    if (strncmp(fault, pointer, length) == 0)
        return true;
    size_t parent = (size_t)(strrchr(pointer, '/') - pointer);
    return strlen(fault) == parent && strncmp(fault, pointer, parent) == 0;
}

static void expect_told_there(const char *name, const char *pointer, const char *value,
                              const struct json_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        if (faults->items[i].detail[0] == '\0')
            fail_msg("%s %s = %s: a fault without words", name, pointer, value);
        if (is_near(faults->items[i].pointer, pointer))
            return;
    }
    fail_msg("%s %s = %s is told at %s: %s", name, pointer, value, faults->items[0].pointer,
             faults->items[0].detail);
}

static cJSON *with(const char *body, const char *pointer, const char *value)
{
    cJSON *tree = jobs_kit_json(body);
    cJSON *at = tree;
    char *path = mem_copy(pointer + 1);
    char *rest = path;
    for (char *part = strsep(&rest, "/"); part; part = strsep(&rest, "/")) {
        cJSON *made = rest ? NULL : jobs_kit_json(value);
        if (made && cJSON_IsArray(at))
            cJSON_ReplaceItemInArray(at, (int)strtol(part, NULL, 10), made);
        else if (made)
            cJSON_ReplaceItemInObjectCaseSensitive(at, part, made);
        else
            at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(part, NULL, 10))
                                   : cJSON_GetObjectItemCaseSensitive(at, part);
    }
    free(path);
    return tree;
}

static void try_all(struct jobs_place *place, size_t body, const char *pointer)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct json_faults faults = {0};
        read_one(place, bodies[body].reader, with(bodies[body].body, pointer, values[i]), &faults);
        tried++;
        refused += faults.count > 0;
        if (faults.count > 0)
            expect_told_there(bodies[body].name, pointer, values[i], &faults);
        json_faults_fini(&faults);
    }
}

static void walk(struct jobs_place *place, size_t body, const cJSON *tree, const char *base)
{
    size_t index = 0;
    const cJSON *child;
    cJSON_ArrayForEach(child, tree) {
        char *pointer = child->string ? mem_format("%s/%s", base, child->string)
                                      : mem_format("%s/%zu", base, index);
        try_all(place, body, pointer);
        walk(place, body, child, pointer);
        free(pointer);
        index++;
    }
}

static void a_wrong_value_is_told_where_it_stands(void **state)
{
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct json_faults faults = {0};
        cJSON *tree = jobs_kit_json(bodies[i].body);
        read_one(*state, bodies[i].reader, cJSON_Duplicate(tree, true), &faults);
        jobs_kit_expect_none(&faults); /* as it stands it is taken */
        json_faults_fini(&faults);
        walk(*state, i, tree, "");
        cJSON_Delete(tree);
    }
    assert_true(refused > tried / 2);
    print_message("%ld wrong values in %zu bodies: %ld refused, each told where it stands\n", tried,
                  sizeof bodies / sizeof bodies[0], refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(a_wrong_value_is_told_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
